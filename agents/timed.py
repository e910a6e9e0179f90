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
from agents.endgame import Endgame
from agents.mcts import Evaluate, SearchConfig
from kalah_env import batch, engine
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions

MAX_NODES = 200_000  # of the tree behind one move: 45 MB


class Timed(NamedTuple):
    """What a timed search found: action; utilities: (A,) of each action for the mover, nan where illegal;
    simulations: leaves evaluated; exact: whether the chosen action's utility is exact.
    """

    action: int
    utilities: np.ndarray
    simulations: int
    exact: bool


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
def _next(tree, active, constants, actions):
    """Write what each active tree tries at its root, as within a search; -1 for the others."""
    scratch = np.empty(tree.children.shape[2], np.float32)
    for i in range(active.shape[0]):
        actions[i] = -1
        if active[i]:
            actions[i] = trees.choose_gumbel(tree, i, 0, constants[0], constants[1], constants[2], scratch)


@njit
def _values(tree, count, constants, values, visits):
    """Write the utility of each tree's root for its mover: the improved policy's mean value."""
    width = tree.children.shape[2]
    scores, means = np.empty(width, np.float32), np.empty(width, np.float32)
    for i in range(count):
        visits[i] = trees.improved_logits(tree, i, 0, constants[0], constants[1], scores)
        trees.softmax(scores, scores)
        trees.complete_values(tree, i, 0, means)
        values[i] = 0.0
        for a in range(width):
            if scores[a] > 0:
                values[i] += scores[a] * means[a]


class TimedSearch:
    """A search for one rule set, with its memory; one per thread."""

    def __init__(self, rules: Rules, evaluate: Evaluate, table: Endgame | None, config: SearchConfig) -> None:
        self.rules, self.evaluate, self.config = rules, evaluate, config
        self.probe = endgame.probe_of(rules, table)
        self.constants = (
            config.c_visit,
            config.c_scale,
            config.c_explore,
            config.c_puct,
            config.sign_weight,
        )
        width, size = num_actions(rules), batch.state_size(rules)
        self.children = np.zeros((width, size), np.int16)
        self.leaf_states = np.zeros((width, size), np.int16)
        self.tree: trees.Tree | None = None

    def run(self, state: np.ndarray, seconds: float) -> Timed:
        """Search a running state (S,) for so many seconds of the clock, or until all is exact."""
        began = time.monotonic()
        width = len(self.children)
        signs, exact = np.zeros(width), np.zeros(width)
        _open(self.rules, self.probe, state, self.config.sign_weight, self.children, signs, exact)
        legal = signs != 0
        utilities = exact.copy()
        visits = np.zeros(width)
        unknown = np.flatnonzero(legal & np.isnan(exact))
        logits = np.zeros(width)
        left = legal.copy()  # moves not yet given up
        simulations = 0
        if len(unknown) and legal.sum() > 1:
            logits[:] = self.evaluate(self.rules, state[None])[0][0]
            until = [began, began + seconds]
            simulations = self._search(unknown, signs, utilities, visits, logits, left, until)
        scores = self._scores(utilities, visits, logits, np.isfinite(exact))
        action = int(np.argmax(np.where(left, scores, -np.inf)))
        return Timed(action, utilities, simulations, bool(np.isfinite(exact[action])))

    def _scores(
        self, utilities: np.ndarray, visits: np.ndarray, logits: np.ndarray, exact: np.ndarray
    ) -> np.ndarray:
        """Return what moves are ranked by, as at the root of a search; what is exact has all visits."""
        counts = np.where(exact, visits.max(initial=0), visits)
        scale = (self.config.c_visit + counts.max(initial=0)) * self.config.c_scale
        return logits + scale * np.nan_to_num(utilities, nan=-1e9)

    def _search(
        self,
        unknown: np.ndarray,
        signs: np.ndarray,
        utilities: np.ndarray,
        visits: np.ndarray,
        logits: np.ndarray,
        left: np.ndarray,
        until: list[float],
    ) -> int:
        """Search the moves `unknown`, and write what is found; return the simulations."""
        tree, count = self._plant(unknown), len(unknown)
        leaves = np.zeros(count, np.int32)
        simulations = self._expand(tree, leaves)
        values, seen = np.zeros(count), np.zeros(count)
        actions = np.empty(count, np.int64)
        exact = np.isfinite(utilities)
        rounds = max(1, ceil(log2(left.sum())))
        for end in np.linspace(*until, rounds + 1)[1:]:
            active = left[unknown]
            while active.any() and time.monotonic() < end and tree.sizes[:count].max() < tree.raw.shape[1]:
                _next(tree, active, self.constants, actions)
                trees.descend(self.rules, self.probe, tree, actions, trees.GUMBEL, self.constants, leaves)
                simulations += self._expand(tree, leaves)
            _values(tree, count, self.constants, values, seen)
            utilities[unknown], visits[unknown] = signs[unknown] * values, seen
            scores = np.where(left, self._scores(utilities, visits, logits, exact), -np.inf)
            order = np.argsort(-scores, kind="stable")
            left[order[max(2, ceil(left.sum() / 2)) :]] = False
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
