"""What every entrance asks of its arguments: whole numbers, alone or one a game; a seed's range.

Python and numpy take much for a number (True, 2.0, an unsigned number that wraps round), and say in
their own words what they do not take. Here one `KalahError` says it. Words of a fixed choice and reset
options: `matches.py`; texts: beside their parsers.
"""

import operator
from typing import Any

import numpy as np

from kalah_env.errors import KalahError

MAX_SEED = 2**63 - 1


def as_whole_number(value: Any) -> int | None:
    """Return a whole number as an int, or None for anything else: a bool, 2.0, beyond 64 bits."""
    if isinstance(value, bool):
        return None
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if -(2**63) <= number < 2**63 else None


def whole_number(what: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int; `KalahError` unless it is a whole number from low to high (None: or more)."""
    number = as_whole_number(value)
    if number is None or number < low or (high is not None and number > high):
        allowed = f"{low} or more" if high is None else f"{low} to {high}"
        raise KalahError(f"{what}={value!r} is not allowed; give a whole number, {allowed}.")
    return number


def whole_numbers(what: str, values: Any, count: int) -> np.ndarray:
    """Return `values` as (count,) int64; `what` names them where they are something else."""
    try:
        found = np.asarray(values)
    except ValueError:  # rows of different lengths
        found = np.empty(0, object)
    if found.dtype == np.uint64 and found.max(initial=0) >= 2**63:
        found = found.astype(object)  # as int64 it would wrap round to a negative number
    if found.shape != (count,) or (found.dtype.kind not in "iu" and count):
        raise KalahError(f"{what} {_kind(values, found)}; give one whole number a game: ({count},).")
    return found.astype(np.int64, copy=False)


def _kind(values: Any, found: np.ndarray) -> str:
    if found.dtype == object:
        shown = " ".join(repr(values).split())
        return shown if len(shown) <= 80 else f"{shown[:77]}..."
    return f"{found.dtype} of shape {found.shape}"
