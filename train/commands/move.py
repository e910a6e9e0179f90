"""`kalah move`: plays moves from a position and describes where they lead."""

import argparse

from kalah_env.rules import START
from train.commands import add_json, add_rules, print_json

HELP = "Play moves from a position; without a move, describe it."
EXAMPLE = 'kalah move "<6,0,0,4,4,4,4,4,4,4,4,4,4,4,4> S first" 3 6 --rules kalah'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    form = '"<n,S,N,s1,...,sn,n1,...,nn> S"'
    parser.add_argument("position", metavar="POSITION", help=f"{form} (two rows: 2xn), or {START}")
    parser.add_argument(
        "moves",
        nargs="*",
        default=[],
        metavar="MOVE",
        help="a pit's number (5+ or 5- with a direction), or swap",
    )
    add_rules(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Play the moves and print what became of the position."""
    from kalah_env.records import describe, play_moves
    from kalah_env.rules import parse_rules
    from kalah_env.text import draw_board, parse_position

    rules = parse_rules(args.rules)
    state = parse_position(args.position, rules)
    captured, again = play_moves(rules, state, args.moves)
    answer = describe(rules, state, captured, again)
    if args.json:
        print_json(answer)
        return 0
    print(answer["position"])
    print(draw_board(rules, state))
    if captured:
        print(f"captured: {', '.join(map(str, captured))}")
    print(_outlook(answer, collects=rules.rows == 1))
    return 0


def _outlook(answer: dict, collects: bool) -> str:
    """Say in words who moves, or how the game ended; `collects`: stores are used at all."""
    if answer["over"]:
        result = answer["result"]
        won = {"S": "south wins", "N": "north wins", "draw": "a draw"}[result["winner"]]
        return (
            f"over: south {result['south']}, north {result['north']}: {won}" if collects else f"over: {won}"
        )
    if answer["truncated"]:
        return "truncated by ply_limit: no result"
    side = {"S": "south", "N": "north"}[answer["next"]]
    return f"{side} moves{' again' if answer['again'] else ''}; legal: {', '.join(answer['legal'])}"
