"""Search trees of many games as flat arrays: descend, add a node, back up.

All games of a batch step together; one call of the network serves one new node of every game. Nodes
are decisions only: a position with a single legal action is played through at once. Values are for
the player to move at the node, and change sign where the player changes (`sign`), so chains of extra
turns and swaps need nothing special. Who decides what to try at the root: `mcts.py`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from agents import endgame
from kalah_env import batch, engine
from kalah_env.jit import inlined, njit
from kalah_env.rules import Rules, num_actions

GUMBEL, PUCT = 0, 1
_LEAST = np.float32(1e-30)
MAX_FORCED = 1000  # forced moves played at once: without stores and limit they may go round for ever


class Tree(NamedTuple):
    """The arrays of B trees with room for N nodes; node 0 is the root. Views of one array of nodes.

    What is known of an action stands at the node that has the choice, so that choosing reads one place.
    """

    logits: np.ndarray  # (B, N, A) float32 - policy logits, -inf where illegal
    priors: np.ndarray  # (B, N, A) float32 - softmax of the logits
    visits: np.ndarray  # (B, N, A) int32 - values backed up through each action
    totals: np.ndarray  # (B, N, A) float32 - their sum, for the player who chooses
    children: np.ndarray  # (B, N, A) int32 - node behind each action, -1 if none yet
    raw: np.ndarray  # (B, N) float32 - the network's utility, or the exact one where ended
    sign: np.ndarray  # (B, N) float32 - +1 if the node's player is its parent's, else -1
    parent: np.ndarray  # (B, N) int32
    action: np.ndarray  # (B, N) int16 - of the parent, that leads here
    ended: np.ndarray  # (B, N) int16 - game over, truncated, in an endgame table, or all moves lead to such
    sure: np.ndarray  # (B, N) float32 - the best exact value among the node's moves, -inf if none
    states: np.ndarray  # (B, N, S) int16 - position of the node
    sizes: np.ndarray  # (B,) int32 - nodes in use


class Constants(NamedTuple):
    """Numbers that choosing and valuing depend on; what they mean stands at `mcts.SearchConfig`."""

    c_visit: float
    c_most: float
    c_scale: float
    c_explore: float
    c_puct: float
    sign_weight: float


def make_tree(rules: Rules, games: int, nodes: int) -> Tree:
    """Return empty trees."""
    actions = num_actions(rules)
    types: dict[str, Any] = dict.fromkeys(("logits", "priors", "totals"), (np.float32, actions))
    types |= dict.fromkeys(("visits", "children"), (np.int32, actions))
    types |= dict.fromkeys(("raw", "sign", "sure"), np.float32) | dict.fromkeys(("action", "ended"), np.int16)
    types |= {"parent": np.int32, "states": (np.int16, batch.state_size(rules))}
    fields = [name for name in Tree._fields if name in types]
    array = np.zeros((games, nodes), np.dtype([(name, types[name]) for name in fields], align=True))
    return Tree(*(array[name] for name in fields), sizes=np.zeros(games, np.int32))


@njit
def margin_utility(rules, s, margin, sign_weight):
    """Return the utility of a final margin for whoever has it, in a game with the seeds of `s`."""
    total = 0
    for i in range(engine.board_size(rules)):
        total += s[i]
    scaled = 1.0 * margin if rules.win == 1 else 2.0 * margin / max(1, total)
    outcome = 1.0 if margin > 0 else (-1.0 if margin < 0 else 0.0)
    return sign_weight * outcome + (1.0 - sign_weight) * scaled


@njit
def exact_utility(rules, s, sign_weight):
    """Return the utility of an ended position for the player at SIDE; a truncated game is a draw."""
    extras = engine.board_size(rules)
    if s[extras + engine.STATUS] == engine.TRUNCATED:
        return 0.0
    margin = engine.margin(rules, s)
    if s[extras + engine.SIDE] == engine.NORTH:
        margin = -margin
    return margin_utility(rules, s, margin, sign_weight)


@njit
def advance(rules, s, action):
    """Play `action` and every forced action after it; return +1 if the same player is to move."""
    extras = engine.board_size(rules)
    sign = 1.0
    for _ in range(MAX_FORCED):
        side = s[extras + engine.SIDE]
        engine.play(rules, s, action)
        if s[extras + engine.STATUS] != engine.RUNNING:
            return sign  # SIDE is still the one who moved
        if not engine.same_player(rules, side, action, s[extras + engine.SIDE]):
            sign = -sign
        legal = engine.legal_bits(rules, s)
        if legal & (legal - 1):
            break
        action = 0
        while legal >> action > 1:
            action += 1
    return sign


@inlined
def _clear(tree, b, node, s):
    """Make `node` one of position `s` that nothing is known of."""
    for i in range(s.shape[0]):
        tree.states[b, node, i] = s[i]
    for a in range(tree.children.shape[2]):
        tree.children[b, node, a] = -1
        tree.visits[b, node, a] = 0
        tree.totals[b, node, a] = 0.0
    tree.ended[b, node] = 0
    tree.sure[b, node] = -np.inf


@njit
def plant(tree, states):
    """Make `states: (B, S)` the roots of empty trees."""
    for b in range(states.shape[0]):
        _clear(tree, b, 0, states[b])
        tree.sizes[b] = 1


@inlined
def add_child(rules, tree, b, parent, action, sign_weight):
    """Add and return the node behind `action` of `parent`; its policy is not written yet."""
    node = tree.sizes[b]
    tree.sizes[b] += 1
    tree.children[b, parent, action] = node
    _clear(tree, b, node, tree.states[b, parent])
    s = tree.states[b, node]
    tree.sign[b, node] = advance(rules, s, action)
    tree.parent[b, node] = parent
    tree.action[b, node] = action
    if s[engine.board_size(rules) + engine.STATUS] != engine.RUNNING:
        tree.ended[b, node] = 1
        tree.raw[b, node] = exact_utility(rules, s, sign_weight)
    return node


@inlined
def back_up(tree, b, node, value):
    """Count `value`, for the player of `node`, in the action that leads there and in all above it.

    Above a node with an exact child it counts as no less than that: so much its player has for certain.
    """
    while node > 0:
        value *= tree.sign[b, node]
        action = tree.action[b, node]
        node = tree.parent[b, node]
        tree.visits[b, node, action] += 1
        tree.totals[b, node, action] += value
        value = max(value, tree.sure[b, node])


@inlined
def settle(tree, b, node):
    """Tell the node above an ended `node`; where all its moves are exact by now it has ended, too."""
    while node > 0:
        value = tree.sign[b, node] * tree.raw[b, node]
        node = tree.parent[b, node]
        tree.sure[b, node] = max(tree.sure[b, node], value)
        for a in range(tree.children.shape[2]):
            child = tree.children[b, node, a]
            if tree.logits[b, node, a] != -np.inf and (child < 0 or tree.ended[b, child] == 0):
                return
        tree.ended[b, node], tree.raw[b, node] = 1, tree.sure[b, node]
        if node > 0:  # all visits count for the exact value
            above, action = tree.parent[b, node], tree.action[b, node]
            visits = np.float32(tree.visits[b, above, action])
            tree.totals[b, above, action] = visits * tree.sign[b, node] * tree.raw[b, node]


@inlined
def complete_values(tree, b, node, out):
    """Write the value of every action into `out: (A,)`; return the visits of all and of the most visited.

    An untried action is worth the network's value mixed with those of the tried ones: (raw + n *
    prior-weighted mean of tried values) / (n + 1). Danihelka et al. 2022, appendix D.
    """
    tried, most = 0, 0
    weight, value = np.float32(0), np.float32(0)
    for a in range(tree.children.shape[2]):
        visits = tree.visits[b, node, a]
        if visits > 0:
            tried += visits
            most = max(most, visits)
            out[a] = tree.totals[b, node, a] / np.float32(visits)
            prior = max(tree.priors[b, node, a], _LEAST)  # all of them may have underflowed to 0
            weight += prior
            value += prior * out[a]
    mixed = tree.raw[b, node]
    if tried > 0:
        mixed = (mixed + np.float32(tried) * value / weight) / np.float32(1 + tried)
    for a in range(tree.children.shape[2]):
        if tree.visits[b, node, a] == 0:
            out[a] = mixed
    return tried, most


@inlined
def sharpness(constants, most):
    """Return sigma's factor: how many logits a utility of 1 is worth where an action has so many visits.

    It stops growing at c_most: with thousands of visits noise in the values would decide alone.
    """
    return np.float32((constants.c_visit + min(most, constants.c_most)) * constants.c_scale)


@inlined
def improved_logits(tree, b, node, constants, out):
    """Write logits + sigma(value) of every action into `out: (A,)`, -inf where illegal; return the visits."""
    tried, most = complete_values(tree, b, node, out)
    scale = sharpness(constants, most)
    for a in range(tree.children.shape[2]):
        out[a] = tree.logits[b, node, a] + scale * out[a]
    return tried


@inlined
def softmax(logits, out):
    """Write the softmax of `logits: (A,)` into `out`."""
    top = logits[0]
    for a in range(1, logits.shape[0]):
        top = max(top, logits[a])
    total = np.float32(0)
    for a in range(logits.shape[0]):
        out[a] = math.exp(logits[a] - top)
        total += out[a]
    for a in range(logits.shape[0]):
        out[a] /= total


@inlined
def choose_gumbel(tree, b, node, constants, scratch):
    """Keep the visit shares close to the improved policy (Danihelka et al. 2022, section 5).

    A share c_explore / visits^(1/4) follows the prior instead: without it an action whose mixed value
    is a little too low is never tried, and the search need not converge to the best line.
    """
    tried = improved_logits(tree, b, node, constants, scratch) + 1  # the node's own among them
    softmax(scratch, scratch)
    explore = np.float32(min(1.0, constants.c_explore / math.sqrt(math.sqrt(tried))))
    part = np.float32(1.0 / tried)
    best, best_score = -1, np.float32(-np.inf)
    for a in range(tree.children.shape[2]):
        if tree.logits[b, node, a] == -np.inf:
            continue
        child = tree.children[b, node, a]
        if child >= 0 and tree.ended[b, child] == 1:
            continue  # there is nothing to find out
        share = scratch[a] + explore * (tree.priors[b, node, a] - scratch[a])
        score = share - np.float32(tree.visits[b, node, a]) * part
        if score > best_score:
            best, best_score = a, score
    return best


@inlined
def choose_puct(tree, b, node, c_puct, scratch):
    """Return the action of the greatest Q + c P sqrt(n) / (1 + n_a); untried Q = the mixed value."""
    tried, _ = complete_values(tree, b, node, scratch)
    root_n = math.sqrt(max(1, tried))
    best, best_score = -1, -np.inf
    for a in range(tree.children.shape[2]):
        if tree.logits[b, node, a] == -np.inf:
            continue
        q = scratch[a]
        score = q + c_puct * tree.priors[b, node, a] * root_n / (1 + tree.visits[b, node, a])
        if score > best_score:
            best, best_score = a, score
    return best


@njit
def descend(rules, probe, tree, root_actions, policy, constants, leaves):
    """Run one simulation in every game, up to the network's call.

    probe: `endgame.Probe` - positions that it knows end a game with their exact value. root_actions: (B,)
    int64 - what each root tries; -1 leaves a game out. leaves: (B,) int32 - new node to evaluate, or -1
    where the simulation met an ended game and is backed up already.
    """
    scratch = np.empty(tree.children.shape[2], np.float32)
    for b in range(root_actions.shape[0]):
        leaves[b] = -1
        action = root_actions[b]
        if action < 0:
            continue
        node = 0
        while True:
            child = tree.children[b, node, action]
            if child < 0:
                node = add_child(rules, tree, b, node, action, constants.sign_weight)
                s = tree.states[b, node]
                if tree.ended[b, node] == 0 and endgame.is_known(rules, probe, s):
                    margin = endgame.known_margin(rules, probe, s)
                    tree.raw[b, node] = margin_utility(rules, s, margin, constants.sign_weight)
                    tree.ended[b, node] = 1
                if tree.ended[b, node] == 1:
                    settle(tree, b, node)
                break
            node = child
            if tree.ended[b, node] == 1:
                break
            if policy == GUMBEL:
                action = choose_gumbel(tree, b, node, constants, scratch)
            else:
                action = choose_puct(tree, b, node, constants.c_puct, scratch)
        if tree.ended[b, node] == 1:
            back_up(tree, b, node, tree.raw[b, node])
        else:
            leaves[b] = node


@njit
def gather(tree, leaves, states):
    """Copy the positions of all leaves >= 0 into the first rows of `states`; return their number."""
    count = 0
    for b in range(leaves.shape[0]):
        if leaves[b] >= 0:
            for i in range(states.shape[1]):
                states[count, i] = tree.states[b, leaves[b], i]
            count += 1
    return count


@njit
def expand(rules, tree, leaves, logits, values):
    """Write the network's answers for the gathered leaves into the trees and back them up.

    logits: (n, A) float32, values: (n,) float32 utility for the mover - in the order of `gather`.
    """
    row = 0
    for b in range(leaves.shape[0]):
        node = leaves[b]
        if node < 0:
            continue
        legal = engine.legal_bits(rules, tree.states[b, node])
        for a in range(tree.children.shape[2]):
            tree.logits[b, node, a] = logits[row, a] if (legal >> a) & 1 else -np.inf
        softmax(tree.logits[b, node], tree.priors[b, node])
        tree.raw[b, node] = values[row]
        back_up(tree, b, node, values[row])
        row += 1


@njit
def replay(rules, tree):
    """Play the moves of all nodes again, on a scratch position: what the rules cost of a search."""
    s = np.empty(tree.states.shape[2], np.int16)
    for b in range(tree.states.shape[0]):
        for node in range(1, tree.sizes[b]):
            s[:] = tree.states[b, tree.parent[b, node]]
            advance(rules, s, tree.action[b, node])
