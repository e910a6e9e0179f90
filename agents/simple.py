"""The two baselines that need no search: `random` and `greedy`.

They show how little an agent needs: a seed and `act` over a batch. Not here: anything that looks
further than one ply (`alphabeta/`).
"""

import numpy as np

from agents.base import check_running, make_rng
from kalah_env import batch, engine
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions


class RandomAgent:
    """Plays each legal move with the same chance."""

    spec = "random"

    def __init__(self, *, seed: int | None = None):
        self.rng = make_rng(seed)

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        check_running(rules, states)
        return choose(batch.legal_masks(rules, states) == 1, self.rng)


class GreedyAgent:
    """Plays a move that gains most seeds in the own store at once; ties with the same chance.

    What is swept at the end of the game counts. After `swap` the own store is the other side's. Seeds
    are all it looks at, also with `win=move`; where no store is used (two rows a side) every move gains
    nothing, and it plays as `random` does.
    """

    spec = "greedy"

    def __init__(self, *, seed: int | None = None):
        self.rng = make_rng(seed)

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        check_running(rules, states)
        gained = gains(rules, states)
        return choose(gained == gained.max(axis=1, keepdims=True), self.rng)


def choose(allowed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a uniformly chosen allowed action of each row: (B, A) bool -> (B,) int64."""
    return np.where(allowed, rng.random(allowed.shape), -1.0).argmax(axis=1)


ILLEGAL = -32768  # below any gain


def gains(rules: Rules, states: np.ndarray) -> np.ndarray:
    """Return the seeds each action brings to the mover's own store: (B, A) int16, or ILLEGAL."""
    gained = np.full((len(states), num_actions(rules)), ILLEGAL, np.int16)
    _gains(rules, states, np.empty(states.shape[1], np.int16), gained)
    return gained


@njit
def _gains(rules, states, scratch, gained):
    pits = rules.rows * rules.pits
    for b in range(states.shape[0]):
        side = states[b, 2 * pits + 2 + engine.SIDE]
        store = pits + side * (pits + 1)
        for action in range(gained.shape[1]):
            if engine.is_legal(rules, states[b], action):
                scratch[:] = states[b]
                engine.play(rules, scratch, action)
                after = store if action < engine.pit_actions(rules) else 3 * pits + 1 - store
                gained[b, action] = scratch[after] - states[b, store]
