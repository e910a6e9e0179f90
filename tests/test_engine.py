"""The engine against published positions, perft counts, and an independent oracle in lockstep.

Compiled scalar = compiled batch = plain Python = `oracle.py`, on every preset, many sizes, random
options and loaded positions. What must hold of any position stands in `test_properties.py`.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracle import Game
from strategies import spec_or_none

from kalah_env import batch, engine, text
from kalah_env.rules import OPTIONS, PRESET_NAMES, parse_rules

HERE = Path(__file__).parent
CASES = json.loads((HERE / "data" / "positions.json").read_text())["cases"]
PERFT = json.loads((HERE / "data" / "perft.json").read_text())["perft"]


def _known(spec: str) -> bool:
    return spec.partition(":")[0] in PRESET_NAMES


def _lockstep_specs() -> list[str]:
    sizes = ((1, 1), (1, 12), (2, 3), (3, 12), (6, 4), (12, 12))
    specs = [*PRESET_NAMES]
    specs += [f"{name}:pits={p},seeds={s}" for name in PRESET_NAMES for p, s in sizes]
    rng = random.Random(20)
    while len(specs) < 150:
        changes = {"pits": str(rng.randint(1, 7)), "seeds": str(rng.randint(1, 9))}
        for option in OPTIONS[2:]:
            if option.name == "ply_limit":
                changes["ply_limit"] = rng.choice(("0", "0", "7", "25"))
            elif rng.random() < 0.4:
                changes[option.name] = rng.choice(option.values)
        spec = spec_or_none(rng.choice(PRESET_NAMES), changes)
        specs += [spec] if spec else []
    return specs


SPECS = _lockstep_specs()


def _starts(spec: str) -> list[str | None]:
    """Return three starts of a game: the usual one, a position `first`, and one in mid-game."""
    rng = random.Random(spec)
    rules = parse_rules(spec)
    starts: list[str | None] = [None]
    for word in (" first", " swap" if rules.pie else ""):
        most = rng.choice((1, 3, 2 * rules.pits + 2, 30))
        counts = [rng.randint(0, 9) for _ in "SN"] + [rng.randint(0, most) for _ in range(2 * rules.pits)]
        starts.append(f"<{rules.pits},{','.join(map(str, counts))}> {rng.choice('SN')}{word}")
    return starts


def engine_games(specs: list[str]) -> dict[str, list[list]]:
    """Play three random games of each rules text and return what was seen at every ply of them."""
    games = {}
    for spec in specs:
        rules = parse_rules(spec)
        games[spec] = []
        for number, start in enumerate(_starts(spec)):
            rng = random.Random(f"{spec} {number}")
            state = batch.new_games(rules, 1)[0] if start is None else text.parse_position(start, rules)
            seen = [_seen(rules, state, "", 0)]
            while moves := text.legal_moves(rules, state):
                move = rng.choice(moves)
                captured = engine.play(rules, state, text.parse_move(rules, state, move))
                seen.append(_seen(rules, state, move, captured))
            games[spec].append(seen)
    return games


def _seen(rules, state, move: str, captured: int) -> list:
    status = int(batch.extras(rules, state)[engine.STATUS])
    moves = text.legal_moves(rules, state)
    position = text.format_position(rules, state)
    return [move, position, moves, status, int(captured), int(engine.margin(rules, state))]


@pytest.fixture(scope="module")
def compiled_games() -> dict[str, list[list]]:
    """The lockstep games as the compiled scalar engine plays them."""
    return engine_games(SPECS)


@pytest.mark.parametrize(
    "case", [case for case in CASES if _known(case["rules"])], ids=lambda case: case["id"]
)
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


@pytest.mark.parametrize("spec", [spec for spec in PERFT if _known(spec)])
def test_perft(spec):
    rules = parse_rules(spec)
    leaves = []
    for depth in range(1, len(PERFT[spec]) + 1):
        path = np.repeat(batch.new_games(rules, 1), depth + 1, axis=0)
        leaves.append(engine.perft(rules, path, depth))
    assert leaves == PERFT[spec]


@pytest.mark.parametrize("spec", SPECS)
def test_oracle_plays_the_same_games(spec, compiled_games):
    for start, seen in zip(_starts(spec), compiled_games[spec], strict=True):
        game = Game(spec, start)
        for number, (move, *rest) in enumerate(seen):
            if number:
                game.play(move)
            status = engine.OVER if game.over else engine.TRUNCATED if game.truncated else engine.RUNNING
            assert rest == [game.text(), game.legal(), status, game.captured, game.margin], (number, move)


def test_plain_python_plays_the_same_games(compiled_games):
    code = (
        "import json, numba, test_engine as t; assert not hasattr(t.engine.play, 'py_func');"
        "print(json.dumps(t.engine_games(t.SPECS)))"
    )
    path = os.pathsep.join((str(HERE), str(HERE.parent)))
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == compiled_games


@pytest.mark.parametrize("spec", SPECS[:: len(SPECS) // 40])
def test_batch_equals_scalar(spec):
    rules, rng = parse_rules(spec), np.random.default_rng(3)
    states = batch.new_games(rules, 16)
    for start in filter(None, _starts(spec)):
        states = np.concatenate([states, np.tile(text.parse_position(start, rules), (8, 1))])
    for _ in range(3000):
        masks = batch.legal_masks(rules, states)
        expected_masks = [[engine.is_legal(rules, s, a) for a in range(masks.shape[1])] for s in states]
        assert masks.tolist() == expected_masks
        running = np.flatnonzero(batch.statuses(rules, states) == engine.RUNNING)
        assert running.tolist() == np.flatnonzero(masks.any(axis=1)).tolist()
        if not len(running):
            break
        actions = np.array([rng.choice(np.flatnonzero(masks[b])) for b in running])
        some = states[running]
        expected = some.copy()
        taken = [engine.play(rules, s, a) for s, a in zip(expected, actions, strict=True)]
        assert batch.step(rules, some, actions).tolist() == taken
        np.testing.assert_array_equal(some, expected)
        np.testing.assert_array_equal(batch.margins(rules, some), [engine.margin(rules, s) for s in some])
        states[running] = some
    else:
        pytest.fail("a game did not end")
