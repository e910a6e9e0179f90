"""Self-play: many games in lockstep, each decision searched, rows handed out when a game ends.

Forced moves are played through at once and make no rows. Games begin with a random number of random
plies. All state (unfinished games, random generator) can be saved and restored, so that a resumed
run equals an uninterrupted one. The search is `agents/mcts.py`; rows: `replay.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from agents import tree as trees
from agents.mcts import Evaluate, Search, SearchConfig
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.rules import Rules, format_rules, num_actions
from train.config import SelfPlay as SelfPlayConfig
from train.replay import Rows

_TRIES = 1000  # beginnings tried before a game is called undecidable
_FIRST_LENGTH = 64  # decisions of a game that the history has room for at first


@njit
def _begin(rules, s, start, draws):
    """Write a fresh game after random plies into `s`; False if it ended or got stuck on the way.

    draws: (1 + random plies,) float64 in [0, 1) - the first picks how many plies, the others pick.
    """
    extras = engine.board_size(rules)
    s[:] = start
    plies = int(draws[0] * draws.shape[0])
    for i in range(plies + 1):
        legal = 0
        for action in range(engine.pit_actions(rules) + rules.pie):
            legal += engine.is_legal(rules, s, action)
        if i == plies and legal > 1:
            return True
        # The last round only plays a forced move, so that a game begins with a decision.
        pick = int(draws[i + 1] * legal) if i < plies else 0
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
def _record_and_advance(rules, states, history, signs, lengths, policies, policy_history, actions, ended):
    """Store the decision of every game, then play it and the forced moves behind it."""
    extras = engine.board_size(rules)
    for b in range(states.shape[0]):
        row = lengths[b]
        history[b, row] = states[b]
        policy_history[b, row] = policies[b]
        signs[b, row] = trees.advance(rules, states[b], actions[b])
        lengths[b] += 1
        ended[b] = states[b, extras + engine.STATUS] != engine.RUNNING


@njit
def _margins(rules, state, signs, length, out):
    """Write the final margin for each decision's mover: back from the end, by the signs."""
    extras = engine.board_size(rules)
    margin = engine.margin(rules, state)
    if state[extras + engine.SIDE] == engine.NORTH:
        margin = -margin
    if state[extras + engine.STATUS] == engine.TRUNCATED:
        margin = 0  # counted as a draw
    for row in range(length - 1, -1, -1):
        margin *= signs[row]
        out[row] = margin


class SelfPlay:
    """Games in progress and what was decided in them."""

    def __init__(self, rules: Rules, config: SelfPlayConfig, seed: int) -> None:
        self.rules, self.config = rules, config
        self.rng = np.random.default_rng(seed)
        self.start = batch.new_games(rules, 1)[0]
        games, size, width = config.games, batch.state_size(rules), num_actions(rules)
        self.states = np.zeros((games, size), np.int16)
        self.lengths = np.zeros(games, np.int64)
        self.history = np.zeros((games, _FIRST_LENGTH, size), np.int16)
        self.policies = np.zeros((games, _FIRST_LENGTH, width), np.float32)
        self.signs = np.zeros((games, _FIRST_LENGTH), np.int8)
        self.games_done = 0
        self._search: Search | None = None
        for b in range(games):
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
            self._search = Search(config)
        finished: list[Rows] = []
        ended = np.zeros(len(self.states), np.bool_)
        for _ in range(self.config.plies):
            if check:
                check()
            found = self._search.run(self.rules, self.states, evaluate, self.rng)
            actions = found.actions if config.policy == "gumbel" else self._draw(found.policy)
            self._make_room()
            _record_and_advance(
                self.rules,
                self.states,
                self.history,
                self.signs,
                self.lengths,
                found.policy,
                self.policies,
                actions,
                ended,
            )
            for b in np.flatnonzero(ended).tolist():
                finished.append(self._rows(b))
                self._restart(b)
        return self._join(finished)

    def _draw(self, policies: np.ndarray) -> np.ndarray:
        """Draw one action from each row of visit shares."""
        draws = self.rng.random((len(policies), 1))
        cumulated = policies.cumsum(1)
        return (cumulated <= draws * cumulated[:, -1:]).sum(1)

    def _rows(self, b: int) -> Rows:
        length = int(self.lengths[b])
        margins = np.empty(length, np.int16)
        _margins(self.rules, self.states[b], self.signs[b], length, margins)
        return Rows(self.history[b, :length].copy(), self.policies[b, :length].copy(), margins)

    def _join(self, finished: list[Rows]) -> Rows:
        self.games_done += len(finished)
        empty = Rows(self.history[0, :0], self.policies[0, :0], np.empty(0, np.int16))
        return Rows(*(np.concatenate(arrays) for arrays in zip(empty, *finished, strict=True)))

    def _restart(self, b: int) -> None:
        self.lengths[b] = 0
        for _ in range(_TRIES):
            draws = self.rng.random(self.config.random_plies + 1)
            if _begin(self.rules, self.states[b], self.start, draws):
                return
        raise KalahError(
            f"self-play: {_TRIES} games of {format_rules(self.rules)} ended before a decision was to be "
            "made; choose a larger board or fewer selfplay.random_plies."
        )

    def _make_room(self) -> None:
        if self.lengths.max() == self.history.shape[1]:
            self.history = np.concatenate([self.history, np.zeros_like(self.history)], 1)
            self.policies = np.concatenate([self.policies, np.zeros_like(self.policies)], 1)
            self.signs = np.concatenate([self.signs, np.zeros_like(self.signs)], 1)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything to be saved but the generator and counters."""
        used = max(1, int(self.lengths.max()))
        out = {name: getattr(self, name)[:, :used].copy() for name in ("history", "policies", "signs")}
        for array in out.values():  # rows of earlier games would differ after a resumption
            array[np.arange(used) >= self.lengths[:, None]] = 0
        return {"states": self.states, "lengths": self.lengths, **out}

    def counters(self) -> dict[str, Any]:
        """Return the generator's state and the counters, as plain data."""
        return {"rng": self.rng.bit_generator.state, "games_done": self.games_done}

    def restore(self, arrays: dict[str, np.ndarray], counters: dict[str, Any]) -> None:
        """Take back what `arrays` and `counters` returned."""
        for name, array in arrays.items():
            setattr(self, name, array.copy())
        self.rng.bit_generator.state = counters["rng"]
        self.games_done = counters["games_done"]
