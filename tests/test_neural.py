"""Network inputs, heads, evaluators and the agents `net` and `onnx`; export."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from families import SMALL, random_game

from agents import endgame
from agents.base import check_plays, make_agent
from agents.encoding import COUNT_CLASSES, MOVE_CLASSES, embed, encode, fold, num_features
from agents.exported import OnnxAgent, OnnxEvaluator
from agents.heads import utilities
from agents.network import KalahNet, NetConfig, margin_bins, margin_step, pick_device
from agents.neural import NetAgent, TorchEvaluator, load_net, save_net
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import PRESET_NAMES, Rules, parse_rules, side_pits
from kalah_env.text import parse_position
from train import export


def random_net(rules: Rules, seed: int = 0) -> KalahNet:
    torch.manual_seed(seed)
    net = KalahNet(NetConfig.for_rules(rules, 32, 2))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(0, 0.2)
    return net.eval()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rules = parse_rules("kalah:pits=4,seeds=3")
    save_net(tmp_path / "net", random_net(rules), rules)
    return tmp_path / "net"


def test_encoding_is_the_movers_view() -> None:
    rules = parse_rules("mankalah:pits=2,seeds=3")
    south = parse_position("<2,3,1,2,0,20,1> S", rules)
    north = parse_position("<2,1,3,20,1,2,0> N swap", rules)
    features, facts = encode(rules, np.array([south, north]))
    counts = features[0, : 4 * COUNT_CLASSES].reshape(4, COUNT_CLASSES)
    assert counts.argmax(1).tolist() == [2, 0, COUNT_CLASSES - 1, 1]
    assert counts.sum() == 4
    assert facts[0].tolist() == [2.0, 23.0, 13.5]
    assert facts[1].tolist() == facts[0].tolist()
    assert (features[0, :-1] == features[1, :-1]).all()
    assert features[:, -1].tolist() == [0.0, 1.0]
    assert features.shape[1] == num_features(rules)


def turned(rules: Rules, states: np.ndarray) -> np.ndarray:
    """Return the states with the sides exchanged: what south has north has, and the other one moves."""
    half = side_pits(rules) + 1
    out = states.copy()
    out[:, :half], out[:, half : 2 * half] = states[:, half : 2 * half], states[:, :half]
    batch.extras(rules, out)[:, engine.SIDE] ^= 1
    return out


@pytest.mark.parametrize("spec", PRESET_NAMES)
def test_a_position_and_its_mirror_look_alike(spec: str) -> None:
    rules = parse_rules(spec)
    states = export.sample_positions(rules, 100)
    features, facts = encode(rules, states)
    for ours, theirs in zip((features, facts), encode(rules, turned(rules, states)), strict=True):
        assert np.array_equal(ours, theirs)
    # Nothing of a side is lost: boards that differ, for the mover, look different.
    boards = np.where(batch.sides(rules, states)[:, None] == 1, turned(rules, states), states)
    extras = 2 * side_pits(rules) + 2
    assert len(np.unique(features, axis=0)) == len(np.unique(boards[:, : extras + engine.PHASE + 1], axis=0))
    assert features.shape == (100, num_features(rules))
    total = states[:, :extras].sum(1)
    assert facts[:, 2].tolist() == (total if rules.win else total / 2).tolist()


@pytest.mark.parametrize("step", [1, 2])
def test_margin_bins_read_back_exactly(step: int) -> None:
    """A distribution that is certain of one bin gives back the margin it stands for, for either parity."""
    seeds = 12
    for on_board in range(seeds + 1):
        for remaining in range(-on_board, on_board + 1, step):
            chosen = margin_bins(np.array([remaining]), seeds, step)
            logits = np.full((2 * seeds // step + 1, 1), -100.0)
            logits[chosen[0]] = 100.0
            facts = np.array([[3.0, on_board, 6.0]])
            value = utilities(np.zeros((3, 1)), logits, facts, seeds, 0.0)
            assert value[0] == pytest.approx((remaining + 3) / 6)


@pytest.mark.parametrize("spec", SMALL.values(), ids=SMALL)
def test_bins_are_two_seeds_apart_only_where_margins_have_one_parity(spec: str) -> None:
    """Random games: what is left to win has the parity of the seeds in the pits, or there is a bin for it."""
    rules = parse_rules(spec)
    step = margin_step(rules)
    pits = side_pits(rules)
    odd = 0
    for state in export.sample_positions(rules, 200):
        end = state.copy()
        random_game(rules, np.ones(1, np.uint64), end)
        if rules.win or batch.statuses(rules, end) != engine.OVER:
            continue
        remaining = engine.margin(rules, end) - engine.margin(rules, state)
        in_pits = state[: 2 * pits + 2].sum() - state[pits] - state[2 * pits + 1]
        odd += (remaining - in_pits) % 2
    assert (odd > 0) == (step == 1)


def test_utility_mixes_sign_and_margin() -> None:
    outcome = np.log([[0.6], [0.3], [0.1]])
    margin = np.full((9, 1), -100.0)
    margin[6] = 100.0
    value = utilities(outcome, margin, np.array([[0.0, 8.0, 4.0]]), 8, 0.25)
    assert value[0] == pytest.approx(0.25 * 0.5 + 0.75 * 1.0)


def test_utilities_are_those_of_exact_softmaxes() -> None:
    """Logits near and far from each other, in double precision by numpy beside it."""
    rng = np.random.default_rng(0)
    facts = np.stack([rng.integers(-20, 20, 500), rng.integers(0, 48, 500), np.full(500, 24)], 1)
    for scale in (0.1, 3.0, 60.0):
        outcome, margin = rng.normal(size=(3, 500)) * scale, rng.normal(size=(49, 500)) * scale
        chances, bins = (np.exp(logits - logits.max(0)) for logits in (outcome, margin))
        remaining = np.arange(-48, 49, 2) @ (bins / bins.sum(0)) + facts[:, 1] % 2
        chances /= chances.sum(0)
        expected = 0.5 * (chances[0] - chances[2]) + 0.5 * (remaining + facts[:, 0]) / 24
        found = utilities(outcome, margin, facts.astype(np.float32), 48, 0.5)
        assert np.abs(found - expected).max() < 1e-5


@pytest.mark.parametrize("spec", ["mankalah", "bao-philos", "kalah:pits=3,seeds=12"])
def test_the_first_layer_is_looked_up_as_it_would_be_multiplied(spec: str) -> None:
    rules = parse_rules(spec)
    first, second = batch.new_games(rules, 1), batch.new_games(rules, 1)
    batch.step(rules, second, np.array([1]))
    states = np.concatenate([first, second, export.sample_positions(rules, 300)])
    net = random_net(rules)
    features, facts = encode(rules, states)
    expected = net.stem(torch.from_numpy(features)).detach().numpy()
    bias = net.stem.bias.detach().numpy()
    found, same = embed(rules, states, fold(rules, net.stem.weight.detach().numpy()), bias)
    assert np.abs(found - expected).max() < 1e-5
    assert same.tolist() == facts.tolist()
    assert states[:, : side_pits(rules)].max() > COUNT_CLASSES
    assert len(np.unique(batch.extras(rules, states)[:, engine.PHASE])) == 2 + rules.pie


def test_net_folder_round_trip(folder: Path) -> None:
    net, rules = load_net(str(folder))
    assert rules == parse_rules("kalah:pits=4,seeds=3")
    states = export.sample_positions(rules, 16)
    expected = TorchEvaluator(random_net(rules), rules, "cpu")(rules, states)
    found = TorchEvaluator(net, rules, "cpu")(rules, states)
    assert np.array_equal(expected[0], found[0])
    assert np.array_equal(expected[1], found[1])


def test_bfloat16_is_close_to_float32() -> None:
    rules = parse_rules("kalah")
    net = random_net(rules)
    states = export.sample_positions(rules, 64)
    logits, values = TorchEvaluator(net, rules, "cpu")(rules, states)
    rough_logits, rough_values = TorchEvaluator(net, rules, "cpu", bfloat16=True)(rules, states)
    assert np.abs(values - rough_values).max() < 0.1
    assert np.abs(logits - rough_logits).max() < 0.05 * np.abs(logits).max()
    assert not np.array_equal(values, rough_values)


@pytest.mark.parametrize("spec", [*PRESET_NAMES, "hus:directions=2,pie=true"])
@pytest.mark.parametrize("sims", [0, 8])
def test_net_agent_plays_legal_moves_and_is_seeded(tmp_path: Path, sims: int, spec: str) -> None:
    rules = parse_rules(spec)
    save_net(tmp_path, random_net(rules), rules)
    states = export.sample_positions(rules, 50)
    first = NetAgent(str(tmp_path), sims=sims, seed=1).act(rules, states)
    again = NetAgent(str(tmp_path), sims=sims, seed=1).act(rules, states)
    masks = batch.legal_masks(rules, states)
    assert (masks[np.arange(len(states)), first] == 1).all()
    assert first.tolist() == again.tolist()


def test_policy_head_alone_takes_the_best_legal_logit(folder: Path) -> None:
    net, rules = load_net(str(folder))
    states = export.sample_positions(rules, 30)
    logits, _ = TorchEvaluator(net, rules, "cpu")(rules, states)
    legal = batch.legal_masks(rules, states) > 0
    expected = [max(np.flatnonzero(ok), key=lambda a: row[a]) for row, ok in zip(logits, legal, strict=True)]
    assert NetAgent(str(folder)).act(rules, states).tolist() == expected


def test_net_refuses_other_rules_but_not_other_seeds(folder: Path) -> None:
    agent = NetAgent(str(folder))
    other = parse_rules("fairkalah:pits=4,seeds=3")
    with pytest.raises(KalahError, match="was trained on kalah:pits=4,seeds=3 and cannot play fairkalah"):
        agent.act(other, batch.new_games(other, 1))
    more = parse_rules("kalah:pits=4,seeds=2")
    assert len(agent.act(more, batch.new_games(more, 3))) == 3


def test_damaged_net_is_one_clear_error(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    with pytest.raises(KalahError, match="cannot be read"):
        load_net(str(folder))
    with pytest.raises(
        KalahError, match=r"there is no such folder; give .* a shipped net: kalah-6x4, kalah-6x6"
    ):
        load_net(str(folder / "nowhere"))
    (folder / "nothing").mkdir()
    with pytest.raises(KalahError, match=r"there is no config\.json in that folder"):
        load_net(str(folder / "nothing"))
    with pytest.raises(KalahError, match=r"that is an exported network; write onnx:some\.onnx"):
        load_net("some.onnx")
    for given in ("kalah-6x4", str(folder)):
        with pytest.raises(KalahError, match=f"a network's folder is net:{given}"):
            make_agent(f"onnx:{given}")
    (folder / "config.json").write_text("{}")
    with pytest.raises(KalahError, match="cannot be read"):
        load_net(str(folder))


@pytest.mark.parametrize(("device", "allowed"), [("tpu", False), ("cpu", True), ("auto", True)])
def test_devices(device: str, allowed: bool) -> None:
    if allowed:
        assert pick_device(device).type in ("cpu", "cuda")
    else:
        with pytest.raises(KalahError, match="auto, cpu or cuda"):
            pick_device(device)


def test_onnx_equals_torch_and_plays(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "net.onnx"
    out.parent.mkdir()
    report = export.export_checkpoint(str(folder), str(out))
    assert report["ok"]
    assert report["greatest_logit_difference"] < 1e-4
    rules = parse_rules("kalah:pits=4,seeds=3")
    states = export.sample_positions(rules, 40)
    for sims in (0, 8):
        ours = NetAgent(str(folder), sims=sims).act(rules, states)
        theirs = OnnxAgent(str(out), sims=sims).act(rules, states)
        assert ours.tolist() == theirs.tolist()
    # Parity can fail: the same file against another network.
    assert not export.parity(random_net(rules, 1), rules, out)["ok"]
    assert sorted(path.name for path in out.parent.iterdir()) == ["net.onnx"]


@pytest.mark.parametrize(
    "name", ["kalaha-philos", "bao-philos", *(pytest.param(n, marks=pytest.mark.slow) for n in PRESET_NAMES)]
)
def test_every_family_is_exported_and_plays_alike(name: str, tmp_path: Path) -> None:
    """Few run by default, of odd heads and of two directions: an export takes seconds."""
    rules = parse_rules(SMALL[name])
    save_net(tmp_path / "net", random_net(rules), rules)
    report = export.export_checkpoint(str(tmp_path / "net"), str(tmp_path / "net.onnx"))
    assert report["ok"]
    exported = OnnxAgent(str(tmp_path / "net.onnx"), sims=4)
    assert exported.trained == rules
    states = export.sample_positions(rules, 30)
    ours = NetAgent(str(tmp_path / "net"), sims=4).act(rules, states)
    assert (exported.act(rules, states) == ours).mean() > 0.9


@pytest.mark.parametrize("out", ["net.txt", "."])
def test_export_refuses_bad_names(folder: Path, out: str) -> None:
    with pytest.raises(KalahError, match="no file name ending in"):
        export.export_checkpoint(str(folder), out)


def test_export_checks_its_file_before_the_net(tmp_path: Path) -> None:
    """As `kalah arena --records` does: no folder is made, since a mistyped one would be too."""
    (tmp_path / "folder.onnx").mkdir()
    for wrong in (tmp_path / "missing" / "net.onnx", tmp_path / "folder.onnx"):
        with pytest.raises(KalahError, match=r"export: the net cannot be written to .*name a regular file"):
            export.export_checkpoint("no such checkpoint", str(wrong))
    assert not (tmp_path / "missing").exists()


def test_foreign_onnx_file_is_one_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "x.onnx"
    file.write_bytes(b"not a model")
    with pytest.raises(KalahError, match="no network of `kalah export`"):
        OnnxAgent(str(file))
    with pytest.raises(KalahError, match="there is no file"):
        OnnxAgent(str(tmp_path / "missing.onnx"))


def test_a_flipped_weight_is_noticed(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-5] ^= 1
    weights.write_bytes(data)
    with pytest.raises(KalahError, match="not the file that was written"):
        load_net(str(folder))


@pytest.mark.parametrize("wrong", [{"sims": 10**9}, {"sims": -1}, {"sign_weight": float("nan")}])
def test_net_options_have_ranges(folder: Path, wrong: dict) -> None:
    with pytest.raises(KalahError, match="out of range"):
        NetAgent(str(folder), **wrong)
    with pytest.raises(KalahError, match="search=puct searches nothing; give sims="):
        NetAgent(str(folder), search="puct")


def test_rules_are_looked_at_before_a_table_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = [], endgame.obtain
    monkeypatch.setenv("KALAH_TABLE_DIR", str(folder))
    monkeypatch.setattr(endgame, "obtain", lambda *what: made.append(what) or real(*what))
    agent = NetAgent(str(folder), sims=2, endgame=3)
    other = parse_rules("fairkalah:pits=4,seeds=3")
    with pytest.raises(KalahError, match="cannot play fairkalah"):
        check_plays(agent, other)
    assert made == []
    for _ in range(2):
        check_plays(agent, agent.trained)
    assert made == [(agent.trained, 3)]


@pytest.mark.parametrize("spec", PRESET_NAMES)
def test_move_features_say_what_each_move_brings(spec: str) -> None:
    """Both sides' moves, tried one by one with plain calls of the engine on a copy of the position."""
    rules = parse_rules(spec)
    states = export.sample_positions(rules, 60)
    features, _ = encode(rules, states)
    actions = side_pits(rules) * rules.directions
    first = 2 * side_pits(rules) * COUNT_CLASSES
    found = features[:, first : first + 2 * actions * MOVE_CLASSES].reshape(len(states), 2 * actions, -1)
    kinds = set()
    for state, rows in zip(states, found, strict=True):
        for move, row in enumerate(rows):
            side = int(batch.sides(rules, state)) ^ (move >= actions)
            copy = state.copy()
            batch.extras(rules, copy)[:2] = (side, engine.MID)
            expected = -1
            if engine.is_legal(rules, copy, move % actions):
                store = side * (side_pits(rules) + 1) + side_pits(rules)
                before = int(copy[store])
                captured = engine.play(rules, copy, move % actions)
                over = batch.statuses(rules, copy) != engine.RUNNING
                again = not over and batch.sides(rules, copy) == side
                gained = max(int(captured), int(copy[store]) - before)
                expected = 0 if again else min(1 + gained, MOVE_CLASSES - 1)
            assert row.sum() == (expected >= 0)
            assert expected == -1 or row[expected] == 1
            kinds.add(expected)
    assert len(kinds) > 4


