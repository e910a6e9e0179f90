"""The agent `mcts`: results of playouts, exact choices on tiny boards, strength, what it may depend on."""

import signal
import threading
import time

import numpy as np
import pytest
from families import SMALL, TINY, action_values, random_game, random_positions

from agents import rollouts
from agents.base import make_agent
from agents.rollouts import RolloutAgent, playout, search
from kalah_env import batch, engine
from kalah_env.rules import parse_rules
from kalah_env.text import parse_position
from train.arena import make_openings, play_pairs


@pytest.mark.parametrize("spec", [*SMALL.values(), "danish:pits=3,seeds=3,pie=true"])
def test_a_playout_has_the_result_of_the_game_it_plays(spec: str) -> None:
    """The same draws play the same game by hand, with the seats kept through swaps and extra turns."""
    rules = parse_rules(spec)
    results = set()
    for seed, state in enumerate(random_positions(rules, 60, 1 + rules.pie, 3)):
        for draw in range(4):
            ours, theirs = (np.array([1 + 4 * seed + draw], np.uint64) for _ in range(2))
            end = state.copy()
            found = playout(rules, end, ours)
            beside = state.copy()
            _, expected = random_game(rules, theirs, beside)
            assert found == expected
            assert end.tolist() == beside.tolist()
            results.add(found)
    assert {1.0, -1.0} <= results


def test_an_endless_playout_is_a_draw() -> None:
    """No seed is ever taken and no row runs out: without a limit the game goes on for good."""
    rules = parse_rules("kalah:sow_store=none,capture=none,ply_limit=0")
    state = batch.new_games(rules, 1)[0]
    state[rules.pits] = 9
    assert playout(rules, state, np.ones(1, np.uint64)) == 0.0
    assert batch.statuses(rules, state) == engine.RUNNING
    assert batch.extras(rules, state)[engine.PLY] == rollouts.MAX_PLIES


@pytest.mark.parametrize("spec", TINY)
def test_chooses_what_perfect_play_would(spec: str) -> None:
    """Results are what it counts: with many simulations no won position is let go, no drawn one lost."""
    rules = parse_rules(spec)
    states = np.concatenate([random_positions(rules, 12, plies, plies) for plies in range(3)])
    memo: dict = {}
    best = [{a: np.sign(v) for a, v in action_values(rules, state, memo).items()} for state in states]
    found = search(rules, states, 6000, seed=1)
    for values, action, mean in zip(best, found.actions, found.values(), strict=True):
        assert values[int(action)] == max(values.values())
        assert abs(mean - max(values.values())) < 0.6
    assert len({v for values in best for v in values.values()}) > 1  # else any move would do


def test_truncation_is_a_draw_for_the_search() -> None:
    rules = parse_rules("kalah:ply_limit=3")
    state = parse_position("<6,20,0,4,0,0,0,0,1,4,4,4,4,4,0> S", rules)
    found = search(rules, state[None], 50)
    assert found.values().tolist() == [0.0]
    assert found.visits.sum() == 50


def test_swap_takes_the_better_seat() -> None:
    rules = parse_rules("mankalah:pits=3,seeds=3")
    ahead, behind = (parse_position(f"<3,{stores},1,1,0,1,1,1> N swap", rules) for stores in ("9,0", "0,9"))
    found = search(rules, np.array([ahead, behind]), 200)
    assert (found.actions == 3).tolist() == [True, False]
    assert found.values()[0] > 0.8
    assert found.values()[1] > 0.8  # whatever is played, but not the swap, which gives the seat away
    assert found.totals[1, 3] == -found.visits[1, 3]


def test_neither_batch_nor_threads_change_what_is_found() -> None:
    rules = parse_rules("kalah:pits=4,seeds=3,pie=true")
    states = random_positions(rules, 30, 3, 2)
    whole = search(rules, states, 60, seed=7)
    for threads in (2, 5):
        turned = search(rules, states[::-1], 60, seed=7, threads=threads)
        assert turned.visits[::-1].tolist() == whole.visits.tolist()
        assert turned.totals[::-1].tolist() == whole.totals.tolist()
        assert turned.actions[::-1].tolist() == whole.actions.tolist()
    alone = search(rules, states[11:12], 60, seed=7)
    assert alone.visits[0].tolist() == whole.visits[11].tolist()
    other = search(rules, states, 60, seed=8)
    assert other.visits.tolist() != whole.visits.tolist()


