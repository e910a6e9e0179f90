"""One move on the board: sow, relay, capture, for one and for two rows a side.

Indices and words as in `engine.py`, which decides what is legal, whose turn it is and when a game is
over. `step` is +1 counter-clockwise, -1 clockwise; `side` sows; `origin` is an index into the board.
"""

from kalah_env.jit import inlined, njit


@inlined
def _sow(rules, s, origin, step, store, other_store):
    """Sow the seeds of `origin` one by one round both rows; return the last index."""
    size = 2 * rules.rows * rules.pits + 2
    seeds = s[origin]
    s[origin] = 0
    i = origin
    if step == 1 and rules.sow_store == 0 and rules.skip_origin == 0:  # the common way, kept short
        while seeds > 0:
            i += 1
            if i == other_store:
                i += 1
            if i >= size:
                i = 0
            s[i] += 1
            seeds -= 1
        return i
    while seeds > 0:
        i += step
        if i == size:
            i = 0
        elif i < 0:
            i = size - 1
        if i == other_store or (i == store and rules.sow_store == 1):
            continue
        if i == origin and rules.skip_origin == 1:
            continue
        s[i] += 1
        seeds -= 1
    return i


@inlined
def move(rules, s, side, pit, step):
    """Play a move on one row a side; return the seeds captured and whether it ended in the own store."""
    pits = rules.pits
    row = side * (pits + 1)
    store = row + pits
    other_store = 3 * pits + 1 - store
    origin = row + pit
    void = rules.grand_slam == 2 and rules.capture == 2 and is_grand_slam(rules, s, side, origin, step)
    last = _sow(rules, s, origin, step, store, other_store)
    laps = 1
    while rules.relay == 1 and last != store and s[last] > 1 and laps < rules.lap_limit:
        last = _sow(rules, s, last, step, store, other_store)
        laps += 1
    captured = 0
    if rules.capture == 2 and not void:
        captured = _take_chain(rules, s, side, last, step)
    elif rules.capture == 0 and row <= last < store and s[last] == 1:
        captured = _capture_opposite(rules, s, last, store)
    return captured, last == store


@inlined
def _capture_opposite(rules, s, last, store):
    """Capture from the own pit `last` that was empty; return the seeds taken, counting its own."""
    facing = 2 * rules.pits - last
    faced = s[facing]
    if faced == 0 and rules.capture_empty == 0:
        return 0
    taken = int(faced)
    s[facing] = 0
    if rules.capture_takes == 0:
        taken += s[last]
        s[last] = 0
    s[store] += taken
    return taken


# Capture by count. Where a lap ends and what it leaves is worked out without sowing, since the rules
# need it to say what is legal: a cell at distance d along the path gets a seed in each full round, and
# one more if d is within the rest. Divisions are avoided where they would be slow: see `_wrap`.


@inlined
def _wrap(i, size):
    """Return `i`, from -size to 2 size - 1, as an index of a circle: `i % size` without a division."""
    if i < 0:
        return i + size
    return i - size if i >= size else i


@inlined
def _distance(rules, side, origin, i, step):
    """Return how many cells of the sowing path lie from `origin` to `i`, 0 for the origin itself."""
    pits = rules.pits
    size = 2 * pits + 2
    store = side * (pits + 1) + pits
    distance = _wrap((i - origin) * step, size)
    beyond = _wrap((3 * pits + 1 - store - origin) * step, size) < distance
    if rules.sow_store == 1 and _wrap((store - origin) * step, size) < distance:
        return distance - 1 - beyond
    return distance - beyond


@inlined
def _rounds(rules, seeds):
    """Return the full rounds that `seeds` are sown, and the rest."""
    cells = 2 * rules.pits + (rules.sow_store == 0) - rules.skip_origin
    if seeds < cells:
        return 0, seeds
    return seeds // cells, seeds % cells


@inlined
def _after(rules, s, side, origin, i, step):
    """Return the seeds of index `i` once `origin` has been sown."""
    rounds, rest = _rounds(rules, int(s[origin]))  # int: beyond int16 in plain Python
    if i == origin:
        return 0 if rules.skip_origin == 1 else rounds
    return s[i] + rounds + (_distance(rules, side, origin, i, step) <= rest)


