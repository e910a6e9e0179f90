"""`make quickstart`: train `configs/quick.yaml`, play the baselines, export, and say what came out.

An unfinished run is gone on with; a finished one is moved aside. Leaves `runs/quickstart/` with
report.json, the checkpoint and the ONNX file. It uses the same functions as the single commands
`kalah train`, `kalah arena` and `kalah export`.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules
from train.arena import run_arena
from train.checkpoint import checkpoints, load_meta
from train.config import TrainConfig, load_config
from train.export import export_checkpoint
from train.loop import train

OPPONENTS = ("random", "greedy", *(f"alphabeta:depth={depth}" for depth in (2, 4, 6, 8)))
# Demanded of the trained net with 64 simulations: score against each opponent.
DEMANDED = {
    "random": 0.97,
    "greedy": 0.97,
    "alphabeta:depth=4": 0.80,
    "alphabeta:depth=6": 0.70,
    "alphabeta:depth=8": 0.60,
}
SIMULATIONS = 64


def prepare(folder: Path) -> bool:
    """Move a finished run aside; return whether an unfinished one is there to go on with."""
    if (folder / "report.json").exists():
        number = 1
        while (aside := folder.with_name(f"{folder.name}-{number}")).exists():
            number += 1
        folder.rename(aside)
        print(f"an earlier run was moved to {aside}")
    return bool(checkpoints(folder))


def main(overrides: list[str] | None = None, games: int = 200) -> int:
    """Run the whole path; return 0."""
    config = load_config("quick", overrides or [])
    folder = Path("runs") / config.name
    resume = prepare(folder)
    if resume:
        print(f"going on with the unfinished run in {folder}")
    checkpoint = train(config, folder, resume)
    trained = load_meta(checkpoint)["seconds"]
    started = time.monotonic()
    report = evaluate(config, folder, checkpoint, games)
    after = time.monotonic() - started
    report["seconds"] = {"training": trained, "after": after}
    temporary = folder / "report.tmp"
    temporary.write_text(json.dumps(report, indent=2) + "\n")
    temporary.replace(folder / "report.json")
    show(report, folder)
    return 0


def evaluate(config: TrainConfig, folder: Path, checkpoint: Path, games: int) -> dict[str, Any]:
    """Play the baselines and export; return the report without its times."""
    torch.set_num_threads(config.threads)
    net = f"net:{checkpoint},sims={SIMULATIONS}"
    print(f"playing {games} games (openings x 2 seats) against each of {', '.join(OPPONENTS)} ...")
    arena = run_arena([net, *OPPONENTS], parse_rules(config.rules), games, seed=1, against_first=True)
    exported = export_checkpoint(str(checkpoint), str(folder / "kalah.onnx"))
    if not exported["ok"]:
        raise KalahError(f"export: parity failed: {exported}")
    return {"arena": arena, "checkpoint": str(checkpoint), "onnx": exported["onnx"], "parity": exported}


def show(report: dict[str, Any], folder: Path) -> None:
    """Print the table and the paths."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"the net with {SIMULATIONS} simulations against the baselines")
    for column in ("opponent", "games", "distinct", "W/D/L", "score", "95 %", "demanded"):
        table.add_column(column, justify="left" if column == "opponent" else "right", no_wrap=True)
    for row in report["arena"]["results"]:
        low, high = row["interval"]
        table.add_row(
            row["b"],
            str(row["games"]),
            str(row["distinct_games"]),
            f"{row['wins']}/{row['draws']}/{row['losses']}",
            f"{row['score']:.1%}",
            f"{100 * low:.0f}-{100 * high:.0f}",
            f"{DEMANDED[row['b']]:.0%}" if row["b"] in DEMANDED else "",
        )
    console = Console()
    console.print(table)
    seconds = report["seconds"]
    print(f"training {seconds['training']:.0f} s, arena and export {seconds['after']:.0f} s")
    for name, path in (
        ("checkpoint", report["checkpoint"]),
        ("ONNX", report["onnx"]),
        ("metrics", folder / "metrics.jsonl"),
        ("TensorBoard", folder / "tensorboard"),
        ("report", folder / "report.json"),
    ):
        print(f"{name:12} {path}")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KalahError as error:
        sys.exit(f"quickstart: {error}")
    except KeyboardInterrupt:
        sys.exit("\nstopped; the next `make quickstart` goes on from the last iteration.")
