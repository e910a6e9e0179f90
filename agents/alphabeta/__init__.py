"""Alpha-beta: the agent `alphabeta`, `search` over a batch of positions, and plain minimax for tests.

Values are differences of stores at the leaves and exact margins at finished games, for the player to
move; depth counts plies, also those of extra turns. No extensions, no endgame tables. `agent.py`
chooses moves, `search.py` runs limits and threads, `negamax.py` is the compiled search itself.
"""

from agents.alphabeta.agent import AlphaBetaAgent
from agents.alphabeta.negamax import UNKNOWN
from agents.alphabeta.search import MAX_DEPTH, Result, Table, plain_minimax, search

__all__ = ["MAX_DEPTH", "UNKNOWN", "AlphaBetaAgent", "Result", "Table", "plain_minimax", "search"]
