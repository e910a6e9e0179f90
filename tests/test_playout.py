"""Random games at full speed: uniform, reproducible, the same with frozen rules."""

import numpy as np
import pytest

from kalah_env import batch, engine, playout
from kalah_env.jit import frozen, njit
from kalah_env.rules import parse_rules
from kalah_env.text import parse_position


@njit
def actions(rules, s, generator, out):
    for i in range(out.shape[0]):
        out[i] = playout.random_action(rules, s, generator)


def test_random_actions_are_uniform_over_the_legal_ones() -> None:
    """Guards against a pick among all pits, or one that favours the first; false alarm below 1e-6."""
    rules = parse_rules("mankalah:pits=4,seeds=3")
    state = parse_position("<4,0,0,1,0,2,3,0,1,1,0> N swap", rules)
    drawn = np.empty(30_000, np.int64)
    actions(rules, state, np.array([7], np.uint64), drawn)
    counts = np.bincount(drawn, minlength=5)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert np.abs(counts[[1, 2, 4]] - 10_000).max() < 450  # 5.5 standard deviations of 82


@pytest.mark.parametrize("spec", ["kalah", "kalaha-philos:pits=4", "bao-philos:pits=4"])
def test_frozen_rules_play_the_same_games(spec: str) -> None:
    rules = parse_rules(spec)
    start = batch.new_games(rules, 1)[0]
    frozen_plies = frozen(playout.playouts, rules)(start, 200, start.copy(), np.array([5], np.uint64))
    generator, plies = np.array([5], np.uint64), 0
    for _ in range(200):
        state = start.copy()
        while batch.statuses(rules, state) == engine.RUNNING:
            action = np.empty(1, np.int64)
            actions(rules, state, generator, action)
            engine.play(rules, state, action[0])
            plies += 1
    assert frozen_plies == plies


def test_seeds_a_ply_are_those_of_the_chosen_pits() -> None:
    """With one seed in every pit and none that relays or laps, nearly every ply sows one or two."""
    rules = parse_rules("kalah:pits=6,seeds=1")
    assert 1.0 < playout.seeds_a_ply(rules, batch.new_games(rules, 1)[0], 500) < 1.6
