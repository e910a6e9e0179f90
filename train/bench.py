"""Speed side by side: our environments beside OpenSpiel and Shimmy, in alternating rounds; the solver.

Every measurement is CPU seconds of this process (one thread), the median over rounds; a ratio to a
peer is the median of the rounds' ratios, as both are measured in turn. Nothing is compiled inside a
round. A peer that is not installed is left out (`pip install "kalah-env[bench]"`).
"""

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agents import endgame
from agents.endgame import Endgame
from agents.solver import Solver
from kalah_env import batch, playout
from kalah_env.aec import raw_env
from kalah_env.jit import frozen
from kalah_env.rules import PRESET_NAMES, Rules, format_rules, parse_rules
from kalah_env.vector import KalahVectorEnv

# A work runs for a while and returns how much it did, e.g. the plies it played.
Work = Callable[[], int]
# Of each work, for every round: what it did per second, and the CPU seconds.
Measured = dict[str, list[tuple[float, float]]]


def cpu_rate(work: Work) -> tuple[float, float]:
    """Run `work` once; return what it did per CPU second, and the CPU seconds."""
    started = time.process_time()
    done = work()
    seconds = time.process_time() - started
    return done / seconds, seconds


def alternate(works: dict[str, Work], rounds: int) -> Measured:
    """Measure all works in turn, `rounds` times, after one round that warms up."""
    for work in works.values():
        work()
    measured: Measured = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            measured[name].append(cpu_rate(work))
    return measured


def summarize(measured: Measured, unit: str, peer: str | None) -> dict[str, dict[str, Any]]:
    """Return rate, unit, threads, CPU seconds and, where `peer` was measured too, the ratio to it."""
    answer = {}
    for name, rounds in measured.items():
        row: dict[str, Any] = {
            "rate": statistics.median(rate for rate, _ in rounds),
            "unit": unit,
            "threads": 1,
            "cpu_seconds": statistics.median(seconds for _, seconds in rounds),
            "rounds": len(rounds),
        }
        if peer in measured and name != peer:
            pairs = zip(rounds, measured[peer], strict=True)
            row["peer"] = peer
            row["ratio"] = statistics.median(ours / theirs for (ours, _), (theirs, _) in pairs)
        answer[name] = row
    return answer


def random_games(rules: Rules, games: int, seed: int = 1) -> Work:
    """Return a work that plays random games inside the engine, options compiled as constants."""
    start = batch.new_games(rules, 1)[0]
    scratch, generator = start.copy(), np.array([seed], np.uint64)
    play = frozen(playout.playouts, rules)
    return lambda: play(start, games, scratch, generator)


def sown_seeds(rules: Rules, games: int = 200) -> float:
    """Return the seeds that an average ply of random play sows, later laps of a relay left out."""
    return float(playout.seeds_a_ply(rules, batch.new_games(rules, 1)[0], games))


def vector_steps(count: int, steps: int) -> Work:
    """Return a work that steps a `VectorEnv` with random legal actions, observations and masks made."""
    env = KalahVectorEnv(count)
    rng = np.random.default_rng(0)
    masks = [env.reset(seed=0)[0]["action_mask"]]
    noise = rng.random((steps, count, masks[0].shape[1]), np.float32)

    def work() -> int:
        for step in range(steps):
            # Choosing is part of any loop; it is as cheap as numpy makes it.
            actions = (noise[step] * masks[0]).argmax(1)
            masks[0] = env.step(actions)[0]["action_mask"]
        return count * steps

    return work


def aec_steps(env: Any, steps: int, mask_of: Callable[[Any, Any], np.ndarray]) -> Work:
    """Return a work that plays random actions in a PettingZoo AEC environment."""
    rng = np.random.default_rng(0)

    def work() -> int:
        done = 0
        while done < steps:
            env.reset(seed=done)
            for _ in env.agent_iter():
                observation, _, termination, truncation, info = env.last()
                over = termination or truncation
                env.step(None if over else int(rng.choice(np.flatnonzero(mask_of(observation, info)))))
                done += not over
        return done

    return work


def spiel_bots(games: int) -> Work:
    """Return a work of OpenSpiel's own loop: two uniform random bots play `mancala` in C++."""
    import pyspiel

    game = pyspiel.load_game("mancala")
    bots = [pyspiel.make_uniform_random_bot(player, player + 1) for player in range(2)]

    def work() -> int:
        plies = 0
        for seed in range(games):
            state = game.new_initial_state()
            pyspiel.evaluate_bots(state, bots, seed)
            plies += len(state.history())
        return plies

    return work


