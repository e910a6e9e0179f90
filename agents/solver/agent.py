"""The agent `perfect`: a move that keeps the exact value, where it can be proved within limits.

Under rules that stop a decided game (`kgp`) it keeps win, draw and loss. Where a proof does not fit it
plays what alpha-beta finds, and counts that: `asked` and `proved` say how often it was asked and could
prove its move.
"""

import numpy as np

from agents.alphabeta import search as alphabeta
from agents.base import check_range, check_running, make_rng
from agents.solver.prover import INTERRUPTED, MAX_MEMORY, MAX_NODES, MAX_SECONDS, Budget
from agents.solver.solve import Solver, table_for
from kalah_env import batch
from kalah_env.rules import Rules, rules_hash

DEPTH = 10  # of alpha-beta where nothing was proved


class PerfectAgent:
    """`perfect[:nodes=N][,ms=N][,memory=512]`: limits a move, and MiB of the transposition table.

    The same seed gives the same moves on one thread and without `ms`; of equal moves it takes the
    first that it proves.
    """

    def __init__(
        self, *, nodes: int = 10**9, ms: int | None = None, memory: int = 512, seed: int | None = None
    ) -> None:
        make_rng(seed)  # refuses what is no seed; nothing is left to chance
        check_range("agent perfect: nodes", nodes, 1, MAX_NODES)
        check_range("agent perfect: ms", 1 if ms is None else ms, 1, 1000 * MAX_SECONDS)
        check_range("agent perfect: memory", memory, 1, MAX_MEMORY)
        self.spec = "perfect"
        self.nodes, self.ms, self.memory = nodes, ms, memory
        self.asked = self.proved = 0
        self._solvers: dict[str, Solver] = {}

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        check_running(rules, states)
        solver = self._solver(rules)
        masks = batch.legal_masks(rules, states)
        actions = masks.argmax(axis=1).astype(np.int64)
        for b in range(len(states)):
            self.asked += 1
            if masks[b].sum() == 1:
                self.proved += 1
                continue
            seconds = None if self.ms is None else self.ms / 1000
            budget = Budget(self.nodes, seconds)
            action = solver.best_action(states[b], budget)
            if budget.why == INTERRUPTED:
                raise KeyboardInterrupt
            self.proved += action is not None
            if action is None:
                action = int(alphabeta(rules, states[b : b + 1], depth=DEPTH, ms=self.ms).best[0].argmax())
            actions[b] = action
        return actions

    def _solver(self, rules: Rules) -> Solver:
        key = rules_hash(rules)
        if key not in self._solvers:
            self._solvers[key] = Solver(rules, memory=self.memory, table=table_for(rules))
        return self._solvers[key]
