"""Kalah Game Protocol, the wire: lines to messages and back, and connections that carry lines.

A line is `[id][@ref] name argument...`, ends with CR LF and has at most 16384 characters. TCP needs the
standard library only, WebSocket the package `websockets`. What the messages mean: `kgp.py`. The
protocol: github.com/KWARC/kalah-game, `spec/`.
"""

import re
import socket
from collections import deque
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from kalah_env.errors import KalahError

PORT = 2671
MAX_LINE = 16384
_MAX_MESSAGE = 2**18  # bytes of a WebSocket message, which may hold several lines
CONNECT_SECONDS = 20.0

_HEAD = re.compile(
    r"\s*(?:(\d{1,18})?(?:@(\d{1,18}))?\s+)?([A-Za-z0-9]+)(?:\s+(.*?))?\s*", re.ASCII | re.DOTALL
)
_ARGUMENT = re.compile(
    r'\s*(?:"((?:[^"\\]|\\.)*)"|(<\d+(?:,\d+)*>)|([+-]?\d*\.\d+)|([+-]?\d{1,18}(?![\w:.-]))|([A-Za-z0-9:_-]+))',
    re.ASCII | re.DOTALL,
)


class Word(str):
    """An argument that stands without quotes: a word or a board literal."""

    __slots__ = ()


Argument = int | float | bool | str


class Message(NamedTuple):
    """One command. `ref` is the id of the message it answers."""

    name: str
    arguments: tuple[Argument, ...] = ()
    id: int | None = None
    ref: int | None = None


def parse(line: str) -> Message:
    """Return the message of a line; `KalahError` if it is none."""
    match = _HEAD.fullmatch(line)
    if not match:
        raise KalahError(f"{line[:80]!r} is no command")
    number, ref, name, rest = match.groups()
    arguments: list[Argument] = []
    at, rest = 0, rest or ""
    while at < len(rest.rstrip()):
        part = _ARGUMENT.match(rest, at)
        if not part:
            raise KalahError(f"{name}: {rest[at : at + 40]!r} is no argument")
        text, board, real, whole, word = part.groups()
        if text is not None:
            arguments.append(re.sub(r"\\(.)", _unescape, text, flags=re.DOTALL))
        elif real or whole:
            arguments.append(float(real) if real else int(whole))
        else:
            arguments.append(Word(board or word))
        at = part.end()
    return Message(name, tuple(arguments), _whole(number), _whole(ref))


def _unescape(match: re.Match) -> str:
    return {"n": "\n", "t": "\t"}.get(match[1]) or str(match[1])


def _whole(digits: str | None) -> int | None:
    return int(digits) if digits else None


def format_message(message: Message) -> str:
    """Return the line of a message, without its end."""
    head = "" if message.id is None else str(message.id)
    head += "" if message.ref is None else f"@{message.ref}"
    line = " ".join(filter(None, (head, message.name, *map(_format, message.arguments))))
    if len(line) > MAX_LINE - 2:
        raise KalahError(f"KGP: a line has at most {MAX_LINE} characters; {line[:40]!r}... has {len(line)}.")
    return line


def _format(argument: Argument) -> str:
    if isinstance(argument, bool):
        return "true" if argument else "false"
    if isinstance(argument, Word) or not isinstance(argument, str):
        return str(argument)
    shown = "".join(c if c.isprintable() else " " for c in argument)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Wire(Protocol):
    """A connection that carries lines. Everything but a bad line raises `OSError`."""

    def receive(self) -> str | None:
        """Return the next line, or None when the other end has closed; `KalahError` if it is too long."""
        ...

    def send(self, line: str) -> None:
        """Send one line."""
        ...

    def wait_at_most(self, seconds: float | None) -> None:
        """Make `receive` raise `TimeoutError` after so long; None: wait for ever."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def check_url(url: str) -> str:
    """Return `url` with its port, or raise a `KalahError` that says what may stand there."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts = port = None
    if parts is None or parts.scheme not in ("tcp", "ws", "wss") or not parts.hostname:
        raise KalahError(
            f"KGP: {url!r} is no server; give tcp://HOST:PORT, ws://HOST/PATH or wss://HOST/PATH."
        )
    if parts.scheme != "tcp":
        return url
    if parts.path not in ("", "/") or parts.query:
        raise KalahError(f"KGP: {url!r} has a path; a tcp:// server is tcp://HOST:PORT.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"tcp://{host}:{PORT if port is None else port}"


def connect(url: str) -> Wire:
    """Open a connection to a checked URL."""
    parts = urlsplit(url)
    if parts.scheme == "tcp":
        assert parts.hostname is not None
        assert parts.port is not None
        return _Tcp(parts.hostname, parts.port)
    return _WebSocket(url)


class _Tcp:
    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), CONNECT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A peer that has vanished without a word is noticed after some minutes, not never.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 4)):
            if hasattr(socket, name):
                self.socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self.file = self.socket.makefile("rb")

    def receive(self) -> str | None:
        line = self.file.readline(MAX_LINE + 1)
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = self.file.readline(MAX_LINE)
            raise KalahError(f"a line of more than {MAX_LINE} characters")
        return line.decode("utf-8", "replace") if line else None

    def send(self, line: str) -> None:
        self.socket.sendall(f"{line}\r\n".encode())

    def wait_at_most(self, seconds: float | None) -> None:
        self.socket.settimeout(seconds)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


class _WebSocket:
    def __init__(self, url: str) -> None:
        try:
            from websockets.exceptions import ConnectionClosed, WebSocketException
            from websockets.sync.client import connect as open_socket
        except ModuleNotFoundError:
            raise KalahError(
                'KGP: ws:// and wss:// need the package websockets: `pip install "kalah-env[kgp]"`; '
                "tcp:// needs nothing."
            ) from None
        self.closed = ConnectionClosed
        self.stack = ExitStack()
        try:
            self.socket: Any = self.stack.enter_context(
                open_socket(url, open_timeout=CONNECT_SECONDS, close_timeout=2, max_size=_MAX_MESSAGE)
            )
        except WebSocketException as error:
            raise OSError(str(error) or type(error).__name__) from None
        self.lines: deque[str] = deque()
        self.seconds: float | None = None

    def receive(self) -> str | None:
        while not self.lines:
            try:
                message = self.socket.recv(self.seconds)
            except self.closed:
                return None
            text = message if isinstance(message, str) else message.decode("utf-8", "replace")
            self.lines.extend(text.splitlines())
        line = self.lines.popleft()
        if len(line) > MAX_LINE:
            raise KalahError(f"a line of more than {MAX_LINE} characters")
        return line

    def send(self, line: str) -> None:
        try:
            self.socket.send(f"{line}\r\n")
        except self.closed as error:
            raise BrokenPipeError(str(error)) from None

    def wait_at_most(self, seconds: float | None) -> None:
        self.seconds = seconds

    def close(self) -> None:
        self.stack.close()
