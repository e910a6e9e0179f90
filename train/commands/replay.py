"""`kalah replay`: replays game records and says where one is illegal."""

import argparse
import contextlib
import sys

from kalah_env.errors import KalahError
from train.commands import add_json, print_json, read_lines

HELP = (
    "Replay game records, one JSON object a line, and answer one JSON line each; "
    "exit 1 if a record is illegal."
)
EXAMPLE = "kalah replay games.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE.jsonl", help="records, or - for standard input")
    add_json(parser)  # the answer is JSON in any case


def run(args: argparse.Namespace) -> int:
    """Answer every record; 1 if one of them is illegal."""
    from kalah_env.records import parse_record, replay

    illegal = False
    name = "standard input" if args.file == "-" else args.file
    with contextlib.nullcontext(sys.stdin) if args.file == "-" else open(args.file, encoding="utf-8") as file:
        for number, line in enumerate(read_lines(file, name), 1):
            if not line.strip():
                continue
            try:
                answer = replay(parse_record(line))
            except KalahError as error:
                raise KalahError(f"{name}, line {number}: {error}") from None
            print_json(answer)
            if answer["error"]:
                illegal = True
                ply, why = answer["error"]["ply"], answer["error"]["why"]
                print(f"kalah: {name}, line {number}: illegal at ply {ply}: {why}", file=sys.stderr)
    return int(illegal)
