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
    chain = 0
    if rules.capture == 2:
        # Worked out before sowing, as the rules need it there to say what is legal.
        chain = _chain(rules, s, side, origin, step)
        if rules.grand_slam == 2 and chain > 0 and is_grand_slam(rules, s, side, origin, step):
            chain = 0
    last = _sow(rules, s, origin, step, store, other_store)
    laps = 1
    while rules.relay == 1 and last != store and s[last] > 1 and laps < rules.lap_limit:
        last = _sow(rules, s, last, step, store, other_store)
        laps += 1
    captured = 0
    if rules.capture == 2:
        captured = _take_chain(s, last, step, chain, store, other_store)
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


# Capture by count. Where a lap ends and what it leaves is worked out without sowing: a cell at
# distance d along the path gets a seed in each full round, and one more if d is within the rest.


@inlined
def _distance(rules, side, origin, i, step):
    """Return how many cells of the sowing path lie from `origin` to `i`, 0 for the origin itself."""
    pits = rules.pits
    size = 2 * pits + 2
    store = side * (pits + 1) + pits
    distance = ((i - origin) * step) % size
    beyond = ((3 * pits + 1 - store - origin) * step) % size < distance
    if rules.sow_store == 1 and ((store - origin) * step) % size < distance:
        return distance - 1 - beyond
    return distance - beyond


@inlined
def _round(rules):
    """Return the seeds that one full round takes."""
    return 2 * rules.pits + (rules.sow_store == 0) - rules.skip_origin


@inlined
def _after(rules, s, side, origin, i, step):
    """Return the seeds of index `i` once `origin` has been sown."""
    cells = _round(rules)
    rounds, rest = s[origin] // cells, s[origin] % cells
    if i == origin:
        return 0 if rules.skip_origin == 1 else rounds
    return s[i] + rounds + (_distance(rules, side, origin, i, step) <= rest)


@inlined
def _last(rules, s, side, origin, step):
    """Return the index that the last seed of `origin` falls into."""
    pits = rules.pits
    size = 2 * pits + 2
    store = side * (pits + 1) + pits
    distance = (s[origin] - 1) % _round(rules) + 1
    left_out = ((3 * pits + 1 - store - origin) * step) % size
    if rules.sow_store == 1:
        own = ((store - origin) * step) % size
        distance += distance >= min(own, left_out)
        left_out = max(own, left_out)
    distance += distance >= left_out
    return (origin + step * distance) % size


@inlined
def _counts(rules, s, side, origin, i, step):
    """Say whether the seeds in pit `i` after sowing are captured by their number."""
    pits = rules.pits
    if rules.capture_sides == 0 and (i > pits) == (side == 1):
        return False
    seeds = int(_after(rules, s, side, origin, i, step))  # int: 1 << 24 is beyond int16 in plain Python
    return seeds < 25 and (rules.capture_counts >> seeds) & 1 == 1


@njit
def _chain(rules, s, side, origin, step):
    """Return how many pits are captured, from the last one back without a gap."""
    pits = rules.pits
    size = 2 * pits + 2
    store = side * (pits + 1) + pits
    i = _last(rules, s, side, origin, step)
    if i == store:
        return 0
    length = 0
    while length < 2 * pits and _counts(rules, s, side, origin, i, step):
        length += 1
        i = (i - step) % size
        while i == store or i == 3 * pits + 1 - store:
            i = (i - step) % size
    return length


@inlined
def _take_chain(s, last, step, length, store, other_store):
    """Move the seeds of `length` pits, from `last` back, into the store; return their number."""
    size = max(store, other_store) + 1
    taken = 0
    i = last
    while length > 0:
        if i != store and i != other_store:
            taken += s[i]
            s[i] = 0
            length -= 1
        i = (i - step) % size
    s[store] += taken
    return taken


@njit
def is_grand_slam(rules, s, side, origin, step):
    """Say whether sowing `origin` would capture all the opponent's seeds."""
    length = _chain(rules, s, side, origin, step)
    if length == 0:
        return False
    pits = rules.pits
    size = 2 * pits + 2
    other = (1 - side) * (pits + 1)
    on_side = 0
    for i in range(other, other + pits):
        on_side += _after(rules, s, side, origin, i, step)
    i = _last(rules, s, side, origin, step)
    taken = 0
    while length > 0:
        if other <= i < other + pits:
            taken += _after(rules, s, side, origin, i, step)
            length -= 1
        elif i != pits and i != size - 1:
            length -= 1
        i = (i - step) % size
    return taken > 0 and taken == on_side


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
