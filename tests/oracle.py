"""A second, slow reading of the one-row store games: the tests' independent oracle.

Written from RULEBOOK.md and the rule sheets with holes as linked objects; it imports nothing of the
project and shares no code with it, so that a misreading in one of the two shows as a difference.
Not for speed and not for bad input: it is only ever given legal moves and well-formed texts. Held
against the engine in `test_engine.py`, `test_rules.py` and `test_records.py`.
"""

from __future__ import annotations

KALAH = {
    "pits": 6,
    "seeds": 4,
    "skip_origin": "false",
    "again": "true",
    "capture_again": "false",
    "first_again": "true",
    "capture": "opposite",
    "capture_takes": "both",
    "capture_empty": "false",
    "end": "either",
    "leftover": "owner",
    "early_stop": "no",
    "pie": "false",
    "ply_limit": 0,
}
DEVIATIONS = {
    "kalah": {},
    "kalah-72": {"seeds": 6, "capture_takes": "faced"},
    "kgp": {"pits": 8, "seeds": 8, "early_stop": "sweep"},
    "mankalah": {"pits": 7, "seeds": 7, "first_again": "false", "pie": "true"},
    "fairkalah": {"capture_empty": "true"},
    "ludii-kalah": {"end": "mover"},
    "openspiel-mancala": {},
}


def options_of(spec: str) -> dict:
    """Read `PRESET[:option=value,...]` into a dictionary of option words and numbers."""
    preset, _, changes = spec.partition(":")
    options = {**KALAH, **DEVIATIONS[preset]}
    for change in filter(None, changes.split(",")):
        name, word = change.split("=")
        options[name] = int(word) if word.isdigit() else word
    return options


class Hole:
    """A pit or a store: who owns it, what lies in it, which hole is next counter-clockwise."""

    def __init__(self, owner: str, store: bool = False):
        """Make an empty hole that is not yet part of a board."""
        self.owner, self.store, self.seeds = owner, store, 0
        self.next: Hole = self
        self.facing: Hole | None = None

    def take_all(self) -> int:
        """Empty the hole and return what lay in it."""
        seeds, self.seeds = self.seeds, 0
        return seeds


