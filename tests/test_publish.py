"""What ships of a run."""

import json
from pathlib import Path

import pytest
from training import SMALL

from agents import nets
from agents.base import make_agent
from agents.neural import load_net
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.resources import resource_dir
from train import publish
from train.config import load_config, make_config
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


def test_publish_refuses_what_is_not_fit_to_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KalahError, match="holds no checkpoint"):
        publish.publish(tmp_path, tmp_path / "out")
    train(make_config(SMALL | {"iterations": 1}, "test"), tmp_path / "run", resume=False, quiet=True)
    monkeypatch.setattr(publish, "MOST_BYTES", 10_000)
    with pytest.raises(KalahError, match=r"bytes \(10,000 at most\)"):
        publish.publish(tmp_path / "run", tmp_path / "out")


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
