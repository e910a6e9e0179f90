"""Alpha-beta that tells what it has found after every ply and can be stopped from another thread.

The search is that of the agent `alphabeta`; here it runs on one position, one iteration at a time, and
its table gives the line it expects. Used by `uci.py`, whose `info` lines these are.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from agents.alphabeta.negamax import EXACT, HORIZON, LIMIT, NODES, STOP, UNKNOWN, deepen, state_hash
from agents.alphabeta.search import MAX_DEPTH, MAX_NODES, Table
from kalah_env import batch, engine
from kalah_env.rules import Rules, num_actions


class Found(NamedTuple):
    """What an iteration found: depth in plies; value: seeds for the player to move; solved: exact to the end.

    line: actions that both are expected to play, as far as the table knows; nodes: moves played so far.
    """

    depth: int
    value: int
    line: list[int]
    nodes: int
    solved: bool


class Control:
    """What a running search looks at: its limit of nodes, and whether it must stop."""

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self.numbers = np.zeros((1, 4), np.int64)
        self.numbers[0, LIMIT] = nodes

    def limit(self, nodes: int) -> None:
        """Let it play so many moves at most."""
        self.numbers[0, LIMIT] = nodes

    def unstopped(self) -> np.ndarray:
        """Return the numbers for a search that nobody stops from outside."""
        numbers = self.numbers.copy()
        numbers[0, STOP] = 0
        return numbers

    def stop(self) -> None:
        """End the search as soon as it looks; from any thread."""
        self.numbers[0, STOP] = 1


def iterate(rules: Rules, state: np.ndarray, depth: int, control: Control) -> Iterator[Found]:
    """Yield what each ply of iterative deepening finds in a running state (S,), up to `depth` plies.

    Ends where stopped, but for the first ply, where the nodes are used up, or where every line has
    reached the end of the game.
    """
    depth = min(depth, MAX_DEPTH)
    actions, states = num_actions(rules), np.ascontiguousarray(state[None], np.int16)
    path = np.empty((depth + 1, states.shape[1]), np.int16)
    order = np.empty((depth + 1, actions), np.int32)
    values = np.full((1, 2, actions), UNKNOWN, np.int64)
    exact = np.zeros((1, 2, actions), np.bool_)
    done = np.zeros(1, np.int64)
    table = Table(min(20, max(2, 2 * depth)))
    for ply in range(1, depth + 1):
        numbers = control.unstopped() if ply == 1 else control.numbers
        deepen(rules, states, path, order, ply, table.entries, 0, numbers, values, exact, done)
        control.numbers[0, [NODES, HORIZON]] = numbers[0, [NODES, HORIZON]]
        if done[0] < ply:
            return
        best = int(np.where(exact[0, 0], values[0, 0], UNKNOWN).argmax())
        solved = bool(control.numbers[0, HORIZON] == 0)
        line = _line(rules, states[0], best, table.entries, ply)
        yield Found(ply, int(values[0, 0, best]), line, int(control.numbers[0, NODES]), solved)
        if solved:
            return


def _line(rules: Rules, state: np.ndarray, action: int, entries: np.ndarray, depth: int) -> list[int]:
    """Return `action` and what the table's exact entries say both play then. The search's salt is 0."""
    line, state = [action], state.copy()
    engine.play(rules, state, action)
    while len(line) < depth and batch.statuses(rules, state) == engine.RUNNING:
        key = int(state_hash(rules, state))
        found, data = (int(number) for number in entries[(key >> 40) & (len(entries) - 1)])
        action = (data >> 12) & 63
        if found != key or (data >> 18) & 3 != EXACT or not engine.is_legal(rules, state, action):
            break
        line.append(action)
        engine.play(rules, state, action)
    return line
