"""Agents and analysts for requests: which may be named, kept how long, on how many threads.

A request may ask for agents that read no file of its choosing and stop by themselves within seconds,
and at once when its client has gone (`agents/halt.py`). What no wish reaches is what is done once: reading
a table or a network, and compiling; a pool of several threads lets others go on meanwhile.
What is costly to make (solver, network, tables) is kept for the next request of the same rules, and
lent to one thread at a time; only so many are kept, so memory stays flat. Not for training or matches.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from agents.analysis import Analyst
from agents.base import Agent, check_plays, make_agent
from agents.halt import Halt, HaltedError
from agents.levels import LEVELS, agent_of
from agents.nets import ONNX
from agents.web.models import MAX_SECONDS
from kalah_env import text
from kalah_env.errors import KalahError
from kalah_env.game import Game
from kalah_env.resources import resource_dir
from kalah_env.rules import Rules, parse_rules, rules_hash

MEMORY = 64  # MiB of a solver's table
KEPT = 3  # agents and analysts that wait for their next request
MOST_MS = round(1000 * MAX_SECONDS)
QUEUE = 32  # requests that may wait for a thread
PATIENCE = 30.0  # seconds until a request is told that there is no answer
# What a text may hold: the most of a number, or nothing but the text itself.
LIMITS: dict[str, dict[str, int]] = {
    "random": {},
    "greedy": {},
    "alphabeta": {"depth": 10, "nodes": 10**7, "ms": MOST_MS},
    "mcts": {"sims": 10_000},
    "perfect": {"nodes": 10**9, "ms": MOST_MS},
    "bot": {"ms": MOST_MS},
    "net": {"sims": 1000},
    "onnx": {"sims": 1000},
}
ADDED = {"perfect": f"ms={MOST_MS},memory={MEMORY}", "bot": f"memory={MEMORY}"}
OFFERED = tuple(dict.fromkeys((*LEVELS, *LIMITS)))  # a level is named like an agent
FORMS = (
    *LEVELS,
    "random",
    "greedy",
    *(f"alphabeta:{name}=" for name in LIMITS["alphabeta"]),
    "mcts:sims=",
    "perfect:ms=",
    "bot:ms=,net=NAME",
    "net:NAME,sims=",
    "onnx:NAME,sims=",
)


class BusyError(Exception):
    """Too many requests are thinking; try again later."""


class EndingError(Exception):
    """The server ends, and with it what is thought about."""


class LateError(Exception):
    """There was no answer in time."""


def shipped_nets() -> list[str]:
    """Return the names of the networks that come with the project."""
    return sorted(path.parent.name for path in resource_dir("checkpoints").glob("*/config.json"))


def safe_spec(asked: str) -> str:
    """Return the text of an agent that a request may use; `KalahError` says what it may not."""
    name, colon, rest = agent_of(asked.strip()).partition(":")
    if name not in LIMITS:
        raise KalahError(f"agent {asked!r} is not offered here; there are {', '.join(OFFERED)}.")
    items = []
    for item in rest.split(",") if colon else []:
        key, equals, value = (part.strip() for part in item.partition("="))
        if (name in ("net", "onnx") and not equals) or (name == "bot" and key == "net"):
            items.append(_net(name, value or key))
        elif key not in LIMITS[name]:
            allowed = ", ".join(f"{key}=" for key in LIMITS[name]) or "nothing"
            raise KalahError(f"agent {asked!r}: {key!r} cannot be set here; what can be set is {allowed}.")
        elif not (value.isascii() and value.isdigit() and 0 < int(value) <= LIMITS[name][key]):
            most = LIMITS[name][key]
            raise KalahError(f"agent {asked!r}: {key}={value} is not a whole number from 1 to {most}.")
        else:
            items.append(f"{key}={int(value)}")
    if name in ADDED:
        given = {item.partition("=")[0] for item in items}
        items += [item for item in ADDED[name].split(",") if item.partition("=")[0] not in given]
    return f"{name}:{','.join(items)}" if items else name


def _net(name: str, net: str) -> str:
    names = shipped_nets()
    if net not in names:
        raise KalahError(f"net {net!r} is none of those that ship with the project: {', '.join(names)}.")
    if name == "onnx":
        return str(resource_dir("checkpoints") / net / ONNX)
    return f"net={net}" if name == "bot" else net


class Chosen(NamedTuple):
    """An agent's move, and how long it thought about it."""

    move: str
    seconds: float


