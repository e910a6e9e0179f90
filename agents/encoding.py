"""What the network sees of a position, and the facts its heads are read with.

A position is turned to the mover: own pits, own store, other pits, other store. Each pit is one-hot
by its count (15 and more share a class), which lets a small network tell 5 seeds from 6 exactly. So is
each move of both sides, as if it were theirs, by what it brings at once: another move, or seeds gained.
Scalars follow. Not the environment's observation: that is `kalah_env/features.py`.

The order: counts, moves (mover's actions, then the other's), counts as scalars, and `_SCALARS`.
"""

import numpy as np

from kalah_env import engine
from kalah_env.jit import inlined, njit
from kalah_env.rules import Rules, side_pits

COUNT_CLASSES = 16
MOVE_CLASSES = 16  # another move; 0, 1, ... seeds gained, 14 and more alike
_SCALARS = 5  # own store, other store, seeds on the board, phase first, phase swap


def num_features(rules: Rules) -> int:
    """Return F, the numbers the network sees of one position."""
    moves = 2 * side_pits(rules) * rules.directions * MOVE_CLASSES
    return 2 * side_pits(rules) * (COUNT_CLASSES + 1) + moves + _SCALARS


@inlined
def _turned(rules, s):
    """Return where the mover's and the other's pits begin in `s`, the seeds in all pits, and all seeds."""
    pits = rules.rows * rules.pits
    side = s[2 * pits + 2 + engine.SIDE]
    own, other = side * (pits + 1), (1 - side) * (pits + 1)
    on_board = 0
    for i in range(pits):
        on_board += s[own + i] + s[other + i]
    return own, other, on_board, max(1, on_board + s[own + pits] + s[other + pits])


@inlined
def _move_class(rules, s, side, action, scratch):
    """Return the class of what `side` would get by `action` in `s`, or -1 where it is none of his moves."""
    at = engine.board_size(rules)
    if s[side * (at // 2) + action % (rules.rows * rules.pits)] == 0:
        return -1
    for i in range(at + engine.EXTRAS):
        scratch[i] = s[i]
    scratch[at + engine.SIDE] = side
    scratch[at + engine.PHASE] = engine.MID
    if not engine.is_legal(rules, scratch, action):
        return -1
    store = side * (at // 2) + at // 2 - 1
    before = scratch[store]
    captured = engine.play(rules, scratch, action)
    if scratch[at + engine.STATUS] == engine.RUNNING and scratch[at + engine.SIDE] == side:
        return 0
    return 1 + min(max(captured, scratch[store] - before), MOVE_CLASSES - 2)


@njit
def encode_into(rules, states, features, facts):
    """Write the features of `states: (B, S)` into `features: (B, F) float32`.

    facts: (B, 3) float32 - what a net's outputs are read with: store difference of the mover, seeds
    left in the pits, half of all seeds (all of them with `win=move`, where a win counts as all).
    """
    pits = rules.rows * rules.pits
    moves = engine.pit_actions(rules)
    extras = 2 * pits + 2
    scratch = np.empty(states.shape[1], np.int16)
    for b in range(states.shape[0]):
        s = states[b]
        own, other, on_board, total = _turned(rules, s)
        own_store, other_store = s[own + pits], s[other + pits]
        row = features[b]
        row[:] = 0.0
        side = s[extras + engine.SIDE]
        at = 2 * pits * COUNT_CLASSES
        for move in range(2 * moves):
            kind = _move_class(rules, s, side if move < moves else 1 - side, move % moves, scratch)
            if kind >= 0:
                row[at + move * MOVE_CLASSES + kind] = 1.0
        scalars = at + 2 * moves * MOVE_CLASSES
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


def fold(rules: Rules, weights: np.ndarray) -> np.ndarray:
    """Return a first layer's weights (W, F) as the rows (F, W) float32 that `embed` adds up.

    The rows of the counts get their pit's scalar as well, up to the first count of the last class.
    """
    rows = np.ascontiguousarray(weights.T, np.float32)
    pits = 2 * side_pits(rules)
    counts = np.arange(COUNT_CLASSES, dtype=np.float32)[:, None] / COUNT_CLASSES
    one_hot, scalars = rows[: pits * COUNT_CLASSES], rows[-_SCALARS - pits : -_SCALARS]
    one_hot += (counts * scalars[:, None]).reshape(one_hot.shape)
    return rows


@njit
def embed_into(rules, states, rows, bias, out, facts):
    """Write the first layer's answers to `states: (B, S)` into `out: (B, W) float32`, and the facts.

    The same as encoding and multiplying, but only what is not zero is looked at: a row a pit and a move.
    """
    pits = rules.rows * rules.pits
    moves = engine.pit_actions(rules)
    extras = 2 * pits + 2
    width = out.shape[1]
    first_move = 2 * pits * COUNT_CLASSES
    scalars = first_move + 2 * moves * MOVE_CLASSES
    last = scalars + 2 * pits
    scratch = np.empty(states.shape[1], np.int16)
    for b in range(states.shape[0]):
        s = states[b]
        own, other, on_board, total = _turned(rules, s)
        own_store, other_store = s[own + pits], s[other + pits]
        mine, theirs = np.float32(own_store / total), np.float32(other_store / total)
        board = np.float32(on_board / total)
        row, first, second, third = out[b], rows[last], rows[last + 1], rows[last + 2]
        for j in range(width):
            row[j] = bias[j] + mine * first[j] + theirs * second[j] + board * third[j]
        for pit in range(pits):
            # Two pits at once: the row of answers is read and written half as often.
            left, right = s[own + pit], s[other + pit]
            first = rows[pit * COUNT_CLASSES + min(left, COUNT_CLASSES - 1)]
            second = rows[(pits + pit) * COUNT_CLASSES + min(right, COUNT_CLASSES - 1)]
            for j in range(width):
                row[j] += first[j] + second[j]
            if max(left, right) >= COUNT_CLASSES:
                more = np.float32(max(0, left - COUNT_CLASSES + 1) / COUNT_CLASSES)
                over = np.float32(max(0, right - COUNT_CLASSES + 1) / COUNT_CLASSES)
                first, second = rows[scalars + pit], rows[scalars + pits + pit]
                for j in range(width):
                    row[j] += more * first[j] + over * second[j]
        side = s[extras + engine.SIDE]
        for move in range(2 * moves):
            kind = _move_class(rules, s, side if move < moves else 1 - side, move % moves, scratch)
            if kind >= 0:
                first = rows[first_move + move * MOVE_CLASSES + kind]
                for j in range(width):
                    row[j] += first[j]
        phase = s[extras + engine.PHASE]
        if phase == engine.FIRST or phase == engine.SWAP:
            first = rows[last + 3 if phase == engine.FIRST else last + 4]
            for j in range(width):
                row[j] += first[j]
        facts[b, 0] = own_store - other_store
        facts[b, 1] = on_board
        facts[b, 2] = total if rules.win == 1 else 0.5 * total


def embed(
    rules: Rules, states: np.ndarray, rows: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a first layer's answers (B, W) float32 and the facts (B, 3) float32 of states (B, S)."""
    out = np.empty((len(states), rows.shape[1]), np.float32)
    facts = np.empty((len(states), 3), np.float32)
    embed_into(rules, states, rows, bias, out, facts)
    return out, facts
