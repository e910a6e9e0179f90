"""The rules engine: functions on one position, reading the rules table, knowing no game's name.

Shape letters of the project: `B` games, `P` pits a side, `A` actions, `N` nodes, `S` numbers of a
state. A state is one row `s: (S,) int16`, S = 2P+6, absolute (not turned to the mover):

    index   0 .. P-1      P            P+1 .. 2P     2P+1         2P+2  2P+3   2P+4    2P+5
    meaning south's pits  south store  north's pits  north store  SIDE  PHASE  STATUS  PLY

Pits stand in their owner's sowing order, so sowing goes up by one and wraps after 2P+1; the pit
facing index j is 2P-j. Functions are plain Python, allocate nothing and write into the caller's
arrays. They trust their input: legality and text are checked in `text.py` and by the callers.
"""

from kalah_env.jit import njit

# Offsets behind the board of 2P+2 numbers.
SIDE, PHASE, STATUS, PLY = 0, 1, 2, 3
EXTRAS = 4
SOUTH, NORTH = 0, 1
# PHASE. FIRST: first-move clauses apply; with the pie rule it lasts while the first player's first
# turn goes on through extra turns, since swap opens when that turn ends.
MID, FIRST, SWAP = 0, 1, 2
RUNNING, OVER, TRUNCATED = 0, 1, 2

_MAX_PLY = 32767  # PLY saturates here; ply_limit is far below


@njit
def reset(rules, s):
    """Write the start of a game into `s`: every pit filled, south to move, phase FIRST."""
    pits = rules.pits
    for i in range(2 * pits + 2):
        s[i] = rules.seeds
    s[pits] = 0
    s[2 * pits + 1] = 0
    extras = 2 * pits + 2
    s[extras + SIDE] = SOUTH
    s[extras + PHASE] = FIRST
    s[extras + STATUS] = RUNNING
    s[extras + PLY] = 0


@njit
def side_seeds(rules, s, side):
    """Return the seeds in the pits of `side`."""
    first = side * (rules.pits + 1)
    seeds = 0
    for i in range(first, first + rules.pits):
        seeds += s[i]
    return seeds


@njit
def margin(rules, s):
    """Return south's store minus north's, in seeds; the final margin once the game is over."""
    return int(s[rules.pits]) - int(s[2 * rules.pits + 1])


@njit
def is_legal(rules, s, action):
    """Say whether `action` (a pit - 1, or P for swap) may be played."""
    extras = 2 * rules.pits + 2
    if s[extras + STATUS] != RUNNING or action < 0:
        return False
    if action < rules.pits:
        return s[s[extras + SIDE] * (rules.pits + 1) + action] > 0
    return action == rules.pits and rules.pie == 1 and s[extras + PHASE] == SWAP


@njit
def legal_mask(rules, s, mask):
    """Write 1 for each legal action into `mask: (A,) int8`, 0 elsewhere; return their number."""
    count = 0
    for action in range(rules.pits + rules.pie):
        if is_legal(rules, s, action):
            mask[action] = 1
            count += 1
        else:
            mask[action] = 0
    return count


@njit
def sow(rules, s, origin, skipped_store):
    """Sow the seeds of `origin` one by one, never into `skipped_store`; return the last index."""
    last_index = 2 * rules.pits + 1
    seeds = s[origin]
    s[origin] = 0
    i = origin
    while seeds > 0:
        i += 1
        if i > last_index:
            i = 0
        if i == skipped_store or (i == origin and rules.skip_origin == 1):
            continue
        s[i] += 1
        seeds -= 1
    return i


@njit
def capture_opposite(rules, s, last, store):
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


@njit
def collect(rules, s, to_owner):
    """Empty all pits into the stores: each row to its owner, or each to the other side."""
    pits = rules.pits
    south = side_seeds(rules, s, SOUTH)
    north = side_seeds(rules, s, NORTH)
    for i in range(pits):
        s[i] = 0
        s[pits + 1 + i] = 0
    s[pits] += south if to_owner else north
    s[2 * pits + 1] += north if to_owner else south


@njit
def settle(rules, s):
    """End the game in `s` if it is decided, and write what is left where the rules put it.

    Called after every move and when a position is loaded. Sets STATUS; where the game is over it
    sets PHASE to MID as well. SIDE must be the player to move next.
    """
    pits = rules.pits
    extras = 2 * pits + 2
    south = side_seeds(rules, s, SOUTH)
    north = side_seeds(rules, s, NORTH)
    if rules.end == 0:
        over = south == 0 or north == 0
    elif s[extras + SIDE] == SOUTH:
        over = south == 0
    else:
        over = north == 0
    if over:
        if rules.leftover != 2:
            # At most one row holds seeds, and the other one ran out.
            collect(rules, s, rules.leftover == 0)
    elif rules.early_stop != 0:
        total = south + north + s[pits] + s[2 * pits + 1]
        if 2 * s[pits] > total or 2 * s[2 * pits + 1] > total:
            over = True
            if rules.early_stop == 2:
                collect(rules, s, True)
    if over:
        s[extras + STATUS] = OVER
        s[extras + PHASE] = MID
    elif rules.ply_limit > 0 and s[extras + PLY] >= rules.ply_limit:
        s[extras + STATUS] = TRUNCATED
    else:
        s[extras + STATUS] = RUNNING


@njit
def play(rules, s, action):
    """Play a legal `action` in place and settle; return the seeds captured.

    Where the game is over SIDE stays with who moved last.
    """
    pits = rules.pits
    extras = 2 * pits + 2
    if s[extras + PLY] < _MAX_PLY:
        s[extras + PLY] += 1
    if action == pits:  # swap: the players change seats, board and side to move stay
        s[extras + PHASE] = MID
        settle(rules, s)
        return 0
    side = s[extras + SIDE]
    phase = s[extras + PHASE]
    row = side * (pits + 1)
    store = row + pits
    last = sow(rules, s, row + action, 3 * pits + 1 - store)
    captured = 0
    if rules.capture == 0 and row <= last < store and s[last] == 1:
        captured = capture_opposite(rules, s, last, store)
    again = (last == store and rules.again == 1) or (captured > 0 and rules.capture_again == 1)
    if phase == FIRST and rules.first_again == 0:
        again = False
    if not again:
        s[extras + SIDE] = 1 - side
    if phase != FIRST or rules.pie == 0:
        s[extras + PHASE] = MID
    elif not again:
        s[extras + PHASE] = SWAP
    settle(rules, s)
    if s[extras + STATUS] == OVER:
        s[extras + SIDE] = side
    return captured


@njit
def same_player(rules, side_before, action, side_after):
    """Say whether the player who chose `action` is also to move next: where values keep their sign.

    A swap keeps the side but changes the player; any other action changes the player with the side.
    """
    return side_before == side_after and action != rules.pits


@njit
def perft(rules, path, depth):
    """Return the leaf positions `depth` actions below `path[0]`; a finished game has none.

    path: (depth+1, S) int16 - row 0 is the position, the others are scratch.
    """
    if depth == 0:
        return 1
    leaves = 0
    size = path.shape[1]
    for action in range(rules.pits + rules.pie):
        if is_legal(rules, path[0], action):
            if depth == 1:
                leaves += 1
            else:
                for i in range(size):
                    path[1, i] = path[0, i]
                play(rules, path[1], action)
                leaves += perft(rules, path[1:], depth - 1)
    return leaves
