"""The Kalah Game Protocol client where server or network misbehave: it plays on, or says why not.

The server is the tests' own (`kgp_server.py`). Well-behaved sessions: `test_kgp.py`.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from kgp_server import SECONDS, Peer, Server
from test_kgp import SMALL, Play, Puppet, bye

from agents.protocols import kgp_games
from kalah_env.errors import KalahError
from train.cli import main

ROOT = Path(__file__).parent.parent
OTHER = "<3,0,0,1,2,2,2,2,2>"


def moves_until_yield(peer, number):
    moves = []
    while (line := peer.expect_any("move", "yield", ref=number)).name == "move":
        moves.append(int(line.rest))
    return moves


@pytest.mark.parametrize("named", ["message", "state", "nothing"])
def test_a_refused_move_is_sent_again(named):
    """The known server refuses what comes before it has registered its own state."""

    def script(peer):
        peer.handshake()
        number = peer.send(f"state {SMALL}")
        refused, accepted = 0, []
        while refused < 5:
            line = peer.expect_any("move", "yield", ref=number)
            refused += 1
            ref = {"message": line.id, "state": number, "nothing": None}[named]
            peer.send('error "No state associated with id"', ref)
        # A yield whose move has been refused may come first: both are sent again.
        while (line := peer.expect_any("move", "yield", ref=number)).name == "move" or not accepted:
            accepted += [int(line.rest)] if line.name == "move" else []
        assert accepted[-1] == 2
        peer.send("stop", number)
        bye(peer)

    assert Play(script, agent=Puppet(lambda _: 1)).end() == 0


@pytest.mark.parametrize("named", ["mode", "another"])
def test_what_was_no_move_makes_no_move_be_sent_again(named):
    def script(peer):
        peer.handshake()
        number = peer.send(f"state {SMALL}")
        moves_until_yield(peer, number)
        mode = next(line.id for line in peer.seen if line.name == "mode")
        peer.send('error "No state associated with id"', {"mode": mode, "another": 99_999}[named])
        time.sleep(0.2)
        ping = peer.send("ping")
        assert peer.receive().ref == ping  # nothing before it
        peer.send("stop", number)
        bye(peer)

    assert Play(script, agent=Puppet(lambda _: 1)).end() == 0


def test_a_server_that_refuses_for_ever_is_not_flooded(monkeypatch):
    monkeypatch.setattr(kgp_games, "_RETRY", 0.0)

    def script(peer):
        peer.handshake()
        number = peer.send(f"state {SMALL}")
        pinged, count = False, 0
        while (line := peer.receive()).name != "pong":
            if line.name == "move":
                count += 1
                peer.send('error "No state associated with id"', line.id)
            elif line.name == "yield" and not pinged:
                pinged = True
                threading.Timer(0.3, lambda: peer.send("ping")).start()
        assert 3 < count < 30
        peer.send("stop", number)
        bye(peer)

    assert Play(script, agent=Puppet(lambda _: 1)).end() == 0


def test_nothing_is_sent_after_a_stop():
    release = threading.Event()

    def script(peer):
        peer.handshake()
        number = peer.send(f"state {SMALL}")
        peer.expect("move", number)
        peer.send("stop", number)
        peer.expect("pong", peer.send("ping"))
        release.set()
        time.sleep(0.1)
        assert peer.ask(OTHER)[-1] == 2
        assert [line.ref for line in peer.seen if line.name == "move"].count(number) == 1
        assert number not in [line.ref for line in peer.seen if line.name == "yield"]
        bye(peer)

    play = Play(script, agent=Puppet(lambda state: release.wait(SECONDS) and 1 if state[0] == 2 else 1))
    assert play.end() == 0


def test_stops_and_ids_in_any_order():
    """A stop for nothing, a state twice, a state and its stop at once, ids that jump."""

    def script(peer):
        peer.handshake()
        peer.send("stop", 400)
        peer.raw(f"1000 state {SMALL}\r\n1002@1000 stop\r\n")
        peer.raw(f"900 state {OTHER}\r\n900 state {OTHER}\r\n10 state {SMALL}\r\n")
        done = set()
        while len(done) < 2:
            line = peer.receive()
            assert line.ref in (900, 10) or line.rest.startswith("info:comment")
            done |= {line.ref} if line.name == "yield" else set()
        peer.raw("902@900 stop\r\n904@10 stop\r\n")
        peer.expect("pong", peer.send("ping"))
        bye(peer)

    play = Play(script, agent=Puppet(lambda _: 1))
    assert play.end() == 0
    assert "state 900 came twice; the second one is ignored" in play.said


def test_garbage_and_unknown_things_are_passed_over():
    def script(peer):
        peer.raw("hello? <html>\r\n")
        peer.handshake()
        for text in (
            "set no:such 5",
            'set "',
            "set time:clock never",
            "sing",
            "state",
            "state 5",
            "problem 1 2",
        ):
            peer.send(text)
        for line in (f"state {SMALL}", "ping", "\0\xff\r", "", "7@ x", "x" * 40000, "42", "\udcff\udcfe"):
            peer.raw(f"{line}\r\n")
        peer.send("state <13,0,0,1>")
        assert peer.expect("error").ref == peer.last_id
        assert peer.ask(SMALL)[-1] == 2
        bye(peer)

    play = Play(script, agent=Puppet(lambda _: 1))
    assert play.end() == 0
    assert not [line for line in play.server.peers[0].seen if line.name == "pong"]
    assert "ignored: a line of more than 16384 characters" in play.said
    assert all(len(line) < 300 for line in play.said)


def test_a_slow_network_that_sends_byte_by_byte():
    def script(peer):
        peer.handshake()
        for byte in f"2000 state {SMALL}\r\n":
            peer.raw(byte)
            time.sleep(0.005)
        assert moves_until_yield(peer, 2000)[-1] == 2
        bye(peer)

    assert Play(script, agent=Puppet(lambda _: 1)).end() == 0


def test_a_dropped_connection_is_made_again():
    """Dropped in the greeting, in the middle of a line, and while a state is open."""

    def in_a_line(peer):
        peer.handshake()
        peer.raw("8 state <3,0,0")

    def with_an_open_state(peer):
        peer.handshake()
        peer.expect("move", peer.send(f"state {SMALL}"))

    def whole(peer):
        peer.handshake()
        assert peer.ask(OTHER)[-1] == 3
        bye(peer)

    puppet = Puppet(lambda state: time.sleep(0.2) or 1 if state[0] == 2 else 2)
    play = Play(lambda peer: None, in_a_line, with_an_open_state, whole, agent=puppet, tries=2)
    assert play.end() == 0
    assert len(play.server.peers) == 4
    assert [peer.seen[0].id for peer in play.server.peers[1:]] == [1, 1, 1]


def test_it_gives_up_after_so_many_failures():
    play = Play(lambda peer: None, tries=4)
    assert "closed the connection; given up after 4 failures in a row" in str(play.end())
    waits = [line.rpartition("next try in ")[2] for line in play.said]
    assert len(waits) == 3
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    play.client.settings = play.client.settings.__class__(f"tcp://127.0.0.1:{port}", tries=1)
    with pytest.raises(KalahError, match="refused"):
        play.client.run()


def test_it_waits_longer_each_time(monkeypatch):
    waits = []
    monkeypatch.setattr("agents.protocols.kgp.time.sleep", waits.append)
    assert "given up" in str(Play(lambda peer: None, tries=9, wait=1.0).end())
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_server_that_says_nothing_is_left(monkeypatch):
    monkeypatch.setattr("agents.protocols.kgp.GREETING_SECONDS", 0.05)
    assert "timed out; given up" in str(Play(lambda peer: peer.receive(), tries=1).end())


@pytest.mark.parametrize(
    ("greeting", "says"),
    [
        ("2 kgp 2 0 0\r\n", "speaks version 2.0.0"),
        ("kgp\r\n", "speaks version unknown"),
        ('kgp 1 0 1\r\n4 error "full"\r\ngoodbye\r\n', "goodbye instead of a game: full"),
    ],
)
def test_a_server_that_will_not_have_us_is_one_clear_error(greeting, says):
    def script(peer):
        peer.raw(greeting)
        while peer.receive() is not None:
            pass

    play = Play(script)
    assert says in str(play.end())
    assert play.server.peers[0].seen[-1].name == "goodbye"


def test_a_refused_mode_is_one_clear_error():
    def script(peer):
        peer.send("kgp 1 0 1")
        peer.send('error "Unsupported mode %q" "verify"', peer.expect("mode").id)
        peer.expect("goodbye")

    assert "refuses mode verify: Unsupported mode %q verify" in str(Play(script, mode="verify").end())


def test_a_hundred_states_at_once():
    """Each is answered, by a few agents and few threads at the end."""

    def script(peer):
        peer.handshake()
        numbers = [peer.send(f"state {SMALL}") for _ in range(100)]
        answered, done = set(), set()
        while len(done) < 100:
            line = peer.receive()
            answered |= {line.ref} if line.name == "move" else set()
            done |= {line.ref} if line.name == "yield" else set()
        assert answered == done == set(numbers)
        bye(peer)

    play = Play(script, agent=Puppet(lambda _: 1))
    assert play.end() == 0
    assert play.client.minds.made <= 4


# The command


def test_bad_calls_are_one_line(capsys, monkeypatch):
    for name in ("KGP_HOST", "KGP_PORT", "TOKEN"):
        monkeypatch.delenv(name, raising=False)
    calls = {
        "--protocol kgp": "set KGP_HOST",
        "--protocol kgp --url http://x": "tcp://HOST:PORT",
        "--protocol kgp --url tcp://x --agent nobody": "there is no 'nobody'",
        "--protocol kgp --url tcp://x --ms 0": "1 to",
        "--protocol uci --url tcp://x": "--url is for --protocol kgp",
        "--protocol kgp --url tcp://x --problems 4": "--problems is for --mode verify",
        "--protocol kgp --url tcp://x --mode freeplay --problems 4": "--problems is for --mode verify",
        "--protocol xboard": "invalid choice",
        "": "--protocol",
    }
    for call, says in calls.items():
        assert main(["engine", *call.split()]) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count("\n") == 1


def test_without_websockets_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "websockets.exceptions", None)
    play = Play(bye, web=False)
    play.end()
    play.client.settings = play.client.settings.__class__("ws://127.0.0.1:1/socket")
    with pytest.raises(KalahError, match=r"kalah-env\[kgp\]"):
        play.client.run()


def test_ctrl_c_says_goodbye_and_ends_with_130():
    playing, said = threading.Event(), []

    def script(peer: Peer):
        said.append(peer.handshake())
        said.append(peer.ask(SMALL))
        playing.set()
        peer.expect("goodbye")
        assert peer.receive() is None

    server = Server(script)
    host, port = server.url.removeprefix("tcp://").split(":")
    environment = {**os.environ, "KGP_HOST": host, "KGP_PORT": port, "TOKEN": "secret"}
    command = [sys.executable, "-m", "train.cli", "engine", "--protocol", "kgp", "--agent", "greedy"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert playing.wait(90)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "kalah: stopped by Ctrl-C."
    server.close()
    assert said[0]["auth:token"] == '"secret"'
    assert said[0]["info:name"] == '"kalah-env"'
    assert said[1]
