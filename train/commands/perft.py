"""`kalah perft`: how many leaf positions lie at each depth, to hold engines against each other."""

import argparse

from train.commands import add_json, add_rules, add_start, print_json, whole

HELP = "Count the leaf positions at each depth. A finished game has no successors; swap is an action."
EXAMPLE = "kalah perft --rules kalah --depth 8"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_rules(parser)
    parser.add_argument("--depth", type=whole(1, 40), required=True, metavar="D", help="1 to 40 plies")
    add_start(parser, "--position")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the leaves of depth 1, 2, ... as they are counted."""
    import numpy as np

    from kalah_env import engine
    from kalah_env.rules import format_rules, parse_rules
    from kalah_env.text import parse_position

    rules = parse_rules(args.rules)
    state = parse_position(args.position, rules)
    leaves = []
    for depth in range(1, args.depth + 1):
        path = np.zeros((depth + 1, len(state)), np.int16)
        path[0] = state
        leaves.append(int(engine.perft(rules, path, depth)))
        if not args.json:
            print(f"{depth:>2}  {leaves[-1]}", flush=True)
    if args.json:
        print_json({"rules": format_rules(rules), "leaves": leaves})
    return 0
