"""`make quickstart` and the curve of a run, on a board that is learnt in seconds."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents.base import make_agent
from kalah_env.errors import KalahError
from train import checkpoint, curve, grade, quickstart
from train.config import load_config
from train.loop import train
from train.suites import load_suite

OVERRIDES = [
    "name=small",
    "rules=kalah:pits=3,seeds=2",
    "iterations=2",
    "keep_every=1",
    "net={width: 16, blocks: 1}",
    "selfplay={games: 16, plies: 12, simulations: [4], random_plies: 2}",
    "learner={batch: 32}",
    "replay={window: 600, minimum: 100}",
]


def changed(override: str) -> list[str]:
    """Return OVERRIDES with one of them replaced, or one more."""
    key = override.split("=")[0]
    return [*(other for other in OVERRIDES if other.split("=")[0] != key), override]


RUN = Path("runs/small")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def few_opponents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quickstart, "OPPONENTS", ("random", "greedy"))
    monkeypatch.setattr(quickstart, "SIMULATIONS", 4)


def report() -> dict:
    return json.loads((RUN / "report.json").read_text())


def iterations() -> list[int]:
    return [json.loads(line)["iteration"] for line in (RUN / "metrics.jsonl").read_text().splitlines()]


def test_quickstart_leaves_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert quickstart.main(OVERRIDES, games=4) == 0
    told = report()
    assert {"seconds", "arena", "checkpoint", "onnx"} <= told.keys()
    assert told["seconds"]["training"] > 0
    assert told["seconds"]["after"] > 0
    assert told["checkpoint"] == str(RUN / "checkpoints/000002")
    assert (Path(told["checkpoint"]) / "weights.safetensors").is_file()
    assert Path(told["onnx"]).is_file()
    assert told["parity"]["ok"]
    net = f"net:{told['checkpoint']},sims=64"
    rows = told["arena"]["results"]
    assert [(row["a"], row["b"], row["games"]) for row in rows] == [(net, b, 4) for b in quickstart.OPPONENTS]
    assert told["arena"]["elo"].keys() == {net, *quickstart.OPPONENTS}
    said = capsys.readouterr().out
    for text in (*quickstart.OPPONENTS, *(told[key] for key in ("checkpoint", "onnx"))):
        assert text in said


def test_a_finished_run_is_moved_aside(few_opponents: None) -> None:
    (RUN.parent / "small-1").mkdir(parents=True)
    quickstart.main(OVERRIDES, games=2)
    first = report()
    quickstart.main(changed("seed=5"), games=2)
    assert sorted(path.name for path in RUN.parent.iterdir()) == ["small", "small-1", "small-2"]
    assert json.loads((RUN.parent / "small-2/report.json").read_text()) == first
    assert report() != first
    assert iterations() == [1, 2]


def test_an_unfinished_run_is_gone_on_with(few_opponents: None) -> None:
    config = load_config(str(Path(__file__).parent.parent / "configs/quick.yaml"), changed("iterations=1"))
    train(config, RUN, resume=False, quiet=True)
    before = checkpoint.load_meta(RUN / "checkpoints/000001")
    quickstart.main(OVERRIDES, games=2)
    assert iterations() == [1, 2]
    assert checkpoint.load_meta(RUN / "checkpoints/000001") == before
    assert report()["seconds"]["training"] > before["seconds"]
    assert [path.name for path in RUN.parent.iterdir()] == ["small"]
    # Killed after training, before the report: nothing is trained again.
    weights = (RUN / "checkpoints/000002/weights.safetensors").read_bytes()
    (RUN / "report.json").unlink()
    quickstart.main(OVERRIDES, games=2)
    assert iterations() == [1, 2]
    assert (RUN / "checkpoints/000002/weights.safetensors").read_bytes() == weights
    assert (RUN / "report.json").is_file()


def test_another_games_unfinished_run_is_not_gone_on_with() -> None:
    config = load_config(str(Path(__file__).parent.parent / "configs/quick.yaml"), changed("iterations=1"))
    train(config, RUN, resume=False, quiet=True)
    with pytest.raises(KalahError, match="begun with rules="):
        quickstart.main(changed("rules=kalah:pits=4,seeds=2"), games=2)


def test_a_failed_export_leaves_no_report(few_opponents: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quickstart, "export_checkpoint", lambda *_: {"ok": False, "onnx": "x"})
    with pytest.raises(KalahError, match="parity failed"):
        quickstart.main(OVERRIDES, games=2)
    assert not (RUN / "report.json").exists()


def test_the_curve_of_a_run_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "OPPONENTS", ("random", "alphabeta:depth=2"))
    monkeypatch.setattr(curve, "SIMULATIONS", (0, 4))
    config = load_config(str(Path(__file__).parent.parent / "configs/quick.yaml"), OVERRIDES)
    train(config, RUN, resume=False, quiet=True)
    rows = curve.measure(RUN, games=4)
    assert [(row["simulations"], row["opponent"]) for row in rows] == [
        (sims, opponent) for sims in (0, 4) for opponent in ("random", "alphabeta:depth=2")
    ] * 2
    minutes = [row["minutes"] for row in rows]
    assert 0 < minutes[0] < minutes[4] == minutes[7]
    for row in rows:
        assert row["games"] == 4
        assert row["interval"][0] <= row["score"] <= row["interval"][1]
    assert len(curve.measure(RUN, games=2, every=2)) == 4
    figure = curve.draw(RUN, rows, Path("curve.png"))
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    above, below = (axes.lines for axes in figure.axes)
    assert [list(np.asarray(line.get_ydata())) for line in above[:4]] == [
        [rows[i]["score"], rows[i + 4]["score"]] for i in (0, 2, 1, 3)
    ]
    losses = json.loads((RUN / "metrics.jsonl").read_text().splitlines()[-1])
    assert [np.asarray(line.get_ydata())[-1] for line in below] == [
        losses[f"{head}_loss"] for head in ("policy", "outcome", "margin")
    ]


def test_a_curve_needs_kept_nets(tmp_path: Path) -> None:
    with pytest.raises(KalahError, match="kept no net; give a run of at least `keep_every` iterations"):
        curve.measure(tmp_path, games=2)


def test_the_curve_of_grades_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "GRADED", (0, 4))
    small = changed("rules=kalah:pits=3,seeds=3")
    config = load_config(str(Path(__file__).parent.parent / "configs/quick.yaml"), small)
    train(config, RUN, resume=False, quiet=True)
    rows = curve.measure_grades(RUN, "kalah-3x3/tune")
    assert [row["simulations"] for row in rows] == [0, 4] * 2
    for row in rows:
        for key in curve.GRADES:
            assert row["intervals"][key][0] <= row[key] <= row["intervals"][key][1]
    # An agent of that text gets the same grades by `kalah grade`.
    net = sorted((RUN / "nets").iterdir())[-1]
    agent = make_agent(f"net:{net},sims=4", 0)
    found = grade.report(agent, grade.grade(agent, load_suite("kalah-3x3/tune")))
    assert found["mean_regret"] == rows[-1]["mean_regret"]
    figure = curve.draw(RUN, rows, tmp_path / "curve.png")
    errors, regrets, _ = figure.axes
    for axes, key in ((errors, "losing_errors"), (regrets, "mean_regret")):
        lines = [list(np.asarray(line.get_ydata())) for line in axes.lines]
        assert lines == [[rows[0][key], rows[2][key]], [rows[1][key], rows[3][key]]]