@inlined
def _last(rules, s, side, origin, step):
    """Return the index that the last seed of `origin` falls into."""
    pits = rules.pits
    size = 2 * pits + 2
    store = side * (pits + 1) + pits
    distance = _rounds(rules, int(s[origin]) - 1)[1] + 1
    left_out = _wrap((3 * pits + 1 - store - origin) * step, size)
    if rules.sow_store == 1:
        own = _wrap((store - origin) * step, size)
        distance += distance >= min(own, left_out)
        left_out = max(own, left_out)
    distance += distance >= left_out
    return _wrap(origin + step * distance, size)


@inlined
def _counts(rules, side, i, seeds):
    """Say whether pit `i` with that many seeds is captured by `side` for its number."""
    if rules.capture_sides == 0 and (i > rules.pits) == (side == 1):
        return False
    return seeds < 25 and (rules.capture_counts >> seeds) & 1 == 1


@inlined
def _take_chain(rules, s, side, last, step):
    """Capture by number from `last` back without a gap, stores apart; return the seeds taken."""
    pits = rules.pits
    size = 2 * pits + 2
    store = side * (pits + 1) + pits
    taken = 0
    i = last
    # int: 1 << 24 is beyond int16 in plain Python. A captured pit is empty, which counts no more.
    while i != store and _counts(rules, side, i, int(s[i])):
        taken += s[i]
        s[i] = 0
        i = _wrap(i - step, size)
        while i == pits or i == size - 1:
            i = _wrap(i - step, size)
    s[store] += taken
    return taken


@njit
def is_grand_slam(rules, s, side, origin, step):
    """Say whether sowing `origin` would capture all the opponent's seeds."""
    pits = rules.pits
    size = 2 * pits + 2
    other = (1 - side) * (pits + 1)
    i = _last(rules, s, side, origin, step)
    if i == pits or i == size - 1:
        return False
    taken = 0
    looked_at = 0
    while looked_at < 2 * pits:
        seeds = int(_after(rules, s, side, origin, i, step))
        if not _counts(rules, side, i, seeds):
            break
        if other <= i < other + pits:
            taken += seeds
        looked_at += 1
        i = _wrap(i - step, size)
        while i == pits or i == size - 1:
            i = _wrap(i - step, size)
    if taken == 0:
        return False
    on_side = 0
    for i in range(other, other + pits):
        on_side += _after(rules, s, side, origin, i, step)
    return taken == on_side


@inlined
def reaches_opponent(rules, s, side, origin, step):
    """Say whether sowing `origin` puts a seed into a pit of the opponent."""
    pits = rules.pits
    other = (1 - side) * (pits + 1)
    nearest = other if step == 1 else other + pits - 1
    return s[origin] >= _distance(rules, side, origin, nearest, step)


# Two rows a side: each player sows round the ring of his own 2P pits.


@inlined
def _sow_ring(s, row, pits, i, seeds, step, skipped):
    """Sow `seeds` into the cells after ring position `i`, leaving `skipped` out; return the last one."""
    while seeds > 0:
        i = (i + step) % pits
        if i == skipped:
            continue
        s[row + i] += 1
        seeds -= 1
    return i


@njit
def move_round(rules, s, side, pit, step):
    """Play a move on two rows a side; return the seeds captured.

    A capture that empties the opponent's front row is sown out and ends the move where that wins.
    """
    front = rules.pits
    pits = 2 * front
    row, other = side * (pits + 1), (1 - side) * (pits + 1)
    seeds = s[row + pit]
    s[row + pit] = 0
    last = _sow_ring(s, row, pits, pit, seeds, step, pit if rules.skip_origin == 1 else -1)
    captured = 0
    laps = 1
    while s[row + last] > 1 and laps < rules.lap_limit:
        laps += 1
        facing = other + front - 1 - last
        if rules.capture == 3 and last < front and s[facing] > 0:
            seeds = s[facing]
            s[facing] = 0
            if rules.capture_rows == 1:
                behind = other + front + last
                seeds += s[behind]
                s[behind] = 0
            captured += seeds
            last = _sow_ring(s, row, pits, last, seeds, step, -1)
            if rules.end == 0 and _is_empty(s, other, front):
                break
        elif rules.relay == 1:
            seeds = s[row + last]
            s[row + last] = 0
            skipped = last if rules.skip_origin == 1 else -1
            last = _sow_ring(s, row, pits, last, seeds, step, skipped)
        else:
            break
    return captured


@inlined
def _is_empty(s, first, count):
    for i in range(first, first + count):
        if s[i] > 0:
            return False
    return True
