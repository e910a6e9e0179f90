"""A second, slow reading of the rule sheets: the tests' independent oracle for every family.

Written from RULEBOOK.md and the sheets with holes as linked objects (`oracle_board.py`); it imports
nothing of the project and shares no code with it, so that a misreading in one of the two shows as a
difference. Not for speed and not for bad input: it is only ever given legal moves and well-formed
texts. Held against the engine in `test_engine.py`, `test_rules.py` and `test_records.py`.
"""

from __future__ import annotations

from oracle_board import Board, Hole

KALAH = {
    "rows": 1,
    "pits": 6,
    "seeds": 4,
    "sow_store": "own",
    "skip_origin": "false",
    "directions": 1,
    "min_seeds": 1,
    "relay": "false",
    "again": "true",
    "capture_again": "false",
    "first_again": "true",
    "capture": "opposite",
    "capture_takes": "both",
    "capture_empty": "false",
    "capture_counts": "2+3",
    "capture_sides": "opponent",
    "capture_rows": "front",
    "must_feed": "false",
    "grand_slam": "legal",
    "end": "either",
    "leftover": "owner",
    "early_stop": "no",
    "win": "seeds",
    "pie": "false",
    "lap_limit": 1000,
}
UNSOWN = {"sow_store": "none", "end": "mover"}
AWARI = {**UNSOWN, "capture": "count", "must_feed": "true", "early_stop": "keep"}
PHILOS = {**AWARI, "grand_slam": "illegal", "leftover": "nobody"}
FOUR = {"rows": 2, "pits": 8, "seeds": 2, "sow_store": "none", "win": "move"}
FOUR |= {"min_seeds": 2, "relay": "true", "capture": "sow"}
DEVIATIONS = {
    "kalah": {},
    "kalah-72": {"seeds": 6, "capture_takes": "faced"},
    "danish": {"seeds": 6, "relay": "true", "capture_empty": "true", "end": "mover", "leftover": "emptier"},
    "kalaha-philos": PHILOS,
    "serata": PHILOS,
    "bao-philos": {**FOUR, "directions": 2},
    "kgp": {"pits": 8, "seeds": 8, "early_stop": "sweep"},
    "mankalah": {"pits": 7, "seeds": 7, "first_again": "false", "pie": "true"},
    "fairkalah": {"capture_empty": "true"},
    "openspiel-mancala": {},
    "openspiel-oware": {**AWARI, "skip_origin": "true", "grand_slam": "void", "early_stop": "sweep"},
    "ludii-kalah": {"end": "mover"},
    "hus": {**FOUR, "capture_rows": "both", "end": "mover"},
    "bohnenspiel": {**UNSOWN, "seeds": 6, "capture": "count"}
    | {"capture_counts": "2+4+6", "capture_sides": "any"},
}
# Hus: two seeds in each back pit and in the four front pits at the owner's right hand.
STARTS = {"hus": (2, 8, 2, [2, 2, 2, 2, 0, 0, 0, 0] + [2] * 8)}


def options_of(spec: str) -> dict:
    """Read `PRESET[:option=value,...]` into a dictionary of option words and numbers."""
    preset, _, changes = spec.partition(":")
    options = {**KALAH, **DEVIATIONS[preset]}
    for change in filter(None, changes.split(",")):
        name, word = change.split("=")
        options[name] = int(word) if word.isdigit() and name != "capture_counts" else word
    options.setdefault(
        "ply_limit", 500 if options["sow_store"] == "none" or options["directions"] == 2 else 0
    )
    return options


def other(side: str) -> str:
    """Return the opposite side."""
    return "N" if side == "S" else "S"


