"""`kalah play`: a game in the terminal (`agents/play.py`)."""

import argparse
import sys

from train.commands import add_rules, add_seed, add_start

HELP = (
    "Play in the terminal, human or agent in each seat, with undo, hints, saving and loading. Type help when "
    "it is your turn."
)
OPPONENT = "medium"
EXAMPLE = "kalah play --rules kalah --south human --north hard"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_rules(parser)
    who = "human, easy, medium, hard, perfect or an agent's text"
    parser.add_argument("--south", metavar="WHO", default="human", help=f"{who} (human)")
    parser.add_argument("--north", metavar="WHO", default=OPPONENT, help=f"the same ({OPPONENT})")
    add_start(parser)
    parser.add_argument("--load", metavar="FILE", help="go on with a saved game, of its own rules and start")
    add_seed(parser)


def run(args: argparse.Namespace) -> int:
    """Play one game on standard input and output."""
    from agents.base import make_agent
    from agents.levels import check_seat
    from agents.play import play_game
    from agents.saved import load_game
    from kalah_env.checks import MAX_SEED
    from kalah_env.errors import KalahError
    from kalah_env.game import Game
    from kalah_env.rules import START, parse_rules

    if args.load and (args.start != START or args.rules != "kalah"):
        raise KalahError("play: a saved game has its own rules and start; leave --rules and --start out.")
    game = load_game(args.load) if args.load else Game(parse_rules(args.rules), args.start)
    players = [
        None if spec is None else make_agent(spec, (args.seed + seat) % (MAX_SEED + 1))
        for seat, spec in enumerate(map(check_seat, (args.south, args.north)))
    ]
    play_game(game, players, sys.stdin, sys.stdout)
    return 0
