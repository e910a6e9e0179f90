"""The replay window: rows of finished games, newest last, sampled uniformly.

A row is a decision: its position, the improved policy found there, and the margin that its mover is to
expect. Each iteration's rows are one file (a shard) that is written once, so checkpoints stay small;
a resumed run reads back the shards of its window.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

from agents.nets import sha256_of
from kalah_env.errors import KalahError


class Rows(NamedTuple):
    """Training rows; R of them."""

    states: np.ndarray  # (R, S) int16
    policies: np.ndarray  # (R, A) float32 - improved policy
    margins: np.ndarray  # (R,) float32 - final margin for the mover to expect, seeds


class Replay:
    """Shards by iteration, kept while they are inside the window."""

    def __init__(self, folder: Path, window: int, minimum: int, share: float) -> None:
        self.folder = folder
        self.window, self.minimum, self.share = window, minimum, share
        self.total = 0  # rows ever added
        self.shards: dict[int, Rows] = {}
        self.digests: dict[int, str] = {}  # SHA-256 of their files
        self._joined: Rows | None = None

    def __len__(self) -> int:
        return sum(len(rows.margins) for rows in self.shards.values())

    def limit(self) -> int:
        """Return the rows that the window holds now: a share of all, between minimum and window."""
        return int(min(self.window, max(self.minimum, self.share * self.total)))

    def add(self, iteration: int, rows: Rows) -> None:
        """Append an iteration's rows, write their shard, and drop shards that left the window."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self._path(iteration).with_suffix(".tmp")
        save_file({name: np.ascontiguousarray(a) for name, a in rows._asdict().items()}, temporary)
        temporary.replace(self._path(iteration))
        self.shards[iteration] = rows
        self.digests[iteration] = sha256_of(self._path(iteration))
        self.total += len(rows.margins)
        while len(self.shards) > 1:
            oldest = min(self.shards)
            if len(self) - len(self.shards[oldest].margins) < self.limit():
                break
            del self.shards[oldest], self.digests[oldest]
        self._joined = None

    def prune_files(self, keep: set[int]) -> None:
        """Delete shard files that neither the window nor a kept checkpoint (`keep`) needs."""
        for path in self.folder.glob("*.safetensors"):
            if int(path.stem) not in self.shards and int(path.stem) not in keep:
                path.unlink(missing_ok=True)

    def restore(self, digests: dict[int, str], total: int) -> None:
        """Read back the shards of a checkpoint; `KalahError` if one is missing or damaged."""
        self.total, self.digests, self.shards = total, dict(digests), {}
        for iteration, digest in digests.items():
            path = self._path(iteration)
            try:
                if sha256_of(path) != digest:
                    raise ValueError("it is not the file that was written")
                self.shards[iteration] = Rows(**load_file(path))
            except Exception as error:  # safetensors has errors of its own
                raise KalahError(
                    f"replay: {path} cannot be read ({error}); delete the newest folder of "
                    "checkpoints/ to go on from the one before it, or begin another run with another name=."
                ) from None
        self._joined = None

    def sample(self, count: int, rng: np.random.Generator) -> Rows:
        """Return `count` rows drawn uniformly with replacement."""
        if self._joined is None:
            parts = [self.shards[iteration] for iteration in sorted(self.shards)]
            self._joined = Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        picked = rng.integers(len(self._joined.margins), size=count)
        return Rows(*(array[picked] for array in self._joined))

    def _path(self, iteration: int) -> Path:
        return self.folder / f"{iteration:06d}.safetensors"
