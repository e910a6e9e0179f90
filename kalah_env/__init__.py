"""Kalah and its relatives as a learning problem: rules table, engine, batches, environments.

`from kalah_env import kalah_v0` for the PettingZoo environment; `gymnasium.make("Kalah-v0")` and
`make_vec` for Gymnasium's; `parse_rules` and `batch` for the engine itself. Nothing here needs torch.
Where each thing lives: the tree in README.md.
"""

import os

import gymnasium
import pettingzoo

# A spinning OpenMP pool costs up to 10 x on a shared machine. libgomp reads this when it is loaded, so
# it stands before numba and torch; `agents` and `train` import this package first for its sake.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, make_rules, parse_rules

__version__ = "0.1.0"
__all__ = ["KalahError", "Rules", "format_rules", "make_rules", "parse_rules"]

# By name, so that the engine is compiled only when an environment is made.
pettingzoo.register("aec", "kalah/kalah-v0", entry_point="kalah_env.kalah_v0:env")
gymnasium.register(
    "Kalah-v0",
    entry_point="kalah_env.single:KalahEnv",
    vector_entry_point="kalah_env.vector:KalahVectorEnv",
)
