"""The agent `mcts`: tree search whose new nodes are valued by playing to the end at random (UCT).

Kocsis and Szepesvari 2006, with UCB1 in the tree. It needs no network and no knowledge but the rules,
and counts results (win, draw, loss), not seeds. The trees and their signs are those of `tree.py`; the
search with a network is `mcts.py`. Every position draws from a stream of its own, made of the agent's
seed and the position, so that neither the batch nor the threads change what is found.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from agents import tree as trees
from agents.base import check_range, check_running, make_rng
from agents.halt import halting
from kalah_env import batch, engine
from kalah_env.jit import njit, threads_of_numba
from kalah_env.playout import random_action
from kalah_env.rules import Rules, num_actions

MAX_SIMS = 10**6
MAX_PLIES = 2000  # of one playout, which then counts as a draw: rules without a limit may never end
EXPLORATION = 0.7  # of 0.4 to 2.0 the best, with 1.0, against alpha-beta of 4 plies (100 games each)


class Rollouts(NamedTuple):
    """What was found for B positions, for the player to move.

    visits: (B, A) int64 - simulations behind each action; totals: (B, A) float64 - sum of their
    results, +1 a win, -1 a loss; actions: (B,) int64 - most visits, then the best mean, then chance.
    """

    visits: np.ndarray
    totals: np.ndarray
    actions: np.ndarray

    def values(self) -> np.ndarray:
        """Return the mean result of each position: (B,) float64."""
        return self.totals.sum(axis=1) / self.visits.sum(axis=1)


class RolloutAgent:
    """`mcts:sims=800[,c=0.7][,seed=]`: so many playouts a move; `c` weighs exploration.

    The same position gets the same move from the same agent.
    """

    def __init__(self, *, sims: int, c: float = EXPLORATION, seed: int | None = None) -> None:
        check_range("agent mcts: sims", sims, 1, MAX_SIMS)
        check_range("agent mcts: c", c, 0, 1000)
        self.spec = f"mcts:sims={sims}"
        self.sims, self.c = sims, c
        self.seed = int(make_rng(seed).integers(2**63))
        self.threads = threads_of_numba()

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        check_running(rules, states)
        masks = batch.legal_masks(rules, states)
        actions = masks.argmax(axis=1)
        open_ = np.flatnonzero(masks.sum(axis=1) > 1)  # where there is something to choose
        found = search(rules, states[open_], self.sims, self.c, self.seed, self.threads)
        actions[open_] = found.actions
        return actions


def search(
    rules: Rules, states: np.ndarray, sims: int, c: float = EXPLORATION, seed: int = 0, threads: int = 1
) -> Rollouts:
    """Run `sims` simulations from each running state (B, S), spread over `threads`."""
    states = np.ascontiguousarray(states, np.int16)
    count, actions = len(states), num_actions(rules)
    found = Rollouts(
        np.zeros((count, actions), np.int64), np.zeros((count, actions)), np.zeros(count, np.int64)
    )
    threads = max(1, min(threads, count))
    stop = np.zeros(1, np.bool_)

    def work(thread: int) -> None:
        tree = trees.make_tree(rules, 1, sims + 1)
        for b in range(thread, count, threads):
            rng = np.random.default_rng([seed, *states[b].tolist()])
            _simulate(rules, tree, states[b : b + 1], sims, c, rng, stop, found.visits[b], found.totals[b])
            means = found.totals[b] / np.maximum(found.visits[b], 1)
            found.actions[b] = np.lexsort((rng.random(actions), means, found.visits[b]))[-1]

    def end() -> None:
        stop[:] = True

    with halting(end), ThreadPoolExecutor(threads) as pool:
        try:
            list(pool.map(work, range(threads)))
        except BaseException:  # such as Ctrl-C, which only this waiting thread sees
            end()
            raise
    return found


@njit
def _simulate(rules, tree, root, sims, c, rng, stop, visits, totals):
    """Grow `tree` (B = 1) from `root: (1, S)`; write visits and totals of its actions: (A,)."""
    scratch = np.empty(root.shape[1], np.int16)
    draws = np.array([rng.integers(1, 2**63)], np.uint64)
    trees.plant(tree, root)
    _mark_legal(rules, tree, 0)
    for _ in range(sims):
        if stop[0]:
            return
        node, fresh = 0, False
        while not fresh and tree.ended[0, node] == 0:
            action = _choose(tree, node, c, rng)
            child = tree.children[0, node, action]
            if child < 0:
                child = trees.add_child(rules, tree, 0, node, action, 1.0)
                fresh = True
            node = child
        if tree.ended[0, node] == 1:
            value = tree.raw[0, node]
        else:
            _mark_legal(rules, tree, node)
            scratch[:] = tree.states[0, node]
            value = playout(rules, scratch, draws)
        trees.back_up(tree, 0, node, value)
    for action in range(visits.shape[0]):
        visits[action] = tree.visits[0, 0, action]
        totals[action] = tree.totals[0, 0, action]


@njit
def _mark_legal(rules, tree, node):
    """Write the legal actions as logits: 0, or -inf where illegal."""
    for action in range(tree.logits.shape[2]):
        legal = engine.is_legal(rules, tree.states[0, node], action)
        tree.logits[0, node, action] = 0.0 if legal else -np.inf


@njit
def _choose(tree, node, c, rng):
    """Return an action not tried yet, by chance, or that of the greatest mean + c sqrt(ln n / n_a)."""
    best, best_score, untried, tried = -1, -np.inf, 0, 0
    for action in range(tree.logits.shape[2]):
        tried += tree.visits[0, node, action]
    log_visits = math.log(max(1, tried + (node > 0)))  # but for the root, its own playout counts
    for action in range(tree.logits.shape[2]):
        if tree.logits[0, node, action] == -np.inf:
            continue
        visits = tree.visits[0, node, action]
        if visits == 0:
            untried += 1
            if rng.random() * untried < 1.0:
                best = action
        elif untried == 0:
            score = tree.totals[0, node, action] / visits + c * math.sqrt(log_visits / visits)
            if score > best_score:
                best, best_score = action, score
    return best


@njit
def playout(rules, s, draws):
    """Play the running `s` to its end by uniform chance; return the result for the player to move.

    draws: (1,) uint64 - state of the random numbers (`kalah_env/playout.py`).
    """
    extras = engine.board_size(rules)
    sign = 1.0
    for _ in range(MAX_PLIES):
        action = random_action(rules, s, draws)
        side = s[extras + engine.SIDE]
        engine.play(rules, s, action)
        if s[extras + engine.STATUS] != engine.RUNNING:
            return sign * trees.exact_utility(rules, s, 1.0)  # SIDE is still the one who moved
        if not engine.same_player(rules, side, action, s[extras + engine.SIDE]):
            sign = -sign
    return 0.0
