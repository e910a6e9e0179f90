"""Files a command is told to write: checked before the work, then written whole or not at all.

And folders that one process at a time may work in.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kalah_env.errors import KalahError


def check_target(what: str, path: Path | str) -> Path:
    """Return the absolute path of a file that can be written; `KalahError` names `what` where it cannot.

    A link stays one: its target is written. No folder is made, since a mistyped one would be too.
    """
    target = Path(path).resolve()
    writable = target.parent.is_dir() and os.access(target.parent, os.W_OK)
    if not writable or (target.exists() and not target.is_file()):
        raise KalahError(
            f"{what} cannot be written to {target}; name a regular file in a writable folder that exists."
        )
    return target


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to, which becomes `path` if all goes well."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def alone(what: str, folder: Path) -> Iterator[None]:
    """Make `folder` and work in it alone; `KalahError` names `what` where another process does."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # given up when the file is closed, or by a kill
        except BlockingIOError:
            raise KalahError(
                f"{what}: another process is at work in {folder}; wait for it, or choose another name."
            ) from None
        yield
