"""Training: self-play, replay, learner, checkpoints, arena, export, and the command `kalah`."""

import kalah_env  # noqa: F401 - sets how OpenMP waits, before torch loads it
