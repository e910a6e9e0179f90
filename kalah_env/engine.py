"""The rules engine: functions on one position, reading the rules table, knowing no game's name.

Shape letters of the project: `B` games, `P` pits a side (all rows together), `A` actions, `N` nodes,
`S` numbers of a state. A state is one row `s: (S,) int16`, S = 2P+7, absolute (not turned to the mover):

    index   0 .. P-1      P            P+1 .. 2P     2P+1         2P+2  2P+3   2P+4    2P+5  2P+6
    meaning south's pits  south store  north's pits  north store  SIDE  PHASE  STATUS  PLY   RESULT

Pits stand in their owner's counter-clockwise order, front row first. With one row a side, sowing goes
up by one and wraps after 2P+1, and the pit facing index j is 2P-j. Functions are plain Python, allocate
nothing and write into the caller's arrays. They trust their input: legality and text are checked in
`text.py` and by the callers. How single moves go: `sowing.py`.
"""

from kalah_env import sowing
from kalah_env.jit import inlined, njit

# Offsets behind the board of 2P+2 numbers.
SIDE, PHASE, STATUS, PLY, RESULT = 0, 1, 2, 3, 4
EXTRAS = 5
SOUTH, NORTH = 0, 1
# PHASE. FIRST: first-move clauses apply; with the pie rule it lasts while the first player's first
# turn goes on through extra turns, since swap opens when that turn ends.
MID, FIRST, SWAP = 0, 1, 2
RUNNING, OVER, TRUNCATED = 0, 1, 2

_MAX_PLY = 32767  # PLY saturates here; ply_limit is far below


@inlined
def board_size(rules):
    """Return 2P+2, the numbers of the board; SIDE and the others stand behind them."""
    return 2 * rules.rows * rules.pits + 2


@inlined
def pit_actions(rules):
    """Return the number of actions that sow; a swap is the action after them."""
    return rules.rows * rules.pits * rules.directions


