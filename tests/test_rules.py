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
        # Sets of numbers are sorted and hold each number once.
        ("kalaha-philos:capture_counts=3+2", "kalaha-philos"),
        ("bohnenspiel:capture_counts=6+2+4+2", "bohnenspiel"),
        ("bohnenspiel:capture_counts=12+04", "bohnenspiel:capture_counts=4+12"),
        # The limit of plies follows sow_store and directions unless it is given.
        ("kalah:directions=2,ply_limit=500", "kalah:directions=2"),
        ("kalah:ply_limit=0,directions=2", "kalah:directions=2,ply_limit=0"),
        ("kalah:directions=2,ply_limit=9", "kalah:directions=2,ply_limit=9"),
        ("kalah:ply_limit=500", "kalah:ply_limit=500"),
        ("bao-philos:directions=1,ply_limit=500", "bao-philos:directions=1"),
        ("kalah:sow_store=none,ply_limit=500", "kalah:sow_store=none"),
        ("kalah:ply_limit=0,sow_store=none", "kalah:sow_store=none,ply_limit=0"),
        ("bohnenspiel:sow_store=own,ply_limit=0", "bohnenspiel:sow_store=own"),
        ("bohnenspiel:ply_limit=500,sow_store=own", "bohnenspiel:sow_store=own,ply_limit=500"),
    ],
)
def test_printed_form(given_text, printed):
    assert format_rules(parse_rules(given_text)) == printed


@pytest.mark.parametrize(
    ("spec", "limit"),
    [
        ("kalah", 0),
        ("kalah:sow_store=none", 500),
        ("danish:sow_store=none,ply_limit=9", 9),
        ("kalaha-philos", 500),
        ("kalaha-philos:sow_store=own", 0),
        ("kalaha-philos:sow_store=none,ply_limit=0", 0),
        ("bao-philos:pits=3", 500),
        ("bao-philos:directions=1", 500),
        ("kalah:directions=2", 500),
        ("kalaha-philos:sow_store=own,directions=2", 500),
        ("kalah:directions=2,ply_limit=0", 0),
        ("kalah:directions=1", 0),
    ],
)
def test_the_ply_limit_follows_sow_store_and_directions(spec, limit):
    rules = parse_rules(spec)
    assert rules.ply_limit == limit
    assert parse_rules(format_rules(rules)) == rules


def test_make_rules_takes_python_values():
    made = make_rules("kgp", pits=6, capture_empty=True, pie=False, leftover="nobody")
    assert made == parse_rules("kgp:pits=6,capture_empty=true,leftover=nobody")
    assert make_rules("bohnenspiel", capture_counts="3+2") == parse_rules("bohnenspiel:capture_counts=2+3")


def test_hash_depends_on_every_option_and_on_no_name():
    assert rules_hash(parse_rules("openspiel-mancala")) == rules_hash(parse_rules("kalah"))
    hashes = {rules_hash(Rules())}
    for option in OPTIONS:
        codes = option.values if isinstance(option.values, range) else range(len(option.values))
        codes = (2**4, 2**6) if option.is_set else codes
        other = next(code for code in codes if code != getattr(Rules(), option.name))
        hashes.add(rules_hash(Rules()._replace(**{option.name: other})))
    assert len(hashes) == len(OPTIONS) + 1


@pytest.mark.parametrize(
    ("spec", "actions"),
    [("kalah", 6), ("mankalah", 8), ("hus", 16), ("bao-philos", 32), ("kalah:directions=2", 12)],
)
def test_num_actions(spec, actions):
    assert num_actions(parse_rules(spec)) == actions


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
        ("kalah:lap_limit=0", "1 to 1000000"),
        ("kalah:rows=3", "1 to 2"),
        ("bohnenspiel:capture_counts=0+2", "a set of 1 to 24 such as 2+3"),
        ("bohnenspiel:capture_counts=25", "a set of 1 to 24"),
        ("bohnenspiel:capture_counts=2+", "a set of 1 to 24"),
        ("bohnenspiel:capture_counts=2++4", "a set of 1 to 24"),
        ("bohnenspiel:capture_counts=2-4", "a set of 1 to 24"),
        ("bohnenspiel:capture_counts=2,4", "'4' in"),
        ("kalah:seeds=" + "9" * 5000, "1 to 12"),
    ],
)
def test_bad_rules_text(bad, said):
    with pytest.raises(KalahError) as caught:
        parse_rules(bad)
    assert said in str(caught.value)


