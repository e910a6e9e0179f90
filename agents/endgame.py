"""Endgame tables: the exact value of every board with up to N seeds, and their files.

One int8 a board: seeds still to win, the mover's minus the opponent's, at the place that `packed.rank`
gives. A table serves all sizes of start, so it is kept by `table_rules`. Built layer by layer: a move
that keeps the number n of seeds on the board reaches no store, so it only shifts seeds of the mover's
row towards its end, and that row becomes smaller when read from pit 1 on. So a layer is filled without
a search, row against row in that order, and the ways to split n between the sides are independent.

A file is a JSON line padded to 4096 bytes, then the values. It is written under another name and
renamed, and its length and SHA-256 are checked when it is opened. `KALAH_TABLE_DIR` moves the folder.
"""

import contextlib
import functools
import hashlib
import json
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents import packed
from agents.base import check_range
from kalah_env import engine
from kalah_env.errors import KalahError
from kalah_env.jit import inlined, njit
from kalah_env.options import EarlyStop
from kalah_env.rules import Rules, format_rules, parse_rules, rules_hash, side_pits

FORMAT = "kalah-env endgame table 1"
HEADER = 4096
MAX_BYTES = 2**36
SMALL = 10**6  # boards of a table that is made on the way, without a word
LARGE = 2**31  # boards of a table that is made only where somebody asks for just that
_CHUNK = 2**24


class Endgame(NamedTuple):
    """A table: rules - those of the table; seeds - N; values: (C(N+2P, 2P),) int8; path, if any."""

    rules: Rules
    seeds: int
    values: np.ndarray
    path: Path | None = None


class Probe(NamedTuple):
    """What compiled code looks values up in: ranks - `packed.rank_table`, values - those of a table."""

    ranks: np.ndarray  # (2P+1, N+1) int64; without columns nothing is known
    values: np.ndarray  # (C(N+2P, 2P),) int8


def probe_of(rules: Rules, table: Endgame | None) -> Probe:
    """Return what `is_known` and `known_margin` read, of a table of `rules` or of none.

    `KalahError` where the table does not tell the final margins of these rules.
    """
    if table is None:
        return Probe(np.zeros((2 * side_pits(rules) + 1, 0), np.int64), np.zeros(0, np.int8))
    why = packed.unsuitable(rules)
    if why or table.rules != table_rules(rules):
        raise KalahError(
            f"an endgame table of {format_rules(table.rules)} does not tell the final margins of "
            f"{format_rules(rules)}{f': {why}' if why else ''}."
        )
    return Probe(packed.rank_table(rules, table.seeds), table.values)


@inlined
def is_known(rules, probe, s):
    """Say whether the table knows the running position `s: (S,)`, in the middle of a game."""
    at = engine.board_size(rules)
    seeds = engine.side_seeds(rules, s, 0) + engine.side_seeds(rules, s, 1)
    return seeds < probe.ranks.shape[1] and s[at + engine.PHASE] == engine.MID


@njit
def known_margin(rules, probe, s):
    """Return the final margin, in seeds, for the player to move, of a position that the table knows."""
    pits = rules.pits
    side = s[2 * pits + 2 + engine.SIDE]
    own_row, other_row = side * (pits + 1), (1 - side) * (pits + 1)
    own, other = 0, 0
    for i in range(pits):
        own |= np.int64(s[own_row + i]) << 8 * i
        other |= np.int64(s[other_row + i]) << 8 * i
    ahead = int(s[own_row + pits]) - int(s[other_row + pits])
    return ahead + probe.values[packed.rank(probe.ranks, own, other)]


def table_rules(rules: Rules) -> Rules:
    """Return what a table of these rules is kept by: size of start, pie, limits and stops left out.

    `KalahError` where no table can serve the rules. Where a store over half ends the game, win,
    draw and loss are those of the table.
    """
    plain = rules._replace(preset=0, seeds=4, pie=0, first_again=1, early_stop=int(EarlyStop.NO))
    if rules.relay == 0:
        plain = plain._replace(lap_limit=Rules().lap_limit)
    why = packed.unsuitable(plain)
    if why:
        raise KalahError(f"endgame tables cannot serve {format_rules(rules)}: {why}.")
    return plain


def max_seeds(rules: Rules) -> int:
    """Return the most seeds that a table of these rules may have: at most 64 GiB."""
    fitting = [n for n in range(packed.MAX_SEEDS + 1) if packed.count_positions(rules, n) <= MAX_BYTES]
    return fitting[-1]


