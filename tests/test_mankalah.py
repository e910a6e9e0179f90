"""The Manchester engine's messages: its transcripts, its slips, and whole matches with a referee.

The referee is written from the protocol's description; its board is that of `kgp_server.py`, so it
shares no code with the agents' side.
"""

import io
import os
import re
import sys
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
from kgp_server import SECONDS, Board

from agents.base import make_agent
from agents.protocols import mankalah
from agents.protocols.lines import GRACE, MAX_LINE, read_lines
from kalah_env.errors import KalahError
from kalah_env.text import format_position
from train.cli import main

FIRST = "7,7,7,7,7,7,7,0,0,8,8,8,8,8,8,1"
SECOND = "7,0,8,8,8,8,8,1,1,8,8,8,8,8,8,1"
LAST = "CHANGE;7;0,0,0,0,0,0,0,45,0,0,0,0,0,0,0,53;END"


class Scripted:
    """Plays given actions and keeps the positions it was asked in."""

    spec = "scripted"
    ms = 0

    def __init__(self, *actions):
        self.actions, self.asked, self.limits = list(actions), [], []

    def act(self, rules, states):
        self.asked.append(format_position(rules, states[0]))
        self.limits.append(self.ms)
        return np.array([self.actions.pop(0)])


def talk(agent, *lines, seconds=0.01, **options):
    """Return the agent's messages to the engine's lines, and the exit code."""
    sink = io.StringIO()
    code = mankalah.play(agent, io.StringIO("".join(f"{line}\n" for line in lines)), sink, seconds, **options)
    return sink.getvalue().splitlines(), code


def test_transcript_of_the_first_player():
    """He is swapped and goes on as North."""
    agent = Scripted(0, 1, 2)
    third = "7,0,8,8,8,8,8,1,1,8,8,0,9,9,9,2"
    answers, code = talk(
        agent,
        "START;South",
        f"CHANGE;1;{FIRST};OPP",
        f"CHANGE;SWAP;{FIRST};YOU",
        f"CHANGE;2;{SECOND};OPP",
        f"CHANGE;3;{third};YOU",
        LAST,
        "END",
    )
    assert (answers, code) == (["MOVE;1", "MOVE;2", "MOVE;3"], 0)
    assert agent.asked == [
        "<7,0,0,7,7,7,7,7,7,7,7,7,7,7,7,7,7> S first",
        "<7,1,0,0,8,8,8,8,8,8,7,7,7,7,7,7,7> N",
        "<7,2,1,1,8,8,0,9,9,9,7,0,8,8,8,8,8> N",
    ]


def test_transcript_of_the_second_player():
    """He swaps, which the engine does not tell him, and goes on as South."""
    agent = Scripted(7, 1)
    answers, code = talk(agent, "START;North", f"CHANGE;1;{FIRST};YOU", f"CHANGE;2;{SECOND};YOU", "END\r")
    assert (answers, code) == (["SWAP", "MOVE;2"], 0)
    assert agent.asked == [
        "<7,1,0,0,8,8,8,8,8,8,7,7,7,7,7,7,7> N swap",
        "<7,1,1,1,8,8,8,8,8,8,7,0,8,8,8,8,8> S",
    ]


def test_swap_is_offered_once_and_to_the_second_player_only():
    agent = Scripted(1, 2)
    answers, _ = talk(agent, "START;North", f"CHANGE;1;{FIRST};YOU", f"CHANGE;2;{SECOND};YOU", "END")
    assert answers == ["MOVE;2", "MOVE;3"]
    assert [position.endswith("swap") for position in agent.asked] == [True, False]


def test_a_change_is_the_truth_for_the_board():
    agent = Scripted(0)
    strange = "CHANGE;4;1,0,0,0,0,0,0,20,3,0,0,0,0,0,0,30;YOU"
    assert talk(agent, "START;North", "CHANGE;1;" + FIRST + ";OPP", strange, "END")[0] == ["MOVE;1"]
    assert agent.asked[0].startswith("<7,30,20,3,0,0,0,0,0,0,1,0,0,0,0,0,0> N")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([f"CHANGE;1;{FIRST};YOU"], "no message before START"),
        (["START;East"], "no message before START"),
        (["START;North", "START;North"], "no message during a match"),
        (["START;North", "change;1;1;YOU"], "messages are START"),
        (["START;North", f"CHANGE;0;{FIRST};YOU"], "no message"),
        (["START;North", f"CHANGE;8;{FIRST};YOU"], "no message"),
        (["START;North", f"CHANGE;1;{FIRST},1;YOU"], "no message"),
        (["START;North", f"CHANGE;1;{FIRST[:-1]}x;YOU"], "is not a whole number"),
        (["START;North", f"CHANGE;1;-{FIRST};YOU"], "is not a whole number"),
        (["START;North", f"CHANGE;1;{FIRST};ME"], "no message"),
        (["START;North", f"CHANGE;1;{FIRST}"], "no message"),
        (["START;North", "CHANGE;1;0,0,0,0,0,0,0,7,1,0,0,0,0,0,0,7;YOU"], "there is none"),
        (["START;North", LAST, f"CHANGE;1;{FIRST};YOU"], "no message after the end"),
        (["START;North", ""], "no message"),
        (["START;North", "x" * 100_000], r"x\.\.\.' is no message"),
        (["START;North"], "ended before END"),
        ([], "ended before END"),
    ],
)
def test_slips_of_the_engine_are_one_clear_error(lines, says):
    with pytest.raises(KalahError, match=says) as error:
        talk(Scripted(0), *lines)
    assert len(str(error.value)) < 400


