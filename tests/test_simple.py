"""The baselines: `random` is legal and uniform, `greedy` takes what brings most seeds at once."""

import numpy as np
import pytest
from scipy.stats import chisquare

from agents.base import make_agent
from agents.simple import ILLEGAL, gains
from kalah_env import batch, parse_rules
from kalah_env.rules import PRESET_NAMES
from kalah_env.text import parse_position

RULES = [*PRESET_NAMES, "kalah-72:pits=3,seeds=3", "ludii-kalah:pits=2,seeds=3", "hus:directions=2,pie=true"]


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("spec", ["random", "greedy"])
def test_whole_games_are_legal(spec, text):
    rules = parse_rules(text)
    agent = make_agent(spec, seed=3)
    states = batch.new_games(rules, 50)
    while (running := batch.statuses(rules, states) == 0).any():
        part = states[running]
        batch.step(rules, part, agent.act(rules, part))  # raises on an illegal action
        states[running] = part


def test_random_is_uniform_over_the_legal_moves():
    # Guards against a favoured first or last move. A right program fails for 1 in 10^6 seeds.
    rules = parse_rules("kalah:pie=true")
    state = parse_position("<6,3,2,1,0,2,0,0,4,1,1,1,1,1,1> S swap", rules)
    moves = make_agent("random", seed=11).act(rules, np.tile(state, (20000, 1)))
    counts = np.bincount(moves, minlength=7)
    assert (counts[[1, 3, 4]] == 0).all()
    assert chisquare(counts[[0, 2, 5, 6]]).pvalue > 1e-6


# Worked out by hand from the rule sheets.
GREEDY = [
    ("last seed in store", "kalah", "<6,0,0,0,0,0,3,0,0,1,1,1,1,1,1> S", {4: 1}, {4}),
    ("sows past the store", "kalah", "<6,5,5,0,0,0,0,2,3,1,0,0,0,1,1> S", {5: 1, 6: 1}, {5, 6}),
    ("capture beats a seed", "kalah", "<6,0,0,1,0,0,0,0,1,1,0,0,0,5,0> S", {1: 6, 6: 1}, {1}),
    ("nothing faced", "kalah", "<6,0,0,1,0,0,0,0,1,5,0,0,0,0,0> S", {1: 0, 6: 1}, {6}),
    ("nothing faced, own seed", "fairkalah", "<6,0,0,1,0,0,0,0,1,5,0,0,0,0,0> S", {1: 1, 6: 1}, {1, 6}),
    ("capturing seed stays", "kalah-72", "<6,0,0,1,0,0,0,0,1,1,0,0,0,5,0> S", {1: 5, 6: 1}, {1}),
    ("own sweep", "ludii-kalah", "<6,0,0,3,3,0,0,0,0,0,0,0,0,0,1> N", {6: 1}, {6}),
    ("sweep goes to its owner", "kalah", "<6,0,0,3,3,0,0,0,0,0,0,0,0,0,1> N", {6: 1}, {6}),
    ("the other empties, I sweep", "kalah", "<6,0,0,1,0,0,0,4,0,0,0,0,0,5,0> S", {1: 10, 5: 1}, {1}),
    ("north's store", "kalah", "<6,9,0,1,1,1,1,1,1,0,0,0,0,0,1> N", {6: 1}, {6}),
    ("relay ends in the store", "danish", "<6,0,0,5,0,0,0,0,1,0,0,0,0,0,9> S", {1: 1, 6: 1}, {1, 6}),
    ("who runs out takes the rest", "danish", "<6,0,0,0,0,0,0,0,1,0,1,3,0,0,0> S", {6: 5}, {6}),
    ("chain of 2 and 3", "kalaha-philos", "<6,0,0,1,0,0,0,0,3,1,2,1,0,0,4> S", {1: 0, 6: 7}, {6}),
    ("either side's 2 and 4", "bohnenspiel", "<6,0,0,0,0,0,0,3,3,3,1,0,0,0,4> S", {5: 10, 6: 0}, {5}),
    ("nothing is ever gained", "bao-philos:pits=2", "<2x2,0,0,2,1,0,0,1,1,0,0> S", {1: 0, 5: 0}, {1, 5}),
    ("swap takes the other store", "mankalah", "<7,0,9,1,1,1,1,1,1,1,2,2,0,0,0,0,0> S swap", None, {8}),
    ("swap gives the store away", "mankalah", "<7,9,0,1,1,1,1,1,1,1,2,2,0,0,0,0,0> S swap", None, {7}),
    (
        "the owner sweeps nobody's",
        "kalah:leftover=nobody",
        "<6,0,0,1,0,0,0,4,0,0,0,0,0,5,0> S",
        {1: 6, 5: 1},
        {1},
    ),
]


@pytest.mark.parametrize(
    ("text", "position", "gained", "best"), [g[1:] for g in GREEDY], ids=[g[0] for g in GREEDY]
)
def test_greedy_on_positions_worked_out_by_hand(text, position, gained, best):
    rules = parse_rules(text)
    state = parse_position(position, rules)
    if gained is not None:
        row = gains(rules, state[None])[0]
        assert {a + 1: int(g) for a, g in enumerate(row) if g != ILLEGAL} == gained
    moves = make_agent("greedy", seed=1).act(rules, np.tile(state, (400, 1))) + 1
    assert set(moves.tolist()) == best


def test_greedy_breaks_ties_uniformly():
    # Guards against always the first or last of equal moves. A right program fails for 1 in 10^6 seeds.
    rules = parse_rules("kalah")
    state = parse_position("<6,0,0,6,5,4,3,0,0,4,4,4,4,4,4> S", rules)
    moves = make_agent("greedy", seed=5).act(rules, np.tile(state, (20000, 1)))
    assert chisquare(np.bincount(moves, minlength=4)[:4]).pvalue > 1e-6
    assert moves.max() == 3
