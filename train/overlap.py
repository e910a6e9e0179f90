"""Counts the positions of a suite that a training run has met, as the network sees them.

    python -m train.overlap runs/kalah-6x4 kalah-6x4 --follow

`same_position`: with the same stores; `same_pits`: the same seeds in the pits, whatever the stores hold,
which have the same best moves. A run keeps the rows of its replay window only, so `--follow` looks at new
ones until it is stopped. What was found so far stays in `RUN/overlap-SUITE.json`. Not for training: nothing
here feeds back.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from agents.nets import check_rules
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, parse_rules, side_pits
from train.checkpoint import checkpoints, load_meta
from train.files import replacing
from train.program import run_program, tool_parser
from train.suites import load_suite

PAUSE = 60  # seconds from one look to the next


def _rules_of(run: Path) -> Rules:
    done = checkpoints(run)
    if not done:
        raise KalahError(
            f"overlap: {run} holds no checkpoint; give a run's folder after its first iteration."
        )
    return parse_rules(load_meta(done[-1])["rules"])


def view(rules: Rules, states: np.ndarray) -> np.ndarray:
    """Return the boards (B, 2P+2) of states (B, S), the mover's half first."""
    half = side_pits(rules) + 1
    south, north = states[:, :half], states[:, half : 2 * half]
    movers = batch.sides(rules, states)[:, None]
    return np.concatenate([np.where(movers, north, south), np.where(movers, south, north)], 1)


def keys(boards: np.ndarray) -> np.ndarray:
    """Return one comparable value for each row of boards (B, n): (B,)."""
    rows = np.ascontiguousarray(boards, np.int16)
    return rows.view(np.dtype((np.void, rows.shape[1] * 2))).ravel()


class Overlap:
    """What is known of a run and a suite: N positions, and which of them were met."""

    def __init__(self, run: Path, name: str) -> None:
        self.run, self.name = run, name
        self.suite = load_suite(name)
        if not (run / "replay").is_dir():
            raise KalahError(f"overlap: {run} is no run of `kalah train`; it has no replay/.")
        check_rules(f"overlap: {run}", _rules_of(run), self.suite.rules)
        boards = view(self.suite.rules, self.suite.states)
        store = side_pits(self.suite.rules)
        self.pits = [i for i in range(2 * store + 2) if i not in (store, 2 * store + 1)]
        self.boards = {"position": keys(boards), "pits": keys(boards[:, self.pits])}
        self.met = {kind: np.zeros(len(boards), np.bool_) for kind in self.boards}
        self.seen: list[int] = []  # iterations whose rows were looked at
        self.rows = 0
        self.file = run / f"overlap-{name.replace('/', '-')}.json"
        if self.file.exists():
            saved = json.loads(self.file.read_text())
            self.seen, self.rows = saved["iterations"], saved["rows"]
            for kind, where in saved["met"].items():
                self.met[kind][where] = True

    def look(self) -> bool:
        """Look at the shards that are new; return whether there were any."""
        new = sorted(p for p in (self.run / "replay").glob("*.safetensors") if int(p.stem) not in self.seen)
        for path in new:
            try:
                states = load_file(path)["states"]
            except FileNotFoundError:  # it has left the window meanwhile
                continue
            boards = view(self.suite.rules, states)
            for kind, part in (("position", boards), ("pits", boards[:, self.pits])):
                self.met[kind] |= np.isin(self.boards[kind], keys(part))
            self.seen.append(int(path.stem))
            self.rows += len(states)
        if new:
            self.save()
        return bool(new)

    def save(self) -> None:
        """Write what was found."""
        saved = {
            **self.report(),
            "iterations": self.seen,
            "met": {kind: np.flatnonzero(met).tolist() for kind, met in self.met.items()},
        }
        with replacing(self.file) as partial:
            partial.write_text(json.dumps(saved) + "\n")

    def report(self) -> dict[str, Any]:
        """Return how many positions were met: with the same stores, and with any stores."""
        seeds = self.suite.seeds()
        bands = {}
        for low in range(1, int(seeds.max()) + 1, 8):
            band = (seeds >= low) & (seeds < low + 8)
            met = {f"same_{kind}": int(found[band].sum()) for kind, found in self.met.items()}
            bands[f"{low}-{low + 7}"] = {"positions": int(band.sum()), **met}
        return {
            "suite": self.name,
            "positions": len(seeds),
            "rows": self.rows,
            "shards": len(self.seen),
            "same_position": int(self.met["position"].sum()),
            "same_pits": int(self.met["pits"].sum()),
            "bands": bands,
        }


def main() -> int:
    """Look once, or follow the run."""
    parser = tool_parser("overlap", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    parser.add_argument("suite", metavar="SUITE", help="a suite of the same rules")
    parser.add_argument("--follow", action="store_true", help="go on looking until interrupted")
    arguments = parser.parse_args()
    overlap = Overlap(arguments.run, arguments.suite)
    while True:
        if overlap.look() or not arguments.follow:
            print(json.dumps(overlap.report()), flush=True)
        if not arguments.follow:
            return 0
        time.sleep(PAUSE)


if __name__ == "__main__":
    run_program(main)
