"""Everything that chooses a move: random, greedy, alpha-beta, tree search, networks."""

import kalah_env  # noqa: F401 - sets how OpenMP waits, before torch loads it
