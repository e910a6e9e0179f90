"""The command `kalah`: slips that concern no single subcommand (streams, repeated options, length)."""

import subprocess
import sys
from pathlib import Path

import pytest

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
