"""Self-play, replay, learner, checkpoints: what a training run promises."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.mcts import Evaluate
from agents.network import NetConfig
from agents.neural import TorchEvaluator, load_net
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, num_actions, parse_rules
from train import checkpoint
from train.config import Learner as LearnerConfig
from train.config import SelfPlay as SelfPlayConfig
from train.config import TrainConfig, make_config
from train.export import sample_positions
from train.learner import Learner
from train.loop import Run, open_run, train, use_bfloat16
from train.replay import Replay, Rows
from train.selfplay import SelfPlay

SMALL = {
    "name": "small",
    "rules": "kalah:pits=3,seeds=2",
    "iterations": 4,
    "net": {"width": 16, "blocks": 1},
    "selfplay": {"games": 16, "plies": 12, "simulations": [4, 8], "random_plies": 2},
    "learner": {"batch": 32},
    "replay": {"window": 600, "minimum": 100},
}


def uniform(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((len(states), num_actions(rules)), np.float32), np.zeros(len(states), np.float32)


def play(rules: Rules, evaluate: Evaluate = uniform, **changes: object) -> tuple[SelfPlay, Rows]:
    config = SelfPlayConfig(**{"games": 32, "plies": 40, "simulations": [4], "random_plies": 3, **changes})
    selfplay = SelfPlay(rules, config, seed=1)
    return selfplay, selfplay.run(evaluate, 4)


@pytest.mark.parametrize("spec", ["kalah:pits=4,seeds=3", "mankalah:pits=3,seeds=3", "kgp:pits=4,seeds=2"])
@pytest.mark.parametrize("policy", ["gumbel", "puct"])
def test_selfplay_rows_are_decisions_with_proper_targets(spec: str, policy: str) -> None:
    rules = parse_rules(spec)
    _, rows = play(rules, policy=policy)
    assert len(rows.margins) > 100
    masks = batch.legal_masks(rules, rows.states)
    assert (masks.sum(1) > 1).all()
    assert np.allclose(rows.policies.sum(1), 1, atol=1e-4)
    assert (rows.policies[masks == 0] == 0).all()
    total = 2 * rules.pits * rules.seeds
    assert (np.abs(rows.margins) <= total).all()
    assert ((rows.margins - total) % 2 == 0).all()


def test_selfplay_margins_are_those_of_the_replayed_game() -> None:
    """Replays whole games by their moves; swaps included, each row's margin is its own player's."""
    rules = parse_rules("mankalah:pits=3,seeds=2")
    config = SelfPlayConfig(games=1, plies=1, simulations=[2], random_plies=0)
    selfplay = SelfPlay(rules, config, seed=5)
    swaps = 0
    for _ in range(400):
        before = selfplay.states[0].copy()
        length = int(selfplay.lengths[0])
        rows = selfplay.run(uniform, 2)
        if len(rows.margins):
            swaps += check_game(rules, rows, before, length)
    assert swaps > 5


def check_game(rules: Rules, rows: Rows, last: np.ndarray, length: int) -> int:
    """Find the seats from the positions alone: compare each row with the row before it."""
    assert len(rows.margins) == length + 1
    assert rows.states[-1].tolist() == last.tolist()
    south_player, players, swaps = 0, [], 0
    for i, state in enumerate(rows.states):
        if i:
            before = rows.states[i - 1].copy()
            extras = batch.extras(rules, before)
            same_board = (before[: 2 * rules.pits + 2] == state[: 2 * rules.pits + 2]).all()
            if extras[engine.PHASE] == engine.SWAP and same_board:
                south_player = 1 - south_player
                swaps += 1
        side = int(batch.sides(rules, state))
        players.append(south_player if side == engine.SOUTH else 1 - south_player)
    for player, margin in zip(players, rows.margins, strict=True):
        expected = rows.margins[0] if player == players[0] else -rows.margins[0]
        assert margin == expected
    return swaps


def test_truncated_games_are_rows_of_draws() -> None:
    rules = parse_rules("kalah:pits=4,seeds=3,ply_limit=3")
    _, rows = play(rules, random_plies=0)
    assert len(rows.margins) > 100
    assert (rows.margins == 0).all()
    stores = rows.states[:, [4, 9]].astype(int)
    assert (stores[:, 0] != stores[:, 1]).any()


def test_games_begin_with_up_to_so_many_random_plies() -> None:
    """Each number of plies from 0 to `random_plies` about as often; false alarm below 1e-6."""
    rules = parse_rules("kalah:pits=4,seeds=3")
    selfplay = SelfPlay(rules, SelfPlayConfig(games=600, random_plies=3), seed=0)
    plies = batch.extras(rules, selfplay.states)[:, engine.PLY]
    counts = np.bincount(plies, minlength=4)
    # No move is forced this early on this board, so the counts are binomial, 150 with a deviation of 11.
    assert len(counts) == 4
    assert (np.abs(counts - 150) < 55).all()
    assert len(np.unique(selfplay.states[plies == 3], axis=0)) > 20


def test_selfplay_restores_number_for_number() -> None:
    rules = parse_rules("kalah:pits=3,seeds=3")
    first, _ = play(rules)
    second, _ = play(rules)
    second.rng = np.random.default_rng(77)
    second.states[:] = 0
    second.restore({k: v.copy() for k, v in first.arrays().items()}, json.loads(json.dumps(first.counters())))
    ours, theirs = first.run(uniform, 4), second.run(uniform, 4)
    assert ours.states.tolist() == theirs.states.tolist()
    assert np.array_equal(ours.policies, theirs.policies)


def test_selfplay_refuses_a_game_without_decisions() -> None:
    with pytest.raises(KalahError, match="ended before a decision"):
        SelfPlay(parse_rules("kalah:pits=1,seeds=1"), SelfPlayConfig(games=2), seed=0)


def some_rows(count: int, value: int = 0) -> Rows:
    return Rows(
        np.full((count, 12), value, np.int16),
        np.full((count, 3), 1 / 3, np.float32),
        np.full(count, value, np.int16),
    )


def test_replay_window_grows_and_drops_the_oldest(tmp_path: Path) -> None:
    replay = Replay(tmp_path, window=50, minimum=20, share=0.5)
    sizes = []
    for iteration in range(12):
        replay.add(iteration, some_rows(10, iteration))
        sizes.append(len(replay))
        replay.sample(5, np.random.default_rng(0))
    # The oldest shard goes once the rest still fills half of all rows (20 at least, 50 at most).
    assert sizes == [10, 20, 20, 20, 30, 30, 40, 40, 50, 50, 50, 50]
    picked = replay.sample(2000, np.random.default_rng(0))
    assert set(picked.margins.tolist()) == set(range(7, 12))


def test_replay_restores_its_shards(tmp_path: Path) -> None:
    replay = Replay(tmp_path, 50, 20, 0.5)
    for iteration in range(6):
        replay.add(iteration, some_rows(10, iteration))
    replay.prune_files(set())
    again = Replay(tmp_path, 50, 20, 0.5)
    again.restore(sorted(replay.shards), replay.total)
    ours, theirs = (r.sample(50, np.random.default_rng(3)) for r in (replay, again))
    assert np.array_equal(ours.margins, theirs.margins)
    assert len(list(tmp_path.iterdir())) == len(replay.shards)
    (tmp_path / "000005.safetensors").write_bytes(b"short")
    with pytest.raises(KalahError, match="cannot be read"):
        again.restore(sorted(replay.shards), replay.total)


def test_learner_overfits_a_tiny_set(tmp_path: Path) -> None:
    rules = parse_rules("kalah:pits=3,seeds=2")
    _, rows = play(rules)
    _, first = np.unique(rows.states, axis=0, return_index=True)
    rows = Rows(*(array[first[:24]] for array in rows))
    replay = Replay(tmp_path, 1000, 10, 1.0)
    replay.add(0, rows)
    config = LearnerConfig(batch=64, samples_per_row=1, rate=3e-3, weight_decay=0.0, average=0.9)
    learner = Learner(rules, NetConfig.for_rules(rules, 64, 2), config, "cpu", 0)
    before = learner.run(replay, 64 * 10, 0.0)
    learner.run(replay, 64 * 600, 0.0)
    after = learner.run(replay, 64 * 10, 0.9)
    assert before["margin_loss"] > 1.0
    assert after["margin_loss"] < 0.1
    assert after["outcome_loss"] < 0.05
    assert after["policy_loss"] < 0.02
    assert 0 < after["rate"] < before["rate"]
    # What plays reads the heads as the learner does: the same policies, results and margins come out.
    logits, values = TorchEvaluator(learner.average, "cpu", sign_weight=0.0)(rules, rows.states)
    likely = np.where(batch.legal_masks(rules, rows.states) > 0, np.exp(logits), 0)
    assert np.abs(likely / likely.sum(1, keepdims=True) - rows.policies).max() < 0.1
    assert np.abs(values * 6 - rows.margins).max() < 0.5
    _, values = TorchEvaluator(learner.average, "cpu", sign_weight=1.0)(rules, rows.states)
    assert np.abs(values - np.sign(rows.margins)).max() < 0.2


def run_to(folder: Path, config: TrainConfig, iterations: int, resume: bool = False) -> Path:
    changed = make_config(config.to_dict() | {"iterations": iterations}, "test")
    return train(changed, folder, resume, quiet=True)


RESUMED = {
    "float32": {"precision": "float32"},
    "bfloat16": {"precision": "bfloat16"},
    "puct": {"policy": "puct"},
    "history outgrows its room": {"plies": 40, "random_plies": 0},
    "no game ends at first": {"plies": 1},
}


@pytest.mark.parametrize("changes", RESUMED.values(), ids=RESUMED)
def test_stop_and_resume_equals_uninterrupted(tmp_path: Path, changes: dict) -> None:
    config = make_config(SMALL | {"selfplay": SMALL["selfplay"] | changes}, "test")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(config, whole, resume=False, quiet=True)
    for done in range(config.iterations):
        # Each iteration in a new Run, as after a kill at the worst moment: a half-written checkpoint.
        (parts / "checkpoints" / f"{done + 1:06d}.tmp").mkdir(parents=True)
        run = open_run(config, parts, resume=True)
        assert run.iteration == done
        with ThreadPoolExecutor(2) as pool:
            run.iterate(pool)
    ours, theirs = (checkpoint.checkpoints(folder)[-1] for folder in (whole, parts))
    assert ours.name == theirs.name == "000004"
    for name in ("weights.safetensors", "state.safetensors"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert (whole / "replay/000003.safetensors").read_bytes() == (
        parts / "replay/000003.safetensors"
    ).read_bytes()


def test_a_resumed_run_keeps_its_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` is decided once: the machine that goes on may decide otherwise, and the run would differ."""
    config = make_config(SMALL, "test")
    for chosen in (True, False):
        folder = tmp_path / str(chosen)
        monkeypatch.setattr("train.loop.use_bfloat16", lambda *_, chosen=chosen: chosen)
        run_to(folder, config, 1)
        monkeypatch.setattr("train.loop.use_bfloat16", lambda *_, chosen=chosen: not chosen)
        assert open_run(config, folder, resume=True).bfloat16 is chosen


