"""The UCI-style engine: what it says and when, `stop` and `quit` while it thinks, slips, a whole match."""

import io
import queue
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from test_kgp import Puppet

from agents.alphabeta.search import search
from agents.protocols import uci
from agents.protocols.deepening import Control, iterate
from agents.protocols.uci import Engine
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.records import play_moves
from kalah_env.rules import parse_rules
from kalah_env.text import legal_moves, parse_position
from train.cli import main

ROOT = Path(__file__).resolve().parent.parent
RULES = parse_rules("kalah")
SECONDS = 100.0  # of any wait; an agent may have to be compiled
INFO = re.compile(r"info depth (\d+) score seeds (-?\d+) nodes (\d+) nps \d+ time \d+ pv ([\d ]+)")


class Talk:
    """An engine in a thread of its own, with queues for its input and output."""

    def __init__(self, agent="alphabeta:depth=2", seconds=0.2):
        self.input, self.output = queue.Queue(), queue.Queue()
        puppet = agent if isinstance(agent, Puppet) else None
        self.engine = Engine("greedy" if puppet else agent, seconds, self)
        if puppet:
            self.engine.minds = puppet
            self.engine.warmed = (puppet, RULES)
        self.rest = ""
        self.thread = threading.Thread(target=lambda: self.engine.run(self), daemon=True)
        self.thread.start()

    def readline(self, limit):
        return self.input.get()

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self.output.put(line)

    def flush(self):
        assert self.rest == ""

    def send(self, *lines):
        for line in lines:
            self.input.put(f"{line}\n")

    def until(self, *begins):
        """Return the lines up to the first that begins with one of the words, that one included."""
        lines = [self.output.get(timeout=SECONDS)]
        while not lines[-1].startswith(begins):
            lines.append(self.output.get(timeout=SECONDS))
        return lines

    def ask(self, *lines):
        """Return what is said until the best move."""
        self.send(*lines)
        return self.until("bestmove")

    def end(self, word="quit\n"):
        self.input.put(word)
        self.thread.join(SECONDS)
        assert not self.thread.is_alive()
        return list(self.output.queue)


def test_introduction():
    talk = Talk()
    talk.send("uci", "isready")
    lines = talk.until("readyok")
    assert lines[0] == "id name kalah-env 0.1.0 alphabeta:depth=2"
    assert "option name Rules type string default kalah" in lines
    assert "option name Agent type string default alphabeta:depth=2" in lines
    assert lines[-2:] == ["uciok", "readyok"]
    assert talk.end() == []


def test_depth_is_alpha_beta_s():
    talk = Talk(agent="greedy")
    *infos, best = talk.ask("position startpos moves 3 6", "go depth 7")
    state = parse_position("start", RULES)
    play_moves(RULES, state, ["3", "6"])
    assert len(infos) == 7
    for depth, info in enumerate(infos, 1):
        found = search(RULES, state[None], depth=depth)
        told = INFO.fullmatch(info)
        assert (int(told[1]), int(told[2])) == (depth, found.value[0])
        assert found.best[0, int(told[4].split()[0]) - 1]
        play_moves(RULES, state.copy(), told[4].split())
        assert len(told[4].split()) <= depth
    assert best == f"bestmove {told[4].split()[0]}"
    assert len(told[4].split()) > 3
    talk.end()


def test_the_line_leads_to_its_value():
    """To the end of the game, where the table knows all of it."""
    rules, whole = parse_rules("kalah:pits=3,seeds=2"), 0
    for text in ("start", "<3,2,1,0,2,1,3,1,2> N", "<3,0,0,1,0,3,2,2,2> S"):
        state = parse_position(text, rules)
        *_, found = iterate(rules, state, 40, Control())
        assert found.solved
        side = int(batch.sides(rules, state))
        for action in found.line:
            assert engine.is_legal(rules, state, action)
            engine.play(rules, state, action)
        if batch.statuses(rules, state) == engine.OVER:
            whole += 1
            assert batch.margins(rules, state) * (1 - 2 * side) == found.value
    assert whole > 0


def test_a_search_that_is_stopped_at_once_has_looked_one_ply_ahead():
    control = Control()
    control.stop()
    state = parse_position("start", RULES)
    assert [found.depth for found in iterate(RULES, state, 9, control)] == [1]
    assert list(iterate(RULES, state, 9, Control(nodes=3))) == []


def test_movetime_is_kept_by_every_agent():
    release = threading.Event()
    for agent in ("alphabeta:depth=2", "alphabeta:ms=5", Puppet(lambda _: release.wait(SECONDS) and 0)):
        talk = Talk(agent)
        talk.send("isready")
        talk.until("readyok")
        taken, told = [], 0
        for _ in range(3):  # the shortest: the machine may be busy
            began = time.monotonic()
            *infos, best = talk.ask("go movetime 200")
            taken.append(time.monotonic() - began)
            told += len(infos)
            if infos:  # a busy machine may not get so far
                assert INFO.fullmatch(infos[-1])[4].split()[0] == best.removeprefix("bestmove ")
        assert told
        assert 0.15 <= min(taken) < 0.3
        talk.end()
    release.set()