def compute(
    rules: Rules, seeds: int, threads: int = 1, progress: Callable[[int], None] = lambda done: None
) -> Endgame:
    """Return the table of up to `seeds` seeds; `progress` hears how many boards are done."""
    rules = table_rules(rules)
    check_range("endgame table: seeds", seeds, 1, max_seeds(rules))
    values = np.zeros(packed.count_positions(rules, seeds), np.int8)
    sowing, ranks = packed.sowing_table(rules, seeds), packed.rank_table(rules, seeds)
    rows = [_rows_of(rules.pits, n) for n in range(seeds + 1)]
    stopped = False

    def fill(first: np.ndarray, second: np.ndarray, same: bool) -> None:
        for row in range(len(first)):
            if stopped:
                return
            others = second[: row + 1] if same else second
            _fill(rules, sowing, ranks, values, first[row], others)

    with ThreadPoolExecutor(threads) as pool:
        for n in range(seeds + 1):
            tasks = [pool.submit(fill, rows[a], rows[n - a], 2 * a == n) for a in range(n // 2, -1, -1)]
            try:
                for task in tasks:
                    task.result()
            except BaseException:  # such as Ctrl-C, which only this waiting thread sees
                stopped = True
                raise
            progress(packed.count_positions(rules, n))
    return Endgame(rules, seeds, values)


def _rows_of(pits: int, seeds: int) -> np.ndarray:
    """Return the words of all rows with so many seeds, smaller first when read from pit 1 on."""
    words, left = np.zeros(1, np.int64), np.full(1, seeds)
    for pit in range(pits - 1):
        choices = left + 1  # how many seeds this pit may hold
        firsts = np.repeat(np.cumsum(choices) - choices, choices)
        words, left = np.repeat(words, choices), np.repeat(left, choices)
        taken = np.arange(len(words)) - firsts
        words, left = words | (taken << 8 * pit), left - taken
    return words | (left << 8 * (pits - 1))


@njit
def _fill(rules, sowing, ranks, values, row, others):
    """Value the boards with `row` against each of `others`, either to move."""
    for other in others:
        _fill_one(rules, sowing, ranks, values, row, other)
        if other != row:
            _fill_one(rules, sowing, ranks, values, other, row)


@njit
def _fill_one(rules, sowing, ranks, values, own, other):
    if packed.is_over(rules, own, other):
        best = packed.leftover(rules, own, other)
    else:
        best = -1000
        for pit in range(rules.pits):
            if (own >> 8 * pit) & 255 == 0:
                continue
            mine, his, gain, again = packed.play(rules, sowing, own, other, pit)
            if again:
                value = gain + values[packed.rank(ranks, mine, his)]
            else:
                value = gain - values[packed.rank(ranks, his, mine)]
            best = max(best, value)
    values[packed.rank(ranks, own, other)] = best


def folder() -> Path:
    """Return where tables are kept: `KALAH_TABLE_DIR`, else a folder in the user's cache."""
    import platformdirs

    return Path(os.environ.get("KALAH_TABLE_DIR") or platformdirs.user_cache_path("kalah-env") / "endgame")


def path_of(rules: Rules, seeds: int) -> Path:
    """Return the file that a table of these rules and so many seeds has in `folder()`."""
    rules = table_rules(rules)
    return folder() / f"{rules.pits}pits-{seeds}seeds-{rules_hash(rules)}.endgame"


def save(table: Endgame, path: Path) -> Endgame:
    """Write a table; return it with its path. The file appears whole or not at all."""
    about = {
        "format": FORMAT,
        "rules": format_rules(table.rules),
        "hash": rules_hash(table.rules),
        "seeds": table.seeds,
        "bytes": len(table.values),
        "sha256": hashlib.sha256(table.values.data).hexdigest(),
    }
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(json.dumps(about).encode().ljust(HEADER - 1) + b"\n")
            file.write(table.values.data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise KalahError(
            f"endgame table {path} cannot be written: {error.strerror or error}; "
            "KALAH_TABLE_DIR names another folder."
        ) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return table._replace(path=path)


def load(path: Path, rules: Rules | None = None) -> Endgame:
    """Open a table, checked whole and mapped into memory; `KalahError` if it is damaged or not of `rules`."""
    try:
        with path.open("rb") as file:
            about = _read_header(path, file.read(HEADER))
            found = parse_rules(about["rules"])
            if rules is not None and found != table_rules(rules):
                raise KalahError(
                    f"endgame table {path} is of {about['rules']}, not of "
                    f"{format_rules(table_rules(rules))}; move it away."
                )
            digest = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        size = path.stat().st_size - HEADER
        if size != about["bytes"] or size != packed.count_positions(found, about["seeds"]):
            raise _damaged(path, f"it holds {max(0, size)} of {about['bytes']} values")
        if digest.hexdigest() != about["sha256"]:
            raise _damaged(path, "its values do not have the checksum that it names")
        # Copy-on-write, since compiled code is typed for arrays that may be written; nobody writes.
        values = np.memmap(path, np.int8, "c", HEADER, size)
    except OSError as error:
        raise KalahError(f"endgame table {path} cannot be read: {error.strerror or error}.") from None
    return Endgame(found, about["seeds"], np.asarray(values), path)


def _read_header(path: Path, header: bytes) -> dict[str, Any]:
    try:
        about = json.loads(header)
        keys = {"format": str, "rules": str, "hash": str, "seeds": int, "bytes": int, "sha256": str}
        if about["format"] == FORMAT and all(type(about[key]) is kind for key, kind in keys.items()):
            rules = parse_rules(about["rules"])
            if (
                rules == table_rules(rules)
                and about["hash"] == rules_hash(rules)
                and 1 <= about["seeds"] <= packed.MAX_SEEDS
            ):
                return about
    except (ValueError, TypeError, KeyError, RecursionError):  # KalahError is a ValueError
        pass
    raise _damaged(path, "its first 4096 bytes are no header of one")


def _damaged(path: Path, why: str) -> KalahError:
    return KalahError(
        f"endgame table {path} is damaged ({why}); delete it, or build it anew: "
        "`kalah endgame --rules SPEC --seeds N --rebuild`."
    )


def obtain(rules: Rules, seeds: int) -> Endgame:
    """Return the table of `seeds` seeds: from `folder()`, or computed with all cores and kept there.

    `KalahError` where it would have more than `LARGE` boards; a warning where it is not `SMALL`.
    """
    path = path_of(rules, seeds)
    if path.exists():
        return load(path, rules)
    check_range("endgame table: seeds", seeds, 1, max_seeds(rules))
    boards = packed.count_positions(rules, seeds)
    size = f"an endgame table of {seeds} seeds on {rules.pits} pits a side, {boards:,} boards, a byte each"
    if boards > LARGE:
        raise KalahError(
            f"{size}, is not made on the way; `kalah endgame --rules {format_rules(table_rules(rules))} "
            f"--seeds {seeds}` makes it, or ask for fewer seeds."
        )
    if boards > SMALL:
        warnings.warn(f"making {size}, kept in {folder()}", stacklevel=2)
    return save(compute(rules, seeds, os.cpu_count() or 1), path)


def find_or_make(rules: Rules, most: int = MAX_BYTES) -> Endgame:
    """Return the largest table of at most `most` bytes in `folder()`, or else a small one, made now.

    Both are kept for the next who asks, such as for another number of seeds.
    """
    return find(rules, most) or _made(table_rules(rules))


@functools.lru_cache(maxsize=8)
def _made(rules: Rules) -> Endgame:
    fitting = [n for n in range(1, packed.MAX_SEEDS) if packed.count_positions(rules, n) <= SMALL]
    return compute(rules, max(fitting, default=1))


def find(rules: Rules, most: int = MAX_BYTES) -> Endgame | None:
    """Return the largest table of these rules in `folder()`, or None; `KalahError` if it is damaged."""
    best = None
    for path in folder().glob(f"{rules.pits}pits-*seeds-{rules_hash(table_rules(rules))}.endgame"):
        text = path.name.split("-")[1].removesuffix("seeds")
        fits = path.stat().st_size <= HEADER + most
        if fits and text.isascii() and text.isdigit() and (best is None or int(text) > best[0]):
            best = (int(text), path)
    if best is None:
        return None
    stamp = best[1].stat()
    return _checked(best[1], table_rules(rules), stamp.st_ino, stamp.st_size, stamp.st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _checked(path: Path, rules: Rules, *_: int) -> Endgame:
    """Return the table of a file as it stood then: the checksum of a large one takes a while."""
    return load(path, rules)
