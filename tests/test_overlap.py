"""How much of a suite a run has met."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from training import play

from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules
from kalah_env.text import format_position, parse_position
from train.overlap import Overlap, keys, view


def test_the_movers_half_stands_first() -> None:
    rules = parse_rules("kalah:pits=2,seeds=2")
    texts = ("<2,1,2,3,4,5,6> S", "<2,2,1,5,6,3,4> N")
    boards = view(rules, np.array([parse_position(text, rules) for text in texts]))
    assert boards.tolist() == [[3, 4, 1, 5, 6, 2]] * 2


def test_keys_tell_rows_apart() -> None:
    boards = np.random.default_rng(0).integers(0, 3, (200, 4))
    assert len(np.unique(keys(boards))) == len(np.unique(boards, axis=0))


def test_overlap_counts_positions_that_were_met_over_several_looks(tmp_path: Path) -> None:
    rules = parse_rules("kalah:pits=3,seeds=2")
    _, rows = play(rules, games=16, plies=30)
    run, suite = tmp_path / "run", tmp_path / "suite.jsonl"
    (run / "replay").mkdir(parents=True)
    (run / "checkpoints" / "000001").mkdir(parents=True)
    (run / "checkpoints" / "000001" / "meta.json").write_text('{"rules": "kalah:pits=3,seeds=2"}')
    met = np.unique(rows.states[:100:5], axis=0)
    other = batch.new_games(parse_rules("kalah:pits=3,seeds=5"), 1)[0]
    moved = met[0].copy()  # the same pits, other stores
    moved[3] += 2
    lines = []
    for state in [*met, other, moved]:
        legal = batch.legal_masks(rules, state[None])[0]
        values = {str(a + 1): a for a in np.flatnonzero(legal).tolist()}
        lines.append(
            {"rules": "kalah:pits=3,seeds=2", "position": format_position(rules, state), "values": values}
        )
    suite.write_text("".join(json.dumps(line) + "\n" for line in lines))
    half = len(rows.states) // 2
    for name, part in (("000000", rows.states[:half]), ("000001", rows.states[half:])):
        save_file({"states": np.ascontiguousarray(part)}, run / "replay" / f"{name}.safetensors")
        overlap = Overlap(run, str(suite))
        assert overlap.look()
        assert not overlap.look()
        (run / "replay" / f"{name}.safetensors").unlink()
    report = Overlap(run, str(suite)).report()
    assert report["rows"] == len(rows.states)
    assert report["same_position"] == len(met)
    assert report["same_pits"] == len(met) + 1
    assert sum(band["positions"] for band in report["bands"].values()) == len(lines)


def test_overlap_refuses_a_folder_without_rows(tmp_path: Path) -> None:
    with pytest.raises(KalahError, match="is no run of"):
        Overlap(tmp_path, "kalah-3x3")
