"""One game in a file: saved to a new one, loaded from either form, JSON record or text.

For who plays by hand (`play.py`, the browser). Files of many games are read by the commands; the forms:
`kalah_env/records.py` and `kalah_env/notation.py`.
"""

import os
from pathlib import Path

from kalah_env.errors import KalahError
from kalah_env.game import Game
from kalah_env.notation import GameText, check_game, format_game, format_json, read_any, say_wrong

MOST_BYTES = 1_000_000  # of a file that is taken for one game


def save_game(game: Game, name: str, tags: dict[str, str]) -> bool:
    """Write a game to a new file: a JSON record where its name ends in .jsonl or .json, else text.

    `tags` go before those of the game. Returns whether all that the game tells of itself could be
    written: a record has little place for it. `KalahError` where there is no name, the file exists or
    cannot be written.
    """
    check_new(name)
    told = GameText(game.record(), {**game.tags, **tags}, game.comments)
    written = format_json(told) + "\n" if name.endswith((".jsonl", ".json")) else format_game(told)
    try:
        with open(name, "x", encoding="utf-8") as file:
            file.write(written)
    except OSError as error:
        raise KalahError(f"save: {name} cannot be written ({error.strerror or error}).") from None
    ((_, read),) = read_any(written.splitlines(keepends=True), name)
    comments = {at for at in game.comments if at <= len(game.plies)}
    return game.tags.keys() <= read.told.tags.keys() | tags.keys() and comments == read.told.comments.keys()


def check_new(name: str) -> None:
    """Raise `KalahError` unless `name` may become a file that does not exist yet."""
    if not name:
        raise KalahError("save: give the name of a file, such as game.txt.")
    if os.path.lexists(name):
        raise KalahError(f"save: {name} exists; nothing is written over, choose another name.")
    if not Path(name).parent.is_dir():
        raise KalahError(f"save: there is no folder {Path(name).parent}; choose another name.")


def load_game(name: str) -> Game:
    """Return the game of a file that holds one, at its last move, with its tags and comments.

    `KalahError` says what is wrong.
    """
    if not name:
        raise KalahError("load: give the name of a file that a game was saved in.")
    try:
        if Path(name).stat().st_size > MOST_BYTES:
            raise KalahError(f"load: {name} holds more than {MOST_BYTES:,} bytes, which is no single game.")
        source = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise KalahError(f"load: {name} cannot be read ({error.strerror or error}).") from None
    except UnicodeDecodeError:
        raise KalahError(f"load: {name} is not a text in UTF-8.") from None
    return game_of(source, f"load: {name}")


def game_of(source: str, name: str) -> Game:
    """Return the one game of a text in either form; `KalahError` says what is wrong with it."""
    found = list(read_any(source.splitlines(keepends=True), name))
    if len(found) != 1:
        raise KalahError(f"{name} holds {len(found)} games; one is needed.")
    where, read = found[0]
    if wrong := check_game(read):
        raise KalahError(f"{where}: {say_wrong(wrong)}")
    game = Game(read.told.record.rules, read.told.record.start, read.told.record.moves)
    game.tags, game.comments = dict(read.told.tags), dict(read.told.comments)
    return game
