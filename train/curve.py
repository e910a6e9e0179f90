"""Draws the curve of a training run: strength of its kept nets, and the losses, over training time.

    python -m train.curve runs/quickstart docs/quickstart.png --games 200

Strength is the score against `alphabeta` at two depths, by `arena.py`, with and without search.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules
from train.arena import run_arena

OPPONENTS = ("alphabeta:depth=4", "alphabeta:depth=8")
SIMULATIONS = (0, 64)


def measure(run: Path, games: int, every: int = 1) -> list[dict[str, Any]]:
    """Play the run's kept nets, every `every`-th of them: one row a net, search and opponent."""
    folders = sorted((run / "nets").glob("[0-9]*"))[every - 1 :: every]
    if not folders:
        raise KalahError(f"curve: {run} has no nets/; train with keep_every above 0.")
    rows = []
    for folder in folders:
        config = json.loads((folder / "config.json").read_text())
        for simulations in SIMULATIONS:
            spec = f"net:{folder}" + (f",sims={simulations}" if simulations else "")
            arena = run_arena([spec, *OPPONENTS], parse_rules(config["rules"]), games, 1, against_first=True)
            for result in arena["results"]:
                keys = ("score", "interval", "games")
                row = {"minutes": config["seconds"] / 60, "simulations": simulations, "opponent": result["b"]}
                rows.append({**row, **{key: result[key] for key in keys}})
                print(json.dumps(rows[-1]), flush=True)
    return rows


def draw(run: Path, rows: list[dict[str, Any]], out: Path) -> Figure:
    """Write and return the picture: scores above, losses below."""
    figure = Figure(figsize=(8, 7), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for opponent in OPPONENTS:
        for simulations in SIMULATIONS:
            part = [r for r in rows if r["opponent"] == opponent and r["simulations"] == simulations]
            minutes = [row["minutes"] for row in part]
            low, high = np.array([row["interval"] for row in part]).T
            label = f"{'64 simulations' if simulations else 'policy head'} against {opponent}"
            (line,) = above.plot(minutes, [row["score"] for row in part], marker="o", label=label)
            above.fill_between(minutes, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    above.axhline(0.5, color="gray", linewidth=0.8)
    above.set(
        ylabel="score (95 % interval)", ylim=(0, 1.02), title=f"{rows[0]['games']} paired games a point"
    )
    above.legend(fontsize="small", loc="lower right")
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    metrics = [row for row in metrics if "policy_loss" in row]
    minutes = [row["seconds"] / 60 for row in metrics]
    for key in ("policy_loss", "outcome_loss", "margin_loss"):
        below.plot(minutes, [row[key] for row in metrics], label=key.replace("_", " "))
    below.set(xlabel="minutes of training", ylabel="loss (nats)", ylim=(0, None))
    below.legend(fontsize="small")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return figure


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    draw(arguments.run, measure(arguments.run, arguments.games, arguments.every), arguments.out)
