"""Root policies of the tree search: Gumbel with sequential halving, and PUCT.

`Search.run` searches a batch of positions and returns, for each, an improved policy (completed-Q for
Gumbel, visit shares for PUCT), the chosen action, the values and the visits. Gumbel: Danihelka,
Guez, Schrittwieser, Silver, "Policy improvement by planning with Gumbel", ICLR 2022.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2

import numpy as np

from agents import endgame
from agents import tree as trees
from agents.base import check_range, check_running
from agents.endgame import Endgame
from agents.halt import check
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions

# (B, S) int16 running states -> policy logits (B, A) float32, utility for the mover (B,) float32
Evaluate = Callable[[Rules, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class SearchConfig:
    """Settings of a search; the defaults are what nets are graded with (training adds `noise`)."""

    simulations: int = 64  # leaves evaluated for each position
    policy: str = "gumbel"  # of the root and within: or "puct"
    considered: int = 16  # root actions that sequential halving starts from
    c_visit: float = 50.0  # values sharpen a policy by (c_visit + min(most visits, c_most)) * c_scale
    c_most: float = 50.0
    c_scale: float = 0.7
    c_explore: float = 0.25  # interior nodes: share of visits that follow the prior, over visits^(1/4)
    c_puct: float = 1.25
    sign_weight: float = 0.25  # share of win/draw/loss in the utility, the rest is margin
    noise: float = 0.0  # scale of the Gumbel noise; share of Dirichlet noise for PUCT
    dirichlet: float = 1.0

    @property
    def constants(self) -> trees.Constants:
        """Return what compiled code needs of it."""
        return trees.Constants(
            self.c_visit, self.c_most, self.c_scale, self.c_explore, self.c_puct, self.sign_weight
        )

    def __post_init__(self) -> None:
        if self.simulations < 1:
            raise KalahError(f"search: sims={self.simulations} is not allowed; it is 1 or more.")
        if self.policy not in ("gumbel", "puct"):
            raise KalahError(f"search: {self.policy!r} is not known; it is gumbel or puct.")
        check_range("search: sign_weight", self.sign_weight, 0, 1)


@dataclass(frozen=True)
class SearchResult:
    """What a search found for B positions."""

    policy: np.ndarray  # (B, A) float32 - improved policy, a training target
    actions: np.ndarray  # (B,) int64 - the chosen action
    values: np.ndarray  # (B,) float32 - utility of the root for the mover: of the policy's mean action
    action_values: np.ndarray  # (B, A) float32 - utility of each action, the mixed value if untried
    visits: np.ndarray  # (B, A) int32 - simulations behind each action


def halving_schedule(considered: int, simulations: int) -> list[int]:
    """Return, for each simulation, how many visits the root action to try next must have.

    Sequential halving: rounds in which every remaining action is visited equally often, then the
    better half stays (two at least), until the simulations are spent.
    """
    if considered <= 1:
        return list(range(simulations))
    rounds = ceil(log2(considered))
    visits = 0
    schedule: list[int] = []
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (rounds * considered))):
            schedule += [visits] * considered
            visits += 1
        considered = max(2, considered // 2)
    return schedule[:simulations]


@njit
def _try_gumbel(tree, gumbel, wanted, constants, actions):
    """Write the root action each game tries: the best of those with `wanted[legal actions]` visits."""
    width = tree.children.shape[2]
    for b in range(actions.shape[0]):
        legal, most = 0, 0
        for a in range(width):
            legal += tree.logits[b, 0, a] != -np.inf
            most = max(most, tree.visits[b, 0, a])
        scale = trees.sharpness(constants, most)
        best, best_score = -1, np.float32(-np.inf)
        for a in range(width):
            visits = tree.visits[b, 0, a]
            if visits != wanted[legal]:
                continue
            score = tree.logits[b, 0, a] + gumbel[b, a]
            if visits > 0:  # those without visits are worth the same
                score += scale * tree.totals[b, 0, a] / np.float32(visits)
            if score > best_score:
                best, best_score = a, score
        actions[b] = best


@njit
def _try_puct(tree, c_puct, actions):
    scratch = np.empty(tree.children.shape[2], np.float32)
    for b in range(actions.shape[0]):
        actions[b] = trees.choose_puct(tree, b, 0, c_puct, scratch)


@njit
def _read_roots(tree, gumbel, constants, policy, visits, values, actions):
    """Write improved policies, visits, action values and the best most-visited action (with Gumbel noise)."""
    width = tree.children.shape[2]
    scores = np.empty(width, np.float32)
    for b in range(actions.shape[0]):
        trees.improved_logits(tree, b, 0, constants, scores)
        trees.complete_values(tree, b, 0, values[b])
        most = 0
        for a in range(width):
            visits[b, a] = tree.visits[b, 0, a]
            most = max(most, visits[b, a])
        best_score = -np.inf
        for a in range(width):
            if visits[b, a] == most and scores[a] + gumbel[b, a] > best_score:
                actions[b] = a
                best_score = scores[a] + gumbel[b, a]
        trees.softmax(scores, policy[b])


class Search:
    """A search with its trees, reused from call to call; one per thread.

    With an endgame table, positions that it knows are leaves with their exact value.
    """

    def __init__(self, config: SearchConfig, table: Endgame | None = None) -> None:
        self.config, self.table = config, table
        self._tree: trees.Tree | None = None
        self._rules: Rules | None = None

    def run(
        self, rules: Rules, states: np.ndarray, evaluate: Evaluate, rng: np.random.Generator
    ) -> SearchResult:
        """Search `states: (B, S) int16`, all running, with `config.simulations` each.

        `evaluate` must have the config's `sign_weight`. `KalahError` where a game has ended.
        """
        check_running(rules, states, "search")
        config, games = self.config, len(states)
        gumbel_root = config.policy == "gumbel"
        constants = config.constants
        tree = self._trees(rules, games)
        width = num_actions(rules)
        gumbel = np.zeros((games, width), np.float32)
        if gumbel_root and config.noise > 0:
            gumbel = (config.noise * rng.gumbel(size=(games, width))).astype(np.float32)
        trees.plant(tree, states)
        leaves = np.zeros(games, np.int32)
        self._evaluate(rules, tree, leaves, evaluate)
        if not gumbel_root and config.noise > 0:
            self._mix_dirichlet(tree, games, rng)
        wanted = self._schedules(width)
        actions = np.empty(games, np.int64)
        code = trees.GUMBEL if gumbel_root else trees.PUCT
        for simulation in range(config.simulations):
            check()
            if gumbel_root:
                _try_gumbel(tree, gumbel, wanted[simulation], constants, actions)
            else:
                _try_puct(tree, config.c_puct, actions)
            trees.descend(rules, self._probe, tree, actions, code, constants, leaves)
            self._evaluate(rules, tree, leaves, evaluate)
        return self._read(tree, gumbel, constants, actions)

    def _read(
        self, tree: trees.Tree, gumbel: np.ndarray, constants: trees.Constants, actions: np.ndarray
    ) -> SearchResult:
        games, width = gumbel.shape
        policy = np.empty((games, width), np.float32)
        visits = np.empty((games, width), np.int32)
        action_values = np.empty((games, width), np.float32)
        _read_roots(tree, gumbel, constants, policy, visits, action_values, actions)
        if self.config.policy == "puct":
            policy = (visits / visits.sum(1, keepdims=True)).astype(np.float32)
        values = (policy * action_values).sum(1)
        return SearchResult(policy, actions, values, action_values, visits)

    @property
    def tree(self) -> trees.Tree:
        """Return the trees of the last search: what a benchmark looks at."""
        if self._tree is None:
            raise KalahError("search: there is no tree before the first run.")
        return self._tree

    def _trees(self, rules: Rules, games: int) -> trees.Tree:
        if self._tree is None or self._rules != rules or len(self._tree.sizes) < games:
            self._tree = trees.make_tree(rules, games, self.config.simulations + 1)
            self._rules = rules
            self._probe = endgame.probe_of(rules, self.table)
            self._leaf_states = np.empty((games, batch.state_size(rules)), np.int16)
        return self._tree

    def _evaluate(self, rules: Rules, tree: trees.Tree, leaves: np.ndarray, evaluate: Evaluate) -> None:
        count = trees.gather(tree, leaves, self._leaf_states)
        if count:
            logits, values = evaluate(rules, self._leaf_states[:count])
            trees.expand(rules, tree, leaves, logits, values)

    def _schedules(self, width: int) -> np.ndarray:
        """Return (simulations, A+1) int64: visits wanted, by the number of legal root actions."""
        columns = [
            halving_schedule(min(self.config.considered, legal), self.config.simulations)
            for legal in range(width + 1)
        ]
        return np.array(columns, np.int64).T.copy()

    def _mix_dirichlet(self, tree: trees.Tree, games: int, rng: np.random.Generator) -> None:
        legal = np.isfinite(tree.logits[:games, 0])
        draws = np.where(legal, rng.gamma(self.config.dirichlet, size=legal.shape), 0.0) + 1e-12 * legal
        draws /= np.maximum(draws.sum(1, keepdims=True), 1e-12)
        share = self.config.noise
        tree.priors[:games, 0] = (1 - share) * tree.priors[:games, 0] + share * draws
