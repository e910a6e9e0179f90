"""Searches one position until a time limit, its moves side by side: what the agent `bot` thinks with.

The position behind each move is the root of a tree of its own, so that one call of the network serves
a leaf of every move still considered. Sequential halving by time: all moves, then the better half, at
last the better two share it evenly. Positions that an endgame table knows have their exact value, and
a search ends early where only such moves are left. Trees and their rules: `tree.py`; many positions at
once with a fixed number of simulations: `mcts.py`.
"""

import time
from math import ceil, log2
from typing import NamedTuple

import numpy as np

from agents import endgame
from agents import tree as trees
from agents.base import check_running
from agents.endgame import Endgame
from agents.halt import check
from agents.mcts import Evaluate, SearchConfig
from kalah_env import batch, engine
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions

MAX_NODES = 200_000  # of the tree behind one move: 45 MB
TRIES = 20  # simulations, in a row, of which none needs the network


class Timed(NamedTuple):
    """What a timed search found: action; utilities: (A,) of each action for the mover, nan where illegal;
    simulations: leaves evaluated; exact: whether the utilities of all actions are exact; seconds: taken.
    """

    action: int
    utilities: np.ndarray
    simulations: int
    exact: bool
    seconds: float


class _Moves(NamedTuple):
    """What is known of the actions of a position: (A,) float64 each."""

    signs: np.ndarray  # +1 if the same player moves next, -1 if not, 0 where illegal
    utilities: np.ndarray  # for the mover, nan where illegal
    visits: np.ndarray
    logits: np.ndarray
    left: np.ndarray  # 1, or 0 once given up
    exact: np.ndarray  # the utility where it is exact, else nan


@njit
def _open(rules, probe, state, sign_weight, children, signs, exact):
    """Play every action of `state`; write the children (A, S), whose they are, and exact values or nan.

    The values are for the mover of `state`; an illegal action has sign 0.
    """
    at = engine.board_size(rules)
    for action in range(children.shape[0]):
        signs[action] = 0.0
        exact[action] = np.nan
        if not engine.is_legal(rules, state, action):
            continue
        s = children[action]
        s[:] = state
        signs[action] = trees.advance(rules, s, action)
        if s[at + engine.STATUS] != engine.RUNNING:
            exact[action] = signs[action] * trees.exact_utility(rules, s, sign_weight)
        elif endgame.is_known(rules, probe, s):
            margin = endgame.known_margin(rules, probe, s)
            exact[action] = signs[action] * trees.margin_utility(rules, s, margin, sign_weight)


@njit
def _descend(rules, probe, tree, active, constants, actions, found, leaves):
    """Find a leaf to evaluate in every active tree, as within a search: `leaves: (n,)`, -1 for none.

    Simulations that end in a known position need no network, so more of them follow at once. Returns
    False once nothing is left to search: every active tree is exact or full. actions, found: (n,) scratch.
    """
    scratch = np.empty(tree.children.shape[2], np.float32)
    leaves[:] = -1
    waiting = False
    for _ in range(TRIES):
        waiting = False
        for i in range(active.shape[0]):
            actions[i] = -1
            full = tree.sizes[i] == tree.raw.shape[1]
            if active[i] and leaves[i] < 0 and tree.ended[i, 0] == 0 and not full:
                waiting = True
                actions[i] = trees.choose_gumbel(tree, i, 0, constants, scratch)
        if not waiting:
            break
        trees.descend(rules, probe, tree, actions, trees.GUMBEL, constants, found)
        for i in range(active.shape[0]):
            leaves[i] = max(leaves[i], found[i])
    return waiting or leaves.max() >= 0


@njit
def _values(tree, count, constants, values, visits):
    """Write the utility of each tree's root for its mover: the improved policy's mean value."""
    width = tree.children.shape[2]
    scores, means = np.empty(width, np.float32), np.empty(width, np.float32)
    for i in range(count):
        visits[i] = trees.improved_logits(tree, i, 0, constants, scores)
        trees.softmax(scores, scores)
        trees.complete_values(tree, i, 0, means)
        values[i] = 0.0
        for a in range(width):
            if scores[a] > 0:
                values[i] += scores[a] * means[a]
        if tree.ended[i, 0] == 1:
            values[i] = tree.raw[i, 0]


