"""Exact values: of a position, of every move, with a best line, and bounds where limits run out.

`Solver` keeps the tables of one rule set and answers about any of its positions. Values are final
margins in seeds for the player to move, under perfect play of both. The search itself is `search.py`,
run by `prover.py`; rules that it does not cover are left to alpha-beta, which reaches the end of the
game only near it. The agent: `agent.py`.
"""

import copy
import time
from typing import NamedTuple

import numpy as np

from agents import endgame, packed
from agents.alphabeta import search as alphabeta
from agents.endgame import Endgame
from agents.solver.prover import INTERRUPTED, Budget, Prover
from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.options import EarlyStop, Win
from kalah_env.rules import Rules, format_rules, num_actions, validate


class Solution(NamedTuple):
    """What is known of one position: final margins for the player to move, in seeds.

    low, high: bounds of the value; lows, highs: (A,) int64 - of each action, 0 where it is illegal;
    legal: (A,) bool; line: actions of best play by both, as far as proved; nodes: positions looked up,
    hits: those that an endgame table answered, not in `nodes`; seconds: of the clock; why: what
    stopped it before all that was asked was exact, or empty.
    """

    low: int
    high: int
    lows: np.ndarray
    highs: np.ndarray
    legal: np.ndarray
    line: list[int]
    nodes: int
    hits: int
    seconds: float
    why: str

    @property
    def solved(self) -> bool:
        """Say whether the value is exact."""
        return self.low == self.high

    @property
    def all_solved(self) -> bool:
        """Say whether the value of every legal action is exact."""
        return bool((self.lows == self.highs)[self.legal].all())


def table_for(rules: Rules) -> Endgame | None:
    """Return the best endgame table that is at hand for these rules, or None where they can have none."""
    suits = packed.unsuitable(rules._replace(early_stop=int(EarlyStop.NO))) is None
    return endgame.find_or_make(rules) if suits else None


