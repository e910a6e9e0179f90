"""Alpha-beta over batches of positions: limits, threads, and the result as arrays.

Also `plain_minimax`, which tests hold it against. What a value is, and how one position is searched:
`negamax.py`. Exact values of whole games: `solver.py`.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from agents.alphabeta.negamax import HORIZON, LIMIT, NODES, STOP, UNKNOWN, deepen, plain
from agents.base import check_range, check_running
from agents.halt import halting
from kalah_env import batch
from kalah_env.rules import Rules, num_actions

MAX_DEPTH = 250
MAX_NODES = 10**12
TABLE_BITS = 20  # 2^20 entries of 16 bytes


class Result(NamedTuple):
    """What a search found for each position, for the player to move.

    values: (B, A) int64 - exact where `exact` is true, else an upper bound or UNKNOWN
    best: (B, A) bool - every action of the highest value; value: (B,) int64 - that value
    depth: (B,) int64 - plies of the last finished iteration; nodes: (B,) int64 - moves played
    solved: (B,) bool - every line that mattered reached the end of the game
    """

    value: np.ndarray
    values: np.ndarray
    exact: np.ndarray
    best: np.ndarray
    depth: np.ndarray
    nodes: np.ndarray
    solved: np.ndarray


class Table:
    """A transposition table; every position searched has its own salt, so none sees another's entries.

    Entries: (2^bits, 2) int64 - the salted hash; value, horizon, bound, action and depth packed.
    """

    def __init__(self, bits: int = TABLE_BITS):
        self.entries = np.zeros((2**bits, 2), np.int64)
        self.salts = 0

    def new_salts(self, count: int) -> int:
        """Return the first of `count` salts in a row that this table has not used."""
        self.salts += count
        return self.salts - count + 1


def search(
    rules: Rules,
    states: np.ndarray,
    depth: int = MAX_DEPTH,
    nodes: int = MAX_NODES,
    ms: float | None = None,
    tables: Sequence[Table] = (),
) -> Result:
    """Search running states (B, S) by iterative deepening until depth, nodes or time of each are used up.

    Stops early where solved. One thread works with each table; what comes out does not depend on
    how many there are (all of one size) nor on what they held, except under time limits. The first
    ply is looked at before the clock starts; fewer `nodes` than legal actions finish no iteration,
    and leave every action as best.
    """
    check_range("search: depth", depth, 1, MAX_DEPTH)
    check_running(rules, states)
    states = np.ascontiguousarray(states, np.int16)
    tables = tables or [Table()]
    count, actions = len(states), num_actions(rules)
    control = np.zeros((count, 4), np.int64)
    control[:, LIMIT] = nodes
    values = np.full((count, 2, actions), UNKNOWN, np.int64)
    exact = np.zeros((count, 2, actions), np.bool_)
    done = np.zeros(count, np.int64)

    def work(thread: int) -> None:
        path = np.empty((depth + 1, batch.state_size(rules)), np.int16)
        order = np.empty((depth + 1, actions), np.int32)
        entries, salts = tables[thread].entries, tables[thread].new_salts(count)

        def search_rows(low: int, high: int, limit: int) -> None:
            part = slice(low, high)
            rows = (control[part], values[part], exact[part], done[part])
            deepen(rules, states[part], path, order, limit, entries, salts + low, *rows)

        low, high = (count * i // len(tables) for i in (thread, thread + 1))
        if ms is None:
            search_rows(low, high, depth)
            return
        for b in range(low, high):
            search_rows(b, b + 1, 1)  # compiles, too
            timer = threading.Timer(ms / 1000, control[b].__setitem__, (STOP, 1))
            timer.start()
            search_rows(b, b + 1, depth)
            timer.cancel()

    def stop() -> None:
        control[:, STOP] = 1

    with halting(stop), ThreadPoolExecutor(len(tables)) as pool:
        try:
            list(pool.map(work, range(len(tables))))
        except BaseException:  # such as Ctrl-C, which only this waiting thread sees
            stop()
            raise
    found, sure = values[:, 0], exact[:, 0]
    value = found.max(axis=1)
    unknown = (done == 0)[:, None]
    best = (batch.legal_masks(rules, states) == 1) & (found == value[:, None]) & (sure | unknown)
    solved = (control[:, HORIZON] == 0) & (control[:, STOP] == 0)
    return Result(value, found, sure, best, done, control[:, NODES], solved)


def plain_minimax(rules: Rules, state: np.ndarray, depth: int) -> np.ndarray:
    """Return every action's value in a state (S,), without pruning or table: (A,) int64, or UNKNOWN."""
    path = np.empty((depth + 1, len(state)), np.int16)
    path[0] = state
    values = np.full(num_actions(rules), UNKNOWN, np.int64)
    plain(rules, path, 0, depth, values)
    return values
