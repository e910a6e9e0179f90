"""The ablation table: the same training with one thing changed, at equal CPU time, graded exactly.

    python -m train.ablation out.jsonl --minutes 10 --seeds 0 1

Each arm is `configs/ablation.yaml` with overrides. How many iterations fit the time is measured in its
first ones, so that the learning rate falls as in a run of that length; all seeds of an arm have that count.
Arms that `out.jsonl` holds for as many minutes are not run again; `--table` prints what it holds. Nothing
of training itself: `loop.py`.
"""

import argparse
import contextlib
import json
import math
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agents.base import make_agent
from kalah_env.errors import KalahError
from train.checkpoint import load_meta
from train.commands import print_table, whole
from train.config import TrainConfig, load_config
from train.files import check_target
from train.grade import grade, report
from train.loop import Run, train
from train.program import run_program, tool_parser
from train.suites import load_suite

BASE, SUITE = "ablation", "kalah-6x3"
ARMS: dict[str, list[str]] = {
    "base": [],
    "no margin head (sign alone)": [
        "selfplay.sign_weight=1.0",
        "learner.margin_weight=0.0",
        "selfplay.value_target=final",
    ],
    "final margins as value targets": ["selfplay.value_target=final"],
    "visit counts as policy targets": ["selfplay.policy_target=visits"],
    "8 simulations": ["selfplay.simulations=[8]"],
    "64 simulations": ["selfplay.simulations=[64]"],
    "width 64": ["net.width=64"],
    "width 256": ["net.width=256"],
    "window of 50,000 rows": ["replay.window=50000"],
    "window of all rows": ["replay.window=100000000", "replay.share=1.0"],
    "no endgame table": ["selfplay.endgame=0"],
    "no random openings, no forks": ["selfplay.random_plies=0", "selfplay.fork=0.0"],
    "random openings of up to 30 plies": ["selfplay.random_plies=30"],
    "nine forks in ten games": ["selfplay.fork=0.9"],
}
AGENTS = {"raw": "net:{}", "64": "net:{},sims=64"}
SHOWN = {"raw": "alone", "64": "64 simulations"}
GRADES = ("losing_errors", "best_moves", "mean_regret")
WARM_UP, MEASURED = 2, 4  # iterations: compiling and filling the window, and those that are timed


def iterations_in(config: TrainConfig, folder: Path, seconds: float) -> int:
    """Return how many iterations of a config fit so many CPU seconds, from a few in a scratch folder."""
    shutil.rmtree(folder, ignore_errors=True)
    run = Run(config, folder)
    with ThreadPoolExecutor(1 + config.selfplay.workers) as pool:
        for _ in range(WARM_UP):
            run.iterate(pool)
        began = time.process_time()
        for _ in range(MEASURED):
            run.iterate(pool)
    each = (time.process_time() - began) / MEASURED
    shutil.rmtree(folder)
    return max(1, math.floor(seconds / each))


def run_arm(arm: str, seed: int, minutes: float, count: int, folder: Path) -> dict[str, Any]:
    """Train one arm with one seed for `count` iterations, and grade it; return its row."""
    overrides = [*ARMS[arm], f"seed={seed}"]
    config = load_config(BASE, [*overrides, f"iterations={count}"])
    shutil.rmtree(folder, ignore_errors=True)  # of an arm that was cut short
    began = time.process_time()
    last = train(config, folder, resume=False, quiet=True)
    spent = time.process_time() - began
    suite = load_suite(SUITE)
    meta = load_meta(last)
    if not meta["learner"]["steps"]:
        raise KalahError(f"ablation: {arm!r} learned nothing in {count} iterations; give more --minutes.")
    row: dict[str, Any] = {
        "arm": arm,
        "overrides": ARMS[arm],
        "minutes": minutes,
        "commit": meta["commit"],
        "seed": seed,
        "iterations": count,
        "cpu_seconds": round(spent),
    }
    for name, spec in AGENTS.items():
        agent = make_agent(spec.format(last), 0)
        found = report(agent, grade(agent, suite))
        row[name] = {key: found[key] for key in (*GRADES, "intervals")}
    shutil.rmtree(folder)
    return row


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows that a file holds; `KalahError` names the line that is none."""
    rows = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        try:
            row = json.loads(line)
            figures = [row["minutes"], row["seed"], row["iterations"]]
            figures += [row[name][key] for name in AGENTS for key in GRADES]
            if not isinstance(row["arm"], str) or not all(type(f) in (int, float) for f in figures):
                raise ValueError("arm or figures are of another kind")
        except (ValueError, TypeError, KeyError) as error:
            raise KalahError(
                f"ablation: {path}, line {number} is no row of this table ({type(error).__name__}: {error}); "
                "delete the line, or give another file."
            ) from None
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> None:
    """Print one line an arm: the grades of its seeds."""
    lines = []
    for arm in ARMS:
        found = sorted((row for row in rows if row["arm"] == arm), key=lambda row: row["seed"])
        if not found:
            continue
        cells = []
        for name in AGENTS:
            grades = [row[name] for row in found]
            shares = [(100 * g["losing_errors"], 100 * g["best_moves"]) for g in grades]
            cells.append("; ".join(f"{errors:.1f} / {best:.1f}" for errors, best in shares))
            cells.append("; ".join(f"{g['mean_regret']:.3f}" for g in grades))
        lines.append([arm, "; ".join(str(row["iterations"]) for row in found), *cells])
    heads = [f"{SHOWN[name]}: {what}" for name in AGENTS for what in ("errors / best %", "regret")]
    print_table(["arm", "iterations", *heads], lines)


def _minutes(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes above 0")


def main() -> int:
    """Run the arms that are missing, or print the table."""
    parser = tool_parser("ablation", __doc__)
    parser.add_argument("out", metavar="FILE.jsonl", help="a line for each arm and seed; lines are added")
    parser.add_argument("--minutes", type=_minutes, default=10.0, metavar="N", help="CPU minutes an arm (10)")
    parser.add_argument("--seeds", type=whole(0), nargs="+", default=[0, 1], metavar="N", help="seeds (0 1)")
    parser.add_argument(
        "--arms", nargs="+", choices=list(ARMS), default=list(ARMS), metavar="ARM", help="which (all)"
    )
    parser.add_argument("--table", action="store_true", help="print what the file holds")
    arguments = parser.parse_args()
    out = check_target("ablation: the file", arguments.out)
    held = read_rows(out) if out.exists() else []
    rows = [row for row in held if row["minutes"] == arguments.minutes]
    if arguments.table:
        if not rows:
            others = ", ".join(f"{minutes:g}" for minutes in sorted({row["minutes"] for row in held}))
            raise KalahError(
                f"ablation: {out} holds no row of --minutes {arguments.minutes:g}"
                f"{f'; it has some of {others}' if others else ', nor any other'}."
            )
        table(rows)
        return 0
    counts = {row["arm"]: row["iterations"] for row in rows}
    done = {(row["arm"], row["seed"]) for row in rows}
    for seed in arguments.seeds:
        for arm in arguments.arms:
            if (arm, seed) not in done:
                folder = Path("runs") / f"ablation-{list(ARMS).index(arm)}-{seed}"
                if arm not in counts:
                    base = load_config(BASE, ARMS[arm])
                    counts[arm] = iterations_in(base, folder, 60 * arguments.minutes)
                print(f"{arm}, seed {seed}: {counts[arm]} iterations", file=sys.stderr, flush=True)
                row = run_arm(arm, seed, arguments.minutes, counts[arm], folder)
                print(json.dumps(row), flush=True)
                with out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    run_program(main)
