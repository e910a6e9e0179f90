"""`kalah grade`: agents on a suite, or the moves of played games, against exact values.

Only options, tables and words stand here. The figures: `train/grade.py`; games: `train/annotate.py`.
"""

import argparse
import math
import sys
from typing import Any

from kalah_env.errors import KalahError
from train.commands import add_json, add_seed, print_json, print_table, read_lines, whole

HELP = """Grade agents on a suite of positions whose values are known, or every move of played games.

A losing error turns a won position into a draw or a loss, or a drawn one into a loss; regret is what a
move threw away, in seeds of the final margin. Positions count whose legal moves differ in value."""
EXAMPLE = """kalah grade greedy alphabeta:depth=6 --suite kalah-6x4/test --picture grades.png
  kalah grade --games games.jsonl --seconds 10"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="agents' texts")
    parser.add_argument(
        "--suite", metavar="NAME|FILE", help="a shipped suite, NAME/tune or NAME/test for a half, or a file"
    )
    parser.add_argument(
        "--games", metavar="FILE", help="played games, as `kalah arena --records` writes them, or as text"
    )
    parser.add_argument(
        "--rules", metavar="SPEC", help="rules of lines that name none; a file of other rules is refused"
    )
    parser.add_argument(
        "--batch", type=whole(1, 10**6), metavar="N", help="positions shown to an agent at a time (256)"
    )
    parser.add_argument("--picture", metavar="FILE.png", help="draw errors and regret by seeds in the pits")
    parser.add_argument(
        "--nodes",
        type=whole(1, 10**15),
        metavar="N",
        help="with --games: nodes a position (20000000, without --seconds)",
    )
    parser.add_argument("--seconds", type=_seconds, metavar="S", help="with --games: seconds a position")
    add_seed(parser)
    add_json(parser)


def _seconds(given: str) -> float:
    try:
        found = float(given)
    except ValueError:
        found = math.nan
    if not 0 < found <= 10**6:
        raise argparse.ArgumentTypeError(f"{given!r} is not a number above 0, at most 1000000")
    return found


def run(args: argparse.Namespace) -> int:
    """Grade and print."""
    from kalah_env.rules import parse_rules

    suite, games = bool(args.agents or args.suite), args.games is not None
    foreign = {
        "--nodes and --seconds": suite and (args.nodes or args.seconds),
        "--batch and --picture": games and (args.batch or args.picture),
    }
    if suite == games or (suite and not (args.agents and args.suite)) or any(foreign.values()):
        raise KalahError(
            "grade takes either agents and --suite (and --batch, --picture), or --games (and --nodes, "
            "--seconds); see `kalah grade --help`."
        )
    rules = None if args.rules is None else parse_rules(args.rules)
    return _grade_games(args, rules) if games else _grade_agents(args, rules)


def _grade_agents(args: argparse.Namespace, rules: Any) -> int:
    from agents.base import make_agent
    from train import grade
    from train.suites import load_suite

    picture = None if args.picture is None else grade.check_picture(args.picture)
    suite = load_suite(args.suite, rules)
    results = []
    for spec, agent in [(spec, make_agent(spec, args.seed)) for spec in args.agents]:
        told = _progress(spec, "positions")
        found = grade.report(agent, grade.grade(agent, suite, args.batch or grade.BATCH, told))
        results.append({"agent": spec, "suite": args.suite, "seed": args.seed, **found})
    if picture:
        grade.draw(results, picture)
    if args.json:
        print_json(results[0] if len(results) == 1 else {"results": results})
    else:
        _print_suite(results, args.batch or grade.BATCH)
    return 0


def _grade_games(args: argparse.Namespace, rules: Any) -> int:
    from train import annotate

    with open(args.games, encoding="utf-8") as file:
        games = annotate.read_games(read_lines(file, args.games), args.games, rules)
    nodes = annotate.NODES if args.nodes is None and args.seconds is None else args.nodes
    limits = {"nodes": nodes, "seconds": args.seconds}
    graded = annotate.annotate(games, **limits, progress=_progress(args.games, "moves"))
    answer = {**annotate.report(graded), "limits": limits}
    if args.json:
        print_json(answer)
        return 0
    print("\n".join(annotate.in_words(graded)))
    parts = {**answer["totals"], **answer["players"]}
    rows = [
        [name, *(str(part[key]) for key in ("moves", "not_solved", "counted")), *_figures(part)]
        for name, part in parts.items()
    ]
    limit = " and ".join(f"{value:,} {name}" for name, value in limits.items() if value is not None)
    print(f"{len(graded)} game{'s' if len(graded) > 1 else ''}, at most {limit} a position; 95 % intervals")
    print_table(["moves of", "moves", "not solved", "counted", *_HEADS], rows)
    return 0


_HEADS = ["losing errors", "interval", "best moves", "interval", "mean regret", "interval"]


def _figures(part: dict[str, Any]) -> list[str]:
    """Return shares and mean of a summary with their intervals; - where there is none."""
    cells = []
    for key, form in (("losing_errors", "{:.1%}"), ("best_moves", "{:.1%}"), ("mean_regret", "{:.2f}")):
        value, ends = part[key], part["intervals"][key]
        cells.append("-" if value is None else form.format(value))
        cells.append("-" if ends is None else " .. ".join(form.format(end) for end in ends))
    return cells


def _print_suite(results: list[dict[str, Any]], size: int) -> None:
    first = results[0]
    print(
        f"{first['suite']}: {first['rules']}, {first['counted']} of {first['positions']} positions counted, "
        f"seed {first['seed']}; 95 % intervals; ms a move by the clock, {size} positions at a time"
    )
    rows = [[r["agent"], *_figures(r), f"{1000 * r['seconds_per_move']:.3g}"] for r in results]
    print_table(["agent", *_HEADS, "ms a move"], rows)
    for result in results:
        parts = {f"{band['low']}-{band['high']} seeds in pits": band for band in result["bands"]}
        parts |= {f"{side} to move": part for side, part in result["seats"].items()}
        print(f"{result['agent']}:")
        rows = [[name, str(part["counted"]), *_figures(part)] for name, part in parts.items()]
        print_table(["where", "counted", *_HEADS], rows)
        if "asked" in result and "proved" in result:
            print(
                f"{result['agent']}: proved {result['proved']} of {result['asked']} positions it was asked."
            )


def _progress(title: str, what: str) -> Any:
    """Return what tells of progress on a terminal, and is silent elsewhere."""

    def tell(done: int, total: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done == total else ""
            print(f"\r{title}: {done} of {total} {what}", end=end, file=sys.stderr, flush=True)

    return tell
