"""Making suites: the same bytes however it is made, quotas kept, every value exact."""

import json
from collections import Counter

import numpy as np
import pytest
from families import action_values

from agents import endgame
from kalah_env import KalahError, batch, parse_rules, text
from train import label
from train.cli import main
from train.label import SOURCES, Band, make_suite, parse_bands, with_agents
from train.suites import ILLEGAL, read_suite, state_key

RULES = parse_rules("kalah:pits=3,seeds=2")
BANDS = [Band(3, 6, 12), Band(7, 12, 10)]
ABOUT = {"seed": 3, "command": "kalah label x"}


@pytest.fixture(autouse=True)
def no_tables_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path / "tables"))
    monkeypatch.setattr(endgame, "SMALL", 2000)
    # A round of 96 games would bring all that these boards have.
    monkeypatch.setattr(label, "GAMES", 12)


def _make(path, **changes):
    options = {"seed": 3, "about": ABOUT, "memory": 1, **changes}
    return make_suite(path, options.pop("rules", RULES), options.pop("bands", BANDS), **options)


def test_every_value_is_exact_and_no_position_comes_twice(tmp_path):
    suite, memo = _make(tmp_path / "a.jsonl.gz"), {}
    for state, row in zip(suite.states, suite.values, strict=True):
        values = {a: int(v) for a, v in enumerate(row) if v != ILLEGAL}
        assert values == action_values(RULES, state, memo)
    assert suite.counted().all()
    assert len({state_key(RULES, state) for state in suite.states}) == len(suite.states)
    assert (batch.statuses(RULES, suite.states) == 0).all()
    assert all(" first" not in text.format_position(RULES, state) for state in suite.states)
    again = read_suite(tmp_path / "a.jsonl.gz")
    assert np.array_equal(again.states, suite.states)
    assert np.array_equal(again.values, suite.values)
    assert again.about == {"suite": "a", **ABOUT, "rules": "kalah:pits=3,seeds=2"}


def test_bands_sources_and_halves_are_as_asked(tmp_path):
    bands = [Band(6, 10, 24), Band(11, 18, 16)]
    suite = _make(tmp_path / "a.jsonl.gz", rules=parse_rules("kalah:pits=4,seeds=3"), bands=bands)
    seeds = suite.seeds()
    for band in bands:
        inside = (seeds >= band.low) & (seeds <= band.high)
        assert inside.sum() == band.positions
        halves = Counter(np.array(suite.halves)[inside].tolist())
        assert halves["tune"] == halves["test"]
        found = Counter(np.array(suite.sources)[inside].tolist())
        for source in SOURCES:
            assert 0 < found[source.name] <= np.ceil(source.share * band.positions)
    hard = np.array(suite.sources) == "hard"
    best = np.sort(suite.values[hard], axis=1)[:, ::-1]
    assert (best[:, 0] > best[:, 1]).all()


def test_a_band_without_more_positions_stays_smaller_and_others_fill_in(tmp_path, monkeypatch):
    monkeypatch.setattr(label, "BARREN", 12)
    suite = _make(tmp_path / "a.jsonl.gz", bands=[Band(3, 4, 500), Band(7, 12, 3)])
    counts = Counter((suite.seeds() > 4).tolist())
    assert counts[True] == 3
    assert 3 < counts[False] < 500
    # Some sources have not as many different positions as they are to bring.
    suite = _make(tmp_path / "c.jsonl.gz", bands=[Band(3, 6, 60)])
    counts = Counter(suite.sources)
    assert counts.total() == 60
    assert counts["alphabeta"] < 24 <= counts["random"] + counts["greedy"]
    with pytest.raises(KalahError, match="no position of these bands"):
        _make(tmp_path / "b.jsonl.gz", bands=[Band(20, 30, 5)])
    assert not (tmp_path / "b.jsonl.gz").exists()


