"""The engine against published positions, perft counts, and an independent oracle in lockstep.

Compiled scalar = compiled batch = plain Python = `oracle.py`, on every preset, many sizes, random
options and loaded positions. What must hold of any position stands in `test_properties.py`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lockstep import digest, engine_games, specs_and_games, start_of
from oracle import Game

from kalah_env import batch, engine, text
from kalah_env.rules import PRESET_NAMES, Rules, num_actions, parse_rules, rules_hash

HERE = Path(__file__).parent
CASES = json.loads((HERE / "data" / "positions.json").read_text())["cases"]
PERFT = json.loads((HERE / "data" / "perft.json").read_text())["perft"]
COUNTS = specs_and_games(200)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_published_positions(case):
    rules = parse_rules(case["rules"])
    state = text.parse_position(case["position"], rules)
    side = batch.extras(rules, state)[engine.SIDE]
    for move in case["moves"]:
        engine.play(rules, state, text.parse_move(rules, state, move))
    extras = batch.extras(rules, state)
    after = text.format_position(rules, state)
    over = extras[engine.STATUS] == engine.OVER
    if "after" in case:
        assert after[:-2] == case["after"]
        assert over == case["over"]
        assert bool(not over and extras[engine.SIDE] == side) == case["again"]
    assert state[rules.pits] >= case.get("store_south_at_least", 0)
    if "result" in case:
        assert text.winner(rules, state) == case["result"]


@pytest.mark.parametrize("spec", PERFT)
def test_perft(spec):
    rules = parse_rules(spec)
    leaves = []
    for depth in range(1, len(PERFT[spec]) + 1):
        path = np.repeat(batch.new_games(rules, 1), depth + 1, axis=0)
        leaves.append(engine.perft(rules, path, depth))
    assert leaves == PERFT[spec]


def _action_of(rules: Rules, move: str) -> int:
    """Return the action of the oracle's word for a move."""
    pits = rules.rows * rules.pits
    if move == "swap":
        return pits * rules.directions
    return int(move.strip("+-")) - 1 + (pits if move.endswith("-") else 0)


def _as_engine(rules: Rules, game: Game) -> tuple[list[int], list[int]]:
    """Return the oracle's game as the engine's state and mask."""
    *counts, south, north = game.board.counts()
    half = len(counts) // 2
    state = [*counts[:half], south, *counts[half:], north, "SN".index(game.mover)]
    state.append(engine.MID if game.over else {"mid": engine.MID, "first": engine.FIRST}.get(game.phase, 2))
    state.append(engine.OVER if game.over else engine.TRUNCATED if game.truncated else engine.RUNNING)
    state += [game.plies, game.margin if game.options["win"] == "move" else 0]
    mask = np.zeros(num_actions(rules), np.int8)
    mask[[_action_of(rules, move) for move in game.legal()]] = 1
    return state, mask.tolist()


def _moves(rules: Rules) -> list[str]:
    """Return the oracle's words for all actions."""
    ways = ("",) if rules.directions == 1 else ("+", "-")
    pits = [f"{k}{way}" for way in ways for k in range(1, rules.rows * rules.pits + 1)]
    return [*pits, "swap"]


def _check_oracle(spec: str, games: int) -> None:
    rules = parse_rules(spec)
    moves = _moves(rules)
    for number, seen in enumerate(engine_games(spec, games)):
        game = Game(spec, start_of(spec, number))
        for action, captured, *rest in seen:
            if action >= 0:
                game.play(moves[action])
            assert [*rest, captured] == [*_as_engine(rules, game), game.captured], (number, game.plies)


def _check_batch(spec: str, games: int) -> None:
    """All games of a rules text side by side: the batch must see what the scalar engine saw."""
    rules, seen = parse_rules(spec), list(engine_games(spec, games))
    states = np.array([game[0][2] for game in seen], np.int16)
    for ply in range(1, max(map(len, seen)) + 1):
        masks = batch.legal_masks(rules, states)
        assert masks.tolist() == [game[ply - 1][3] for game in seen]
        goes_on = [len(game) > ply for game in seen]
        assert masks.any(axis=1).tolist() == [any(game[ply - 1][3]) for game in seen]
        seen = [game for game, going in zip(seen, goes_on, strict=True) if going]
        if not seen:
            break
        states = states[goes_on]
        taken = batch.step(rules, states, np.array([game[ply][0] for game in seen]))
        assert taken.tolist() == [game[ply][1] for game in seen]
        assert states.tolist() == [game[ply][2] for game in seen]
        assert batch.margins(rules, states).tolist() == [int(engine.margin(rules, s)) for s in states]


def _check_plain_python(counts: dict[str, int]) -> None:
    code = (
        "import json, sys, numba, lockstep as l; assert not hasattr(l.engine.play, 'py_func');"
        "counts = json.load(sys.stdin);"
        "print(json.dumps({spec: l.digest(l.engine_games(spec, n)) for spec, n in counts.items()}))"
    )
    path = os.pathsep.join((str(HERE), str(HERE.parent)))
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    words = {"input": json.dumps(counts), "capture_output": True, "text": True}
    run = subprocess.run(command, env=env, check=False, **words)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {spec: digest(engine_games(spec, n)) for spec, n in counts.items()}


@pytest.mark.parametrize("spec", COUNTS)
def test_oracle_plays_the_same_games(spec):
    _check_oracle(spec, COUNTS[spec])


@pytest.mark.parametrize("spec", COUNTS)
def test_batch_equals_scalar(spec):
    _check_batch(spec, COUNTS[spec])


def test_plain_python_plays_the_same_games():
    _check_plain_python(COUNTS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("preset", {rules_hash(parse_rules(name)): name for name in PRESET_NAMES}.values())
def test_thousands_of_games_are_played_alike(preset):
    """2,000 games of each preset at its own size, 2,000 on others, and random options; equal rules once."""
    counts = {spec: n for spec, n in specs_and_games(4000).items() if spec.partition(":")[0] == preset}
    for spec, games in counts.items():
        _check_oracle(spec, games)
        _check_batch(spec, games)
    _check_plain_python(counts)
