"""Kalah as a Gymnasium `VectorEnv`: many games a step, for self-play or against an opponent.

`gymnasium.make_vec("Kalah-v0", num_envs=4096)`. Spaces, infos and automatic resets stand here; seats,
opponents and rewards are in `matches.py`. One game as a Gymnasium environment: `single.py`.

Version history
* v0: first version.
"""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from kalah_env import matches
from kalah_env.checks import whole_number, whole_numbers
from kalah_env.errors import KalahError
from kalah_env.matches import Matches, Observation, Opponent
from kalah_env.rules import Rules
from kalah_env.show import Screen


class KalahVectorEnv(VectorEnv[Observation, Any, Any]):
    """`num_envs` games that start anew in the very step in which they end (`SAME_STEP`).

    Arguments as in `KalahEnv`, but `opponent=None` is the default: self-play.
    Self-play: the observation, its mask and `infos["to_move"]` are of the player who moves next (after
        an extra turn the same one), the reward is of the player who acted, `infos["rewards"]` (B, 2)
        holds both players'. An illegal action raises `KalahError` and changes nothing.
    With an opponent: all of that from the agent's seat, the opponent's plies are played inside, and an
        illegal action ends its game with -1; `infos["illegal"]` (B,) says where.
    `rewards`, and `rewards` and `illegal` in the infos, are of this step; observations and `to_move`
        are of the new game where one ended. Its last observation and infos are in `final_obs` and
        `final_info`, as in Gymnasium's `SyncVectorEnv`: after the end the mask is empty, the view that
        of the agent, in self-play of who moved last (where the ply limit truncates: of who is to move).
    `reset(options={"position": TEXT, "starter": ..., "reset_mask": (B,) bool})`: position and starter
        count for the games that this call begins, not for those that begin by themselves later
        (`start=` and `starter=` do); with a mask the other games stay as they are, and must
        have begun.
    All arrays returned are the caller's own. One thread works; several environments may be stepped by
    several threads at once.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Rules = "kalah",
        opponent: str | Opponent | None = None,
        seat: int | str = 0,
        starter: str | int = "south",
        start: str | None = None,
        reward: str = "outcome",
        render_mode: str | None = None,
    ) -> None:
        num_envs = whole_number("num_envs", num_envs, 1)
        self.matches = Matches(rules, num_envs, opponent, seat, starter, start, reward)
        self.rules = self.matches.rules
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._screen = Screen(self.rules, render_mode, self.metadata)
        self.single_observation_space = matches.observation_space(self.rules)
        self.single_action_space = matches.action_space(self.rules)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin games, all or those of the mask; a seed starts all chance anew and forgets who won."""
        position, starter = matches.reset_options(options, self.matches.starter, "reset_mask")
        begun = self._reset_mask((options or {}).get("reset_mask"))
        super().reset(seed=seed)
        which = np.flatnonzero(begun)
        if seed is not None:
            self.matches.reseed(self.np_random)
            self.matches.winners[which] = 0
        self.matches.begin(which, self.np_random, position, starter)
        self._begun = True
        observation, to_move = self.matches.observe()
        return observation, {"to_move": np.where(begun, to_move, 0), "_to_move": begun}

    def _reset_mask(self, mask: Any) -> np.ndarray:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        right = isinstance(mask, np.ndarray) and mask.shape == (self.num_envs,) and mask.dtype == np.bool_
        if not right or not mask.any():
            raise KalahError(
                f"reset_mask={mask!r} is not an array ({self.num_envs},) of bool with at least one True."
            )
        if not (self._begun or mask.all()):
            raise KalahError(
                "reset_mask leaves out games that have not begun; the first reset() begins all: give no mask."
            )
        return mask.copy()

    def step(self, actions: Any) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play an action (B,) in every game; where one ends, the next begins at once."""
        if not self._begun:
            raise KalahError("step: no game has begun; call reset() first.")
        now = self.matches
        now.play(whole_numbers("actions are", actions, self.num_envs), self.np_random)
        result = now.reward.copy(), now.terminated.copy(), now.truncated.copy()
        infos = self._infos(np.ones(self.num_envs, np.bool_))
        done = result[1] | result[2]
        if done.any():
            which = np.flatnonzero(done)
            infos |= self._final(done, which)
            now.begin(which, self.np_random)
        observation, infos["to_move"] = now.observe()
        return observation, *result, infos

    def _infos(self, told: np.ndarray) -> dict[str, Any]:
        """Return this step's infos, told of the games `told`; `to_move` is for the caller to add.

        Rewards and `illegal` are 0 in games that go on, so also in those that are not told of.
        """
        infos: dict[str, Any] = {"_to_move": told, "rewards": self.matches.rewards.copy()}
        infos["_rewards"] = told.copy()
        if self.matches.opponent is not None:
            infos |= {"illegal": self.matches.illegal.copy(), "_illegal": told.copy()}
        return infos

    def _final(self, done: np.ndarray, which: np.ndarray) -> dict[str, Any]:
        """Return `final_obs` and `final_info` of the games that have ended."""
        last, to_move = self.matches.observe(which)
        observations = np.full(self.num_envs, None, object)
        pairs = zip(last["observation"], last["action_mask"], strict=True)
        observations[which] = [{"observation": board, "action_mask": mask} for board, mask in pairs]
        info = self._infos(done.copy())
        info["to_move"] = np.zeros(self.num_envs, np.int64)
        info["to_move"][which] = to_move
        return {
            "final_obs": observations,
            "_final_obs": done.copy(),
            "final_info": info,
            "_final_info": done.copy(),
        }

    def state(self) -> np.ndarray:
        """Return a copy of the engine's rows (B, S) int16 (see `engine.py`), as agents take them."""
        return self.matches.states.copy()

    def render(self) -> tuple[Any, ...] | None:
        """Return the boards as texts or pictures, one a game, as `render_mode` says."""
        if self.render_mode is None:
            return self._screen.show(self.matches.states[0], self.matches.names(0))
        games = range(self.num_envs)
        return tuple(self._screen.show(self.matches.states[b], self.matches.names(b)) for b in games)