class Game:
    """A game in progress: the board, whose turn it is, and where the players sit."""

    def __init__(self, spec: str, position: str | None = None):
        """Start the game of `spec`, or load `position` (`<n,S,N,...> S first`)."""
        self.options = options_of(spec)
        n = self.options["pits"]
        self.pits = {side: [Hole(side) for _ in range(n)] for side in "SN"}
        self.stores = {side: Hole(side, store=True) for side in "SN"}
        ring = [*self.pits["S"], self.stores["S"], *self.pits["N"], self.stores["N"]]
        for hole, following in zip(ring, ring[1:] + ring[:1], strict=True):
            hole.next = following
        for southern, northern in zip(self.pits["S"], reversed(self.pits["N"]), strict=True):
            southern.facing, northern.facing = northern, southern
        if position is None:
            position = f"<{n},0,0,{','.join([str(self.options['seeds'])] * 2 * n)}> S first"
        self._fill(position)
        self.total = sum(hole.seeds for hole in ring)
        self.seats = {"S": 0, "N": 1}  # side of the board -> player
        self.plies = 0
        self.captured = 0  # by the latest ply
        self.again = False  # the latest ply earned a further move
        self.over = self.truncated = False
        self._end_if_decided(self.mover)

    def _fill(self, position: str) -> None:
        numbers, _, rest = position.partition(">")
        n, south, north, *pits = (int(x) for x in numbers.strip("< ").split(","))
        assert n == self.options["pits"]
        self.stores["S"].seeds, self.stores["N"].seeds = south, north
        for hole, seeds in zip(self.pits["S"] + self.pits["N"], pits, strict=True):
            hole.seeds = seeds
        words = rest.split()
        self.mover = words[0] if words else "S"
        self.phase = words[1] if len(words) == 2 else "mid"

    @property
    def player(self) -> int:
        """Return which player is to move; he may have changed his seat by a swap."""
        return self.seats[self.mover]

    @property
    def margin(self) -> int:
        """Return south's store less north's."""
        return self.stores["S"].seeds - self.stores["N"].seeds

    def text(self) -> str:
        """Return the position; a finished game has no open swap and no first move."""
        counts = [hole.seeds for side in "SN" for hole in self.pits[side]]
        stores = [self.stores[side].seeds for side in "SN"]
        phase = "" if self.phase == "mid" or self.over else f" {self.phase}"
        return f"<{','.join(map(str, [len(self.pits['S']), *stores, *counts]))}> {self.mover}{phase}"

    def legal(self) -> list[str]:
        """Return the legal moves, pits first."""
        if self.over or self.truncated:
            return []
        pits = [str(k) for k, hole in enumerate(self.pits[self.mover], 1) if hole.seeds]
        return [*pits, "swap"] if self.phase == "swap" else pits

    def play(self, move: str) -> None:
        """Play one legal move."""
        assert move in self.legal(), (self.text(), move)
        self.plies += 1
        self.captured, self.again = 0, False
        if move == "swap":
            self.seats = {"S": self.seats["N"], "N": self.seats["S"]}
            self.phase = "mid"
        else:
            self._move(self.pits[self.mover][int(move) - 1])
        limit = self.options["ply_limit"]
        self.truncated = not self.over and 0 < limit <= self.plies

    def _move(self, origin: Hole) -> None:
        mover = self.mover
        last = self._sow(origin)
        took = self._capture(last)
        earned = (last is self.stores[mover] and self.options["again"] == "true") or (
            took and self.options["capture_again"] == "true"
        )
        if self.phase == "first" and self.options["first_again"] == "false":
            earned = False
        following = mover if earned else self._other(mover)
        self._end_if_decided(following)
        if self.over:
            return  # the letter of a finished position stays with who moved last
        self.again = earned
        if self.options["pie"] == "false" or self.phase == "swap":
            self.phase = "mid"
        elif self.phase == "first" and not earned:
            self.phase = "swap"  # sheet: the second player's first action
        self.mover = following

    def _sow(self, origin: Hole) -> Hole:
        hole = origin
        for _ in range(origin.take_all()):
            hole = hole.next
            while self._left_out(hole, origin):
                hole = hole.next
            hole.seeds += 1
        return hole

    def _left_out(self, hole: Hole, origin: Hole) -> bool:
        if hole.store:
            return hole.owner != self.mover
        return hole is origin and self.options["skip_origin"] == "true"

    def _capture(self, last: Hole) -> bool:
        if self.options["capture"] == "none" or last.store or last.owner != self.mover or last.seeds != 1:
            return False
        assert last.facing is not None
        if last.facing.seeds == 0 and self.options["capture_empty"] == "false":
            return False
        self.captured = last.facing.take_all()
        if self.options["capture_takes"] == "both":
            self.captured += last.take_all()
        self.stores[self.mover].seeds += self.captured
        return True

    def _end_if_decided(self, following: str) -> None:
        """Finish the game if it is over with `following` to move."""
        empty = [side for side in "SN" if not any(hole.seeds for hole in self.pits[side])]
        ran_out = empty if self.options["end"] == "either" else [s for s in empty if s == following]
        stop = self.options["early_stop"]
        if ran_out:
            self.over = True
            for side in "SN":
                for hole in self.pits[side]:
                    heir = {"owner": side, "emptier": ran_out[0], "nobody": None}[self.options["leftover"]]
                    if heir:
                        self.stores[heir].seeds += hole.take_all()
        elif stop != "no" and any(2 * store.seeds > self.total for store in self.stores.values()):
            self.over = True
            if stop == "sweep":
                for side in "SN":
                    self.stores[side].seeds += sum(hole.take_all() for hole in self.pits[side])

    @staticmethod
    def _other(side: str) -> str:
        return "N" if side == "S" else "S"
