"""The tools `python -m train.curve` and others: a slip is one line, before the work."""

import json
import sys
from pathlib import Path

import pytest
from training import SMALL

from kalah_env.errors import KalahError
from train import ablation, curve, overlap, program, publish
from train.config import make_config
from train.loop import train

TOOLS = {"curve": curve, "overlap": overlap, "publish": publish, "ablation": ablation}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools") / "run"
    train(make_config(SMALL | {"iterations": 2, "keep_every": 1}, "test"), folder, resume=False, quiet=True)
    return folder


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("curve nosuch x.png", "nosuch/metrics.jsonl cannot be read"),
        ("curve RUN x.txt", "does not end with .png"),
        ("curve RUN nodir/x.png", "name a regular file in a writable folder"),
        ("curve RUN x.png --every 3", "kept 2 nets, but --every is 3"),
        ("curve RUN x.png --every 0", "'0' is not a whole number of 1"),
        ("curve RUN x.png --games 21", "an even number"),
        ("curve RUN x.png --suite nosuch", "'nosuch' is neither a file nor a shipped suite"),
        ("curve RUN x.png --suite kalah-6x4", "cannot play kalah;"),
        ("overlap nosuch kalah-3x3", "nosuch is no run of `kalah train`"),
        ("overlap RUN kalah-6x4", "cannot play kalah;"),
        ("publish nosuch out", "nosuch holds no checkpoint"),
        ("publish RUN", "grades.json cannot be read"),
        ("ablation nodir/x.jsonl", "ablation: the file cannot be written"),
        ("ablation x.jsonl --minutes 0", "'0' is not a number of minutes above 0"),
        ("ablation x.jsonl --minutes nan", "'nan' is not a number of minutes above 0"),
        ("ablation x.jsonl --table", "holds no row of --minutes 10, nor any other"),
        ("ablation x.jsonl --arms nosuch", "invalid choice: 'nosuch'"),
    ],
)
def test_a_slip_is_one_line(
    run: Path,
    words: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tool, *rest = words.replace("RUN", str(run)).split()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [tool, *rest])
    assert program.guarded(TOOLS[tool].main) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert err.count("\n") == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_curve_is_drawn_where_it_was_asked_for(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["curve", str(run), str(tmp_path / "x.png"), "--games", "2", "--every", "2"]
    )
    assert curve.main() == 0
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(row["simulations"], row["opponent"]) for row in rows} == {
        (sims, opponent) for sims in curve.SIMULATIONS for opponent in curve.OPPONENTS
    }


def test_an_arm_that_learned_nothing_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        ablation, "ARMS", {"base": ["selfplay.games=4", "selfplay.plies=4", "selfplay.endgame=0"]}
    )
    with pytest.raises(KalahError, match="'base' learned nothing in 1 iterations; give more --minutes"):
        ablation.run_arm("base", 0, 0.1, 1, tmp_path / "arm")
