"""Settings every test runs under: quiet thread pools and one hypothesis profile.

No fixture of one area belongs here. What draws rules and positions: `strategies.py`.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")  # compiled loops are compared, not measured

from hypothesis import settings

# No deadline: the first example of a test may compile. Derandomised: a red run repeats.
settings.register_profile("kalah", max_examples=60, deadline=None, derandomize=True, database=None)
settings.load_profile("kalah")