@njit
def reset(rules, s):
    """Write the start of a game into `s`: every pit filled, south to move, phase FIRST."""
    at = board_size(rules)
    for i in range(at):
        s[i] = rules.seeds
    s[at // 2 - 1] = 0
    s[at - 1] = 0
    s[at + SIDE] = SOUTH
    s[at + PHASE] = FIRST
    s[at + STATUS] = RUNNING
    s[at + PLY] = 0
    s[at + RESULT] = 0


@inlined
def side_seeds(rules, s, side):
    """Return the seeds in the pits of `side`."""
    pits = rules.rows * rules.pits
    first = side * (pits + 1)
    seeds = 0
    for i in range(first, first + pits):
        seeds += s[i]
    return seeds


@njit
def margin(rules, s):
    """Return south's store minus north's, in seeds: the final margin once the game is over.

    With `win=move` it is +1 where south has won, -1 where north has, 0 before.
    """
    at = board_size(rules)
    if rules.win == 1:
        return int(s[at + RESULT])
    return int(s[at // 2 - 1]) - int(s[at - 1])


@inlined
def _must_feed(rules, s, side):
    return rules.must_feed == 1 and side_seeds(rules, s, 1 - side) == 0


@inlined
def _may_sow(rules, s, side, action, must_feed):
    """Say whether `side` may sow by `action`, whoever is to move."""
    pits = rules.rows * rules.pits
    pit, step = action, 1
    if action >= pits:
        pit, step = action - pits, -1
    origin = side * (pits + 1) + pit
    if s[origin] < rules.min_seeds:
        return False
    if must_feed and not sowing.reaches_opponent(rules, s, side, origin, step):
        return False
    return rules.grand_slam != 1 or not sowing.is_grand_slam(rules, s, side, origin, step)


@inlined
def is_legal(rules, s, action):
    """Say whether `action` (a pit - 1, clockwise P more; P or 2P for swap) may be played."""
    at = board_size(rules)
    if s[at + STATUS] != RUNNING or action < 0:
        return False
    swap = pit_actions(rules)
    if action < swap:
        side = s[at + SIDE]
        return _may_sow(rules, s, side, action, _must_feed(rules, s, side))
    return action == swap and rules.pie == 1 and s[at + PHASE] == SWAP


@inlined
def _only_counts_matter(rules):
    """Say whether a pit may be sown by its number of seeds alone."""
    return rules.must_feed == 0 and rules.grand_slam != 1


@inlined
def legal_bits(rules, s):
    """Return the legal actions as an int64 with bit a set for action a."""
    at = board_size(rules)
    bits = 0
    if s[at + STATUS] != RUNNING:
        return bits
    side = s[at + SIDE]
    if _only_counts_matter(rules):
        pits = rules.rows * rules.pits
        row = side * (pits + 1)
        for pit in range(pits):
            bits |= (s[row + pit] >= rules.min_seeds) << pit
        if rules.directions == 2:
            bits |= bits << pits
    else:
        must_feed = _must_feed(rules, s, side)
        for action in range(pit_actions(rules)):
            bits |= _may_sow(rules, s, side, action, must_feed) << action
    if rules.pie == 1 and s[at + PHASE] == SWAP:
        bits |= 1 << pit_actions(rules)
    return bits


@njit
def legal_mask(rules, s, mask):
    """Write 1 for each legal action into `mask: (A,) int8`, 0 elsewhere; return their number."""
    bits = legal_bits(rules, s)
    count = 0
    for action in range(pit_actions(rules) + rules.pie):
        legal = (bits >> action) & 1
        mask[action] = legal
        count += legal
    return count


@inlined
def _can_sow(rules, s, side):
    if _only_counts_matter(rules):
        pits = rules.rows * rules.pits
        first = side * (pits + 1)
        for i in range(first, first + pits):
            if s[i] >= rules.min_seeds:
                return True
        return False
    must_feed = _must_feed(rules, s, side)
    for action in range(pit_actions(rules)):
        if _may_sow(rules, s, side, action, must_feed):
            return True
    return False


@inlined
def _front_is_empty(rules, s, side):
    """Say whether the row of `side` that faces the opponent is empty; with one row that is its side."""
    first = side * (rules.rows * rules.pits + 1)
    for i in range(first, first + rules.pits):
        if s[i] > 0:
            return False
    return True


@inlined
def _who_ran_out(rules, s):
    """Return the side whose running out ends the game, or -1; both empty counts for SIDE."""
    side = int(s[board_size(rules) + SIDE])
    if rules.end == 0:
        if _front_is_empty(rules, s, side):
            return side
        if _front_is_empty(rules, s, 1 - side):
            return 1 - side
    if not _can_sow(rules, s, side):
        return side
    return -1


@njit
def _collect(rules, s, south_gets_souths, north_gets_norths):
    """Empty all pits into the stores: each side's seeds to its owner (True) or to the other side."""
    at = board_size(rules)
    pits = at // 2 - 1
    south = side_seeds(rules, s, SOUTH)
    north = side_seeds(rules, s, NORTH)
    for i in range(pits):
        s[i] = 0
        s[pits + 1 + i] = 0
    s[pits if south_gets_souths else at - 1] += south
    s[at - 1 if north_gets_norths else pits] += north


@njit
def _stop_early(rules, s):
    """End the game where a store holds more than half of all seeds; say whether it does."""
    at = board_size(rules)
    total = 0
    for i in range(at):
        total += s[i]
    if 2 * s[at // 2 - 1] <= total and 2 * s[at - 1] <= total:
        return False
    if rules.early_stop == 2:
        _collect(rules, s, True, True)
    return True


@inlined
def _settle(rules, s):
    at = board_size(rules)
    loser = _who_ran_out(rules, s)
    s[at + RESULT] = 0
    s[at + STATUS] = RUNNING
    if loser >= 0:
        s[at + STATUS] = OVER
        if rules.win == 1:
            s[at + RESULT] = 1 if loser == NORTH else -1
        elif rules.leftover == 0:
            _collect(rules, s, True, True)
        elif rules.leftover == 1:
            _collect(rules, s, loser == SOUTH, loser == NORTH)
    elif rules.early_stop != 0 and _stop_early(rules, s):
        s[at + STATUS] = OVER
    elif rules.ply_limit > 0 and s[at + PLY] >= rules.ply_limit:
        s[at + STATUS] = TRUNCATED
    if s[at + STATUS] == OVER:
        s[at + PHASE] = MID


@njit
def settle(rules, s):
    """End the game in `s` if it is decided, and write what is left where the rules put it.

    Called when a position is loaded, and by `play` after every move. Sets STATUS and RESULT; where the
    game is over it sets PHASE to MID as well. SIDE must be the player to move next.
    """
    _settle(rules, s)


@inlined
def _sow_and_pass(rules, s, side, action):
    """Sow, capture, and write who is to move and the phase; return the seeds captured."""
    at = board_size(rules)
    pits = rules.rows * rules.pits
    pit, step = action, 1
    if action >= pits:
        pit, step = action - pits, -1
    if rules.rows == 1:
        captured, in_store = sowing.move(rules, s, side, pit, step)
    else:
        captured, in_store = sowing.move_round(rules, s, side, pit, step), False
    again = (in_store and rules.again == 1) or (captured > 0 and rules.capture_again == 1)
    first = s[at + PHASE] == FIRST
    if first and rules.first_again == 0:
        again = False
    if not again:
        s[at + SIDE] = 1 - side
    if not first or rules.pie == 0:
        s[at + PHASE] = MID
    elif not again:
        s[at + PHASE] = SWAP
    return captured


@njit
def play(rules, s, action):
    """Play a legal `action` in place and settle; return the seeds captured.

    Where the game is over SIDE stays with who moved last.
    """
    return play_inline(rules, s, action)


@inlined
def play_inline(rules, s, action):
    """As `play`, for the one hot loop of a compiled function: faster, and longer to compile."""
    at = board_size(rules)
    if s[at + PLY] < _MAX_PLY:
        s[at + PLY] += 1
    side = s[at + SIDE]
    captured = 0
    if action == pit_actions(rules):  # swap: the players change seats, board and side to move stay
        s[at + PHASE] = MID
    else:
        captured = _sow_and_pass(rules, s, side, action)
    _settle(rules, s)
    if s[at + STATUS] == OVER:
        s[at + SIDE] = side
    return captured


@inlined
def same_player(rules, side_before, action, side_after):
    """Say whether the player who chose `action` is also to move next: where values keep their sign.

    A swap keeps the side but changes the player; any other action changes the player with the side.
    """
    return side_before == side_after and action != pit_actions(rules)


@njit
def perft(rules, path, depth):
    """Return the leaf positions `depth` actions below `path[0]`; a finished game has none.

    path: (depth+1, S) int16 - row 0 is the position, the others are scratch.
    """
    if depth == 0:
        return 1
    leaves = 0
    size = path.shape[1]
    for action in range(pit_actions(rules) + rules.pie):
        if is_legal(rules, path[0], action):
            if depth == 1:
                leaves += 1
            else:
                for i in range(size):
                    path[1, i] = path[0, i]
                play(rules, path[1], action)
                leaves += perft(rules, path[1:], depth - 1)
    return leaves
