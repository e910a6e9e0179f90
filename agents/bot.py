"""The agent `bot`: network and search, endgame tables, and exact solving where it fits the clock.

A move is thought about for `ms` milliseconds on one core. What the endgame table knows is played at
once; where few enough seeds are left the solver tries for part of the time to prove a best move; else,
and where it could not, the network searches (`timed.py`). Needs no torch: the network runs in ONNX
Runtime. Rules that no shipped network plays are left to solver and alpha-beta.
"""

import time
from pathlib import Path

import numpy as np

from agents import endgame, packed
from agents.alphabeta import search as alphabeta
from agents.alphabeta.agent import MAX_MS
from agents.alphabeta.search import Table
from agents.base import check_range, check_running, make_rng
from agents.exported import OnnxEvaluator
from agents.mcts import SearchConfig
from agents.nets import ONNX, check_rules, find_net, plain_rules, shipped_for
from agents.solver import Solver
from agents.solver.prover import INTERRUPTED, MAX_MEMORY, Budget
from agents.timed import TimedSearch
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, rules_hash, side_pits

LATENCY = 0.003  # seconds of the limit that are left for what comes before and after thinking
TABLE_BYTES = 2**28  # a larger endgame table would not leave the solver its part of 1 GiB
SOLVER_SHARE = 0.5  # of the time
# The solver is asked where it proves at least a third of the positions in its share of 100 ms, and one
# seed more for each doubling (docs/LOG.md).
SOLVER_SEEDS, SOLVER_MS = 36, 100
KEPT = 2  # rule sets whose parts stay in memory


class _Mind:
    """What the bot has for one rule set: a table, a solver, a search with a network, or alpha-beta."""

    def __init__(self, rules: Rules, net: Path | None, memory: int, sign_weight: float) -> None:
        self.rules = rules = plain_rules(rules)
        exact = packed.unsuitable(rules) is None
        # The largest endgame table at hand that leaves room for the rest.
        self.table = endgame.find_or_make(rules, TABLE_BYTES) if exact else None
        self.solver = Solver(rules, memory=memory, threads=1, table=self.table) if exact else None
        self.search: TimedSearch | None = None
        if net is not None:
            evaluate = OnnxEvaluator(str(net), sign_weight)
            check_rules(f"bot: {net}", evaluate.trained, rules)
            self.search = TimedSearch(rules, evaluate, self.table, SearchConfig(sign_weight=sign_weight))
        self.memory = Table() if self.search is None else None

    def choose(self, state: np.ndarray, seconds: float) -> tuple[int, str]:
        """Return the action for a running state (S,), and which part chose it."""
        deadline = time.monotonic() + max(0.001, seconds - LATENCY)
        at = engine.board_size(self.rules)
        pits = side_pits(self.rules)
        seeds = int(state[:at].sum()) - int(state[pits]) - int(state[at - 1])
        if self.solver is not None and seeds <= _solver_seeds(seconds):
            budget = Budget(None, max(0.0, SOLVER_SHARE * (deadline - time.monotonic())))
            action = self.solver.best_action(state, budget)
            if budget.why == INTERRUPTED:
                raise KeyboardInterrupt
            if action is not None:
                return int(action), "solver"
        left = max(0.001, deadline - time.monotonic())
        if self.search is not None:
            found = self.search.run(state, left)
            return found.action, "proved" if found.exact else "search"
        assert self.memory is not None
        best = alphabeta(self.rules, state[None], ms=max(1, round(1000 * left)), tables=[self.memory]).best
        return int(best[0].argmax()), "alphabeta"


def _solver_seeds(seconds: float) -> float:
    return SOLVER_SEEDS + np.log2(seconds * 1000 / SOLVER_MS)


class BotAgent:
    """`bot[:ms=100][,net=NAME|FILE.onnx][,memory=256]`: milliseconds a move, the network, MiB of the solver.

    Without `net` it takes the shipped one of the rules. `chosen` counts how often a part chose:
    `solver`, `proved` (table and search know the exact value of every move), `search`, `alphabeta`.
    """

    def __init__(
        self,
        *,
        ms: int = 100,
        net: str | None = None,
        memory: int = 256,
        sign_weight: float = 0.25,
        seed: int | None = None,
    ) -> None:
        make_rng(seed)  # refuses what is no seed; nothing is left to chance but the clock
        check_range("agent bot: ms", ms, 1, MAX_MS)
        check_range("agent bot: memory", memory, 1, MAX_MEMORY)
        check_range("agent bot: sign_weight", sign_weight, 0, 1)
        self.spec = f"bot:ms={ms}" + (f",net={net}" if net else "")
        self.ms, self.net, self.memory, self.sign_weight = ms, net, memory, sign_weight
        self.chosen: dict[str, int] = {}
        self._minds: dict[str, _Mind] = {}

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        check_running(rules, states)
        mind = self._mind(rules)
        masks = batch.legal_masks(rules, states)
        actions = masks.argmax(axis=1).astype(np.int64)
        for b in np.flatnonzero(masks.sum(axis=1) > 1):
            actions[b], part = mind.choose(states[b], self.ms / 1000)
            self.chosen[part] = self.chosen.get(part, 0) + 1
        return actions

    def _mind(self, rules: Rules) -> _Mind:
        key = rules_hash(rules)
        mind = self._minds.pop(key, None)
        if mind is None:
            while len(self._minds) >= KEPT:  # the one that was used longest ago stands first
                del self._minds[next(iter(self._minds))]
            mind = _Mind(rules, self._file(rules), self.memory, self.sign_weight)
        self._minds[key] = mind
        return mind

    def _file(self, rules: Rules) -> Path | None:
        """Return the ONNX file to play these rules with, or None where there is none."""
        if self.net is None:
            folder = shipped_for(plain_rules(rules))
            return folder and folder / ONNX
        if Path(self.net).suffix == ".onnx":
            return Path(self.net)
        file = find_net(self.net) / ONNX
        if not file.is_file():
            raise KalahError(f"bot: {file.parent} holds no {ONNX}; `kalah export` makes one.")
        return file
