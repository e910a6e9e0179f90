"""2,000 random games in lockstep with OpenSpiel's `mancala`, an engine of other people.

Its board is a ring of 14: north's store, south's pits, south's store, north's pits; an action is an
index of that ring; left-over seeds stay on its last board and count only in its returns.
"""

import numpy as np
import pyspiel
import pytest

from kalah_env import batch, engine
from kalah_env.rules import parse_rules


@pytest.mark.parametrize(("spec", "games"), [("kalah", 2000), ("openspiel-mancala", 100)])
def test_lockstep(spec, games):
    rules, rng = parse_rules(spec), np.random.default_rng(4)
    theirs = [pyspiel.load_game("mancala").new_initial_state() for _ in range(games)]
    ours, finished = batch.new_games(rules, games), 0
    while theirs:
        masks, sides = batch.legal_masks(rules, ours), batch.sides(rules, ours)
        margins, statuses = batch.margins(rules, ours), batch.statuses(rules, ours)
        going, actions = [], []
        for b, state in enumerate(theirs):
            first = 8 if sides[b] == engine.NORTH else 1
            assert state.legal_actions() == (np.flatnonzero(masks[b]) + first).tolist(), str(state)
            assert state.is_terminal() == (statuses[b] == engine.OVER)
            if state.is_terminal():
                finished += 1
                assert state.returns() == [np.sign(margins[b]), -np.sign(margins[b])]
                continue
            assert state.current_player() == sides[b]
            assert state.observation_tensor()[:14] == np.roll(ours[b, :14], 1).tolist()
            going.append(b)
            actions.append(int(rng.choice(state.legal_actions())) - first)
            state.apply_action(actions[-1] + first)
        theirs, ours = [theirs[b] for b in going], ours[going]
        batch.step(rules, ours, np.array(actions, np.int64))
    assert finished == games
