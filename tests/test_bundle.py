"""A bot in one file, started where there is nothing but Python, NumPy and ONNX Runtime."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from bare import PYTHON, environment
from families import action_values, random_positions

from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules
from train import bundle
from train.suites import ILLEGAL, load_suite

NET = "kalah-6x4"


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bundle") / "bot.pyz"
    bundle.bundle_checkpoint(NET, str(file))
    return file


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a Python that has only what a bundle needs."""
    return environment(tmp_path_factory.mktemp("site"))


def run(variables: dict[str, str], *arguments: str, told: str = "") -> subprocess.CompletedProcess[str]:
    command = [*PYTHON, *arguments]
    return subprocess.run(command, env=variables, input=told, capture_output=True, text=True, timeout=120)


def test_the_bare_python_has_no_compiler(bare: dict[str, str]) -> None:
    found = run(bare, "-c", "import importlib.util as u; print(u.find_spec('numba'), u.find_spec('torch'))")
    assert found.stdout == "None None\n"


def test_a_bundle_is_small_and_the_same_each_time(bot: Path, tmp_path: Path) -> None:
    assert bot.stat().st_size < 4_000_000
    assert bundle.bundle_checkpoint(NET, str(tmp_path / "again.pyz"))["bytes"] == bot.stat().st_size
    assert (tmp_path / "again.pyz").read_bytes() == bot.read_bytes()
    names = zipfile.ZipFile(bot).namelist()
    assert {"agents/bundle.onnx", "agents/tree.py", "kalah_env/engine.py", "__main__.py"} <= set(names)
    assert not [name for name in names if "solver" in name or "network" in name or "vector" in name]


def test_its_help_is_about_itself(bot: Path, bare: dict[str, str]) -> None:
    told = run(bare, str(bot), "--help").stdout
    assert told.startswith("usage: python bot.pyz ")
    assert "an agent's text (bundled); agents: bundled, greedy" in " ".join(told.split())
    assert told.splitlines()[-1].startswith("  python bot.pyz --protocol kgp")
    assert "kalah engine" not in told


def test_it_speaks_a_protocol_without_a_compiler(bot: Path, bare: dict[str, str]) -> None:
    told = "START;South\nCHANGE;1;7,7,7,7,7,7,7,0,0,8,8,8,8,8,8,1;OPP\nEND\n"
    found = run(bare, str(bot), "--protocol", "mankalah", "--ms", "50", told=told)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout in [f"MOVE;{pit}\n" for pit in range(1, 8)]


def test_uci_thinks_by_time_where_there_is_no_compiler(bot: Path, bare: dict[str, str]) -> None:
    told = "uci\nisready\nposition startpos moves 3\ngo movetime 200\n"
    found = run(bare, str(bot), "--protocol", "uci", "--ms", "150", told=told)
    assert (found.returncode, found.stderr) == (0, "")
    assert "bestmove " in found.stdout.splitlines()[-1]
    assert " string bundled" in found.stdout  # the agent's own move, in time
    found = run(bare, str(bot), "--protocol", "uci", "--ms", "150", told="position startpos\ngo depth 3\n")
    assert "info string plies and nodes need a compiler" in found.stdout
    assert " string bundled" in found.stdout
    assert found.stdout.splitlines()[-1].startswith("bestmove ")


def test_it_plays_well_with_its_network_and_sensibly_without(bot: Path, bare: dict[str, str]) -> None:
    suite = load_suite("kalah-6x4/tune")
    counted = [i for i, values in enumerate(suite.values) if len(set(values[values != ILLEGAL])) > 2][:20]
    other = parse_rules("kalah:pits=4,seeds=3")
    ends = random_positions(other, 600, 16, 1)
    few = batch.legal_masks(other, ends).sum(1) > 1
    few &= ends[:, :4].sum(1) + ends[:, 5:9].sum(1) < 8
    states = ends[few][:8]
    program = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np\nfrom agents.bundled import BundledAgent\n"
        "from kalah_env.rules import parse_rules\n"
        "bot = BundledAgent(ms=250)\n"
        "for rules, rows in json.load(sys.stdin):\n"
        "    print(bot.act(parse_rules(rules), np.array(rows, np.int16)).tolist())\n"
        "print([search is not None for search in bot._searches.values()])\n"
    )
    asked = [
        ["kgp:pits=6,seeds=4", suite.states[counted].tolist()],
        ["kalah:pits=4,seeds=3", states.tolist()],
    ]
    found = run(bare, "-W", "ignore", "-c", program, str(bot), told=json.dumps(asked))
    assert found.returncode == 0, found.stderr
    actions, without = map(json.loads, found.stdout.splitlines()[:2])
    assert found.stdout.splitlines()[2] == "[True, False]"
    regrets = [suite.values[i].max() - suite.values[i][a] for i, a in zip(counted, actions, strict=True)]
    assert np.mean(regrets) < 0.7  # greedy has 3, chance 5, the network alone .5
    # Minimax sees the end of games that are nearly over.
    assert len(states) == 8
    memo: dict = {}
    for state, action in zip(states, without, strict=True):
        values = action_values(other, state, memo)
        assert values[action] == max(values.values())


def test_with_a_compiler_it_unpacks_itself_once(bot: Path, tmp_path: Path) -> None:
    variables = os.environ | {"KALAH_CACHE_DIR": str(tmp_path)}

    def started(says: str) -> Path:
        command = [sys.executable, str(bot), "--help"]
        found = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120)
        assert (found.returncode, found.stderr.partition(";")[0]) == (0, says)
        assert "--protocol" in found.stdout
        (folder,) = tmp_path.iterdir()  # nothing half-made stays
        return folder

    package = started("Unpacking") / "train" / "__init__.py"
    package.write_text(changed := '"""Changed."""\n')
    assert started("") == package.parent.parent
    assert package.read_text() == changed  # not written again


def test_a_bundle_needs_its_ending_and_a_place(tmp_path: Path) -> None:
    with pytest.raises(KalahError, match=r"ending in \.pyz"):
        bundle.bundle_checkpoint(NET, str(tmp_path / "bot.zip"))
    with pytest.raises(KalahError, match="cannot be written"):
        bundle.bundle_checkpoint(NET, str(tmp_path / "no" / "bot.pyz"))
    from agents.bundled import BundledAgent

    with pytest.raises(KalahError, match="this is no bundle"):
        BundledAgent()
