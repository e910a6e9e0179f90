"""UCI-style: an agent behind the commands of chess engines, on standard input and output.

Positions and moves are this project's texts (`kalah_env/text.py`). `go` thinks in a thread of its own
(`uci_job.py`), so `stop`, `isready` and `quit` are always heard. A command that cannot be used is
answered by one `info string`, and the engine carries on. In words: `docs/PROTOCOLS.md`.
"""

import re
import threading
from typing import TextIO

import numpy as np

from agents.alphabeta.agent import MAX_MS
from agents.alphabeta.search import MAX_DEPTH, MAX_NODES
from agents.base import make_agent
from agents.protocols.deepening import Control, iterate
from agents.protocols.lines import read_lines
from agents.protocols.minds import Minds, takes_ms, warm
from agents.protocols.uci_job import Job, Limits
from agents.simple import gains
from kalah_env import __version__, batch, engine
from kalah_env.errors import KalahError
from kalah_env.jit import COMPILED
from kalah_env.records import play_moves
from kalah_env.rules import START, format_rules, parse_rules
from kalah_env.text import parse_position

_WHOLE = re.compile("-?[0-9]+")
_RANGES = {
    "depth": (1, MAX_DEPTH),
    "nodes": (1, MAX_NODES),
    "movetime": (1, MAX_MS),
    "movestogo": (1, 1000),
    **dict.fromkeys(("wtime", "btime", "winc", "binc"), (0, 10**9)),
}
PATIENCE = 60.0  # seconds for a limited search once the input has ended: a script may have piped it in
_MOVES_TO_GO = 30  # a clock is spent as if so many moves were to come