class TimedSearch:
    """A search for one rule set, with its memory; one per thread."""

    def __init__(self, rules: Rules, evaluate: Evaluate, table: Endgame | None, config: SearchConfig) -> None:
        self.rules, self.evaluate, self.config = rules, evaluate, config
        self.probe = endgame.probe_of(rules, table)
        self.constants = config.constants
        width, size = num_actions(rules), batch.state_size(rules)
        self.children = np.zeros((width, size), np.int16)
        self.leaf_states = np.zeros((width, size), np.int16)
        self.tree: trees.Tree | None = None

    def run(self, state: np.ndarray, seconds: float) -> Timed:
        """Search a running state (S,) for so many seconds of the clock, or until all is exact."""
        began = time.monotonic()
        check_running(self.rules, state[None], "search")
        moves = _Moves(*(np.zeros(len(self.children)) for _ in _Moves._fields))
        _open(self.rules, self.probe, state, self.config.sign_weight, self.children, moves.signs, moves.exact)
        legal = moves.signs != 0
        moves.utilities[:], moves.left[:] = moves.exact, legal
        simulations = 0
        if legal.sum() > 1 and np.isnan(moves.exact[legal]).any():
            moves.logits[:] = self.evaluate(self.rules, state[None])[0][0]
            simulations = self._search(moves, began, seconds)
        action = int(np.argmax(self._scores(moves)))
        proved = bool(np.isfinite(moves.exact[legal]).all())
        return Timed(action, moves.utilities, simulations, proved, time.monotonic() - began)

    def _scores(self, moves: _Moves) -> np.ndarray:
        """Return what moves are ranked by, as at the root of a search; -inf where given up."""
        if np.isfinite(moves.exact[moves.left > 0]).all():
            return np.where(moves.left > 0, moves.utilities, -np.inf)
        scale = (self.config.c_visit + moves.visits.max()) * self.config.c_scale
        return np.where(moves.left > 0, moves.logits + scale * moves.utilities, -np.inf)

    def _search(self, moves: _Moves, began: float, seconds: float) -> int:
        """Search the moves that are not exact, and write what is found; return the simulations."""
        unknown = np.flatnonzero((moves.signs != 0) & np.isnan(moves.exact))
        tree, count = self._plant(unknown), len(unknown)
        leaves = np.zeros(count, np.int32)
        simulations = self._expand(tree, leaves)
        values, visits = np.zeros(count), np.zeros(count)
        actions, found = np.empty(count, np.int64), np.zeros(count, np.int32)
        rounds = max(1, ceil(log2(moves.left.sum())))
        for number in range(rounds):
            end = began + seconds * (number + 1) / rounds
            active = moves.left[unknown] > 0
            while time.monotonic() < end and _descend(
                self.rules, self.probe, tree, active, self.constants, actions, found, leaves
            ):
                check()
                simulations += self._expand(tree, leaves)
            _values(tree, count, self.constants, values, visits)
            moves.utilities[unknown], moves.visits[unknown] = moves.signs[unknown] * values, visits
            solved = unknown[tree.ended[:count, 0] == 1]
            moves.exact[solved] = moves.utilities[solved]
            order = np.argsort(-self._scores(moves), kind="stable")
            moves.left[order[max(2, ceil(moves.left.sum() / 2)) :]] = 0
        return simulations

    def _plant(self, unknown: np.ndarray) -> trees.Tree:
        if self.tree is None:
            self.tree = trees.make_tree(self.rules, len(self.children), MAX_NODES)
        trees.plant(self.tree, self.children[unknown])
        return self.tree

    def _expand(self, tree: trees.Tree, leaves: np.ndarray) -> int:
        count = trees.gather(tree, leaves, self.leaf_states)
        if count:
            logits, values = self.evaluate(self.rules, self.leaf_states[:count])
            trees.expand(self.rules, tree, leaves, logits, values)
        return int(count)
