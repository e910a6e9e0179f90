"""The agent `perfect`, and the commands `kalah solve` and `kalah endgame`. The solver: `test_solver.py`."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.base import make_agent
from agents.solver import agent as module
from agents.solver.prover import INTERRUPTED, Budget
from kalah_env import KalahError, batch, parse_rules
from train.cli import main
from train.commands import solve
from train.grade import grade
from train.suites import load_suite


def test_plays_only_best_moves():
    suite = load_suite("kalah-3x3").take(np.arange(120))
    perfect = make_agent("perfect:memory=8")
    assert grade(perfect, suite).regrets.max() == 0
    assert (perfect.asked, perfect.proved) == (120, 120)  # pyright: ignore


def test_without_a_proof_it_searches_and_counts_that():
    rules = parse_rules("kalah")
    perfect = make_agent("perfect:nodes=50,memory=8")
    actions = perfect.act(rules, batch.new_games(rules, 2))
    assert (perfect.asked, perfect.proved) == (2, 0)  # pyright: ignore
    assert set(actions.tolist()) <= set(range(6))
    batch.step(rules, batch.new_games(rules, 2), actions)  # legal


def test_ctrl_c_is_not_taken_for_a_limit(monkeypatch):
    def interrupted(self: object, state: np.ndarray, budget: Budget) -> None:
        budget.why = INTERRUPTED

    monkeypatch.setattr(module.Solver, "best_action", interrupted)
    rules = parse_rules("kalah:pits=3")
    with pytest.raises(KeyboardInterrupt):
        make_agent("perfect:memory=8").act(rules, batch.new_games(rules, 1))


@pytest.mark.parametrize(
    ("option", "named"), [("ms=0", "ms=0"), ("nodes=0", "nodes=0"), ("memory=0", "memory=0")]
)
def test_limits_out_of_range_are_named_as_given(option, named):
    with pytest.raises(KalahError, match=f"agent perfect: {named} is out of range"):
        make_agent(f"perfect:{option}")


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path))
    return tmp_path


def test_solve_answers_in_json(tables, capsys):
    assert main(["solve", "start", "--rules", "kalah:pits=3,seeds=3", "--memory", "8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["value"], answer["solved"], answer["stopped"]) == (2, True, None)
    assert answer["moves"] == {"1": 2, "2": 2, "3": -4}
    assert len(answer["line"]) > 3
    assert answer["hits"] > 0


def test_solve_says_where_it_may_never_end_and_that_it_goes_on(tables, capsys, monkeypatch):
    words = ["solve", "start", "--rules", "kalaha-philos:pits=2,seeds=1"]
    assert main(words) == 0
    out, error = capsys.readouterr()
    assert out.startswith("value: +2")
    assert error.startswith("kalah: no proof search covers these rules: they need sow_store=own")
    assert error.count("\n") == 1
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(solve, "TELL_SECONDS", 0.2)
    assert main(["solve", "start", "--rules", "kalaha-philos:pits=4,seeds=3", "--seconds", "2"]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("not solved (out of time): between -24 and +24")
    first, *others = error.splitlines()
    assert first == "solving; Ctrl-C shows what is proved by then"
    assert others
    assert all(re.fullmatch(r"solving for \d+ s", line) for line in others)


def test_solve_gives_bounds_where_it_must_stop(tables, capsys):
    assert main(["solve", "start", "--nodes", "10", "--memory", "8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "value" not in answer
    assert answer["solved"] is False
    assert answer["bounds"][0] <= 8 <= answer["bounds"][1]
    assert answer["stopped"] == "out of nodes"


def test_endgame_builds_lists_and_rebuilds(tables, capsys):
    call = ["endgame", "--rules", "kalah:pits=3", "--seeds", "6", "--json"]
    answers = []
    for more in ([], [], ["--rebuild"]):
        assert main([*call, *more]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert [answer["built"] for answer in answers] == [True, False, True]
    assert answers[0]["boards"] == 924  # C(12, 6)
    path = Path(answers[0]["path"])
    path.write_bytes(path.read_bytes()[:-1])
    path.with_name("x.endgame").write_bytes(b"x")
    assert main(["endgame", "--json"]) == 1
    errors = [table["error"] for table in json.loads(capsys.readouterr().out)["tables"]]
    assert len(errors) == 2
    assert all("damaged" in error for error in errors)
    assert main([*call, "--rebuild"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["endgame", "--rebuild"], "give --seeds"),
        (["endgame", "--rules", "kalaha-philos", "--seeds", "4"], "sow_store=own"),
        (["endgame", "--seeds", "60"], "at most"),
        (["solve", "<3,9,9,0,0,0,0,0,0> S", "--rules", "kalah:pits=3"], "the game is over"),
    ],
)
def test_slips_are_told(tables, capsys, words, said):
    assert main(words) == 2
    assert said in capsys.readouterr().err
