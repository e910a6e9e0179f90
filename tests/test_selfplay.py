"""Self-play and the replay window: rows, targets, restoring."""

import json
from pathlib import Path

import numpy as np
import pytest
from families import SMALL
from training import play, uniform

from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, parse_rules, side_pits
from train.config import SelfPlay as SelfPlayConfig
from train.replay import Replay, Rows
from train.selfplay import SelfPlay


@pytest.mark.parametrize("spec", [*SMALL.values(), "kalah:pits=4,seeds=3", "bao-philos:pits=3,pie=true"])
@pytest.mark.parametrize("policy", ["gumbel", "puct"])
def test_selfplay_rows_are_decisions_with_proper_targets(spec: str, policy: str) -> None:
    rules = parse_rules(spec)
    _, rows = play(rules, policy=policy)
    assert len(rows.margins) > 100
    masks = batch.legal_masks(rules, rows.states)
    assert (masks.sum(1) > 1).all()
    assert np.allclose(rows.policies.sum(1), 1, atol=1e-4)
    assert (rows.policies[masks == 0] == 0).all()
    total = 1 if rules.win else 2 * rules.pits * rules.seeds
    assert (np.abs(rows.margins) <= total).all()
    assert (rows.margins > 0).any()
    assert (rows.margins < 0).any()


def test_policy_targets_are_what_the_config_says() -> None:
    """With 12 simulations a share of visits is a multiple of 1/12; an improved policy is not."""
    rules = parse_rules("kalah:pits=3,seeds=3")
    for target, expected in (("visits", True), ("improved", False)):
        config = SelfPlayConfig(games=16, plies=30, policy_target=target)
        rows = SelfPlay(rules, config, 0).run(uniform, 12)
        assert len(rows.policies) > 50
        assert np.allclose(rows.policies.sum(1), 1, atol=1e-5)
        twelfths = rows.policies * 12
        assert np.allclose(twelfths, np.round(twelfths), atol=1e-4) == expected


@pytest.mark.parametrize("spec", ["mankalah:pits=3,seeds=2", "hus:pits=4,pie=true"])
def test_selfplay_margins_are_those_of_the_replayed_game(spec: str) -> None:
    """Replays whole games by their moves; swaps included, each row's margin is its own player's."""
    rules = parse_rules(spec)
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
            size = 2 * side_pits(rules) + 2
            same_board = (before[:size] == state[:size]).all()
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
    again.restore(replay.digests, replay.total)
    ours, theirs = (r.sample(50, np.random.default_rng(3)) for r in (replay, again))
    assert np.array_equal(ours.margins, theirs.margins)
    assert len(list(tmp_path.iterdir())) == len(replay.shards)
    (tmp_path / "000005.safetensors").write_bytes(b"short")
    with pytest.raises(KalahError, match="cannot be read"):
        again.restore(replay.digests, replay.total)