@pytest.mark.parametrize(("precision", "expected"), [("float32", False), ("bfloat16", True)])
def test_precision_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, expected: bool
) -> None:
    assert use_bfloat16(precision, torch.device("cpu")) is expected
    made = []

    class Spy(TorchEvaluator):
        def __call__(self, rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            made.append(next(self.net.parameters()).dtype)
            return super().__call__(rules, states)

    monkeypatch.setattr("train.loop.TorchEvaluator", Spy)
    config = make_config(SMALL | {"selfplay": SMALL["selfplay"] | {"precision": precision}}, "test")
    run_to(tmp_path / "run", config, 1)
    assert set(made) == {torch.bfloat16 if expected else torch.float32}


def test_auto_precision_asks_the_device_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for native in (False, True):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda native=native: native)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda native=native, **_: not native)
        assert use_bfloat16("auto", torch.device("cpu")) is native
        assert use_bfloat16("auto", torch.device("cuda")) is not native


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device: compares it with the CPU")
def test_cuda_evaluates_and_trains_as_the_cpu_does(tmp_path: Path) -> None:
    config = make_config(SMALL | {"device": "cuda"}, "test")
    last = run_to(tmp_path / "run", config, 2)
    net, rules = load_net(str(last))
    for parameter in net.parameters():  # a net so young says nearly the same of every position
        torch.nn.init.normal_(parameter, 0, 0.2, torch.Generator().manual_seed(0))
    states = sample_positions(rules, 100)
    expected = TorchEvaluator(net, "cpu")(rules, states)
    for found in (TorchEvaluator(net, "cuda"), TorchEvaluator(net.to("cuda"), "cuda")):
        assert found.device.type == "cuda"
        for ours, theirs in zip(expected, found(rules, states), strict=True):
            assert np.abs(ours - theirs).max() < 1e-4
    # A run begun there goes on here, and the other way round.
    for iterations, device in ((3, "cpu"), (4, "cuda")):
        moved = make_config(config.to_dict() | {"device": device}, "test")
        last = run_to(tmp_path / "run", moved, iterations, resume=True)
    assert last.name == "000004"


