"""Lines of a text stream, of bounded length: what protocols on standard input read."""

from collections.abc import Iterator
from typing import TextIO

MAX_LINE = 2**16


def read_lines(source: TextIO) -> Iterator[tuple[str, bool]]:
    """Yield each line without its end, and whether it is whole: of a long one only the beginning is kept."""
    while line := source.readline(MAX_LINE):
        whole = line.endswith("\n") or len(line) < MAX_LINE
        yield line.rstrip("\r\n"), whole
        while not whole:
            rest = source.readline(MAX_LINE)
            whole = rest.endswith("\n") or len(rest) < MAX_LINE
