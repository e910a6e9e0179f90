"""What must hold of every rule set and position, drawn by hypothesis; the phases of the pie rule.

Seeds are conserved, swapping the sides negates everything, every game ends, the facts of the
rulebook about long sowings. Engine against oracle: `test_engine.py`.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Game
from strategies import positions, rules_and_positions

from kalah_env import batch, engine, text
from kalah_env.rules import format_rules, parse_rules


def _mirrored(rules, state):
    half = rules.pits + 1
    mirror = state.copy()
    mirror[:half], mirror[half : 2 * half] = state[half : 2 * half], state[:half]
    batch.extras(rules, mirror)[engine.SIDE] ^= 1
    return mirror


@given(rules_and_positions(ply_limit="0"), st.randoms(use_true_random=False))
def test_seeds_are_conserved_and_every_game_ends(drawn, rng):
    rules, state = drawn
    total = state[: 2 * rules.pits + 2].sum()
    plies = 0
    while moves := [a for a in range(rules.pits + rules.pie) if engine.is_legal(rules, state, a)]:
        engine.play(rules, state, rng.choice(moves))
        plies += 1
        assert state[: 2 * rules.pits + 2].sum() == total
        assert state[: 2 * rules.pits + 2].min() >= 0
        assert batch.extras(rules, state)[engine.PLY] == plies < 5000
    assert batch.extras(rules, state)[engine.STATUS] == engine.OVER


@given(rules_and_positions(), st.randoms(use_true_random=False))
def test_swapping_the_sides_negates_everything(drawn, rng):
    rules, south = drawn
    north = _mirrored(rules, south)
    while moves := text.legal_moves(rules, south):
        assert text.legal_moves(rules, north) == moves
        action = text.parse_move(rules, south, rng.choice(moves))
        assert engine.play(rules, south, action) == engine.play(rules, north, action)
        np.testing.assert_array_equal(north, _mirrored(rules, south))
        assert engine.margin(rules, north) == -engine.margin(rules, south)
    assert text.legal_moves(rules, north) == []


@given(st.data())
def test_2m_plus_1_seeds_capture_and_more_never_do(data):
    pits = data.draw(st.integers(1, 12))
    rules = parse_rules(f"kalah:pits={pits}")
    state = data.draw(positions(rules))
    extras = batch.extras(rules, state)
    extras[engine.STATUS] = engine.RUNNING
    row = int(extras[engine.SIDE]) * (pits + 1)
    action = data.draw(st.integers(0, pits - 1))
    facing = 2 * pits - (row + action)

    exact = state.copy()
    exact[row + action] = 2 * pits + 1
    assert engine.play(rules, exact, action) == state[facing] + 2

    more = state.copy()
    more[row + action] = 2 * pits + 1 + data.draw(st.integers(1, 100))
    assert engine.play(rules, more, action) == 0


@given(rules_and_positions(), st.randoms(use_true_random=False))
def test_values_change_sign_where_the_player_changes(drawn, rng):
    rules, state = drawn
    game = Game(format_rules(rules), text.format_position(rules, state))
    while moves := text.legal_moves(rules, state):
        move, player = rng.choice(moves), game.player
        side, action = int(batch.extras(rules, state)[engine.SIDE]), text.parse_move(rules, state, move)
        engine.play(rules, state, action)
        game.play(move)
        after = int(batch.extras(rules, state)[engine.SIDE])
        assert engine.same_player(rules, side, action, after) == (game.player == player)


def _phases(spec: str, *moves: str) -> list[str]:
    """Play from the start; return who is to move and the phase, as printed, after each move."""
    rules = parse_rules(spec)
    state = batch.new_games(rules, 1)[0]
    seen = []
    for move in moves:
        engine.play(rules, state, text.parse_move(rules, state, move))
        seen.append(text.format_position(rules, state).partition("> ")[2])
    return seen


@pytest.mark.parametrize(
    ("spec", "moves", "phases"),
    [
        # Pit 3 of 6x4 ends in the store. Without pie nothing is left of `first` after one action.
        ("kalah", ("3", "1"), ["S", "N"]),
        ("kalah:first_again=false", ("3", "3", "1"), ["N", "N", "S"]),
        # With pie the first player's turn goes on as `first`, then swap is open for one action.
        ("kalah:pie=true", ("3", "1", "1"), ["S first", "N swap", "S"]),
        ("kalah:pie=true", ("3", "1", "swap", "2"), ["S first", "N swap", "N", "S"]),
        ("kalah:pie=true", ("1", "3", "1"), ["N swap", "N", "S"]),
        ("kalah:pie=true,first_again=false", ("3", "swap"), ["N swap", "N"]),
        ("mankalah", ("1", "swap", "1"), ["N swap", "N", "N"]),
    ],
)
def test_phases(spec, moves, phases):
    assert _phases(spec, *moves) == phases


def test_swap_keeps_board_and_side_and_counts_as_a_ply():
    rules = parse_rules("kalah:pie=true,ply_limit=2")
    state = batch.new_games(rules, 1)[0]
    engine.play(rules, state, 0)
    board = state[: 2 * rules.pits + 2].copy()
    assert engine.play(rules, state, rules.pits) == 0
    np.testing.assert_array_equal(state[: 2 * rules.pits + 2], board)
    assert batch.extras(rules, state).tolist() == [engine.NORTH, engine.MID, engine.TRUNCATED, 2]