CLASHING = (
    ("bao-philos:sow_store=own", "rows=2", "sow_store=own"),
    ("bao-philos:capture=opposite", "rows=2", "capture=opposite"),
    ("bao-philos:capture=count", "rows=2", "capture=count"),
    ("bao-philos:win=seeds", "rows=2", "win=seeds"),
    ("bao-philos:relay=false,must_feed=true", "rows=2", "must_feed=true"),
    ("kalaha-philos:again=false", "sow_store=none", "again=false"),
    ("kalah:capture=sow", "rows=1", "capture=sow"),
    ("kalah:min_seeds=2,seeds=1", "min_seeds=2", "seeds=1"),
    ("kalah-72:capture=none", "capture=none", "capture_takes=faced"),
    ("kalaha-philos:capture_takes=faced", "capture=count", "capture_takes=faced"),
    ("bao-philos:capture_takes=faced", "capture=sow", "capture_takes=faced"),
    ("fairkalah:capture=none", "capture=none", "capture_empty=true"),
    ("kalaha-philos:capture_empty=true", "capture=count", "capture_empty=true"),
    ("kalah-72:capture_empty=true", "capture_takes=faced", "capture_empty=true"),
    ("kalah:capture_counts=3", "capture=opposite", "capture_counts=3"),
    ("bao-philos:capture_counts=2+3+4", "capture=sow", "capture_counts=2+3+4"),
    ("kalah:capture_sides=any", "capture=opposite", "capture_sides=any"),
    ("kalah:capture=none,grand_slam=void", "capture=none", "grand_slam=void"),
    ("danish:grand_slam=illegal", "capture=opposite", "grand_slam=illegal"),
    ("kalah:capture_rows=both", "capture=opposite", "capture_rows=both"),
    ("kalah:capture=none,capture_again=true", "capture=none", "capture_again=true"),
    ("danish:capture_empty=false,capture=count", "relay=true", "capture=count"),
    ("danish:must_feed=true", "relay=true", "must_feed=true"),
    ("kalah:win=move,leftover=nobody", "win=move", "leftover=nobody"),
    ("bao-philos:leftover=emptier", "win=move", "leftover=emptier"),
    ("kalah:win=move,early_stop=sweep", "win=move", "early_stop=sweep"),
    ("bao-philos:early_stop=keep", "win=move", "early_stop=keep"),
)


@pytest.mark.parametrize(("spec", "first", "second"), CLASHING, ids=[spec for spec, *_ in CLASHING])
def test_clashing_options_are_both_named(spec, first, second):
    with pytest.raises(KalahError) as caught:
        parse_rules(spec)
    assert f"{first} clashes with {second} (" in str(caught.value)


def test_every_clash_is_tested():
    pairs = {tuple(text.partition("=")[0] for text in texts) for _, *texts in CLASHING}
    assert {(clash.first, clash.second) for clash in CLASHES} == pairs


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_validate_names_an_int_out_of_range(option):
    with pytest.raises(KalahError, match=f"{option.name} has no value"):
        validate(Rules()._replace(**{option.name: 2**26}))


_PIECES = st.sampled_from([*PRESET_NAMES, *(o.name for o in OPTIONS), *":=,", "true", "6", "none"])


@given(st.text() | st.lists(_PIECES | st.text(max_size=3), max_size=8).map("".join))
@example("kalah:seeds=" + "9" * 5000)
@example("kalah:seeds=\udcff")  # an undecodable byte of a command line
def test_only_kalah_errors_escape(words):
    rules = result_or_none(parse_rules, words)
    assert rules is None or parse_rules(format_rules(rules)) == rules
