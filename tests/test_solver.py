"""The exact solver against minimax, tables and published values; its limits, threads, Ctrl-C."""

import json
from pathlib import Path

import numpy as np
import pytest
from families import TINY, action_values, random_positions
from packable import COMBINATIONS, exact_values, make_solver, make_state, random_boards

from agents import endgame, packed
from agents.solver import Solution, Solver
from agents.solver.prover import Budget
from kalah_env import KalahError, batch, engine, parse_rules
from kalah_env.rules import Rules
from kalah_env.text import parse_position

PUBLISHED = json.loads((Path(__file__).parent / "data" / "published_values.json").read_text())
PRESETS = {"standard": "kalah", "empty_capture": "fairkalah"}


def _is_best_play(rules: Rules, state: np.ndarray, found: Solution) -> None:
    """Replay the line with the engine: it ends the game with the value found."""
    state = state.copy()
    sign = 1  # of the player to move now, seen by the first one
    for action in found.line:
        assert engine.is_legal(rules, state, action)
        before = int(batch.sides(rules, state))
        engine.play(rules, state, action)
        same = int(batch.sides(rules, state)) == before and action != rules.pits
        sign *= 1 if same else -1
    assert batch.statuses(rules, state) == engine.OVER
    margin = int(engine.margin(rules, state)) * (1, -1)[int(batch.sides(rules, state))]
    assert sign * margin == found.low == found.high


