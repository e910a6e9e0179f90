"""A first program: two random players play one game of Kalah."""

from kalah_env import kalah_v0

env = kalah_v0.env(rules="kalah", render_mode="ansi")
env.reset()
for player in range(2):
    env.action_space(f"player_{player}").seed(player)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    over = termination or truncation
    env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
print(env.render())
