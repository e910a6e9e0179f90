"""`kalah arena`: paired games between agents (`train/arena.py`), as a table or JSON."""

import argparse
import sys
from typing import Any

from kalah_env.errors import KalahError
from kalah_env.rules import START
from train.commands import add_json, add_rules, add_seed, add_start, print_json, print_table, whole

WITHIN = 2  # seeds from a draw of `--balanced`
HELP = "Play paired games (random openings x 2 seats) between each two agents and rate them in Elo."
EXAMPLE = "kalah arena greedy random alphabeta:depth=4 --rules kalah --games 200"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="two or more agents' texts")
    add_rules(parser)
    parser.add_argument(
        "--games",
        type=whole(2, 10**6),
        default=200,
        metavar="N",
        help="games a pairing, two an opening (200)",
    )
    parser.add_argument(
        "--against-first", action="store_true", help="the first agent against each other one only"
    )
    parser.add_argument("--records", metavar="FILE", help="write all games there as JSON lines")
    add_start(parser)
    parser.add_argument(
        "--balanced",
        metavar="SUITE",
        help=f"open with positions of a suite that are within {WITHIN} seeds of a draw, fullest boards first",
    )
    add_seed(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Play and print."""
    from kalah_env.rules import parse_rules
    from kalah_env.text import parse_position
    from train.arena import balanced_openings, run_arena
    from train.suites import load_suite

    rules = parse_rules(args.rules)
    openings = None
    if args.balanced:
        if args.start != START:
            raise KalahError("arena: --start and --balanced both say where games begin; give one of them.")
        openings = balanced_openings(load_suite(args.balanced, rules), rules, args.games // 2, WITHIN)
    answer = run_arena(
        args.agents,
        rules,
        args.games,
        args.seed,
        start=parse_position(args.start, rules),
        openings=openings,
        against_first=args.against_first,
        records=args.records,
        progress=_progress if sys.stderr.isatty() else None,
    )
    played = 2 * answer["openings"]
    if played < args.games:
        print(f"kalah: no more distinct openings found, so {played} games a pairing.", file=sys.stderr)
    if args.json:
        print_json(answer)
    else:
        _print_tables(answer)
    if answer["stopped"]:
        print(
            "kalah: stopped by Ctrl-C; the pairings that were finished are above, without Elo.",
            file=sys.stderr,
        )
        return 130
    return 0


def _progress(title: str, done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\r{title}: {done} of {total} games", end=end, file=sys.stderr, flush=True)


def _print_tables(answer: dict[str, Any]) -> None:
    results = [
        [
            r["a"],
            r["b"],
            *(str(r[key]) for key in ("games", "wins", "draws", "losses")),
            f"{r['score']:.1%}",
            _range(r["interval"], "{:.1%}"),
            str(r["distinct_games"]),
        ]
        for r in answer["results"]
    ]
    ranked = sorted(answer["elo"].items(), key=lambda item: -item[1]["elo"])
    elo = [[key, f"{r['elo']:+z.0f}", _range(r["interval"], "{:+z.0f}")] for key, r in ranked]
    count = f"{answer['openings']} opening{'s' if answer['openings'] > 1 else ''}"
    print(f"{answer['rules']}: {count} x 2 seats, seed {answer['seed']}; 95 % intervals")
    print_table(["a", "b", "games", "wins", "draws", "losses", "score", "interval", "distinct"], results)
    if elo:
        print_table(["agent", "Elo", "interval"], elo)
    for r in answer["results"]:
        if r["truncated"]:
            print(f"{r['a']} - {r['b']}: {r['truncated']} of {r['games']} games reached ply_limit: draws.")


def _range(interval: list[float], form: str) -> str:
    return " .. ".join(form.format(end) for end in interval)