def _positions(rules: Rules, count: int, most: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    states = [
        make_state(rules, own, other, int(rng.integers(2)), rng.integers(0, 9, 2).tolist())
        for own, other in random_boards(rng, rules.pits, count, most)
    ]
    return [state for state in states if batch.statuses(rules, state) == engine.RUNNING]


@pytest.mark.parametrize(("seeds", "threads"), [(0, 1), (0, 2), (4, 1), (4, 3)])
def test_values_are_those_of_minimax_under_all_rules(seeds, threads):
    for number, combination in enumerate(COMBINATIONS[seeds + threads :: 8]):
        spec = f"kalah:pits={2 + number % 2},seeds=2,{combination}"
        solver, rules, memo = make_solver(spec, seeds, threads), parse_rules(spec), {}
        for state in [batch.new_games(rules, 1)[0], *_positions(rules, 5, 9, number)]:
            found = solver.solve(state)
            assert exact_values(found) == action_values(rules, state, memo), (spec, state)
            assert found.solved
            assert found.low == max(exact_values(found).values())
            assert found.why == ""
            _is_best_play(rules, state, found)


@pytest.mark.parametrize("spec", ["kalah:pits=4,seeds=2", "danish:pits=4,seeds=2", "kalah:pits=8,seeds=1"])
def test_values_are_those_of_the_table(spec):
    rules = parse_rules(spec)
    table = endgame.compute(rules, 11 if rules.pits == 4 else 6)
    ranks = packed.rank_table(rules, table.seeds)
    small = endgame.compute(rules, 3)
    solvers = [Solver(rules, memory=1, threads=1, table=given) for given in (None, small, table)]
    for state in _positions(rules, 40, table.seeds, 1):
        stores = int(engine.margin(rules, state)) * (1, -1)[int(batch.sides(rules, state))]
        value = stores + table.values[packed.rank(ranks, *packed.pack(rules, state))]
        for solver in solvers:
            assert solver.solve(state, every_move=False).low == value


def test_only_the_value_costs_less_and_is_the_same():
    state = batch.new_games(parse_rules("kalah:pits=4,seeds=3"), 1)[0]
    whole = make_solver("kalah:pits=4,seeds=3").solve(state)
    only = make_solver("kalah:pits=4,seeds=3").solve(state, every_move=False)
    assert (only.low, only.high, only.why) == (whole.low, whole.high, "")
    assert only.nodes < whole.nodes
    assert (only.lows[only.legal] == -24).all()
    assert (only.highs[only.legal] == 24).all()
    _is_best_play(parse_rules("kalah:pits=4,seeds=3"), state, only)


def test_neither_stores_nor_seats_change_what_is_left_to_win():
    solver = make_solver("kalah:pits=4,seeds=3", 5)
    rules, rng = solver.rules, np.random.default_rng(3)
    for own, other in random_boards(rng, 4, 25, 14):
        if not own.any() or not other.any():
            continue
        found = []
        for side in (0, 1):  # the same board, seen from either end
            for stores in ((0, 0), (9, 2), (3, 60)):
                values = exact_values(solver.solve(make_state(rules, own, other, side, stores)))
                found.append({move: value - stores[0] + stores[1] for move, value in values.items()})
        assert all(values == found[0] for values in found)


def test_a_chain_of_extra_turns_worked_out_by_hand():
    # Five seeds end in the store; the last one captures, and the game is over.
    solver = make_solver("kalah")
    state = parse_position("<6,0,0,0,0,0,3,2,1,1,0,0,0,0,0> S", solver.rules)
    found = solver.solve(state)
    assert found.low == 7
    _is_best_play(solver.rules, state, found)
    assert [action + 1 for action in found.line][:5] == [6, 5, 6, 4, 6]


@pytest.mark.parametrize("stop", ["keep", "sweep"])
@pytest.mark.parametrize(
    "size", ["pits=2,seeds=2", "pits=2,seeds=3", "pits=3,seeds=2", "pits=3,seeds=3,end=mover"]
)
def test_stopped_games_have_the_results_of_minimax(size, stop):
    spec = f"kgp:{size},early_stop={stop}"
    rules, memo = parse_rules(spec), {}
    solvers = [make_solver(spec), make_solver(spec, 5, threads=2)]
    for state in [batch.new_games(rules, 1)[0], *_positions(rules, 12, 12, 5)]:
        true = action_values(rules, state, memo)
        for solver in solvers:
            found = solver.solve(state)
            assert exact_values(found) == true
            assert found.low == max(true.values())
            low, high = solver.prove(state, Budget())  # what is known without the end of the game
            assert low <= found.low <= high
            assert np.sign(low) == np.sign(high) == np.sign(found.low)


def test_results_of_stopped_games_are_known_where_margins_are_not():
    rules = parse_rules("kgp:pits=4,seeds=4")
    relaxed = make_solver("kgp:pits=4,seeds=4,early_stop=no")
    state = batch.new_games(rules, 1)[0]
    truth = exact_values(relaxed.solve(state))
    found = make_solver("kgp:pits=4,seeds=4", 8).solve(state, nodes=2_000_000)
    assert not found.all_solved
    assert found.why != ""
    for action, value in truth.items():
        assert np.sign(found.lows[action]) == np.sign(value) == np.sign(found.highs[action])


@pytest.mark.parametrize(
    "spec",
    [
        "mankalah:pits=2,seeds=2",
        "mankalah:pits=2,seeds=3",
        "mankalah:pits=3,seeds=2",
        "mankalah:pits=3,seeds=2,relay=true",
        "kalah:pits=3,seeds=2,pie=true",
        "kalah:pits=3,seeds=3,pie=true",
        "kalah:pits=3,seeds=2,first_again=false",
    ],
)
def test_first_moves_and_swaps_are_those_of_minimax(spec):
    rules, memo = parse_rules(spec), {}
    solvers = [make_solver(spec), make_solver(spec, 4, threads=2)]
    states, met = list(batch.new_games(rules, 1)), set()
    for state in states:  # the start and what can follow until the first moves are over
        met.add(int(batch.extras(rules, state)[engine.PHASE]))
        true = action_values(rules, state, memo)
        for solver in solvers:
            found = solver.solve(state)
            assert exact_values(found) == true
            _is_best_play(rules, state, found)
        if batch.extras(rules, state)[engine.PHASE] != engine.MID and len(states) < 40:
            children = [solvers[0].after(state, action)[0] for action in true]
            states += [child for child in children if batch.statuses(rules, child) == engine.RUNNING]
    assert met == ({engine.FIRST, engine.SWAP, engine.MID} if rules.pie else {engine.FIRST, engine.MID})


@pytest.mark.parametrize("spec", [spec for spec in TINY if packed.unsuitable(parse_rules(spec))])
def test_other_rules_are_searched_to_the_end(spec):
    rules, memo = parse_rules(spec), {}
    solver = make_solver(spec)
    later = random_positions(rules, 6, plies=5, seed=1)
    for state in [batch.new_games(rules, 1)[0], *later]:
        found = solver.solve(state)
        assert exact_values(found) == action_values(rules, state, memo)
        assert found.low == max(exact_values(found).values())
        assert solver.solve(state, every_move=False).low == found.low


def test_a_truncated_game_is_a_draw_whatever_the_stores():
    rules = parse_rules("kalah:pits=2,seeds=2,ply_limit=1")
    state = make_state(rules, [1, 1], [1, 1], stores=(9, 0))
    batch.extras(rules, state)[engine.PLY] = 0
    assert set(exact_values(Solver(rules).solve(state)).values()) == {0}


@pytest.mark.parametrize("spec", ["kalaha-philos", "hus", "bohnenspiel", "kalah:ply_limit=40"])
def test_what_is_too_far_is_said_to_be_unsolved(spec):
    rules = parse_rules(spec)
    found = make_solver(spec).solve(batch.new_games(rules, 1)[0], nodes=3000)
    assert (found.solved, found.why, found.line) == (False, "out of nodes", [])
    assert (found.lows[found.legal] < found.highs[found.legal]).all()
    found = make_solver(spec).solve(batch.new_games(rules, 1)[0], seconds=0.2)
    assert (found.solved, found.why) == (False, "out of time")
    assert found.seconds < 3


def test_a_game_that_has_ended_is_refused():
    solver = make_solver("kalah:pits=2")
    with pytest.raises(KalahError, match="the game is over"):
        solver.solve(make_state(solver.rules, [0, 0], [1, 0]))


@pytest.mark.parametrize(
    "spec", ["kalah:pits=3,seeds=3", "kgp:pits=3,seeds=3", "kalaha-philos:pits=3,seeds=2,ply_limit=14"]
)
def test_the_best_action_keeps_the_value_or_is_none(spec):
    solver = make_solver(spec, 0 if spec.startswith("kalaha") else 4)
    memo: dict = {}
    for state in random_positions(solver.rules, 20, plies=6, seed=2):
        action = solver.best_action(state, Budget())
        values = action_values(solver.rules, state, memo)
        assert action is not None
        best, chosen = max(values.values()), values[action]
        assert chosen == best if solver.margins_are_exact else np.sign(chosen) == np.sign(best)
    far = make_solver(spec.partition(":")[0])
    assert far.best_action(batch.new_games(far.rules, 1)[0], Budget(nodes=2000)) is None


@pytest.mark.parametrize("kind", ["standard", "empty_capture"])
@pytest.mark.parametrize("pits", [1, 2, 3, 4, 6])
def test_published_values(kind, pits):
    table = endgame.compute(parse_rules(f"{PRESETS[kind]}:pits={pits}"), 10, threads=2)
    values = {size: value for size, value in PUBLISHED[kind].items() if int(size[0]) == pits}
    values.pop("6x4", None)  # `make verify-solved`
    assert values
    for size, value in values.items():
        rules = parse_rules(f"{PRESETS[kind]}:pits={pits},seeds={size[2:]}")
        solver = Solver(rules, memory=128, table=table)
        found = solver.solve(batch.new_games(rules, 1)[0], every_move=pits < 4)
        assert (found.low, found.high) == (value, value), size
        _is_best_play(rules, batch.new_games(rules, 1)[0], found)


def test_a_win_by_move_is_worth_one():
    solver = make_solver("hus:pits=3,seeds=2", 0)
    found = solver.solve(batch.new_games(solver.rules, 1)[0], nodes=10)
    assert (found.low, found.high, found.solved) == (1, 1, True)  # the first move that wins is enough


@pytest.mark.parametrize("state", [[1, 2, 3], np.zeros((1, 9))])
def test_a_state_of_another_shape_is_refused(state):
    with pytest.raises(KalahError, match=r"has the shape \(11,\), not"):
        make_solver("kalah:pits=2").solve(state)
