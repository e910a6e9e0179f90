"""Training: self-play, replay, learner, checkpoints, arena, export, and the command `kalah`."""
