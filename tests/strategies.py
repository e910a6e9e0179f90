"""What hypothesis draws in the tests of the core: rules, positions, and both together.

Positions are arrays made without `text.py`, so that text and engine are tested apart. Sizes are
kept small enough that a drawn game is played out in milliseconds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.options import Option
from kalah_env.rules import OPTIONS, PRESET_NAMES, Rules, parse_rules


def result_or_none(function: Callable, *arguments: object) -> Any:
    """Return the function's result, or None where it refuses: with a `KalahError` fit to be printed."""
    try:
        return function(*arguments)
    except KalahError as error:
        message = str(error)
    assert message.isprintable(), message
    return None


def spec_or_none(preset: str, changes: dict[str, str]) -> str | None:
    """Return the rules text of a preset with changed options, or None where two of them clash."""
    items = ",".join(f"{name}={word}" for name, word in changes.items())
    spec = f"{preset}:{items}" if items else preset
    try:
        parse_rules(spec)
    except KalahError as error:
        if "clashes" not in str(error):
            raise  # every value drawn here is allowed
        return None
    return spec


def option_words(option: Option) -> list[str]:
    """Return texts of an option's values, few where it has thousands, sets of up to three numbers."""
    if option.is_set:
        return ["1", "2", "3", "2+3", "2+4+6", "1+3+4", "24"]
    if option.name == "lap_limit":
        return ["1", "2", "5", "30", "1000"]
    if option.name == "ply_limit":
        return ["0", "7", "25", "200"]
    return [str(value) for value in option.values]


@st.composite
def specs(draw, **fixed: str) -> str | None:
    """Draw a valid rules text: any preset that allows the `fixed` options, any other options."""
    bases = [preset for preset in PRESET_NAMES if spec_or_none(preset, fixed)]
    preset, changes = draw(st.sampled_from(bases)), dict(fixed)
    for option in OPTIONS:
        if option.name not in fixed and draw(st.integers(0, 3)) == 3:
            change = {option.name: draw(st.sampled_from(option_words(option)))}
            # What clashes with what was drawn before is left out.
            changes |= change if spec_or_none(preset, changes | change) else {}
    return spec_or_none(preset, changes)


@st.composite
def positions(draw, rules: Rules, most: int = 16) -> np.ndarray:
    """Draw a settled state (S,) of `rules` with at most `most` seeds in a pit."""
    board = int(engine.board_size(rules))
    state = np.zeros(batch.state_size(rules), np.int16)
    state[:board] = draw(st.lists(st.integers(0, most), min_size=board, max_size=board))
    if rules.rows == 2:
        state[[board // 2 - 1, board - 1]] = 0
    extras = batch.extras(rules, state)
    extras[engine.SIDE] = draw(st.sampled_from((engine.SOUTH, engine.NORTH)))
    phases = (engine.MID, engine.FIRST, engine.SWAP) if rules.pie else (engine.MID, engine.FIRST)
    extras[engine.PHASE] = draw(st.sampled_from(phases))
    engine.settle(rules, state)
    return state


@st.composite
def rules_and_positions(draw, **fixed: str) -> tuple[Rules, np.ndarray]:
    """Draw rules and one of their settled states."""
    rules = parse_rules(draw(specs(**fixed)))
    return rules, draw(positions(rules))
