"""The Kalah Game Protocol client against a server of the tests' own (`kgp_server.py`).

Lines, games and the self-test stand here; what goes wrong between two machines in `test_kgp_trouble.py`.
"""

import random
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from kgp_server import SECONDS, Board, Server

from agents.base import make_agent
from agents.protocols import kgp_games
from agents.protocols.kgp import Client, Settings, server_url
from agents.protocols.kgp_wire import Message, Word, format_message, parse
from agents.protocols.minds import Minds, own_seconds, set_ms
from kalah_env import batch
from kalah_env.errors import KalahError

SMALL = "<3,0,0,2,2,2,2,2,2>"


class Play:
    """A client in a thread of its own. said: its messages to the operator."""

    def __init__(self, *scripts, agent="greedy", web=False, **settings):
        self.server, self.said = Server(*scripts, web=web), []
        minds = agent if isinstance(agent, Minds) else Minds(agent)
        settings = Settings(self.server.url, **{"wait": 0.01, "seconds": 0.2, **settings})
        self.client = Client(settings, minds, self.said.append)
        self.code = self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            self.code = self.client.run()
        except KalahError as error:
            self.error = str(error)

    def end(self):
        """Wait for the client and the server; return exit code or error."""
        self.thread.join(SECONDS)
        self.server.close()
        assert not self.thread.is_alive()
        return self.error if self.code is None else self.code


class Puppet(Minds):
    """Agents that do what the test says: `act(state)` returns an action."""

    def __init__(self, act, most=4):
        self.act_of = act
        super().__init__("puppet", most)

    def is_new(self, agent, rules):
        return False

    def _make(self):
        self.made += 1

        return SimpleNamespace(spec="puppet", ms=0, act=lambda _, states: np.array([self.act_of(states[0])]))


def bye(peer):
    peer.raw("goodbye\r\n")


# Lines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kgp 1 0 1", Message("kgp", (1, 0, 1))),
        ("2 kgp 1 0 1\r\n", Message("kgp", (1, 0, 1), 2)),
        ("@4 move 1", Message("move", (1,), None, 4)),
        ("6@4 stop", Message("stop", (), 6, 4)),
        (f"8 state {SMALL}\r\n", Message("state", (Word(SMALL),), 8)),
        ('set info:name "a \\"b\\" \\\\ c"', Message("set", (Word("info:name"), 'a "b" \\ c'))),
        ("set time:clock 12", Message("set", (Word("time:clock"), 12))),
        ("eval -.5 +3 4.25", Message("eval", (-0.5, 3, 4.25))),
        ('error ""', Message("error", ("",))),
        ('error "two\\nlines"', Message("error", ("two\nlines",))),
        (" 3  mode   freeplay ", Message("mode", (Word("freeplay"),), 3)),
        ("set x 3abc", Message("set", (Word("x"), Word("3abc")))),
    ],
)
def test_lines_are_read(line, message):
    assert parse(line) == message
    assert [type(a) for a in parse(line).arguments] == [type(a) for a in message.arguments]
    assert parse(format_message(message)) == message._replace(
        arguments=tuple(a.replace("\n", " ") if type(a) is str else a for a in message.arguments)
    )


@pytest.mark.parametrize("line", ["", "?", "4@ move 1", "4@x move", 'set a "b', "state <3,", "move ü", "\0"])
def test_lines_that_are_none_are_refused(line):
    with pytest.raises(KalahError, match="is no"):
        parse(line)


def test_lines_sent_are_within_the_limit_and_on_one_line():
    with pytest.raises(KalahError, match="at most 16384"):
        format_message(Message("set", (Word("info:name"), "x" * 16380)))
    assert format_message(Message("set", (Word("a"), "b\r\n3 goodbye"), 5)) == '5 set a "b  3 goodbye"'
    assert format_message(Message("solution", (Word(SMALL), True), ref=2)) == f"@2 solution {SMALL} true"


def test_where_the_server_is():
    assert server_url("tcp://kalah.example", {}) == "tcp://kalah.example:2671"
    assert server_url("tcp://[::1]:7", {"KGP_HOST": "other"}) == "tcp://[::1]:7"
    assert server_url("wss://kalah.example/socket", {}) == "wss://kalah.example/socket"
    assert server_url(None, {"KGP_HOST": "h", "KGP_PORT": "99"}) == "tcp://h:99"
    assert server_url(None, {"KGP_HOST": "h"}) == "tcp://h:2671"
    assert server_url(None, {"KGP_HOST": "ws://h/socket"}) == "ws://h/socket"
    for wrong in (
        "http://x",
        "tcp://",
        "tcp://h:port",
        "tcp://h:99999",
        "h:2671",
        "tcp://h/path",
        "tcp://[h",
    ):
        with pytest.raises(KalahError, match="tcp://HOST:PORT"):
            server_url(wrong, {})
    with pytest.raises(KalahError, match="set KGP_HOST"):
        server_url(None, {"KGP_PORT": "2671"})


# Boards and the self-test


