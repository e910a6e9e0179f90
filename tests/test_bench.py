"""Benchmarks: what is measured, how rounds are summed up, the command's answer."""

import json

import pytest

from kalah_env.rules import parse_rules
from train import bench
from train.cli import main


def test_summary_takes_medians_and_ratios_of_the_same_round() -> None:
    measured = {
        "ours": [(10.0, 1.0), (40.0, 1.0), (30.0, 3.0)],
        "peer": [(5.0, 1.0), (10.0, 1.0), (20.0, 2.0)],
    }
    answer = bench.summarize(measured, "plies/s", "peer")
    assert answer["ours"]["rate"] == 30.0
    assert answer["ours"]["cpu_seconds"] == 1.0
    assert answer["ours"]["ratio"] == 2.0  # of 2, 4 and 1.5; the medians alone would give 3
    assert "ratio" not in answer["peer"]
    assert "ratio" not in bench.summarize({"ours": measured["ours"]}, "plies/s", "peer")["ours"]


def test_works_are_measured_in_turn() -> None:
    calls: list[str] = []

    def work(name: str) -> bench.Work:
        return lambda: calls.append(name) or sum(range(20_000))

    measured = bench.alternate({"a": work("a"), "b": work("b")}, rounds=3)
    assert calls == ["a", "b"] * 4
    assert [len(rounds) for rounds in measured.values()] == [3, 3]


def test_random_games_count_their_plies() -> None:
    """Random Kalah(6,4) games have 44 plies on average (OpenSpiel, 2 M games: 43.98, deviation 10.8)."""
    assert bench.random_games(parse_rules("kalah"), 4000)() / 4000 == pytest.approx(43.98, abs=1.0)


def test_peers_play_the_same_game() -> None:
    assert bench.spiel_bots(500)() / 500 == pytest.approx(43.98, abs=2.7)
    assert bench.spiel_loop(200)() / 200 == pytest.approx(43.98, abs=4.5)


def test_the_command_answers_in_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    row = {"rate": 2.0, "unit": "plies/s", "threads": 1, "cpu_seconds": 0.5, "ratio": 4.0, "peer": "p"}
    asked = []
    monkeypatch.setattr(bench, "bench_env", lambda *words: asked.append(words) or {"engine": row})
    assert main(["bench", "env", "--rounds", "4", "--all-presets", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"engine": row}
    assert main(["bench", "env"]) == 0
    assert "4.00 x p" in capsys.readouterr().out
    assert asked == [(4, True), (5, False)]
    assert main(["bench", "env", "--rounds", "2"]) == 2
