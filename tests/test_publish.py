"""What ships of a run."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file
from training import SMALL

from agents import nets
from agents.base import make_agent
from agents.neural import load_net
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.resources import resource_dir
from train import publish
from train.config import load_config, make_config
from train.export import export_checkpoint, parity
from train.loop import train


def test_a_published_net_is_that_of_the_run_and_its_config_loads(tmp_path: Path) -> None:
    config = make_config(SMALL | {"iterations": 3, "seed": 5}, "test")
    run, out = tmp_path / "run", tmp_path / "shipped" / "small"
    train(config, run, resume=False, quiet=True)
    publish.publish(run, out)
    assert sorted(path.name for path in out.iterdir()) == [
        nets.CONFIG,
        nets.ONNX,
        "train.yaml",
        nets.WEIGHTS,
    ]
    rules = config.parsed_rules()
    states = batch.new_games(rules, 1)
    moves = [make_agent(spec).act(rules, states)[0] for spec in (f"net:{run},sims=9", f"net:{out},sims=9")]
    assert moves[0] == moves[1] == make_agent(f"onnx:{out}/net.onnx,sims=9").act(rules, states)[0]
    told = json.loads((out / nets.CONFIG).read_text())["training"]
    assert (told["seed"], told["iterations"]) == (5, 3)
    assert told["rows"] > 100
    assert told["games"] > 10
    assert load_config(str(out / "train.yaml"), []) == config


def test_weights_ship_in_float16_and_onnx_calculates_with_the_same(tmp_path: Path) -> None:
    config = make_config(SMALL | {"iterations": 3}, "test")
    run, out = tmp_path / "run", tmp_path / "out"
    last = train(config, run, resume=False, quiet=True)
    publish.publish(run, out)
    ours, theirs = load_file(last / nets.WEIGHTS), load_file(out / nets.WEIGHTS)
    assert all(np.array_equal(theirs[name], ours[name].astype(np.float16)) for name in ours)
    assert not all(np.array_equal(tensor, ours[name]) for name, tensor in theirs.items())
    stored = [onnx.numpy_helper.to_array(t) for t in onnx.load(out / nets.ONNX).graph.initializer]
    matrices = [array for array in stored if array.ndim == 2]
    assert len(matrices) == sum(array.ndim == 2 for array in theirs.values())
    assert all(array.dtype == np.float16 for array in matrices)
    net, rules = load_net(str(out))
    assert parity(net, rules, out / nets.ONNX)["greatest_logit_difference"] < 1e-5
    # What float16 would change stays as it is.
    export_checkpoint(str(last), str(tmp_path / "exact.onnx"))
    stored = [onnx.numpy_helper.to_array(t) for t in onnx.load(tmp_path / "exact.onnx").graph.initializer]
    assert all(array.dtype == np.float32 for array in stored if array.size > 100)


def test_publish_refuses_what_is_not_fit_to_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KalahError, match="holds no checkpoint"):
        publish.publish(tmp_path, tmp_path / "out")
    train(make_config(SMALL | {"iterations": 1}, "test"), tmp_path / "run", resume=False, quiet=True)
    with pytest.raises(KalahError, match="000001 has learned nothing yet"):
        publish.publish(tmp_path / "run", tmp_path / "out")
    train(make_config(SMALL | {"iterations": 4}, "test"), tmp_path / "run", resume=True, quiet=True)
    monkeypatch.setattr(publish, "MOST_BYTES", 10_000)
    with pytest.raises(KalahError, match=r"bytes \(10,000 at most\)"):
        publish.publish(tmp_path / "run", tmp_path / "out")


def test_publish_writes_over_nothing(tmp_path: Path) -> None:
    train(make_config(SMALL, "test"), tmp_path / "run", resume=False, quiet=True)
    (tmp_path / "file").touch()
    for there in ("run", "file"):
        with pytest.raises(KalahError, match=f"{there} is there already; give a new folder"):
            publish.publish(tmp_path / "run", tmp_path / there)
    (tmp_path / "out").mkdir()  # an empty one is nobody's
    assert publish.publish(tmp_path / "run", tmp_path / "out")["ok"]
    before = (tmp_path / "out" / "weights.safetensors").read_bytes()
    with pytest.raises(KalahError, match="out is there already"):
        publish.publish(tmp_path / "run", tmp_path / "out")
    assert (tmp_path / "out" / "weights.safetensors").read_bytes() == before


SHIPPED = sorted(path.parent for path in resource_dir("checkpoints").glob("*/config.json"))


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_a_shipped_net_is_whole_and_its_card_says_what_was_measured(folder: Path) -> None:
    net, rules = load_net(folder.name)  # found by its name, with the weights that config.json names
    config = load_config(str(folder / "train.yaml"), [])
    assert config.parsed_rules() == rules
    assert net.config.width == config.net.width
    card = (folder / "README.md").read_text()
    rows = publish.card_rows(folder)
    assert len(rows) >= 3
    for row in rows:
        assert row in card.splitlines()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= publish.MOST_BYTES
    states = batch.new_games(rules, 1)
    assert make_agent(f"net:{folder.name}").act(rules, states) == make_agent(f"onnx:{folder}/net.onnx").act(
        rules, states
    )
