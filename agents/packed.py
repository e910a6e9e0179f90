"""Boards of one row a side as two machine words, for what must be exact and fast: tables and solver.

A row is an int64 with a byte a pit, pit 1 lowest: up to 8 pits a side, and 127 seeds, so that values
fit a byte. A position is the words (own, other) of the mover and his opponent, without stores: under
the rules that `unsuitable` accepts, seeds in a store never come back and never end a game, so they do
not change what is still to win. Sowing is two additions looked up by pit and number. Positions are
numbered without gaps by the combinatorial number system (Knuth, TAOCP 4A, 7.2.1.3): fewer seeds first.
Held against `engine.py` by the tests.
"""

from math import comb

import numpy as np

from kalah_env import engine
from kalah_env.jit import inlined
from kalah_env.options import Capture, EarlyStop, SowStore, Win
from kalah_env.rules import Rules

MAX_PITS, MAX_SEEDS = 8, 127
ONES = 0x0101010101010101


def unsuitable(rules: Rules) -> str | None:
    """Say why packed boards do not cover these rules, or None where they do."""
    demands = (
        (rules.rows == 1, "rows=1"),
        (rules.pits <= MAX_PITS, f"pits of at most {MAX_PITS}"),
        (rules.sow_store == SowStore.OWN, "sow_store=own, so that seeds on the board only get fewer"),
        (rules.early_stop == EarlyStop.NO, "early_stop=no, so that stores do not matter"),
        (rules.directions == 1, "directions=1, so that positions never repeat"),
        (rules.capture in (Capture.OPPOSITE, Capture.NONE), "capture=opposite or none"),
        (rules.must_feed == 0, "must_feed=false"),
        (rules.min_seeds == 1, "min_seeds=1"),
        (rules.win == Win.SEEDS, "win=seeds"),
        (rules.ply_limit == 0, "ply_limit=0"),
    )
    missing = [text for holds, text in demands if not holds]
    return f"they need {missing[0]}" if missing else None


def pack(rules: Rules, state: np.ndarray) -> tuple[int, int]:
    """Return the words (own, other) of a state (S,), for the side to move.

    A pit of over 255 seeds is written as 255: over `MAX_SEEDS` all the same, and no other pit is hit.
    """
    pits = rules.pits
    rows = [_word(state[first : first + pits]) for first in (0, pits + 1)]
    side = int(state[2 * pits + 2 + engine.SIDE])
    return rows[side], rows[1 - side]


def _word(row: np.ndarray) -> int:
    word = sum(min(int(seeds), 255) << 8 * i for i, seeds in enumerate(row))
    return word - 2**64 if word >= 2**63 else word


def sowing_table(rules: Rules, seeds: int) -> np.ndarray:
    """Return what a lap adds, for up to `seeds` seeds: (2P * (seeds+1), 4) int64.

    Row `cell * (seeds+1) + k` is for k seeds taken from a cell: own pits 0 .. P-1, then the other's.
    Columns: the words added to own and other, seeds that reach the own store, the last cell (2P = store).
    """
    pits = rules.pits
    table = np.zeros((2 * pits, seeds + 1, 4), np.int64)
    path = [*range(pits), 2 * pits, *range(pits, 2 * pits)]
    for origin in range(2 * pits):
        added = [0] * (2 * pits + 1)
        at = path.index(origin)
        for k in range(1, seeds + 1):
            at = (at + 1) % len(path)
            if path[at] == origin and rules.skip_origin == 1:
                at = (at + 1) % len(path)
            added[path[at]] += 1
            words = (_word(np.array(added[:pits])), _word(np.array(added[pits : 2 * pits])))
            table[origin, k] = (*words, added[2 * pits], path[at])
    return table.reshape(-1, 4)


def rank_table(rules: Rules, seeds: int) -> np.ndarray:
    """Return C(s+k-1, k) for prefix sums s of the first k pits, modulo 2^64: (2P+1, seeds+1) int64."""
    cells = range(2 * rules.pits + 1)
    rows = [[comb(s + k - 1, k) % 2**64 if k else 0 for s in range(seeds + 1)] for k in cells]
    return np.array(rows, np.uint64).astype(np.int64)


def count_positions(rules: Rules, seeds: int) -> int:
    """Return how many boards hold at most `seeds` seeds: C(seeds + 2P, 2P)."""
    return comb(seeds + 2 * rules.pits, 2 * rules.pits)


@inlined
def row_sum(word):
    """Return the seeds of a row."""
    return ((word * ONES) >> 56) & 255


@inlined
def rank(ranks, own, other):
    """Return the number of a position among all with at most so many seeds."""
    pits = ranks.shape[0] // 2
    sums = own * ONES
    total = 0
    for k in range(pits):
        total += ranks[k + 1, (sums >> 8 * k) & 255]
    before = row_sum(own)
    sums = other * ONES
    for k in range(pits):
        total += ranks[pits + k + 1, before + ((sums >> 8 * k) & 255)]
    return total


@inlined
def play(rules, sowing, own, other, pit):
    """Sow `pit`; return own, other, seeds gained in the own store, whether the mover moves again."""
    pits = rules.pits
    width = sowing.shape[0] // (2 * pits)
    seeds = (own >> 8 * pit) & 255
    own &= ~(255 << 8 * pit)
    row = pit * width + seeds
    own += sowing[row, 0]
    other += sowing[row, 1]
    gained = sowing[row, 2]
    last = sowing[row, 3]
    if rules.relay == 1:
        laps = 1
        while last != 2 * pits and laps < rules.lap_limit:
            shift = 8 * (last if last < pits else last - pits)
            seeds = ((own if last < pits else other) >> shift) & 255
            if seeds == 1:
                break
            if last < pits:
                own &= ~(255 << shift)
            else:
                other &= ~(255 << shift)
            row = last * width + seeds
            own += sowing[row, 0]
            other += sowing[row, 1]
            gained += sowing[row, 2]
            last = sowing[row, 3]
            laps += 1
    captured = 0
    if rules.capture == 0 and last < pits and (own >> 8 * last) & 255 == 1:
        facing = 8 * (pits - 1 - last)
        faced = (other >> facing) & 255
        if faced > 0 or rules.capture_empty == 1:
            captured = faced
            other &= ~(255 << facing)
            if rules.capture_takes == 0:
                captured += 1
                own &= ~(255 << 8 * last)
            gained += captured
    again = (last == 2 * pits and rules.again == 1) or (captured > 0 and rules.capture_again == 1)
    return own, other, gained, again


@inlined
def is_over(rules, own, other):
    """Say whether the game is over with the player of `own` to move."""
    return own == 0 or (other == 0 and rules.end == 0)


@inlined
def leftover(rules, own, other):
    """Return what a finished game still gives the player to move: his seeds minus the opponent's."""
    if rules.leftover == 0:
        return row_sum(own) - row_sum(other)
    if rules.leftover == 1:
        left = row_sum(own) + row_sum(other)
        return left if own == 0 else -left
    return 0
