"""The compiled part of alpha-beta: leaf values, move ordering, transposition table, deepening.

A position is worth the difference of the stores, or the final margin where the game is over (0 where
`ply_limit` truncates it, which the arena scores as a draw), for the player to move. Values change
sign only where the player to move changes. The table never changes a value: an entry serves the same
remaining depth, or a greater one if all its lines reached the end of the game. Called by `search.py`.
"""

import numpy as np

from kalah_env import engine
from kalah_env.engine import EXTRAS, PHASE, PLY, RUNNING, SIDE, SOUTH, STATUS, TRUNCATED
from kalah_env.jit import njit

UNKNOWN = -30000  # below every value: illegal actions, and what has not been searched

# control: (4,) int64 - shared with the running search; a timer may set STOP from outside.
STOP, NODES, LIMIT, HORIZON = 0, 1, 2, 3
EXACT, LOWER, UPPER = 0, 1, 2
# Multipliers of a multilinear hash (Carter and Wegman 1979): two states collide with chance < 2^-50.
_FACTORS = np.random.default_rng(20000).integers(-(2**63), 2**63 - 1, 2 * 24 + 2 + EXTRAS) | 1
_SALT = 0x1E3779B97F4A7C15


@njit
def worth(rules, s):
    """Return the value of a leaf for the player who sits at the side to move."""
    if s[engine.board_size(rules) + STATUS] == TRUNCATED:
        return 0
    margin = engine.margin(rules, s)
    return margin if s[engine.board_size(rules) + SIDE] == SOUTH else -margin


@njit
def state_hash(rules, s):
    """Return 64 bits that tell running states apart; PLY counts only where `ply_limit` gives it a meaning."""
    total = 0
    for i in range(engine.board_size(rules) + PHASE + 1):
        total += s[i] * _FACTORS[i]
    if rules.ply_limit > 0:
        total += s[engine.board_size(rules) + PLY] * _FACTORS[engine.board_size(rules) + PLY]
    return total


@njit
def _order(rules, s, first, order):
    """Write the legal actions, promising ones first, as score * 64 + action; return their number.

    `first` leads, then moves that end in the store, then captures. Guessed from the plain way of
    sowing: with other rules the order is worse, the values are the same.
    """
    pits = rules.rows * rules.pits
    row = s[2 * pits + 2 + SIDE] * (pits + 1)
    count = 0
    for action in range(engine.pit_actions(rules) + rules.pie):
        if not engine.is_legal(rules, s, action):
            continue
        score = action
        if action == first:
            score = 20000
        elif action < pits:
            seeds = s[row + action]
            last = action + seeds
            while last > 2 * pits:
                last -= 2 * pits + 1
            if last == pits:
                score += 10000
            elif last < pits and seeds <= 2 * pits + 1 and (s[row + last] == 0 or last == action):
                score += 16 * s[2 * pits - row - last]
        key = score * 64 + action
        k = count
        while k > 0 and order[k - 1] < key:
            order[k] = order[k - 1]
            k -= 1
        order[k] = key
        count += 1
    return count


@njit
def _negamax(rules, path, order, ply, depth, alpha, beta, entries, salt, control):
    """Return the value of the running `path[ply]`, `depth` >= 1 plies deep: exact within (alpha, beta).

    Outside it is a bound (fail-soft). Meaningless once control[STOP] is set.
    """
    state, child = path[ply], path[ply + 1]
    extras = engine.board_size(rules)
    horizon = control[HORIZON]
    first = -1
    slot = key = 0
    if depth > 1:
        key = state_hash(rules, state)
        slot = (key >> 40) & (entries.shape[0] - 1)
        key ^= salt * _SALT
        if entries[slot, 0] == key:
            data = entries[slot, 1]
            first = (data >> 12) & 63
            whole = (data >> 20) & 1 == 0
            if data & 4095 == depth or (whole and data & 4095 < depth):
                value = data >> 21
                bound = (data >> 18) & 3
                if (
                    bound == EXACT
                    or (bound == LOWER and value >= beta)
                    or (bound == UPPER and value <= alpha)
                ):
                    control[HORIZON] += not whole
                    return value
    best, best_action, floor = UNKNOWN, 0, alpha
    for k in range(_order(rules, state, first, order[ply])):
        if control[NODES] >= control[LIMIT]:
            control[STOP] = 1
        if control[STOP] != 0:
            return 0
        action = order[ply, k] & 63
        for i in range(path.shape[1]):
            child[i] = state[i]
        engine.play(rules, child, action)
        control[NODES] += 1
        stays = engine.same_player(rules, state[extras + SIDE], action, child[extras + SIDE])
        if depth == 1 or child[extras + STATUS] != RUNNING:
            control[HORIZON] += child[extras + STATUS] == RUNNING
            value = worth(rules, child)
        else:
            low, high = (floor, beta) if stays else (-beta, -floor)
            value = _negamax(rules, path, order, ply + 1, depth - 1, low, high, entries, salt, control)
        if not stays:
            value = -value
        if value > best:
            best, best_action = value, action
            floor = max(floor, best)
            if best >= beta:
                break
    if depth > 1 and control[STOP] == 0:
        bound = LOWER if best >= beta else UPPER if best <= alpha else EXACT
        cut = control[HORIZON] != horizon
        entries[slot, 0] = key
        entries[slot, 1] = (best << 21) | (cut << 20) | (bound << 18) | (best_action << 12) | depth
    return best


