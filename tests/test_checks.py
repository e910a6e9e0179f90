"""Whole numbers, alone and one a game: what passes, and that a sentence says what does not."""

import numpy as np
import pytest

from agents.base import check_range, make_agent, make_rng
from kalah_env import batch
from kalah_env.checks import MAX_SEED, as_whole_number, whole_number, whole_numbers
from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules

KALAH = parse_rules("kalah")
NO_WHOLE_NUMBERS = [True, np.True_, 2.0, np.float64(2), "2", b"2", None, [2], 1j, 2**63, np.uint64(2**64 - 1)]


@pytest.mark.parametrize("value", [7, np.int8(7), np.uint64(7), np.array(7)])
def test_a_whole_number_is_taken_whatever_its_type(value):
    assert as_whole_number(value) == whole_number("n", value, 7, 7) == 7
    assert whole_numbers("n are", [value, value], 2).tolist() == [7, 7]


@pytest.mark.parametrize("value", NO_WHOLE_NUMBERS, ids=repr)
def test_anything_else_is_refused(value):
    assert as_whole_number(value) is None
    with pytest.raises(KalahError, match=r"^n=.* is not allowed; give a whole number, 0 or more.$"):
        whole_number("n", value, 0)
    with pytest.raises(KalahError, match=r"^n are .*; give one whole number a game: \(1,\)\.$"):
        whole_numbers("n are", [value], 1)


def test_the_range_is_told():
    with pytest.raises(KalahError, match="n=8 is not allowed; give a whole number, 1 to 7"):
        whole_number("n", 8, 1, 7)
    assert whole_number("n", MAX_SEED, 0) == MAX_SEED


@pytest.mark.parametrize("values", [[0, [1], 2], [0, 1], 0, None, "012", [0, 1, 2**70]], ids=repr)
def test_what_is_no_row_of_numbers_is_refused(values):
    with pytest.raises(KalahError, match=r"^actions are .*; give one whole number a game: \(3,\)\.$"):
        whole_numbers("actions are", values, 3)
    assert whole_numbers("actions are", [], 0).shape == (0,)


@pytest.mark.parametrize("count", [-1, *NO_WHOLE_NUMBERS[:-2]], ids=repr)
def test_games_are_counted_in_whole_numbers(count):
    with pytest.raises(KalahError, match=r"new_games: count=.* is not allowed"):
        batch.new_games(KALAH, count)


def test_a_huge_unsigned_action_is_told_as_it_is():
    states = batch.new_games(KALAH, 1)
    with pytest.raises(KalahError, match="18446744073709551615"):
        batch.step(KALAH, states, np.array([2**64 - 1], np.uint64))


@pytest.mark.parametrize("seed", [-1, 2**63, "1", 1.5, True], ids=repr)
def test_seeds_have_one_range(seed):
    with pytest.raises(
        KalahError, match=r"agent: seed=.* is not allowed; give a whole number, 0 to 9223372036854775807"
    ):
        make_agent("random", seed)
    assert make_rng(MAX_SEED).random() != make_rng(0).random()


@pytest.mark.parametrize("value", ["3", None, True, [3], float("nan")], ids=repr)
def test_an_agents_numbers_are_numbers(value):
    with pytest.raises(KalahError, match=r"depth=.* is out of range; it is 1 to 9"):
        check_range("depth", value, 1, 9)
    check_range("depth", np.int64(3), 1, 9)


@pytest.mark.parametrize("spec", [5, None, b"random", ["random"]], ids=repr)
def test_an_agent_is_a_text(spec):
    with pytest.raises(KalahError, match=r"agent: .* is no text; write a name such as greedy"):
        make_agent(spec)
