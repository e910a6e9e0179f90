"""The house rules that a machine can check: sizes, docstrings, the README's tree, layers, packaging.

`make check` runs this file beside the linters. Rules of the game and behaviour are tested elsewhere:
`tests/README.md` says where. What the rules are for: `CONTRIBUTING.md`.
"""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).resolve().parent.parent
PACKAGES = ("kalah_env", "agents", "train")
FOLDERS = (*PACKAGES, "tests", "examples", "configs", "checkpoints", "docs", ".ci")
TEXT = {"", ".css", ".html", ".js", ".json", ".jsonl", ".md", ".py", ".toml", ".txt", ".yaml"}
PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())


def files(*suffixes: str, folders: tuple[str, ...] = FOLDERS) -> list[Path]:
    """Return our files with one of these endings, at the top and in our folders."""
    found = [path for path in TOP.iterdir() if path.suffix in suffixes and not path.name.startswith(".")]
    for folder in folders:
        found += [path for path in (TOP / folder).rglob("*") if path.suffix in suffixes]
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def name(path: Path) -> str:
    return path.relative_to(TOP).as_posix()


def test_source_files_are_short():
    lines = {name(path): len(path.read_text().splitlines()) for path in files(".py", ".js", ".html")}
    assert "kalah_env/engine.py" in lines
    assert {path: count for path, count in lines.items() if count > 400} == {}


def test_modules_say_what_they_are_for():
    wrong = {}
    for path in files(".py"):
        text = path.read_text()
        docstring = ast.get_docstring(ast.parse(text))
        count = len(docstring.splitlines()) if docstring else 0
        least = 3 if name(path).startswith(PACKAGES) and len(text.splitlines()) > 120 else 1
        if not least <= count <= 12:
            wrong[name(path)] = count
    assert wrong == {}, "lines of docstring; 3 to 10 say what for, what not, and where to read on"


def readme_tree() -> list[str]:
    """Return the paths of the fenced block that follows the line `<!-- tree -->` in README.md."""
    _, marker, rest = (TOP / "README.md").read_text().partition("<!-- tree -->\n")
    assert marker, "README.md has no line <!-- tree -->"
    block = rest.split("```")[1]
    return [line.split()[0] for line in block.splitlines()[1:] if line.strip()]


def test_the_readme_tree_is_true():
    listed = readme_tree()
    assert [path for path in listed if not (TOP / path).exists()] == [], "listed, but not there"
    modules = {
        name(path)
        for package in PACKAGES
        for path in (TOP / package).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert sorted(modules - set(listed)) == [], "there, but not listed"


def test_the_readme_tree_is_in_dependency_order():
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    above: list[str] = []
    early = []
    for path in readme_tree():
        if path.endswith(".py"):
            module = path.removesuffix(".py").replace("/", ".")
            above.append(module)
            early += [(path, other) for other in graph.find_modules_that_directly_import(module) & {*above}]
    assert early == [], "(a file, and the one above it in the tree that already needs it)"


def test_no_path_or_host_of_one_machine():
    # Spelled in pieces, or this file would find itself.
    roots, hosts = ["farm", "home", "mnt", "opt", "root", "tmp", "work"], ["pypi", "pythonhosted", "npmjs"]
    pattern = re.compile(rf"(?<![\w.])/({'|'.join(roots)})/|\b({'|'.join(hosts)})\.(org|com)")
    texts = {name(path): path.read_text() for path in files(*TEXT)}
    assert "Makefile" in texts
    assert ".ci/run" in texts
    found = {path: match.group() for path, text in texts.items() if (match := pattern.search(text))}
    assert found == {}


def test_floors_import_only_downwards():
    command = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    lint = subprocess.run([sys.executable, "-c", command], cwd=TOP, capture_output=True, text=True)
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_configs_hold_something():
    configs = files(".yaml", folders=("configs",))
    assert configs, "configs/ is empty"
    contents = {name(path): yaml.safe_load(path.read_text()) for path in configs}
    assert [path for path, content in contents.items() if not (content and isinstance(content, dict))] == []


def function_names() -> set[str]:
    """Return the names of all test functions."""
    trees = [ast.parse(path.read_text()) for path in files(".py", folders=("tests",))]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {function.name for function in functions if function.name.startswith("test_")}


def test_every_test_was_seen_to_fail():
    tables = "\n".join(path.read_text() for path in (TOP / "tests" / "mutations").glob("*.md"))
    firsts = [line.split("|")[1] for line in tables.splitlines() if line.startswith("|")]
    listed = {found for first in firsts for found in re.findall(r"\btest_\w+\b(?!\.py)", first)}
    assert sorted(listed - function_names()) == [], "in tests/mutations, but no such test"
    assert sorted(function_names() - listed) == [], "tests without a mutation in tests/mutations"


def test_requirements_are_pinned():
    lines = [line for line in (TOP / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    pins = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = [*PYPROJECT["build-system"]["requires"], *project["dependencies"]]
    wanted += [requirement for extra in extras.values() for requirement in extra]
    wrong = []
    for requirement in map(Requirement, wanted):
        pin = pins.get(canonicalize_name(requirement.name))
        if requirement.name == project["name"]:
            wrong += [extra for extra in requirement.extras if extra not in extras]
        elif pin is None or not requirement.specifier.contains(pin):
            wrong.append(f"{requirement} (pinned: {pin})")
    assert wrong == []


def test_entry_points_exist():
    project = PYPROJECT["project"]
    targets = [*project["scripts"].values()]
    targets += [target for group in project["entry-points"].values() for target in group.values()]
    for target in targets:
        module, _, attribute = target.partition(":")
        assert callable(getattr(importlib.import_module(module), attribute)), target
