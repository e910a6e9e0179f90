"""Search trees of many games as flat arrays: descend, add a node, back up.

All games of a batch step together; one call of the network serves one new node of every game. Nodes
are decisions only: a position with a single legal action is played through at once. Values are for
the player to move at the node, and change sign where the player changes (`sign`), so chains of extra
turns and swaps need nothing special. Who decides what to try at the root: `mcts.py`.
"""

import math
from typing import NamedTuple

import numpy as np

from kalah_env import batch, engine
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions

GUMBEL, PUCT = 0, 1
MAX_FORCED = 1000  # forced moves played at once: without stores and limit they may go round for ever


class Tree(NamedTuple):
    """The arrays of B trees with room for N nodes; node 0 is the root."""

    states: np.ndarray  # (B, N, S) int16 - position of the node
    logits: np.ndarray  # (B, N, A) float32 - policy logits, -inf where illegal
    priors: np.ndarray  # (B, N, A) float32 - softmax of the logits
    children: np.ndarray  # (B, N, A) int32 - node behind each action, -1 if none yet
    parents: np.ndarray  # (B, N) int32
    signs: np.ndarray  # (B, N) float32 - +1 if the node's player is its parent's, else -1
    visits: np.ndarray  # (B, N) int32 - values backed up through the node, its own included
    totals: np.ndarray  # (B, N) float32 - their sum, for the node's player
    raw: np.ndarray  # (B, N) float32 - the network's utility, or the exact one where ended
    ended: np.ndarray  # (B, N) int8 - game over or truncated
    sizes: np.ndarray  # (B,) int32 - nodes in use


def make_tree(rules: Rules, games: int, nodes: int) -> Tree:
    """Return empty trees."""
    actions, size = num_actions(rules), batch.state_size(rules)
    return Tree(
        np.zeros((games, nodes, size), np.int16),
        np.zeros((games, nodes, actions), np.float32),
        np.zeros((games, nodes, actions), np.float32),
        np.full((games, nodes, actions), -1, np.int32),
        np.full((games, nodes), -1, np.int32),
        np.ones((games, nodes), np.float32),
        np.zeros((games, nodes), np.int32),
        np.zeros((games, nodes), np.float32),
        np.zeros((games, nodes), np.float32),
        np.zeros((games, nodes), np.int8),
        np.zeros(games, np.int32),
    )


@njit
def exact_utility(rules, s, sign_weight):
    """Return the utility of an ended position for the player at SIDE; a truncated game is a draw."""
    extras = engine.board_size(rules)
    if s[extras + engine.STATUS] == engine.TRUNCATED:
        return 0.0
    margin = engine.margin(rules, s)
    if s[extras + engine.SIDE] == engine.NORTH:
        margin = -margin
    total = 0
    for i in range(extras):
        total += s[i]
    scaled = 1.0 * margin if rules.win == 1 else 2.0 * margin / max(1, total)
    outcome = 1.0 if margin > 0 else (-1.0 if margin < 0 else 0.0)
    return sign_weight * outcome + (1.0 - sign_weight) * scaled


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
        legal = 0
        for a in range(engine.pit_actions(rules) + rules.pie):
            if engine.is_legal(rules, s, a):
                legal += 1
                action = a
        if legal != 1:
            break
    return sign


@njit
def plant(tree, states):
    """Make `states: (B, S)` the roots of empty trees."""
    for b in range(states.shape[0]):
        tree.states[b, 0] = states[b]
        tree.children[b, 0] = -1
        tree.visits[b, 0] = 0
        tree.totals[b, 0] = 0.0
        tree.ended[b, 0] = 0
        tree.sizes[b] = 1


@njit
def add_child(rules, tree, b, parent, action, sign_weight):
    """Add and return the node behind `action` of `parent`; its policy is not written yet."""
    node = tree.sizes[b]
    tree.sizes[b] += 1
    tree.children[b, parent, action] = node
    s = tree.states[b, node]
    s[:] = tree.states[b, parent]
    tree.signs[b, node] = advance(rules, s, action)
    tree.parents[b, node] = parent
    tree.children[b, node] = -1
    tree.visits[b, node] = 0
    tree.totals[b, node] = 0.0
    tree.ended[b, node] = 0
    if s[engine.board_size(rules) + engine.STATUS] != engine.RUNNING:
        tree.ended[b, node] = 1
        tree.raw[b, node] = exact_utility(rules, s, sign_weight)
    return node


@njit
def back_up(tree, b, node, value):
    """Count `value`, for the player of `node`, in the node and in all above it."""
    while True:
        tree.visits[b, node] += 1
        tree.totals[b, node] += value
        if node == 0:
            return
        value *= tree.signs[b, node]
        node = tree.parents[b, node]


@njit
def child_value(tree, b, child):
    """Return the mean value of `child` for its parent's player."""
    return tree.signs[b, child] * tree.totals[b, child] / tree.visits[b, child]


