"""What moves are worth, for people: proved where it can be, estimated elsewhere; and levels by name."""

import numpy as np
import pytest
from families import action_values

from agents import analysis
from agents.analysis import Analyst
from agents.base import make_agent
from agents.levels import LEVELS, SAID, agent_of, check_seat
from agents.solver import Solver
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules
from kalah_env.text import format_move, legal_moves, parse_position
from train.suites import ILLEGAL, load_suite


@pytest.fixture(scope="module")
def kalah() -> Analyst:
    return Analyst(parse_rules("kalah"), memory=16)


def test_what_is_proved_is_the_exact_value_best_first(kalah: Analyst) -> None:
    state = parse_position("<6,10,14,1,0,2,0,3,1,0,2,1,4,0,10> S", kalah.rules)
    found = kalah.analyse(state, 20.0)
    exact = Solver(kalah.rules, memory=16, threads=1).solve(state)
    assert {m.move: m.margin for m in found.moves} == {
        format_move(kalah.rules, a): exact.lows[a] for a in np.flatnonzero(exact.legal)
    }
    assert all(m.exact for m in found.moves)
    margins = [m.margin for m in found.moves]
    assert margins == sorted(margins, reverse=True)
    assert found.best is found.moves[0]


def test_estimates_of_the_network_are_near_the_values(kalah: Analyst) -> None:
    """The correlation of estimates with exact values over all moves of 12 positions; a guess has 0."""
    suite = load_suite("kalah-6x4/tune")
    estimates, values = [], []
    on_board = suite.states[:, :6].sum(1) + suite.states[:, 7:13].sum(1)
    for i in np.flatnonzero(on_board > 38)[:12]:
        legal = suite.values[i] != ILLEGAL
        estimates += kalah._estimate(suite.states[i], legal, 0.05)[0][legal].tolist()
        values += suite.values[i][legal].tolist()
    assert np.corrcoef(estimates, values)[0, 1] > 0.8


@pytest.mark.parametrize(
    "spec", ["kalah", "kgp:pits=6,seeds=4", "danish:pits=3,seeds=2", "bao-philos:pits=3", "hus:pits=3"]
)
def test_every_legal_move_gets_a_number(spec: str, kalah: Analyst) -> None:
    rules = parse_rules(spec)
    analyst = kalah if spec == "kalah" else Analyst(rules, memory=16)
    state = batch.new_games(rules, 1)[0]
    found = analyst.analyse(state, 0.3)
    assert sorted(m.move for m in found.moves) == sorted(legal_moves(rules, state))
    assert all(np.isfinite(m.margin) for m in found.moves)


@pytest.mark.parametrize(
    "text", ["<6,10,20,0,0,0,0,0,2,6,4,2,1,1,2> S", "<6,23,20,0,0,0,0,0,1,1,0,0,1,1,1> S"]
)
def test_a_single_move_is_estimated_as_what_follows_it(text: str, kalah: Analyst) -> None:
    """The only move's estimate is that of the position behind it, with the sign of who is to move there."""
    state = parse_position(text, kalah.rules)
    legal = batch.legal_masks(kalah.rules, state[None])[0] == 1
    assert legal.sum() == 1
    value = Solver(kalah.rules, memory=16, threads=1).solve(state).low
    estimate = kalah._estimate(state, legal, 0.05)[0][legal.argmax()]
    after = state.copy()
    engine.play(kalah.rules, after, int(legal.argmax()))
    if batch.statuses(kalah.rules, after) == engine.OVER:
        assert estimate == value
    assert abs(estimate - value) < 6


def test_without_a_solver_what_ends_the_game_is_exact_all_the_same() -> None:
    rules = parse_rules("kgp:pits=6,seeds=4")
    state = parse_position("<6,20,18,0,0,1,0,1,2,0,0,2,1,1,2> S", rules)
    found = Analyst(rules, memory=16).analyse(state, 20.0)  # it ends once all is solved
    memo: dict = {}
    values = {format_move(rules, a): v for a, v in action_values(rules, state, memo).items()}
    assert {m.move: m.margin for m in found.moves} == values
    assert all(m.exact for m in found.moves)
    with pytest.raises(KalahError, match="over"):
        Analyst(rules, memory=16).analyse(parse_position("<6,20,24,0,0,0,0,0,0,0,0,0,0,0,4> S", rules))


def test_levels_are_agents_that_can_be_made() -> None:
    assert set(LEVELS) == set(SAID) == {"easy", "medium", "hard", "perfect"}
    for name, spec in LEVELS.items():
        assert agent_of(name) == check_seat(name) == spec
        assert make_agent(spec).spec
    assert check_seat("human") is None
    assert check_seat("mcts:sims=5") == "mcts:sims=5"
    with pytest.raises(KalahError, match="a seat needs human, a level"):
        check_seat(" ")


def test_a_forced_win_is_proved_where_only_the_win_counts() -> None:
    rules = parse_rules("bao-philos")
    moves = Analyst(rules, memory=1).analyse(batch.new_games(rules, 1)[0], 0.6).moves
    assert [one.move for one in moves if one.margin == -1] == [one.move for one in moves if one.exact]
    assert {one.margin for one in moves} == {0.0, -1.0}


def test_values_are_said_with_what_they_are():
    def said(rules, exact, *margins):
        return [analysis.say_value(rules, analysis.MoveValue("1", margin, exact)) for margin in margins]

    kalah, bao = parse_rules("kalah"), parse_rules("bao-philos")
    assert said(kalah, True, 4, -2, 0) == ["wins by 4, proved", "loses by 2, proved", "a draw, proved"]
    assert said(kalah, False, 2.5, -3, 0.01) == ["wins by about 2.5", "loses by about 3", "about even"]
    assert said(bao, True, 1, -1, 0) == ["wins, proved", "loses, proved", "a draw, proved"]
    assert said(bao, False, 0.5, 0) == ["wins with a chance of about 75 %", "open"]
