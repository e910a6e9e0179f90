"""Where the files lie that ship with the project: trained nets and configs.

A wheel carries them inside the packages (`agents/checkpoints`, `train/configs`), a checkout at its top
(`checkpoints/`, `configs/`). Everybody asks here, so nobody else knows of the two places. Not for
what a user makes: runs go where the user says. How the wheel is laid out: `pyproject.toml`.
"""

from pathlib import Path
from typing import Literal

from kalah_env.errors import KalahError

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = {"checkpoints": "agents/checkpoints", "configs": "train/configs"}


def resource_dir(kind: Literal["checkpoints", "configs"], root: Path = ROOT) -> Path:
    """Return the folder of `kind`: the installed one where there is one, else the checkout's."""
    if kind not in INSTALLED:
        raise KalahError(f"no resources named {kind!r}: ask for one of {', '.join(INSTALLED)}")
    for folder in (root / INSTALLED[kind], root / kind):
        if folder.is_dir():
            return folder
    raise KalahError(f"the {kind} that ship with kalah-env are not at {root}: install it again")
