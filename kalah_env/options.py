"""The option table: what a rule set is made of.

`Rules` is a NamedTuple of small ints that compiled functions read; `OPTIONS` says which values each
field may have and how they are written; `CLASHES` which combinations make no sense. The presets are
in `presets.py`, text form and validation in `rules.py`, what an option does in `engine.py`.
"""

from enum import IntEnum
from typing import NamedTuple

from kalah_env.errors import KalahError


class SowStore(IntEnum):
    """Whether the own store lies in the sowing path; the opponent's never does."""

    OWN = 0
    NONE = 1


class Capture(IntEnum):
    """How the last seed of a move captures."""

    OPPOSITE = 0
    NONE = 1
    COUNT = 2
    SOW = 3


class Takes(IntEnum):
    """What `capture=opposite` moves: capturing seed and faced seeds, or the faced seeds only."""

    BOTH = 0
    FACED = 1


class CaptureSides(IntEnum):
    """Whose pits `capture=count` takes from."""

    OPPONENT = 0
    ANY = 1


class CaptureRows(IntEnum):
    """What `capture=sow` takes: the facing front pit, or both pits of its column."""

    FRONT = 0
    BOTH = 1


class GrandSlam(IntEnum):
    """A move that would capture all the opponent's seeds: legal, illegal, or capturing nothing."""

    LEGAL = 0
    ILLEGAL = 1
    VOID = 2


class End(IntEnum):
    """Over when either side (four rows: its front row) is empty, or when the mover cannot move."""

    EITHER = 0
    MOVER = 1


class Leftover(IntEnum):
    """Who gets the seeds left in the pits at the end."""

    OWNER = 0
    EMPTIER = 1
    NOBODY = 2


class EarlyStop(IntEnum):
    """Over once a store holds more than half; leftovers kept in their pits or swept to owners."""

    NO = 0
    KEEP = 1
    SWEEP = 2


class Win(IntEnum):
    """Who wins: most seeds in the store, or the player who can still move."""

    SEEDS = 0
    MOVE = 1


class Rules(NamedTuple):
    """One rule set as ints; make it with `parse_rules` or `make_rules`, which validate.

    Field order is the printing order. `capture_counts` has bit k set where k seeds are captured.
    `preset` is the index of the preset it was made from: it serves printing and the start layout
    only and is no part of the hash.
    """

    rows: int = 1
    pits: int = 6
    seeds: int = 4
    sow_store: int = 0
    skip_origin: int = 0
    directions: int = 1
    min_seeds: int = 1
    relay: int = 0
    again: int = 1
    capture_again: int = 0
    first_again: int = 1
    capture: int = 0
    capture_takes: int = 0
    capture_empty: int = 0
    capture_counts: int = 2**2 + 2**3
    capture_sides: int = 0
    capture_rows: int = 0
    must_feed: int = 0
    grand_slam: int = 0
    end: int = 0
    leftover: int = 0
    early_stop: int = 0
    win: int = 0
    pie: int = 0
    lap_limit: int = 1000
    ply_limit: int = 0
    preset: int = 0


class Option(NamedTuple):
    """One row of the option table: words (index = the int stored), a range, or a set of a range."""

    name: str
    values: tuple[str, ...] | range
    meaning: str
    is_set: bool = False

    def allowed(self) -> str:
        """Say which values may be given."""
        if isinstance(self.values, tuple):
            return ", ".join(self.values)
        numbers = f"{self.values[0]} to {self.values[-1]}"
        return f"a set of {numbers} such as 2+3" if self.is_set else numbers

    def parse(self, text: str) -> int:
        """Return the stored int of a value's text; `KalahError` if it is not allowed."""
        if isinstance(self.values, tuple):
            found = self.values.index(text) if text in self.values else None
        elif self.is_set:
            numbers = [self._number(part) for part in text.split("+")]
            known = [number for number in numbers if number is not None]
            found = sum(2**n for n in set(known)) if len(known) == len(numbers) else None
        else:
            found = self._number(text)
        if found is None:
            raise KalahError(f"rules: {self.name}={text!r} is not allowed; {self.name} is {self.allowed()}.")
        return found

    def _number(self, text: str) -> int | None:
        # Python refuses to read thousands of digits, so leading zeros go and the rest is short.
        digits = text.lstrip("0") or "0"
        if text.isascii() and text.isdigit() and len(digits) < 10 and int(digits) in self.values:
            return int(digits)
        return None

    def holds(self, value: int) -> bool:
        """Say whether `value` is an int that this option may store."""
        if isinstance(self.values, tuple):
            return value in range(len(self.values))
        if self.is_set:
            return value > 0 and all(n in self.values for n in self._members(value))
        return value in self.values

    def format(self, value: int) -> str:
        """Return a stored int's text."""
        if isinstance(self.values, tuple):
            return self.values[value]
        return "+".join(map(str, self._members(value))) if self.is_set else str(value)

    @staticmethod
    def _members(value: int) -> list[int]:
        return [n for n in range(value.bit_length()) if value >> n & 1]


