"""Kalah Game Protocol (FAU Erlangen), the client: connects, says who plays, hands requests on, reconnects.

A session: the server greets with its version, we send who we are and `mode`; then it asks (`state`,
`problem`), pings and sets options, in any order and several games at once. Requests are answered in
`kgp_games.py`; lines and connections: `kgp_wire.py`; in words: `docs/PROTOCOLS.md`.
"""

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agents.protocols import kgp_wire
from agents.protocols.kgp_games import UNKNOWN_ID, Games, solve_problem
from agents.protocols.kgp_wire import Message, Wire, Word, format_message, parse
from agents.protocols.minds import Minds
from kalah_env.errors import KalahError

MODES = ("freeplay", "verify")
GREETING_SECONDS = 20.0
_LONGEST_WAIT = 30.0  # seconds between two tries to connect
_OWNERS = 4096  # messages whose owners are remembered


@dataclass(frozen=True)
class Settings:
    """What a client says and does. seconds: to think about a move; problems: of `verify`, 0 = no end;
    tries: connections that fail in a row before it gives up; wait: seconds before the second one.
    """

    url: str
    mode: str = "freeplay"
    token: str | None = None
    name: str | None = None
    authors: str | None = None
    description: str | None = None
    seconds: float = 2.0
    problems: int = 0
    tries: int = 10
    wait: float = 1.0
    verbose: bool = False


def server_url(url: str | None, environment: Mapping[str, str]) -> str:
    """Return the checked URL of `--url`, or of KGP_HOST and KGP_PORT."""
    if url:
        return kgp_wire.check_url(url)
    host, port = environment.get("KGP_HOST"), environment.get("KGP_PORT")
    if not host:
        raise KalahError("KGP: no server; give --url tcp://HOST:PORT, or set KGP_HOST (and KGP_PORT).")
    if "://" in host:
        return kgp_wire.check_url(host)
    return kgp_wire.check_url(f"tcp://{host}:{port or kgp_wire.PORT}")


class Client:
    """Plays for one server until it says goodbye; its agents outlive a dropped connection."""

    def __init__(self, settings: Settings, minds: Minds, say: Callable[[str], None]) -> None:
        self.settings, self.minds, self.say = settings, minds, say
        self.solved = self.wrong = 0  # problems of `verify`
        for message in self.introduction():
            format_message(message)  # too long a name is noticed here

    def introduction(self) -> list[Message]:
        """Return what is said before the mode."""
        said = {
            "info:name": self.settings.name,
            "info:authors": self.settings.authors,
            "info:description": self.settings.description,
            "auth:token": self.settings.token,
        }
        return [Message("set", (Word(option), value)) for option, value in said.items() if value]

    def run(self) -> int:
        """Return the exit code: 0, or 1 where the self-test found a wrong answer."""
        failures, wait = 0, self.settings.wait
        while True:
            session = None
            try:
                wire = kgp_wire.connect(self.settings.url)
                session = _Session(wire, self)
                if session.run():
                    return 1 if self.wrong else 0
                why = f"{self.settings.url} closed the connection"
            except OSError as error:
                why = f"{self.settings.url}: {error.strerror or error}"
            if session is not None and session.accepted:
                failures, wait = 0, self.settings.wait
            failures += 1
            if failures >= self.settings.tries:
                raise KalahError(
                    f"KGP: {why}; given up after {failures} failure{'s' * (failures > 1)} in a row."
                )
            self.say(f"{why}; next try in {wait:.0f} s")
            time.sleep(wait)
            wait = min(_LONGEST_WAIT, 2 * wait)


