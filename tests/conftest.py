"""Settings every test runs under: quiet thread pools and one hypothesis profile.

No fixture of a single area belongs here. What draws rules and positions: `strategies.py`.
"""

import os
import signal
from collections.abc import Iterator

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")  # compiled loops are compared, not measured

import pytest
from hypothesis import settings

# No deadline: the first example of a test may compile. Derandomised: a red run repeats.
settings.register_profile("kalah", max_examples=60, deadline=None, derandomize=True, database=None)
settings.load_profile("kalah")
pytest.register_assert_rewrite("pages")  # the plugin of the browser tests


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, also where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
