"""Grades agents by exact values: how often a move is wrong, and how many seeds that costs.

Regret is the value of the best move less that of the chosen one; a losing error turns a won position
into a draw or a loss, or a drawn one into a loss. Only positions whose legal moves differ in value are
counted. Where positions and values come from: `suites.py`, `label.py`; the moves of played games:
`annotate.py`; the tables: `commands/grade.py`.
"""

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from agents.base import Agent
from kalah_env import batch, engine, text
from kalah_env.checks import whole_numbers
from kalah_env.errors import KalahError
from kalah_env.rules import format_rules
from train.files import check_target, replacing
from train.suites import ILLEGAL, Suite

BAND = 8  # seeds in the pits: bands are 1-8, 9-16, ...
BATCH = 256  # positions an agent is shown at a time
CONFIDENCE = 0.95


class Grades(NamedTuple):
    """What an agent chose in N counted positions, which `suite` holds, out of `positions`.

    actions: (N,) int64; regrets: (N,) int64, in seeds; errors: (N,) bool - the losing ones;
    seconds: of the clock a move.
    """

    suite: Suite
    positions: int
    actions: np.ndarray
    regrets: np.ndarray
    errors: np.ndarray
    seconds: float


def grade(
    agent: Agent,
    suite: Suite,
    batch_size: int = BATCH,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Grades:
    """Let the agent move in every counted position; `progress` hears how many are done."""
    counted = suite.take(suite.counted())
    total = len(counted.states)
    if not total:
        raise KalahError(
            "grade: in no position of this suite do legal moves differ in value; nothing to grade."
        )
    actions = np.zeros(total, np.int64)
    spent = []
    # The first position comes alone, and its time is not counted: it compiles and loads.
    for first, end in itertools.pairwise([0, *range(1, total, batch_size), total]):
        part = counted.take(np.arange(first, end))
        began = time.perf_counter()
        given = agent.act(suite.rules, part.states.copy())
        spent.append(time.perf_counter() - began)
        actions[first:end] = _checked(agent, part, given)
        progress(end, total)
    seconds = sum(spent[1:]) / (total - 1) if total > 1 else spent[0]
    best, chosen = counted.values.max(axis=1), counted.values[np.arange(total), actions]
    errors = np.sign(chosen) < np.sign(best)
    return Grades(counted, len(suite.states), actions, best - chosen, errors, seconds)


def _checked(agent: Agent, suite: Suite, given: Any) -> np.ndarray:
    """Return an agent's answer as actions; `KalahError` where one is illegal."""
    actions = whole_numbers(f"agent {agent.spec}: answered", given, len(suite.states))
    legal = np.zeros(len(actions), bool)
    known = (actions >= 0) & (actions < suite.values.shape[1])
    legal[known] = suite.values[known, actions[known]] != ILLEGAL
    if not legal.all():
        row = int(np.argmin(legal))
        position = text.format_position(suite.rules, suite.states[row])
        raise KalahError(f"agent {agent.spec}: action {actions[row]} is illegal in {position}.")
    return actions


def report(agent: Agent, grades: Grades) -> dict[str, Any]:
    """Return the figures of `kalah grade --json` for one agent: over all, by band and by seat."""
    number = (grades.suite.seeds() - 1) // BAND
    sides = batch.sides(grades.suite.rules, grades.suite.states)
    bands = []
    for band in np.unique(number).tolist():
        bands.append({"low": band * BAND + 1, "high": (band + 1) * BAND, **_part(grades, number == band)})
    asked = {
        key: int(found) for key in ("asked", "proved") if (found := getattr(agent, key, None)) is not None
    }
    return {
        "rules": format_rules(grades.suite.rules),
        "positions": grades.positions,
        **_part(grades, np.ones(len(sides), bool)),
        "bands": bands,
        "seats": {
            "south": _part(grades, sides == engine.SOUTH),
            "north": _part(grades, sides == engine.NORTH),
        },
        "seconds_per_move": grades.seconds,
        **asked,
    }


def _part(grades: Grades, rows: np.ndarray) -> dict[str, Any]:
    return summary(grades.errors[rows], grades.regrets[rows])


def summary(errors: np.ndarray, regrets: np.ndarray) -> dict[str, Any]:
    """Return shares, mean and 95 % intervals of counted moves; None where there is too little for one.

    errors: (N,) bool; regrets: (M,) int64 - M is less than N where some regrets are not known.
    """
    best = regrets == 0
    return {
        "counted": len(errors),
        "losing_errors": _mean(errors),
        "best_moves": _mean(best),
        "mean_regret": _mean(regrets),
        "intervals": {
            "losing_errors": share_interval(errors),
            "best_moves": share_interval(best),
            "mean_regret": mean_interval(regrets),
        },
    }


def _mean(found: np.ndarray) -> float | None:
    return float(found.mean()) if len(found) else None


def share_interval(found: np.ndarray) -> list[float] | None:
    """Return Wilson's interval of the share of True in (N,) bool."""
    if not len(found):
        return None
    interval = stats.binomtest(int(found.sum()), len(found)).proportion_ci(CONFIDENCE, method="wilson")
    return [float(interval.low), float(interval.high)]


def mean_interval(found: np.ndarray) -> list[float] | None:
    """Return Student's interval of the mean of (N,) numbers that are never below 0; N is at least 2.

    Regrets are skewed, so with fewer than some 50 of them it is a rough one; where all are alike it
    has no width.
    """
    if len(found) < 2:
        return None
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found))
    return [max(0.0, float(found.mean() - half)), float(found.mean() + half)]


def check_picture(path: Path | str, what: str = "grade") -> Path:
    """Return where a picture goes, before the work that it shows; `KalahError` if that cannot be."""
    import matplotlib.figure  # noqa: F401 - missing packages are told now, too

    target = check_target(f"{what}: the picture", path)
    if target.suffix != ".png":
        raise KalahError(f"{what}: the picture {target.name} does not end with .png; give it such a name.")
    return target


def draw(results: list[dict[str, Any]], out: Path) -> Any:
    """Write and return the picture: losing errors and mean regret by band, a line an agent."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 7), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    lows = sorted({band["low"] for result in results for band in result["bands"]})
    for number, result in enumerate(results):
        # Side by side, so that intervals do not hide each other.
        shift = 0.4 * ((number + 0.5) / len(results) - 0.5)
        for axes, key, unit in ((above, "losing_errors", 100), (below, "mean_regret", 1)):
            heights = np.array([band[key] for band in result["bands"]]) * unit
            intervals = [band["intervals"][key] or [np.nan, np.nan] for band in result["bands"]]
            spread = np.abs(np.array(intervals).T * unit - heights)
            places = [lows.index(band["low"]) + shift for band in result["bands"]]
            axes.errorbar(places, heights, spread, marker="o", capsize=2, label=result["agent"])
    counts = {band["low"]: (band["high"], band["counted"]) for band in results[0]["bands"]}
    labels = [f"{low}-{counts[low][0]}\n{counts[low][1]} positions" for low in lows]
    above.set(
        ylabel="losing errors, % (95 % interval)", title=f"{results[0]['suite']}: {results[0]['rules']}"
    )
    below.set(ylabel="mean regret, seeds (95 % interval)", xlabel="seeds in the pits")
    below.set_xticks(range(len(lows)), labels)
    for axes in (above, below):
        axes.set_ylim(bottom=0)
    above.legend(fontsize="small")
    with replacing(out) as partial:
        figure.savefig(partial, dpi=110, format="png")
    return figure
