"""The command `kalah`: slips that concern no single subcommand (streams, repeated options, length)."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kalah_env.rules import parse_rules
from train.cli import main

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("words", "redirection"), [("move start 3", ">&-"), ("rules", ">&-"), ("replay -", "<&-")]
)
def test_closed_streams_are_one_line_and_2(words: str, redirection: str) -> None:
    command = f"{sys.executable} -m train.cli {words} {redirection}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("kalah: standard ")
    assert len(done.stderr.splitlines()) == 1


def test_an_option_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["move", "start", "3", "--rules", "kalah", "--rules", "kgp"]) == 2
    assert "--rules stands twice" in capsys.readouterr().err
    assert main(["move", "start", "3", "--rules", "kalah"]) == 0


def test_long_messages_are_cut_in_the_middle(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "kalah:" + "x" * 100_000]) == 2
    error = capsys.readouterr().err
    assert len(error) < 1100
    assert error.startswith("kalah: rules: 'xxx")
    assert error.rstrip().endswith("write PRESET:option=value,...")


def test_replay_passes_over_a_byte_order_mark(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As some editors write it; from a file and from standard input, and only at the very front."""
    line = '{"rules": "kalah", "start": "start", "moves": ["3"]}\n'
    file = tmp_path / "games.jsonl"
    file.write_text(f"\ufeff{line}{line}", encoding="utf-8")
    assert main(["replay", str(file)]) == 0
    told = capsys.readouterr().out
    assert len(told.splitlines()) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO(file.read_text(encoding="utf-8")))
    assert main(["replay", "-"]) == 0
    assert capsys.readouterr().out == told
    file.write_text(f"{line}\ufeff{line}", encoding="utf-8")
    assert main(["replay", str(file)]) == 2


def test_what_is_missing_is_called_as_the_help_calls_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that needs a word: the complaint's name for it stands in the usage line."""
    for command in ("bench", "move", "replay", "train", "arena", "export", "perft"):
        assert main([command]) == 2
        missing = re.findall(r"required: (.*);", capsys.readouterr().err)[0].split(", ")
        assert main([command, "--help"]) == 0
        usage = capsys.readouterr().out.partition("\n\n")[0]
        assert all(name in usage.split() or f"[{name} ...]" in usage for name in missing), (missing, usage)


def test_arena_tells_of_truncated_games(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["arena", "random", "greedy", "random", "--games", "6", "--rules"]
    assert main([*words, "kalah:ply_limit=9"]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if "ply_limit:" in line]
    assert notes == [
        f"{pair}: 6 of 6 games reached ply_limit: draws."
        for pair in ("random - greedy", "random - random#2", "greedy - random#2")
    ]
    assert main([*words, "kalah"]) == 0
    assert "ply_limit" not in capsys.readouterr().out


def test_arena_ends_where_positions_repeat(capsys: pytest.CaptureFixture[str]) -> None:
    """These two went round and round for ever while only rules without sown stores had a limit."""
    rules = "kalah:pits=2,seeds=1,directions=2,capture=none,end=mover,win=move"
    assert parse_rules(rules).ply_limit == 500, "so this would not end"
    agents = ["alphabeta:depth=4", "alphabeta:depth=5"]
    assert main(["arena", *agents, "--games", "2", "--rules", rules, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rules"] == rules
    assert answer["results"][0]["truncated"] == 2