def test_boards_of_every_size_are_read_and_answered():
    for pits in range(1, 13):
        for stores in ((0, 0), (7, 30)):
            literal = f"<{pits},{stores[0]},{stores[1]},{','.join(['0'] * (pits - 1) + ['3'] * (pits + 1))}>"
            rules, state = kgp_games.read_board(literal)
            assert batch.legal_masks(rules, state[None])[0].tolist() == [0] * (pits - 1) + [1]
            assert kgp_games.quick_move(rules, state) == pits - 1
            assert 1 <= rules.seeds <= 12
    for wrong in ("<13,0,0" + ",1" * 26 + ">", "<3,0,0,1>", "<0,0,0>", "<3,0,0,1,1,1,1,1,5000>"):
        with pytest.raises(KalahError):
            kgp_games.read_board(wrong)
    rules, state = kgp_games.read_board("<3,9,0,0,1,2,0,0,0>")  # over: only another server would ask
    assert kgp_games.quick_move(rules, state) == 1


def test_problem_of_the_protocol_page():
    board = "<6,24,8,0,1,0,0,0,1,3,3,3,3,2,0>"
    assert kgp_games.solve_problem(board, 5) == ("<6,26,22,0,0,0,0,0,0,0,0,0,0,0,0>", True)
    assert kgp_games.solve_problem("<6,9,8,0,1,0,0,0,1,3,3,3,3,2,0>", 1)[1] is False
    assert kgp_games.solve_problem("<3,1,2,1,0,4,0,0,0>", 0) == ("<3,6,2,0,0,0,0,0,0>", False)
    with pytest.raises(KalahError, match="pit 1 of"):
        kgp_games.solve_problem(board, 0)


def random_board(rng, pits):
    most = rng.choice((2, 2 * pits, 4 * pits))
    rows = [[rng.randrange(most) for _ in range(pits)] for _ in range(2)]
    rows[0][rng.randrange(pits)] += 1  # a move there must be
    return Board(rows, [rng.randrange(4 * pits) for _ in range(2)])


def test_verify_answers_random_problems():
    """As the known server makes them: laps and boards that are decided before the move among them."""
    seen = {"again": 0, "decided": 0, "laps": 0}

    def script(peer):
        peer.handshake("verify")
        rng = random.Random(1)
        for _ in range(150):
            board = random_board(rng, rng.randrange(6, 12))
            pit = rng.choice(board.legal(0))
            seen["decided"] += board.over()
            seen["laps"] += board.rows[0][pit] > 2 * len(board.rows[0])
            number = peer.send(f"problem {board} {pit}")
            again = board.sow(0, pit)
            seen["again"] += again
            answer = peer.expect("solution", number)
            assert answer.rest == f"{board} {str(again).lower()}"
            peer.send("ok", answer.id)
        peer.expect("goodbye")

    play = Play(script, mode="verify", problems=150)
    assert play.end() == 0
    assert play.said[-1] == "150 problems, 0 wrong"
    assert min(seen.values()) > 5


def test_verify_says_what_was_wrong():
    def script(peer):
        peer.handshake("verify")
        number = peer.send(f"problem {SMALL} 0")
        peer.send('error "Expected state <3,1>"', peer.expect("solution", number).id)
        bye(peer)

    play = Play(script, mode="verify")
    assert play.end() == 1
    assert f"wrong: problem {SMALL} 0, answered <3,0,0,0,3,3,2,2,2> false: Expected state <3,1>" in play.said


# Games


@pytest.mark.parametrize("web", [False, True])
def test_whole_games(web):
    margins = []

    def script(peer):
        options = peer.handshake()
        assert options["info:name"] == '"my \\"bot\\""'
        assert options["auth:token"] == '"secret"'
        assert options["info:description"]
        for game in range(4):
            number = peer.send("ping")
            peer.expect("pong", number)
            peer.send('set game:opponent "nobody"')
            margins.append(peer.play(6 if game else 3, 4 if game else 2, game % 2, seed=game))
        bye(peer)

    settings = {"name": 'my "bot"', "token": "secret", "description": "greedy"}
    play = Play(script, agent="alphabeta:depth=3", web=web, **settings)
    assert play.end() == 0
    assert len(margins) == 4
    assert sum(margin > 0 for margin in margins) >= 3
    assert sum(line.name == "pong" for line in play.server.peers[0].seen) == 4


def test_a_quick_move_then_the_better_one_then_yield():
    release = threading.Event()

    def act(state):
        assert release.wait(SECONDS)
        return 1

    def script(peer):
        peer.handshake()
        number = peer.send(f"state {SMALL}")
        assert peer.expect("move", number).rest in ("1", "2", "3")
        release.set()
        comment = peer.receive()
        assert (comment.name, comment.rest[:20]) == ("set", 'info:comment "puppet')
        assert peer.expect("move", number).rest == "2"
        peer.expect("yield", number)
        assert peer.ask("<3,0,0,0,2,0,2,2,2>") == [2]  # nothing to choose, nothing to think about
        bye(peer)

    assert Play(script, agent=Puppet(act)).end() == 0


