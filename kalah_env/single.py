"""Kalah as a single-agent Gymnasium environment: one game against a built-in opponent.

`gymnasium.make("Kalah-v0", opponent="greedy")`. Seats, the opponent and rewards are in `matches.py`;
many games at once: `vector.py`; both players as agents: `aec.py`.

Version history
* v0: first version.
"""

from typing import Any

import gymnasium
import numpy as np

from kalah_env import matches
from kalah_env.checks import as_whole_number
from kalah_env.errors import KalahError
from kalah_env.matches import Matches, Observation, Opponent
from kalah_env.rules import Rules
from kalah_env.show import Screen

GAME = np.zeros(1, np.int64)  # the number of the only game


class KalahEnv(gymnasium.Env[Observation, Any]):
    """One agent's game; what the opponent answers is played within `step` and `reset`.

    rules: text such as `kgp:pits=6`, or `Rules`.
    opponent: an agent's text such as `alphabeta:depth=4`, or a function of (positions (K, S) int16,
        rules, rng) that returns K legal actions; None: the caller plays both seats, and observation,
        reward, `info` and illegal actions are as in `KalahVectorEnv` without opponent. An illegal action
        raises there, so a checker that samples without the mask (Gymnasium's `check_env`) fails by chance.
    seat: the player the agent is, 0, 1, or `random` for each game.
    starter: who begins. `south`: player 0 sits South, and the side to move of the start position
        begins, South in a fresh game; 0 or 1: that player; `lot`: a draw for each game (sheet 000);
        `winner`: who won last (sheet 002), player 0 before anybody has. Who begins sits at the side
        to move, the other one opposite.
    start: the text of the position that games start from; None or `start`: the rules' own.
    reward: `outcome` +1, 0 or -1 at the end; `margin` the difference of the stores over all seeds
        (with `win=move` +1 or -1). Before the end, and where the ply limit truncates, 0.
    render_mode: `ansi` (text), `rgb_array` (picture) or `human` (window); South is below.

    Actions: pit - 1, clockwise P more where the direction is chosen, swap last where the pie rule is on.
    Observation: `observation` as in `features.py`, from the agent's side; `action_mask` int8.
    An illegal action ends the game with -1 and `info["illegal"]`. Infos also hold `to_move`, the player
    to move, and after a step `rewards`, of both players.
    `reset(options={"position": TEXT, "starter": ...})` is for this one game. A game that is over before
    the agent could move shows an empty mask; the next step ends it with its result.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: str | Rules = "kalah",
        opponent: str | Opponent | None = "random",
        seat: int | str = 0,
        starter: str | int = "south",
        start: str | None = None,
        reward: str = "outcome",
        render_mode: str | None = None,
    ) -> None:
        self.matches = Matches(rules, 1, opponent, seat, starter, start, reward)
        self.rules = self.matches.rules
        self.render_mode = render_mode
        self._screen = Screen(self.rules, render_mode, self.metadata)
        self.observation_space = matches.observation_space(self.rules)
        self.action_space = matches.action_space(self.rules)
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game; a seed starts all chance anew and forgets who won last."""
        position, starter = matches.reset_options(options, self.matches.starter)
        super().reset(seed=seed)
        if seed is not None:
            self.matches.reseed(self.np_random)
            self.matches.winners[0] = 0
        self.matches.begin(GAME, self.np_random, position, starter)
        self._running = True
        return self._seen()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play the agent's action and what the opponent answers."""
        if not self._running:
            raise KalahError("step: no game is running; call reset() first.")
        chosen = as_whole_number(action)
        if chosen is None:
            raise KalahError(f"action {action!r} is not a whole number of {self.action_space}.")
        now = self.matches
        now.play(np.array([chosen]), self.np_random)
        reward, terminated, truncated = float(now.reward[0]), bool(now.terminated[0]), bool(now.truncated[0])
        self._running = not (terminated or truncated)
        observation, info = self._seen()
        info["rewards"] = now.rewards[0].copy()
        if now.opponent is not None:
            info["illegal"] = bool(now.illegal[0])
        return observation, reward, terminated, truncated, info

    def _seen(self) -> tuple[Observation, dict[str, Any]]:
        observation, to_move = self.matches.observe()
        if self.render_mode == "human":
            self.render()
        return {key: array[0] for key, array in observation.items()}, {"to_move": int(to_move[0])}

    def action_masks(self) -> np.ndarray:
        """Return the legal actions, (A,) bool, under the name that sb3-contrib asks for."""
        return self.matches.observe()[0]["action_mask"][0].astype(np.bool_)

    def state(self) -> np.ndarray:
        """Return a copy of the engine's row (S,) int16 (see `engine.py`), as agents take it."""
        return self.matches.states[0].copy()

    def render(self) -> Any:
        """Return the board as text or picture, or show it in the window, as `render_mode` says."""
        return self._screen.show(self.matches.states[0], self.matches.names(0))

    def close(self) -> None:
        """Close the window, if there is one."""
        self._screen.close()