def test_seed_and_threads(tmp_path):
    made = []
    for name, changes in {"a": {}, "b": {"threads": 3}, "c": {"seed": 4}, "d": {"memory": 8}}.items():
        (tmp_path / name).mkdir()
        _make(tmp_path / name / "x.jsonl.gz", **changes)
        made.append((tmp_path / name / "x.jsonl.gz").read_bytes())
    assert made[0] == made[1] == made[3]
    assert made[2] != made[0]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["x.jsonl.gz"]


class _Killed(BaseException):
    """Stands for a kill: nothing of ours catches it."""


def _killed_after(path, count: int) -> bytes:
    """Make a suite until so many positions are labelled; return what is then left of the labels."""
    solve, done = label.Solver.solve, []

    def solve_some(solver, state):
        if len(done) == count:
            raise _Killed
        done.append(1)
        return solve(solver, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label.Solver, "solve", solve_some)
        with pytest.raises(_Killed):
            _make(path)
    return _labels(path).read_bytes()


def _labels(path):
    (found,) = path.parent.glob(f"{path.name}*.labels")
    return found


def _count_solved(path, **changes) -> int:
    solve, done = label.Solver.solve, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label.Solver, "solve", lambda solver, state: done.append(1) or solve(solver, state))
        _make(path, **changes)
    return len(done)


def test_resumed_is_uninterrupted_wherever_it_was_cut(tmp_path):
    whole = tmp_path / "whole" / "x.jsonl.gz"
    whole.parent.mkdir()
    needed = _count_solved(whole)
    path = tmp_path / "x.jsonl.gz"
    left = _killed_after(path, 12)
    assert left.count(b"\n") == 12
    assert not path.exists()
    labels = _labels(path)
    last = left.rstrip().rfind(b"\n")
    for cut in (0, 1, 30, last, last + 1, last + 20, len(left) - 1, len(left)):
        labels.write_bytes(left[:cut])
        kept = left[:cut].count(b"\n") + (cut in (last, len(left) - 1))  # whole, but for the end of line
        assert _count_solved(path) == needed - kept
        assert path.read_bytes() == whole.read_bytes()
        assert sorted(found.name for found in tmp_path.iterdir()) == ["whole", "x.jsonl.gz"]
        path.unlink()


def test_twice_stopped_is_uninterrupted_too(tmp_path):
    whole = tmp_path / "whole" / "x.jsonl.gz"
    whole.parent.mkdir()
    _make(whole)
    path = tmp_path / "x.jsonl.gz"
    first = _killed_after(path, 5)
    _labels(path).write_bytes(first[:-9])  # in the middle of a line, which the next call must not glue to
    second = _killed_after(path, 9)
    assert [json.loads(line)[0] for line in second.splitlines()][:4] == [
        json.loads(line)[0] for line in first.splitlines()[:4]
    ]
    assert second.count(b"\n") == 13
    _make(path)
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("junk", [b"\xff\xfe\n", b"null\n", b"5\n", b"[]\n", b'["<3', b"\0" * 99])
def test_labels_that_are_damaged_are_made_again(tmp_path, junk):
    path = tmp_path / "x.jsonl.gz"
    left = _killed_after(path, 6)
    (tmp_path / "y").mkdir()
    _make(tmp_path / "y" / "x.jsonl.gz")
    _labels(path).write_bytes(junk + left)
    _make(path)
    assert path.read_bytes() == (tmp_path / "y" / "x.jsonl.gz").read_bytes()


def test_labels_of_other_rules_are_not_taken(tmp_path):
    path, other = tmp_path / "x.jsonl.gz", parse_rules("kalah:pits=3,seeds=2,capture=none")
    _killed_after(path, 12)
    suite, memo = _make(path, rules=other), {}
    for state, row in zip(suite.states, suite.values, strict=True):
        assert {a: int(v) for a, v in enumerate(row) if v != ILLEGAL} == action_values(other, state, memo)


def test_further_agents_are_sources(tmp_path):
    sources = with_agents(["greedy:seed=1", "mcts:sims=4"])
    assert sum(source.share for source in sources) == pytest.approx(1)
    assert sum(source.share for source in sources[-2:]) == pytest.approx(0.5)
    assert with_agents([]) == SOURCES
    suite = _make(tmp_path / "a.jsonl.gz", sources=sources)
    assert {"greedy:seed=1", "mcts:sims=4", "random"} <= set(suite.sources)


