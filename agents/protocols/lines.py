"""Lines of a text stream, of bounded length: what protocols on standard input read."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TextIO

MAX_LINE = 2**16
GRACE = 0.25  # seconds more for a thought once nobody may be left to hear it


def read_lines(source: TextIO) -> Iterator[tuple[str, bool]]:
    """Yield each line without its end, and whether it is whole: of a long one only the beginning is kept."""
    while line := source.readline(MAX_LINE):
        whole = line.endswith("\n") or len(line) < MAX_LINE
        yield line.rstrip("\r\n"), whole
        while not whole:
            rest = source.readline(MAX_LINE)
            whole = rest.endswith("\n") or len(rest) < MAX_LINE


class LinesAhead:
    """The lines of `read_lines` up to one that is `last`, read ahead by a thread.

    ended: done once the last line has been read, or the stream has ended, which who thinks can wait for.
    """

    def __init__(self, source: TextIO, last: str) -> None:
        self.ended: Future[None] = Future()
        self._read: SimpleQueue[tuple[str, bool] | None] = SimpleQueue()
        threading.Thread(target=self._run, args=(source, last), daemon=True).start()

    def __iter__(self) -> Iterator[tuple[str, bool]]:
        return iter(self._read.get, None)

    def _run(self, source: TextIO, last: str) -> None:
        try:
            for line, whole in read_lines(source):
                self._read.put((line, whole))
                if whole and line == last:
                    break
        finally:
            self._read.put(None)
            self.ended.set_result(None)
