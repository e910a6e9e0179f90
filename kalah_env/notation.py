"""Games as text to read: tags, numbered turns, comments, result. The page on it: docs/RECORDS.md.

`[Rules "kalah"] 1. 3, {a free move} 6 5,2 2. 1 *`: a number stands before the turn of who began, and covers
the answer; moves that one player makes in a row are joined by commas. Tags, each on its line, say what is
played (`Rules`, `Start`) and how it ended: seeds south-north (`1-0`, `0-1` where only the win counts), `*`
without result. Not here: JSON lines (`records.py`), files (`kalah replay`).
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kalah_env.errors import KalahError
from kalah_env.game import Game
from kalah_env.records import NOTES, Record, format_record, parse_record, result
from kalah_env.rules import format_rules, parse_rules

OPEN = "*"  # the result of a game that has none
WIDTH = 80  # characters of a line of moves
_TAG = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\\n]|\\["\\])*)"\s*\]')
_NAME = re.compile(r"[A-Z]\w*")
_NUMBER = re.compile(r"^\d+\.+")
_RESULT = re.compile(r"\d+-\d+|\*")
_TOKEN = re.compile(r"\s*(?:(?P<tag>\[[^\n]*)|\{(?P<comment>[^{}]*)\}|(?P<word>[^\s{}\[\]]+)|(?P<bad>\S))")
# What `kalah arena` notes; a comma in an agent's text stands before no space.
_PLAYERS = re.compile(r"south: (.+?), north: (.+?)(?:, .*)?$")
_OURS = ("Rules", "Start", "Result")


@dataclass(frozen=True)
class GameText:
    """A game with what is told of it.

    tags: all but Rules, Start and Result, such as South, North, Event, Date; comments: by the number of
    moves made before them, 0 = before the first.
    """

    record: Record
    tags: dict[str, str] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)


def result_text(game: Game) -> str:
    """Return a game's result, south-north, or `*` if it has none."""
    found = result(game.rules, game.state)
    if found is None:
        return OPEN
    if game.rules.rows == 2 or game.rules.win:
        return {"S": "1-0", "N": "0-1"}.get(found["winner"], "0-0")
    return f"{found['south']}-{found['north']}"


def format_game(game: GameText) -> str:
    """Return the text of a game, ending in a newline; `parse_games` of it gives the same game.

    `KalahError` if a move is illegal, or a tag or a comment holds what the format cannot.
    """
    played = Game(game.record.rules, game.record.start, game.record.moves)
    outcome = result_text(played)
    ours = {"Rules": format_rules(played.rules), "Start": played.start, "Result": outcome}
    tags = [*game.tags.items(), *((name, value) for name, value in ours.items() if value is not None)]
    lines = [_format_tag(name, value, name in game.tags) for name, value in tags]
    words, turns = _comment(game, 0), 0
    for number, ply in enumerate(played.plies):
        goes_on = ply.again and number + 1 < len(played.plies)
        piece = f"{ply.move}," if goes_on else ply.move
        if number == 0 or not played.plies[number - 1].again:
            words.append(f"{turns // 2 + 1}. {piece}" if turns % 2 == 0 else piece)
            turns += 1
        elif number in game.comments:
            words.append(piece)
        else:
            words[-1] += piece
        words += _comment(game, number + 1)
    line = " ".join([*words, outcome])
    wrapped = textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, "", *wrapped]) + "\n"


def _comment(game: GameText, number: int) -> list[str]:
    comment = game.comments.get(number)
    if comment is None:
        return []
    if "{" in comment or "}" in comment:
        raise KalahError(f"comment {comment!r}: braces end a comment; write it without them.")
    return [f"{{{' '.join(comment.split())}}}"]


def _format_tag(name: str, value: str, free: bool) -> str:
    if free and (name in _OURS or not _NAME.fullmatch(name)):
        raise KalahError(
            f"tag {name!r}: a tag is a word that begins with a capital, and {', '.join(_OURS)} follow from "
            "the game."
        )
    if "\n" in value or "\r" in value:
        raise KalahError(f"tag {name}: its value {value!r} goes over a line's end.")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{escaped}"]'


def parse_games(source: str, name: str = "game") -> list[GameText]:
    """Return the games of a text, replayed and held against what it says of them.

    `KalahError` names the game and what is wrong: a tag, an illegal move, turns that are not those of the
    rules, another result than the moves lead to.
    """
    games = read_games(source, name)
    for number, game in enumerate(games, 1):
        if wrong := check_game(game):
            raise KalahError(f"{name} {number}: {say_wrong(wrong)}")
    return [game.told for game in games]


class Read(NamedTuple):
    """A game as it is written, its moves not played yet; joined: of each move, whether a comma says that
    its player made the one before, None where nothing is said; results: by the place where one is said.
    """

    told: GameText
    joined: list[bool] | None
    results: dict[str, str]


def check_game(game: Read) -> dict[str, Any] | None:
    """Replay a game; return `ply` and `why` of the first thing that is wrong, as `records.replay` does.

    `ply` is None where every move is legal, but the result is another than is said.
    """
    record = game.told.record
    played, again = Game(record.rules, record.start), False
    for number, move in enumerate(record.moves, 1):
        why, joined = None, again if game.joined is None else game.joined[number - 1]
        if joined and not again:
            why = f"the comma before {move!r} says that the same player goes on, who does not."
        elif again and not joined:
            why = f"{move!r} is of the same player's turn; join it by a comma."
        else:
            try:
                again = played.play(move).again
            except KalahError as error:
                why = str(error)
        if why:
            return {"ply": number, "why": why}
    found = result_text(played)
    for place, said in game.results.items():
        if said != found:
            right = found if found != OPEN else f"{OPEN}, since the moves lead to no result"
            return {"ply": None, "why": f"the result is wrong: {place} says {said}; it is {right}."}
    return None


