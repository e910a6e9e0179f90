"""A move in steps, as the page shows it: each leads from one board to the next, and the last is the engine's.

The API that sends them: `test_web.py`.
"""

from typing import Any

import numpy as np
import pytest

from agents.web import sowing
from agents.web.sowing import steps_of
from kalah_env import batch, engine
from kalah_env.rules import PRESET_NAMES, parse_rules
from kalah_env.text import parse_position


def apply(board: list[int], step: Any) -> list[int]:
    """Return the board behind a step, sown seed by seed."""
    board = list(board)
    hand = sum(board[cell] for cell in step.picked)
    for cell in step.picked:
        board[cell] = 0
    if step.kind == "sow":
        assert len(step.path) == hand
        for cell in step.path:
            board[cell] += 1
    elif len(step.path) == 1:
        board[step.path[0]] += hand
    else:
        return step.board
    return board


@pytest.mark.parametrize("rules_text", [*PRESET_NAMES, "danish:pits=3,seeds=9", "kalah:pits=2,seeds=12"])
def test_steps_lead_from_board_to_board(rules_text: str):
    rules = parse_rules(rules_text)
    rng = np.random.default_rng(5)
    seen = 0
    for _ in range(6):
        state = batch.new_games(rules, 1)[0]
        while batch.statuses(rules, state) == engine.RUNNING and seen < 400:
            action = int(rng.choice(np.flatnonzero(batch.legal_masks(rules, state[None])[0])))
            board = state[: engine.board_size(rules)].tolist()
            steps = steps_of(rules, state, action)
            engine.play(rules, state, action)
            for step in steps:
                if step.kind != "rest":
                    board = apply(board, step)
                    assert board == step.board
                board = step.board
            assert board == state[: engine.board_size(rules)].tolist()
            seen += len(steps)
    assert seen > 100


def test_the_steps_of_moves_by_hand():
    def steps(text: str, position: str, action: int) -> list[tuple[str, list[int], list[int]]]:
        rules = parse_rules(text)
        return [step[:3] for step in steps_of(rules, parse_position(position, rules), action)]

    assert steps("kalah:pits=3", "<3,0,0,1,0,2,0,4,1> S", 0) == [("sow", [0], [1]), ("capture", [1, 5], [3])]
    # Round the board, past the store of the other, a seed into its own pit.
    assert steps("kalah:pits=2", "<2,0,0,0,6,1,1> S", 1) == [("sow", [1], [2, 3, 4, 0, 1, 2])]
    # The last seed of a relay lap is where the next begins.
    assert steps("danish:pits=3", "<3,0,0,1,2,1,1,1,1> S", 0)[:4] == [
        ("sow", [0], [1]),
        ("sow", [1], [2, 3, 4]),
        ("sow", [4], [5, 6]),
        ("sow", [6], [0, 1]),
    ]
    # Clockwise round two own rows; a capture is sown on.
    found = steps("bao-philos:pits=2", "<2x2,0,0,2,0,1,0,1,1,1,1> S", 4)
    assert found[:2] == [("sow", [0], [3, 2]), ("sow", [2], [1, 0])]


def test_only_so_many_laps_are_shown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sowing, "MAX_LAPS", 2)
    rules = parse_rules("danish:sow_store=none")
    state = batch.new_games(rules, 1)[0]
    steps = steps_of(rules, state, 0)
    engine.play(rules, state, 0)
    assert [step.kind for step in steps[:3]] == ["sow", "sow", "rest"]
    assert steps[-1].board == state[: engine.board_size(rules)].tolist()