class Solver:
    """Solves positions of `rules`; what it has found stays in its transposition table.

    memory: MiB of that table; threads: None takes all cores; table: an endgame table, or None.
    """

    def __init__(
        self, rules: Rules, *, memory: int = 512, threads: int | None = None, table: Endgame | None = None
    ) -> None:
        self.rules = validate(rules)
        # A store over half decides the game but not who wins it: without the stop results are the same.
        self.relaxed = rules._replace(early_stop=int(EarlyStop.NO))
        self.margins_are_exact = packed.unsuitable(rules) is None
        suits = packed.unsuitable(self.relaxed) is None
        self.prover = Prover(self.relaxed, memory=memory, threads=threads, table=table) if suits else None

    def twin(self) -> "Solver":
        """Return a solver for another thread that shares what this one finds."""
        other = copy.copy(self)
        other.prover = self.prover and self.prover.twin()
        return other

    def stop(self) -> None:
        """Make every question end now, unanswered; callable from any thread, and for good."""
        if self.prover is not None:
            self.prover.stop()

    def solve(
        self,
        state: np.ndarray,
        *,
        every_move: bool = True,
        nodes: int | None = None,
        seconds: float | None = None,
    ) -> Solution:
        """Solve a running state (S,), all its moves or only its value, within the limits.

        Ctrl-C ends the search, too; what has been proved until then is returned.
        """
        state = np.ascontiguousarray(state, np.int16)
        if state.shape != (batch.state_size(self.rules),):
            raise KalahError(
                f"solver: a state of {format_rules(self.rules)} has the shape "
                f"({batch.state_size(self.rules)},), not {state.shape}; `text.parse_position` makes one."
            )
        if self._is_over(state):
            where = text.format_position(self.rules, state)
            raise KalahError(f"solver: in {where} the game is over; give a position with a move.")
        began = time.monotonic()
        budget = Budget(nodes, seconds)
        legal = batch.legal_masks(self.rules, state[None])[0] == 1
        total = self._most(state)
        lows, highs = np.zeros((2, num_actions(self.rules)), np.int64)
        lows[legal], highs[legal] = -total, total
        low, high = -total, total
        line: list[int] = []
        try:
            low, high = self.prove(state, budget)
            if every_move:
                self._prove_moves(state, budget, low, high, lows, highs)
                low, high = max(low, lows[legal].max()), min(high, highs[legal].max())
            elif low < high and not self.margins_are_exact:
                low, high = self._search_to_the_end(state, budget, low, high)
            if low == high and not budget.why:
                line = self._line(state, low, budget)
        except KeyboardInterrupt:
            budget.why = INTERRUPTED
        if low < high or (every_move and (lows < highs).any()):
            budget.why = budget.why or "too far from the end for these rules"
        seconds = time.monotonic() - began
        return Solution(
            int(low), int(high), lows, highs, legal, line, budget.nodes, budget.hits, seconds, budget.why
        )

    def _prove_moves(
        self, state: np.ndarray, budget: Budget, low: int, high: int, lows: np.ndarray, highs: np.ndarray
    ) -> None:
        """Write the bounds of every legal action's value; the position's is between `low` and `high`."""
        moves = np.flatnonzero(lows < highs)
        highs[moves] = high
        middle = (low + high) // 2
        for action in moves:
            child, sign = self.after(state, int(action))
            bounds = self.prove(child, budget, middle if sign == 1 else 1 - middle)
            bounds = sorted(sign * bound for bound in bounds)
            lows[action], highs[action] = bounds[0], min(bounds[1], high)
        if self.margins_are_exact:
            return
        for action in np.flatnonzero(lows < highs):  # after all results, since it may take for ever
            child, sign = self.after(state, int(action))
            bounds = sorted((sign * int(lows[action]), sign * int(highs[action])))
            bounds = sorted(sign * bound for bound in self._search_to_the_end(child, budget, *bounds))
            lows[action], highs[action] = bounds

    def best_action(self, state: np.ndarray, budget: Budget) -> int | None:
        """Return an action proved to keep the value (for stopped games: the result), or None."""
        if self.prover is None:
            found = alphabeta(self.rules, state[None], nodes=budget.left, ms=budget.milliseconds)
            budget.use(int(found.nodes[0]), 0)
            return int(found.best[0].argmax()) if found.solved[0] else None
        if self.margins_are_exact:
            value, high = self.prove(state, budget)
        else:
            value, high = self._prove_result(state, budget)
        if budget.why or (self.margins_are_exact and value < high):
            return None
        return self._keeping(state, value, budget)

    def _keeping(self, state: np.ndarray, value: int, budget: Budget) -> int | None:
        """Return an action after which the position is worth at least `value`, or None without budget."""
        for action in np.flatnonzero(batch.legal_masks(self.rules, state[None])[0])[::-1]:
            child, sign = self.after(state, int(action))
            bound = sign * self._bound(child, value if sign == 1 else 1 - value, budget)
            if budget.why:
                return None
            if bound >= value:
                return int(action)
        return None

    def after(self, state: np.ndarray, action: int) -> tuple[np.ndarray, int]:
        """Return the state after a legal action, and whether values keep their sign there: +1 or -1."""
        child = state.copy()
        side = engine.board_size(self.rules) + engine.SIDE
        engine.play(self.rules, child, action)
        same = engine.same_player(self.rules, state[side], action, child[side])
        return child, 1 if same else -1

    def prove(self, state: np.ndarray, budget: Budget, guess: int = 0) -> tuple[int, int]:
        """Return bounds of the final margin for the player to move, equal if the budget was enough.

        Under rules that stop a decided game they only say who wins; without packed boards, nothing.
        """
        total = self._most(state)
        low, high = -total, total
        if self.prover is not None and self.margins_are_exact:
            while low < high and not budget.why:
                beta = min(max(guess, low + 1), high)
                bound = self._bound(state, beta, budget)
                if budget.why:
                    break
                low, high = (bound, high) if bound >= beta else (low, bound)
                guess = bound + 1 if bound >= beta else bound
            return low, high
        return (low, high) if self.prover is None else self._prove_result(state, budget)

    def _prove_result(self, state: np.ndarray, budget: Budget) -> tuple[int, int]:
        """Return bounds that say who wins, where rules stop a game that is decided."""
        total = self._most(state)
        low, high = -total, total
        for beta in (1, 0):
            bound = self._bound(state, beta, budget)
            if budget.why:
                break
            if bound >= beta:
                return max(low, beta), high
            high = beta - 1
        return low, high

    def _search_to_the_end(self, state: np.ndarray, budget: Budget, low: int, high: int) -> tuple[int, int]:
        if self._is_over(state):
            return self._margin(state), self._margin(state)
        if budget.why:
            return low, high
        found = alphabeta(self.rules, state[None], nodes=budget.left, ms=budget.milliseconds)
        budget.use(int(found.nodes[0]), 0)
        return (int(found.value[0]), int(found.value[0])) if found.solved[0] else (low, high)

    def _bound(self, state: np.ndarray, beta: int, budget: Budget) -> int:
        """Return a lower bound >= beta of the margin for the player to move, else an upper one."""
        assert self.prover is not None
        if self._is_over(state):
            return self._margin(state)
        phase = state[engine.board_size(self.rules) + engine.PHASE]
        if phase == engine.MID or (self.rules.pie == 0 and self.rules.first_again == 1):
            stores = self._margin(state)
            return stores + self.prover.bound(*packed.pack(self.rules, state), beta - stores, budget)
        best = -(2**15)  # the first moves of a game are special: look at each
        for action in np.flatnonzero(batch.legal_masks(self.rules, state[None])[0]):
            child, sign = self.after(state, int(action))
            best = max(best, sign * self._bound(child, beta if sign == 1 else 1 - beta, budget))
            if best >= beta or budget.why:
                break
        return best

    def _line(self, state: np.ndarray, value: int, budget: Budget) -> list[int]:
        """Return moves that keep the value, as far as the budget allows, to the end of the game."""
        line: list[int] = []
        while self.margins_are_exact and not self._is_over(state):
            action = self._keeping(state, value, budget)
            if action is None:
                break
            line.append(action)
            state, sign = self.after(state, action)
            value *= sign
        return line

    def _most(self, state: np.ndarray) -> int:
        """Return the greatest margin there can be: all seeds, or 1 where only the win counts."""
        return 1 if self.rules.win == Win.MOVE else int(state[: engine.board_size(self.rules)].sum())

    def _is_over(self, state: np.ndarray) -> bool:
        return bool(state[engine.board_size(self.rules) + engine.STATUS] != engine.RUNNING)

    def _margin(self, state: np.ndarray) -> int:
        """Return the difference of the stores (when over: the final margin, 0 if truncated) for SIDE."""
        if state[engine.board_size(self.rules) + engine.STATUS] == engine.TRUNCATED:
            return 0
        margin = int(engine.margin(self.rules, state))
        side = state[engine.board_size(self.rules) + engine.SIDE]
        return margin if side == engine.SOUTH else -margin
