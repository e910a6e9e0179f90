"""`kalah endgame`: builds endgame tables (`agents/endgame.py`), lists and checks them."""

import argparse
import sys
import time
from typing import Any

from train.commands import add_json, add_rules, print_json, whole

HELP = (
    "Build the endgame table of all boards with up to N seeds, which solver and bots then find; "
    "without --seeds list the tables that are there, and check each."
)
EXAMPLE = "kalah endgame --rules kalah --seeds 16"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_rules(parser)
    parser.add_argument("--seeds", type=whole(1, 127), metavar="N", help="the most seeds in all pits")
    parser.add_argument("--rebuild", action="store_true", help="also where there is one already")
    parser.add_argument("--threads", type=whole(1, 256), metavar="N", help="threads (all cores)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Build, or list."""
    from kalah_env.errors import KalahError

    if args.seeds is None:
        if args.rebuild or args.threads:
            raise KalahError("endgame: --rebuild and --threads are about building; give --seeds, too.")
        return _list(args.json)
    return _build(args)


def _build(args: argparse.Namespace) -> int:
    import os

    from agents import endgame, packed
    from kalah_env.errors import KalahError
    from kalah_env.rules import format_rules, parse_rules

    rules = endgame.table_rules(parse_rules(args.rules))
    path = endgame.path_of(rules, args.seeds)
    boards = packed.count_positions(rules, args.seeds)
    if args.seeds > endgame.max_seeds(rules):
        raise KalahError(
            f"endgame: {args.seeds} seeds on {rules.pits} pits a side are {boards:,} boards, a byte each; "
            f"at most {endgame.max_seeds(rules)} seeds are allowed."
        )
    began, built = time.monotonic(), args.rebuild or not path.exists()
    if built:
        if not sys.stderr.isatty():
            print(f"kalah: making {boards:,} boards, a byte each", file=sys.stderr, flush=True)
        threads = args.threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2

        def progress(done: int) -> None:
            if sys.stderr.isatty():
                end = "\n" if done == boards else ""
                print(f"\r{done:,} of {boards:,} boards", end=end, file=sys.stderr, flush=True)

        endgame.save(endgame.compute(rules, args.seeds, threads, progress), path)
    table = endgame.load(path, rules)
    seconds = round(time.monotonic() - began, 2)
    answer: dict[str, Any] = {
        "path": str(path), "rules": format_rules(rules), "seeds": table.seeds,
        "boards": boards, "built": built, "seconds": seconds,
    }  # fmt: skip
    if args.json:
        print_json(answer)
    else:
        done = f"built in {seconds} s" if built else "is there already, and whole; --rebuild makes it anew"
        print(f"{path}: {boards:,} boards with up to {args.seeds} seeds of {answer['rules']}, {done}")
    return 0


def _list(as_json: bool) -> int:
    from agents import endgame
    from kalah_env.errors import KalahError
    from kalah_env.rules import format_rules

    rows = []
    for path in sorted(endgame.folder().glob("*.endgame")):
        try:
            table = endgame.load(path)
            if path.name != endgame.path_of(table.rules, table.seeds).name:
                raise KalahError(f"endgame table {path} has another's name; delete it.")
            rows.append({"path": str(path), "rules": format_rules(table.rules), "seeds": table.seeds,
                         "boards": len(table.values), "error": None})  # fmt: skip
        except KalahError as error:
            rows.append({"path": str(path), "error": str(error)})
    if as_json:
        print_json({"folder": str(endgame.folder()), "tables": rows})
    else:
        print(
            f"{endgame.folder()} (KALAH_TABLE_DIR moves it): "
            f"{len(rows) or 'no'} table{'s' * (len(rows) != 1)}"
        )
        for row in rows:
            print(row["error"] or f"{row['rules']}: up to {row['seeds']} seeds, {row['boards']:,} boards")
    return 1 if any(row["error"] for row in rows) else 0
