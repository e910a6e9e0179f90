"""`kalah bench`: speeds, beside a peer where one is installed (`train/bench.py`)."""

import argparse
from typing import Any

from kalah_env.errors import KalahError
from train.commands import add_json, print_json, whole

HELP = "Measure speeds in CPU seconds, in alternating rounds with a peer where one is installed."
EXAMPLE = "kalah bench env --all-presets --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "what",
        choices=("env", "solver"),
        metavar="env|solver",
        help="env: engine, VectorEnv and AEC environment; solver: values of 6x3 and 6x4",
    )
    parser.add_argument("--all-presets", action="store_true", help="random games of every preset too")
    parser.add_argument("--rounds", type=whole(3, 100), default=5, metavar="N", help="rounds, 3 or more (5)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from train.bench import bench_env, bench_solver

    if args.what == "solver" and args.all_presets:
        raise KalahError("bench solver: --all-presets is about env; leave it out.")
    solver = args.what == "solver"
    answer = bench_solver(args.rounds) if solver else bench_env(args.rounds, args.all_presets)
    if args.json:
        print_json(answer)
    else:
        _print(answer)
    return 0


def _print(answer: dict[str, dict[str, Any]]) -> None:
    width = max(map(len, answer))
    for name, row in answer.items():
        ratio = f"  {row['ratio']:.2f} x {row['peer']}" if "ratio" in row else ""
        rate = f"{row['rate']:>14,.0f} {row['unit']}"
        print(f"{name:<{width}}  {rate}, 1 thread, {row['cpu_seconds']:.2f} s a round{ratio}")