class _Session:
    """One connection. accepted: the server has agreed to our mode, or asked something."""

    def __init__(self, wire: Wire, client: Client) -> None:
        self.wire, self.client, self.settings = wire, client, client.settings
        self.games = Games(self.send, client.minds, client.settings.seconds, client.say)
        self.lock = threading.Lock()
        self.ids = itertools.count(1, 2)
        self.owners: dict[int, object] = {}
        self.greeted = self.accepted = False
        self.mode_id = -1
        self.complaint = "no reason given"
        self.options: dict[str, object] = {}
        self.problems: dict[int, str] = {}

    def run(self) -> bool:
        """Serve until the end; return whether it was a goodbye (the server's, or ours after all problems)."""
        try:
            self.wire.wait_at_most(GREETING_SECONDS)
            while True:
                try:
                    line = self.wire.receive()
                    if line is None:
                        return False
                    if line.strip() and self._handle(self._read(line)):
                        return True
                except KalahError as error:
                    if isinstance(error, _FatalError):
                        raise
                    self.client.say(f"ignored: {error}")
        except (KeyboardInterrupt, KalahError):
            self.send(Message("goodbye"))
            raise
        finally:
            self.games.close()
            self.wire.close()

    def send(self, *messages: Message, owner: object = None) -> int:
        """Send messages in a row, each with the next id; return the last id. From any thread."""
        with self.lock:
            number = -1
            for message in messages:
                number = next(self.ids)
                self.owners[number] = owner  # before sending: the answer may be quick
                if len(self.owners) > _OWNERS:
                    del self.owners[next(iter(self.owners))]
                line = format_message(message._replace(id=number))
                if self.settings.verbose:
                    self.client.say(f"> {line}")
                try:
                    self.wire.send(line)
                except OSError:  # the reader notices, too
                    break
            return number

    def _read(self, line: str) -> Message:
        if self.settings.verbose:
            self.client.say(f"< {line.rstrip()}")
        return parse(line)

    def _handle(self, message: Message) -> bool:
        """Act on a message; return whether the session is over."""
        match message:
            case Message("goodbye"):
                if not self.accepted:
                    raise _FatalError(f"KGP: the server says goodbye instead of a game: {self.complaint}.")
                self.client.say("the server says goodbye")
                return True
            case Message("kgp") if not self.greeted:
                self._greet(message)
            case Message("ping", _, number) if number is not None:
                self.send(Message("pong", ref=number))
            case Message("error"):
                return self._error(message)
            case Message("set", ("time:mode" | "time:clock" as option, value)):
                self.options[str(option)] = value
            case _ if not self.greeted:
                raise KalahError(f"{message.name!r} before the greeting")
            case Message("state", (Word(board),), number) if number is not None:
                self.accepted = True
                self.games.ask(number, board, self._clock())
            case Message("stop"):
                self.games.stop(message.ref)
            case Message("problem", (Word(board), int(action)), number) if number is not None:
                self.accepted = True
                self._solve(number, board, action)
            case Message("ok" | "init", _, _, ref):
                self.accepted = self.accepted or ref == self.mode_id or message.name == "init"
                return self._count(ref)
            case Message("set" | "ping" | "kgp"):
                pass  # nothing that could be answered
            case _:
                raise KalahError(f"{format_message(message)[:80]!r} is not understood")
        return False

    def _greet(self, message: Message) -> None:
        version = ".".join(map(str, message.arguments))
        if message.arguments[:1] != (1,):
            raise _FatalError(
                f"KGP: the server speaks version {version or 'unknown'} of the protocol; we speak version 1."
            )
        self.greeted = True
        self.wire.wait_at_most(None)
        settings = self.settings
        self.send(*self.client.introduction())
        self.mode_id = self.send(Message("mode", (Word(settings.mode),)))
        self.client.say(f"connected to {settings.url}, version {version}: mode {settings.mode}")

    def _error(self, message: Message) -> bool:
        text = " ".join(map(str, message.arguments)) or self.complaint
        if UNKNOWN_ID.lower() in text.lower():
            self.games.refused(self.owners.get(message.ref or -1), message.ref)
            return False
        if message.ref is not None and message.ref == self.mode_id:
            raise _FatalError(f"KGP: the server refuses mode {self.settings.mode}: {text}.")
        problem = self.problems.get(message.ref or -1)
        if problem is None:
            self.complaint = text
            self.client.say(f"error from the server: {text}")
            return False
        self.client.wrong += 1
        self.client.say(f"wrong: {problem}: {text}")
        return self._count(message.ref)

    def _clock(self) -> float | None:
        """Return the seconds that the server's clock leaves for a move, or None where it has none."""
        mode, clock = self.options.get("time:mode"), self.options.get("time:clock")
        if mode == "none" or not isinstance(clock, int | float) or clock <= 0:
            return None
        return clock / 30 if mode == "absolute" else 0.4 * clock

    def _solve(self, number: int, board: str, action: int) -> None:
        text, again = solve_problem(board, action)  # the server counts pits from 0 here, as we do
        shown = f"problem {board} {action}, answered {text} {str(again).lower()}"
        answer = self.send(Message("solution", (Word(text), again), ref=number))
        self.problems[answer] = shown

    def _count(self, ref: int | None) -> bool:
        """Count a solution that the server has judged; return whether all are done."""
        if self.problems.pop(ref or -1, None) is None:
            return False
        self.client.solved += 1
        if self.client.solved != self.settings.problems:
            return False
        self.client.say(f"{self.client.solved} problems, {self.client.wrong} wrong")
        self.send(Message("goodbye"))
        return True


class _FatalError(KalahError):
    """A reason to give up that another connection would not mend."""