def test_the_agent_has_the_last_word():
    limits = []
    puppet = Puppet(lambda _: 1)
    take = puppet.take

    def watch(seconds):
        agent = take(seconds)
        act = agent.act
        agent.act = lambda rules, states: limits.append(agent.ms) or act(rules, states)
        return agent

    puppet.take = watch
    talk = Talk(puppet)
    *infos, best = talk.ask("go movetime 800")
    assert best == "bestmove 2"
    assert INFO.fullmatch(infos[0])
    assert re.fullmatch(r"info time \d+ pv 2 string puppet", infos[-1])
    assert 500 <= limits[-1] <= 700
    assert talk.ask("go")[-1] == "bestmove 2"
    assert 100 <= limits[-1] <= 200
    talk.end()


def test_without_limits_the_agent_s_own_hold():
    talk = Talk("alphabeta:depth=3")
    assert [INFO.fullmatch(line)[1] for line in talk.ask("go")[:-1]] == ["1", "2", "3"]
    talk.send("setoption name Agent value alphabeta:nodes=300")
    assert int(INFO.fullmatch(talk.ask("go")[-2])[3]) <= 300
    talk.send("setoption name Agent value greedy")
    assert re.fullmatch(r"info time \d+ pv \d string greedy", talk.ask("go")[-2])
    talk.end()


def test_infinite_thinks_until_stop_and_hears_meanwhile():
    for agent in ("alphabeta:depth=2", "greedy"):
        talk = Talk(agent)
        talk.send("position kalah <6,20,18,0,0,0,1,0,2,0,0,0,0,3,4> S", "go infinite")
        time.sleep(0.1)
        talk.send("isready", "go depth 3")
        lines = talk.until("info string still thinking")
        assert "readyok" in lines
        assert not [line for line in lines if line.startswith("bestmove")]
        began = time.monotonic()
        assert talk.ask("stop")[-1] in ("bestmove 4", "bestmove 6")
        assert time.monotonic() - began < 1
        talk.send("stop", "isready")
        assert talk.until("readyok") == ["readyok"]
        talk.end()


def test_stop_answers_at_once_though_the_agent_thinks_on():
    asked, release = threading.Event(), threading.Event()
    talk = Talk(Puppet(lambda _: asked.set() or (release.wait(SECONDS) and 5)))
    talk.send("go movetime 60000")
    assert asked.wait(SECONDS)
    best = talk.ask("stop")[-1]
    assert best.startswith("bestmove ")
    assert talk.ask("go depth 2")[-1].startswith("bestmove ")
    release.set()
    time.sleep(0.05)
    talk.send("isready")
    assert talk.until("readyok") == ["readyok"]
    talk.end()


def test_quit_while_thinking():
    talk = Talk()
    talk.send("go infinite")
    talk.until("info depth 2")
    assert not [line for line in talk.end() if line.startswith("bestmove")]


def test_the_end_of_the_input_waits_a_while_for_a_limited_search(monkeypatch):
    talk = Talk()
    began = time.monotonic()
    talk.send("go movetime 600")
    assert talk.end("")[-1].startswith("bestmove ")
    assert time.monotonic() - began > 0.5
    monkeypatch.setattr(uci, "PATIENCE", 0.2)
    for limit in ("infinite", "movetime 60000"):
        talk = Talk()
        talk.send(f"go {limit}")
        talk.until("info depth 2")
        began = time.monotonic()
        assert talk.end("")[-1].startswith("bestmove ")
        assert time.monotonic() - began < 10


