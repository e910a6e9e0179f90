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
    """Return a uniformly drawn legal action of the running position `s`."""
    bits = engine.legal_bits(rules, s)
    count = 0
    rest = bits
    while rest != 0:
        rest &= rest - 1
        count += 1
    skip = np.int64((next_random(state) * np.uint64(count)) >> np.uint64(32))
    while skip > 0:
        bits &= bits - 1
        skip -= 1
    action = 0
    while (bits >> action) & 1 == 0:
        action += 1
    return action


@njit
def playout(rules, s, state):
    """Play random actions in `s` to the end; return the plies."""
    at = engine.board_size(rules)
    plies = 0
    while s[at + engine.STATUS] == engine.RUNNING:
        engine.play(rules, s, random_action(rules, s, state))
        plies += 1
    return plies


@njit
def playouts(rules, start, games, s, state):
    """Play `games` random games from `start`, using `s` as scratch; return plies and seeds sown."""
    plies = 0
    for _ in range(games):
        s[:] = start
        plies += playout(rules, s, state)
    return plies
