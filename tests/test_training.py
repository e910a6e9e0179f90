"""Learner, loop and checkpoints: what a training run promises."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from training import SMALL, play

from agents.encoding import encode
from agents.network import NetConfig
from agents.neural import TorchEvaluator, load_net
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, parse_rules
from train import checkpoint
from train.config import Learner as LearnerConfig
from train.config import TrainConfig, make_config
from train.export import sample_positions
from train.learner import Learner
from train.loop import Run, Stopped, open_run, train, use_bfloat16, why_untrained
from train.replay import Replay, Rows
from train.selfplay import SelfPlay


@pytest.mark.parametrize(
    ("spec", "optimiser"),
    [
        ("kalah:pits=3,seeds=2", {"optimiser": "muon", "muon_rate": 3e-2}),
        ("kalaha-philos:pits=3,seeds=2", {}),
        ("bao-philos:pits=3", {}),
        ("danish:pits=3,seeds=2", {}),
    ],
)
def test_learner_overfits_a_tiny_set(tmp_path: Path, spec: str, optimiser: dict) -> None:
    rules = parse_rules(spec)
    _, rows = play(rules)
    _, first = np.unique(encode(rules, rows.states)[0], axis=0, return_index=True)
    rows = Rows(*(array[first[:24]] for array in rows))
    replay = Replay(tmp_path, 1000, 10, 1.0)
    replay.add(0, rows)
    config = LearnerConfig(batch=64, samples_per_row=1, rate=3e-3, weight_decay=0.0, average=0.9, **optimiser)
    learner = Learner(rules, NetConfig.for_rules(rules, 64, 2), config, "cpu", 0)
    begun = {name: parameter.clone() for name, parameter in learner.net.named_parameters()}
    before = learner.run(replay, 64 * 10, 0.0)
    assert not [name for name, old in begun.items() if torch.equal(old, learner.net.get_parameter(name))]
    learner.run(replay, 64 * 600, 0.0)
    after = learner.run(replay, 64 * 10, 0.9)
    assert before["margin_loss"] > 1.0
    assert after["margin_loss"] < 0.1
    assert after["outcome_loss"] < 0.05
    assert after["policy_loss"] < 0.02
    assert 0 < after["rate"] < before["rate"]
    # What plays reads the heads as the learner does: the same policies, results and margins come out.
    logits, values = TorchEvaluator(learner.average, rules, "cpu", sign_weight=0.0)(rules, rows.states)
    logits = np.where(batch.legal_masks(rules, rows.states) > 0, logits, -np.inf)
    likely = np.exp(logits - logits.max(1, keepdims=True))
    assert np.abs(likely / likely.sum(1, keepdims=True) - rows.policies).max() < 0.1
    half = 1 if rules.win else rules.pits * rules.seeds  # with `win=move` a win is all there is
    assert np.abs(values - rows.margins / half).max() < 0.5 / max(half, 5)
    _, values = TorchEvaluator(learner.average, rules, "cpu", sign_weight=1.0)(rules, rows.states)
    assert np.abs(values - np.sign(rows.margins)).max() < 0.2


def run_to(folder: Path, config: TrainConfig, iterations: int, resume: bool = False) -> Path:
    changed = make_config(config.to_dict() | {"iterations": iterations}, "test")
    return train(changed, folder, resume, quiet=True)


RESUMED = {
    "float32": {"selfplay": {"precision": "float32"}},
    "bfloat16": {"selfplay": {"precision": "bfloat16"}},
    "puct": {"selfplay": {"policy": "puct"}},
    "history outgrows its room": {"selfplay": {"plies": 40, "random_plies": 0}},
    "no game ends at first": {"selfplay": {"plies": 1}},
    "two workers, forks": {"selfplay": {"workers": 2, "fork": 0.5}},
    "table and backed-up values": {"selfplay": {"endgame": 5, "value_target": "backup"}},
    "muon": {"learner": {"optimiser": "muon"}},
}


@pytest.mark.parametrize("changes", RESUMED.values(), ids=RESUMED)
def test_stop_and_resume_equals_uninterrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict
) -> None:
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path / "tables"))
    config = make_config(SMALL | {part: SMALL[part] | changes[part] for part in changes}, "test")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(config, whole, resume=False, quiet=True)
    for done in range(config.iterations):
        # Each iteration in a new Run, as after a kill at the worst moment: a half-written checkpoint.
        (parts / "checkpoints" / f"{done + 1:06d}.tmp").mkdir(parents=True)
        run = open_run(config, parts, resume=done > 0)
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
        for where in ("train.loop", "train.learner"):
            monkeypatch.setattr(f"{where}.use_bfloat16", lambda *_, chosen=chosen: chosen)
        run_to(folder, config, 1)
        for where in ("train.loop", "train.learner"):
            monkeypatch.setattr(f"{where}.use_bfloat16", lambda *_, chosen=chosen: not chosen)
        run = open_run(config, folder, resume=True)
        assert run.bfloat16 is chosen
        assert run.learner.bfloat16 is chosen


@pytest.mark.parametrize(("precision", "expected"), [("float32", False), ("bfloat16", True)])
def test_precision_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, expected: bool
) -> None:
    assert use_bfloat16(precision, torch.device("cpu")) is expected
    made = []

    class Spy(TorchEvaluator):
        def __call__(self, rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            made.append(self.weights.dtype)
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
    learner = SMALL["learner"] | {"optimiser": "muon"}
    config = make_config(SMALL | {"device": "cuda", "learner": learner}, "test")
    last = run_to(tmp_path / "run", config, 2)
    net, rules = load_net(str(last))
    for parameter in net.parameters():  # a net so young says nearly the same of every position
        torch.nn.init.normal_(parameter, 0, 0.2, torch.Generator().manual_seed(0))
    states = sample_positions(rules, 100)
    expected = TorchEvaluator(net, rules, "cpu")(rules, states)
    for found in (TorchEvaluator(net, rules, "cuda"), TorchEvaluator(net.to("cuda"), rules, "cuda")):
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
    with pytest.raises(KalahError, match=r"begun with seed=0 \(now: seed=3\)"):
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


def test_stop_ends_both_threads_within_an_iteration(tmp_path: Path) -> None:
    """After Ctrl-C the running iteration is given up at once, and the last checkpoint stands."""
    config = make_config(SMALL | {"iterations": 3, "learner": {"batch": 32, "samples_per_row": 100}}, "test")
    run = Run(config, tmp_path / "run")
    with ThreadPoolExecutor(2) as pool:
        run.iterate(pool)
        run.stop.set()
        for work in (pool.submit(run._learn, 0.0), pool.submit(run._play, *slow_evaluation(run))):
            with pytest.raises(Stopped):
                work.result()
    assert [path.name for path in checkpoint.checkpoints(tmp_path / "run")] == ["000001"]


def slow_evaluation(run: Run) -> tuple[SelfPlay, TorchEvaluator, int]:
    return run.players[0], TorchEvaluator(run.learner.average, run.rules, "cpu"), 4


def test_resume_needs_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(KalahError, match="holds no checkpoint to go on from"):
        train(make_config(SMALL, "test"), tmp_path / "run", resume=True, quiet=True)


@pytest.mark.parametrize("name", ["checkpoints/000002/state.safetensors", "replay/000001.safetensors"])
def test_a_flipped_byte_is_noticed(tmp_path: Path, name: str) -> None:
    """Also one in the middle of the numbers, where the file format has no check of its own."""
    config = make_config(SMALL | {"iterations": 2}, "test")
    train(config, tmp_path / "run", resume=False, quiet=True)
    file = tmp_path / "run" / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2 + 100] ^= 1
    file.write_bytes(data)
    with pytest.raises(KalahError, match="not the file that was written"):
        train(config, tmp_path / "run", resume=True, quiet=True)


@pytest.mark.parametrize(
    ("done", "rows", "iterations", "said"),
    [
        (1, 50, 1, "only one iteration ran, .* raise iterations and go on with --resume"),
        (1, 50, 9, "only one iteration ran, .* raise max_minutes and go on with --resume"),
        (1, 0, 1, "there were none in 1 iteration; raise iterations and .* more selfplay.plies"),
        (3, 0, 9, "there were none in 3 iterations; raise max_minutes and .* more selfplay.plies"),
        (3, 50, 3, "none before the last of 3 iterations; raise iterations and .* more selfplay.plies"),
    ],
)
def test_a_run_without_learning_names_the_cause(done: int, rows: int, iterations: int, said: str) -> None:
    config = make_config({**SMALL, "iterations": iterations}, "test")
    assert re.search(said, why_untrained(done, rows, config))


def test_a_resumed_run_says_what_it_was_begun_with(tmp_path: Path) -> None:
    config = make_config({**SMALL, "iterations": 1}, "test")
    train(config, tmp_path / "run", resume=False, quiet=True)
    other = make_config({**SMALL, "rules": "kgp:pits=3,seeds=2", "learner": {"batch": 64}}, "test")
    sentence = (
        r"begun with rules=kalah:pits=3,seeds=2, learner.batch=32 "
        r"\(now: rules=kgp:pits=3,seeds=2, learner.batch=64\)"
    )
    with pytest.raises(KalahError, match=sentence):
        train(other, tmp_path / "run", resume=True, quiet=True)
