"""Rules by text: parse, print, validate, hash.

Text form: `PRESET[:option=value,...]`, e.g. `kalah:seeds=6,capture_empty=true`. It is printed with
the preset it was made from, then only what deviates from that preset, in the order of `OPTIONS`.
The table itself: `options.py` and `presets.py`, whose names are re-exported here; what an option does
to a position: `engine.py`.
"""

import hashlib
from typing import Any

from kalah_env.errors import KalahError
from kalah_env.options import BY_NAME, CLASHES, OPTIONS, Rules, SowStore
from kalah_env.presets import PLY_LIMIT, PRESET_NAMES, PRESETS

__all__ = [
    "CLASHES",
    "MAX_SEEDS",
    "OPTIONS",
    "PRESETS",
    "PRESET_NAMES",
    "Rules",
    "format_rules",
    "make_rules",
    "num_actions",
    "parse_rules",
    "preset_rules",
    "rules_hash",
    "side_pits",
    "validate",
]

MAX_SEEDS = 2000  # seeds on a board; counts are int16


<<<<<<< HEAD
=======
class Capture(IntEnum):
    """What the last seed of a move can capture."""

    OPPOSITE = 0
    NONE = 1


class Takes(IntEnum):
    """What `capture=opposite` moves: capturing seed and faced seeds, or the faced seeds only."""

    BOTH = 0
    FACED = 1


class End(IntEnum):
    """Over when either side is empty after a move, or when the player to move cannot."""

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


class Rules(NamedTuple):
    """One rule set as ints; make it with `parse_rules` or `make_rules`, which validate.

    Field order is the printing order. `preset` is the index of the preset it was made from: it
    serves printing and the start layout only and is no part of the hash.
    """

    pits: int = 6
    seeds: int = 4
    skip_origin: int = 0
    again: int = 1
    capture_again: int = 0
    first_again: int = 1
    capture: int = 0
    capture_takes: int = 0
    capture_empty: int = 0
    end: int = 0
    leftover: int = 0
    early_stop: int = 0
    pie: int = 0
    ply_limit: int = 0
    preset: int = 0


class Option(NamedTuple):
    """One row of the option table: its values are words (index = the int stored) or a range."""

    name: str
    values: tuple[str, ...] | range
    meaning: str

    def allowed(self) -> str:
        """Say which values may be given."""
        if isinstance(self.values, range):
            return f"{self.values[0]} to {self.values[-1]}"
        return ", ".join(self.values)

    def parse(self, text: str) -> int:
        """Return the stored int of a value's text."""
        if isinstance(self.values, range):
            # Python refuses to read thousands of digits, so leading zeros go and the rest is short.
            digits = text.lstrip("0") or "0"
            if text.isascii() and text.isdigit() and len(digits) < 10 and int(digits) in self.values:
                return int(digits)
        elif text in self.values:
            return self.values.index(text)
        raise KalahError(f"rules: {self.name}={text!r} is not allowed; {self.name} is {self.allowed()}.")

    def format(self, value: int) -> str:
        """Return a stored int's text."""
        return str(value) if isinstance(self.values, range) else self.values[value]


def _words(enum: type[IntEnum]) -> tuple[str, ...]:
    return tuple(member.name.lower() for member in enum)


_NO_YES = ("false", "true")
OPTIONS = (
    Option("pits", range(1, 13), "pits a side"),
    Option("seeds", range(1, 13), "seeds in every pit at the start"),
    Option("skip_origin", _NO_YES, "a full round leaves the origin pit out"),
    Option("again", _NO_YES, "move again after the last seed falls in the own store"),
    Option("capture_again", _NO_YES, "move again after a capture"),
    Option("first_again", _NO_YES, "the very first move of a game may earn a further move"),
    Option("capture", _words(Capture), "what a last seed in an own, empty pit captures"),
    Option("capture_takes", _words(Takes), "the capturing seed and the faced seeds, or faced only"),
    Option("capture_empty", _NO_YES, "facing pit empty: the capturing seed still goes to the store"),
    Option("end", _words(End), "over when either side is empty / the player to move cannot move"),
    Option("leftover", _words(Leftover), "seeds left go to their owner, who ran out, or nobody"),
    Option("early_stop", _words(EarlyStop), "over once a store holds more than half"),
    Option("pie", _NO_YES, "the second player's first action may be swap"),
    Option("ply_limit", range(0, 10001), "plies after which a game is truncated; 0 = none"),
)
_BY_NAME = {option.name: option for option in OPTIONS}

# Combinations that make no sense: (option, value) beside (option, value), and why.
CLASHES = (
    ("capture", "none", "capture_takes", "faced", "nothing is captured"),
    ("capture", "none", "capture_empty", "true", "nothing is captured"),
    ("capture", "none", "capture_again", "true", "nothing is captured"),
    ("capture_takes", "faced", "capture_empty", "true", "faced seeds only, and there are none"),
)


class Preset(NamedTuple):
    """A named rule set: what deviates from `kalah`, its source and a line about it."""

    name: str
    options: dict[str, int]
    source: str
    about: str


