"""The command `kalah`: finds the subcommand, turns slips into one line, sets the exit code.

Each subcommand is a module of `train/commands/` with HELP, EXAMPLE, `add_arguments(parser)` and
`run(args) -> int`; only the one asked for is imported, and it imports what it needs when it runs, so
`kalah move` never waits for torch. Exit codes: 0; 1 the answer is bad; 2 the call is bad; 130 Ctrl-C.
"""

import argparse
import contextlib
import importlib
import os
import sys
import threading
import warnings
from typing import Any, NoReturn

from kalah_env import KalahError, __version__

COMMANDS = {
    "rules": "the rule presets, or one of them with its options",
    "move": "play moves from a position and say what became of it",
    "replay": "replay game records and say where one is illegal",
    "perft": "count the leaf positions at each depth",
    "play": "play a game in the terminal",
    "engine": "play as a bot under a protocol: kgp, mankalah, uci",
    "serve": "play and analyse in a browser",
    "solve": "the exact value of a position and of its moves",
    "endgame": "build endgame tables, or list and check them",
    "train": "train a network by self-play",
    "arena": "paired games between agents, with Elo",
    "grade": "agents or played games against exact values",
    "export": "write a checkpoint as an ONNX file, with a parity check",
    "label": "make a suite of positions with exact values",
    "bench": "measure speeds, beside a peer where one is installed",
    "warm": "compile what the commands need into the cache",
}


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


def main(argv: list[str] | None = None) -> int:
    """Run one command line (without the program's name) and return the exit code.

    Without `argv` it is the program itself, which then ends at once although threads still think.
    """
    if argv is not None:
        return _guarded(argv)
    code = _guarded(sys.argv[1:])
    if threading.active_count() > 1:  # Python would wait for some, and take libraries away from others
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    return code


def _guarded(argv: list[str]) -> int:
    """Run one command line; what goes wrong is one line on standard error and an exit code."""
    try:
        _check_streams()
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # put back by catch_warnings
            code = _run(argv)
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
    except KeyboardInterrupt:
        return _complain("stopped by Ctrl-C.", 130)
    except MemoryError as error:
        return _complain(f"the memory of this machine is not enough ({error}); ask for less.", 2)
    except BrokenPipeError:
        # The reader has what it wanted. Nothing may be flushed into the pipe at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # what a shell reports for SIGPIPE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}.", 2)


def make_parser(command: str) -> Parser:
    """Return the parser of one subcommand."""
    module = _module(command)
    parser = Parser(
        prog=f"kalah {command}",
        description=module.HELP,
        epilog=f"example:\n  {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    return parser


def _run(argv: list[str]) -> int:
    command = _top_parser().parse_args(argv[:1]).command
    args = make_parser(command).parse_intermixed_args(argv[1:])
    return _module(command).run(args)


def _top_parser() -> Parser:
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    parser = Parser(
        prog="kalah",
        usage="kalah COMMAND ... | kalah COMMAND --help",
        description="Kalah, the mancala game, as a learning problem.",
        epilog=f"commands:\n{lines}\n\nexample:\n  kalah move start 3 6 --rules kalah",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help="one of the commands below")
    parser.add_argument("--version", action="version", version=f"kalah-env {__version__}")
    return parser


def _module(command: str) -> Any:
    return importlib.import_module(f"train.commands.{command}")


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


if __name__ == "__main__":
    sys.exit(main())
