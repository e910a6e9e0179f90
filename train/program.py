"""What every program of ours does: slips are one line on standard error, and the exit code says the rest.

For `kalah` (`cli.py`) and for the tools `python -m train.curve`, `overlap`, `publish`, `ablation`. Exit
codes: 0; 1 the answer is bad; 2 the call is bad; 130 Ctrl-C.
"""

import argparse
import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from kalah_env import KalahError

_LONGEST = 1000  # characters of a message; the middle of a longer one is left out


class _Once(argparse.Action):
    """Stores a value as argparse does, but an option that stands twice is an error."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        seen = namespace.__dict__.setdefault("_seen", set())
        if option_string and self.dest in seen:
            parser.error(f"{option_string} stands twice; give it once")
        seen.add(self.dest)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are a `KalahError` like any other."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.register("action", None, _Once)
        self.register("action", "store", _Once)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print with its usage."""
        raise KalahError(f"{message}; see `{self.prog} --help`.")


def tool_parser(name: str, text: str | None) -> Parser:
    """Return the parser of the tool `python -m train.NAME`; `text` is the docstring of its module."""
    return Parser(
        prog=f"python -m train.{name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def run_program(run: Callable[[], int]) -> NoReturn:
    """Run a program and end with its exit code, at once although threads still think."""
    code = guarded(run)
    if threading.active_count() > 1:  # Python would wait for some, and take libraries away from others
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def guarded(run: Callable[[], int]) -> int:
    """Run what may go wrong; what goes wrong is one line on standard error and an exit code."""
    try:
        _check_streams()
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # put back by catch_warnings
            code = run()
            sys.stdout.flush()  # a reader that has gone is noticed here, not at exit
            return code
    except SystemExit:  # --help or --version has been printed
        return 0
    except KalahError as error:
        return _complain(str(error), 2)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "kalah_env", "agents", "train"):
            raise  # a bug of ours, not a missing extra
        hint = 'pip install "kalah-env[train]"'
        return _complain(f"this needs the package {missing}, which is not installed: `{hint}`.", 2)
    except KeyboardInterrupt as stopped:
        return _complain(f"stopped by Ctrl-C{''.join(f'; {told}' for told in stopped.args)}.", 130)
    except MemoryError as error:
        return _complain(f"the memory of this machine is not enough ({error}); ask for less.", 2)
    except BrokenPipeError:
        # The reader has what it wanted. Nothing may be flushed into the pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # what a shell reports for SIGPIPE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}.", 2)


def _check_streams() -> None:
    # Python has None for a stream that was closed before it started.
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None:
            raise KalahError(f"standard {name} is closed; redirect it to or from /dev/null instead.")


def _complain(message: str, code: int) -> int:
    line = " ".join(message.splitlines())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    if sys.stderr is not None:
        print(f"kalah: {line}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: Any) -> None:
    _complain(f"warning: {message}", 0)
