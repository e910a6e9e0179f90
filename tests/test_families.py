"""Every clause of the rule sheets by an example worked out by hand; RULES.md held against the code.

The examples are the tables of `kalah_env/RULES.md`, so page and test cannot drift apart: position,
moves, position after. Engine and oracle both play them. Random games: `test_engine.py`.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from oracle import Game

from kalah_env import batch, engine, text
from kalah_env.rules import OPTIONS, PRESET_NAMES, PRESETS, Rules, parse_rules

PAGE = (Path(__file__).parent.parent / "kalah_env" / "RULES.md").read_text()


class Example(NamedTuple):
    """One line of the tables: `moves` is `?` where `after` holds the legal moves."""

    clause: str
    rules: str
    position: str
    moves: str
    after: str
    reasons: str


def _table(*header: str) -> list[list[str]]:
    """Return the cells of all tables of the page that have this header."""
    rows, inside = [], False
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells == [*header]:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(line) <= set("|-"):
            rows.append(cells)
    return rows


EXAMPLES = [
    Example(clause, *(cell.strip("`") for cell in cells), reasons)
    for clause, *cells, reasons in _table("clause", "rules", "position", "moves", "after", "by hand")
]


def _outcome(over: bool, truncated: bool, winner: str) -> str:
    return f" over, {winner}" if over else " truncated" if truncated else ""


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{e.rules} {e.clause}" for e in EXAMPLES])
def test_worked_out_by_hand(example):
    rules = parse_rules(example.rules)
    start = None if example.position == "start" else example.position
    state = batch.new_games(rules, 1)[0] if start is None else text.parse_position(start, rules)
    game = Game(example.rules, start)
    if example.moves == "?":
        assert text.legal_moves(rules, state) == game.legal() == example.after.split()
        return
    for move in example.moves.split():
        engine.play(rules, state, text.parse_move(rules, state, move))
        game.play(move)
    status = batch.extras(rules, state)[engine.STATUS]
    found = _outcome(status == engine.OVER, status == engine.TRUNCATED, text.winner(rules, state))
    assert text.format_position(rules, state) + found == example.after
    winner = "draw" if game.margin == 0 else "S" if game.margin > 0 else "N"
    assert game.text() + _outcome(game.over, game.truncated, winner) == example.after


def test_the_examples_cover_every_preset_and_every_value():
    parsed = [parse_rules(example.rules) for example in EXAMPLES]
    assert {PRESETS[rules.preset].name for rules in parsed} == {*PRESET_NAMES}
    for option in OPTIONS:
        shown = {option.format(getattr(rules, option.name)) for rules in parsed}
        if isinstance(option.values, tuple) or len(option.values) == 2:
            assert shown == {str(value) for value in option.values}, option.name
        else:
            assert len(shown) > 1, option.name


def test_the_option_table_is_true():
    default = Rules()
    rows = [[f"`{o.name}`", o.allowed(), o.format(getattr(default, o.name)), o.meaning] for o in OPTIONS]
    assert _table("option", "values", "`kalah`", "meaning") == rows


def test_the_preset_table_is_true():
    rows = []
    for preset in PRESETS:
        rules = parse_rules(preset.name)
        size = f"{'2x' if rules.rows == 2 else ''}{rules.pits}x{rules.seeds}"
        others = [option for option in OPTIONS if option.name not in ("pits", "seeds")]
        changed = [o for o in others if getattr(rules, o.name) != getattr(Rules(), o.name)]
        deviations = ", ".join(f"`{o.name}={o.format(getattr(rules, o.name))}`" for o in changed)
        rows.append([f"`{preset.name}`", size, deviations, preset.source, preset.about])
    assert _table("preset", "size", "deviates from `kalah` by", "source", "in words") == rows


@pytest.mark.parametrize("preset", ["kalah", "bao-philos", "hus"])
def test_the_drawings_are_the_programs(preset):
    rules = parse_rules(preset)
    drawing = text.draw_board(rules, batch.new_games(rules, 1)[0]).splitlines()
    # Notes may stand to the right, and blanks need not be the same.
    pattern = "\\n".join(" *" + " +".join(map(re.escape, line.split())) + "(   .*)?" for line in drawing)
    assert re.search(f"```\n{pattern}\n```", PAGE)


@pytest.mark.parametrize("file", ["engine.py", "sowing.py"])
def test_the_engine_knows_no_game(file):
    source = (Path(engine.__file__).parent / file).read_text()
    others = [name for name in PRESET_NAMES if name != "kalah"]  # it is part of the package's name
    assert re.findall(rf"\b({'|'.join(others)})\b|rules\.preset|PRESET", source) == []
