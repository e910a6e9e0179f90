"""A game as the page draws it, made from a request that carries the whole game.

Here the engine's answers become words and places on the board; the page adds nothing of its own. No
agents (`thinking.py`) and no HTTP (`server.py`).
"""

import numpy as np

from agents.analysis import Analysis, MoveValue, say_value
from agents.levels import name_of
from agents.web import models
from agents.web.manual import manual
from agents.web.sowing import steps_of
from kalah_env import engine, text
from kalah_env.errors import KalahError
from kalah_env.game import Game, say_ply, say_result
from kalah_env.notation import (
    OPEN,
    GameText,
    check_game,
    format_game,
    format_json,
    read_any,
    result_text,
    say_wrong,
)
from kalah_env.records import result
from kalah_env.rules import Rules, format_rules, parse_rules, side_pits

NAMES = ("South", "North")
TURNS = {"+": "counter-clockwise", "-": "clockwise"}


def game_of(asked: models.GameIn) -> Game:
    """Return the game of a request; `KalahError` says what is wrong with it."""
    return Game(parse_rules(asked.rules), asked.start, asked.moves)


def view_of(game: Game) -> models.View:
    """Return everything the page shows of a game."""
    rules, state = game.rules, game.state
    at = engine.board_size(rules)
    before, steps = state, []
    if game.plies:
        before = game.at(len(game.plies) - 1)
        steps = steps_of(rules, before, text.parse_move(rules, before, game.plies[-1].move))
    return models.View(
        rules=format_rules(rules),
        start=game.start,
        moves=game.moves,
        manual=manual(rules),
        rows=rules.rows,
        pits=rules.pits,
        stores=rules.rows == 1,
        pie=bool(rules.pie),
        cells=_cells(rules),
        before=before[:at].tolist(),
        steps=[models.StepOut(**step._asdict()) for step in steps],
        board=state[:at].tolist(),
        position=text.format_position(rules, state),
        side=game.side,
        mover=game.mover if game.running else None,
        players=[game.player_at(side) for side in (engine.SOUTH, engine.NORTH)],
        over=not game.running,
        result=result(rules, state),
        words=_words(game),
        legal=_choices(rules, state, game.side),
        plies=[
            models.PlyOut(
                move=ply.move,
                side=ply.side,
                player=ply.player,
                captured=ply.captured,
                again=ply.again,
                words=say_ply(ply, NAMES[ply.side]),
            )
            for ply in game.plies
        ],
    )


def games_in(source: str) -> list[models.Read]:
    """Return the games of a file in either form; `KalahError` names the line or the game that is none."""
    games = []
    for where, game in read_any(source.removeprefix("\ufeff").splitlines(keepends=True), "the file"):
        if wrong := check_game(game):
            raise KalahError(f"{where}: {say_wrong(wrong)}")
        games.append(_read(game.told))
    if not games:
        raise KalahError("there is no game in that text; it takes JSON records and games as text.")
    return games


def _read(game: GameText) -> models.Read:
    record, tags = game.record, game.tags
    outcome = result_text(Game(record.rules, record.start, record.moves))
    who = " - ".join(tags.get(name, name) for name in NAMES)
    notes = [tags[name] for name in ("Event", "Round", "Date", "Id") if tags.get(name)]
    ended = "unfinished" if outcome == OPEN else outcome
    count = f"{len(record.moves)} move{'' if len(record.moves) == 1 else 's'}"
    asked = models.GameIn(rules=format_rules(record.rules), start=record.start, moves=list(record.moves))
    return models.Read(
        game=asked,
        told=models.Told(tags=tags, comments=game.comments),
        words=", ".join([who, ended, count, *notes]),
    )


def saved(asked: models.SaveIn) -> models.Saved:
    """Return a game as it is written to a file, in both forms."""
    record, told = game_of(asked.game).record(), asked.told
    comments = {number: comment for number, comment in told.comments.items() if number <= len(record.moves)}
    tags = dict(told.tags)
    if asked.seats:
        tags |= {
            side: name_of(seat, tags.get(side))
            for side, seat in zip(NAMES, (asked.seats.south, asked.seats.north), strict=True)
        }
    game = GameText(record, tags, comments)
    return models.Saved(text=format_game(game), record=format_json(game))


