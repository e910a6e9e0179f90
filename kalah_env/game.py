"""One game as it is played: moves made and taken back, and what each of them did, in words.

What the terminal, the browser and the protocols share. A game is its rules, its start and its moves;
everything else follows from replaying them. Not here: who chooses the moves (`agents/play.py`), files of
games (`records.py`, `notation.py`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.records import Record, result
from kalah_env.rules import START, Rules


class Ply(NamedTuple):
    """One move made: side: of the board that moved, 0 = South; player: 0 = who began on South's side;
    captured: seeds; again: its player moves on; state: (S,) int16 behind it.
    """

    move: str
    side: int
    player: int
    captured: int
    again: bool
    state: np.ndarray


class Game:
    """A game from `start` (a position's text; None: the usual start), with undo and redo.

    tags, comments: what is told of it, as `notation.GameText` has them; comments on moves that others
    have taken the place of are forgotten. `KalahError` where start or a move is not legal; the game is
    then as it was before the call.
    """

    def __init__(self, rules: Rules, start: str | None = None, moves: Iterable[str] = ()) -> None:
        self.rules = rules
        self.start = None if start is None or start.strip() == START else start
        self._first = Record(rules, self.start).first_state()
        self.plies: list[Ply] = []
        self.undone: list[Ply] = []  # what `redo` makes again, the next one last
        self.tags: dict[str, str] = {}
        self.comments: dict[int, str] = {}
        for move in moves:
            self.play(move)

    @property
    def state(self) -> np.ndarray:
        """The state (S,) int16 now: a copy."""
        return self.at(len(self.plies))

    def at(self, ply: int) -> np.ndarray:
        """Return the state (S,) int16 behind the first `ply` moves: a copy."""
        return (self.plies[ply - 1].state if ply else self._first).copy()

    @property
    def moves(self) -> list[str]:
        """The texts of the moves made."""
        return [ply.move for ply in self.plies]

    @property
    def running(self) -> bool:
        """Whether somebody is to move."""
        return bool(batch.statuses(self.rules, self.state) == engine.RUNNING)

    @property
    def side(self) -> int:
        """The side that is to move, or that moved last."""
        return int(batch.sides(self.rules, self.state))

    def player_at(self, side: int) -> int:
        """Return the player at a side now: 0 began on South's, 1 on North's."""
        return (side + sum(ply.move == "swap" for ply in self.plies)) % 2

    @property
    def mover(self) -> int:
        """The player who is to move."""
        return self.player_at(self.side)

    def play(self, move: str) -> Ply:
        """Make a move; what was taken back before is forgotten."""
        state, side, player = self.state, self.side, self.mover
        action = text.parse_move(self.rules, state, move)
        captured = int(engine.play(self.rules, state, action))
        status, after = batch.statuses(self.rules, state), int(batch.sides(self.rules, state))
        again = status == engine.RUNNING and engine.same_player(self.rules, side, action, after)
        ply = Ply(move, side, player, captured, bool(again), state)
        self.plies.append(ply)
        if self.undone:
            self.undone.clear()
            self.comments = {at: said for at, said in self.comments.items() if at < len(self.plies)}
        return ply

    def undo(self) -> Ply:
        """Take the last move back and return it; `KalahError` if there is none."""
        if not self.plies:
            raise KalahError("undo: no move has been made yet.")
        self.undone.append(self.plies.pop())
        return self.undone[-1]

    def redo(self) -> Ply:
        """Make the move again that was taken back last; `KalahError` if there is none."""
        if not self.undone:
            raise KalahError("redo: no move has been taken back.")
        self.plies.append(self.undone.pop())
        return self.plies[-1]

    def go_to(self, ply: int) -> None:
        """Undo or redo until `ply` moves are made; `KalahError` if there are not so many."""
        most = len(self.plies) + len(self.undone)
        if not 0 <= ply <= most:
            raise KalahError(f"go to move {ply}: the game has the moves 0 (its start) to {most}.")
        while len(self.plies) > ply:
            self.undo()
        while len(self.plies) < ply:
            self.redo()

    def record(self) -> Record:
        """Return the game so far as a record."""
        return Record(self.rules, self.start, tuple(self.moves))


def say_ply(ply: Ply, who: str) -> str:
    """Return what a move did as a sentence about `who`: `South plays 3, captures 5 seeds, moves again.`"""
    if ply.move == "swap":
        return f"{who} swaps: the players change seats."
    said = f"{who} plays {ply.move}"
    if ply.captured:
        said += f", captures {ply.captured} seed{'s' if ply.captured > 1 else ''}"
    return f"{said}{', moves again' if ply.again else ''}."


def say_result(rules: Rules, state: np.ndarray, names: Sequence[str]) -> str:
    """Return how a game ended, for the names of who sits South and North; `KalahError` while it runs."""
    if batch.statuses(rules, state) == engine.TRUNCATED:
        return f"The game is truncated at the limit of {rules.ply_limit} plies: no result."
    found = result(rules, state)
    if found is None:
        raise KalahError("the game is still running: there is no result to tell.")
    score = f", {found['south']} to {found['north']}" if rules.rows == 1 else ""
    won = found["winner"]
    verdict = "a draw" if won == "draw" else f"{names[text.SIDE_LETTERS.index(won)]} wins"
    return f"The game is over{score}: {verdict}."
