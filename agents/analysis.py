"""What each move of a position is worth: exact where it can be proved in the time given, else estimated.

For people: the hint in the terminal, the numbers under the pits in the browser. The solver proves what it
can; what is left the network's search estimates, or alpha-beta where no network plays the rules. Values
are final margins for the player to move: in seeds, or 1 for the win where only that counts. Agents that
play: `bot.py`; exact answers: `solver/`.
"""

import time
from dataclasses import dataclass

import numpy as np

from agents import endgame, packed
from agents import tree as trees
from agents.alphabeta import search as alphabeta
from agents.exported import OnnxEvaluator
from agents.mcts import SearchConfig
from agents.nets import ONNX, shipped_for
from agents.solver import Solver
from agents.timed import TimedSearch
from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.options import Win
from kalah_env.rules import Rules, num_actions

PROOF_SHARE = 0.7  # of the time, for the solver; what is left estimates
TABLE_BYTES = 2**28


@dataclass(frozen=True)
class MoveValue:
    """One move: the final margin for its mover, and whether that is proved or an estimate."""

    move: str
    margin: float
    exact: bool


@dataclass(frozen=True)
class Analysis:
    """A position's legal moves, best first, and the seconds that it took."""

    moves: list[MoveValue]
    seconds: float

    @property
    def best(self) -> MoveValue:
        """The move to make."""
        return self.moves[0]


def say_value(rules: Rules, value: MoveValue) -> str:
    """Return what a move is worth in words: `wins by 4, proved`, `loses by about 2.5`."""
    size = f"{abs(value.margin):.1f}".removesuffix(".0")
    if value.exact:
        if value.margin == 0:
            return "a draw, proved"
        said = "wins" if value.margin > 0 else "loses"
        return f"{said}, proved" if rules.win else f"{said} by {size}, proved"
    if rules.win:
        share = f"{50 * (1 + value.margin):.0f}"
        return f"wins with a chance of about {share} %" if value.margin else "open"
    if size == "0":
        return "about even"
    return f"{'wins' if value.margin > 0 else 'loses'} by about {size}"


class Analyst:
    """Analyses positions of one rule set; keeps what the solver has found. Not for two threads at once.

    memory: MiB of the solver's table; threads: of the solver.
    """

    def __init__(self, rules: Rules, *, memory: int = 256, threads: int = 1) -> None:
        self.rules = rules
        exact = packed.unsuitable(rules) is None
        table = endgame.find_or_make(rules, TABLE_BYTES) if exact else None
        self.solver = Solver(rules, memory=memory, threads=threads, table=table) if exact else None
        folder = shipped_for(rules)
        self.search = None
        if folder is not None:
            # A share of sign of 0: utilities are margins, as a share of half of all seeds.
            evaluate = OnnxEvaluator(str(folder / ONNX), sign_weight=0.0)
            self.search = TimedSearch(rules, evaluate, table, SearchConfig(sign_weight=0.0))

    def analyse(self, state: np.ndarray, seconds: float = 1.0) -> Analysis:
        """Return the value of every legal move of a running state (S,) within about so many seconds."""
        if batch.statuses(self.rules, state) != engine.RUNNING:
            where = text.format_position(self.rules, state)
            raise KalahError(f"analysis: in {where} the game is over; give a position with a move.")
        began = time.monotonic()
        legal = batch.legal_masks(self.rules, state[None])[0] == 1
        margins = np.full(num_actions(self.rules), np.nan)
        if self.solver is not None:
            found = self.solver.solve(state, seconds=PROOF_SHARE * seconds)
            solved = legal & (found.lows == found.highs)
            margins[solved] = found.lows[solved]
        exact = np.isfinite(margins)
        if not exact[legal].all():
            left = max(0.01, seconds - (time.monotonic() - began))
            estimates, proved = self._estimate(state, legal, left)
            margins[legal & ~exact] = estimates[legal & ~exact]
            exact |= proved
        order = sorted(np.flatnonzero(legal).tolist(), key=lambda a: (-margins[a], not exact[a]))
        moves = [MoveValue(text.format_move(self.rules, a), float(margins[a]), bool(exact[a])) for a in order]
        return Analysis(moves, time.monotonic() - began)

    def _estimate(
        self, state: np.ndarray, legal: np.ndarray, seconds: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return final margins (A,) of the `legal: (A,) bool` actions, and which are exact: (A,) bool."""
        margins, exact = np.full(len(legal), np.nan), np.zeros(len(legal), np.bool_)
        if self.search is not None and legal.sum() > 1:
            found = self.search.run(state, seconds)
            return found.utilities * _half(self.rules, state), exact | found.exact
        for action in np.flatnonzero(legal):
            after = state.copy()
            sign = trees.advance(self.rules, after, action)
            margin, exact[action] = self._estimate_position(after, seconds / legal.sum())
            margins[action] = sign * margin
        return margins, exact

    def _estimate_position(self, state: np.ndarray, seconds: float) -> tuple[float, bool]:
        """Return the final margin for whoever is to move, or moved last, and whether it is exact."""
        if batch.statuses(self.rules, state) != engine.RUNNING:
            return float(trees.exact_utility(self.rules, state, 0.0)) * _half(self.rules, state), True
        if self.search is not None:
            found = self.search.run(state, seconds)
            return float(found.utilities[found.action]) * _half(self.rules, state), found.exact
        # Alpha-beta's value is the difference of stores at its horizon, or the final margin. Where only the
        # win counts nobody has won at the horizon, so another value than 0 is proved.
        found = alphabeta(self.rules, state[None], ms=max(1, round(1000 * seconds)))
        margin = float(found.value[0])
        return margin, bool(found.solved[0]) or (self.rules.win == Win.MOVE and margin != 0)


def _half(rules: Rules, state: np.ndarray) -> float:
    """Return how many seeds a utility of 1 stands for: half of all, or 1 where only the win counts."""
    return 1.0 if rules.win else float(state[: engine.board_size(rules)].sum()) / 2
