"""A Kalah Game Protocol server on loopback, written from the protocol's description, for tests only.

Every connection runs a script of the test, which may misbehave. It shares no code with the client: rules
(`Board`), lines and ids are its own. Every wait has a limit, and what goes wrong in a script is raised
by `close`.
"""

import random
import re
import socket
import threading
from typing import NamedTuple

SECONDS = 60.0  # of any wait
LINE = re.compile(r"(?:(\d*)(?:@(\d+))? )?([a-z]+)(?: (.*))?\r\n")


class Line(NamedTuple):
    id: int
    ref: int | None
    name: str
    rest: str


class Board:
    """Kalah as the known server plays it: over and swept once a store holds more than half (`early`)."""

    early = True

    def __init__(self, rows, stores=(0, 0)):
        self.rows, self.stores = [list(rows[0]), list(rows[1])], list(stores)

    def __str__(self):
        numbers = [len(self.rows[0]), *self.stores, *self.rows[0], *self.rows[1]]
        return f"<{','.join(map(str, numbers))}>"

    def legal(self, side):
        return [pit for pit, seeds in enumerate(self.rows[side]) if seeds]

    def seen_by(self, side):
        return self if side == 0 else Board(self.rows[::-1], self.stores[::-1])

    def over(self):
        most = sum(map(sum, self.rows)) + sum(self.stores)
        return not (any(self.rows[0]) and any(self.rows[1])) or (self.early and 2 * max(self.stores) > most)

    def sow(self, side, pit):
        """Play a move; say whether the last seed fell into the own store."""
        hand, self.rows[side][pit] = self.rows[side][pit], 0
        assert hand, f"{self}: pit {pit + 1} of side {side} is empty"
        size, row, at = len(self.rows[0]), side, pit + 1
        while True:
            if at < size:
                self.rows[row][at] += 1
            elif row == side:
                self.stores[side] += 1
            else:
                row, at = 1 - row, 0
                continue
            hand -= 1
            if not hand:
                break
            row, at = (1 - row, 0) if at == size else (row, at + 1)
        facing = self.rows[1 - side]
        if row == side and at < size and self.rows[side][at] == 1 and facing[size - 1 - at]:
            self.stores[side] += 1 + facing[size - 1 - at]
            self.rows[side][at] = facing[size - 1 - at] = 0
        if self.over():
            self.stores = [store + sum(seeds) for store, seeds in zip(self.stores, self.rows, strict=True)]
            self.rows = [[0] * size, [0] * size]
        return row == side and at == size


class Peer:
    """The server's end of one connection."""

    def __init__(self, read, write):
        self._read, self._write = read, write
        self.last_id, self.seen = 0, []
        self.lock = threading.Lock()

    def raw(self, text):
        self._write(text)

    def send(self, text, ref=None):
        with self.lock:
            self.last_id += 2
            number = self.last_id
        self.raw(f"{number}{'' if ref is None else f'@{ref}'} {text}\r\n")
        return number

    def receive(self):
        """Return the next line; None when the client has closed."""
        text = self._read()
        if not text:
            return None
        assert len(text) <= 16384
        match = LINE.fullmatch(text)
        assert match, f"malformed: {text!r}"
        line = Line(int(match[1]), int(match[2]) if match[2] else None, match[3], match[4] or "")
        assert line.id % 2 == 1, f"even id: {text!r}"
        assert line.id not in [old.id for old in self.seen], f"id used twice: {text!r}"
        self.seen.append(line)
        return line

    def expect(self, name, ref=None):
        """Return the next line but for comments; it must be `name`, with this reference if one is given."""
        while (line := self.receive()) is not None and line.rest.startswith("info:comment"):
            pass
        assert line is not None, f"closed in place of {name}"
        assert line.name == name, f"{line} in place of {name}"
        assert ref is None or line.ref == ref, f"{line} in place of @{ref}"
        return line

    def handshake(self, mode="freeplay", version="1 0 1"):
        """Greet and read until the mode; return what was set, by option."""
        self.send(f"kgp {version}")
        options = {}
        while (line := self.receive()) is not None and line.name == "set":
            key, _, value = line.rest.partition(" ")
            options[key] = value
        assert line is not None
        assert (line.name, line.rest) == ("mode", mode)
        self.send("ok", line.id)
        return options

    def ask(self, board):
        """Send a state; return the moves that came before `yield`, and stop."""
        number, moves = self.send(f"state {board}"), []
        while (line := self.expect_any("move", "yield", ref=number)).name == "move":
            moves.append(int(line.rest))
        self.send("stop", number)
        return moves

    def expect_any(self, *names, ref):
        while (line := self.receive()) is not None and line.rest.startswith("info:comment"):
            pass
        assert line is not None, f"closed in place of {names}"
        assert line.name in names, line
        assert line.ref == ref, line
        return line

    def play(self, pits, seeds, client, seed):
        """Play a whole game, the client at side `client`, against random moves; return its seeds minus ours.

        Forced moves are played without asking.
        """
        board, side, rng = Board([[seeds] * pits] * 2), 0, random.Random(seed)
        while not board.over():
            legal = board.legal(side)
            pit = rng.choice(legal)
            if side == client and len(legal) > 1:
                pit = self.ask(board.seen_by(side))[-1] - 1
                assert pit in legal, f"{pit + 1} is illegal in {board.seen_by(side)}"
            if not board.sow(side, pit):
                side = 1 - side
        return board.stores[client] - board.stores[1 - client]


class Server:
    """Listens on a port of its own; the n-th connection runs the n-th script, the last one all others."""

    def __init__(self, *scripts, web=False):
        self.scripts, self.errors, self.peers, self.threads = scripts, [], [], []
        if web:
            self._listen_web()
        else:
            self._listen_tcp()

    def _listen_tcp(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self.socket.getsockname()[1]}"
        self.stop = self.socket.close

        def accept():
            while True:
                try:
                    connection, _ = self.socket.accept()
                except OSError:
                    return
                thread = threading.Thread(target=self._serve_tcp, args=(connection,), daemon=True)
                self.threads.append(thread)
                thread.start()

        threading.Thread(target=accept, daemon=True).start()

    def _serve_tcp(self, connection):
        connection.settimeout(SECONDS)
        with connection, connection.makefile("r", newline="", encoding="utf-8") as file:
            self._run(
                Peer(file.readline, lambda text: connection.sendall(text.encode("utf-8", "surrogateescape")))
            )

    def _listen_web(self):
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.server import serve

        def handle(connection):
            def read():
                try:
                    return connection.recv(SECONDS)
                except ConnectionClosed:
                    return ""

            self._run(Peer(read, connection.send))

        self.web = serve(handle, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self.web.socket.getsockname()[1]}/socket"
        self.stop = self.web.shutdown
        thread = threading.Thread(target=self.web.serve_forever, daemon=True)
        thread.start()

    def _run(self, peer):
        script = self.scripts[min(len(self.peers), len(self.scripts) - 1)]
        self.peers.append(peer)
        try:
            script(peer)
        except Exception as error:
            self.errors.append(error)

    def close(self):
        """Stop listening, wait for the scripts, raise the first thing that went wrong in one."""
        self.stop()
        for thread in self.threads:
            thread.join(SECONDS)
        if self.errors:
            raise self.errors[0]
