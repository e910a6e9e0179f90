"""`kalah warm`: compiles what the commands need, so that no later call has to wait.

Each part goes once through what people and protocols ask for, on small boards, with arguments of the
types that they have there, since every type is compiled for itself. Not for networks in torch and
training, which compile little of ours. How functions are compiled and kept: `kalah_env/jit.py`.
"""

import argparse
import time
from collections.abc import Callable

from train.commands import add_json, print_json

HELP = "Compile what the commands need into the cache, and say how long it took and where the cache is."
EXAMPLE = "kalah warm"
TRIES = 3  # of a search by the clock: what compiles takes its time away


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Compile part after part."""
    from kalah_env.jit import CACHE

    seconds = {}
    for name, part in PARTS.items():
        began = time.perf_counter()
        try:
            part()
        except ModuleNotFoundError as error:
            if not args.json:
                print(f"{name:<10} left out: {error.name} is not installed")
            continue
        seconds[name] = round(time.perf_counter() - began, 2)
        if not args.json:
            print(f"{name:<10} {seconds[name]:6.2f} s", flush=True)
    if args.json:
        print_json({"seconds": seconds, "cache": CACHE})
    else:
        print(f"cache: {CACHE or 'none, so every start compiles anew; set KALAH_CACHE_DIR'}")
    return 0


def _engine() -> None:
    """Go through the functions for one state."""
    import numpy as np

    from kalah_env import batch, engine, records, text

    rules = _rules()
    state = batch.new_games(rules, 1)[0]
    captured, again = records.play_moves(rules, state, ["1"])
    records.describe(rules, text.parse_position(text.format_position(rules, state), rules), captured, again)
    engine.perft(rules, np.stack((state, state)), 1)


def _play(*specs: str) -> None:
    from train.arena import run_arena

    run_arena(list(specs), _rules(), 2)


def _search() -> None:
    """Search with playouts, and in all other ways with what stands in for a network."""
    import numpy as np

    from agents import endgame, rollouts
    from agents.encoding import encode
    from agents.heads import utilities
    from agents.mcts import Search, SearchConfig
    from agents.timed import TimedSearch
    from kalah_env import batch
    from kalah_env.rules import Rules, num_actions

    def evaluate(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, facts = encode(rules, states)
        heads = np.zeros((3, len(states)), np.float32), np.zeros((13, len(states)), np.float32)
        values = utilities(*heads, facts, 12, 0.25)
        return np.zeros((len(states), num_actions(rules)), np.float32), values

    rules = _rules()
    rollouts.search(rules, batch.new_games(rules, 2), 4)
    for policy in ("gumbel", "puct"):
        search = Search(SearchConfig(simulations=4, policy=policy))
        search.run(rules, batch.new_games(rules, 2), evaluate, np.random.default_rng(0))
    search = TimedSearch(rules, evaluate, endgame.compute(rules, 2), SearchConfig())
    for _ in range(TRIES):
        search.run(batch.new_games(rules, 1)[0], 0.1)


def _solver() -> None:
    """Solve with a table that is made and one that is read, on one thread and on two."""
    import tempfile
    from pathlib import Path

    from agents import endgame
    from agents.solver import Solver
    from kalah_env import batch

    rules = _rules()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "2.endgame"
        endgame.save(endgame.compute(rules, 2), path)
        table = endgame.load(path)
        Solver(rules, memory=1, table=table).solve(batch.new_games(rules, 1)[0])
    Solver(rules, memory=1).solve(batch.new_games(rules, 1)[0])


def _analysis() -> None:
    """Value moves as people are shown them, by alpha-beta alone and by solver and network; let `bot` play."""
    from agents.analysis import Analyst
    from agents.base import make_agent
    from agents.exported import load_onnxruntime
    from kalah_env import batch
    from kalah_env.rules import parse_rules

    def value(spec: str) -> None:
        rules = parse_rules(spec)
        analyst = Analyst(rules, memory=1)
        for _ in range(TRIES):
            analyst.analyse(batch.new_games(rules, 1)[0], 0.1)

    value("kalaha-philos:pits=3,seeds=2")
    load_onnxruntime()  # without it a network cannot be asked
    value("kalah")
    bot, rules = make_agent("bot:ms=100,memory=1"), parse_rules("kalah")
    for _ in range(TRIES):
        bot.act(rules, batch.new_games(rules, 1))


def _rules():
    from kalah_env.rules import make_rules

    return make_rules(pits=3, seeds=2)


PARTS: dict[str, Callable[[], None]] = {
    "engine": _engine,
    "arena": lambda: _play("random", "greedy"),
    "alphabeta": lambda: _play("alphabeta:depth=2", "alphabeta:ms=1"),
    "search": _search,
    "solver": _solver,
    "analysis": _analysis,
}
