"""Everything that chooses a move: random, greedy, alpha-beta, tree search, networks."""
