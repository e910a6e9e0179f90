"""Kalah for PettingZoo, version 0: `kalah_v0.env(rules="kalah:seeds=3")`.

The arguments, observations, rewards and rendering are described at `kalah_env.aec.raw_env`. Also
in PettingZoo's registry after `import kalah_env`: `pettingzoo.make("aec", "kalah/kalah-v0")`.

Version history
* v0: first version.
"""

from kalah_env.aec import env, raw_env

__all__ = ["env", "raw_env"]