def test_a_kept_net_is_there_once_its_iteration_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between the two writes must not leave a checkpoint whose kept net is missing for good."""
    config = make_config(SMALL | {"keep_every": 2, "iterations": 5}, "test")
    save = Run.save

    def killed(run: Run) -> Path:
        folder = save(run)
        if run.iteration == 2:
            raise KeyboardInterrupt
        return folder

    monkeypatch.setattr(Run, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run", resume=False, quiet=True)
    last = train(config, tmp_path / "run", resume=True, quiet=True)
    kept = tmp_path / "run" / "nets"
    assert sorted(path.name for path in kept.iterdir()) == ["000002", "000004"]
    seconds = [json.loads((path / "config.json").read_text())["seconds"] for path in sorted(kept.iterdir())]
    assert 0 < seconds[0] < seconds[1] < checkpoint.load_meta(last)["seconds"]


def test_metrics_hold_each_iteration_once(tmp_path: Path) -> None:
    config = make_config(SMALL, "test")
    run_to(tmp_path / "run", config, 2)
    metrics = tmp_path / "run" / "metrics.jsonl"
    metrics.write_text(metrics.read_text() + '{"iteration": 3}\n{"iterat')
    run_to(tmp_path / "run", config, 4, resume=True)
    iterations = [json.loads(line)["iteration"] for line in metrics.read_text().splitlines()]
    assert iterations == [1, 2, 3, 4]
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))
    last = json.loads(metrics.read_text().splitlines()[-1])
    assert {"policy_loss", "plies_per_s", "games", "window", "samples_per_s"} <= last.keys()


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    config = make_config(SMALL | {"iterations": 1}, "test")
    folder = tmp_path / "run"
    last = train(config, folder, resume=False, quiet=True)
    before = (last / "weights.safetensors").read_bytes()
    with pytest.raises(KalahError, match="holds a run already"):
        train(config, folder, resume=False, quiet=True)
    other = make_config(SMALL | {"seed": 3}, "test")
    with pytest.raises(KalahError, match="begun with another seed"):
        train(other, folder, resume=True, quiet=True)
    assert (last / "weights.safetensors").read_bytes() == before


def test_truncated_checkpoint_is_one_clear_error(tmp_path: Path) -> None:
    config = make_config(SMALL | {"iterations": 2}, "test")
    folder = tmp_path / "run"
    last = train(config, folder, resume=False, quiet=True)
    state = last / "state.safetensors"
    state.write_bytes(state.read_bytes()[:500])
    longer = make_config(SMALL | {"iterations": 3}, "test")
    with pytest.raises(KalahError, match=r"truncated or foreign\. Delete that folder"):
        train(longer, folder, resume=True, quiet=True)
    import shutil

    shutil.rmtree(last)
    assert open_run(longer, folder, resume=True).iteration == 1
    assert train(longer, folder, resume=True, quiet=True).name == "000003"


def test_time_limit_ends_a_run(tmp_path: Path) -> None:
    config = make_config(SMALL | {"iterations": 50, "max_minutes": 1e-6}, "test")
    assert train(config, tmp_path / "run", resume=False, quiet=True).name == "000001"


def test_same_seed_same_run_and_other_seed_another(tmp_path: Path) -> None:
    weights = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        config = make_config(SMALL | {"iterations": 2, "seed": seed}, "test")
        weights.append(
            (train(config, tmp_path / name, resume=False, quiet=True) / "weights.safetensors").read_bytes()
        )
    assert weights[0] == weights[1] != weights[2]


def test_run_holds_no_more_files_than_it_needs(tmp_path: Path) -> None:
    config = make_config(SMALL | {"iterations": 12, "replay": {"window": 200, "minimum": 100}}, "test")
    run = Run(config, tmp_path / "run")
    with ThreadPoolExecutor(2) as pool:
        for _ in range(12):
            run.iterate(pool)
    assert len(checkpoint.checkpoints(tmp_path / "run")) == checkpoint.KEPT
    assert len(list((tmp_path / "run/replay").iterdir())) <= len(run.replay.shards) + 2
