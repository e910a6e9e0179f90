"""One module for each subcommand of `kalah`, and the arguments that several of them share.

A module holds HELP, EXAMPLE, `add_arguments(parser)` and `run(args) -> int`. Nothing heavy may be
imported at its top: `kalah --help` and the small commands stay fast. Who calls them: `train/cli.py`.
"""

import argparse
import json
import sys
from typing import Any

from kalah_env.checks import MAX_SEED
from kalah_env.errors import KalahError
from kalah_env.rules import START


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add `--rules`."""
    parser.add_argument("--rules", metavar="SPEC", default="kalah", help="PRESET[:option=value,...] (kalah)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="answer in JSON")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add `--seed`."""
    parser.add_argument("--seed", type=whole(0), metavar="N", default=0, help="seed of all chance (0)")


def add_start(parser: argparse.ArgumentParser, option: str = "--start") -> None:
    """Add an option that takes a position."""
    parser.add_argument(
        option, metavar="POSITION", default=START, help=f"begin there; {START} = the rules' start ({START})"
    )


def whole(low: int, high: int = MAX_SEED) -> Any:
    """Return an argparse type: a whole number from `low` to `high`."""

    def parse(text: str) -> int:
        # int() would take " 5", "1_000" and digits of other scripts
        if not (text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high):
            limit = f"{low} to {high}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {limit}")
        return int(text)

    return parse


def print_json(answer: dict[str, Any]) -> None:
    """Print one object on one line."""
    print(json.dumps(answer), flush=True)


def read_lines(file: Any, name: str) -> Any:
    """Yield the lines of an open file; `KalahError` where it is not UTF-8 text."""
    try:
        for number, line in enumerate(file):
            yield line if number else line.removeprefix("\ufeff")  # the mark some editors put first
    except UnicodeDecodeError:
        raise KalahError(f"{name} is not a text in UTF-8.") from None


def print_table(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table, in lines of text where rich is not installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ModuleNotFoundError:
        for row in (heads, *rows):
            print("  ".join(row))
        return
    table = Table()
    for head in heads:
        table.add_column(head, overflow="fold", no_wrap=head not in ("a", "b", "agent"))
    for row in rows:
        table.add_row(*row)
    # A file or a pipe has no width of its own: there no line is broken.
    Console(file=sys.stdout, markup=False, width=None if sys.stdout.isatty() else 300).print(table)
