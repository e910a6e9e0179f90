"""Rules that packed boards cover, in every combination of the options that they read, and their boards.

Made from texts and numbers alone, for `test_packed.py`, `test_endgame.py`, `test_solver.py` and
`test_prover.py`; for the last two also a small solver, and its answer as exact values.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from agents import endgame
from agents.solver import Solution, Solver
from kalah_env import batch, engine, parse_rules
from kalah_env.rules import Rules

_CAPTURES = (
    "capture=none",
    "capture=opposite",
    "capture=opposite,capture_again=true",
    "capture=opposite,capture_empty=true",
    "capture=opposite,capture_empty=true,capture_again=true",
    "capture=opposite,capture_takes=faced",
    "capture=opposite,capture_takes=faced,capture_again=true",
)
_RELAYS = ("relay=false", "relay=true", "relay=true,lap_limit=2")
COMBINATIONS = [
    f"{capture},{relay},again={again},skip_origin={skip},end={end},leftover={leftover}"
    for capture, relay, again, skip, end, leftover in product(
        _CAPTURES,
        _RELAYS,
        ("true", "false"),
        ("false", "true"),
        ("either", "mover"),
        ("owner", "emptier", "nobody"),
    )
]


def make_state(rules: Rules, own: list[int], other: list[int], side: int = 0, stores=(0, 0)) -> np.ndarray:
    """Return the settled mid-game state (S,) with `side` to move; `stores` are his and the other's."""
    rows = [[*own, stores[0]], [*other, stores[1]]]
    state = np.zeros(batch.state_size(rules), np.int16)
    state[: 2 * rules.pits + 2] = rows[side] + rows[1 - side]
    batch.extras(rules, state)[engine.SIDE] = side
    engine.settle(rules, state)
    return state


def boards(cells: int, most: int) -> Iterator[list[int]]:
    """Yield every way to have at most `most` seeds in `cells` pits."""
    if cells == 0:
        yield []
        return
    for first in range(most + 1):
        for rest in boards(cells - 1, most - first):
            yield [first, *rest]


def random_boards(rng: np.random.Generator, pits: int, count: int, most: int) -> np.ndarray:
    """Return boards (count, 2, P) of at most `most` seeds, full ones and sparse ones."""
    found = np.zeros((count, 2 * pits), np.int64)
    for row in found:
        seeds = int(rng.integers(1, most + 1))
        used = rng.choice(2 * pits, int(rng.integers(1, 2 * pits + 1)), replace=False)
        np.add.at(row, rng.choice(used, seeds), 1)
    return found.reshape(count, 2, pits)


def make_solver(spec: str, seeds: int = 0, threads: int = 1, memory: int = 1) -> Solver:
    """Return a small solver; with `seeds`, one that has a table."""
    rules = parse_rules(spec)
    table = endgame.compute(rules, seeds) if seeds else None
    return Solver(rules, memory=memory, threads=threads, table=table)


def exact_values(found: Solution) -> dict[int, int]:
    """Return the value of every legal action, which must all be known."""
    assert found.all_solved, found
    return {int(action): int(found.lows[action]) for action in np.flatnonzero(found.legal)}