def test_a_position_that_cannot_be_solved_is_told(tmp_path):
    with pytest.raises(KalahError, match=r"label: <.* was not solved: over 127 seeds"):
        _make(tmp_path / "a.jsonl.gz", rules=parse_rules("kalah:pits=8,seeds=12"), bands=[Band(130, 192, 4)])
    assert not (tmp_path / "a.jsonl.gz").exists()


def test_ctrl_c_says_that_the_same_command_goes_on(tmp_path, monkeypatch, capsys):
    words = ["label", str(tmp_path / "a.jsonl.gz"), "--rules", "kalah:pits=3,seeds=2", "--bands", "3-6=12"]
    with monkeypatch.context() as patch:
        patch.setattr(label, "write_suite", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert main([*words, "--memory", "1"]) == 130
    assert "stopped by Ctrl-C; the same command goes on where it was.\n" in capsys.readouterr().err
    assert [path.suffix for path in tmp_path.glob("a.*")] == [".labels"]
    assert main([*words, "--memory", "1"]) == 0
    assert [path.name for path in tmp_path.glob("a.*")] == ["a.jsonl.gz"]


@pytest.mark.parametrize(
    ("words", "bands"),
    [
        ("9-16=1000", [Band(9, 16, 1000)]),
        ("17-24=5,1-3=2", [Band(1, 3, 2), Band(17, 24, 5)]),
        ("4-4=1", [Band(4, 4, 1)]),
    ],
)
def test_bands_are_read(words, bands):
    assert parse_bands(words) == bands


@pytest.mark.parametrize(
    "words",
    [
        "",
        "9",
        "9-16",
        "9=5",
        "16-9=5",
        "0-3=1",
        "1-3=0",
        "1-3=2,3-4=1",
        "1-9=5,2-3=1",
        "a-b=c",
        "1-3=1,",
        "²-3=1",
        "-1-3=2",
        "1-3=1.5",
        "1-9999999=3",
        "1-3=1;4-5=1",
    ],
)
def test_bands_that_make_no_sense_are_refused(words):
    with pytest.raises(KalahError, match="LOW-HIGH=COUNT"):
        parse_bands(words)


def test_the_command_says_how_to_make_it_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    call = ["label", "s.jsonl.gz", "--rules", "kalah:pits=3,seeds=2", "--bands", "3-6=8", "--memory", "1"]
    assert main([*call, "--seed", "5", "--threads", "1"]) == 0
    assert "8 positions" in capsys.readouterr().out
    suite = read_suite(tmp_path / "s.jsonl.gz")
    command = suite.about["command"].split()
    assert command[0] == "kalah"
    data = (tmp_path / "s.jsonl.gz").read_bytes()
    assert main(command[1:]) == 2  # it is there
    assert "is there already, and whole" in capsys.readouterr().err
    (tmp_path / "s.jsonl.gz").unlink()
    assert main(command[1:]) == 0
    assert (tmp_path / "s.jsonl.gz").read_bytes() == data
    assert main([*call[:1], "s.json", *call[2:]]) == 2


@pytest.mark.parametrize("spec", ["kalaha-philos", "bao-philos", "kgp"])
def test_rules_that_cannot_be_solved_are_refused(tmp_path, spec):
    with pytest.raises(KalahError, match="cannot be solved"):
        make_suite(tmp_path / "s.jsonl.gz", parse_rules(spec), parse_bands("1-8=5"), seed=1, about={})
    assert not list(tmp_path.iterdir())


def test_a_short_band_is_said(tmp_path, capsys):
    call = ["label", str(tmp_path / "s.jsonl.gz"), "--rules", "kalah:pits=2,seeds=1", "--bands", "4-4=50"]
    assert main([*call, "--memory", "1", "--threads", "1"]) == 1
    assert "of 50 positions found" in capsys.readouterr().err
