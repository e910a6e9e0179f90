"""The exact solver: `Solver`, and the agent `perfect`.

`solve.py` answers about positions, `prover.py` runs the compiled search of `search.py` with its memory
and threads, `agent.py` plays.
"""

from agents.solver.agent import PerfectAgent
from agents.solver.solve import Solution, Solver, table_for

__all__ = ["PerfectAgent", "Solution", "Solver", "table_for"]
