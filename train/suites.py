"""Suites: positions with the exact value of every legal move, to grade agents by.

The plain form is JSON lines `{"rules": SPEC, "position": TEXT, "values": {MOVE: margin, ...}}`, values being
final margins for the player to move. Our own files are the same, gzipped, with a first line about the
suite (rules, seed, command), which then need not stand in every line, and with `half` (`tune` or `test`)
and `source` of each position. How they are made: `label.py`; what they are for: `grade.py`.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, num_actions, parse_rules, side_pits
from train.files import replacing

SHIPPED = Path(__file__).resolve().parent / "suites"
SUFFIX = ".jsonl.gz"
HALVES = ("tune", "test")
ILLEGAL = -32768  # in place of the value of an illegal action


class Suite(NamedTuple):
    """N positions of one rule set.

    states: (N, S) int16, running; values: (N, A) int64 - final margins in seeds for the player to
    move, or ILLEGAL; halves, sources: of each, or ""; about: what the file says of itself.
    """

    rules: Rules
    states: np.ndarray
    values: np.ndarray
    halves: list[str]
    sources: list[str]
    about: dict[str, Any]

    def take(self, chosen: np.ndarray) -> "Suite":
        """Return the positions of an index or mask."""
        rows = np.arange(len(self.states))[chosen]
        return self._replace(
            states=self.states[rows],
            values=self.values[rows],
            halves=[self.halves[i] for i in rows],
            sources=[self.sources[i] for i in rows],
        )

    def counted(self) -> np.ndarray:
        """Return where the legal moves differ in value: (N,) bool."""
        legal = self.values != ILLEGAL
        lowest = np.where(legal, self.values, -ILLEGAL).min(axis=1)
        return self.values.max(axis=1) > lowest

    def seeds(self) -> np.ndarray:
        """Return the seeds in all pits: (N,) int64."""
        pits = side_pits(self.rules)
        board = self.states[:, : 2 * pits + 2].astype(np.int64)
        return board.sum(axis=1) - board[:, pits] - board[:, 2 * pits + 1]


def shipped_names() -> list[str]:
    """Return the names of the suites that come with kalah-env."""
    return sorted(path.name.removesuffix(SUFFIX) for path in SHIPPED.glob(f"*{SUFFIX}"))


def load_suite(name: str, rules: Rules | None = None) -> Suite:
    """Return a suite by file or by name; `/tune` or `/test` behind either takes one half only.

    `rules` serve lines that name none. `KalahError` says which line is wrong and why.
    """
    base, _, half = name.rpartition("/")
    if half not in HALVES or Path(name).is_file():
        base, half = name, ""
    path = SHIPPED / f"{base}{SUFFIX}" if base in shipped_names() else Path(base)
    if not path.is_file():
        raise KalahError(
            f"suite: {name!r} is neither a file nor a shipped suite; those are "
            f"{', '.join(shipped_names())}, each with /tune or /test behind it for one half."
        )
    suite = read_suite(path, rules)
    if half and half not in suite.halves:
        raise KalahError(f"suite: {base} has no half {half}; give {base} alone, all its positions.")
    return suite.take(np.array([half in ("", one) for one in suite.halves]))


def read_suite(path: Path, rules: Rules | None = None) -> Suite:
    """Return the suite in a file, gzipped or plain."""
    about: dict[str, Any] = {}
    rows: list[tuple[np.ndarray, np.ndarray, str, str]] = []
    found = rules
    for number, line in _lines(path):
        where = f"suite {path.name}, line {number}"
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise KalahError(f"{where}: no JSON ({error}).") from None
        if not isinstance(item, dict):
            raise KalahError(f"{where}: {line.strip()[:60]!r} is no object; write position and values.")
        if "rules" in item:
            named = _rules(where, item["rules"])
            if found is not None and named._replace(preset=0) != found._replace(preset=0):
                asked = "asked for" if rules is not None else "in the lines before"
                raise KalahError(
                    f"{where}: the rules are {format_rules(named)}, but {format_rules(found)} {asked}; "
                    "a suite has one rule set."
                )
            found = named
        if "suite" in item and not rows and "position" not in item:
            about = item
            continue
        if found is None:
            raise KalahError(f"{where}: no rules; put them into the line or give --rules.")
        rows.append(_row(where, item, found))
    if found is None or not rows:
        raise KalahError(f"suite {path.name} holds no positions.")
    states, values, halves, sources = zip(*rows, strict=True)
    return Suite(found, np.array(states), np.array(values), list(halves), list(sources), about)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        for number, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
            if line.strip():
                yield number, line
    except UnicodeDecodeError:
        raise KalahError(f"suite {path.name} is not a text in UTF-8.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise KalahError(
            f"suite {path} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from None


def _rules(where: str, spec: Any) -> Rules:
    try:
        return parse_rules(spec)
    except KalahError as error:
        raise KalahError(f"{where}: {error}") from None


def _row(where: str, item: dict[str, Any], rules: Rules) -> tuple[np.ndarray, np.ndarray, str, str]:
    position, values = item.get("position"), item.get("values")
    if not isinstance(position, str) or not isinstance(values, dict):
        raise KalahError(f'{where}: write {{"position": TEXT, "values": {{MOVE: margin, ...}}}}.')
    try:
        state = text.parse_position(position, rules)
    except KalahError as error:
        raise KalahError(f"{where}: {error}") from None
    legal = text.legal_moves(rules, state)
    if not legal:
        raise KalahError(f"{where}: in {position} the game is over; a suite holds positions with a move.")
    if sorted(values) != sorted(legal):
        raise KalahError(
            f"{where}: values are of moves {', '.join(sorted(values)) or 'none'}, but legal are "
            f"{', '.join(legal) or 'none'}."
        )
    row = np.full(num_actions(rules), ILLEGAL, np.int64)
    total = int(state[: engine.board_size(rules)].sum())
    for move, value in values.items():
        if type(value) is not int or abs(value) > total:
            raise KalahError(
                f"{where}: the value of move {move} is {value!r}, not a margin of {total} seeds."
            )
        row[text.parse_move(rules, state, move)] = value
    return state, row, str(item.get("half", "")), str(item.get("source", ""))


def write_suite(path: Path, suite: Suite) -> None:
    """Write a suite, gzipped; the same suite gives the same bytes."""
    about = {"suite": path.name.split(".")[0], **suite.about, "rules": format_rules(suite.rules)}
    lines = [json.dumps(about)]
    for state, row, half, source in zip(suite.states, suite.values, suite.halves, suite.sources, strict=True):
        values = {text.format_move(suite.rules, a): int(v) for a, v in enumerate(row) if v != ILLEGAL}
        item = {"position": text.format_position(suite.rules, state), "values": values}
        lines.append(json.dumps({**item, "half": half, "source": source}, separators=(",", ":")))
    data = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    with replacing(path) as partial:
        partial.write_bytes(data)


def join(
    rules: Rules, parts: Iterable[tuple[np.ndarray, np.ndarray, str, str]], about: dict[str, Any]
) -> Suite:
    """Return a suite of (state, values, half, source) rows."""
    states, values, halves, sources = zip(*parts, strict=True)
    return Suite(rules, np.array(states), np.array(values), list(halves), list(sources), about)


def state_key(rules: Rules, state: np.ndarray) -> bytes:
    """Return bytes that are equal for positions equal but for the stores, seen by the player to move."""
    pits = side_pits(rules)
    rows = (state[:pits], state[pits + 1 : 2 * pits + 1])
    side = int(batch.sides(rules, state[None])[0])
    return rows[side].tobytes() + rows[1 - side].tobytes()
