"""Self-play: many games in lockstep, each decision searched, rows handed out when a game ends.

Forced moves are played through at once and make no rows. Games begin with a random number of random
plies, or fork off the game before. What a row's player is to expect, its value target, is the final
margin or what search and game tell together (`back_up`). All state (unfinished games, random generator)
can be saved and restored, so that a resumed run equals an uninterrupted one. The search is
`agents/mcts.py`; rows: `replay.py`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from agents import endgame
from agents import tree as trees
from agents.endgame import Endgame
from agents.mcts import Evaluate, Search, SearchConfig, SearchResult
from agents.network import margin_step
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.rules import Rules, format_rules, num_actions, side_pits
from train.config import SelfPlay as SelfPlayConfig
from train.replay import Rows

FORK_PLIES = 3  # random plies, at most, behind the position that a fork begins from
_TRIES = 1000  # beginnings tried before a game is called undecidable
_FIRST_LENGTH = 64  # decisions of a game that there is room for at first


@njit
def _begin(rules, s, start, plies, draws):
    """Write a game that goes on from `start` with so many random plies into `s`; False if it got stuck.

    draws: (plies or more,) float64 in [0, 1) - each picks a ply.
    """
    extras = engine.board_size(rules)
    s[:] = start
    for i in range(plies + 1):
        legal = 0
        for action in range(engine.pit_actions(rules) + rules.pie):
            legal += engine.is_legal(rules, s, action)
        if i == plies and legal > 1:
            return True
        # The last round only plays a forced move, so that a game begins with a decision.
        pick = int(draws[i] * legal) if i < plies else 0
        for action in range(engine.pit_actions(rules) + rules.pie):
            if engine.is_legal(rules, s, action):
                if pick == 0:
                    trees.advance(rules, s, action)
                    break
                pick -= 1
        if s[extras + engine.STATUS] != engine.RUNNING:
            return False
    return True


@njit
def _advance(rules, states, actions, signs, ended):
    """Play the decision of every game and the forced moves behind it; `signs: (B,)` as in `tree.py`."""
    extras = engine.board_size(rules)
    for b in range(states.shape[0]):
        signs[b] = trees.advance(rules, states[b], actions[b])
        ended[b] = states[b, extras + engine.STATUS] != engine.RUNNING


@njit
def back_up(rules, probe, final, decisions, sign_weight, out):
    """Write the utility that each decision's mover is to expect: back from the end of the game.

    G = v + trace (sign G' - q): what the search expected, corrected by what came of the chosen action, as
    far as the policy would choose it; so a random or explored blunder does not count against the moves
    before it. Tree backup: Precup, Sutton, Singh, "Eligibility traces for off-policy policy evaluation",
    ICML 2000. Where the endgame table knows the position, G is its value. The plain result of the game
    is the case v = q = 0, trace = 1.
    """
    utility = trees.exact_utility(rules, final, sign_weight)
    for row in range(len(out) - 1, -1, -1):
        came = decisions.signs[row] * utility
        utility = decisions.values[row] + decisions.traces[row] * (came - decisions.chosen[row])
        s = decisions.states[row]
        if endgame.is_known(rules, probe, s):
            margin = endgame.known_margin(rules, probe, s)
            utility = trees.margin_utility(rules, s, margin, sign_weight)
        out[row] = utility


def margin_utilities(rules: Rules, sign_weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the margins that a game may end with, in seeds, and their utilities: (M,) float64 each."""
    if rules.win:
        margins, scale = np.arange(-1.0, 2.0), 1.0
    else:
        scale = 1.0 * side_pits(rules) * rules.seeds
        margins = np.arange(-2.0 * scale, 2.0 * scale + 1, margin_step(rules))
    return margins, sign_weight * np.sign(margins) + (1.0 - sign_weight) * (margins / scale)


class Decisions(NamedTuple):
    """What was decided in unfinished games, newest last: (B, L, ...), or (L, ...) of one game."""

    states: np.ndarray  # (B, L, S) int16
    policies: np.ndarray  # (B, L, A) float32 - improved policy
    signs: np.ndarray  # (B, L) float32 - +1 if the next decision is the same player's, else -1
    values: np.ndarray  # (B, L) float32 - utility that the search expected
    chosen: np.ndarray  # (B, L) float32 - the same after the chosen action
    traces: np.ndarray  # (B, L) float32 - weight of what came of it, 0 to 1

    @classmethod
    def make(cls, games: int, length: int, size: int, actions: int) -> "Decisions":
        """Return room for `length` decisions in every game."""
        return cls(
            np.zeros((games, length, size), np.int16),
            np.zeros((games, length, actions), np.float32),
            *(np.zeros((games, length), np.float32) for _ in range(4)),
        )

    def of(self, game: int, length: int) -> "Decisions":
        """Return views of the first decisions of one game."""
        return Decisions(*(array[game, :length] for array in self))


class SelfPlay:
    """Games in progress and what was decided in them."""

    def __init__(
        self, rules: Rules, config: SelfPlayConfig, seed: int | list[int], table: Endgame | None = None
    ) -> None:
        self.rules, self.config, self.table = rules, config, table
        self.rng = np.random.default_rng(seed)
        self.start = batch.new_games(rules, 1)[0]
        self.probe = endgame.probe_of(rules, table)
        size = batch.state_size(rules)
        self.states = np.zeros((config.games, size), np.int16)
        self.lengths = np.zeros(config.games, np.int64)
        self.decisions = Decisions.make(config.games, _FIRST_LENGTH, size, num_actions(rules))
        self.margins = margin_utilities(rules, config.sign_weight)
        self.games_done = 0
        self._search: Search | None = None
        for b in range(config.games):
            self._restart(b)

    def run(self, evaluate: Evaluate, simulations: int, check: Callable[[], None] | None = None) -> Rows:
        """Play `config.plies` decisions in every game; return the rows of the games that ended.

        `check` is called before each; what it raises ends the run.
        """
        config = SearchConfig(
            simulations,
            policy=self.config.policy,
            sign_weight=self.config.sign_weight,
            noise=self.config.noise if self.config.policy == "gumbel" else min(0.25, self.config.noise),
        )
        if self._search is None or self._search.config != config:
            self._search = Search(config, self.table)
        finished: list[Rows] = []
        ended = np.zeros(len(self.states), np.bool_)
        signs = np.zeros(len(self.states), np.float32)
        for _ in range(self.config.plies):
            if check:
                check()
            found = self._search.run(self.rules, self.states, evaluate, self.rng)
            actions = found.actions if config.policy == "gumbel" else self._draw(found.policy)
            before = self.states.copy()
            _advance(self.rules, self.states, actions, signs, ended)
            self._record(before, found, actions, signs)
            for b in np.flatnonzero(ended).tolist():
                finished.append(self._rows(b))
                self._restart(b)
        return self._join(finished)

    def _draw(self, policies: np.ndarray) -> np.ndarray:
        """Draw one action from each row of visit shares."""
        draws = self.rng.random((len(policies), 1))
        cumulated = policies.cumsum(1)
        return (cumulated <= draws * cumulated[:, -1:]).sum(1)

    def _record(
        self, states: np.ndarray, found: SearchResult, actions: np.ndarray, signs: np.ndarray
    ) -> None:
        """Append the decision of every game."""
        if self.lengths.max() == self.decisions.signs.shape[1]:
            self.decisions = Decisions(
                *(np.concatenate([array, np.zeros_like(array)], 1) for array in self.decisions)
            )
        games = np.arange(len(states))
        backup = self.config.value_target == "backup"
        shares = found.visits / found.visits.sum(1, keepdims=True)
        row = (
            states,
            found.policy if self.config.policy_target == "improved" else shares,
            signs,
            found.values if backup else 0.0,
            found.action_values[games, actions] if backup else 0.0,
            self.config.trace * found.policy[games, actions] if backup else 1.0,
        )
        for array, new in zip(self.decisions, row, strict=True):
            array[games, self.lengths] = new
        self.lengths += 1

    def _rows(self, b: int) -> Rows:
        decisions = self.decisions.of(b, int(self.lengths[b]))
        utilities = np.empty(len(decisions.signs))
        weight = self.config.sign_weight
        back_up(self.rules, self.probe, self.states[b], decisions, weight, utilities)
        # What is expected stands between two margins; the same share of each in utility and margin.
        margins = np.interp(utilities, self.margins[1], self.margins[0]).astype(np.float32)
        return Rows(decisions.states.copy(), decisions.policies.copy(), margins)

    def _join(self, finished: list[Rows]) -> Rows:
        self.games_done += len(finished)
        empty = Rows(self.decisions.states[0, :0], self.decisions.policies[0, :0], np.empty(0, np.float32))
        return Rows(*(np.concatenate(arrays) for arrays in zip(empty, *finished, strict=True)))

    def _restart(self, b: int) -> None:
        """Begin a game: anew, or with a position of the game that has just ended there."""
        length = int(self.lengths[b])
        past = self.decisions.states[b, :length].copy()
        self.lengths[b] = 0
        for attempt in range(_TRIES):
            most = self.config.random_plies
            start, plies = self.start, int(self.rng.integers(most + 1))
            if length and attempt == 0 and self.rng.random() < self.config.fork:
                start, plies = past[self.rng.integers(length)], 1 + int(self.rng.integers(FORK_PLIES))
            if _begin(self.rules, self.states[b], start, plies, self.rng.random(max(most, FORK_PLIES))):
                return
        raise KalahError(
            f"self-play: {_TRIES} games of {format_rules(self.rules)} ended before a decision was to be "
            "made; choose a larger board or fewer selfplay.random_plies."
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything to be saved but the generator and counters."""
        used = max(1, int(self.lengths.max()))
        out = {name: array[:, :used].copy() for name, array in self.decisions._asdict().items()}
        for array in out.values():  # rows of earlier games would differ after a resumption
            array[np.arange(used) >= self.lengths[:, None]] = 0
        decisions = {f"decisions.{name}": array for name, array in out.items()}
        return {"states": self.states, "lengths": self.lengths, **decisions}

    def counters(self) -> dict[str, Any]:
        """Return the generator's state and the counters, as plain data."""
        return {"rng": self.rng.bit_generator.state, "games_done": self.games_done}

    def restore(self, arrays: dict[str, np.ndarray], counters: dict[str, Any]) -> None:
        """Take back what `arrays` and `counters` returned."""
        self.states, self.lengths = arrays["states"].copy(), arrays["lengths"].copy()
        self.decisions = Decisions(*(arrays[f"decisions.{name}"].copy() for name in Decisions._fields))
        self.rng.bit_generator.state = counters["rng"]
        self.games_done = counters["games_done"]
