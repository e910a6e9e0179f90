"""Game records as JSON lines: read, write, replay; and a position described for a program.

A record is `{"rules": SPEC, "start": "<...> S", "moves": ["3", ...]}`; without `start` the game
begins at the usual start. The keys `id`, `source` and `comment` may stand beside them and are not
read; any other key is refused. Not here: files of records, printing (`kalah replay`, `kalah move`);
the texts themselves are `text.py`'s.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, parse_rules, side_pits

KEYS = ("rules", "start", "moves")
NOTES = ("id", "source", "comment")


@dataclass(frozen=True)
class Record:
    """One game: its rules, the text of its start (None = the usual one), its moves as texts."""

    rules: Rules
    start: str | None = None
    moves: tuple[str, ...] = ()

    def first_state(self) -> np.ndarray:
        """Return the state (S,) the game begins with; `KalahError` if `start` is malformed."""
        if self.start is None:
            return batch.new_games(self.rules, 1)[0]
        return text.parse_position(self.start, self.rules)


def parse_record(line: str) -> Record:
    """Return the record of one JSON line; its moves are not played yet (`replay` does that)."""
    try:
        found = json.loads(line, object_pairs_hook=_no_key_twice)
    except KalahError:
        raise
    except (ValueError, RecursionError) as error:
        raise KalahError(
            f"record: this is neither JSON, one object a line, nor a game as text, which begins with "
            f'[Rules "kalah"] or another tag ({error}).'
        ) from None
    if not isinstance(found, dict):
        raise KalahError(f"record: a JSON object is needed, not {type(found).__name__}.")
    if unknown := [key for key in found if key not in KEYS + NOTES]:
        raise KalahError(
            f"record: there is no key {unknown[0]!r}; keys are {', '.join(KEYS)}, "
            f"and as notes {', '.join(NOTES)}."
        )
    if missing := [key for key in ("rules", "moves") if key not in found]:
        raise KalahError(f"record: the key {missing[0]!r} is missing; rules and moves are needed.")
    if not isinstance(found["rules"], str):
        raise KalahError("record: 'rules' is a text such as \"kalah:seeds=6\".")
    if not isinstance(found.get("start", ""), str):
        raise KalahError("record: 'start' is a position's text; leave it out for the usual start.")
    moves = found["moves"]
    if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
        raise KalahError('record: \'moves\' is a list of texts such as ["3", "6"].')
    record = Record(parse_rules(found["rules"]), found.get("start"), tuple(moves))
    record.first_state()
    return record


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise KalahError("record: a key stands twice; give each key once.")
    return found


def format_record(record: Record) -> str:
    """Return one JSON line; `parse_record` of it gives the same record."""
    start = {} if record.start is None else {"start": record.start}
    return json.dumps({"rules": format_rules(record.rules), **start, "moves": list(record.moves)})


def play_moves(rules: Rules, state: np.ndarray, moves: Iterable[str]) -> tuple[list[int], bool]:
    """Play moves' texts in place; return the seeds captured by each, and whether the last earned
    its player a further move. `KalahError` at the first illegal one; those before it are played.
    """
    extras = batch.extras(rules, state)
    captured, again = [], False
    for move in moves:
        action, side = text.parse_move(rules, state, move), int(extras[engine.SIDE])
        captured.append(int(engine.play(rules, state, action)))
        running = extras[engine.STATUS] == engine.RUNNING
        again = bool(running and engine.same_player(rules, side, action, int(extras[engine.SIDE])))
    return captured, again


def describe(rules: Rules, state: np.ndarray, captured: list[int], again: bool) -> dict[str, Any]:
    """Return the answer of `kalah move --json`: the state, and what `play_moves` told of its way."""
    status = batch.extras(rules, state)[engine.STATUS]
    return {
        "position": text.format_position(rules, state),
        "captured": captured,
        "next": _next(rules, state),
        "again": again,
        "over": bool(status == engine.OVER),
        "truncated": bool(status == engine.TRUNCATED),
        "result": result(rules, state),
        "legal": text.legal_moves(rules, state),
    }


def replay(record: Record) -> dict[str, Any]:
    """Return the answer of `kalah replay` for one record: positions up to its end or first error.

    `result` is that of the last position. `KalahError` only if `start` is malformed.
    """
    rules, state = record.rules, record.first_state()
    positions, following, error = [], [], None
    for ply, move in enumerate(record.moves, 1):
        try:
            play_moves(rules, state, [move])
        except KalahError as why:
            error = {"ply": ply, "why": str(why)}
            break
        positions.append(text.format_position(rules, state))
        following.append(_next(rules, state))
    return {"positions": positions, "next": following, "result": result(rules, state), "error": error}


def _next(rules: Rules, state: np.ndarray) -> str | None:
    extras = batch.extras(rules, state)
    return text.SIDE_LETTERS[extras[engine.SIDE]] if extras[engine.STATUS] == engine.RUNNING else None


def result(rules: Rules, state: np.ndarray) -> dict[str, Any] | None:
    """Return south, north (seeds, the swept ones among them) and winner of a finished game, else None."""
    if batch.extras(rules, state)[engine.STATUS] != engine.OVER:
        return None
    pits = side_pits(rules)
    south, north = int(state[pits]), int(state[2 * pits + 1])
    return {"south": south, "north": north, "winner": text.winner(rules, state)}
