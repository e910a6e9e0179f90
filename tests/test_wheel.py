"""The wheel, built and installed as a stranger would: complete, and at work outside the checkout.

The virtual environment it goes to sees the core dependencies and nothing else of ours (links to the
packages already here, so nothing is downloaded). So it also shows what a plain `pip install` can do.
numba stays off: these are tests of packaging, and compiling takes longer than all of them.
"""

import os
import shlex
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

TOP = Path(__file__).resolve().parent.parent
PLACES = {
    "agents": "agents",
    "checkpoints": "agents/checkpoints",
    "configs": "train/configs",
    "kalah_env": "kalah_env",
    "train": "train",
}


def core_distributions() -> set[str]:
    """Return the names of all distributions that a plain `pip install kalah-env` brings."""
    todo = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["dependencies"]
    names: set[str] = set()
    while todo:
        requirement = Requirement(todo.pop())
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in names:
            names.add(requirement.name)
            todo += distribution(requirement.name).requires or []
    return names


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", *map(str, arguments)]
    subprocess.run(command, check=True, cwd=TOP)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, TOP)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` folder of an environment with the wheel and the core dependencies."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, symlinks=True)
    site = home / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    for name in core_distributions():
        package = distribution(name)
        tops = {path.parts[0] for path in package.files or [] if path.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            (site / top).symlink_to(Path(str(package.locate_file(top))))
    pip("--python", home / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    return home / "bin"


def run(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    # A variable of the caller's must not lead the installed program back to the checkout.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    clean |= {"NUMBA_DISABLE_JIT": "1", "KALAH_CACHE_DIR": str(folder)}
    call = [str(installed / command[0]), *command[1:]]
    return subprocess.run(call, cwd=folder, env=clean, capture_output=True, text=True)


def test_the_wheel_holds_what_the_checkout_holds(wheel: Path):
    expected = {
        f"{place}/{path.relative_to(TOP / folder).as_posix()}"
        for folder, place in PLACES.items()
        for path in (TOP / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".gitkeep"
    }
    held = {item for item in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in item}
    assert held == expected
    assert held >= {"kalah_env/RULES.md", "kalah_env/py.typed", "train/configs/quick.yaml"}


def test_an_installed_wheel_finds_its_resources(installed: Path, tmp_path: Path):
    code = (
        "from kalah_env.resources import resource_dir\n"
        "print(resource_dir('configs'), (resource_dir('configs') / 'quick.yaml').is_file())"
    )
    answer = run(installed, tmp_path, "python", "-c", code)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip().endswith("site-packages/train/configs True")


@pytest.mark.parametrize(
    "arguments",
    [
        "rules",
        "rules kgp",
        "move '<6,0,0,4,4,4,4,4,4,4,4,4,4,4,4> S' 3 --rules kalah",
        "perft --rules kalah --depth 2",
        "arena random greedy --games 2",
    ],
)
def test_the_core_install_needs_no_extra(installed: Path, tmp_path: Path, arguments: str):
    answer = run(installed, tmp_path, "kalah", *shlex.split(arguments))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip()


def test_training_without_its_extra_says_what_to_install(installed: Path, tmp_path: Path):
    answer = run(installed, tmp_path, "kalah", "train", "quick.yaml")
    assert answer.returncode == 2, answer.stderr
    assert "kalah-env[train]" in answer.stderr
    assert "Traceback" not in answer.stderr
