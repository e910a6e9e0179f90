"""A game as the page draws it, made from a request that carries the whole game.

Here the engine's answers become words and places on the board; the page adds nothing of its own. No
agents (`thinking.py`) and no HTTP (`server.py`).
"""

import numpy as np

from agents.web import models
from agents.web.sowing import steps_of
from kalah_env import engine, text
from kalah_env.errors import KalahError
from kalah_env.game import Game, say_ply, say_result
from kalah_env.notation import check_game, read_any, say_wrong
from kalah_env.records import format_record, result
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
    record = game.record()
    return models.View(
        rules=format_rules(rules),
        start=record.start,
        moves=game.moves,
        record=format_record(record),
        rows=rules.rows,
        pits=rules.pits,
        stores=rules.rows == 1,
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


def games_in(source: str) -> list[models.GameIn]:
    """Return the games of a file in either form; `KalahError` names the line or the game that is none."""
    games = []
    for where, game in read_any(source.removeprefix("\ufeff").splitlines(keepends=True), "the file"):
        record = game.told.record
        if wrong := check_game(game):
            raise KalahError(f"{where}: {say_wrong(wrong)}")
        games.append(
            models.GameIn(rules=format_rules(record.rules), start=record.start, moves=list(record.moves))
        )
    if not games:
        raise KalahError("there is no game in that text; it takes JSON records and games as text.")
    return games


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
