"""Training configs: the shipped ones load, bad ones name file and key, overrides, stages."""

import json
import re
from datetime import date
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError
from training import SMALL

from kalah_env.errors import KalahError
from train.config import SCHEMA, TrainConfig, load_config, make_config, run_config
from train.config_words import allowed, find, shipped, short
from train.config_yaml import parse_yaml

GROUPS = ("net", "selfplay", "learner", "replay")
DEFAULTS = TrainConfig(name="x").to_dict()
KEYS = [key for key in DEFAULTS if key not in GROUPS] + [f"{g}.{key}" for g in GROUPS for key in DEFAULTS[g]]
CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_shipped_configs_load(path: Path) -> None:
    assert load_config(str(path), []).iterations > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nme": "x"}, "unknown key 'nme'"),
        ({"selfplay": {"gmes": 3}}, "unknown key 'selfplay.gmes'; known are games"),
        (
            {"selfplay": {"games": 0}},
            r"selfplay\.games=0 is not allowed; give a whole number from 1 to 65536\.",
        ),
        ({"learner": {"rate": 7}}, r"learner\.rate"),
        ({"iterations": "many"}, "iterations='many' is not allowed"),
        ({"rules": "chess"}, "rules: .*there is no preset 'chess'"),
        ({"name": "../x"}, "name"),
        ({"device": "tpu"}, "device"),
        ({"selfplay": {"simulations": []}}, "simulations"),
        ({"selfplay": {"games": 9, "workers": 2}}, "games=9 cannot be shared by workers=2"),
        ({"selfplay": {"value_target": "backup", "sign_weight": 1.0}}, "backup needs sign_weight below 1"),
        ({"iterations": True}, "iterations=True is not allowed"),
        ({"iterations": "5"}, "iterations='5' is not allowed"),
        ({"learner": {"batch": 10**30}}, r"learner\.batch"),
        ({"learner": {"policy_weight": float("inf")}}, r"learner\.policy_weight"),
        ({"learner": {"rate": 1e-5}}, r"learner: final_rate=5e-05 is above rate=1e-05"),
        ({"learner": dict.fromkeys(("policy_weight", "outcome_weight", "margin_weight"), 0)}, "are all 0"),
        ({"replay": {"window": 1000, "minimum": 1001}}, "replay: minimum=1001 is above window=1000"),
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
    with pytest.raises(KalahError, match=r"twice\.yaml.*key 'width' stands twice, line 2, column 18"):
        load_config(str(file), [])
    file.write_text("name: a\n")
    with pytest.raises(KalahError, match="'seed' stands twice"):
        load_config(str(file), ["seed=1", "seed=2"])


# The first key that each of pydantic's errors can stand at, and a value that it says of.
TYPES = {
    "dataclass_type": ("net", 5),
    "finite_number": ("max_minutes", float("nan")),
    "float_type": ("max_minutes", "1"),
    "greater_than": ("max_minutes", 0),
    "greater_than_equal": ("net.width", 7),
    "int_type": ("net.width", 8.0),
    "less_than": ("learner.average", 1),
    "less_than_equal": ("learner.rate", 1.5),
    "list_type": ("selfplay.simulations", 16),
    "literal_error": ("device", "tpu"),
    "string_pattern_mismatch": ("name", "-"),
    "string_too_long": ("name", "x" * 101),
    "string_type": ("rules", 5),
    "string_unicode": ("name", "\ud800"),
    "too_short": ("selfplay.simulations", []),
}


def set_key(key: str, value: object) -> dict:
    part, _, inner = key.partition(".")
    return SMALL | {part: {inner: value} if inner else value}


@pytest.mark.parametrize("kind", TYPES)
def test_each_of_pydantics_errors_is_told_in_our_words(kind: str) -> None:
    key, value = TYPES[kind]
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(TrainConfig).validate_python(set_key(key, value))
    assert raised.value.errors()[0]["type"] == kind
    words = f"here: {key}={short(value)} is not allowed; give {allowed(find(SCHEMA, tuple(key.split('.'))))}"
    with pytest.raises(KalahError) as told:
        make_config(set_key(key, value), "here")
    assert str(told.value).startswith(words)


WRONG = (
    None,
    True,
    -1,
    1,
    1e-6,
    2.5,
    float("inf"),
    "",
    "x",
    [],
    [0],
    [[1]],
    {},
    {"x": 1},
    b"x",
    date(2026, 1, 1),
    10**30,
)