def test_an_illegal_answer_of_an_agent_is_never_sent():
    sink = io.StringIO()
    with pytest.raises(KalahError, match="scripted answers 7 in <7,0,0"):
        mankalah.play(Scripted(7), io.StringIO("START;South\nEND\n"), sink, 0.01)
    assert sink.getvalue() == ""


def test_end_alone_and_the_end_of_the_input_after_the_end_are_fine():
    assert talk(Scripted(), "END") == ([], 0)
    assert talk(Scripted(), "START;North", "END") == ([], 0)
    assert talk(Scripted(), "START;North", LAST) == ([], 0)


def test_time_is_shared_out(monkeypatch):
    now = [5.0]
    monkeypatch.setattr(mankalah.time, "monotonic", lambda: now[0])
    agent = Scripted(*[0] * 3)
    again = f"CHANGE;2;{SECOND};YOU"
    agent.act = lambda rules, states, act=agent.act: now.__setitem__(0, now[0] + 1800) or act(rules, states)
    talk(agent, "START;North", again, again, again, "END", seconds=50.0, began=0.0)
    assert agent.limits == [50_000, 44_875, 1]


def test_lines_are_of_bounded_length():
    text = "a\n" + "b" * (3 * MAX_LINE) + "\nc\r\nd"
    assert list(read_lines(io.StringIO(text))) == [
        ("a", True),
        ("b" * MAX_LINE, False),
        ("c", True),
        ("d", True),
    ]


def test_a_thought_ends_with_the_match():
    """It has a moment more, and is not waited for."""
    release = threading.Event()
    for lines, wrong in ((("START;South", "END"), None), (("START;South",), "ended before END")):
        slow = Scripted(0)
        slow.act = lambda rules, states: release.wait(SECONDS)
        began = time.monotonic()
        with nullcontext() if wrong is None else pytest.raises(KalahError, match=wrong):
            assert talk(slow, *lines) == ([], 0)
        assert 0.9 * GRACE < time.monotonic() - began < 10
    release.set()


# Whole matches


class Referee:
    """Plays two engines against each other, as the Manchester engine does; agent 0 is South."""

    def __init__(self, *agents):
        self.board = Board([[7] * 7, [7] * 7])
        self.board.early = False
        self.to, self.back, self.threads, self.errors = [], [], [], []
        for agent in agents:
            (read, to), (back, write) = os.pipe(), os.pipe()
            self.to.append(os.fdopen(to, "w"))
            self.back.append(os.fdopen(back))
            streams = os.fdopen(read), os.fdopen(write, "w")
            self.threads.append(threading.Thread(target=self._engine, args=(agent, *streams), daemon=True))
            self.threads[-1].start()

    def _engine(self, agent, source, sink):
        try:
            with source, sink:
                assert mankalah.play(agent, source, sink, 0.01) == 0
        except Exception as error:
            self.errors.append(error)

    def tell(self, player, line):
        self.to[player].write(f"{line}\n")
        self.to[player].flush()

    def match(self):
        """Return the seeds of the players at the end, and whether there was a swap."""
        sides, mover, count, swapped = [0, 1], 0, 0, False
        self.tell(0, "START;South")
        self.tell(1, "START;North")
        while not self.board.over():
            message = self.back[mover].readline()
            count += 1
            if message == "SWAP\n":
                assert count == 2
                sides.reverse()
                swapped, mover = True, 1 - mover
                self.tell(mover, f"CHANGE;SWAP;{self.numbers()};YOU")
                continue
            pit, side = int(message.removeprefix("MOVE;")), sides[mover]
            again = self.board.sow(side, pit - 1) and count > 1
            mover = mover if again else 1 - mover
            for player in (1 - mover, mover):
                turn = "END" if self.board.over() else "YOU" if player == mover else "OPP"
                self.tell(player, f"CHANGE;{pit};{self.numbers()};{turn}")
        for player in (0, 1):
            self.tell(player, "END")
            self.threads[player].join(SECONDS)
            self.to[player].close()
            self.back[player].close()
        assert self.errors == []
        assert not any(thread.is_alive() for thread in self.threads)
        return [self.board.stores[side] for side in sides], swapped

    def numbers(self):
        (south, north), stores = self.board.rows, self.board.stores
        return ",".join(map(str, (*north, stores[1], *south, stores[0])))


def test_whole_matches_with_and_without_a_swap():
    seen = set()
    for seed in range(6):
        specs = ["random", "alphabeta:depth=2"][:: 1 if seed % 2 else -1]
        seeds, swapped = Referee(*(make_agent(spec, seed) for spec in specs)).match()
        assert sum(seeds) == 98
        assert seeds[specs.index("random")] < 49
        seen.add(swapped)
    assert seen == {False, True}


# The command


def test_the_command(monkeypatch, capsys):
    call = ["engine", "--protocol", "mankalah", "--agent", "greedy"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("START;South\nEND\n"))
    assert main(call) == 0
    out, error = capsys.readouterr()
    assert re.fullmatch("MOVE;[1-7]\n", out)
    assert error == ""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"START;\xff\xfe\n")))
    assert main(call) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("kalah: mankalah: 'START;\ufffd\ufffd' is no message before START")
    assert error.count("\n") == 1


def test_an_engine_whose_games_end_otherwise_still_gets_a_move() -> None:
    """Our row is not empty, the other's is: over for us, while the engine asks for a move."""
    match = mankalah.Match()
    match.read("START;South")
    state = match.read("CHANGE;3;0,0,0,0,0,0,0,30,0,0,11,0,1,3,8,45;YOU")
    assert state is not None
    assert match.last_resort == 2
    with pytest.raises(KalahError, match="there is none"):
        match.read("CHANGE;3;1,0,0,0,0,0,0,30,0,0,0,0,0,0,0,67;YOU")