@njit
def mixed_value(tree, b, node):
    """Return what an untried action of `node` is worth: the network's value mixed with the tried ones.

    Danihelka et al. 2022, appendix D: (raw + n * prior-weighted mean of tried values) / (n + 1).
    """
    weight = 0.0
    value = 0.0
    tried = 0
    for a in range(tree.children.shape[2]):
        child = tree.children[b, node, a]
        if child >= 0 and tree.visits[b, child] > 0:
            tried += tree.visits[b, child]
            prior = max(tree.priors[b, node, a], 1e-30)  # all of them may have underflowed to 0
            weight += prior
            value += prior * child_value(tree, b, child)
    if tried == 0:
        return tree.raw[b, node]
    return (tree.raw[b, node] + tried * value / weight) / (1 + tried)


@njit
def improved_logits(tree, b, node, c_visit, c_scale, out):
    """Write logits + sigma(completed Q) of every action into `out: (A,)`; -inf where illegal."""
    actions = tree.children.shape[2]
    most = 0
    for a in range(actions):
        child = tree.children[b, node, a]
        if child >= 0:
            most = max(most, tree.visits[b, child])
    scale = (c_visit + most) * c_scale
    default = mixed_value(tree, b, node)
    for a in range(actions):
        child = tree.children[b, node, a]
        q = default
        if child >= 0 and tree.visits[b, child] > 0:
            q = child_value(tree, b, child)
        out[a] = tree.logits[b, node, a] + scale * q


@njit
def softmax(logits, out):
    """Write the softmax of `logits: (A,)` into `out`."""
    top = -np.inf
    for a in range(logits.shape[0]):
        top = max(top, logits[a])
    total = 0.0
    for a in range(logits.shape[0]):
        out[a] = math.exp(logits[a] - top)
        total += out[a]
    for a in range(logits.shape[0]):
        out[a] /= total


@njit
def _choose_gumbel(tree, b, node, c_visit, c_scale, c_explore, scratch):
    """Keep the visit shares close to the improved policy (Danihelka et al. 2022, section 5).

    A share c_explore / sqrt(visits) follows the prior instead: without it an action whose mixed value
    is a little too low is never tried, and the search need not converge to the best line.
    """
    improved_logits(tree, b, node, c_visit, c_scale, scratch)
    softmax(scratch, scratch)
    tried = max(1, tree.visits[b, node])  # visits of the children, plus one for the node itself
    explore = min(1.0, c_explore / math.sqrt(tried))
    best, best_score = -1, -np.inf
    for a in range(tree.children.shape[2]):
        if tree.logits[b, node, a] == -np.inf:
            continue
        child = tree.children[b, node, a]
        visits = tree.visits[b, child] if child >= 0 else 0
        share = (1.0 - explore) * scratch[a] + explore * tree.priors[b, node, a]
        score = share - visits / tried
        if score > best_score:
            best, best_score = a, score
    return best


@njit
def choose_puct(tree, b, node, c_puct):
    """Return the action of the greatest Q + c P sqrt(n) / (1 + n_a); untried Q = the mixed value."""
    default = mixed_value(tree, b, node)
    root_n = math.sqrt(max(1, tree.visits[b, node] - 1))
    best, best_score = -1, -np.inf
    for a in range(tree.children.shape[2]):
        if tree.logits[b, node, a] == -np.inf:
            continue
        child = tree.children[b, node, a]
        q, visits = default, 0
        if child >= 0 and tree.visits[b, child] > 0:
            q, visits = child_value(tree, b, child), tree.visits[b, child]
        score = q + c_puct * tree.priors[b, node, a] * root_n / (1 + visits)
        if score > best_score:
            best, best_score = a, score
    return best


@njit
def descend(rules, tree, root_actions, policy, constants, leaves):
    """Run one simulation in every game, up to the network's call.

    root_actions: (B,) int64 - what each root tries; -1 leaves a game out. constants: c_visit,
    c_scale, c_explore, c_puct, sign_weight. leaves: (B,) int32 - new node to evaluate, or -1 where the
    simulation met an ended game and is backed up already.
    """
    c_visit, c_scale, c_explore, c_puct, sign_weight = constants
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
                node = add_child(rules, tree, b, node, action, sign_weight)
                break
            node = child
            if tree.ended[b, node] == 1:
                break
            if policy == GUMBEL:
                action = _choose_gumbel(tree, b, node, c_visit, c_scale, c_explore, scratch)
            else:
                action = choose_puct(tree, b, node, c_puct)
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
            states[count] = tree.states[b, leaves[b]]
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
        for a in range(tree.children.shape[2]):
            legal = engine.is_legal(rules, tree.states[b, node], a)
            tree.logits[b, node, a] = logits[row, a] if legal else -np.inf
        softmax(tree.logits[b, node], tree.priors[b, node])
        tree.raw[b, node] = values[row]
        back_up(tree, b, node, values[row])
        row += 1


@njit
def replay(rules, tree):
    """Play the moves of all nodes again, on a scratch position: what the rules cost of a search."""
    s = np.empty(tree.states.shape[2], np.int16)
    for b in range(tree.states.shape[0]):
        for node in range(tree.sizes[b]):
            for a in range(tree.children.shape[2]):
                if tree.children[b, node, a] >= 0:
                    s[:] = tree.states[b, node]
                    advance(rules, s, a)