@pytest.mark.parametrize("key", KEYS)
def test_no_key_lets_pydantic_speak(key: str) -> None:
    """Whatever stands at a key: it is taken, or one sentence says what is allowed there."""
    refused = 0
    for value in WRONG:
        try:
            make_config(set_key(key, value), "here")
        except KalahError as error:
            refused += 1
            told = str(error)
            part, _, inner = key.rpartition(".")
            assert told.startswith((f"here: {key}", f"here: {part}: ")), told
            assert inner in told
            assert re.search(r"; (give|known are|lower) |: there is no preset|^here: rules", told), told
            assert not re.search(r"[Ii]nput|valid|Value error|should", told), told
    assert refused >= 8


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e-3", 1e-3),
        ("1E+5", 1e5),
        ("-2e4", -2e4),
        (".5e1", 5.0),
        ("1.5e3", 1500.0),
        ("+.5", 0.5),
        ("1.e2", 100.0),
    ],
)
def test_numbers_are_those_of_yaml_1_2(tmp_path: Path, text: str, number: float) -> None:
    """PyYAML alone reads them as texts."""
    found = parse_yaml(text, "here")
    assert (type(found), found) == (float, number)
    file = tmp_path / "c.yaml"
    file.write_text(f"name: x\nmax_minutes: {text.lstrip('-')}\n")
    assert load_config(str(file), []).max_minutes == abs(number)
    assert load_config(str(file), [f"learner.weight_decay={text.lstrip('-')}"]).learner.weight_decay == abs(
        number
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0.5", 0.5),
        ("e5", "e5"),
        ("1e", "1e"),
        ("1e5x", "1e5x"),
        ("'1e5'", "1e5"),
    ],
)
def test_what_is_no_such_number_is_read_as_before(text: str, value: object) -> None:
    found = parse_yaml(text, "here")
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "text", ["[", "a: 1: 2", "!!bool x", "!!int x", "!!map [1]", "2026-13-01", "[" * 5000]
)
def test_what_yaml_cannot_read_is_one_clear_error(text: str) -> None:
    with pytest.raises(KalahError, match=r"^override 'seed=.*' is not YAML \(.+\)\.$"):
        load_config("tiny", [f"seed={text}"])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["net.width=7"], "override 'net.width=7': net.width=7 is not allowed; give a whole number from 8"),
        (["seed=2", "nme=x"], "override 'nme=x': unknown key 'nme'; known are name, rules"),
        (["net={width: 7}"], "override 'net={width: 7}': net.width=7 is not allowed"),
        (["net={1: 2}"], "override 'net={1: 2}': unknown key 1"),
        (["net.width="], "override 'net.width=': net.width is empty; give a whole number from 8"),
        (
            ["selfplay.simulations=[8, 0]"],
            "override 'selfplay.simulations=[8, 0]': selfplay.simulations[1]=0 is",
        ),
        (["rules=chess"], "override 'rules=chess': rules: there is no preset"),
        (["name=7"], "override 'name=7': name=7 is not allowed; give 1 to 100 letters"),
        (["replay.window=1e6"], "from 1 to 1000000000, without point or exponent."),
        (["iterations.x=3"], "override 'iterations.x=3': iterations is 4, which holds no keys; leave x out."),
        (
            ["seed=1", "learner.rate=1e-5"],
            "c.yaml with learner.rate=1e-5: learner: final_rate=5e-05 is above",
        ),
        (["seed=1"], "c.yaml: net.width=4 is not allowed"),
    ],
)
def test_errors_name_file_or_override(tmp_path: Path, overrides: list[str], message: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps(SMALL | ({"net": {"width": 4}} if overrides == ["seed=1"] else {})))
    with pytest.raises(KalahError, match=re.escape(message)):
        load_config(str(file), overrides)


@pytest.mark.parametrize(("content", "found"), [("# nothing\n", "it is empty"), ("- 1\n", r"it holds \[1\]")])
def test_a_file_without_keys_says_so(tmp_path: Path, content: str, found: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(content)
    for overrides in ([], ["iterations=3"], ["net.width=8"]):
        with pytest.raises(KalahError, match=rf"c\.yaml: {found}, but a config is a mapping"):
            load_config(str(file), overrides)


def test_shipped_configs_go_by_name_and_stand_in_for_nothing_else(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped() == [path.stem for path in CONFIGS]
    for name in ("tiny", "tiny.yaml", "configs/tiny.yaml"):
        assert load_config(name, []).name == "tiny"
    for name in ("other/tiny.yaml", "tiny.yml", "missing"):
        with pytest.raises(KalahError, match=rf"{re.escape(name)} cannot be read .*{', '.join(shipped())}"):
            load_config(name, [])
    Path("tiny").mkdir()
    assert run_config("tiny", ["name=x"], False) == (load_config("tiny", ["name=x"]), Path("runs/x"))


def test_a_run_folder_goes_on_with_its_own_config(tmp_path: Path) -> None:
    run = tmp_path / "elsewhere"
    begun = make_config(SMALL | {"seed": 5}, "here")
    for iteration, config in ((2, make_config(SMALL, "here")), (3, begun)):
        folder = run / "checkpoints" / f"{iteration:06d}"
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(json.dumps({"config": config.to_dict()}))
    assert run_config(str(run), [], True) == (begun, run)
    config, folder = run_config(f"{run}/", ["iterations=9"], True)
    assert (config.to_dict(), folder) == (begun.to_dict() | {"iterations": 9}, run)
    with pytest.raises(KalahError, match="override 'iterations=0': iterations=0 is not allowed"):
        run_config(str(run), ["iterations=0"], True)
    with pytest.raises(KalahError, match=r"elsewhere holds a run already; go on with --resume"):
        run_config(str(run), [], False)
    with pytest.raises(KalahError, match=r"000003 is a folder without checkpoints; .* runs/NAME"):
        run_config(str(run / "checkpoints/000003"), [], True)
    with pytest.raises(KalahError, match=r"nowhere cannot be read"):
        run_config(str(tmp_path / "nowhere"), [], True)
    assert run_config("tiny", ["name=t"], True) == (load_config("tiny", ["name=t"]), Path("runs/t"))