@njit
def _root(rules, path, order, depth, entries, salt, control, values, exact):
    """Search every action of `path[0]`, best of the last iteration first; those below the best get bounds.

    The window opens one below the best value so far, so that equal values are exact too.
    """
    state, child = path[0], path[1]
    extras = engine.board_size(rules)
    count = 0
    for action in range(values.shape[0]):
        if engine.is_legal(rules, state, action):
            k = count
            while k > 0 and values[order[0, k - 1]] < values[action]:
                order[0, k] = order[0, k - 1]
                k -= 1
            order[0, k] = action
            count += 1
    best = UNKNOWN
    for k in range(count):
        if control[NODES] >= control[LIMIT]:
            control[STOP] = 1
        if control[STOP] != 0:
            return
        action = order[0, k]
        child[:] = state
        engine.play(rules, child, action)
        control[NODES] += 1
        stays = engine.same_player(rules, state[extras + SIDE], action, child[extras + SIDE])
        if depth == 1 or child[extras + STATUS] != RUNNING:
            control[HORIZON] += child[extras + STATUS] == RUNNING
            value = worth(rules, child)
        else:
            low, high = (best - 1, -UNKNOWN) if stays else (UNKNOWN, 1 - best)
            # Plain int64 only: numba would compile a literal 1 apart, and cached copies that call
            # each other in a ring crash when they are loaded (seen with numba 0.68).
            value = _negamax(rules, path, order, np.int64(1), depth - 1, low, high, entries, salt, control)
        if not stays:
            value = -value
        values[action] = value
        exact[action] = value >= best
        best = max(best, value)


@njit
def deepen(rules, states, path, order, depth, entries, salt, control, values, exact, done):
    """Search each state one ply deeper than `done` and so on up to `depth`, until stopped or solved.

    values, exact: (B, 2, A) - row 0 holds the last finished iteration, row 1 the running one.
    """
    for b in range(states.shape[0]):
        path[0] = states[b]
        while done[b] < depth:
            control[b, HORIZON] = 0
            values[b, 1], exact[b, 1] = values[b, 0], False
            _root(rules, path, order, done[b] + 1, entries, salt + b, control[b], values[b, 1], exact[b, 1])
            if control[b, STOP] != 0:
                break
            done[b] += 1
            values[b, 0], exact[b, 0] = values[b, 1], exact[b, 1]
            if control[b, HORIZON] == 0:
                break


@njit
def plain(rules, path, ply, depth, values):
    """Return the value of `path[ply]` by plain minimax, `depth` >= 1 plies deep.

    Writes the values of its actions where `values` has room: (A,) at the root, (0,) below.
    """
    state, child = path[ply], path[ply + 1]
    extras = engine.board_size(rules)
    best = UNKNOWN
    for action in range(engine.pit_actions(rules) + rules.pie):
        if engine.is_legal(rules, state, action):
            child[:] = state
            engine.play(rules, child, action)
            if depth > 1 and child[extras + STATUS] == RUNNING:
                value = plain(rules, path, ply + 1, depth - 1, values[:0])
            else:
                value = worth(rules, child)
            if not engine.same_player(rules, state[extras + SIDE], action, child[extras + SIDE]):
                value = -value
            best = max(best, value)
            if values.shape[0] > 0:
                values[action] = value
    return best