def spiel_loop(games: int) -> Work:
    """Return a work of a Python loop over OpenSpiel's `mancala` that reads every observation."""
    import random

    import pyspiel

    game = pyspiel.load_game("mancala")
    choose = random.Random(0).choice

    def work() -> int:
        plies = 0
        for _ in range(games):
            state = game.new_initial_state()
            while not state.is_terminal():
                state.observation_tensor(state.current_player())
                state.apply_action(choose(state.legal_actions()))
                plies += 1
        return plies

    return work


def bench_env(rounds: int, all_presets: bool) -> dict[str, dict[str, Any]]:
    """Measure engine, vector environment and AEC environment, each beside its peer."""
    spiel = importlib.util.find_spec("pyspiel") is not None
    shimmy = spiel and importlib.util.find_spec("shimmy") is not None
    kalah = parse_rules("kalah")
    engine: dict[str, Work] = {"engine random games": random_games(kalah, 200_000)}
    vector: dict[str, Work] = {f"VectorEnv {n} games": vector_steps(n, 2_000_000 // n) for n in (64, 4096)}
    aec: dict[str, Work] = {"raw_env": aec_steps(raw_env(), 20_000, lambda seen, info: seen["action_mask"])}
    if spiel:
        engine["pyspiel.evaluate_bots"] = spiel_bots(20_000)
        vector["pyspiel Python loop"] = spiel_loop(5_000)
    if shimmy:
        from shimmy import OpenSpielCompatibilityV0

        peer = OpenSpielCompatibilityV0(game_name="mancala")
        aec["shimmy mancala"] = aec_steps(peer, 5_000, lambda seen, info: info["action_mask"])
    answer = summarize(alternate(engine, rounds), "plies/s", "pyspiel.evaluate_bots")
    answer |= summarize(alternate(vector, rounds), "plies/s", "pyspiel Python loop")
    answer |= summarize(alternate(aec, rounds), "plies/s", "shimmy mancala")
    if all_presets:
        answer |= bench_presets(rounds)
    return answer


def bench_presets(rounds: int) -> dict[str, dict[str, Any]]:
    """Measure random games of every preset in seeds sown per second, beside `kalah`."""
    presets = [parse_rules(name) for name in PRESET_NAMES]
    works = {f"engine {format_rules(rules)}": random_games(rules, 20_000) for rules in presets}
    answer = summarize(alternate(works, rounds), "seeds sown/s", "engine kalah")
    weights = {f"engine {format_rules(rules)}": sown_seeds(rules) for rules in presets}
    for name, row in answer.items():
        row["plies_rate"], row["seeds_a_ply"] = row["rate"], weights[name]
        row["rate"] *= weights[name]
        if "ratio" in row:
            row["ratio"] *= weights[name] / weights["engine kalah"]
    return answer


def solver_values(spec: str, table: Endgame) -> Work:
    """Return a work that finds the value of a start from nothing but `table`, in positions looked up."""
    rules = parse_rules(spec)

    def work() -> int:
        solver = Solver(rules, threads=1, table=table)
        return solver.solve(batch.new_games(rules, 1)[0], every_move=False).nodes

    return work


def bench_solver(rounds: int) -> dict[str, dict[str, Any]]:
    """Measure the solver on starts of known value, with a table of 16 seeds on disk; and building that."""
    kalah = parse_rules("kalah")
    endgame.compute(kalah, 2)  # compiles
    built, seconds = cpu_rate(lambda: len(endgame.compute(kalah, 16).values))
    with tempfile.TemporaryDirectory() as folder:
        made = endgame.save(endgame.compute(kalah, 16), Path(folder) / "16.endgame")
        table = endgame.load(Path(folder) / "16.endgame", made.rules)
        solver_values("kalah:seeds=1", table)()
        works = {f"solver {spec}": solver_values(spec, table) for spec in ("kalah:seeds=3", "kalah:seeds=4")}
        measured: Measured = {name: [] for name in works}
        for _ in range(rounds):
            for name, work in works.items():
                measured[name].append(cpu_rate(work))
        answer = summarize(measured, "positions/s", None)
    row = {"rate": built, "unit": "boards/s", "threads": 1, "cpu_seconds": seconds, "rounds": 1}
    return {"endgame table of 16 seeds": row, **answer}
