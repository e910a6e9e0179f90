"""`docs/AGENTS.md` against the code: every agent, every option with range and default."""

import inspect
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from agents.nets import ONNX
from kalah_env.errors import KalahError
from kalah_env.specs import GROUP, agent_names, make_agent

TOP = Path(__file__).parent.parent
PAGE = (TOP / "docs" / "AGENTS.md").read_text()
BASES = {
    "mcts": "mcts:sims=1",
    "net": "net:kalah-6x4,sims=1",
    "onnx": f"onnx:{TOP / 'checkpoints' / 'kalah-6x4' / ONNX},sims=1",
}


def rows_of(heading: str) -> list[list[str]]:
    """Return the cells of the table on the page whose first line is this."""
    lines = PAGE.partition(f"{heading}\n")[2].splitlines()[1:]
    return [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]


OPTIONS = [[row[0].strip("`"), *row[2:]] for row in rows_of("| option | meaning | allowed | default |")]


def with_option(agent: str, option: str, value: object) -> str:
    """Return an agent's text with an option, and what else it needs."""
    base = BASES.get(agent, agent)
    if option in ("sims", "ms"):
        base = base.removesuffix("sims=1").rstrip(",:")
    return f"{base}{',' if ':' in base else ':'}{option}={value}"


def test_the_page_has_every_agent_and_option_with_its_default() -> None:
    assert sorted(row[0].strip("`") for row in rows_of("| agent | plays |")) == agent_names()
    defaults = {}
    for entry in entry_points(group=GROUP):
        for option in inspect.signature(entry.load()).parameters.values():
            if option.kind is option.KEYWORD_ONLY and option.name != "seed":
                empty = option.default in (None, option.empty)
                defaults[f"{entry.name}:{option.name}"] = "none" if empty else str(option.default)
    assert {option: default for option, _, default in OPTIONS} == defaults


@pytest.mark.parametrize(("option", "allowed"), [(row[0], row[1]) for row in OPTIONS])
def test_the_page_has_what_each_option_may_be(option: str, allowed: str) -> None:
    agent, name = option.split(":")
    low, to, high = allowed.removesuffix(" on 6 pits a side").partition(" to ")
    if to:
        step = 0.5 if name in ("c", "sign_weight") else 1
        wrong = [type(step)(low) - step, type(step)(high) + step]
        told = f"it is {low} to {high}"
    elif allowed == "a text":
        wrong, told = [""], "is not understood"
    else:
        wrong, told = ["nosuch"], allowed.replace(", ", " or ")
    for value in wrong:
        with pytest.raises(KalahError) as error:
            make_agent(with_option(agent, name, value))
        assert told in str(error.value)
