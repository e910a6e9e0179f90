"""Boards as the Kalah Game Protocol writes them: what is refused. Sessions: `test_kgp.py`."""

import pytest

from agents.protocols import kgp_games
from kalah_env.errors import KalahError

WRONG = ["garbage", "<>", "<3>", "<3,0,0,-1,1,1,1,1,1>", "<3,0,0,1e3,1,1,1,1,1>", "3,0,0,1"]


@pytest.mark.parametrize("literal", WRONG)
def test_what_is_no_board_is_one_clear_error(literal: str) -> None:
    with pytest.raises(KalahError, match="is no board such as"):
        kgp_games.read_board(literal)
