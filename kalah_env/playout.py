"""Random games at full speed: for benchmarks, statistics and rollouts.

A playout picks uniformly among the legal actions until the game ends. The generator is a 64-bit
xorshift* (Vigna 2016) whose state the caller keeps, so that runs are reproducible and nothing is
allocated. Not for openings or training: those draw from numpy generators.
"""

import numpy as np

from kalah_env import engine
from kalah_env.jit import inlined, njit


@inlined
def next_random(state):
    """Advance `state: (1,) uint64` (not 0) and return 32 random bits."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32)


@inlined
def random_action(rules, s, state):
    """Return a uniformly drawn legal action of the running position `s`.

    Actions are drawn until one is legal: on average faster than to look at all of them first.
    """
    actions = np.uint64(engine.pit_actions(rules) + rules.pie)
    while True:
        action = np.int64((next_random(state) * actions) >> np.uint64(32))
        if engine.is_legal(rules, s, action):
            return action


@inlined
def playout(rules, s, state):
    """Play random actions in `s` to the end; return the plies."""
    at = engine.board_size(rules)
    plies = 0
    while s[at + engine.STATUS] == engine.RUNNING:
        engine.play_inline(rules, s, random_action(rules, s, state))
        plies += 1
    return plies


@inlined
def playouts(rules, start, games, s, state):
    """Play `games` random games from `start`, using `s` as scratch; return the plies."""
    plies = 0
    for _ in range(games):
        s[:] = start
        plies += playout(rules, s, state)
    return plies


@njit
def seeds_a_ply(rules, start, games):
    """Return the seeds that a ply of random play sows on average, later laps and captures not counted."""
    s = start.copy()
    state = np.ones(1, np.uint64)
    at = engine.board_size(rules)
    pits = at // 2 - 1
    seeds = 0
    plies = 0
    for _ in range(games):
        s[:] = start
        while s[at + engine.STATUS] == engine.RUNNING:
            action = random_action(rules, s, state)
            if action < engine.pit_actions(rules):
                seeds += s[s[at + engine.SIDE] * (pits + 1) + action % pits]
            engine.play(rules, s, action)
            plies += 1
    return seeds / plies
