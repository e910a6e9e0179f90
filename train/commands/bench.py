"""`kalah bench`: speeds, beside a peer where one is installed (`train/bench*.py`)."""

import argparse
from typing import Any

from kalah_env.errors import KalahError
from train.commands import add_json, print_json, whole

HELP = "Measure speeds in CPU seconds, in alternating rounds with a peer where one is installed."
EXAMPLE = "kalah bench env --all-presets --json"

# Options of one kind of bench only, and what they are where they are not given.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "env": {"all_presets": False},
    "solver": {},
    "search": {"width": 320, "blocks": 3, "games": 1024, "sims": [32, 64]},
    "train": {"config": "configs/quick.yaml"},
}


def _several(text: str) -> list[int]:
    """Parse simulations, such as 32,64."""
    return list(dict.fromkeys(map(whole(1, 10_000), text.split(","))))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "what",
        choices=tuple(_DEFAULTS),
        metavar="|".join(_DEFAULTS),
        help="env: engine, VectorEnv and AEC environment; solver: values of 6x3 and 6x4; search: "
        "simulations, beside mctx; train: self-play and learner of a config",
    )
    parser.add_argument(
        "--all-presets", action="store_true", default=None, help="env: random games of every preset too"
    )
    parser.add_argument("--width", type=whole(8, 4096), metavar="N", help="search: the network's width (320)")
    parser.add_argument("--blocks", type=whole(0, 64), metavar="N", help="search: its blocks (3)")
    parser.add_argument("--games", type=whole(1, 65536), metavar="N", help="search: positions at once (1024)")
    parser.add_argument("--sims", type=_several, metavar="N,N", help="search: simulations (32,64)")
    parser.add_argument("--config", metavar="FILE", help="train: the config (configs/quick.yaml)")
    parser.add_argument("--rounds", type=whole(3, 100), default=5, metavar="N", help="rounds, 3 or more (5)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    answer = _measure(args)
    if args.json:
        print_json(answer)
    else:
        _print(answer)
    return 0


def _measure(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    for what, defaults in _DEFAULTS.items():
        given = [name for name in defaults if what != args.what and getattr(args, name) is not None]
        if given:
            option = given[0].replace("_", "-")
            raise KalahError(f"bench {args.what}: --{option} is about {what}; leave it out.")
    options = {
        name: default if getattr(args, name) is None else getattr(args, name)
        for name, default in _DEFAULTS[args.what].items()
    }
    if args.what == "search":
        from train.bench_search import bench_search

        return bench_search(args.rounds, **options)
    if args.what == "train":
        from train.bench_train import bench_train
        from train.config import load_config

        return bench_train(args.rounds, load_config(options["config"], []))
    from train.bench import bench_env, bench_solver

    return bench_solver(args.rounds) if args.what == "solver" else bench_env(args.rounds, *options.values())


def _print(answer: dict[str, dict[str, Any]]) -> None:
    width = max(map(len, answer))
    for name, row in answer.items():
        threads = f"{row['threads']} thread{'s' if row['threads'] > 1 else ''}"
        ratio = f"  {row['ratio']:.2f} x {row['peer']}" if "ratio" in row else ""
        if "games_per_hour" in row:
            ratio += f"  {row['games_per_hour']:,.0f} games/h"
        if "shares" in row:
            ratio += "  " + ", ".join(f"{part} {share:.0%}" for part, share in row["shares"].items())
        rate = f"{row['rate']:>14,.0f} {row['unit']}"
        print(f"{name:<{width}}  {rate}, {threads}, {row['cpu_seconds']:.2f} s a round{ratio}")
