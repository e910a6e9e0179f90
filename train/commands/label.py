"""`kalah label`: makes a suite of positions with exact values (`train/label.py`)."""

import argparse
import shlex
import sys

from train.commands import add_json, add_rules, add_seed, print_json, whole

HELP = (
    "Make a suite: positions with the exact value of every legal move. Stopped and called again, it goes on."
)
EXAMPLE = "kalah label my.jsonl.gz --rules kalah:pits=4,seeds=4 --bands 1-16=200,17-32=100"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("out", metavar="FILE", help="where the suite goes, NAME.jsonl.gz")
    add_rules(parser)
    parser.add_argument(
        "--bands",
        required=True,
        metavar="LOW-HIGH=N,...",
        help="how many positions with so many seeds in the pits",
    )
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        metavar="AGENT",
        help="one source more: games of this agent, random moves mixed in; may be repeated",
    )
    parser.add_argument("--threads", type=whole(1, 256), default=2, metavar="N", help="threads (2)")
    parser.add_argument(
        "--memory", type=whole(1, 2**20), default=512, metavar="MIB", help="of the solver (512)"
    )
    add_seed(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Make the suite and say what is in it."""
    from collections import Counter
    from pathlib import Path

    from kalah_env.errors import KalahError
    from kalah_env.rules import format_rules, parse_rules
    from train.label import make_suite, parse_bands, with_agents

    rules, out = parse_rules(args.rules), Path(args.out)
    if not out.name.endswith(".jsonl.gz"):
        raise KalahError(f"label: {out} does not end with .jsonl.gz; give a name that does.")
    if out.exists():
        raise KalahError(f"label: {out} is there already, and whole; give a new name, or move it away.")
    bands = parse_bands(args.bands)
    command = ["kalah", "label", out.name, "--rules", format_rules(rules), "--bands", args.bands]
    command += [word for agent in args.agent for word in ("--agent", agent)]
    try:
        suite = make_suite(
            out,
            rules,
            bands,
            seed=args.seed,
            about={"seed": args.seed, "command": shlex.join([*command, "--seed", str(args.seed)])},
            sources=with_agents(args.agent),
            threads=args.threads,
            memory=args.memory,
            progress=_progress if sys.stderr.isatty() else lambda done, total: None,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command goes on where it was") from None
    sources = dict(Counter(suite.sources))
    found = [int(((suite.seeds() >= band.low) & (suite.seeds() <= band.high)).sum()) for band in bands]
    short = [(band, count) for band, count in zip(bands, found, strict=True) if count < band.positions]
    for band, count in short:
        print(
            f"kalah: {band.low}-{band.high}: only {count} of {band.positions} positions found.",
            file=sys.stderr,
        )
    if args.json:
        print_json({"positions": len(suite.states), "sources": sources, **suite.about})
    else:
        print(f"{out}: {len(suite.states)} positions; " + ", ".join(f"{n} {s}" for s, n in sources.items()))
    return 1 if short else 0


def _progress(done: int, total: int) -> None:
    print(f"\r{done} of {total} positions", end="\n" if done == total else "", file=sys.stderr, flush=True)
