"""The one error type for a user's slip.

Everything that rejects input raises `KalahError` with a sentence that says what was given, what is
allowed and what to do. The command line prints it and exits with code 2; library users catch it as
a `ValueError`. Bugs are not reported with it.
"""


class KalahError(ValueError):
    """Input that cannot be used: bad rules, position, move, agent spec, config or file."""