def test_several_states_at_once_never_wait_for_each_other():
    """The first two are answered last."""
    release = threading.Event()

    def act(state):
        if state[0] == 9:
            assert release.wait(SECONDS)
        return int(np.flatnonzero(state[:3])[-1])

    def script(peer):
        peer.handshake()
        slow = [peer.send("state <3,0,0,9,2,2,2,2,2>") for _ in range(2)]
        fast = [peer.send(f"state <3,0,0,{k},2,0,2,2,2>") for k in (1, 2)]
        done = []
        while len(done) < 4:
            line = peer.receive()
            if line.name == "yield":
                done.append(line.ref)
            if set(done) == set(fast):
                release.set()
        assert set(done[:2]) == set(fast)
        assert set(done[2:]) == set(slow)
        bye(peer)

    assert Play(script, agent=Puppet(act), seconds=5.0).end() == 0


def test_where_every_agent_is_busy_the_quick_move_stands():
    release = threading.Event()

    def script(peer):
        peer.handshake()
        first = peer.send(f"state {SMALL}")
        peer.expect("move", first)
        assert len(peer.ask("<3,0,0,1,2,0,2,2,2>")) == 1
        release.set()
        peer.expect("move", first)
        peer.expect("yield", first)
        bye(peer)

    play = Play(script, agent=Puppet(lambda _: release.wait(SECONDS) and 0, most=1))
    assert play.end() == 0
    assert any("every agent is busy" in line for line in play.said)


def test_an_agent_that_has_to_load_first_is_not_late():
    """On a board it has not seen its first move is asked for with the least time, and is sent at once."""
    limits = []

    class Loading(Puppet):
        is_new = Minds.is_new

    def act(state):
        if len(limits) == 0:
            time.sleep(0.6)
        limits.append(minds.agent.ms)
        return 1

    def script(peer):
        peer.handshake()
        other = "<3,0,0,9,9,9,9,9,9>"
        assert [len(peer.ask(board)) for board in (SMALL, SMALL, other)] == [2, 2, 3]
        bye(peer)

    minds = Loading(act)
    minds.agent = minds.first
    assert Play(script, agent=minds, seconds=0.5).end() == 0
    assert limits[0] == 25
    assert limits[1] > 300
    assert limits[2] == 25
    assert len(limits) == 4


def test_agents_that_fail_leave_the_quick_move():
    def act(state):
        if state[0] == 1:
            raise KalahError("not this board.")
        if state[0] == 2:
            raise RuntimeError("a bug")
        return 1 if state[1] == 0 else 0

    def script(peer):
        peer.handshake()
        for board in ("<3,0,0,1,2,2,2,2,2>", "<3,0,0,2,2,2,2,2,2>", "<3,0,0,5,0,2,2,2,2>"):
            assert len(peer.ask(board)) == 1
        bye(peer)

    play = Play(script, agent=Puppet(act))
    assert play.end() == 0
    for word in ("not this board", "RuntimeError: a bug", "answers 1, which is illegal"):
        assert any(word in line for line in play.said), word


def test_time_is_the_text_s_or_the_setting():
    for spec, seconds in (
        ("bot:ms=700", 0.7),
        ("bot", None),
        ("mcts:sims=8", None),
        ("alphabeta:ms=30", 0.03),
    ):
        assert own_seconds(spec, make_agent(spec)) == seconds
    agent = make_agent("alphabeta:ms=30")
    set_ms(agent, 0.2)
    assert agent.limits == {"ms": 200}
    agent = make_agent("alphabeta:depth=3")
    set_ms(agent, 0.2)
    assert agent.limits == {"depth": 3}
    bot = make_agent("bot")
    set_ms(bot, 1e-9)
    assert bot.ms == 1


def test_thinking_fits_what_the_server_leaves():
    """A stop before the answer halves the time from then on; a clock of the server is obeyed."""
    limits = []

    def script(peer):
        peer.handshake()
        number = peer.send(f"state {SMALL}")
        peer.expect("move", number)
        peer.send("stop", number)
        time.sleep(0.1)
        peer.ask("<3,0,0,1,2,2,2,2,2>")
        for option in ("time:mode relative", "time:clock 1"):
            peer.send(f"set {option}")
        peer.ask("<3,0,0,1,2,2,2,2,2>")
        peer.send("set time:mode absolute")
        peer.ask("<3,0,0,1,2,2,2,2,2>")
        bye(peer)

    minds = Puppet(lambda state: time.sleep(0.4) or 0 if state[0] == 2 else 1)
    take = minds.take

    def watch(seconds, rules):
        limits.append(2 * seconds)
        return take(seconds, rules)

    minds.take = watch
    assert Play(script, agent=minds, seconds=3.0).end() == 0
    assert limits[0] == 3.0
    assert 0.05 <= limits[1] < 0.5
    assert limits[2] <= 0.4
    assert limits[3] == pytest.approx(1 / 30)
