"""Draws the curve of a training run: strength of its kept nets, and the losses, over training time.

    python -m train.curve runs/quickstart docs/quickstart.png --games 200
    python -m train.curve runs/kalah-6x4 docs/kalah-6x4.png --suite kalah-6x4/tune --every 2

Strength is the score against `alphabeta` at two depths, by `arena.py`, with and without search; or with
`--suite` the grades by exact values.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agents.base import make_agent
from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules
from train.arena import run_arena
from train.commands import whole
from train.grade import check_picture, grade, report
from train.program import run_program, tool_parser
from train.suites import load_suite

OPPONENTS = ("alphabeta:depth=4", "alphabeta:depth=8")
SIMULATIONS = (0, 64)
GRADED = (0, 64, 256)  # simulations
GRADES = ("losing_errors", "best_moves", "mean_regret")


def kept_nets(run: Path, every: int) -> list[tuple[Path, dict[str, Any]]]:
    """Return every `every`-th of the nets that a run kept: their folders and configs."""
    kept = sorted((run / "nets").glob("[0-9]*"))
    if not kept:
        raise KalahError(
            f"curve: {run} kept no net; give a run of at least `keep_every` iterations, where that is not 0."
        )
    folders = kept[every - 1 :: every]
    if not folders:
        raise KalahError(
            f"curve: {run} kept {len(kept)} nets, but --every is {every}; give a smaller number."
        )
    return [(folder, json.loads((folder / "config.json").read_text())) for folder in folders]


def _spec(folder: Path, simulations: int) -> str:
    return f"net:{folder}" + (f",sims={simulations}" if simulations else "")


def measure(run: Path, games: int, every: int = 1) -> list[dict[str, Any]]:
    """Play the run's kept nets, every `every`-th of them: one row a net, search and opponent."""
    rows = []
    for folder, config in kept_nets(run, every):
        for simulations in SIMULATIONS:
            specs = [_spec(folder, simulations), *OPPONENTS]
            arena = run_arena(specs, parse_rules(config["rules"]), games, 1, against_first=True)
            for result in arena["results"]:
                keys = ("score", "interval", "games")
                row = {"minutes": config["seconds"] / 60, "simulations": simulations, "opponent": result["b"]}
                rows.append({**row, **{key: result[key] for key in keys}})
                print(json.dumps(rows[-1]), flush=True)
    return rows


def measure_grades(run: Path, name: str, every: int = 1) -> list[dict[str, Any]]:
    """Grade the run's kept nets on a suite: one row a net and search."""
    suite = load_suite(name)
    rows = []
    for folder, config in kept_nets(run, every):
        for simulations in GRADED:
            agent = make_agent(_spec(folder, simulations), 0)
            found = report(agent, grade(agent, suite))
            row = {"minutes": config["seconds"] / 60, "simulations": simulations, "suite": name}
            rows.append(row | {key: found[key] for key in (*GRADES, "intervals")})
            print(json.dumps(rows[-1]), flush=True)
    return rows


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """Return the metrics of a run, one dictionary an iteration; `KalahError` where it has none."""
    try:
        return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise KalahError(f"curve: {run}/metrics.jsonl cannot be read ({why}); give a run's folder.") from None


def draw(run: Path, rows: list[dict[str, Any]], out: Path) -> Figure:
    """Write and return the picture: strength above, losses below."""
    grades = "suite" in rows[0]
    figure = Figure(figsize=(8, 11 if grades else 7), layout="constrained")
    *above, below = figure.subplots(3 if grades else 2, 1, sharex=True)
    if grades:
        _draw_grades(above, rows)
    else:
        _draw_scores(above[0], rows)
    metrics = [row for row in read_metrics(run) if "policy_loss" in row]
    minutes = [row["seconds"] / 60 for row in metrics]
    for key in ("policy_loss", "outcome_loss", "margin_loss"):
        below.plot(minutes, [row[key] for row in metrics], label=key.replace("_", " "))
    below.set(xlabel="minutes of training", ylabel="loss (nats)", ylim=(0, None))
    below.legend(fontsize="small")
    figure.savefig(out, dpi=110)
    return figure


def _draw_scores(axes: Axes, rows: list[dict[str, Any]]) -> None:
    for opponent in OPPONENTS:
        for simulations in SIMULATIONS:
            part = [r for r in rows if r["opponent"] == opponent and r["simulations"] == simulations]
            label = f"{'64 simulations' if simulations else 'policy head'} against {opponent}"
            _line(axes, part, "score", [row["interval"] for row in part], label)
    axes.axhline(0.5, color="gray", linewidth=0.8)
    axes.set(ylabel="score (95 % interval)", ylim=(0, 1.02), title=f"{rows[0]['games']} paired games a point")
    axes.legend(fontsize="small", loc="lower right")


def _draw_grades(axes: list[Axes], rows: list[dict[str, Any]]) -> None:
    for place, key in zip(axes, ("losing_errors", "mean_regret"), strict=True):
        for simulations in GRADED:
            part = [row for row in rows if row["simulations"] == simulations]
            label = f"{simulations} simulations" if simulations else "policy head"
            _line(place, part, key, [row["intervals"][key] for row in part], label)
        place.set(ylabel=f"{key.replace('_', ' ')} (95 % interval)", yscale="log")
        place.legend(fontsize="small")
    axes[0].set_title(f"{rows[0]['suite']}")


def _line(axes: Axes, rows: list[dict[str, Any]], key: str, intervals: list[Any], label: str) -> None:
    minutes = [row["minutes"] for row in rows]
    low, high = np.array(intervals).T
    (line,) = axes.plot(minutes, [row[key] for row in rows], marker="o", label=label)
    axes.fill_between(minutes, low, high, color=line.get_color(), alpha=0.15, linewidth=0)


def main() -> int:
    """Measure and draw what the command line names."""
    parser = tool_parser("curve", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, with nets/ and metrics.jsonl")
    parser.add_argument("out", metavar="FILE.png", help="the picture")
    parser.add_argument("--games", type=whole(2, 10**6), default=200, metavar="N", help="games a point (200)")
    parser.add_argument(
        "--every", type=whole(1), default=1, metavar="N", help="each N-th of the kept nets (1)"
    )
    parser.add_argument("--suite", metavar="SUITE", help="grade on it in place of games")
    arguments = parser.parse_args()
    out = check_picture(arguments.out, "curve")
    read_metrics(arguments.run)
    if arguments.suite:
        found = measure_grades(arguments.run, arguments.suite, arguments.every)
    else:
        found = measure(arguments.run, arguments.games, arguments.every)
    draw(arguments.run, found, out)
    return 0


if __name__ == "__main__":
    run_program(main)
