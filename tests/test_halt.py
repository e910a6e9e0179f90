"""Thoughts that nobody waits for: every search ends soon when it is told so from another thread."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agents import alphabeta, rollouts
from agents.halt import Halt, HaltedError
from agents.mcts import Search, SearchConfig
from agents.solver import Solver
from agents.timed import TimedSearch
from kalah_env import batch
from kalah_env.rules import Rules, num_actions, parse_rules

RULES = parse_rules("kalah:pits=6,seeds=6")


def evaluate(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    time.sleep(0.001)  # such as a network takes
    return np.zeros((len(states), num_actions(rules)), np.float32), np.zeros(len(states), np.float32)


def start() -> np.ndarray:
    return batch.new_games(RULES, 1)


def by_the_clock(seconds: float) -> None:
    TimedSearch(RULES, evaluate, None, SearchConfig()).run(start()[0], seconds)


def by_number(simulations: int) -> None:
    Search(SearchConfig(simulations)).run(RULES, start(), evaluate, np.random.default_rng(0))


# Each is given a small limit, and one that would take a minute or more.
SEARCHES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "alphabeta": (lambda nodes: alphabeta.search(RULES, start(), nodes=nodes), 100, 10**10),
    "alphabeta by the clock": (lambda ms: alphabeta.search(RULES, start(), ms=ms), 1, 60_000),
    "solver": (
        lambda seconds: Solver(RULES, memory=1, threads=1).solve(start()[0], seconds=seconds),
        0.01,
        60,
    ),
    "timed": (by_the_clock, 0.01, 60),
    "mcts": (by_number, 2, 60_000),
    "rollouts": (lambda sims: rollouts.search(RULES, start(), sims), 10, 300_000),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_when_nobody_waits(name: str):
    search, short, long = SEARCHES[name]
    for _ in range(2):  # compiled (what a clock runs over only in the second), and not halted
        search(short)
    halt = Halt()
    timer = threading.Timer(0.3, halt.wish)
    timer.start()
    began = time.monotonic()
    with pytest.raises(HaltedError):
        halt.run(lambda: search(long))
    assert 0.25 < time.monotonic() - began < 2.0


def test_who_is_halted_does_not_begin():
    halt, begun = Halt(), []
    halt.wish()
    with pytest.raises(HaltedError):
        halt.run(lambda: begun.append(1))
    assert begun == []
    alphabeta.search(RULES, start(), depth=1)  # outside of it nothing is halted
