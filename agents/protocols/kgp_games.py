"""Kalah Game Protocol, the games: boards to positions, one thread for each open request, self-test answers.

A request (`state`) gets a quick move at once, the agent's move when it has been found, then `yield`.
We are always South. The server stops a game once a store holds more than half of the seeds; that never
changes who wins, so agents think under the same rules without that stop, for which there are nets,
tables and the solver. The connection: `kgp.py`.
"""

import re
import threading
import time
import traceback
from collections.abc import Callable

import numpy as np

from agents.base import Agent
from agents.protocols.kgp_wire import Message, Word
from agents.protocols.minds import Minds, set_ms, warm
from agents.simple import gains
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.options import EarlyStop
from kalah_env.rules import Rules, make_rules
from kalah_env.text import format_move, format_position, parse_position

# The known server sends a state shortly before it knows its id: an answer at once would be refused or lost.
PAUSE = 0.05
_RETRY, _TRIES = 0.03, 12  # seconds before a refused move is sent again, growing; how often
# Boards, pits by seeds, to compile and load for before a clock runs: every size that has endgame tables,
# one that is too large for them, and last the one that is played most.
_WARM = ((3, 2), (4, 4), (5, 5), (7, 7), (8, 8), (12, 12), (6, 4))
_LITERAL = re.compile(r"<[0-9]{1,4}(,[0-9]{1,4}){2,40}>")
_KEPT = 256  # requests that are remembered although no stop came
LEAST = 0.05  # seconds to think, however early a stop came
UNKNOWN_ID = "No state associated with id"


def warm_up(minds: Minds) -> None:
    """Compile what requests need."""
    boards = [f"<{pits},0,0{f',{seeds}' * 2 * pits}>" for pits, seeds in _WARM]
    quick_move(*read_board(boards[0]))
    solve_problem(boards[0], 0)
    warm(minds.first, [read_board(board)[0] for board in boards])


def read_board(literal: str) -> tuple[Rules, np.ndarray]:
    """Return the rules of a board literal's size, without early stop, and its state, South to move.

    The seeds of the rules are those of a start with as many seeds: nets are chosen by them. Where the
    game is over the seeds lie as the literal says, not swept.
    """
    if not _LITERAL.fullmatch(literal):
        raise KalahError(f"KGP: {literal[:80]!r} is no board such as <3,0,0,2,2,2,2,2,2>.")
    pits, *board = (int(part) for part in literal.strip("<>").split(","))
    seeds = round(sum(board) / max(1, 2 * pits))
    rules = make_rules("kgp", pits=pits, seeds=min(12, max(1, seeds)), early_stop="no")
    state = parse_position(f"{literal} S", rules)
    state[: 2 * pits + 2] = [*board[2 : pits + 2], board[0], *board[pits + 2 :], board[1]]
    return rules, state


def quick_move(rules: Rules, state: np.ndarray) -> int | None:
    """Return the action that gains most seeds at once; where the game is over any pit with seeds, or None."""
    if batch.statuses(rules, state) == engine.RUNNING:
        return int(gains(rules, state[None])[0].argmax())
    filled = np.flatnonzero(state[: rules.pits])
    return int(filled[0]) if len(filled) else None


def solve_problem(literal: str, action: int) -> tuple[str, bool]:
    """Return the board after South plays `action`, early stop and sweep included, and whether he moves again.

    A move that ends in the store counts as "again" also where it ends the game, as the server has it.
    """
    rules, state = read_board(literal)
    rules = rules._replace(early_stop=int(EarlyStop.SWEEP))
    batch.statuses(rules, state[None])[:] = engine.RUNNING  # also where it is decided before the move
    if not engine.is_legal(rules, state, action):
        raise KalahError(f"KGP: pit {action + 1} of {literal} cannot be played.")
    again = (action + int(state[action])) % (2 * rules.pits + 1) == rules.pits
    engine.play(rules, state, action)
    return format_position(rules, state).partition(" ")[0], again


class _Request:
    """One `state`: action - the last one sent; finished - our answer is final."""

    def __init__(self, number: int, seconds: float) -> None:
        self.id, self.seconds = number, seconds
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.action: int | None = None
        self.finished = self.waiting = False
        self.tries = 0

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began


