"""Benchmarks: what is measured, how rounds are summed up, the command's answer."""

import json
from typing import Any

import numpy as np
import pytest

from agents.neural import TorchEvaluator
from kalah_env import batch, engine
from kalah_env.rules import Rules, parse_rules
from train import bench, bench_search, bench_train
from train.cli import main
from train.config import load_config


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


def test_the_search_bench_counts_simulations_and_shares() -> None:
    """Every position is searched in every round, alone or in shares; the parts of the time make 1."""
    rules = parse_rules("kalah")
    states = bench_search.positions(rules, 20)
    assert (batch.legal_masks(rules, states).sum(1) > 1).all()
    net = bench_search.fresh_net(rules, 16, 1)
    alone = bench_search.SearchWork(net, rules, states, 4, 1)
    together = bench_search.SearchWork(net, rules, states, 4, 2)
    assert alone() == together() == 80
    seen = [clock.positions for clock in (*alone.clocks, *together.clocks)]
    assert seen[0] == seen[1] + seen[2] > 20
    roots = [search.tree.states[:10, 0] for search in together.searches]
    assert np.concatenate(roots).tolist() == states.tolist()
    shares = alone.shares_of_time()
    assert sum(shares.values()) == pytest.approx(1)
    assert all(0 < share < 1 for share in shares.values())
    answer = bench_search.bench_search(3, 16, 1, 20, [4])
    assert answer["search, 4 simulations"]["rounds"] == 3
    assert answer["search, 4 simulations"]["shares"].keys() == shares.keys()


def test_the_training_bench_counts_plies_samples_and_games() -> None:
    config = load_config("configs/tiny.yaml", ["selfplay.games=32", "selfplay.simulations=[2]"])
    answer = bench_train.bench_train(3, config)
    assert list(answer) == ["self-play, 2 simulations", "learner"]
    played, learned = answer.values()
    rate, hour = played["rate"], played["games_per_hour"]
    assert 3 < 3600 * rate / hour < 40  # decisions a game
    assert played["rounds"] == learned["rounds"] == 3
    samples = learned["rate"] * learned["cpu_seconds"] / config.learner.batch
    assert samples == pytest.approx(bench_train.STEPS, rel=0.5)


def test_mctx_plays_the_same_game_with_the_same_net() -> None:
    pytest.importorskip("mctx")
    from train import bench_mctx

    rules = parse_rules("kalah")
    states = bench_search.positions(rules, 300)
    states = states[batch.extras(rules, states)[:, engine.PHASE] == engine.MID]
    net = bench_search.fresh_net(rules, 16, 2)
    ours, theirs = (
        TorchEvaluator(net, rules, "cpu")(rules, states),
        bench_mctx.evaluate(bench_mctx.weights(net), 2, bench_mctx.turned(rules, states)),
    )
    legal = batch.legal_masks(rules, states) > 0
    assert np.abs(ours[0] - theirs[0])[legal].max() < 1e-5
    assert np.abs(ours[1] - theirs[1]).max() < 1e-5
    for _ in range(40):  # random games to their ends
        actions = batch.legal_masks(rules, states).argmax(1)
        sides = batch.sides(rules, states).copy()
        moved, again, ended = jax_play(bench_mctx, rules, states, actions)
        batch.step(rules, states, actions)
        assert (ended == (batch.statuses(rules, states) == engine.OVER)).all()
        assert (again == ((batch.sides(rules, states) == sides) & ~ended)).all()
        after = states.copy()
        batch.sides(rules, after)[:] = sides
        assert (moved == np.asarray(bench_mctx.turned(rules, after))).all()
        states = states[~ended]


def jax_play(bench_mctx: Any, rules: Rules, states: np.ndarray, actions: np.ndarray) -> tuple:
    """Return what the peer makes of one move in every game, as numpy arrays."""
    import jax

    found = jax.vmap(bench_mctx.play)(bench_mctx.turned(rules, states), actions)
    return tuple(map(np.asarray, found))


def test_options_of_one_bench_are_refused_by_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    asked = []
    monkeypatch.setattr(bench_search, "bench_search", lambda *a, **b: asked.append((a, b)) or {})
    assert main(["bench", "search", "--sims", "8,16", "--json"]) == 0
    assert asked == [((5,), {"width": 320, "blocks": 3, "games": 1024, "sims": [8, 16]})]
    for words, option in (
        (["env", "--width", "64"], "--width"),
        (["search", "--all-presets"], "--all-presets"),
    ):
        assert main(["bench", *words]) == 2
        assert f"{option} is about" in capsys.readouterr().err
    assert main(["bench", "search", "--sims", "8,x"]) == 2
