"""Ending a thought that nobody waits for any more, from another thread.

Who lets others think keeps a `Halt` and may wish it at any time; `halt.run(job)` thinks under it. Every
search looks at the wish of its own thread: `check()` between its steps, and around compiled code, which no
exception reaches, `halting(stop)`, whose `stop` sets the flag that the code polls. Both raise
`HaltedError`. Not for limits of time (`ms=`), and not for Ctrl-C, which only the main thread sees.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class HaltedError(Exception):
    """A thought was ended, since nobody waits for it."""


class Halt:
    """Whether a thought is to end; it never goes on afterwards."""

    def __init__(self) -> None:
        self.wished = False
        self._stops: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def wish(self) -> None:
        """Let the thought end soon; from any thread."""
        with self._lock:
            self.wished = True
            for stop in self._stops:
                stop()

    def run(self, job: Callable[[], Any]) -> Any:
        """Return what the job answers; `HaltedError` once the end is wished."""
        token = _current.set(self)
        try:
            check()
            return job()
        finally:
            _current.reset(token)

    def add(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the end is wished, at once if it is already."""
        with self._lock:
            self._stops.append(stop)
            if self.wished:
                stop()

    def remove(self, stop: Callable[[], None]) -> None:
        """Forget `stop`."""
        with self._lock:
            self._stops.remove(stop)


_current: ContextVar[Halt | None] = ContextVar("halt", default=None)


def check() -> None:
    """Raise `HaltedError` if this thread's thought is to end."""
    halt = _current.get()
    if halt is not None and halt.wished:
        raise HaltedError


@contextmanager
def halting(stop: Callable[[], None]) -> Iterator[None]:
    """Let `stop` be called if the end is wished while compiled code runs; then raise `HaltedError`."""
    halt = _current.get()
    if halt is None:
        yield
        return
    halt.add(stop)
    try:
        yield
    finally:
        halt.remove(stop)
    check()
