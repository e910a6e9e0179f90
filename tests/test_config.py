"""Training configs: the shipped ones load, bad ones name file and key, overrides, stages."""

import json
from pathlib import Path

import pytest
from training import SMALL

from kalah_env.errors import KalahError
from train.config import load_config, make_config

CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))


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
        ({"selfplay": {"games": 9, "workers": 2}}, "games=9 cannot be shared by workers=2"),
        ({"selfplay": {"value_target": "backup", "sign_weight": 1.0}}, "backup needs sign_weight below 1"),
        ({"iterations": True}, "iterations.*given: True"),
        ({"iterations": "5"}, "iterations.*given: '5'"),
        ({"learner": {"batch": 10**30}}, r"learner\.batch"),
        ({"learner": {"policy_weight": float("inf")}}, r"learner\.policy_weight"),
    ],
)
def test_bad_configs_name_file_and_key(tmp_path: Path, change: dict, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(json.dumps(SMALL | change).replace("Infinity", ".inf"))
    with pytest.raises(KalahError, match=f"bad.yaml.*{message}"):
        load_config(str(file), [])


@pytest.mark.parametrize("text", ["on: 5", "1: 2", "selfplay: {1: 2}", "net: {off: 3}"])
def test_keys_that_are_no_words_are_unknown_too(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(f"name: x\n{text}\n")
    with pytest.raises(KalahError, match=r"bad\.yaml: unknown key (True|1|False)"):
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
    config = load_config(str(file), ["selfplay.games=5", "selfplay.simulations=[3]", "seed=9"])
    assert (config.selfplay.games, config.selfplay.simulations, config.seed) == (5, [3], 9)
    assert config.selfplay.plies == 12
    for wrong in ("games", "=3", "iterations.x=3", "selfplay.games=[", "nothing=1"):
        with pytest.raises(KalahError):
            load_config(str(file), [wrong])


def test_simulations_share_the_run_equally() -> None:
    config = make_config(SMALL | {"iterations": 6, "selfplay": {"simulations": [4, 8, 16]}}, "here")
    assert [config.simulations_at(i) for i in range(6)] == [4, 4, 8, 8, 16, 16]


def test_nothing_may_stand_twice(tmp_path: Path) -> None:
    """YAML and command lines would let the last one win without a word."""
    file = tmp_path / "twice.yaml"
    file.write_text("name: a\nnet: {width: 16, width: 32}\n")
    with pytest.raises(KalahError, match=r"twice\.yaml.*key 'width' stands twice"):
        load_config(str(file), [])
    file.write_text("name: a\n")
    with pytest.raises(KalahError, match="'seed' stands twice"):
        load_config(str(file), ["seed=1", "seed=2"])
