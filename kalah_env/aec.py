"""Kalah as a PettingZoo AEC environment: agents, seats, rewards and masks around the engine.

No rule is written here: legality, moves and the end come from `engine.py`. Not for training at
speed (one game at a time); that is `vector.py`. Users import it as `kalah_env.kalah_v0`; how a game
is shown: `show.py`.
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from kalah_env import batch, engine, features, matches, text
from kalah_env.checks import as_whole_number
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.matches import Observation
from kalah_env.rules import Rules, num_actions, side_pits
from kalah_env.show import Screen


def env(
    rules: str | Rules = "kalah",
    reward: str = "outcome",
    render_mode: str | None = None,
    starter: str | int = "south",
) -> AECEnv:
    """Return `raw_env` in PettingZoo's usual wrappers: an illegal action ends the game with -1.

    One that is no action at all, such as 99, is PettingZoo's `AssertionError`.
    """
    bare = raw_env(rules, reward, render_mode, starter)
    wrapped = wrappers.TerminateIllegalWrapper(bare, illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(wrapped))


# PettingZoo's api_test resets every environment with these, to see that options are taken.
_API_TESTS_OPTIONS = "{'options': 1}"


@njit
def _advance(rules, s, action, mask):
    # One call into compiled code instead of two: unpacking the rules is what a call costs.
    captured = engine.play(rules, s, action)
    engine.legal_mask(rules, s, mask)
    return captured


class raw_env(AECEnv[str, Any, Any]):  # noqa: N801 - the name PettingZoo's modules use
    """One game between `player_0`, who sits South at the start unless `starter` says else, and `player_1`.

    rules: text such as `kgp:pits=6`, or `Rules`.
    reward: what both get at the end: `outcome` +1, 0 or -1; `margin` the difference of the stores
        over all seeds (with `win=move` +1 or -1). Before the end, and where the ply limit truncates, 0.
    render_mode: `ansi` (text), `rgb_array` (picture) or `human` (window); South is below.
    starter: who begins. `south`: player 0 sits South, and the side to move of the first position begins,
        South in a fresh game; 0 or 1: that player; `lot`: a draw for each game (sheet 000); `winner`:
        who won last (sheet 002), player 0 before anybody has. Who begins sits at the side to move.

    Actions: pit - 1, clockwise P more where the direction is chosen, and swap as the last one where the
    pie rule is on. A player who earned an extra turn is selected again. After a swap the players sit at
    each other's side; ids stay.
    Observation: `observation` as in `features.py`, from the agent's own side also while the other one
    is to move; `action_mask` int8, all zero for who is not to move.
    Infos: `side`, where the agent sits, and `captured`, the seeds the last ply captured.
    `reset(options={"position": TEXT, "starter": ...})` starts from a position, with that starter. A
    position that is already decided starts with both agents terminated and the rewards set: step each
    with None, as at any end. Only the lot is chance: `seed` starts it anew, and forgets who won last.
    After the end the agent who moved last is selected first.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo declares it so
        "render_modes": ["human", "ansi", "rgb_array"],
        "name": "kalah_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: str | Rules = "kalah",
        reward: str = "outcome",
        render_mode: str | None = None,
        starter: str | int = "south",
    ) -> None:
        super().__init__()
        self.rules = matches.checked_rules(rules)
        matches.check_choice("reward", reward, matches.REWARDS)
        matches.check_choice("starter", starter, matches.STARTERS)
        self._screen = Screen(self.rules, render_mode, self.metadata)
        self.reward = reward
        self.render_mode = render_mode
        self.starter = starter
        self._begun = False
        self._rng = np_random()[0]
        self._winner = 0  # who won last; before anybody has, player 0 begins
        self.possible_agents = ["player_0", "player_1"]
        self.agent_selection = self.possible_agents[0]  # for `last`, which then asks for a reset
        self._player = {agent: player for player, agent in enumerate(self.possible_agents)}
        actions, board = num_actions(self.rules), 2 * side_pits(self.rules) + 2
        self.action_spaces = {agent: matches.action_space(self.rules) for agent in self.possible_agents}
        self.observation_spaces = {
            agent: matches.observation_space(self.rules) for agent in self.possible_agents
        }
        self.state_space = spaces.Box(-1, 32767, (batch.state_size(self.rules),), np.int16)
        self._swap = actions - 1 if self.rules.pie else -1
        self._start = matches.first_state(self.rules, None)
        self._side_at, self._status_at = board + engine.SIDE, board + engine.STATUS

    def observation_space(self, agent: str) -> spaces.Space:
        """Return the agent's observation space, always the same object."""
        self._check_agent(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """Return the agent's action space, always the same object."""
        self._check_agent(agent)
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game, from `options["position"]` if it is given; after an error nothing changed."""
        if str(options) == _API_TESTS_OPTIONS:
            options = None
        position, starter = matches.reset_options(options, self.starter)
        state = self._start.copy() if position is None else matches.first_state(self.rules, position)
        if seed is not None:
            self._rng, self._winner = np_random(seed)[0], 0
        self._state, self._begun = state, True
        self._mask = np.zeros(num_actions(self.rules), np.int8)
        engine.legal_mask(self.rules, self._state, self._mask)
        self._divisor = features.divisor(self.rules, self._state)
        sides, winners = state[[self._side_at]], np.array([self._winner])
        # The player who sits South; North is 1 - _south.
        self._south = int(matches.south_players(starter, sides, winners, self._rng)[0])
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._publish(captured=0)
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Play `action` for the selected agent (None for one whose game is over).

        An illegal action raises `KalahError` and changes nothing.
        """
        self._check_begun("step")
        if not self.agents:
            raise KalahError("step: both agents have left, the game is over; call reset() to begin another.")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        chosen = self._checked(action)
        captured = _advance(self.rules, self._state, chosen, self._mask)
        if chosen == self._swap:
            self._south = 1 - self._south
        self._publish(captured)
        if self.render_mode == "human":
            self.render()

    def _checked(self, action: Any) -> int:
        chosen = as_whole_number(action)
        if chosen is not None and 0 <= chosen < len(self._mask) and self._mask[chosen]:
            return chosen
        raise KalahError(
            f"{self.agent_selection}: action {action!r} is illegal in "
            f"{text.format_position(self.rules, self._state)}; "
            f"legal are {np.flatnonzero(self._mask).tolist()}."
        )

    def _check_begun(self, call: str) -> None:
        if not self._begun:
            raise KalahError(f"{call}: no game has begun; call reset() first.")

    def _check_agent(self, agent: Any) -> None:
        if agent not in self.possible_agents:
            raise KalahError(f"there is no agent {agent!r}; agents are {', '.join(self.possible_agents)}.")

    def _publish(self, captured: int) -> None:
        """Set what PettingZoo reads: whose turn it is, infos, and at the end flags and rewards."""
        south, north = self.possible_agents[self._south], self.possible_agents[1 - self._south]
        self._side = int(self._state[self._side_at])
        self.agent_selection = north if self._side else south
        self.infos = {
            south: {"side": "south", "captured": captured},
            north: {"side": "north", "captured": captured},
        }
        status = self._state[self._status_at]
        # Until the end all rewards are 0, so there is nothing to clear or to add up before.
        if status == engine.OVER:
            self.terminations = dict.fromkeys(self.agents, True)
            by_margin = self.reward == "margin"
            value = matches.south_reward(self.rules, self._state, self._divisor, by_margin)
            self.rewards = {south: value, north: 0.0 - value}
            if value != 0:
                self._winner = self._south if value > 0 else 1 - self._south
            self._accumulate_rewards()
        elif status == engine.TRUNCATED:
            self.truncations = dict.fromkeys(self.agents, True)

    def observe(self, agent: str) -> Observation:
        """Return the agent's view of the board and, if it is to move, its legal actions."""
        self._check_begun("observe")
        self._check_agent(agent)
        side = self._player[agent] ^ self._south
        to_move = side == self._side and not self.terminations.get(agent, True)
        return {
            "observation": features.observation(self.rules, self._state, side, self._divisor),
            "action_mask": self._mask.copy() if to_move else np.zeros_like(self._mask),
        }

    def state(self) -> np.ndarray:
        """Return a copy of the engine's row (S,) int16 (see `engine.py`), as agents take it."""
        self._check_begun("state")
        return self._state.copy()

    def render(self) -> str | np.ndarray | None:
        """Return the board as text or picture, or show it in the window, as `render_mode` says."""
        self._check_begun("render")
        south = self._south
        return self._screen.show(self._state, (self.possible_agents[south], self.possible_agents[1 - south]))

    def close(self) -> None:
        """Close the window, if there is one."""
        self._screen.close()
