"""The compile cache: never stale, no obstacle where it cannot be written, kept to ourselves.

numba's own cache does not notice an edit in a callee that lives in another file; ours lies in a
folder named by a hash of all sources. Every test runs a copy of `kalah_env` in processes of its own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "kalah_env"
# `_first_illegal` is in batch.py, its callee `is_legal` in engine.py.
PROGRAM = """
import numpy as np
from kalah_env import batch, rules
kalah = rules.parse_rules("kalah:pits=2")
print(batch._first_illegal(kalah, batch.new_games(kalah, 1), np.array([0])))
"""
FOREIGN = "import numba\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n"


@pytest.fixture
def copy(tmp_path) -> Path:
    """A folder that holds a copy of the package and nothing else."""
    shutil.copytree(PACKAGE, tmp_path / "copy" / "kalah_env", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "copy"


def _run(copy: Path, program: str, **changes: str) -> subprocess.CompletedProcess:
    """Run `program` on the copy, with no cache folder known but those in `changes`."""
    ours = ("KALAH_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
    env = {name: value for name, value in os.environ.items() if name not in ours}
    env |= {"PYTHONPATH": str(copy), **changes}
    command = [sys.executable, "-W", "default", "-c", program]
    run = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run


def test_an_edit_of_a_callee_in_another_file_is_seen(copy, tmp_path):
    cache = tmp_path / "cache"
    assert _run(copy, PROGRAM, KALAH_CACHE_DIR=str(cache)).stdout == "-1\n"
    assert list(cache.rglob("*_first_illegal*.nbi"))  # else there is nothing that could be stale
    engine = copy / "kalah_env" / "engine.py"
    before = engine.read_text()
    condition = "if s[at + STATUS] != RUNNING or action < 0:"
    assert before.count(condition) == 1
    engine.write_text(before.replace(condition, "if s[at + STATUS] == RUNNING or action < 0:"))
    assert _run(copy, PROGRAM, KALAH_CACHE_DIR=str(cache)).stdout == "0\n"


def test_the_second_start_finds_the_cache(copy, tmp_path):
    program = PROGRAM + "print(sum(batch._first_illegal.stats.cache_hits.values()))"
    runs = [_run(copy, program, KALAH_CACHE_DIR=str(tmp_path / "cache")).stdout for _ in range(2)]
    assert runs == ["-1\n0\n", "-1\n1\n"]


@pytest.mark.parametrize("name", ["KALAH_CACHE_DIR", "HOME"])
def test_no_writable_folder_is_no_obstacle(copy, tmp_path, name):
    # Beneath a regular file nobody can make a folder, not even root.
    (tmp_path / "file").write_text("")
    run = _run(copy, PROGRAM, **{name: str(tmp_path / "file" / "below")})
    assert run.stdout == "-1\n"
    assert run.stderr.count("RuntimeWarning: no compile cache") == 1
    assert "Set KALAH_CACHE_DIR to a writable folder" in run.stderr


def test_other_peoples_functions_keep_their_own_cache(copy, tmp_path):
    (copy / "foreign.py").write_text(FOREIGN)
    program = (
        "import numba; before = numba.config.CACHE_DIR; from kalah_env import engine, batch; import foreign"
    )
    program += "; assert numba.config.CACHE_DIR == before; print(foreign.twice(4))"
    assert _run(copy, program, KALAH_CACHE_DIR=str(tmp_path / "cache")).stdout == "8\n"
    assert list((copy / "__pycache__").glob("foreign.twice*.nbi"))
    assert not list((tmp_path / "cache").rglob("*twice*"))


@pytest.mark.parametrize("change", ["edit", "rename", "new"])
def test_source_hash_notices(copy, change):
    program = "from kalah_env.jit import source_hash; print(source_hash())"
    assert (before := _run(copy, program, KALAH_CACHE_DIR=str(copy)).stdout).strip()
    (copy / "train").mkdir()
    path = copy / "kalah_env" / "errors.py"
    if change == "edit":
        path.write_text(path.read_text() + "#\n")
    elif change == "rename":
        (copy / "kalah_env" / "text.py").rename(copy / "kalah_env" / "texts.py")
    else:
        (copy / "train" / "new.py").write_text("")
    assert _run(copy, program, KALAH_CACHE_DIR=str(copy)).stdout != before
