"""Reproduces the published values of Kalah: `make verify-solved`. No test of pytest, since it takes minutes.

Sources of the values: tests/data/published_values.json. Arguments: the groups to verify, of `small`,
`6x4`, `moves` and `6x5`; all but 6x5 without any. The search for 6x5 begins at the published value, so
that two proofs are enough where it is right. Exit code 1 where a value differs.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from agents import endgame
from agents.solver import Solution, Solver
from agents.solver.prover import Budget
from kalah_env import parse_rules
from kalah_env.rules import Rules
from kalah_env.text import format_move, parse_position

PUBLISHED = json.loads((Path(__file__).parent / "data" / "published_values.json").read_text())
PRESETS = {"standard": "kalah", "empty_capture": "fairkalah"}
GROUPS = ("small", "6x4", "moves", "6x5")
SEEDS, MORE_SEEDS = 16, 20  # of the endgame tables, and of those for 6x5
wrong = []


def table_of(rules: Rules, seeds: int) -> endgame.Endgame:
    """Return the largest table at hand, built and kept if there is none of `seeds` seeds."""
    table = endgame.find(rules)
    if table is None or table.seeds < seeds:
        began = time.process_time()
        table = endgame.save(endgame.compute(rules, seeds, 2), endgame.path_of(rules, seeds))
        print(f"table of {seeds} seeds built: {time.process_time() - began:.1f} CPU s", flush=True)
    return table


def check(name: str, expected: int, found: int, note: str) -> None:
    """Print one line, and remember where a value is wrong."""
    good = expected == found
    print(
        f"{name:<28} published {expected:+d}, found {found:+d}  {note}{'' if good else '  WRONG'}", flush=True
    )
    if not good:
        wrong.append(name)


def timed(solver: Solver, text: str = "start", every_move: bool = False) -> tuple[Solution, str]:
    """Solve a position; return it and what it cost, in CPU seconds of all threads."""
    began = time.process_time()
    found = solver.solve(parse_position(text, solver.rules), every_move=every_move)
    seconds = time.process_time() - began
    rate = found.nodes / max(seconds, 1e-3) / 1e6
    cost = f"{found.nodes:,} nodes, {found.hits:,} hits, {seconds:.2f} CPU s, {rate:.1f} M/s"
    return found, cost


def verify_starts(sizes: dict[str, dict[str, int]], memory: int, threads: int) -> None:
    """Find the value of each start; every one from an empty transposition table."""
    for kind, values in sizes.items():
        for size, value in values.items():
            pits, seeds = size.split("x")
            rules = parse_rules(f"{PRESETS[kind]}:pits={pits},seeds={seeds}")
            table = table_of(rules, SEEDS) if int(pits) == 6 else None
            found, cost = timed(Solver(rules, memory=memory, threads=threads, table=table))
            check(f"{PRESETS[kind]} {size}", value, found.low if found.solved else 999, cost)


def verify_from_guess(kind: str, size: str, value: int, memory: int, threads: int) -> None:
    """Prove that the value of a start is what was published, or find the one it has."""
    pits, seeds = size.split("x")
    rules = parse_rules(f"{PRESETS[kind]}:pits={pits},seeds={seeds}")
    solver = Solver(rules, memory=memory, threads=threads, table=table_of(rules, MORE_SEEDS))
    budget, began = Budget(None, None), time.process_time()
    low, high = solver.prove(parse_position("start", rules), budget, guess=value)
    seconds = time.process_time() - began
    cost = f"{budget.nodes:,} nodes, {budget.hits:,} hits, {seconds:.0f} CPU s"
    check(f"{PRESETS[kind]} {size}", value, low if low == high else 999, cost)


def verify_moves(memory: int, threads: int) -> None:
    """Find the value of every first move of Kalah(6,4), and of those after 3, which moves again."""
    rules = parse_rules("kalah")
    solver = Solver(rules, memory=memory, threads=threads, table=table_of(rules, SEEDS))
    published = {key: value for key, value in PUBLISHED["first_moves_standard_6x4"].items() if key != "note"}
    for first, text in (("", "start"), ("3-", "<6,1,0,4,4,0,5,5,5,4,4,4,4,4,4> S")):
        found, cost = timed(solver, text, every_move=True)
        print(f"every move of {text}: {cost}", flush=True)
        for action in found.legal.nonzero()[0]:
            move = first + format_move(rules, int(action))
            if move in published:
                check(f"kalah 6x4 move {move}", published[move], int(found.lows[action]), "")


def main() -> int:
    """Verify the groups that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", choices=(*GROUPS, []), default=list(GROUPS[:3]))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", type=int, default=1024, help="MiB of the transposition table")
    args = parser.parse_args()
    for group in args.groups:
        began = time.monotonic()
        if group == "small":
            sizes = {k: {s: v for s, v in PUBLISHED[k].items() if s != "6x4"} for k in PRESETS}
            verify_starts(sizes, args.memory, args.threads)
        elif group == "6x4":
            verify_starts({k: {"6x4": PUBLISHED[k]["6x4"]} for k in PRESETS}, args.memory, args.threads)
        elif group == "moves":
            verify_moves(args.memory, args.threads)
        else:
            for kind in PRESETS:
                value = PUBLISHED["long_running"][f"{kind} 6x5"]
                verify_from_guess(kind, "6x5", value, args.memory, args.threads)
        print(f"{group}: {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(wrong)} wrong" if wrong else "all as published")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
