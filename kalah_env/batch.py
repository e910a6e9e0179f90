"""The engine over arrays of games: the same functions in a `prange` loop, and array makers.

States are `(B, S) int16` rows as drawn in `engine.py`. Illegal actions raise before anything is
changed. Not here: observations (`features.py`), text (`text.py`).
"""

import numpy as np

from kalah_env import engine
from kalah_env.checks import whole_number, whole_numbers
from kalah_env.errors import KalahError
from kalah_env.jit import njit, parallel_njit, prange
from kalah_env.rules import PRESETS, Rules, num_actions, preset_rules, side_pits, validate

Array = np.ndarray


def state_size(rules: Rules) -> int:
    """Return S, the numbers of one state."""
    return 2 * side_pits(rules) + 2 + engine.EXTRAS


def new_games(rules: Rules, count: int) -> Array:
    """Return `count` games at the start: (B, S) int16, in the preset's own layout where it has one.

    On a tiny board the start itself may be decided; then the games are over, as a loaded one would be.
    """
    validate(rules)
    count = whole_number("new_games: count", count, 0)
    state = np.zeros(state_size(rules), np.int16)
    engine.reset(rules, state)
    layout = PRESETS[rules.preset].start
    base = preset_rules(PRESETS[rules.preset].name)
    if layout and (rules.rows, rules.pits, rules.seeds) == (base.rows, base.pits, base.seeds):
        pits = side_pits(rules)
        state[:pits] = state[pits + 1 : 2 * pits + 1] = layout
    engine.settle(rules, state)
    return np.tile(state, (count, 1))


def extras(rules: Rules, states: Array) -> Array:
    """Return the view (..., 5) of SIDE, PHASE, STATUS, PLY and RESULT behind the board."""
    return states[..., 2 * side_pits(rules) + 2 :]


def sides(rules: Rules, states: Array) -> Array:
    """Return the side to move of each state: (B,) int16 view, 0 south, 1 north."""
    return extras(rules, states)[..., engine.SIDE]


def statuses(rules: Rules, states: Array) -> Array:
    """Return RUNNING, OVER or TRUNCATED of each state: (B,) int16 view."""
    return extras(rules, states)[..., engine.STATUS]


def margins(rules: Rules, states: Array) -> Array:
    """Return south's store minus north's of each state (`win=move`: 1, 0 or -1): (B,) int64."""
    if rules.win:
        return extras(rules, states)[..., engine.RESULT].astype(np.int64)
    pits = side_pits(rules)
    stores = states[..., [pits, 2 * pits + 1]].astype(np.int64)
    return stores[..., 0] - stores[..., 1]


@njit  # not parallel: cheap, and callers run it in several threads at once
def _masks(rules, states, masks):
    for b in range(states.shape[0]):
        engine.legal_mask(rules, states[b], masks[b])


@parallel_njit
def _step(rules, states, actions, captured):
    for b in prange(states.shape[0]):
        captured[b] = engine.play(rules, states[b], actions[b])


@njit
def _first_illegal(rules, states, actions):
    for b in range(states.shape[0]):
        if not engine.is_legal(rules, states[b], actions[b]):
            return b
    return -1


def _check_shape(rules: Rules, states: Array) -> None:
    # Compiled loops do not check bounds: a state of another board would read foreign memory.
    if not isinstance(states, np.ndarray) or states.dtype != np.int16:
        kind = states.dtype if isinstance(states, np.ndarray) else type(states).__name__
        raise KalahError(f"states are {kind}; give an int16 array as `new_games` makes it.")
    if states.ndim != 2 or states.shape[1] != state_size(rules):
        raise KalahError(
            f"states of shape {states.shape} do not fit the rules; {side_pits(rules)} pits a side need "
            f"(B, {state_size(rules)})."
        )


def legal_masks(rules: Rules, states: Array) -> Array:
    """Return the legal actions of each state: (B, A) int8, all zero where the game has ended."""
    _check_shape(rules, states)
    masks = np.empty((len(states), num_actions(rules)), np.int8)
    _masks(rules, states, masks)
    return masks


def step(rules: Rules, states: Array, actions: Array) -> Array:
    """Play one action in each game, in place; return the seeds captured: (B,) int16.

    `KalahError` names the first game whose action is illegal; then no game was changed.
    """
    _check_shape(rules, states)
    actions = whole_numbers("actions are", actions, len(states))
    if not states.flags.writeable:
        raise KalahError("states are read-only and are played in place; give a copy.")
    bad = _first_illegal(rules, states, actions)
    if bad >= 0:
        raise KalahError(
            f"game {bad}: action {actions[bad]} is illegal; legal are "
            f"{np.flatnonzero(legal_masks(rules, states[bad : bad + 1])[0]).tolist()}."
        )
    captured = np.empty(len(states), np.int16)
    _step(rules, states, actions, captured)
    return captured
