"""What a training run shows and logs: a live line, metrics.jsonl, TensorBoard events.

A resumed run cuts both logs back to its checkpoint, so that every iteration stands there once.
"""

import json
import time
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from torch.utils.tensorboard import SummaryWriter

from train.config import TrainConfig


class Progress:
    """Shows each iteration's metrics and logs them in the run's folder."""

    def __init__(self, config: TrainConfig, folder: Path, done: int, quiet: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.config, self.quiet = config, quiet
        self.metrics = folder / "metrics.jsonl"
        self._cut(done)
        self.writer = SummaryWriter(str(folder / "tensorboard"), purge_step=done + 1 if done else None)
        self.console = Console(stderr=False)
        self.bar = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[line]}"),
            console=self.console,
            disable=quiet or not self.console.is_terminal,
        )
        self.task = self.bar.add_task(
            config.name, total=config.iterations, completed=done, line="compiling ..."
        )
        self.started, self.first = time.monotonic(), done

    def __enter__(self) -> "Progress":
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
        self.writer.close()

    def show(self, metrics: dict[str, float], budget: float) -> None:
        """Show and log one iteration's metrics; budget: seconds the run may take."""
        iteration = int(metrics["iteration"])
        with self.metrics.open("a") as file:
            file.write(json.dumps(metrics) + "\n")
        for key, value in metrics.items():
            if key != "iteration":
                self.writer.add_scalar(key, value, iteration)
        self.writer.flush()
        line = self._line(metrics, budget)
        self.bar.update(self.task, completed=iteration, line=line)
        if not self.quiet and self.bar.disable:
            print(f"{self.config.name} {iteration}/{self.config.iterations}  {line}", flush=True)

    def _line(self, metrics: dict[str, float], budget: float) -> str:
        iteration = int(metrics["iteration"])
        each = (time.monotonic() - self.started) / (iteration - self.first)
        left = min(each * (self.config.iterations - iteration), max(0.0, budget - metrics["seconds"]))
        losses = " ".join(
            f"{key} {metrics[f'{key}_loss']:.3f}"
            for key in ("policy", "outcome", "margin")
            if f"{key}_loss" in metrics
        )
        return (
            f"{int(metrics['games']):,} games  {metrics['plies_per_s']:,.0f} plies/s  "
            f"loss {losses or '-'}  left {int(left) // 60}:{int(left) % 60:02d}"
        )

    def _cut(self, done: int) -> None:
        if not self.metrics.exists():
            return
        kept = []
        for line in self.metrics.read_text().splitlines():
            try:
                if json.loads(line)["iteration"] <= done:
                    kept.append(line + "\n")
            except (ValueError, KeyError):
                continue  # the line that was being written when the run was killed
        self.metrics.write_text("".join(kept))
