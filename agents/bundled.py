"""The agent of a one-file bot: network and search that also run as plain Python, where there is no numba.

`kalah export --bundle` puts it, the protocols and a network into one file (`train/bundle.py`). It has no
tables and no solver; rules that the network does not fit are searched a few plies deep by minimax. The
full bot: `bot.py`.
"""

import time
from importlib.resources import files

import numpy as np

from agents.base import check_range, check_running, make_rng
from agents.exported import OnnxEvaluator
from agents.mcts import SearchConfig
from agents.nets import can_play, plain_rules
from agents.timed import TimedSearch
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, num_actions, side_pits

NET = "bundle.onnx"  # beside this file, in a bundle
LATENCY = 0.01  # seconds of the limit that are left for what comes before and after thinking
MAX_MS = 10**7
_DEPTH = 50


class BundledAgent:
    """`bundled[:ms=1000]`: milliseconds a move on one core, for thinking that needs no compiler."""

    def __init__(self, *, ms: int = 1000, seed: int | None = None) -> None:
        make_rng(seed)  # refuses what is no seed; nothing is left to chance but the clock
        check_range("agent bundled: ms", ms, 1, MAX_MS)
        self.spec, self.ms = f"bundled:ms={ms}", ms
        net = files("agents").joinpath(NET)
        if not net.is_file():
            raise KalahError(
                "agent bundled: this is no bundle; `kalah export --bundle` makes one, here use bot."
            )
        self._evaluate = OnnxEvaluator(net.read_bytes())
        self._searches: dict[Rules, TimedSearch | None] = {}

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        check_running(rules, states)
        rules = plain_rules(rules)
        masks = batch.legal_masks(rules, states)
        actions = masks.argmax(axis=1).astype(np.int64)
        for b in np.flatnonzero(masks.sum(axis=1) > 1):
            seconds = max(0.001, self.ms / 1000 - LATENCY)
            search = self._search(rules)
            actions[b] = (
                search.run(states[b], seconds).action if search else minimax(rules, states[b], seconds)
            )
        return actions

    def _search(self, rules: Rules) -> TimedSearch | None:
        if rules not in self._searches:
            fits = can_play(self._evaluate.trained, rules)
            self._searches[rules] = TimedSearch(rules, self._evaluate, None, SearchConfig()) if fits else None
        return self._searches[rules]

    def about(self) -> str:
        """Return what the network plays."""
        return f"network of {format_rules(self._evaluate.trained)}, minimax for rules that it does not fit"


def minimax(rules: Rules, state: np.ndarray, seconds: float) -> int:
    """Return the action of the best difference of stores some plies on, as many as fit the time."""
    deadline = time.monotonic() + seconds
    best = int(batch.legal_masks(rules, state[None])[0].argmax())
    for depth in range(1, _DEPTH):
        try:
            _, best = _value(rules, state, depth, -np.inf, np.inf, deadline)
        except TimeoutError:
            break
    return best


def _value(
    rules: Rules, state: np.ndarray, depth: int, alpha: float, beta: float, deadline: float
) -> tuple[float, int]:
    """Return the value for whoever is to move and the best action; `TimeoutError` after the deadline."""
    if time.monotonic() > deadline:
        raise TimeoutError
    side, best, found = int(batch.sides(rules, state)), -1, -np.inf
    for action in range(num_actions(rules)):
        if not engine.is_legal(rules, state, action):
            continue
        child = state.copy()
        engine.play(rules, child, action)
        after = int(batch.sides(rules, child))
        same = engine.same_player(rules, side, action, after)
        if depth == 1 or batch.statuses(rules, child) != engine.RUNNING:
            value = _worth(rules, child, after)
        else:
            window = (alpha, beta) if same else (-beta, -alpha)
            value, _ = _value(rules, child, depth - 1, *window, deadline)
        value = value if same else -value
        if value > found:
            found, best = value, action
        alpha = max(alpha, found)
        if alpha >= beta:
            break
    return found, best


def _worth(rules: Rules, state: np.ndarray, side: int) -> float:
    """Return the margin of a finished game, else the difference of stores, for `side`; a win counts more."""
    pits = side_pits(rules)
    if batch.statuses(rules, state) == engine.OVER:
        margin = float(engine.margin(rules, state))
        margin += 1000 * np.sign(margin)
    else:
        margin = float(state[pits]) - float(state[2 * pits + 1])
    return margin if side == engine.SOUTH else -margin
