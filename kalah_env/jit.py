"""How functions are compiled: `njit`, `parallel_njit` and a cache that cannot go stale.

numba's on-disk cache does not notice an edit in a *callee* that lives in another file. So our cache
folder is named by a hash of all our sources: any edit starts a fresh one. Not for rules or search;
read on in `engine.py`.

Environment: `KALAH_CACHE_DIR` moves the cache. Where no folder can be written, functions are
compiled anew in every process and a warning says so. Without numba, as a one-file bot may be started
(`train/bundle.py`), they stay plain Python: the same results, a hundred times slower.
"""

import hashlib
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

try:
    import numba
except ModuleNotFoundError:
    numba = None
    warnings.warn(
        "numba is not installed: everything runs a hundred times slower.", RuntimeWarning, stacklevel=2
    )

PACKAGES = ("kalah_env", "agents", "train")
COMPILED = numba is not None
prange: Any = range if numba is None else numba.prange
KEPT_CACHES = 12  # folders of older sources that stay; the rest is deleted when a new one is made


def source_hash(root: Path | None = None) -> str:
    """Return 16 hex digits over the names and bytes of every source file of the project."""
    root = root or Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> str | None:
    """Make and return this source's cache folder, or None (with a warning) where it cannot be."""
    root = Path(os.environ.get("KALAH_CACHE_DIR") or _user_cache())
    folder = root / f"numba-{source_hash()}"
    try:
        new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if new:
            _prune(root)
    except OSError as error:
        warnings.warn(
            f"no compile cache: {root} cannot be written ({error.strerror or error}); every start "
            "compiles anew. Set KALAH_CACHE_DIR to a writable folder.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return str(folder)


def _user_cache() -> Path:
    try:
        import platformdirs
    except ModuleNotFoundError:  # only where a one-file bot meets a numba of its machine
        return Path.home() / ".cache" / "kalah-env"
    return platformdirs.user_cache_path("kalah-env")


def _prune(root: Path) -> None:
    caches = sorted(root.glob("numba-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in caches[KEPT_CACHES:]:
        shutil.rmtree(path, ignore_errors=True)


CACHE = None if numba is None else _cache_folder()


def _compile(function: Any, **options: Any) -> Any:
    if numba is None:
        return function
    # The folder is read while decorating, so other people's numba functions keep their own cache.
    from numba.core import config as shared

    config: Any = shared
    before = config.CACHE_DIR
    config.CACHE_DIR = CACHE or before
    try:
        return numba.njit(cache=CACHE is not None, nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = before


def threads_of_numba() -> int:
    """Return how many threads numba may use: NUMBA_NUM_THREADS, or the cores."""
    if not COMPILED:
        return 1
    from numba.core import config

    return int(vars(config)["NUMBA_NUM_THREADS"])


def njit(function: Any) -> Any:
    """Compile `function` for the CPU, lazily typed, releasing the GIL, cached by our sources."""
    return _compile(function)


def inlined(function: Any) -> Any:
    """As `njit`, always inlined: for small helpers, since passing the rules to a call costs a copy."""
    return _compile(function, forceinline=True)


def frozen(function: Any, rules: Any) -> Any:
    """Compile an inlined `function(rules, ...)` with these rules as constants, for one hot loop.

    Options that are off cost nothing then; each rule set is a compilation of its own.
    """

    def call(*arguments: Any) -> Any:
        return function(rules, *arguments)

    return _compile(call)


def parallel_njit(function: Any) -> Any:
    """As `njit`, with `prange` loops spread over numba's threads."""
    return _compile(function, parallel=True)