class Thinking:
    """Threads that think, and what they think with."""

    def __init__(self, threads: int = max(2, min(4, os.cpu_count() or 1)), queue: int = QUEUE) -> None:
        self.pool = ThreadPoolExecutor(threads, "thinking")
        self.most = threads + queue
        self.asked = 0  # jobs that wait or run
        self.ending = False
        self._halts: set[Halt] = set()  # of those jobs
        self._kept: list[tuple[tuple[str, str], Any]] = []  # the one used last at the end
        self._lock = threading.Lock()

    def choose(self, game: Game, asked: str, seed: int) -> Chosen:
        """Return an agent's move. The same game, agent and seed give the same, except under time limits."""
        if not game.running:
            raise KalahError("the game is over: nobody is to move.")
        spec = safe_spec(asked)
        if spec.partition(":")[0] in ADDED:
            key = (spec, rules_hash(game.rules))
            with self._lent(key, lambda: make_agent(spec)) as agent:
                return _act(agent, game)
        # Made anew: what it did before must not change what it does now.
        return _act(make_agent(spec, (seed + 7919 * len(game.plies)) % 2**31), game)

    def check(self, asked: str, rules: Rules) -> None:
        """Raise `KalahError` unless a request may use the agent and it can play the rules."""
        check_plays(make_agent(safe_spec(asked), 0), rules)

    def analyse(self, game: Game, seconds: float) -> Any:
        """Return the `Analysis` of the position."""
        if not game.running:
            raise KalahError("the game is over: there is no move to analyse.")
        key = ("analyst", rules_hash(game.rules))
        with self._lent(key, lambda: Analyst(game.rules, memory=MEMORY)) as analyst:
            return analyst.analyse(game.state, seconds)

    @contextmanager
    def _lent(self, key: tuple[str, str], make: Callable[[], Any]) -> Iterator[Any]:
        """Lend what is kept under `key`, or made now; the one unused longest makes room."""
        with self._lock:
            place = next((i for i, (kept, _) in enumerate(self._kept) if kept == key), None)
            mind = None if place is None else self._kept.pop(place)[1]
        mind = mind or make()
        try:
            yield mind
        except HaltedError:  # it could have gone on, and can begin anew
            self._keep(key, mind)
            raise
        self._keep(key, mind)  # what fails is not kept

    def _keep(self, key: tuple[str, str], mind: Any) -> None:
        with self._lock:
            self._kept.append((key, mind))
            del self._kept[:-KEPT]

    def warm(self) -> None:
        """Compile what the levels and the analysis need, so that fewer requests wait for it."""
        game = Game(parse_rules("kalah"))
        for level in ("easy", "medium", "hard"):
            self.choose(game, level, 0)
        self.analyse(game, 0.3)

    async def run(self, job: Callable[[], Any], gone: Callable[[], Awaitable[bool]]) -> Any:
        """Return what a job answers; it ends, or never begins, once `gone()` says that nobody waits."""
        if self.ending:
            raise EndingError
        if self.asked >= self.most:
            raise BusyError
        self.asked += 1
        halt = Halt()
        self._halts.add(halt)
        future = self.pool.submit(halt.run, job)
        future.add_done_callback(self._done)
        waiting = asyncio.wrap_future(future)
        deadline = time.monotonic() + PATIENCE
        try:
            while not (await asyncio.wait({waiting}, timeout=0.25))[0] and not self.ending:
                if time.monotonic() > deadline or await gone():
                    raise LateError
            if self.ending:
                raise EndingError
            return waiting.result()
        finally:
            waiting.cancel()  # in the queue it is not begun
            halt.wish()
            self._halts.discard(halt)

    def _done(self, _: Any) -> None:
        with self._lock:
            self.asked -= 1

    def close(self) -> bool:
        """End what is thought about, begin no further job; say whether one is still running."""
        self.ending = True
        for halt in list(self._halts):
            halt.wish()
        self.pool.shutdown(wait=False, cancel_futures=True)
        return self.asked > 0


def _act(agent: Agent, game: Game) -> Chosen:
    began = time.monotonic()
    action = agent.act(game.rules, game.state[None])[0]
    return Chosen(text.format_move(game.rules, int(action)), time.monotonic() - began)
