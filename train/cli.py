"""The command `kalah`: finds the subcommand and runs it.

Each subcommand is a module of `train/commands/` with HELP, EXAMPLE, `add_arguments(parser)` and
`run(args) -> int`; only the one asked for is imported, and it imports what it needs when it runs, so
`kalah move` never waits for torch. Slips, and the exit codes: `program.py`.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from kalah_env import __version__
from train.program import Parser, guarded, run_program

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


def main(argv: list[str] | None = None) -> int:
    """Run one command line (without the program's name) and return the exit code.

    Without `argv` it is the program itself, which then ends at once although threads still think.
    """
    if argv is not None:
        return guarded(lambda: _run(argv))
    return run_program(lambda: _run(sys.argv[1:]))


def make_parser(command: str) -> Parser:
    """Return the parser of one subcommand."""
    module = _module(command)
    program = Path(sys.argv[0]).name
    called = f"python {program}" if program.endswith(".pyz") else f"kalah {command}"  # a one-file bot
    parser = Parser(
        prog=called,
        description=module.HELP,
        epilog=f"example:\n  {module.EXAMPLE.replace(f'kalah {command}', called)}",
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


if __name__ == "__main__":
    sys.exit(main())