def test_nobody_hears_of_a_listener_who_has_gone_while_an_agent_thinks(capfd):
    """The thread that thinks has nobody to tell; the one that reads ends as other programs do."""
    command = [sys.executable, "-m", "train.cli", "engine", "--protocol", "uci", "--agent", "greedy"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        process.stdin.write("isready\n")
        assert process.stdout.readline() == "readyok\n"
        process.stdin.write("go movetime 300\n")
        process.stdout.close()
        time.sleep(0.6)
        process.stdin.write("isready\n")
        assert process.wait(SECONDS) == 141
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("protocol", "first", "answer", "ask", "last"),
    [
        ("uci", "isready", "readyok", "go", "quit"),
        (
            "mankalah",
            "START;North\nCHANGE;3;0,0,1,0,0,0,0,40,0,0,0,0,0,0,0,57;YOU",  # over by our rules: no thought
            "MOVE;3",
            "CHANGE;1;7,7,7,7,7,7,7,0,0,8,8,8,8,8,8,1;YOU",
            "END",
        ),
    ],
)
def test_the_program_ends_at_once_while_an_agent_thinks(protocol, first, answer, ask, last):
    """For minutes, in a pool of threads that Python would wait for."""
    agent = ["--protocol", protocol, "--agent", "mcts:sims=1000000"]
    command = [sys.executable, "-m", "train.cli", "engine", *agent]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        process.stdin.write(f"{first}\n")
        assert process.stdout.readline() == f"{answer}\n"
        process.stdin.write(f"{ask}\n")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        began = time.monotonic()
        process.stdin.write(f"{last}\n")
        assert process.wait(SECONDS) == 0
        assert time.monotonic() - began < 1
        assert process.stdout.read() == ""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello", "unknown command: hello"),
        ("position", "a position is `startpos` or"),
        ("position fen x", "setoption name Rules value SPEC"),
        ("position kalah <6,0,0>", "numbers"),
        ("position startpos moves 9", "move '9' is illegal"),
        ("position startpos moves 3 3", "move '3' is illegal"),
        ("setoption name Rules value chess", "there is no preset 'chess'"),
        ("setoption name Agent value nobody", "there is no 'nobody'"),
        ("setoption name Hash value 5", "no option Hash"),
        ("setoption", "setoption is followed by"),
        ("go depth many", "go: depth needs a whole number and is left out"),
        ("go ponder depth 1", "go: ponder is not understood"),
        ("\ufffd\0", "unknown command"),
        ("x" * 70_000, "more than 65536 characters"),
    ],
)
def test_slips_are_one_info_string_and_it_carries_on(line, says):
    talk = Talk()
    talk.engine.run(source := io.StringIO(f"{line}\n"))
    assert source.read() == ""
    lines = talk.until("info string")
    assert says in lines[-1]
    assert len(lines) == 1
    answer = talk.ask("position startpos", "go depth 1")
    assert answer[-1].startswith("bestmove ")
    talk.end()


def test_where_there_is_no_move():
    talk = Talk()
    talk.send("position startpos moves 3 3")
    talk.until("info string")
    assert talk.ask("go depth 3") == [
        "info string there is no position, since the last one could not be used",
        "bestmove (none)",
    ]
    over = talk.ask("position kalah <6,30,18,0,0,0,0,0,0,0,0,0,0,0,0> S", "go infinite")
    assert over == ["info string the game is over", "bestmove (none)"]
    talk.end()


def test_an_agent_that_cannot_is_told_and_alpha_beta_answers():
    def act(_):
        raise KalahError("not this board.")

    for agent, says in (
        (Puppet(act), "not this board."),
        (Puppet(lambda _: 6), "answers 6, which is illegal."),
    ):
        *infos, best = (talk := Talk(agent)).ask("go movetime 1000")
        assert infos[-1].endswith(says)
        assert best == f"bestmove {INFO.fullmatch(infos[-2])[4].split()[0]}"
        talk.end()


@pytest.mark.parametrize("spec", ["mankalah:pits=3,seeds=2", "bao-philos:pits=6", "openspiel-oware:pits=3"])
def test_rules_by_option(spec):
    rules = parse_rules(spec)
    state, moves = parse_position("start", rules), []
    talk = Talk()
    talk.send(f"setoption name Rules value {spec}")
    for _ in range(8):
        if batch.statuses(rules, state) != engine.RUNNING:
            break
        move = talk.ask(f"position startpos moves {' '.join(moves)}", "go depth 3")[-1].split()[1]
        assert move in legal_moves(rules, state)
        moves.append(move)
        play_moves(rules, state, [move])
    assert len(moves) > 2
    talk.end()


def test_a_whole_match():
    """Alpha-beta of three plies against greedy, both behind the protocol."""
    talks, seeds = (Talk("alphabeta:depth=3"), Talk("greedy")), [0, 0]
    for first in (0, 1):
        state, moves = parse_position("start", RULES), []
        while batch.statuses(RULES, state) == engine.RUNNING:
            talk = talks[first ^ int(batch.sides(RULES, state))]
            talk.send("ucinewgame", f"position startpos moves {' '.join(moves)}")
            moves.append(talk.ask("go")[-1].split()[1])
            play_moves(RULES, state, moves[-1:])
        seeds[first] += int(state[6])
        seeds[1 - first] += int(state[13])
    assert sum(seeds) == 96
    assert seeds[0] > seeds[1]
    for talk in talks:
        assert talk.end() == []


def test_the_command(monkeypatch, capsys):
    text = "uci\nposition startpos moves 3\ngo depth 2\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["engine", "--protocol", "uci", "--agent", "greedy"]) == 0
    out, error = capsys.readouterr()
    assert out.splitlines()[-1].startswith("bestmove ")
    assert "uciok" in out.splitlines()
    assert error == ""
    assert main(["engine", "--protocol", "uci", "--agent", "nobody"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
