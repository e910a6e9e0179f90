"""A Python that has only what a one-file bot needs: NumPy and ONNX Runtime, no numba."""

import os
import sys
from pathlib import Path

import numpy as np

NEEDED = ("numpy", "numpy.libs", "onnxruntime", "flatbuffers", "google", "packaging")
PYTHON = (sys.executable, "-S")  # with the environment below


def environment(site: Path) -> dict[str, str]:
    """Return the environment variables for `PYTHON`; `site` is an empty folder for links to packages."""
    ours = Path(np.__file__).parent.parent
    for name in NEEDED:
        if (ours / name).exists():
            (site / name).symlink_to(ours / name)
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return kept | {"PYTHONPATH": str(site)}