def say_wrong(wrong: dict[str, Any]) -> str:
    """Return in words what `check_game` or `records.replay` found."""
    return wrong["why"] if wrong["ply"] is None else f"illegal at move {wrong['ply']}: {wrong['why']}"


def read_games(source: str, name: str = "game") -> list[Read]:
    """Return the games of a text without playing their moves; `KalahError` where it is malformed."""
    games, reader = [], _Reader()
    try:
        for token in _TOKEN.finditer(source.removeprefix("\ufeff")):
            if not reader.takes(token):
                games.append(reader.game())
                reader = _Reader()
                reader.takes(token)
        if not reader.empty:
            games.append(reader.game())
    except KalahError as error:
        raise KalahError(f"{name} {len(games) + 1}: {error}") from None
    return games


def read_any(lines: Iterable[str], name: str) -> Iterator[tuple[str, Read]]:
    """Yield the games of lines in either form, JSON records or text, and where each of them stands.

    What begins with a tag is text. `KalahError` names the line, or the game, that is malformed.
    """
    lines = iter(lines)
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("["):
            games = read_games(line + "".join(lines), f"{name}, game")
            yield from ((f"{name}, game {at}", game) for at, game in enumerate(games, 1))
        elif line.strip():
            where = f"{name}, line {number}"
            try:
                if _NUMBER.match(line) or re.match(r"\{\s*[^\s\"}]", line):
                    raise KalahError('a game as text begins with its tags, such as [Rules "kalah"].')
                yield where, _of_json(line)
            except KalahError as error:
                raise KalahError(f"{where}: {error}") from None


def _of_json(line: str) -> Read:
    """Return the game of a JSON record; its notes become tags, and the comment before the first move."""
    record, notes = parse_record(line), json.loads(line)
    texts = {key: notes[key] for key in NOTES if key in notes}
    tags = {k.capitalize(): v if isinstance(v, str) else json.dumps(v) for k, v in texts.items()}
    comment = tags.pop("Comment", None)
    if comment and (players := _PLAYERS.match(comment)):
        tags = {"South": players[1], "North": players[2], **tags}
    return Read(GameText(record, tags, {} if comment is None else {0: comment}), None, {})


def format_json(game: GameText) -> str:
    """Return the JSON record of a game, with what can be noted there: Id, Source, the first comment."""
    notes = {**{key: game.tags.get(key.capitalize()) for key in NOTES}, "comment": game.comments.get(0)}
    told = {key: value for key, value in notes.items() if value is not None}
    return json.dumps({**json.loads(format_record(game.record)), **told})


class _Reader:
    """One game, token by token."""

    def __init__(self) -> None:
        self.tags: dict[str, str] = {}
        self.moves: list[str] = []
        self.joined: list[bool] = []
        self.comments: dict[int, str] = {}
        self.comma = False  # whether one stands before the next move
        self.outcome: str | None = None
        self.empty = self.untold = True  # nothing read yet; nothing but tags

    def takes(self, token: re.Match[str]) -> bool:
        """Read a token; False if it belongs to the next game."""
        if token["bad"] == "{":
            raise KalahError("a brace is opened and not closed, or stands inside another pair.")
        if token["bad"]:
            raise KalahError(f"{token['bad']!r} at character {token.start('bad') + 1} begins nothing.")
        if self.outcome is not None or (token["tag"] and not self.untold):
            return False
        self.empty = False
        if token["tag"]:
            self._tag(token["tag"].strip())
            return True
        self.untold = False
        if token["comment"] is not None:
            at, said = len(self.moves), " ".join(token["comment"].split())
            self.comments[at] = f"{self.comments[at]} {said}" if at in self.comments else said
        elif _RESULT.fullmatch(token["word"]):
            self.outcome = token["word"]
        else:
            self._moves(_NUMBER.sub("", token["word"], count=1))
        return True

    def _tag(self, line: str) -> None:
        match = _TAG.fullmatch(line)
        if not match:
            raise KalahError(f'tag {line!r} is not of the form [Name "value"], alone on its line.')
        if match[1] in self.tags:
            raise KalahError(f"tag {match[1]} stands twice; give it once.")
        self.tags[match[1]] = re.sub(r"\\(.)", r"\1", match[2])

    def _moves(self, word: str) -> None:
        """Take the moves of a word such as `3,6`."""
        for number, move in enumerate(word.split(",")):
            self.comma |= number > 0
            if move:  # nothing stands between a comma and a comment, or behind a number
                self.moves.append(move)
                self.joined.append(self.comma)
                self.comma = False

    def game(self) -> Read:
        """Return what was read."""
        if self.comma:
            raise KalahError("the comma behind the last move joins nothing.")
        if "Rules" not in self.tags:
            raise KalahError('the tag Rules is missing, such as [Rules "kalah"].')
        start = self.tags.get("Start")
        record = Record(parse_rules(self.tags["Rules"]), start, tuple(self.moves))
        record.first_state()
        tags = {name: value for name, value in self.tags.items() if name not in _OURS}
        places = {"the tag Result": self.tags.get("Result"), "the end of the game's text": self.outcome}
        results = {place: said for place, said in places.items() if said is not None}
        return Read(GameText(record, tags, self.comments), self.joined, results)
