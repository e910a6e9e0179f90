"""The training loop, readable top to bottom.

In iteration k self-play makes rows with the averaged weights of iteration k-1, while the learner, in
another thread, trains on the rows made before. Both only read what the other left at the end of the
last iteration, so a run is reproducible, and a resumed run equals an uninterrupted one. Parts:
`selfplay.py`, `replay.py`, `learner.py`, `checkpoint.py`; what is shown: `progress.py`.
"""

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents import endgame
from agents.network import NetConfig, use_bfloat16
from agents.neural import TorchEvaluator, save_net
from kalah_env import engine
from kalah_env.errors import KalahError
from kalah_env.rules import format_rules, rules_hash
from train import checkpoint
from train.config import TrainConfig, make_config, run_config
from train.files import alone
from train.learner import Learner
from train.progress import Progress
from train.replay import Replay, Rows
from train.selfplay import SelfPlay


class Stopped(Exception):  # noqa: N818 - no error: the answer of a thread that was asked to stop
    """Raised in the threads of an iteration that is given up."""


class Run:
    """A training run in its folder: state, one iteration, saving and restoring."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self.config, self.folder = config, folder
        self.rules = config.parsed_rules()
        shape = NetConfig.for_rules(self.rules, config.net.width, config.net.blocks)
        self.learner = Learner(self.rules, shape, config.learner, config.device, config.seed)
        self.players = self._players()
        replay = config.replay
        self.replay = Replay(folder / "replay", replay.window, replay.minimum, replay.share)
        self.bfloat16 = use_bfloat16(config.selfplay.precision, self.learner.device)
        self.stop = threading.Event()  # set: the threads of the running iteration give it up
        self.iteration = 0  # iterations done
        self.new_rows = 0  # rows of the last iteration: what the learner is owed
        self.seconds = 0.0  # time spent in iterations, over all resumptions
        self.last_seconds = 0.0  # of them in the last one

    def _players(self) -> list[SelfPlay]:
        """Return a self-play for each worker; they share the games and, if wanted, an endgame table."""
        config = self.config.selfplay
        table = endgame.obtain(self.rules, config.endgame) if config.endgame else None
        share = replace(config, games=config.games // config.workers, workers=1)
        seeds = [[self.config.seed, worker] for worker in range(config.workers)]
        return [SelfPlay(self.rules, share, seed, table) for seed in seeds]

    def iterate(self, pool: ThreadPoolExecutor) -> dict[str, float]:
        """Run one iteration and save it; return its metrics."""
        started = time.monotonic()
        config = self.config
        evaluate = TorchEvaluator(
            self.learner.average, self.rules, config.device, config.selfplay.sign_weight, self.bfloat16
        )
        progress = self.iteration / config.iterations
        learning = pool.submit(self._learn, progress) if len(self.replay) else None
        simulations = config.simulations_at(self.iteration)
        playing = [pool.submit(self._play, player, evaluate, simulations) for player in self.players]
        played = [future.result() for future in playing]
        rows = Rows(*(np.concatenate(arrays) for arrays in zip(*(p[0] for p in played), strict=True)))
        plies = config.selfplay.games * config.selfplay.plies
        rate = plies / max(seconds for _, seconds in played)
        metrics: dict[str, float] = {
            "simulations": simulations,
            "plies_per_s": rate,
            "simulations_per_s": rate * simulations,
        }
        if learning:
            metrics |= learning.result()
        with checkpoint.writing(self.folder):
            self.replay.add(self.iteration, rows)
        self.new_rows = len(rows.margins)
        self.iteration += 1
        self.last_seconds = time.monotonic() - started
        self.seconds += self.last_seconds
        metrics |= {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "rows": self.replay.total,
            "window": len(self.replay),
            "games": sum(player.games_done for player in self.players),
            "distinct": _distinct_share(rows),
        }
        with checkpoint.writing(self.folder):
            if self.config.keep_every and self.iteration % self.config.keep_every == 0:
                kept = self.folder / "nets" / f"{self.iteration:06d}"
                save_net(kept, self.learner.average, self.rules, {"seconds": self.seconds})
            self.save()  # last: a kill before it does the iteration again, with all it leaves
        return metrics

    def _learn(self, progress: float) -> dict[str, float]:
        torch.set_num_threads(self.config.threads)
        started = time.monotonic()
        metrics = self.learner.run(self.replay, self.new_rows, progress, self._check)
        samples = metrics["steps"] * self.config.learner.batch
        return {**metrics, "samples_per_s": samples / (time.monotonic() - started)}

    def _play(self, player: SelfPlay, evaluate: TorchEvaluator, simulations: int) -> tuple[Rows, float]:
        torch.set_num_threads(self.config.threads)
        started = time.monotonic()
        rows = player.run(evaluate, simulations, self._check)
        return rows, time.monotonic() - started

    def _check(self) -> None:
        if self.stop.is_set():
            raise Stopped

    def save(self) -> Path:
        """Write a checkpoint of everything."""
        arrays = {
            f"selfplay.{worker}.{name}": torch.from_numpy(array)
            for worker, player in enumerate(self.players)
            for name, array in player.arrays().items()
        }
        meta = {
            "config": self.config.to_dict(),
            "rules": format_rules(self.rules),
            "rules_hash": rules_hash(self.rules),
            "commit": checkpoint.commit(),
            "iteration": self.iteration,
            "new_rows": self.new_rows,
            "seconds": self.seconds,
            "bfloat16": self.bfloat16,
            "selfplay": [player.counters() for player in self.players],
            "learner": self.learner.counters(),
            "replay": {
                "shards": {str(k): self.replay.digests[k] for k in sorted(self.replay.shards)},
                "total": self.replay.total,
            },
        }
        folder = checkpoint.save_checkpoint(
            self.folder,
            self.iteration,
            self.learner.average,
            self.rules,
            self.learner.tensors() | arrays,
            meta,
        )
        kept = [
            checkpoint.load_meta(path)["replay"]["shards"] for path in checkpoint.checkpoints(self.folder)
        ]
        self.replay.prune_files({int(shard) for shards in kept for shard in shards})
        return folder

    def restore(self, folder: Path) -> None:
        """Take back the state of a checkpoint of this run."""
        tensors, meta = checkpoint.load_checkpoint(folder)
        for worker, (player, counters) in enumerate(zip(self.players, meta["selfplay"], strict=True)):
            prefix = f"selfplay.{worker}."
            arrays = {k[len(prefix) :]: v.numpy() for k, v in tensors.items() if k.startswith(prefix)}
            player.restore(arrays, counters)
        learned = {k: v for k, v in tensors.items() if not k.startswith("selfplay.")}
        self.learner.restore(learned, meta["learner"])
        shards = {int(k): digest for k, digest in meta["replay"]["shards"].items()}
        self.replay.restore(shards, meta["replay"]["total"])
        self.iteration, self.new_rows = meta["iteration"], meta["new_rows"]
        self.seconds, self.bfloat16 = meta["seconds"], meta["bfloat16"]


def _distinct_share(rows: Rows) -> float:
    """Return the share of rows whose position (board, side, phase) is not met twice among them."""
    if not len(rows.margins):
        return 1.0
    return len(np.unique(rows.states[:, : engine.PHASE + 1 - engine.EXTRAS], axis=0)) / len(rows.states)


def train(config: TrainConfig, folder: Path, resume: bool, quiet: bool = False) -> Path:
    """Train to the end of the config (or its time); return the last checkpoint's folder.

    `KalahError` if the folder holds a run and `resume` is off, or another config's run, or if another
    process trains in it.
    """
    budget = config.max_minutes * 60
    _newest(folder, resume)  # before a folder is made
    with alone("train", folder):
        return _train(open_run(config, folder, resume), folder, budget, quiet)


def _train(run: Run, folder: Path, budget: float, quiet: bool) -> Path:
    config = run.config
    with (
        ThreadPoolExecutor(1 + config.selfplay.workers) as pool,
        Progress(run.config, folder, run.iteration, quiet) as progress,
    ):
        try:
            # An iteration that would end beyond the budget is not begun.
            while run.iteration < config.iterations and run.seconds + run.last_seconds < budget:
                metrics = run.iterate(pool)
                with checkpoint.writing(folder):
                    progress.show(metrics, budget)
        finally:
            run.stop.set()  # after Ctrl-C the threads end within a ply or a step
    done = checkpoint.checkpoints(folder)
    return done[-1] if done else run.save()


def open_run(config: TrainConfig, folder: Path, resume: bool) -> Run:
    """Return the run in `folder`, new or restored from its newest checkpoint."""
    newest = _newest(folder, resume)
    if newest is not None:
        saved: dict[str, Any] = checkpoint.load_meta(newest)["config"]
        _refuse_changes(make_config(saved, str(newest)), config, folder)
    run = Run(config, folder)
    if newest is not None:
        run.restore(newest)
    return run


def _newest(folder: Path, resume: bool) -> Path | None:
    """Return the checkpoint to go on from, None to begin; `KalahError` where `folder` says otherwise."""
    done = checkpoint.checkpoints(folder)
    if resume and not done:
        raise KalahError(f"{folder} holds no checkpoint to go on from; leave --resume out to begin.")
    if done and not resume:
        raise KalahError(f"{folder} holds a run already; go on with --resume, or choose another name=.")
    return done[-1] if done else None


def _refuse_changes(saved: TrainConfig, config: TrainConfig, folder: Path) -> None:
    """Only the length of a run and where it runs may change when it is resumed."""
    free = ("iterations", "max_minutes", "device", "threads", "keep_every")
    old, new = _flat(saved), _flat(config)
    changed = [key for key in old if key not in free and old[key] != new[key]]
    if changed:
        raise KalahError(
            f"{folder} was begun with {', '.join(f'{key}={old[key]}' for key in changed)} (now: "
            f"{', '.join(f'{key}={new[key]}' for key in changed)}); resume it as it was begun, or choose "
            "another name=."
        )


def _flat(config: TrainConfig) -> dict[str, Any]:
    """Return the config as one dictionary of the keys that a command line takes, such as net.width."""
    data = config.to_dict()
    parts = {key: part for key, part in data.items() if isinstance(part, dict)}
    inner = {f"{key}.{name}": value for key, part in parts.items() for name, value in part.items()}
    return {key: value for key, value in data.items() if key not in parts} | inner


def why_untrained(done: int, rows: int, config: TrainConfig) -> str:
    """Return why a run of `done` iterations that made `rows` rows has learned nothing, and what to do."""
    longer = "iterations" if done >= config.iterations else "max_minutes"
    count = f"{done} iteration{'s' if done != 1 else ''}"
    if rows and done == 1:
        return (
            "only one iteration ran, and learning begins in the second, with the games of the first; raise "
            f"{longer} and go on with --resume."
        )
    ended = f"none before the last of {count}" if rows else f"none in {count}"
    return (
        f"learning needs games that have ended, and there were {ended}; raise {longer} and go on with "
        "--resume, or begin another run (name=) with more selfplay.plies."
    )


def train_command(config_path: str, overrides: list[str], resume: bool) -> int:
    """Run `kalah train`; return its exit code."""
    config, folder = run_config(config_path, overrides, resume)
    before = sum(int(path.name) for path in checkpoint.checkpoints(folder)[-1:])
    try:
        with _terminated():
            last = train(config, folder, resume)
    except KeyboardInterrupt as stopped:
        if checkpoint.checkpoints(folder):
            print(f"\nstopped; go on with: kalah train {folder} --resume")
        else:
            print("\nstopped before the first iteration was done; the same command begins again.")
        return 143 if stopped.args else 130
    meta = checkpoint.load_meta(last)
    done = meta["iteration"]
    if not meta["learner"]["steps"]:
        print(f"nothing was learned: {why_untrained(done, meta['replay']['total'], config)}")
        print(f"untrained: {last}")
        return 0
    if done < config.iterations:
        print(
            f"max_minutes={config.max_minutes:g} are spent after {done} of {config.iterations} iterations; "
            f"go on with: kalah train {folder} max_minutes={2 * config.max_minutes:g} --resume"
        )
    elif done == before:
        print(f"nothing left to do: {folder} has {done} iterations, as many as were asked for, or more.")
    print(f"trained: {last}")
    print(f"play it: kalah arena net:{last},sims=64 greedy --rules {config.rules} --games 100")
    return 0


@contextmanager
def _terminated() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does; only the main thread can hear it."""

    def end(number: int, _: Any) -> None:
        raise KeyboardInterrupt(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