class Game:
    """A game in progress: the board, whose turn it is, and where the players sit."""

    def __init__(self, spec: str, position: str | None = None):
        """Start the game of `spec`, or load `position` (`<n,S,N,...> S first`)."""
        self.options = options_of(spec)
        self.counts = {int(n) for n in self.options["capture_counts"].split("+")}
        self.rows, self.size = self.options["rows"], self.options["pits"]
        self.board = Board(self.rows, self.size)
        self.mover, self.phase = "S", "first"
        if position is not None:
            self._load(position)
        else:
            self._lay_out(spec.partition(":")[0])
        self.total = sum(self.board.counts())
        self.seats = {"S": 0, "N": 1}  # side of the board -> player
        self.plies = 0
        self.captured = self.laps = 0  # by the latest ply
        self.again = False  # the latest ply earned a further move
        self.over = self.truncated = False
        self.winner = ""  # where the player who can still move wins
        self._end_if_decided(self.mover)

    def _lay_out(self, preset: str) -> None:
        *size, layout = STARTS.get(preset, (0, []))
        if size != [self.rows, self.size, self.options["seeds"]]:
            layout = [self.options["seeds"]] * self.rows * self.size
        self.board.restore([*layout, *layout, 0, 0])

    def _load(self, position: str) -> None:
        inside, _, rest = position.strip("< ").partition(">")
        _, south, north, *pits = inside.split(",")
        self.board.restore([int(x) for x in (*pits, south, north)])
        words = rest.split()
        self.mover = words[0] if words else "S"
        self.phase = words[1] if len(words) == 2 else "mid"

    def _is(self, option: str) -> bool:
        return self.options[option] == "true"

    @property
    def player(self) -> int:
        """Return which player is to move; he may have changed his seat by a swap."""
        return self.seats[self.mover]

    @property
    def margin(self) -> int:
        """Return south's store less north's; 1, -1 or 0 where who can still move wins."""
        if self.options["win"] == "move":
            return {"S": 1, "N": -1, "": 0}[self.winner]
        return self.board.stores["S"].seeds - self.board.stores["N"].seeds

    def text(self) -> str:
        """Return the position; a finished game has no open swap and no first move."""
        size = f"2x{self.size}" if self.rows == 2 else self.size
        *pits, south, north = self.board.counts()
        phase = "" if self.phase == "mid" or self.over else f" {self.phase}"
        return f"<{','.join(map(str, [size, south, north, *pits]))}> {self.mover}{phase}"

    def legal(self) -> list[str]:
        """Return the legal moves: pits first, then pits the other way, then swap."""
        if self.over or self.truncated:
            return []
        moves = [
            f"{k}{way if self.options['directions'] == 2 else ''}" for k, way in self._choices(self.mover)
        ]
        return [*moves, "swap"] if self.phase == "swap" else moves

    def _choices(self, side: str) -> list[tuple[int, str]]:
        """Return the pits and ways that `side` may choose."""
        ways = "+-" if self.options["directions"] == 2 else "+"
        full = [k for k, hole in enumerate(self.board.pits[side], 1) if self._may_be_chosen(hole)]
        return [(k, way) for way in ways for k in full if self._is_allowed(side, k, way)]

    def _may_be_chosen(self, hole: Hole) -> bool:
        return hole.seeds >= self.options["min_seeds"]

    def _is_allowed(self, side: str, k: int, way: str) -> bool:
        """Try a choice out: does it feed where it must, does it leave what it may not take?"""
        hungry = self._is("must_feed") and not self.board.lie_in(other(side))
        if not hungry and self.options["grand_slam"] != "illegal":
            return True
        before = self.board.counts()
        origin = self.board.pits[side][k - 1]
        last = self._sow(side, origin, origin.take_all(), way, origin)
        feeds = self.board.lie_in(other(side)) > 0
        slams = self.options["grand_slam"] == "illegal" and self._takes_all(
            side, self._chain(side, last, way)
        )
        self.board.restore(before)
        return (feeds or not hungry) and not slams

    def play(self, move: str) -> None:
        """Play one legal move."""
        assert move in self.legal(), (self.text(), move)
        self.plies += 1
        self.captured, self.again = 0, False
        if move == "swap":
            self.seats = {"S": self.seats["N"], "N": self.seats["S"]}
            self.phase = "mid"
        else:
            origin = self.board.pits[self.mover][int(move.strip("+-")) - 1]
            self._move(origin, "-" if move.endswith("-") else "+")
        limit = self.options["ply_limit"]
        self.truncated = not self.over and 0 < limit <= self.plies

    def _move(self, origin: Hole, way: str) -> None:
        mover = self.mover
        if self.rows == 1:
            last, took = self._sow_and_capture(origin, way)
        else:
            last, took = self._sow_and_sow_on(origin, way)
        earned = (last.store and self._is("again")) or (took and self._is("capture_again"))
        if self.phase == "first" and not self._is("first_again"):
            earned = False
        following = mover if earned else other(mover)
        self._end_if_decided(following)
        if self.over:
            return  # the letter of a finished position stays with who moved last
        self.again = earned
        if not self._is("pie") or self.phase == "swap":
            self.phase = "mid"
        elif self.phase == "first" and not earned:
            self.phase = "swap"  # the second player's first action
        self.mover = following

    def _sow(self, side: str, hole: Hole, seeds: int, way: str, origin: Hole | None) -> Hole:
        """Drop seeds from the neighbour of `hole` on; return where the last one fell."""
        for _ in range(seeds):
            hole = hole.beside(way)
            while self._is_left_out(side, hole, origin):
                hole = hole.beside(way)
            hole.seeds += 1
        return hole

    def _is_left_out(self, side: str, hole: Hole, origin: Hole | None) -> bool:
        if hole.store:
            return hole.owner != side or self.options["sow_store"] == "none"
        return hole is origin and self._is("skip_origin")

    def _may_go_on(self) -> bool:
        return self.laps < self.options["lap_limit"]

    # One row a side.

    def _sow_and_capture(self, origin: Hole, way: str) -> tuple[Hole, bool]:
        last, self.laps = self._sow(self.mover, origin, origin.take_all(), way, origin), 1
        while self._is("relay") and not last.store and last.seeds > 1 and self._may_go_on():
            self.laps += 1
            last = self._sow(self.mover, last, last.take_all(), way, last)
        if self.options["capture"] == "opposite":
            return last, self._capture_facing(last)
        if self.options["capture"] == "count":
            return last, self._capture_counted(last, way)
        return last, False

    def _capture_facing(self, last: Hole) -> bool:
        """Sheets 000, 002, 003: the last seed fell into an own pit that was empty."""
        if last.store or last.owner != self.mover or last.seeds != 1:
            return False
        assert last.facing is not None
        if last.facing.seeds == 0 and not self._is("capture_empty"):
            return False
        self.captured = last.facing.take_all()
        if self.options["capture_takes"] == "both":
            self.captured += last.take_all()
        self.board.stores[self.mover].seeds += self.captured
        return True

    def _chain(self, side: str, last: Hole, way: str) -> list[Hole]:
        """Sheet 004: the pit of the last seed and those before it, as long as their counts are right."""
        chain, hole = [], last
        while not hole.store and hole not in chain and hole.seeds in self.counts:
            if hole.owner == side and self.options["capture_sides"] == "opponent":
                break
            chain.append(hole)
            hole = hole.beside("-" if way == "+" else "+")
            while hole.store:  # the pit before the first of a row is the last of the other row
                hole = hole.beside("-" if way == "+" else "+")
        return chain

    def _takes_all(self, side: str, chain: list[Hole]) -> bool:
        theirs = sum(hole.seeds for hole in chain if hole.owner != side)
        return 0 < theirs == self.board.lie_in(other(side))

    def _capture_counted(self, last: Hole, way: str) -> bool:
        chain = self._chain(self.mover, last, way)
        if self.options["grand_slam"] == "void" and self._takes_all(self.mover, chain):
            chain = []
        self.captured = sum(hole.take_all() for hole in chain)
        self.board.stores[self.mover].seeds += self.captured
        return bool(chain)

    # Two rows a side.

    def _sow_and_sow_on(self, origin: Hole, way: str) -> tuple[Hole, bool]:
        """Sheet 004, Bao: laps round the own two rows, with captured seeds or those of the pit reached."""
        last, self.laps = self._sow(self.mover, origin, origin.take_all(), way, origin), 1
        while last.seeds > 1 and self._may_go_on():
            booty = self._booty(last)
            if not booty and not self._is("relay"):
                break
            self.laps += 1
            if booty:
                seeds = sum(hole.take_all() for hole in booty)
                self.captured += seeds
                last = self._sow(self.mover, last, seeds, way, None)
                if self.options["end"] == "either" and not self.board.lie_in_front(other(self.mover)):
                    break  # won: no further lap
            else:
                last = self._sow(self.mover, last, last.take_all(), way, last)
        return last, self.captured > 0

    def _booty(self, last: Hole) -> list[Hole]:
        """Return the pits that a last seed in this occupied pit takes."""
        if self.options["capture"] != "sow" or not last.front or not last.facing or not last.facing.seeds:
            return []
        assert last.facing.behind is not None
        return [last.facing] if self.options["capture_rows"] == "front" else [last.facing, last.facing.behind]

    # The end.

    def _end_if_decided(self, following: str) -> None:
        """Finish the game if it is over with `following` to move."""
        ran_out = ""
        if not self._choices(following):
            ran_out = following
        if self.options["end"] == "either":
            empty = [side for side in (following, other(following)) if not self.board.lie_in_front(side)]
            ran_out = empty[0] if empty else ran_out
        stores = self.board.stores
        if ran_out and self.options["win"] == "move":
            self.over, self.winner = True, other(ran_out)
        elif ran_out:
            self.over = True
            for side in "SN":
                heir = {"owner": side, "emptier": ran_out, "nobody": None}[self.options["leftover"]]
                if heir:
                    stores[heir].seeds += sum(hole.take_all() for hole in self.board.pits[side])
        elif self.options["early_stop"] != "no" and any(2 * s.seeds > self.total for s in stores.values()):
            self.over = True
            for side in "SN" if self.options["early_stop"] == "sweep" else "":
                stores[side].seeds += sum(hole.take_all() for hole in self.board.pits[side])