class Games:
    """The open requests of one connection.

    send: sends messages in a row and remembers whose they are; it must be callable from any thread.
    """

    def __init__(
        self, send: Callable[..., object], minds: Minds, seconds: float, say: Callable[[str], None]
    ) -> None:
        self.send, self.minds, self.say = send, minds, say
        self.most = self.seconds = seconds
        self.requests: dict[int, _Request] = {}
        self.lock = threading.Lock()

    def ask(self, number: int, literal: str, clock: float | None = None) -> None:
        """Answer the state `literal` in a thread of its own; `clock` limits the seconds to think."""
        request = _Request(number, min(self.seconds, clock or self.seconds))
        with self.lock:
            if number in self.requests:
                self.say(f"state {number} came twice; the second one is ignored")
                return
            self.requests[number] = request
            done = [old for old in self.requests.values() if old.finished]
            for old in done if len(self.requests) > _KEPT else ():
                del self.requests[old.id]
        threading.Thread(target=self._answer, args=(request, literal), daemon=True).start()

    def stop(self, number: int | None) -> None:
        """Give a request up. Where its answer was not found yet, think for less from now on."""
        with self.lock:
            request = self.requests.pop(number, None) if number is not None else None
        if request is None:
            return
        with request.lock:
            request.stopped.set()
        if not request.finished:
            self.seconds = max(LEAST, min(self.seconds, 0.6 * request.elapsed))
            self.say(
                f"stop for state {request.id} before the answer: thinking {self.seconds:.2f} s from now on"
            )

    def refused(self, request: object, number: int | None) -> None:
        """Send a request's last move again, since the server did not know its id yet.

        `request` is whose message was refused. A server that says less may name the state, or nothing.
        Any other number is none of ours.
        """
        with self.lock:
            if isinstance(request, _Request):
                meant = [request]
            elif number in self.requests:
                meant = [self.requests[number]]
            else:
                meant = list(self.requests.values()) if number is None else []
        for each in meant:
            with each.lock:
                if each.stopped.is_set() or each.waiting or each.action is None or each.tries == _TRIES:
                    continue
                each.waiting = True
                each.tries += 1
            timer = threading.Timer(_RETRY * each.tries, self._repeat, (each,))
            timer.daemon = True
            timer.start()

    def close(self) -> None:
        """Give every request up."""
        with self.lock:
            requests = list(self.requests.values())
            self.requests.clear()
        for request in requests:
            request.stopped.set()

    def _answer(self, request: _Request, literal: str) -> None:
        try:
            rules, state = read_board(literal)
            action = quick_move(rules, state)
        except KalahError as error:
            self.say(str(error))
            self._send(request, Message("error", (str(error),), ref=request.id))
            return
        request.stopped.wait(PAUSE)
        if action is not None:
            self._move(request, action)
            if batch.statuses(rules, state) == engine.RUNNING and (state[: rules.pits] > 0).sum() > 1:
                self._think(request, rules, state)
        self._finish(request)

    def _think(self, request: _Request, rules: Rules, state: np.ndarray) -> None:
        agent = self.minds.take(request.seconds / 2, rules)
        if agent is None:
            self.say(f"state {request.id}: every agent is busy, so the quick move stands")
            return
        try:
            if self.minds.is_new(agent, rules):  # it loads what it needs: no time is left for more, maybe
                self._move(request, self._choose(agent, rules, state, LEAST / 2))
            if request.elapsed < request.seconds:
                action = self._choose(agent, rules, state, request.seconds - request.elapsed)
                comment = f"{agent.spec}: {format_move(rules, action)} after {request.elapsed:.2f} s"
                self._move(request, action, comment[:200])
        except KalahError as error:
            self.say(f"state {request.id}: {error} The quick move stands.")
        except Exception:  # a bug must not leave the server waiting
            self.say(f"state {request.id}: the quick move stands, after\n{traceback.format_exc()}")
        finally:
            self.minds.give(agent)

    @staticmethod
    def _choose(agent: Agent, rules: Rules, state: np.ndarray, seconds: float) -> int:
        set_ms(agent, seconds)
        action = int(agent.act(rules, state[None].copy())[0])
        if not engine.is_legal(rules, state, action):
            raise KalahError(f"agent {agent.spec} answers {action}, which is illegal.")
        return action

    def _move(self, request: _Request, action: int, comment: str = "") -> None:
        messages = [Message("set", (Word("info:comment"), comment))] if comment else []
        request.action = action
        self._send(request, *messages, Message("move", (action + 1,), ref=request.id))

    def _finish(self, request: _Request) -> None:
        request.finished = True
        if not request.stopped.is_set():
            self.seconds = min(self.most, 1.25 * self.seconds)
        self._send(request, Message("yield", ref=request.id))

    def _repeat(self, request: _Request) -> None:
        request.waiting = False
        if request.action is not None:
            self._send(request, Message("move", (request.action + 1,), ref=request.id))
        if request.finished:
            self._send(request, Message("yield", ref=request.id))

    def _send(self, request: _Request, *messages: Message) -> None:
        """Send unless stopped: late answers can block the known server."""
        with request.lock:
            if not request.stopped.is_set():
                self.send(*messages, owner=request)
