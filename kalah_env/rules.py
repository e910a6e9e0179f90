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
from kalah_env.presets import PRESET_NAMES, PRESETS

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
START = "start"  # in place of a position: the rules' own start
PLY_LIMIT = 500  # where positions can repeat, unless the rules say otherwise


def preset_rules(name: str) -> Rules:
    """Return the rules of one preset by name; `KalahError` if there is none."""
    if name not in PRESET_NAMES:
        raise KalahError(
            f"rules: there is no preset {name!r}; presets are {', '.join(PRESET_NAMES)}. "
            "`kalah rules` shows them."
        )
    index = PRESET_NAMES.index(name)
    rules = Rules()._replace(**{k: int(v) for k, v in PRESETS[index].options.items()}, preset=index)
    return rules._replace(ply_limit=_default_ply_limit(rules))


def validate(rules: Rules) -> Rules:
    """Return `rules` unchanged, or raise a `KalahError` that names what is out of range or clashes."""
    if not isinstance(rules, Rules):
        raise KalahError(
            f"rules: {rules!r} is neither a text such as kgp:pits=6 nor Rules; make Rules with parse_rules "
            "or make_rules."
        )
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
    rules = base._replace(**changes)
    if "ply_limit" not in changes:
        rules = rules._replace(ply_limit=_default_ply_limit(rules))
    return validate(rules)


def _default_ply_limit(rules: Rules) -> int:
    """Return the limit that holds where none is given: none where no position can come back.

    That is where stores are sown in one direction. A store never loses a seed, and each ply either
    adds one (a capture, or sowing that leaves the mover's pits, in whatever lap), or only carries seeds
    of the mover's pits nearer to his store. A swap is open once.
    """
    return PLY_LIMIT if rules.sow_store == SowStore.NONE or rules.directions == 2 else 0


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
    base = base._replace(ply_limit=_default_ply_limit(rules))
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
