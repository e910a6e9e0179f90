"""Kalah as a PettingZoo AEC environment: agents, seats, rewards and masks around the engine.

No rule is written here: legality, moves and the end come from `engine.py`. Not for training at
speed (one game at a time); that is `batch.py`. Users import it as `kalah_env.kalah_v0`; pictures
are drawn by `render.py`, which needs pygame and is imported only when a picture is asked for.
"""

import operator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from kalah_env import batch, engine, features, text
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions, parse_rules, side_pits, validate

REWARDS = ("outcome", "margin")
Observation = dict[str, np.ndarray]


def env(rules: str | Rules = "kalah", reward: str = "outcome", render_mode: str | None = None) -> AECEnv:
    """Return `raw_env` in PettingZoo's usual wrappers: an illegal action ends the game with -1."""
    wrapped = wrappers.TerminateIllegalWrapper(raw_env(rules, reward, render_mode), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(wrapped))


@njit
def _advance(rules, s, action, mask):
    # One call into compiled code instead of two: unpacking the rules is what a call costs.
    captured = engine.play(rules, s, action)
    engine.legal_mask(rules, s, mask)
    return captured


class raw_env(AECEnv[str, Any, Any]):  # noqa: N801 - the name PettingZoo's modules use
    """One game between `player_0`, who sits South at the start, and `player_1`.

    rules: text such as `kgp:pits=6`, or `Rules`.
    reward: what both get at the end: `outcome` +1, 0 or -1; `margin` the difference of the stores
        over all seeds. Before the end, and where the ply limit truncates, 0.
    render_mode: `ansi` (text), `rgb_array` (picture) or `human` (window); South is below.

    Actions: pit - 1, and swap as the last one where the pie rule is on. A player who earned an extra
    turn is selected again. After a swap the players sit at each other's side; ids stay.
    Observation: `observation` as in `features.py`, from the agent's own side also while the other one
    is to move; `action_mask` int8, all zero for who is not to move.
    Infos: `side`, where the agent sits, and `captured`, the seeds the last ply captured.
    `reset(options={"position": TEXT})` starts from a position; the side to move decides which player
    begins. A position that is already decided starts with both agents terminated and the rewards
    set: step each with None, as at any end. There is no chance, so `seed` changes nothing.
    After the end the agent who moved last is selected first.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo declares it so
        "render_modes": ["human", "ansi", "rgb_array"],
        "name": "kalah_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self, rules: str | Rules = "kalah", reward: str = "outcome", render_mode: str | None = None
    ) -> None:
        super().__init__()
        self.rules = parse_rules(rules) if isinstance(rules, str) else validate(rules)
        if reward not in REWARDS:
            raise KalahError(f"reward={reward!r} is not known; it is {' or '.join(REWARDS)}.")
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise KalahError(f"render_mode={render_mode!r} is not known; it is {', '.join(modes)} or None.")
        if render_mode in ("human", "rgb_array"):
            _renderer()
        self.reward = reward
        self.render_mode = render_mode
        self.possible_agents = ["player_0", "player_1"]
        self._player = {agent: player for player, agent in enumerate(self.possible_agents)}
        actions, board = num_actions(self.rules), 2 * side_pits(self.rules) + 2
        self.action_spaces = {agent: spaces.Discrete(actions) for agent in self.possible_agents}
        self.observation_spaces = {
            agent: spaces.Dict(
                observation=spaces.Box(0.0, 1.0, (board,), np.float32),
                action_mask=spaces.Box(0, 1, (actions,), np.int8),
            )
            for agent in self.possible_agents
        }
        self.state_space = spaces.Box(0, 32767, (batch.state_size(self.rules),), np.int16)
        self._swap = actions - 1 if self.rules.pie else -1
        self._start = batch.new_games(self.rules, 1)[0]
        self._side_at, self._status_at = board + engine.SIDE, board + engine.STATUS
        self._window = None

    def observation_space(self, agent: str) -> spaces.Space:
        """Return the agent's observation space, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """Return the agent's action space, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game, from `options["position"]` if it is given; after an error nothing changed."""
        self._state = self._first_state(options or {})
        self._mask = np.zeros(num_actions(self.rules), np.int8)
        engine.legal_mask(self.rules, self._state, self._mask)
        self._divisor = features.divisor(self.rules, self._state)
        self._south = 0  # the player who sits South; North is 1 - _south
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._publish(captured=0)
        if self.render_mode == "human":
            self.render()

    def _first_state(self, options: dict[str, Any]) -> np.ndarray:
        # PettingZoo's api_test resets every environment with the option "options", so that passes.
        unknown = sorted(set(options) - {"position", "options"})
        if unknown:
            raise KalahError(f"reset: there is no option {unknown[0]!r}; the only one is 'position'.")
        position = options.get("position")
        if position is None:
            return self._start.copy()
        if not isinstance(position, str):
            raise KalahError(f"reset: position is {position!r}; give a text such as '<1,0,0,4,4> S'.")
        return text.parse_position(position, self.rules)

    def step(self, action: int | None) -> None:
        """Play `action` for the selected agent (None for one whose game is over).

        An illegal action raises `KalahError` and changes nothing.
        """
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
        try:
            chosen = operator.index(action)
        except TypeError:
            chosen = -1
        if 0 <= chosen < len(self._mask) and self._mask[chosen]:
            return chosen
        raise KalahError(
            f"{self.agent_selection}: action {action!r} is illegal in "
            f"{text.format_position(self.rules, self._state)}; "
            f"legal are {np.flatnonzero(self._mask).tolist()}."
        )

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
            margin = engine.margin(self.rules, self._state)
            value = margin / float(self._divisor) if self.reward == "margin" else float(np.sign(margin))
            self.rewards = {south: value, north: 0.0 - value}
            self._accumulate_rewards()
        elif status == engine.TRUNCATED:
            self.truncations = dict.fromkeys(self.agents, True)

    def observe(self, agent: str) -> Observation:
        """Return the agent's view of the board and, if it is to move, its legal actions."""
        side = self._player[agent] ^ self._south
        to_move = side == self._side and not self.terminations.get(agent, True)
        return {
            "observation": features.observation(self.rules, self._state, side, self._divisor),
            "action_mask": self._mask.copy() if to_move else np.zeros_like(self._mask),
        }

    def state(self) -> np.ndarray:
        """Return a copy of the engine's row (S,) int16 (see `engine.py`), as agents take it."""
        return self._state.copy()

    def render(self) -> str | np.ndarray | None:
        """Return the board as text or picture, or show it in the window, as `render_mode` says."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode; give one to env().")
            return None
        names = (self.possible_agents[self._south], self.possible_agents[1 - self._south])
        remarks = self._remarks()
        if self.render_mode == "ansi":
            lines = [text.draw_board(self.rules, self._state)]
            for side in (engine.NORTH, engine.SOUTH):
                remark = f", {remarks[side]}" if remarks[side] else ""
                lines.append(f"{text.SIDE_NAMES[side].capitalize()}: {names[side]}{remark}")
            return "\n".join(lines)
        picture = _renderer().draw(self.rules, self._state, names, remarks)
        if self.render_mode == "rgb_array":
            return _renderer().pixels(picture)
        if self._window is None:
            self._window = _renderer().Window("Kalah", picture.get_size())
        self._window.show(picture, self.metadata["render_fps"])
        return None

    def _remarks(self) -> tuple[str, str]:
        """Say for south and north who is to move, or how the game ended for them."""
        side, phase, status, _ = (int(n) for n in batch.extras(self.rules, self._state))
        if status == engine.TRUNCATED:
            return "truncated", "truncated"
        if status == engine.OVER:
            pits = side_pits(self.rules)
            stores = int(self._state[pits]), int(self._state[2 * pits + 1])
            return _result(*stores), _result(*stores[::-1])
        remark = "to move or swap" if phase == engine.SWAP else "to move"
        return ("", remark) if side else (remark, "")

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the window behind: a copy or a pickle goes on with the game and opens its own."""
        return {**self.__dict__, "_window": None}


def _result(own: int, other: int) -> str:
    word = "draw" if own == other else "wins" if own > other else "loses"
    return f"{word} {own}:{other}"


def _renderer() -> Any:
    from kalah_env import render

    return render