PRESETS = (
    Preset("kalah", {}, "sheet 002", "standard Kalah: capture only if the facing pit holds seeds"),
    Preset(
        "kalah-72",
        {"seeds": 6, "capture_takes": Takes.FACED},
        "sheet 000",
        "72 seeds; a capture moves the faced seeds only",
    ),
    Preset(
        "kgp",
        {"pits": 8, "seeds": 8, "early_stop": EarlyStop.SWEEP},
        "Kalah Game Protocol server",
        "stops and sweeps once a store holds more than half; any size",
    ),
    Preset(
        "mankalah",
        {"pits": 7, "seeds": 7, "first_again": 0, "pie": 1},
        "Manchester engine",
        "pie rule; the first move of a game earns no further move",
    ),
    Preset(
        "fairkalah",
        {"capture_empty": 1},
        "FairKalah, EAAI 2022; Irving et al. 2000",
        "empty capture; also played from published balanced positions",
    ),
    Preset(
        "openspiel-mancala",
        {},
        "OpenSpiel `mancala`",
        "equal to kalah; named for who compares with OpenSpiel",
    ),
    Preset(
        "ludii-kalah",
        {"end": End.MOVER},
        "Ludii Kalah.lud",
        "over only when the player to move has no seeds",
    ),
)
PRESET_NAMES = tuple(preset.name for preset in PRESETS)


>>>>>>> main
def preset_rules(name: str) -> Rules:
    """Return the rules of one preset by name; `KalahError` if there is none."""
    if name not in PRESET_NAMES:
        raise KalahError(
            f"rules: there is no preset {name!r}; presets are {', '.join(PRESET_NAMES)}. "
            "`kalah rules` shows them."
        )
    index = PRESET_NAMES.index(name)
    return Rules()._replace(**{k: int(v) for k, v in PRESETS[index].options.items()}, preset=index)


def validate(rules: Rules) -> Rules:
    """Return `rules` unchanged, or raise a `KalahError` that names what is out of range or clashes."""
    if not isinstance(rules, Rules):
        raise KalahError(f"rules: {rules!r} are no Rules; make them with parse_rules or make_rules.")
    for option in OPTIONS:
        value = getattr(rules, option.name)
        if not option.holds(value):
            raise KalahError(f"rules: {option.name} has no value {value}; it is {option.allowed()}.")
    for first, first_value, second, second_value, why in CLASHES:
        if _shows(rules, first, first_value) and _shows(rules, second, second_value):
            texts = (f"{name}={BY_NAME[name].format(getattr(rules, name))}" for name in (first, second))
            raise KalahError(f"rules: {' clashes with '.join(texts)} ({why}); change one of the two.")
    return rules


def _shows(rules: Rules, name: str, pattern: str) -> bool:
    """Say whether an option's value is one of `a|b`, or none of them where a `!` stands before."""
    values = pattern.removeprefix("!").split("|")
    return (BY_NAME[name].format(getattr(rules, name)) in values) != pattern.startswith("!")


def make_rules(preset: str = "kalah", **options: Any) -> Rules:
    """Return validated rules: a preset with options replaced, values as in the text form.

    `make_rules("kalah", seeds=6, capture_empty=True)` equals `parse_rules` of
    `kalah:seeds=6,capture_empty=true`.
    """
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}
    return _build(preset, texts)


def _build(preset: str, options: dict[str, str]) -> Rules:
    base = preset_rules(preset)
    changes = {}
    for name, text in options.items():
        if name not in BY_NAME:
            raise KalahError(f"rules: there is no option {name!r}; options are {', '.join(BY_NAME)}.")
        changes[name] = BY_NAME[name].parse(text)
    changes.setdefault("ply_limit", _default_ply_limit(base, changes.get("sow_store", base.sow_store)))
    return validate(base._replace(**changes))


def _default_ply_limit(base: Rules, sow_store: int) -> int:
    """Return the limit that holds where none is given: it follows `sow_store`, as positions repeat."""
    if sow_store == base.sow_store:
        return base.ply_limit
    return PLY_LIMIT if sow_store == SowStore.NONE else 0


def parse_rules(text: str) -> Rules:
    """Return the rules of a text such as `kgp:pits=6,seeds=4`; `KalahError` says what is wrong."""
    if not isinstance(text, str):
        raise KalahError(f"rules: {text!r} is no text; write PRESET:option=value,... or use make_rules.")
    name, colon, rest = text.strip().partition(":")
    options: dict[str, str] = {}
    for item in rest.split(",") if colon else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key or not value:
            raise KalahError(
                f"rules: {item!r} in {text!r} is not option=value; write PRESET:option=value,..."
            )
        if key in options:
            raise KalahError(f"rules: option {key!r} stands twice in {text!r}; give it once.")
        options[key] = value
    return _build(name, options)


def format_rules(rules: Rules) -> str:
    """Return the text form; `parse_rules` of it gives the same rules."""
    name = PRESETS[rules.preset].name
    base = preset_rules(name)
    base = base._replace(ply_limit=_default_ply_limit(base, rules.sow_store))
    changed = [
        f"{option.name}={option.format(getattr(rules, option.name))}"
        for option in OPTIONS
        if getattr(rules, option.name) != getattr(base, option.name)
    ]
    return f"{name}:{','.join(changed)}" if changed else name


def rules_hash(rules: Rules) -> str:
    """Return 16 hex digits over what deviates from `kalah`; equal for presets with equal options.

    What does not deviate stays out, so that options added later leave old hashes as they are.
    """
    text = format_rules(rules._replace(preset=0))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def side_pits(rules: Rules) -> int:
    """Return the pits of one side: all rows together."""
    return rules.rows * rules.pits


def num_actions(rules: Rules) -> int:
    """Return A: one action a pit and direction, and `swap` last where the pie rule is on."""
    return side_pits(rules) * rules.directions + rules.pie
