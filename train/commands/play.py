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
    parser.add_argument("--south", metavar="WHO", help=f"{who} (human, or who sat there in a loaded game)")
    parser.add_argument("--north", metavar="WHO", help=f"the same ({OPPONENT}, or as above)")
    add_start(parser)
    parser.add_argument("--load", metavar="FILE", help="go on with a saved game, of its own rules and start")
    parser.add_argument("--save", metavar="FILE", help="write the game to a new file, however it ends")
    add_seed(parser)


def run(args: argparse.Namespace) -> int:
    """Play one game on standard input and output."""
    from agents.base import Agent, make_agent
    from agents.levels import HUMAN, check_seat, seat_of
    from agents.play import SEATS, play_game
    from agents.saved import check_new, load_game
    from kalah_env.checks import MAX_SEED
    from kalah_env.errors import KalahError
    from kalah_env.game import Game
    from kalah_env.rules import START, parse_rules

    if args.load and (args.start != START or args.rules != "kalah"):
        raise KalahError("play: a saved game has its own rules and start; leave --rules and --start out.")
    if args.save is not None:
        check_new(args.save)
    game = load_game(args.load) if args.load else Game(parse_rules(args.rules), args.start)

    def make(spec: str | None, seat: int) -> Agent | None:
        return None if spec is None else make_agent(spec, (args.seed + seat) % (MAX_SEED + 1))

    def seated(game: Game, player: Agent | None, seat: int) -> Agent | None:
        """Return who sits where a loaded game's tag says so, unless the command line does."""
        if (args.south, args.north)[seat] is not None or SEATS[seat] not in game.tags:
            return player
        spec = seat_of(game.tags[SEATS[seat]])
        try:
            return make(spec, seat)
        except KalahError as error:
            raise KalahError(f"{SEATS[seat]} of the saved game is {spec}: {error}") from None

    players = []
    for seat, (given, usual) in enumerate(((args.south, HUMAN), (args.north, OPPONENT))):
        told = given is None and SEATS[seat] in game.tags
        players.append(seated(game, None, seat) if told else make(check_seat(given or usual), seat))
    play_game(game, players, sys.stdin, sys.stdout, seat=seated, save=args.save)
    return 0
