"""Reproduces the grades of a published checkpoint: `make verify-checkpoint`. No test of pytest: minutes.

`checkpoints/NAME/grades.json` holds what `kalah grade --json` printed for the card. Each agent is graded
again, with the same seed; a share or mean outside the recorded 95 % interval fails. Without `--full` only
what takes a minute is done again: the network alone and with up to 256 simulations.
"""

import argparse
import json
import time
from typing import Any

from agents.base import make_agent
from agents.nets import find_net
from train.grade import grade, report
from train.program import Parser, run_program
from train.suites import load_suite

FIGURES = ("losing_errors", "best_moves", "mean_regret")


def quick(spec: str) -> bool:
    """Say whether an agent is graded again without `--full`."""
    sims = [int(part[5:]) for part in spec.split(",") if part.startswith("sims=")]
    return spec.startswith("net:") and max(sims, default=0) <= 256


def differences(recorded: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the figures that left their recorded intervals."""
    wrong = [] if recorded["counted"] == found["counted"] else ["counted"]
    for key in FIGURES:
        low, high = recorded["intervals"][key]
        if not low <= found[key] <= high:
            wrong.append(key)
    return wrong


def main() -> int:
    """Grade again; return 1 where a figure differs."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="kalah-6x4")
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    folder = find_net(arguments.name)
    failed = 0
    for recorded in json.loads((folder / "grades.json").read_text())["results"]:
        spec = recorded["agent"]
        if not (arguments.full or quick(spec)):
            continue
        began = time.monotonic()
        agent = make_agent(spec, recorded["seed"])
        found = report(agent, grade(agent, load_suite(recorded["suite"])))
        wrong = differences(recorded, found)
        failed += bool(wrong)
        figures = "  ".join(f"{key} {found[key]:.4f} (recorded {recorded[key]:.4f})" for key in FIGURES)
        print(f"{spec}: {figures}  {time.monotonic() - began:.0f} s  {' '.join(wrong) or 'ok'}", flush=True)
    print("all as recorded" if not failed else f"{failed} agents differ")
    return 1 if failed else 0


if __name__ == "__main__":
    run_program(main)
