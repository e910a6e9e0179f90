"""What a player sees: the plain observation of the environments, one row of floats.

The order is the viewer's: own pits, own store, the other's pits, the other's store, each row in its
owner's sowing order. Not here: what a network is fed with (`agents/`), masks (`engine.legal_mask`).
"""

from functools import lru_cache

import numpy as np

from kalah_env.rules import Rules, side_pits


@lru_cache
def view_order(pits: int, side: int) -> np.ndarray:
    """Return the indices (2P+2,) into a state that put its board into the view of `side`."""
    half = pits + 1
    return np.roll(np.arange(2 * half), -side * half)


def divisor(rules: Rules, state: np.ndarray) -> np.float32:
    """Return what the counts of a game are divided by: its seeds, or 1 for an empty board.

    The seeds of a game stay the same, so this is worked out once a game.
    """
    return np.float32(state[: 2 * side_pits(rules) + 2].sum() or 1)


def observation(rules: Rules, state: np.ndarray, side: int, over: np.float32) -> np.ndarray:
    """Return the board of one state (S,) as `side` sees it, over `divisor`: (2P+2,) float32."""
    return state[view_order(side_pits(rules), side)] / over
