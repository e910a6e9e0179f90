"""`docs/TRAINING.md` against the code: every key with range and default, every figure, its example."""

import json
from pathlib import Path

import numpy as np
import pytest
from training import SMALL

from kalah_env import batch
from train.cli import main
from train.config import SCHEMA, TrainConfig, make_config
from train.config_words import allowed, find
from train.config_yaml import parse_yaml
from train.loop import train

TOP = Path(__file__).parent.parent
PAGE = (TOP / "docs" / "TRAINING.md").read_text()


def rows_of(heading: str) -> list[list[str]]:
    """Return the cells of the table on the page whose first line is this."""
    lines = PAGE.partition(f"{heading}\n")[2].splitlines()[1:]
    return [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]


def test_the_page_has_every_key_with_its_range_and_default() -> None:
    rows = {row[0].strip("`"): row[1:] for row in rows_of("| key | meaning | allowed | default |")}
    defaults = TrainConfig(name="x").to_dict()
    parts = [key for key in defaults if isinstance(defaults[key], dict)]
    flat = {key: value for key, value in defaults.items() if key not in parts}
    flat |= {f"{part}.{key}": value for part in parts for key, value in defaults[part].items()}
    assert list(rows) == list(flat)
    for key, (meaning, words, default) in rows.items():
        assert meaning
        assert words == allowed(find(SCHEMA, tuple(key.split(".")))), key
        assert key == "name" or parse_yaml(default, key) == flat[key], key
    assert rows["name"][2] == "none"


def test_the_page_has_every_figure(tmp_path: Path) -> None:
    train(make_config(SMALL, "test"), tmp_path, resume=False, quiet=True)
    logged = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    told = [
        name.strip("`")
        for row in rows_of("| field of `metrics.jsonl` | meaning |")
        for name in row[0].split(", ")
    ]
    assert sorted(told) == sorted(logged)


def test_the_example_on_the_page_runs() -> None:
    found: dict = {}
    exec(PAGE.partition("```python\n")[2].partition("```")[0], found)
    assert [found[name].shape for name in ("logits", "values", "best")] == [(8, 6), (8,), (8,)]
    played = batch.new_games(found["rules"], 8)
    batch.step(found["rules"], played, found["found"].actions)
    assert np.array_equal(found["states"], played)


def test_the_help_names_the_page_and_the_shipped_configs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "docs/TRAINING.md" in told
    assert ", ".join(sorted(path.stem for path in (TOP / "configs").glob("*.yaml"))) in told
