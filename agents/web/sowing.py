"""A move in steps, for showing it: what is picked up, and the cells that its seeds fall into, in order.

The engine is asked for the board behind every lap (rules with a smaller `lap_limit`, nothing swept);
what a lap did is read off the two boards. So no rule is told a second time here: only that a lap runs
round the board, or round two own rows, one cell after another. A cell is an index into the board.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kalah_env import batch, engine
from kalah_env.options import Capture, GrandSlam, Leftover
from kalah_env.rules import Rules, side_pits

MAX_LAPS = 60  # of a move that are shown; a relay may run a thousand

SOW, CAPTURE, SWEEP, REST = "sow", "capture", "sweep", "rest"


class Step(NamedTuple):
    """kind: `sow`, `capture` (into a store), `sweep` (what is left at the end), `rest` (laps not shown);
    picked: cells that are emptied; path: the cell of each seed in order, for captures and sweeps the
    stores; board: seeds in every cell behind the step.
    """

    kind: str
    picked: list[int]
    path: list[int]
    board: list[int]


def steps_of(rules: Rules, state: np.ndarray, action: int) -> list[Step]:
    """Return the steps of a legal action in a running state (S,); none for a swap."""
    at = engine.board_size(rules)
    if action == engine.pit_actions(rules):
        return []
    bare = rules._replace(leftover=int(Leftover.NOBODY), early_stop=0)  # nothing is swept
    laps = bare
    if rules.rows == 1:  # here captures follow the laps, else they make some of them
        laps = bare._replace(capture=int(Capture.NONE), grand_slam=int(GrandSlam.LEGAL))
    boards = [state[:at]]
    most = min(MAX_LAPS, rules.lap_limit)
    for limit in range(1, most + 1):
        board = _behind(laps._replace(lap_limit=limit), state, action)
        if np.array_equal(board, boards[-1]):
            break
        boards.append(board)
    steps = _laps(rules, boards, int(batch.sides(rules, state)), action)
    for kind, board in (
        (REST, _behind(laps, state, action)),
        (CAPTURE, _behind(bare, state, action)),
        (SWEEP, _behind(rules, state, action)),
    ):
        change = board - boards[-1]
        if change.any():
            boards.append(board)
            steps.append(Step(kind, _cells(change < 0), _cells(change > 0), board.tolist()))
    return steps


def _behind(rules: Rules, state: np.ndarray, action: int) -> np.ndarray:
    after = state.copy()
    engine.play(rules, after, action)
    return after[: engine.board_size(rules)]


def _laps(rules: Rules, boards: list[np.ndarray], side: int, action: int) -> list[Step]:
    """Read the laps off the boards before and behind them."""
    pits = side_pits(rules)
    own = side * (pits + 1)
    last, step = own + action % pits, 1 if action < pits else -1
    low, high = (0, 2 * pits + 2) if rules.rows == 1 else (own, own + pits)
    steps = []
    for before, board in pairwise(boards):
        change = board - before
        taken = np.flatnonzero(change < 0)
        # Four rows: seeds of the other side, if any, are what is sown; else those where the lap before
        # it ended.
        picked = [i for i in taken.tolist() if not low <= i < high] or [last]
        gained = change.copy()
        gained[picked] = board[picked]
        assert (gained >= 0).all(), "a lap that only gives was expected"  # else the loop had no end
        path, cell = [], last
        while gained.any():
            cell = low + (cell + step - low) % (high - low)
            if gained[cell] > 0:
                gained[cell] -= 1
                path.append(cell)
        last = path[-1]
        steps.append(Step(SOW, picked, path, board.tolist()))
    return steps


def _cells(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(mask).tolist()
