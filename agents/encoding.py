"""What the network sees of a position, and the facts its heads are read with.

A position is turned to the mover: own pits, own store, other pits, other store. Each pit is one-hot
by its count (15 and more share a class), which lets a small network tell 5 seeds from 6 exactly;
scalars follow. Not the environment's observation: that is `kalah_env/features.py`.
"""

import numpy as np

from kalah_env import engine
from kalah_env.jit import njit
from kalah_env.rules import Rules, side_pits

COUNT_CLASSES = 16
_SCALARS = 5  # own store, other store, seeds on the board, phase first, phase swap


def num_features(rules: Rules) -> int:
    """Return F, the numbers the network sees of one position."""
    return 2 * side_pits(rules) * (COUNT_CLASSES + 1) + _SCALARS


@njit
def encode_into(rules, states, features, facts):
    """Write the features of `states: (B, S)` into `features: (B, F) float32`.

    facts: (B, 3) float32 - what a net's outputs are read with: store difference of the mover, seeds
    left in the pits, half of all seeds (all of them with `win=move`, where a win counts as all).
    """
    pits = rules.rows * rules.pits
    extras = 2 * pits + 2
    for b in range(states.shape[0]):
        s = states[b]
        side = s[extras + engine.SIDE]
        own = side * (pits + 1)
        other = (1 - side) * (pits + 1)
        on_board = 0
        for i in range(pits):
            on_board += s[own + i] + s[other + i]
        own_store = s[own + pits]
        other_store = s[other + pits]
        total = max(1, on_board + own_store + other_store)
        row = features[b]
        row[:] = 0.0
        scalars = 2 * pits * COUNT_CLASSES
        for i in range(pits):
            for half in range(2):
                seeds = s[own + i] if half == 0 else s[other + i]
                pit = half * pits + i
                row[pit * COUNT_CLASSES + min(seeds, COUNT_CLASSES - 1)] = 1.0
                row[scalars + pit] = seeds / COUNT_CLASSES
        scalars += 2 * pits
        row[scalars] = own_store / total
        row[scalars + 1] = other_store / total
        row[scalars + 2] = on_board / total
        row[scalars + 3] = 1.0 if s[extras + engine.PHASE] == engine.FIRST else 0.0
        row[scalars + 4] = 1.0 if s[extras + engine.PHASE] == engine.SWAP else 0.0
        facts[b, 0] = own_store - other_store
        facts[b, 1] = on_board
        facts[b, 2] = total if rules.win == 1 else 0.5 * total


def encode(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return features (B, F) float32 and facts (B, 3) float32 of states (B, S)."""
    features = np.empty((len(states), num_features(rules)), np.float32)
    facts = np.empty((len(states), 3), np.float32)
    encode_into(rules, states, features, facts)
    return features, facts
