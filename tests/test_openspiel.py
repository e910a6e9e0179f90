"""Random games in lockstep with OpenSpiel's `mancala` and `oware`, engines of other people.

The board of `mancala` is a ring of 14: north's store, south's pits, south's store, north's pits; an
action is an index of that ring; left-over seeds stay on its last board and count only in its returns.
The board of `oware` is south's houses, north's houses, both scores, in shares of 48; an action is the
mover's house. It ends where a position is repeated since the last capture; there comparison stops.
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


def _oware_board(state) -> list[int]:
    *houses, south, north = (round(48 * share) for share in state.observation_tensor(0))
    return [*houses[:6], south, *houses[6:], north]


def test_oware_in_lockstep():
    rules, rng = parse_rules("openspiel-oware:ply_limit=0"), np.random.default_rng(5)
    theirs = [(pyspiel.load_game("oware").new_initial_state(), set()) for _ in range(600)]
    ours, ends = batch.new_games(rules, len(theirs)), {"over": 0, "repeated": 0}
    while theirs:
        masks, sides = batch.legal_masks(rules, ours), batch.sides(rules, ours)
        margins, overs = batch.margins(rules, ours), batch.statuses(rules, ours) == engine.OVER
        going, actions = [], []
        for b, (state, since_capture) in enumerate(theirs):
            position = (int(sides[b]), *ours[b, :14].tolist())
            if position in since_capture:
                assert state.is_terminal()
                ends["repeated"] += 1
                continue
            since_capture.add(position)
            legal = np.flatnonzero(masks[b]).tolist()
            assert state.legal_actions() == legal, str(state)
            assert state.is_terminal() == overs[b]
            assert _oware_board(state) == ours[b, :14].tolist()
            if overs[b]:
                assert state.returns() == [np.sign(margins[b]), -np.sign(margins[b])]
                ends["over"] += 1
                continue
            assert state.current_player() == sides[b]
            going.append(b)
            actions.append(int(rng.choice(legal)))
            state.apply_action(actions[-1])
        theirs, ours = [theirs[b] for b in going], ours[going]
        captured = batch.step(rules, ours, np.array(actions, np.int64))
        for (_, since_capture), seeds in zip(theirs, captured, strict=True):
            if seeds:
                since_capture.clear()
    assert sum(ends.values()) == 600
    assert ends["over"] > 300
    assert ends["repeated"] > 0


def test_oware_perft():
    """Counts of OpenSpiel's `oware`, taken with its Python interface."""
    rules = parse_rules("openspiel-oware")
    path = np.repeat(batch.new_games(rules, 1), 7, axis=0)
    leaves = [int(engine.perft(rules, path, depth)) for depth in range(1, 7)]
    assert leaves == [6, 36, 190, 1014, 5219, 27332]
