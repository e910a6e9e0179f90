"""The agent `alphabeta`: the classical opponent, by depth, nodes or time a move.

It turns what `search.py` finds into moves, and keeps the tables. No rules and no values here.
"""

import numpy as np

from agents.alphabeta.search import MAX_DEPTH, MAX_NODES, TABLE_BITS, Table, search
from agents.base import check_range, check_running, make_rng
from agents.simple import choose
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.jit import threads_of_numba
from kalah_env.rules import Rules

MAX_MS = 10**7


class AlphaBetaAgent:
    """Plays a best move of `search`; ties with the same chance.

    Exactly one of depth (plies), nodes and ms (a position) is given. Results do not depend on the
    number of threads, except under time limits.
    """

    def __init__(
        self,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        ms: int | None = None,
        seed: int | None = None,
    ):
        limits = {"depth": (depth, MAX_DEPTH), "nodes": (nodes, MAX_NODES), "ms": (ms, MAX_MS)}
        self.limits = {name: value for name, (value, _) in limits.items() if value is not None}
        if len(self.limits) != 1:
            raise KalahError(
                f"agent alphabeta: {', '.join(self.limits) or 'no limit'} given; "
                "give exactly one of depth=, nodes= and ms=, such as alphabeta:depth=8."
            )
        for name, value in self.limits.items():
            check_range(f"agent alphabeta: {name}", value, 1, limits[name][1])
        self.spec = "alphabeta:" + ",".join(f"{name}={value}" for name, value in self.limits.items())
        self.rng = make_rng(seed)
        # Small tables for small searches stay in the processor's cache.
        bits = 2 * depth if depth else nodes.bit_length() if nodes else TABLE_BITS
        self.table_bits = min(TABLE_BITS, bits)
        self.threads = threads_of_numba()
        self.tables: list[Table] = []

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        check_running(rules, states)
        best = batch.legal_masks(rules, states) == 1
        open_ = np.flatnonzero(best.sum(axis=1) > 1)  # where there is something to choose
        threads = max(1, min(self.threads, len(open_)))
        while len(self.tables) < threads:
            self.tables.append(Table(self.table_bits))
        best[open_] = search(rules, states[open_], **self.limits, tables=self.tables[:threads]).best
        return choose(best, self.rng)