def test_visits_are_the_simulations_and_one_simulation_is_chance() -> None:
    """Guards against a favoured first action. A right program fails for fewer than 1 in 10^6 seeds."""
    rules = parse_rules("kalah")
    states = random_positions(rules, 3000, 4, 5)
    states = states[batch.legal_masks(rules, states).sum(1) == 6]
    counts = np.zeros(6, np.int64)
    for seed in range(20):
        found = search(rules, states, 1, seed=seed)
        assert (found.visits.sum(1) == 1).all()
        counts += found.visits.sum(0)
    expected = 20 * len(states) / 6
    assert expected > 300
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected)).all()
    more = search(rules, states[:20], 37)
    assert (more.visits.sum(1) == 37).all()
    assert (more.visits.min(1) >= 1).all()  # each action before any a second time
    assert (np.abs(more.totals) <= more.visits).all()


def test_exploration_spreads_the_visits() -> None:
    rules = parse_rules("kalah:pits=4,seeds=3")
    states = random_positions(rules, 20, 2, 2)
    least = [search(rules, states, 400, c).visits.max(axis=1).mean() for c in (0.2, 1.0, 5.0)]
    assert least[0] > 1.2 * least[1] > 1.2 * 1.2 * least[2]


def test_agent_answers_the_search_and_skips_forced_moves() -> None:
    rules = parse_rules("kalah:pits=4,seeds=3")
    states = random_positions(rules, 20, 4, 1)
    forced = parse_position("<4,0,0,0,0,2,0,1,1,1,1> S", rules)
    agent = RolloutAgent(sims=30, c=2.0, seed=4)
    moves = agent.act(rules, np.concatenate([states, forced[None]]))
    assert moves[-1] == 2
    assert moves[:-1].tolist() == search(rules, states, 30, 2.0, agent.seed).actions.tolist()
    assert RolloutAgent(sims=30, c=2.0, seed=4).act(rules, states).tolist() == moves[:-1].tolist()
    assert RolloutAgent(sims=30, c=2.0, seed=5).act(rules, states).tolist() != moves[:-1].tolist()


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_beats_the_baselines(opponent: str) -> None:
    """60 openings x 2 seats, at least 84 of 120 points (seen: 107 and 99; openings decide much here).

    A player no better than its opponent gets there once in 10^5 times, and a right program misses it
    about as rarely, were the seeds not fixed.
    """
    rules = parse_rules("kalah:pits=4,seeds=3")
    pairs = play_pairs(
        RolloutAgent(sims=800, seed=1), make_agent(opponent, 2), rules, make_openings(rules, 60, 3)
    )
    assert pairs.scores.sum() >= 84


@pytest.mark.parametrize("spec", SMALL.values(), ids=SMALL)
def test_plays_every_preset(spec: str) -> None:
    """Legal to the end, and better than chance by far more than chance explains (fails once in 10^4)."""
    rules = parse_rules(spec)
    openings = make_openings(rules, 24, 1)
    pairs = play_pairs(RolloutAgent(sims=60, seed=1), make_agent("random", 2), rules, openings)
    assert pairs.scores.mean() > 0.6


def test_interrupt_ends_a_long_search(interruptible: None) -> None:
    rules = parse_rules("kalah:seeds=6")
    states = batch.new_games(rules, 2)
    search(rules, states, 1)
    start = time.perf_counter()
    search(rules, states, 2000, threads=2)
    # As much work as takes 20 s, so that a search that is not interrupted ends and fails, too late.
    sims = min(rollouts.MAX_SIMS, int(2000 * 20 / (time.perf_counter() - start)))
    main = threading.main_thread().ident
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        search(rules, states, sims, threads=2)
    assert time.perf_counter() - start < 5
