"""A one-file bot: `kalah export --bundle BOT.pyz` packs network, agent and protocols into a Python zip.

It runs wherever there are Python, NumPy and ONNX Runtime: `python BOT.pyz --protocol uci`. Our modules go
in as they are, those that are reached from the agent and the protocols; functions stay plain Python where
there is no numba (`kalah_env/jit.py`), and where there is one the file unpacks itself into the user's cache
once, so that what is compiled is kept. The agent: `agents/bundled.py`.
"""

import hashlib
import modulefinder
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from agents.bundled import NET
from agents.nets import ONNX, find_net
from kalah_env import __version__
from kalah_env.errors import KalahError
from kalah_env.jit import PACKAGES
from train.export import export_checkpoint
from train.files import check_target, replacing

_ENTRIES = ("train.cli", "train.commands.engine", "agents.bundled", "agents.simple")
_INFO = f"kalah_env-{__version__}.dist-info"
_AGENTS = "[kalah_env.agents]\nbundled = agents.bundled:BundledAgent\ngreedy = agents.simple:GreedyAgent\n"
_PACKAGE = f'''\
"""The part of kalah-env that a one-file bot needs."""
from kalah_env.errors import KalahError as KalahError

__version__ = "{__version__}"
'''
_MAIN = '''\
"""Starts the bot: the arguments of `kalah engine`, `--agent bundled` being the default."""
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import warnings
import zipfile

HERE = pathlib.Path(sys.argv[0]).resolve()
if importlib.util.find_spec("numba"):
    root = pathlib.Path(os.environ.get("KALAH_CACHE_DIR") or pathlib.Path.home() / ".cache" / "kalah-env")
    folder = root / "bundle-DIGEST"
    try:
        if not folder.exists():
            print("Unpacking; what is needed is compiled once now, which takes minutes.", file=sys.stderr)
            root.mkdir(parents=True, exist_ok=True)
            unpacked = pathlib.Path(tempfile.mkdtemp(dir=root)) / "bundle"
            zipfile.ZipFile(HERE).extractall(unpacked)
            try:
                unpacked.rename(folder)  # whole or not at all; another start may have been faster
            except OSError:
                if not folder.exists():
                    raise
            shutil.rmtree(unpacked.parent)
        sys.path.insert(0, str(folder))
    except OSError:
        sys.modules["numba"] = None  # nothing compiled could be kept: plain Python starts at once
if sys.modules.get("numba", 0) is None or not importlib.util.find_spec("numba"):
    warnings.filterwarnings("ignore", message="numba is not installed")

from train.cli import main

given = sys.argv[1:]
agent = [] if any(word.split("=")[0] == "--agent" for word in given) else ["--agent", "bundled"]
sys.argv[1:] = ["engine", *agent, *given]
sys.exit(main())
'''


def modules() -> dict[str, Path]:
    """Return the files of our modules that a bundle needs, by their place in it."""
    root = Path(__file__).resolve().parent.parent
    finder = modulefinder.ModuleFinder(path=[str(root)])
    for entry in _ENTRIES:
        finder.import_hook(entry)
    found = {}
    for name, module in finder.modules.items():
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in PACKAGES and file:
            found[Path(file).relative_to(root).as_posix()] = Path(file)
    return dict(sorted(found.items()))


def write_bundle(net: Path, out: str) -> Path:
    """Write the bundle of an exported network (atomically) and return its file.

    `KalahError` unless `out` ends in .pyz and can be written.
    """
    if Path(out).suffix != ".pyz":
        raise KalahError(f"export: {out!r} is no file name ending in .pyz, which a bundle needs.")
    path = check_target("export: the bundle", out)
    contents = {name: file.read_bytes() for name, file in modules().items()}
    contents["kalah_env/__init__.py"] = _PACKAGE.encode()
    contents[f"agents/{NET}"] = net.read_bytes()
    contents[f"{_INFO}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: kalah-env\nVersion: {__version__}\n".encode()
    )
    contents[f"{_INFO}/entry_points.txt"] = _AGENTS.encode()
    digest = hashlib.sha256(b"".join(name.encode() + data for name, data in contents.items())).hexdigest()[
        :16
    ]
    contents["__main__.py"] = _MAIN.replace("DIGEST", digest).encode()
    with replacing(path) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            # A fixed date: the same sources and network make the same file.
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return path


def bundle_checkpoint(checkpoint: str, out: str) -> dict[str, Any]:
    """Bundle a checkpoint's net, exported anew where it has no ONNX file; return file and bytes."""
    exported = find_net(checkpoint) / ONNX
    if exported.is_file():
        path = write_bundle(exported, out)
    else:
        with tempfile.TemporaryDirectory() as folder:
            report = export_checkpoint(checkpoint, str(Path(folder) / ONNX))
            if not report["ok"]:
                raise KalahError(
                    f"export: torch and ONNX Runtime disagree about {checkpoint}; it is not bundled."
                )
            path = write_bundle(Path(report["onnx"]), out)
    return {"bundle": out, "bytes": path.stat().st_size}
