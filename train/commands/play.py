"""`kalah play`: a plain game in the terminal (`agents/play.py`)."""

import argparse
import sys

from train.commands import add_rules, add_seed, add_start

HELP = "Play in the terminal, human or agent in each seat. Type help when it is your turn."
OPPONENT = "alphabeta:depth=6"
EXAMPLE = "kalah play --rules kalah --south human --north alphabeta:depth=6"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_rules(parser)
    parser.add_argument("--south", metavar="AGENT", default="human", help="human or an agent's text (human)")
    parser.add_argument("--north", metavar="AGENT", default=OPPONENT, help=f"the same ({OPPONENT})")
    add_start(parser)
    add_seed(parser)


def run(args: argparse.Namespace) -> int:
    """Play one game on standard input and output."""
    from agents.base import make_agent
    from agents.play import play_game
    from kalah_env.checks import MAX_SEED
    from kalah_env.rules import parse_rules
    from kalah_env.text import parse_position

    rules = parse_rules(args.rules)
    start = parse_position(args.start, rules)
    south, north = (
        None if spec == "human" else make_agent(spec, (args.seed + seat) % (MAX_SEED + 1))
        for seat, spec in enumerate((args.south, args.north))
    )
    play_game(rules, start, south, north, sys.stdin, sys.stdout)
    return 0
