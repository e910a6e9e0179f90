"""UCI-style, one `go`: thinks in a thread, says what it finds, answers once.

Limits in plies and nodes are alpha-beta's own. For the other agents a short alpha-beta goes first: it
has a move, a value and a line to show, and can be stopped at once; then the agent has the rest of the
time, and its move is the answer. The commands: `uci.py`.
"""

import threading
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from agents.alphabeta.search import MAX_DEPTH, MAX_NODES
from agents.base import Agent
from agents.protocols.deepening import Control, Found, iterate
from agents.protocols.minds import Minds, own_seconds, set_ms, takes_ms
from agents.simple import gains
from kalah_env import engine
from kalah_env.errors import KalahError
from kalah_env.jit import COMPILED
from kalah_env.rules import Rules
from kalah_env.text import format_move

LOOK, MOST_LOOK = 1 / 8, 1.0  # of the time, and seconds at most, for the alpha-beta before an agent
SLICES = (1.0, 2.0, 4.0, 8.0)  # seconds an agent thinks in turn where there is no limit
_LATENCY = 0.005


class Limits(NamedTuple):
    """What `go` says. Without any, the agent's own limit holds."""

    depth: int | None = None
    nodes: int | None = None
    seconds: float | None = None
    infinite: bool = False


class Job:
    """One search. say: prints a line; usual: seconds for an agent whose limit nobody has given."""

    def __init__(
        self,
        rules: Rules,
        state: np.ndarray,
        limits: Limits,
        minds: Minds,
        usual: float,
        say: Callable[[str], None],
    ) -> None:
        self.rules, self.state, self.limits = rules, state, limits
        self.minds, self.usual, self._say = minds, usual, say
        self.began = time.monotonic()
        self.best = int(gains(rules, state[None])[0].argmax())
        self.stopped = threading.Event()
        self.control = Control(limits.nodes or MAX_NODES)
        self.answered = threading.Event()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._run, daemon=True)

    @property
    def running(self) -> bool:
        """Say whether there is no answer yet."""
        return not self.answered.is_set()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def start(self) -> None:
        """Begin to think."""
        self.thread.start()

    def stop(self) -> None:
        """Answer now with the best move so far; what still runs ends by itself, unheard."""
        self.stopped.set()
        self.control.stop()
        self._answer()

    def join(self, seconds: float) -> None:
        """Wait for the answer, so many seconds at most."""
        self.answered.wait(seconds)

    def abandon(self) -> None:
        """End without an answer; what still runs ends by itself, unheard."""
        self.answered.set()
        self.stopped.set()
        self.control.stop()

    def _answer(self) -> None:
        with self.lock:
            if self.running:
                self.answered.set()
                self._say(f"bestmove {format_move(self.rules, self.best)}")

    def _tell(self, action: int, words: str) -> None:
        """Take a better move and print its `info` line, unless there is an answer already."""
        with self.lock:
            if self.running:
                self.best = action
                self._say(f"info {words}")

    def _run(self) -> None:
        try:
            self._think()
        except KalahError as error:
            self._say(f"info string {error}")
        except Exception:  # a bug must not leave the other side waiting
            self._say(f"info string {traceback.format_exc()}")
        if self.limits.infinite:
            self.stopped.wait()
        self._answer()

    def _think(self) -> None:
        depth, nodes, seconds, infinite = self.limits
        agent = self.minds.take(0.0 if seconds is None else seconds / 2)
        try:
            own = getattr(agent, "limits", None)
            if not COMPILED and (depth or nodes):
                self._say("info string plies and nodes need a compiler (numba), so the usual time holds")
                depth = nodes = None
            if not (depth or nodes or seconds or infinite):
                if own is not None:
                    depth, nodes = own.get("depth"), own.get("nodes")
                if agent is None:  # the one of the search before has not ended yet
                    seconds = self.usual
                elif takes_ms(agent):
                    seconds = own_seconds(self.minds.spec, agent) or self.usual
            if seconds is not None and not infinite:
                self._ring(seconds, self.stop)
            if COMPILED and (agent is None or depth or nodes or own is not None):
                self.control.limit(nodes or MAX_NODES)
                self._deepen(depth or MAX_DEPTH)
            elif agent is not None:
                self._ask(agent, None if infinite else seconds)
        finally:
            if agent is not None:
                self.minds.give(agent)

    def _ring(self, seconds: float, what: Callable[[], None]) -> None:
        timer = threading.Timer(max(0.0, seconds - self.elapsed), what)
        timer.daemon = True
        timer.start()

    def _deepen(self, depth: int) -> None:
        for found in iterate(self.rules, self.state, depth, self.control):
            self._tell(found.line[0], self._words(found))

    def _words(self, found: Found) -> str:
        seconds = self.elapsed
        moves = self._moves(found.line)
        return (
            f"depth {found.depth} score seeds {found.value} nodes {found.nodes} "
            f"nps {round(found.nodes / max(seconds, 1e-3))} time {round(1000 * seconds)} pv {moves}"
        )

    def _moves(self, actions: list[int]) -> str:
        return " ".join(format_move(self.rules, action) for action in actions)

    def _ask(self, agent: Agent, seconds: float | None) -> None:
        """Look with alpha-beta for a part of the time, then let the agent choose."""
        if COMPILED and (seconds is not None or self.limits.infinite):
            look = MOST_LOOK if seconds is None else min(MOST_LOOK, LOOK * seconds)
            self._ring(look, self.control.stop)
            self._deepen(MAX_DEPTH)
        slices = SLICES if self.limits.infinite and takes_ms(agent) else (seconds,)
        for piece in slices:
            if self.stopped.is_set():
                return
            if piece is not None:
                set_ms(agent, max(0.001, piece - _LATENCY - (0.0 if seconds is None else self.elapsed)))
            action = int(agent.act(self.rules, self.state[None].copy())[0])
            if not engine.is_legal(self.rules, self.state, action):
                raise KalahError(f"agent {agent.spec} answers {action}, which is illegal.")
            words = f"time {round(1000 * self.elapsed)} pv {self._moves([action])} string {agent.spec}"
            self._tell(action, words)