def _words(enum: type[IntEnum]) -> tuple[str, ...]:
    return tuple(member.name.lower() for member in enum)


_NO_YES = ("false", "true")
OPTIONS = (
    Option("rows", range(1, 3), "rows a side; 2: each player sows round his own two rows"),
    Option("pits", range(1, 13), "pits a row"),
    Option("seeds", range(1, 13), "seeds in every pit at the start"),
    Option("sow_store", _words(SowStore), "the own store lies in the sowing path, or no store does"),
    Option("skip_origin", _NO_YES, "a full round leaves the origin pit out"),
    Option("directions", range(1, 3), "2: the player chooses counter-clockwise or clockwise"),
    Option("min_seeds", range(1, 3), "fewest seeds a chosen pit must hold"),
    Option("relay", _NO_YES, "last seed in an occupied pit: pick all up and sow on"),
    Option("again", _NO_YES, "move again after the last seed falls in the own store"),
    Option("capture_again", _NO_YES, "move again after a capture"),
    Option("first_again", _NO_YES, "the very first move of a game may earn a further move"),
    Option("capture", _words(Capture), "facing pit's seeds / nothing / by count / sown on (four rows)"),
    Option("capture_takes", _words(Takes), "opposite: the capturing seed too, or the faced seeds only"),
    Option("capture_empty", _NO_YES, "opposite: facing pit empty, the capturing seed still goes home"),
    Option("capture_counts", range(1, 25), "count: the numbers of seeds that are captured", is_set=True),
    Option("capture_sides", _words(CaptureSides), "count: from the opponent's pits, or any"),
    Option("capture_rows", _words(CaptureRows), "sow: the facing front pit, or both of its column"),
    Option("must_feed", _NO_YES, "opponent has no seeds: only moves that give him one are legal"),
    Option("grand_slam", _words(GrandSlam), "count: taking all the opponent's seeds; void takes none"),
    Option("end", _words(End), "over when either side is empty / the player to move cannot move"),
    Option("leftover", _words(Leftover), "seeds left go to their owner, who ran out, or nobody"),
    Option("early_stop", _words(EarlyStop), "over once a store holds more than half"),
    Option("win", _words(Win), "most seeds in the store / who can still move"),
    Option("pie", _NO_YES, "the second player's first action may be swap"),
    Option("lap_limit", range(1, 1_000_001), "laps in one move, after which it ends where it is"),
    Option(
        "ply_limit", range(0, 10_001), "plies until a game is truncated; 0 = none; 500 where positions repeat"
    ),
)
BY_NAME = {option.name: option for option in OPTIONS}


class Clash(NamedTuple):
    """Two options that make no sense together: `a|b` means either value, `!a` any other value."""

    first: str
    first_value: str
    second: str
    second_value: str
    why: str


CLASHES = (
    Clash("rows", "2", "sow_store", "own", "two rows are a ring of pits without a store"),
    Clash("rows", "2", "capture", "opposite|count", "no seed falls on the opponent's side or is banked"),
    Clash("rows", "2", "win", "seeds", "no seed is ever banked"),
    Clash("rows", "2", "must_feed", "true", "no seed falls on the opponent's side"),
    Clash("sow_store", "none", "again", "false", "no seed is sown into a store"),
    Clash("rows", "1", "capture", "sow", "captured seeds are sown round two own rows"),
    Clash("min_seeds", "2", "seeds", "1", "no pit could be chosen at the start"),
    Clash("capture", "!opposite", "capture_takes", "faced", "it is about capture=opposite"),
    Clash("capture", "!opposite", "capture_empty", "true", "it is about capture=opposite"),
    Clash("capture_takes", "faced", "capture_empty", "true", "faced seeds only, and there are none"),
    Clash("capture", "!count", "capture_counts", "!2+3", "it is about capture=count"),
    Clash("capture", "!count", "capture_sides", "any", "it is about capture=count"),
    Clash("capture", "!count", "grand_slam", "!legal", "it is about capture=count"),
    Clash("capture", "!sow", "capture_rows", "both", "it is about capture=sow"),
    Clash("capture", "none", "capture_again", "true", "nothing is captured"),
    Clash("relay", "true", "capture", "count", "one picks up the pit that the other captures"),
    Clash("relay", "true", "must_feed", "true", "where a relay ends is not known before it is sown"),
    Clash("win", "move", "leftover", "!owner", "nothing is collected"),
    Clash("win", "move", "early_stop", "!no", "stores do not decide"),
)
