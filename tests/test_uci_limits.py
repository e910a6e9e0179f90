"""The UCI-style engine: what the limits of `go` mean, and those that are none. All else: `test_uci.py`."""

import io
import re

import pytest
from test_uci import INFO, Talk

from agents.alphabeta.agent import MAX_MS
from agents.protocols import uci
from agents.protocols.uci import Engine
from agents.protocols.uci_job import Limits
from kalah_env.errors import KalahError


def test_nodes_are_a_limit():
    talk = Talk()
    *infos, best = talk.ask("go nodes 500")
    assert int(INFO.fullmatch(infos[-1])[3]) <= 500
    assert len(infos) > 2
    assert best.startswith("bestmove")
    assert talk.ask("go nodes 1")[-1].removeprefix("bestmove ") in "123456"
    assert uci._with_simulations("mcts:c=1,sims=8", 50) == "mcts:c=1,sims=50"
    assert uci._with_simulations("bot:ms=10", 50) is None
    with pytest.raises(KalahError, match="out of range"):
        uci._with_simulations("mcts:sims=8", 10**9)
    talk.send("setoption name Agent value mcts:sims=8")
    for more in ("", " movetime 60000"):
        told = talk.ask(f"go nodes 40{more}")[-2]
        assert re.fullmatch(r"info time \d+ pv \d string mcts:sims=40", told)
    talk.end()


def test_clock_is_shared_out():
    engine_ = Engine("greedy", 1.0, io.StringIO())
    engine_._position(["startpos", "moves", "3", "6"])  # North is to move

    def seconds(words):
        return engine_._limits(words.split()).seconds

    assert seconds("wtime 9000 btime 3100 binc 100") == pytest.approx(0.18)
    assert seconds("btime 3100 movestogo 9") == pytest.approx(0.31)
    assert seconds("btime 100 binc 5000") == pytest.approx(0.05)
    assert seconds("btime -40") == pytest.approx(0.001)
    assert seconds("wtime 9000") is None
    assert engine_._limits(["movetime", "500", "depth", "4", "nodes", "7"]) == Limits(4, 7, 0.5)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ("depth 0", "depth is 1 to 250; 0 is taken as 1"),
        ("depth -7 movetime 50", "depth is 1 to 250; -7 is taken as 1"),
        (f"depth 3 nodes {'9' * 5000}", "nodes is 1 to 1000000000000; 99999999999999999999 is taken as"),
        ("nodes 0", "nodes is 1 to 1000000000000; 0 is taken as 1"),
        ("nodes -1", "nodes is 1 to 1000000000000; -1 is taken as 1"),
        ("movetime -100", "movetime is 1 to 10000000; -100 is taken as 1"),
        ("movetime 0", "movetime is 1 to 10000000; 0 is taken as 1"),
        (
            f"depth 2 movetime {10**30}",
            "movetime is 1 to 10000000; 10000000000000000000 is taken as 10000000",
        ),
        ("movetime soon depth 2", "movetime needs a whole number and is left out"),
        ("movetime 1.5 depth 2", "movetime needs a whole number and is left out"),
        ("nodes --5 depth 2", "nodes needs a whole number and is left out"),
        ("depth", "depth needs a whole number and is left out"),
        ("nodes depth 2", "nodes needs a whole number and is left out"),
        ("wtime -5", "wtime is 0 to 1000000000; -5 is taken as 0"),
        ("wtime 300 movestogo 0", "movestogo is 1 to 1000; 0 is taken as 1"),
    ],
)
def test_a_limit_out_of_range_is_said_and_there_is_one_best_move(limits, says):
    talk = Talk()
    lines = talk.ask(f"go {limits}")
    strings = [line for line in lines if line.startswith("info string")]
    assert len(strings) == 1
    assert strings[0].startswith(f"info string go: {says}")
    assert lines[-1].removeprefix("bestmove ") in "123456"
    talk.send("isready")
    assert talk.until("readyok") == ["readyok"]
    talk.end()


def test_agents_never_hear_of_a_limit_that_they_refuse():
    talk = Talk("mcts:sims=8")
    lines = talk.ask(f"go nodes {10**9}")
    assert "out of range" in lines[0]
    assert [line for line in lines if line.startswith("bestmove")] == lines[-1:]
    assert talk.engine._limits(["movetime", str(10**15)]).seconds == MAX_MS / 1000
    assert talk.engine._limits(["wtime", str(10**15), "movestogo", "1"]).seconds == MAX_MS / 1000
    talk.end()
