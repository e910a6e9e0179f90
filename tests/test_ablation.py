"""The ablation table: arms that load, equal time, graded rows that are kept."""

import json
import sys
from pathlib import Path

import pytest

from kalah_env.errors import KalahError
from train import ablation
from train.config import load_config

SMALL = [
    "rules=kalah:pits=3,seeds=3",
    "net.width=16",
    "selfplay.games=16",
    "selfplay.plies=12",
    "selfplay.simulations=[4]",
    "selfplay.endgame=4",
    "replay.minimum=100",
    "learner.batch=32",
]


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path / "tables"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("arm", ablation.ARMS)
def test_every_arm_changes_the_base_and_nothing_else(arm: str) -> None:
    base = load_config(ablation.BASE, []).to_dict()
    config = load_config(ablation.BASE, ablation.ARMS[arm]).to_dict()
    changed = {
        f"{part}.{key}"
        for part in ("net", "selfplay", "learner", "replay")
        for key in base[part]
        if base[part][key] != config[part][key]
    }
    assert changed == {override.partition("=")[0] for override in ablation.ARMS[arm]}


ROW = json.dumps(
    {"arm": "base", "minutes": 10, "seed": 0, "iterations": 5}
    | {name: dict.fromkeys(ablation.GRADES, 0.5) for name in ablation.AGENTS}
)


@pytest.mark.parametrize(
    "line",
    [
        ROW[:-9],
        "{}",
        "3",
        "",
        "name: base",
        ROW.replace('"base"', "7"),
        ROW.replace("10,", '"10",'),
        "\ufffd\0",
    ],
)
def test_a_line_that_is_no_row_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "good").write_text(f"{ROW}\n{ROW}\n")
    assert [row["seed"] for row in ablation.read_rows(tmp_path / "good")] == [0, 0]
    (tmp_path / "bad").write_text(f"{ROW}\n{line}\n{ROW}\n")
    with pytest.raises(KalahError, match=r"bad, line 2 is no row of this table .*; delete the line"):
        ablation.read_rows(tmp_path / "bad")


def test_arms_get_equal_time_and_are_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        ablation, "ARMS", {"base": SMALL, "more": [*SMALL[:3], *SMALL[4:], "selfplay.plies=80"]}
    )
    monkeypatch.setattr(ablation, "SUITE", "kalah-3x3/tune")
    out = tmp_path / "out.jsonl"
    arguments = ["ablation", str(out), "--minutes", "0.1", "--seeds"]
    for asked in (["3", "--arms", "base"], ["3"], ["4", "--arms", "base"]):
        monkeypatch.setattr(sys, "argv", [*arguments, *asked])
        ablation.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["arm"], row["seed"]) for row in rows] == [("base", 3), ("more", 3), ("base", 4)]
    assert rows[0]["iterations"] == rows[2]["iterations"] > rows[1]["iterations"]
    for row in rows:
        assert row["cpu_seconds"] < 20
        for name in ("raw", "64"):
            assert 0 < row[name]["best_moves"] < 1
    assert list((tmp_path / "runs").iterdir()) == []
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["ablation", str(out), "--minutes", "0.1", "--table"])
    ablation.main()
    printed = capsys.readouterr().out
    assert f"{rows[1]['raw']['mean_regret']:.3f}" in printed
    assert f"{100 * rows[0]['64']['losing_errors']:.1f} / " in printed
