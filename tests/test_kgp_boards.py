"""Boards as the Kalah Game Protocol writes them: which are refused, who plays. Sessions: `test_kgp.py`."""

import pytest

from agents.protocols.kgp_games import read_board
from agents.protocols.minds import Minds
from kalah_env.errors import KalahError

WRONG = ["garbage", "<>", "<3>", "<3,0,0,-1,1,1,1,1,1>", "<3,0,0,1e3,1,1,1,1,1>", "3,0,0,1"]


@pytest.mark.parametrize("literal", WRONG)
def test_what_is_no_board_is_one_clear_error(literal: str) -> None:
    with pytest.raises(KalahError, match="is no board such as"):
        read_board(literal)


def test_an_agent_that_knows_the_board_is_taken_first() -> None:
    minds = Minds("alphabeta:ms=1", most=3)
    agents = [minds.take(0.0) for _ in range(3)]
    small, large = (read_board(f"<{pits},0,0{',2' * 2 * pits}>")[0] for pits in (3, 4))
    assert minds.is_new(agents[0], small)
    assert not minds.is_new(agents[0], small)
    assert minds.is_new(agents[2], large)
    for agent in agents:
        minds.give(agent)
    assert minds.take(0.0, small) is agents[0]
    assert minds.take(0.0, small) is agents[2]
    assert minds.take(0.0, large) is agents[1]
    assert minds.take(0.0, small) is None
