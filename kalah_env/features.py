"""What a player sees: the plain observation of the environments, one row of floats.

The order is the viewer's: own pits, own store, the other's pits, the other's store, each row in its
owner's sowing order. Not here: what a network is fed with (`agents/`), masks (`engine.legal_mask`).
"""

import numpy as np

from kalah_env.rules import Rules


def total_seeds(rules: Rules, state: np.ndarray) -> int:
    """Return the seeds on the board of one state (S,), stores included; it never changes in a game."""
    return int(state[: 2 * rules.pits + 2].sum())


def observation(rules: Rules, state: np.ndarray, side: int, total: int) -> np.ndarray:
    """Return the board of one state (S,) as `side` sees it, over `total`: (2P+2,) float32 in 0..1.

    An empty board (total 0) is all zero.
    """
    half = rules.pits + 1
    south, north = state[:half], state[half : 2 * half]
    board = np.concatenate((north, south) if side else (south, north))
    return board / np.float32(total or 1)
