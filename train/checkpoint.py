"""Checkpoints: everything a run needs to go on number for number, written so that a kill is harmless.

    runs/NAME/checkpoints/000012/   weights.safetensors, config.json   the averaged net: `net:` plays it
                                    state.safetensors, meta.json       learner, games in progress, counters
    runs/NAME/replay/000012.safetensors                                the rows of one iteration

A checkpoint folder is written under a temporary name and then renamed. No pickle is read or written.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from agents.nets import sha256_of
from agents.network import KalahNet
from agents.neural import save_net
from kalah_env.errors import KalahError
from kalah_env.rules import Rules

STATE, META = "state.safetensors", "meta.json"
KEPT = 2  # newest checkpoints that stay


def checkpoints(run: Path) -> list[Path]:
    """Return the run's checkpoint folders, oldest first."""
    return sorted(path for path in (run / "checkpoints").glob("[0-9]*") if path.name.isdigit())


def save_checkpoint(
    run: Path,
    iteration: int,
    net: KalahNet,
    rules: Rules,
    tensors: dict[str, torch.Tensor],
    meta: dict[str, Any],
) -> Path:
    """Write a checkpoint atomically, drop all but the newest, and return its folder."""
    folder = run / "checkpoints" / f"{iteration:06d}"
    temporary = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    save_net(temporary, net, rules, {"iteration": iteration, "commit": meta.get("commit")})
    save_file(tensors, temporary / STATE)
    digest = sha256_of(temporary / STATE)
    (temporary / META).write_text(json.dumps({**meta, "state_sha256": digest}))
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)
    for old in checkpoints(run)[:-KEPT]:
        shutil.rmtree(old)
    return folder


def load_checkpoint(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return tensors and meta data; `KalahError` if the checkpoint is damaged."""
    try:
        meta = load_meta(folder)
        if sha256_of(folder / STATE) != meta["state_sha256"]:
            raise ValueError(f"{STATE} is not the file that was written")
        return load_file(folder / STATE), meta
    except KalahError:
        raise
    except Exception as error:  # safetensors has errors of its own
        raise _damaged(folder, error) from None


def load_meta(folder: Path) -> dict[str, Any]:
    """Return the meta data of a checkpoint."""
    try:
        return json.loads((folder / META).read_text())
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from None


@contextmanager
def writing(run: Path) -> Iterator[None]:
    """Turn what a full disk or a lost folder raises into one `KalahError`."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise KalahError(
            f"{run} cannot be written ({' '.join(str(error).split())}); the running iteration is lost, all "
            "before it stands: make room and go on with --resume."
        ) from None


def _damaged(folder: Path, error: Exception) -> KalahError:
    return KalahError(
        f"checkpoint {folder} cannot be read ({error}); it is truncated or foreign. Delete that folder to go "
        "on from the one before it."
    )


def commit() -> str | None:
    """Return the commit of the checkout this code lies in, or None outside of one."""
    here = Path(__file__).resolve().parent
    try:
        answer = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None
