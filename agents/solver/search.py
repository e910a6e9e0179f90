"""The compiled search of the solver: is a position worth at least `beta`?

Null-window alpha-beta (fail-soft) on packed boards, without recursion: frames lie in a stack of
arrays. All children are looked up in endgame and transposition table before any is searched, so that
a known one can answer at once (enhanced transposition cut-offs: Plaat et al. 1996; on Kalah: Irving,
Donkers and Uiterwijk 2000). Values are seeds still to win for the player to move: boards that differ
in their stores share an entry. Asked by `solve.py` with one `beta` after the other.

Threads may share the transposition table without locks, since an entry is one int64, read and written
whole: tag 40 | low + 128: 8 | high + 128: 8 | size: 4 | action: 4 bits (with at most 127 seeds, -128 and
127 bound nothing; `size` is the logarithm of the nodes: of two slots the one with the smaller gives way).
"""

from typing import NamedTuple

import numpy as np

from agents import packed
from agents.solver.prefetch import prefetch
from kalah_env.jit import inlined, njit

NONE = 15  # no action
_MIX = 0x9E3779B97F4A7C15 - 2**64  # odd, so that multiplying is one-to-one
TAG_BITS = 40
_TAG = 2**TAG_BITS - 1

# control: (4,) int64. STOP may be set from outside.
STOP, NODES, LIMIT, HITS = 0, 1, 2, 3
# Columns of a frame: words, rank, question, best so far, its action, nodes before, next child, children.
OWN, OTHER, RANK, BETA, BEST, ACTION, BEFORE, NEXT, COUNT = range(9)
# Columns of a child: words, rank, seeds gained, +1 where the mover stays or -1, action, score.
GAIN, SIGN, MOVE, SCORE = 3, 4, 5, 6
MAX_PLIES = 2000


class Memory(NamedTuple):
    """What a search looks up.

    sowing, ranks: see `packed.py`; endgame: (M,) int8 - values by rank, of up to `seeds` seeds;
    entries: (2^k,) int64 - the transposition table; mask, shift: of a mixed rank, masked, the bits
    from `shift` on are its slot.
    """

    sowing: np.ndarray
    ranks: np.ndarray
    endgame: np.ndarray
    seeds: int
    entries: np.ndarray
    mask: int
    shift: int


class Scratch(NamedTuple):
    """What one thread writes: frames (D, 9), children (D, P, 7), control (4,), all int64.

    busy: (T, 2^k) int64, shared - ranks of the positions that each thread is searching.
    """

    frames: np.ndarray
    children: np.ndarray
    control: np.ndarray
    busy: np.ndarray


@njit
def worth_at_least(rules, memory, scratch, thread, own, other, beta):
    """Return a bound of the value of a running position: a lower one if >= beta, else an upper one.

    Meaningless once control[STOP] is set: from outside, by the LIMIT of nodes, or by too deep a line.
    """
    frames, children, control, busy = scratch.frames, scratch.children, scratch.control, scratch.busy
    depth = 0
    frame = frames[0]
    frame[OWN], frame[OTHER], frame[BETA] = own, other, beta
    frame[RANK] = packed.rank(memory.ranks, own, other)
    value = 0
    entering = True
    while True:
        frame, kids = frames[depth], children[depth]
        if entering:
            _expand(rules, memory, frame, kids, control)
            if control[NODES] >= control[LIMIT] or depth + 1 == frames.shape[0]:
                control[STOP] = 1
            if control[STOP] != 0:
                return 0
        else:
            kid = kids[frame[NEXT]]
            busy[thread, kid[RANK] & (busy.shape[1] - 1)] = 0
            frame[NEXT] += 1
            value = kid[GAIN] + kid[SIGN] * value
            if value > frame[BEST]:
                frame[BEST], frame[ACTION] = value, kid[MOVE]
        if frame[BEST] >= frame[BETA] or frame[NEXT] >= frame[COUNT]:
            value = frame[BEST]
            _store(memory, frame, control[NODES] - frame[BEFORE])
            if depth == 0:
                return value
            depth -= 1
            entering = False
            continue
        if busy.shape[0] > 1:
            _defer_busy(busy, thread, frame, kids)
        kid = kids[frame[NEXT]]
        busy[thread, kid[RANK] & (busy.shape[1] - 1)] = kid[RANK]
        depth += 1
        below = frames[depth]
        below[OWN], below[OTHER], below[RANK] = kid[OWN], kid[OTHER], kid[RANK]
        # The child answers whether this one is worth BETA: by at least so much, or by no more than that.
        below[BETA] = frame[BETA] - kid[GAIN] if kid[SIGN] == 1 else kid[GAIN] - frame[BETA] + 1
        entering = True


@inlined
def _defer_busy(busy, thread, frame, kids):
    """Bring forward a child that no other thread is searching (Weill 1996; Kerrigan's simple form)."""
    for i in range(frame[NEXT], frame[COUNT]):
        rank = kids[i, RANK]
        free = True
        for other in range(busy.shape[0]):
            if other != thread and busy[other, rank & (busy.shape[1] - 1)] == rank:
                free = False
        if free:
            for k in range(i, frame[NEXT], -1):
                for column in range(kids.shape[1]):
                    kids[k, column], kids[k - 1, column] = kids[k - 1, column], kids[k, column]
            return


