"""`kalah solve`: the exact value of a position and of each of its moves.

Answers with bounds where limits, Ctrl-C or the rules leave it unsolved, and says on a terminal that it
goes on. The solver, and which rules it can prove: `agents/solver/`; many positions: `kalah label`.
"""

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from train.commands import add_json, add_rules, print_json, whole

HELP = """Solve a position: exact final margins, for the player to move, of every move; and a best line.

Where limits, Ctrl-C or the rules leave it unsolved, the answer is bounds; exit code 0 (Ctrl-C: 130)."""
EXAMPLE = 'kalah solve "<6,10,9,0,1,3,0,2,4,1,0,2,5,0,1> S" --rules kalah'

TELL_SECONDS = 10.0  # between two lines on a terminal that it goes on


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("position", metavar="POSITION", help='"<n,S,N,s1,...,sn,n1,...,nn> S", or start')
    add_rules(parser)
    parser.add_argument(
        "--value-only",
        action="store_true",
        help="not the value of every move, which takes several times as long",
    )
    parser.add_argument("--nodes", type=whole(1, 10**15), metavar="N", help="stop after so many positions")
    parser.add_argument("--seconds", type=whole(1, 10**7), metavar="N", help="stop after so long")
    parser.add_argument(
        "--memory", type=whole(1, 2**20), default=512, metavar="MIB", help="of the transposition table (512)"
    )
    parser.add_argument("--threads", type=whole(1, 256), metavar="N", help="threads (all cores)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Solve and print; Ctrl-C prints what has been proved."""
    from agents import packed
    from agents.solver import Solver, table_for
    from agents.solver.prover import INTERRUPTED
    from kalah_env.rules import format_rules, parse_rules
    from kalah_env.text import format_move, format_position, parse_position

    rules = parse_rules(args.rules)
    state = parse_position(args.position, rules)
    solver = Solver(rules, memory=args.memory, threads=args.threads, table=table_for(rules))
    if solver.prover is None and args.seconds is None and args.nodes is None:
        why = packed.unsuitable(solver.relaxed)
        _tell(
            f"kalah: no proof search covers these rules: {why}. Alpha-beta looks deeper ply by ply until "
            "every line has ended, maybe never; --seconds N or Ctrl-C ends it with bounds."
        )
    with _telling():
        found = solver.solve(state, every_move=not args.value_only, nodes=args.nodes, seconds=args.seconds)
    moves = {}
    for action in () if args.value_only else found.legal.nonzero()[0]:
        low, high = int(found.lows[action]), int(found.highs[action])
        moves[format_move(rules, int(action))] = low if low == high else [low, high]
    solved = found.solved and (args.value_only or found.all_solved)
    answer: dict[str, Any] = {
        "rules": format_rules(rules),
        "position": format_position(rules, state),
        "solved": solved,
        **({"value": found.low} if found.solved else {"bounds": [found.low, found.high]}),
        "moves": moves,
        "line": [format_move(rules, action) for action in found.line],
        "nodes": found.nodes,
        "hits": found.hits,
        "seconds": round(found.seconds, 3),
        "stopped": found.why or None,
    }
    if args.json:
        print_json(answer)
    else:
        _print(answer)
    return 130 if found.why == INTERRUPTED else 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    """Say on a terminal that it goes on, and for how long."""
    over, began = threading.Event(), time.monotonic()

    def tell() -> None:
        _tell("solving; Ctrl-C shows what is proved by then")
        while not over.wait(TELL_SECONDS):
            _tell(f"solving for {time.monotonic() - began:.0f} s")

    if sys.stderr.isatty():
        threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _print(answer: dict[str, Any]) -> None:
    if "value" in answer:
        print(f"value: {answer['value']:+d} for the player to move")
    else:
        print("not solved ({}): between {:+d} and {:+d}".format(answer["stopped"], *answer["bounds"]))
    for move, value in answer["moves"].items():
        if isinstance(value, int):
            print(f"move {move:>4}: {value:+d}")
        else:
            print("move {:>4}: between {:+d} and {:+d}".format(move, *value))
    if answer["line"]:
        print(f"best line: {' '.join(answer['line'])}")
    elif answer["solved"]:
        print("no best line: under these rules only values are kept")
    rate = answer["nodes"] / max(answer["seconds"], 1e-3) / 1e6
    print(
        f"{answer['nodes']:,} positions and {answer['hits']:,} hits in the endgame table, "
        f"{answer['seconds']:.2f} s, {rate:.1f} million/s"
    )
