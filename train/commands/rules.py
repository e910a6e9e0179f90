"""`kalah rules`: the presets as a table, or one rule set with every option."""

import argparse
import shutil
import textwrap
from typing import Any

from kalah_env.rules import OPTIONS, PRESETS, Rules, format_rules, parse_rules, preset_rules, rules_hash
from train.commands import add_json, print_json

HELP = "Show the rule presets, or one rule set with its options and where it comes from."
EXAMPLE = "kalah rules kgp:pits=6,seeds=4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "spec", nargs="?", metavar="SPEC", help="PRESET[:option=value,...]; none = all presets"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the presets or one rule set."""
    if args.spec is None:
        presets = [_as_dict(preset_rules(preset.name)) for preset in PRESETS]
        print_json({"presets": presets}) if args.json else _print_table(presets)
        return 0
    rules = parse_rules(args.spec)
    print_json(_as_dict(rules)) if args.json else _print_one(_as_dict(rules))
    return 0


def _changes(rules: Rules) -> dict[str, Any]:
    """Return the options that are not the preset's, with their values."""
    own = _options(preset_rules(PRESETS[rules.preset].name))
    return {name: value for name, value in _options(rules).items() if value != own[name]}


def _options(rules: Rules) -> dict[str, Any]:
    """Return every option with its value as a bool, an int or a word."""
    words = {option.name: option.format(getattr(rules, option.name)) for option in OPTIONS}
    plain = {"true": True, "false": False}
    return {name: int(word) if word.isdigit() else plain.get(word, word) for name, word in words.items()}


def _as_dict(rules: Rules) -> dict[str, Any]:
    from kalah_env import batch
    from kalah_env.text import format_position

    preset = PRESETS[rules.preset]
    return {
        "rules": format_rules(rules),
        "preset": preset.name,
        "changes": _changes(rules),
        "source": preset.source,
        "about": preset.about,
        "hash": rules_hash(rules),
        "start": format_position(rules, batch.new_games(rules, 1)[0]),
        "options": _options(rules),
    }


def _print_table(presets: list[dict[str, Any]]) -> None:
    """Print name, size and what it is, broken to the terminal's width; sources are told one by one."""
    width = max(len(p["preset"]) for p in presets)
    lines = shutil.get_terminal_size((100, 24)).columns
    indent = " " * (width + 9)
    print(f"{'preset':<{width}}  size   about")
    for p in presets:
        rows = "2x" if p["options"]["rows"] == 2 else ""
        size = f"{rows}{p['options']['pits']}x{p['options']['seeds']}"
        line = f"{p['preset']:<{width}}  {size:<5}  {p['about']}"
        print(textwrap.fill(line, max(60, lines), subsequent_indent=indent))


def _print_one(one: dict[str, Any]) -> None:
    preset, changes = one["preset"], [f"{name}={_word(value)}" for name, value in one["changes"].items()]
    if changes:
        print(f"{one['rules']}\nchanged from {preset} by {', '.join(changes)}\n{preset}: {one['about']}")
        print(f"source of {preset}: {one['source']}\nstart: {one['start']}")
    else:
        print(f"{one['rules']}\n{one['about']}\nsource: {one['source']}\nstart: {one['start']}")
    print("options, with * where they deviate from kalah:")
    base = _options(preset_rules("kalah"))
    for option in OPTIONS:
        value = one["options"][option.name]
        mark = " " if value == base[option.name] else "*"
        print(f"{mark} {option.name:<14} {_word(value):<9} {option.meaning} ({option.allowed()})")


def _word(value: Any) -> str:
    """Return a value as it is written in the text of rules."""
    return str(value).lower() if isinstance(value, bool) else str(value)
