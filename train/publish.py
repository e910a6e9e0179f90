"""Puts a run's net where it ships: `python -m train.publish runs/kalah-6x4 checkpoints/kalah-6x4`.

Writes weights in float16, `config.json` with where they come from, the run's own config as `train.yaml`,
and `net.onnx` of the same weights, its parity checked; both calculate in float32. The card (README.md) and
the grades (`kalah grade ... --json > grades.json`, which `make verify-checkpoint` reads) are added by whoever
publishes.
"""

import json
from pathlib import Path
from typing import Any

import yaml

from agents.nets import ONNX
from agents.neural import load_net, save_net
from kalah_env.errors import KalahError
from kalah_env.rules import format_rules
from train.checkpoint import checkpoints, load_meta
from train.export import export_checkpoint
from train.program import run_program, tool_parser

GRADES = "grades.json"
MOST_BYTES = 5 * 10**6  # of a published folder


def publish(run: Path, out: Path) -> dict[str, Any]:
    """Publish the newest checkpoint of a run; return the parity report of its ONNX file."""
    found = checkpoints(run)
    if not found:
        raise KalahError(f"publish: {run} holds no checkpoint; give the folder of a run of `kalah train`.")
    meta = load_meta(found[-1])
    if not meta["learner"]["steps"]:
        raise KalahError(f"publish: {found[-1]} has learned nothing yet; train on, with more iterations.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise KalahError(f"publish: {out} is there already; give a new folder, or move it away.")
    net, rules = load_net(str(found[-1]))
    if format_rules(rules) != meta["rules"]:
        raise KalahError(f"publish: {found[-1]} says {meta['rules']}, its net {format_rules(rules)}.")
    source = {
        "training": {
            "commit": meta["commit"],
            "seed": meta["config"]["seed"],
            "iterations": meta["iteration"],
            "minutes": round(meta["seconds"] / 60, 1),
            "rows": meta["replay"]["total"],
            "games": sum(player["games_done"] for player in meta["selfplay"]),
            "steps": meta["learner"]["steps"],
        }
    }
    save_net(out, net.half(), rules, source)
    (out / "train.yaml").write_text(yaml.safe_dump(meta["config"], sort_keys=False))
    report = export_checkpoint(str(out), str(out / ONNX))
    size = sum(path.stat().st_size for path in out.iterdir())
    if not report["ok"] or size > MOST_BYTES:
        raise KalahError(
            f"publish: {out} is not fit to ship: {size:,} bytes ({MOST_BYTES:,} at most), parity "
            f"{'ok' if report['ok'] else 'failed'}."
        )
    return report


def card_rows(folder: Path) -> list[str]:
    """Return the lines of a card's table of grades."""
    try:
        results = json.loads((folder / GRADES).read_text())["results"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise KalahError(
            f"publish: {folder / GRADES} cannot be read ({why}); give a published folder, or a "
            "run and where it goes."
        ) from None
    return [card_row(f"`{result['agent']}`", result) for result in results]


def card_row(name: str, result: dict[str, Any]) -> str:
    """Return the line of one graded agent: shares in %, regret in seeds, with 95 % intervals."""
    cells = []
    for key, factor, digits in (("losing_errors", 100, 2), ("best_moves", 100, 1), ("mean_regret", 1, 3)):
        low, high = (factor * end for end in result["intervals"][key])
        cells.append(f"{factor * result[key]:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> int:
    """Publish what the command line names, or print the table of a card."""
    parser = tool_parser("publish", __doc__)
    parser.add_argument(
        "run",
        type=Path,
        metavar="RUN",
        help="a run's folder; or, alone, a published one: prints its table of grades",
    )
    parser.add_argument("out", type=Path, nargs="?", metavar="FOLDER", help="where the net goes")
    arguments = parser.parse_args()
    if arguments.out is None:
        print("\n".join(card_rows(arguments.run)))
    else:
        print(json.dumps(publish(arguments.run, arguments.out)))
    return 0


if __name__ == "__main__":
    run_program(main)
