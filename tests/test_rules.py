"""The rules table: presets, options, text form both ways, hash, and every way to get them wrong."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import options_of
from strategies import result_or_none, specs

from kalah_env.errors import KalahError
from kalah_env.rules import (
    CLASHES,
    OPTIONS,
    PRESET_NAMES,
    Rules,
    format_rules,
    make_rules,
    num_actions,
    parse_rules,
    rules_hash,
    validate,
)


@pytest.mark.parametrize("name", PRESET_NAMES)
def test_presets_are_the_rulebooks(name):
    rules = parse_rules(name)
    words = {o.name: o.format(getattr(rules, o.name)) for o in OPTIONS}
    assert words == {option: str(word) for option, word in options_of(name).items()}
    assert format_rules(rules) == name


@given(specs())
def test_text_round_trip(spec):
    rules = parse_rules(spec)
    assert parse_rules(format_rules(rules)) == rules
    preset, _, changes = spec.partition(":")
    options = dict(item.split("=") for item in changes.split(",") if item)
    assert make_rules(preset, **options) == rules


@pytest.mark.parametrize(
    ("given_text", "printed"),
    [
        ("kalah:seeds=4,pits=6", "kalah"),  # nothing deviates
        ("kalah:pie=true,seeds=06", "kalah:seeds=6,pie=true"),  # in the order of the table
        ("  kalah : seeds = 3 ".replace(" :", ":"), "kalah:seeds=3"),  # blanks around words
        ("kalah-72:seeds=4,capture_takes=both", "kalah-72:seeds=4,capture_takes=both"),
        ("kgp:pits=6,early_stop=keep", "kgp:pits=6,early_stop=keep"),
    ],
)
def test_printed_form(given_text, printed):
    assert format_rules(parse_rules(given_text)) == printed


def test_make_rules_takes_python_values():
    made = make_rules("kgp", pits=6, capture_empty=True, pie=False, leftover="nobody")
    assert made == parse_rules("kgp:pits=6,capture_empty=true,leftover=nobody")


def test_hash_depends_on_every_option_and_on_no_name():
    assert rules_hash(parse_rules("openspiel-mancala")) == rules_hash(parse_rules("kalah"))
    hashes = {rules_hash(Rules())}
    for option in OPTIONS:
        codes = option.values if isinstance(option.values, range) else range(len(option.values))
        other = next(code for code in codes if code != getattr(Rules(), option.name))
        hashes.add(rules_hash(Rules()._replace(**{option.name: other})))
    assert len(hashes) == len(OPTIONS) + 1


def test_num_actions():
    assert (num_actions(parse_rules("kalah")), num_actions(parse_rules("mankalah"))) == (6, 8)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "no preset ''"),
        ("chess", "no preset 'chess'"),
        ("Kalah", "no preset 'Kalah'"),
        ("kalah:colour=red", "no option 'colour'"),
        ("kalah:", "not option=value"),
        ("kalah:seeds", "not option=value"),
        ("kalah:seeds=", "not option=value"),
        ("kalah:=4", "not option=value"),
        ("kalah:seeds=4,", "not option=value"),
        ("kalah:seeds=4;pits=6", "4;pits=6"),
        ("kalah:seeds=4,seeds=4", "'seeds' stands twice"),
        ("kalah:seeds=0", "1 to 12"),
        ("kalah:pits=13", "1 to 12"),
        ("kalah:pits=-1", "1 to 12"),
        ("kalah:pits=6.0", "1 to 12"),
        ("kalah:pits=six", "1 to 12"),
        ("kalah:pits=\u0666", "1 to 12"),  # a digit, but no ASCII one
        ("kalah:again=yes", "false, true"),
        ("kalah:again=1", "false, true"),
        ("kalah:capture=all", "opposite, none"),
        ("kalah:ply_limit=10001", "0 to 10000"),
        ("kalah:seeds=" + "9" * 5000, "1 to 12"),
    ],
)
def test_bad_rules_text(bad, said):
    with pytest.raises(KalahError) as caught:
        parse_rules(bad)
    assert said in str(caught.value)


@pytest.mark.parametrize("clash", CLASHES, ids=lambda clash: f"{clash[0]}-{clash[2]}")
def test_clashing_options_are_both_named(clash):
    first, first_value, second, second_value, _ = clash
    with pytest.raises(KalahError) as caught:
        parse_rules(f"kalah:{second}={second_value},{first}={first_value}")
    assert f"{first}={first_value}" in str(caught.value)
    assert f"{second}={second_value}" in str(caught.value)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_validate_names_an_int_out_of_range(option):
    with pytest.raises(KalahError, match=option.name):
        validate(Rules()._replace(**{option.name: 20_000}))


_PIECES = st.sampled_from([*PRESET_NAMES, *(o.name for o in OPTIONS), *":=,", "true", "6", "none"])


@given(st.text() | st.lists(_PIECES | st.text(max_size=3), max_size=8).map("".join))
@example("kalah:seeds=" + "9" * 5000)
@example("kalah:seeds=\udcff")  # an undecodable byte of a command line
def test_only_kalah_errors_escape(words):
    rules = result_or_none(parse_rules, words)
    assert rules is None or parse_rules(format_rules(rules)) == rules