class Engine:
    """One conversation. seconds: to think where `go` gives no limit and the agent's text neither."""

    def __init__(self, spec: str, seconds: float, sink: TextIO, rules: str = "kalah", seed: int = 0) -> None:
        self.seconds, self.sink, self.seed = seconds, sink, seed
        self.minds = Minds(spec, most=3, seed=seed)
        self.warmed: tuple | None = None
        self.rules = parse_rules(rules)
        self.state: np.ndarray | None = parse_position(START, self.rules)
        self.job: Job | None = None
        self.lock = threading.Lock()

    def say(self, line: str) -> None:
        """Print a line at once; from any thread, of which the main one is told if nobody listens."""
        with self.lock:
            try:
                print(" ".join(line.splitlines()), file=self.sink, flush=True)
            except OSError:
                if threading.current_thread() is threading.main_thread():
                    raise

    def run(self, source: TextIO) -> int:
        """Obey every line until `quit`, or the end of the input, which waits a while for a limited search."""
        for line, whole in read_lines(source):
            words = line.split()
            try:
                if not whole:
                    raise KalahError(f"a line of more than {len(line)} characters is not read")
                if words and not self._obey(words, line):
                    break
            except KalahError as error:
                self.say(f"info string {error}")
        else:
            self._end_of_input()
        if self.job is not None:
            self.job.abandon()
        return 0

    def _end_of_input(self) -> None:
        if self.job is not None:
            if not self.job.limits.infinite:
                self.job.join(PATIENCE)
            self.job.stop()

    def _obey(self, words: list[str], line: str) -> bool:
        """Act on one command; return whether to go on."""
        match words:
            case ["quit", *_]:
                return False
            case ["uci"]:
                self._introduce()
            case ["isready"]:
                self._warm()
                self.say("readyok")
            case ["ucinewgame"]:
                self.state = parse_position(START, self.rules)
            case ["setoption", "name", name, "value", *_]:
                self._set(name, line.partition(" value ")[2].strip())
            case ["position", *rest]:
                self._position(rest)
            case ["go", *rest]:
                self._go(rest)
            case ["stop"]:
                if self.job is not None:
                    self.job.stop()
            case ["setoption", *_]:
                raise KalahError(
                    "setoption is followed by `name Rules value SPEC` or `name Agent value TEXT`"
                )
            case _:
                raise KalahError(f"unknown command: {line[:80]}")
        return True

    def _introduce(self) -> None:
        self.say(f"id name kalah-env {__version__} {self.minds.spec}")
        self.say("id author the kalah-env developers")
        self.say(f"option name Rules type string default {format_rules(self.rules)}")
        self.say(f"option name Agent type string default {self.minds.spec}")
        self.say("uciok")

    def _set(self, name: str, value: str) -> None:
        if name.lower() == "rules":
            self.rules = parse_rules(value)
            self.state = parse_position(START, self.rules)
        elif name.lower() == "agent":
            self.minds = Minds(value, most=3, seed=self.seed)
        else:
            raise KalahError(f"no option {name}; options are Rules and Agent")
        self._warm()  # now, when no clock runs yet

    def _position(self, words: list[str]) -> None:
        self.state = None  # a wrong one must not leave an older one to move in
        at = words.index("moves") if "moves" in words else len(words)
        where, moves = words[:at], words[at + 1 :]
        if where == ["startpos"]:
            state = parse_position(START, self.rules)
        elif where[:1] == ["kalah"]:
            state = parse_position(" ".join(where[1:]), self.rules)
        else:
            raise KalahError(
                "a position is `startpos` or `kalah <n,S,N,...> S`, and then perhaps `moves 3 6 ...`; "
                "other rules: setoption name Rules value SPEC"
            )
        play_moves(self.rules, state, moves)
        self.state = state
        self._warm()

    def _warm(self) -> None:
        """Compile and load what thinking needs, before there is a clock."""
        wanted = (self.minds, self.rules)
        if self.warmed == wanted or (self.job is not None and self.job.running):
            return
        agent = self.minds.take(0.0)
        start = batch.new_games(self.rules, 1)
        if batch.statuses(self.rules, start)[0] == engine.RUNNING:
            gains(self.rules, start)
            if COMPILED:
                list(iterate(self.rules, start[0], 2, Control()))
        if agent is not None:
            if takes_ms(agent):
                warm(agent, [self.rules])
            self.minds.give(agent)
            self.warmed = wanted

    def _go(self, words: list[str]) -> None:
        if self.job is not None and self.job.running:
            raise KalahError("still thinking, so this go is left out; wait for bestmove, or send stop first")
        if self.state is None:
            self.say("info string there is no position, since the last one could not be used")
            self.say("bestmove (none)")
            return
        if batch.statuses(self.rules, self.state) != engine.RUNNING:
            self.say("info string the game is over")
            self.say("bestmove (none)")
            return
        limits = self._limits(words)
        self._warm()
        minds = self.minds
        try:
            if limits.nodes and (spec := _with_simulations(minds.spec, limits.nodes)):
                minds, limits = Minds(spec, most=1, seed=self.seed), limits._replace(nodes=None)
        except KalahError as error:
            self.say(f"info string {error} The agent's own limit holds.")
            limits = limits._replace(nodes=None)
        self.job = Job(self.rules, self.state.copy(), limits, minds, self.seconds, self.say)
        self.job.start()

    def _limits(self, words: list[str]) -> Limits:
        """Return the limits of `go`; what is not understood is said and left out."""
        given: dict[str, int] = {}
        infinite, at = False, 0
        while at < len(words):
            name, value = words[at], words[at + 1] if at + 1 < len(words) else ""
            at += 1
            if name == "infinite":
                infinite = True
                continue
            if name not in _RANGES:
                self.say(f"info string go: {name[:40]} is not understood and left out")
                continue
            at += value not in ("infinite", *_RANGES)
            if not _WHOLE.fullmatch(value):
                self.say(f"info string go: {name} needs a whole number and is left out")
                continue
            (low, high), number = _RANGES[name], int(value[:20])
            given[name] = min(high, max(low, number))
            if given[name] != number:
                self.say(f"info string go: {name} is {low} to {high}; {value[:20]} is taken as {given[name]}")
        seconds = given["movetime"] / 1000 if "movetime" in given else self._share(given)
        return Limits(given.get("depth"), given.get("nodes"), seconds, infinite)

    def _share(self, given: dict[str, int]) -> float | None:
        """Return the seconds for a move out of a clock: wtime is South's, btime North's."""
        assert self.state is not None
        colour = "wb"[int(batch.sides(self.rules, self.state))]
        if f"{colour}time" not in given:
            return None
        left, gained = given[f"{colour}time"] / 1000, given.get(f"{colour}inc", 0) / 1000
        moves = given.get("movestogo", _MOVES_TO_GO)
        return min(MAX_MS / 1000, max(0.001, min(0.5 * left, left / (moves + 1) + 0.8 * gained)))


def _with_simulations(spec: str, count: int) -> str | None:
    """Return the agent's text with so many simulations, or None where it does not count any."""
    name, colon, rest = spec.partition(":")
    items = rest.split(",") if colon else []
    others = [item for item in items if item.partition("=")[0].strip() != "sims"]
    if len(others) == len(items):
        return None
    spec = f"{name}:{','.join([*others, f'sims={count}'])}"
    make_agent(spec)  # `KalahError` where the count is out of its range
    return spec