def position_of(asked: models.BoardIn) -> models.PositionOut:
    """Return the text of a position that was set up by hand; `KalahError` if there is none such."""
    rules = parse_rules(asked.rules)
    if len(asked.board) != engine.board_size(rules):
        raise KalahError(
            f"the board: {len(asked.board)} numbers; {format_rules(rules)} needs {engine.board_size(rules)}, "
            "South's pits and store, then North's."
        )
    south, north = asked.board[: len(asked.board) // 2], asked.board[len(asked.board) // 2 :]
    size = rules.pits if rules.rows == 1 else f"{rules.rows}x{rules.pits}"
    numbers = [south[-1], north[-1], *south[:-1], *north[:-1]]
    written = f"<{size},{','.join(map(str, numbers))}> {text.SIDE_LETTERS[asked.side]}"
    text.parse_position(written, rules)
    return models.PositionOut(position=written)


def analysis_of(rules: Rules, found: Analysis) -> models.AnalysisOut:
    """Return what moves are worth, in words too."""
    moves = [
        models.Worth(
            move=one.move,
            margin=one.margin + 0.0,  # no negative zero
            exact=one.exact,
            badge=_badge(rules, one),
            words=say_value(rules, one),
        )
        for one in found.moves
    ]
    if rules.win:
        about = "? is open: nobody is seen to win in that time"
    elif all(one.exact for one in found.moves):
        about = "margins in seeds at the end, all proved"
    else:
        about = "margins in seeds at the end: ✓ proved, ≈ estimated"
    return models.AnalysisOut(moves=moves, words=about, seconds=round(found.seconds, 3))


def _badge(rules: Rules, value: MoveValue) -> str:
    """Return a value in a few signs, for under a pit."""
    if rules.win and value.exact:
        return "draw" if value.margin == 0 else "win" if value.margin > 0 else "loss"
    if rules.win:
        return f"≈{50 * (1 + value.margin):.0f}%" if value.margin else "?"
    size = f"{abs(value.margin):.1f}".removesuffix(".0")
    sign = "" if size == "0" else "+" if value.margin > 0 else "\N{MINUS SIGN}"
    return f"{sign}{size} ✓" if value.exact else f"≈{sign}{size}"


def _words(game: Game) -> str:
    if not game.running:
        return say_result(game.rules, game.state, NAMES)
    again = " again" if game.plies and game.plies[-1].again else ""
    return f"{NAMES[game.side]} is to move{again}."


def _cells(rules: Rules) -> list[models.Cell]:
    """Return where the cells stand, South below: a side's last row stands outermost, its pits in order.

    The front row of two runs against it, since a ring has no end. North's side is South's turned by
    half a circle.
    """
    pits, cells = side_pits(rules), []
    for side in (engine.SOUTH, engine.NORTH):
        for i in range(pits):
            row, along = divmod(i, rules.pits)
            column = along if row == rules.rows - 1 else rules.pits - 1 - along
            down = rules.rows + row
            if side == engine.NORTH:
                down, column = rules.rows - 1 - row, rules.pits - 1 - column
            cells.append(
                models.Cell(cell=side * (pits + 1) + i, side=side, row=down, column=column, pit=i + 1)
            )
        if rules.rows == 1:
            column = rules.pits if side == engine.SOUTH else -1
            cells.append(
                models.Cell(cell=side * (pits + 1) + pits, side=side, row=0, column=column, pit=None)
            )
    return cells


def _choices(rules: Rules, state: np.ndarray, side: int) -> list[models.Choice]:
    pits, choices = side_pits(rules), []
    for move in text.legal_moves(rules, state):
        if move == "swap":
            choices.append(
                models.Choice(move=move, cell=None, turn="", words="Swap: take the other player's seat.")
            )
            continue
        pit, turn = move.rstrip("+-"), move[-1] if rules.directions == 2 else ""
        cell = side * (pits + 1) + int(pit) - 1
        way = f" {TURNS[turn]}" if turn else ""
        words = f"Sow pit {pit} of {NAMES[side]}, {state[cell]} seeds{way}"
        choices.append(models.Choice(move=move, cell=cell, turn=turn, words=words))
    return choices
