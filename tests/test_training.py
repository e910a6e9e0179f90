"""Configs, self-play, replay, learner, checkpoints: what a training run promises."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from agents.mcts import Evaluate
from agents.network import NetConfig
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, num_actions, parse_rules
from train import checkpoint
from train.config import Learner as LearnerConfig
from train.config import SelfPlay as SelfPlayConfig
from train.config import TrainConfig, load_config, make_config
from train.learner import Learner
from train.loop import Run, train
from train.replay import Replay, Rows
from train.selfplay import SelfPlay

CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))
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


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_shipped_configs_load(path: Path) -> None:
    assert load_config(str(path), []).iterations > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nme": "x"}, "unknown key 'nme'"),
        ({"selfplay": {"gmes": 3}}, "unknown key 'selfplay.gmes'; known are games"),
        ({"selfplay": {"games": 0}}, r"selfplay\.games.*greater than or equal to 1.*given: 0"),
        ({"learner": {"rate": 7}}, r"learner\.rate"),
        ({"iterations": "many"}, "iterations.*given: 'many'"),
        ({"rules": "chess"}, "rules: .*there is no preset 'chess'"),
        ({"name": "../x"}, "name"),
        ({"device": "tpu"}, "device"),
        ({"selfplay": {"simulations": []}}, "simulations"),
    ],
)
def test_bad_configs_name_file_and_key(tmp_path: Path, change: dict, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(json.dumps(SMALL | change))
    with pytest.raises(KalahError, match=f"bad.yaml.*{message}"):
        load_config(str(file), [])


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: [1", b"- 1\n- 2", b""])
def test_unreadable_configs(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    with pytest.raises(KalahError, match=r"bad\.yaml"):
        load_config(str(file), [])
    with pytest.raises(KalahError, match="cannot be read"):
        load_config(str(tmp_path / "missing.yaml"), [])


def test_overrides(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps(SMALL))
    config = load_config(str(file), ["selfplay.games=5", "replay.share=0.25", "seed=9"])
    assert (config.selfplay.games, config.replay.share, config.seed) == (5, 0.25, 9)
    assert config.selfplay.plies == 12
    for wrong in ("games", "=3", "iterations.x=3", "selfplay.games=[", "nothing=1"):
        with pytest.raises(KalahError):
            load_config(str(file), [wrong])


def test_simulations_share_the_run_equally() -> None:
    config = make_config(SMALL | {"iterations": 6, "selfplay": {"simulations": [4, 8, 16]}}, "here")
    assert [config.simulations_at(i) for i in range(6)] == [4, 4, 8, 8, 16, 16]


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
    config = LearnerConfig(batch=64, samples_per_row=1, rate=3e-3, weight_decay=0.0)
    learner = Learner(rules, NetConfig.for_rules(rules, 64, 2), config, "cpu", 0)
    before = learner.run(replay, 64 * 10, 0.0)
    learner.run(replay, 64 * 600, 0.0)
    after = learner.run(replay, 64 * 10, 0.9)
    assert before["margin_loss"] > 1.0
    assert after["margin_loss"] < 0.1
    assert after["outcome_loss"] < 0.05
    assert after["policy_loss"] < 0.02
    assert 0 < after["rate"] < before["rate"]


def run_to(folder: Path, config: TrainConfig, iterations: int, resume: bool = False) -> Path:
    changed = make_config(config.to_dict() | {"iterations": iterations}, "test")
    return train(changed, folder, resume, quiet=True)


def test_stop_and_resume_equals_uninterrupted(tmp_path: Path) -> None:
    config = make_config(SMALL, "test")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(config, whole, resume=False, quiet=True)
    for done in range(config.iterations):
        # Each iteration in a new Run, as after a kill at the worst moment: a half-written checkpoint.
        from train.loop import open_run

        run = open_run(config, parts, resume=True)
        assert run.iteration == done
        (parts / "checkpoints" / f"{done + 1:06d}.tmp").mkdir(parents=True)
        with ThreadPoolExecutor(2) as pool:
            run.iterate(pool)
    ours, theirs = (checkpoint.checkpoints(folder)[-1] for folder in (whole, parts))
    assert ours.name == theirs.name == "000004"
    for name in ("weights.safetensors", "state.safetensors"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert (whole / "replay/000003.safetensors").read_bytes() == (
        parts / "replay/000003.safetensors"
    ).read_bytes()


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