def test_a_net_of_other_features_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    rules = parse_rules("kalah:pits=4,seeds=3")
    net = KalahNet(NetConfig(**{**config["net"], "features": num_features(rules) - 1}))
    save_net(folder, net, rules)
    with pytest.raises(KalahError, match="another version of kalah-env made it"):
        load_net(str(folder))


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_an_evaluator_refuses_what_its_net_does_not_know(kind: str, folder: Path, tmp_path: Path) -> None:
    net, rules = load_net(str(folder))
    export.export_checkpoint(str(folder), str(tmp_path / "net.onnx"))
    found = (
        TorchEvaluator(net, rules, "cpu") if kind == "torch" else OnnxEvaluator(str(tmp_path / "net.onnx"))
    )
    states = batch.new_games(rules, 3)
    more = parse_rules("kalah:pits=4,seeds=5")
    assert np.isfinite(found(more, batch.new_games(more, 2))[0]).all()
    for spec in ("kalah", "danish:pits=4,seeds=3"):  # other sizes, and the same sizes but other rules
        other = parse_rules(spec)
        for _ in range(2):
            with pytest.raises(KalahError, match=f"trained on .* cannot play {spec}"):
                found(other, batch.new_games(other, 2))
    for wrong in (states[0], states[:, :-1], states.astype(np.float32), states.tolist()):
        with pytest.raises(KalahError, match=r"positions .*int16"):
            found(rules, wrong)
    assert np.isfinite(found(rules, states)[1]).all()
    given = {"net": net, "trained": rules} if kind == "torch" else {"path": str(tmp_path / "net.onnx")}
    with pytest.raises(KalahError, match="sign_weight=5 is out of range; it is 0 to 1"):
        type(found)(**given, sign_weight=5)