@inlined
def _expand(rules, memory, frame, kids, control):
    """Look all children up; leave in `kids` those that must be searched, promising ones first.

    BEST is the greatest bound found so far, and COUNT 0 where it answers the question.
    """
    frame[BEST], frame[ACTION], frame[NEXT], frame[COUNT] = -1000, NONE, 0, 0
    frame[BEFORE] = control[NODES]
    beta = frame[BETA]
    entry = _find(memory, frame[RANK])[2]
    hint = NONE
    if entry != 0:  # another line or thread may have answered since the parent looked
        hint = entry & 15
        if low_of(entry) >= beta or high_of(entry) < beta:
            frame[BEST] = low_of(entry) if low_of(entry) >= beta else high_of(entry)
            return
    left = packed.row_sum(frame[OWN]) + packed.row_sum(frame[OTHER])
    count = 0
    for i in range(_make_children(rules, memory, left, frame, kids)):
        own, other, rank = kids[i, OWN], kids[i, OTHER], kids[i, RANK]
        gain, sign, pit = kids[i, GAIN], kids[i, SIGN], kids[i, MOVE]
        rest = left - gain
        if packed.is_over(rules, own, other):
            low = high = packed.leftover(rules, own, other)
        elif rest <= memory.seeds:
            low = high = memory.endgame[rank]
            control[HITS] += 1
        else:
            control[NODES] += 1
            low, high = -rest, rest
            entry = _find(memory, rank)[2]
            if entry != 0:
                low, high = max(low, low_of(entry)), min(high, high_of(entry))
        if sign == 1:
            low, high = gain + low, gain + high
        else:
            low, high = gain - high, gain - low
        if low >= beta:
            frame[BEST], frame[ACTION] = low, pit
            frame[COUNT] = 0
            return
        if high < beta:
            frame[BEST] = max(frame[BEST], high)
            continue
        # Further turns and gains first, then pits near the store (weights: docs/LOG.md).
        score = 4 * gain + 10 * sign + pit + 1000 * (pit == hint)
        k = count
        while k > 0 and kids[k - 1, SCORE] < score:
            kids[k] = kids[k - 1]
            k -= 1
        kid = kids[k]
        kid[OWN], kid[OTHER], kid[RANK] = own, other, rank
        kid[GAIN], kid[SIGN], kid[MOVE], kid[SCORE] = gain, sign, pit, score
        count += 1
    frame[COUNT] = count


@inlined
def _make_children(rules, memory, left, frame, kids):
    """Write the positions after every move; return their number.

    Each is fetched from the tables while the next is made, which hides most of the waiting.
    """
    count = 0
    for pit in range(rules.pits - 1, -1, -1):
        if (frame[OWN] >> 8 * pit) & 255 == 0:
            continue
        kid = kids[count]
        count += 1
        own, other, gain, again = packed.play(rules, memory.sowing, frame[OWN], frame[OTHER], pit)
        if again:
            kid[OWN], kid[OTHER], kid[SIGN] = own, other, 1
        else:
            kid[OWN], kid[OTHER], kid[SIGN] = other, own, -1
        rank = packed.rank(memory.ranks, kid[OWN], kid[OTHER])
        kid[RANK], kid[GAIN], kid[MOVE] = rank, gain, pit
        if left - gain <= memory.seeds:
            prefetch(memory.endgame, rank)  # pyright: ignore[reportCallIssue]
        else:
            prefetch(memory.entries, _slot(memory, rank))  # pyright: ignore[reportCallIssue]
    return count


@inlined
def low_of(entry):
    """Return the lower bound that an entry holds."""
    return ((entry >> 16) & 255) - 128


@inlined
def high_of(entry):
    """Return the upper bound that an entry holds."""
    return ((entry >> 8) & 255) - 128


@inlined
def _slot(memory, rank):
    return (((rank * _MIX) & memory.mask) >> memory.shift) & (memory.entries.shape[0] - 2)


@inlined
def _find(memory, rank):
    """Return the first of the two slots of a rank, its tag, and the entry with that tag or 0."""
    slot = _slot(memory, rank)
    tag = ((rank * _MIX) & memory.mask) & ((np.int64(2) << memory.shift) - 1) & _TAG
    entry = memory.entries[slot]
    if (entry >> 24) & _TAG != tag:
        entry = memory.entries[slot + 1]
        if (entry >> 24) & _TAG != tag:
            entry = 0
    return slot, tag, entry


@inlined
def _store(memory, frame, nodes):
    """Keep the bound that a frame found, together with what is known of its position already."""
    slot, tag, entry = _find(memory, frame[RANK])
    low, high, action, size = -128, 127, frame[ACTION], 0
    if frame[BEST] >= frame[BETA]:
        low = frame[BEST]
    else:
        high = frame[BEST]
    while nodes > 1 and size < 15:
        nodes >>= 1
        size += 1
    if entry != 0:
        low, high = max(low, low_of(entry)), min(high, high_of(entry))
        size = max(size, (entry >> 4) & 15)
        if action == NONE:
            action = entry & 15
    at = slot
    first, second = memory.entries[slot], memory.entries[slot + 1]
    second_gives_way = (second >> 24) & _TAG == tag or (second >> 4) & 15 <= (first >> 4) & 15
    if (first >> 24) & _TAG != tag and second_gives_way:
        at = slot + 1
    memory.entries[at] = (tag << 24) | ((low + 128) << 16) | ((high + 128) << 8) | (size << 4) | action
