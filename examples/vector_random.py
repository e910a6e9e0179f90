"""Random self-play in 1,000 games at once: does the player who begins win more?"""

import gymnasium
import numpy as np

import kalah_env  # noqa: F401 - registers the environments

envs = gymnasium.make_vec("Kalah-v0", num_envs=1000, rules="kalah")
observation, infos = envs.reset()
wins, rng = np.zeros(2, int), np.random.default_rng(0)
for _ in range(200):
    mask = observation["action_mask"]
    actions = (rng.random(mask.shape) * mask).argmax(axis=1)
    observation, reward, terminated, truncated, infos = envs.step(actions)
    wins += (infos["rewards"] > 0).sum(axis=0)
print(f"player 0, who begins, won {wins[0]} games, player 1 {wins[1]}")
