"""`kalah replay`: replays game records and says what is wrong with them."""

import argparse
import contextlib
import sys

from train.commands import add_json, print_json, read_lines

HELP = (
    "Replay games, JSON records one a line or games as text, and answer one JSON line each, or write them in "
    "the other form; exit 1 if a move is illegal or a result wrong."
)
EXAMPLE = "kalah replay games.jsonl --to text"
FORMS = ("jsonl", "text")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help="JSON records, or text (docs/RECORDS.md); - reads input")
    parser.add_argument("--to", choices=FORMS, help="print the games in this form in place of the answers")
    add_json(parser)  # the answer is JSON in any case


def run(args: argparse.Namespace) -> int:
    """Answer every game; 1 if something is wrong with one of them."""
    from kalah_env.errors import KalahError
    from kalah_env.notation import check_game, format_game, format_json, read_any, say_wrong
    from kalah_env.records import replay

    wrong, count = False, 0
    name = "standard input" if args.file == "-" else args.file
    with contextlib.nullcontext(sys.stdin) if args.file == "-" else open(args.file, encoding="utf-8") as file:
        for where, game in read_any(read_lines(file, name), name):
            count += 1
            answer = replay(game.told.record)
            error = answer["error"] = answer["error"] or check_game(game)
            if args.to is None:
                print_json(answer)
            elif not error and args.to == "text":
                try:
                    print(format_game(game.told), flush=True)
                except KalahError as why:
                    wrong = True
                    print(f"kalah: {where}: {why}", file=sys.stderr)
            elif not error:
                print(format_json(game.told), flush=True)
            if error:
                wrong = True
                print(f"kalah: {where}: {say_wrong(error)}", file=sys.stderr)
    if not count:
        raise KalahError(f"{name} holds no game; it takes JSON records, one a line, or games as text.")
    return int(wrong)
