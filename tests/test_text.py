"""Positions, moves and boards as text: both ways, and every way to get them wrong."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import result_or_none, rules_and_positions

from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.rules import num_actions, parse_rules

KALAH = parse_rules("kalah")
SMALL = parse_rules("kalah:pits=2,pie=true")
RINGS = parse_rules("bao-philos:pits=2")


@given(rules_and_positions(ply_limit="0"), st.randoms(use_true_random=False))
def test_position_round_trip(drawn, rng):
    rules, state = drawn
    while True:
        line = text.format_position(rules, state)
        again = text.parse_position(line, rules)
        # PLY is not printed: plies count from the load.
        batch.extras(rules, again)[engine.PLY] = batch.extras(rules, state)[engine.PLY]
        moves = text.legal_moves(rules, state)
        # A finished position with seeds in its pits does not show why it ended: the letter is that of
        # who moved last, and he may be able to go on.
        if moves or not any(engine.side_seeds(rules, state, side) for side in (0, 1)):
            np.testing.assert_array_equal(again, state)
            assert text.format_position(rules, again) == line
        if not moves:
            break
        engine.play(rules, state, text.parse_move(rules, state, rng.choice(moves)))


def test_start_as_text():
    start = batch.new_games(KALAH, 1)[0]
    assert text.format_position(KALAH, start) == "<6,0,0,4,4,4,4,4,4,4,4,4,4,4,4> S first"
    np.testing.assert_array_equal(text.parse_position(text.format_position(KALAH, start), KALAH), start)


@pytest.mark.parametrize(
    ("given_text", "printed"),
    [
        ("<2,1,0,3,4,5,6>", "<2,1,0,3,4,5,6> S"),
        ("<2,1,0,3,4,5,6> N", "<2,1,0,3,4,5,6> N"),
        ("  < 2, 01,0 ,003,4,5,6 >   N   swap ", "<2,1,0,3,4,5,6> N swap"),
        ("<2,1,0,3,4,5,6>S first", "<2,1,0,3,4,5,6> S first"),
        ("<2,0,0,500,500,500,500> S", "<2,0,0,500,500,500,500> S"),
        # Decided at load: swept, over, no phase; the letter stays.
        ("<2,1,0,0,0,5,6> N first", "<2,1,11,0,0,0,0> N"),
        ("<2,0,0,0,0,0,0> S swap", "<2,0,0,0,0,0,0> S"),
    ],
)
def test_position_as_printed(given_text, printed):
    state = text.parse_position(given_text, SMALL)
    assert text.format_position(SMALL, state) == printed


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "not of the form"),
        ("2,0,0,1,1,1,1", "not of the form"),
        ("<2,0,0,1,1,1,1", "not of the form"),
        ("<<2,0,0,1,1,1,1>>", "not of the form"),
        ("<2,0,0,1,1,1,1> S first swap", "not of the form"),
        ("<>", "has '' pits a row, the rules 2"),
        ("<2,0,0,1,1,1,-1>", "'-1' is not a whole number"),
        ("<2,0,0,1,1,1,+1>", "'+1' is not a whole number"),
        ("<2,0,0,1,1,1,x>", "'x' is not a whole number"),
        ("<2,0,0,1,1,1,1.0>", "'1.0' is not a whole number"),
        ("<2,0,0,1,1,1,>", "'' is not a whole number"),
        ("<2,0,0,1,1,1,1 1>", "'1 1' is not a whole number"),
        ("<2,0,0,1,1,1,\u0661>", "is not a whole number"),  # a digit, but no ASCII one
        ("<2,0,0,1,1,1>", "has 6 numbers; 2 pits a side need 7"),
        ("<2,0,0,1,1,1,1,1>", "has 8 numbers; 2 pits a side need 7"),
        ("<3,0,0,1,1,1,1,1,1>", "has '3' pits a row, the rules 2"),
        ("<2x8,0,0,1,1,1,1>", "has '2x8' pits a row, the rules 2"),
        ("<2,0,0,500,500,500,501>", "has 2001 seeds; at most 2000"),
        ("<2,2001,0,1,1,1,1>", "at most 2000"),
        ("<2,0,0,1,1,1,40000>", "at most 2000"),
        ("<2,0,0,1,1,1," + "9" * 5000 + ">", "at most 2000"),
        ("<" + "9" * 5000 + ",0,0,1,1,1,1>", "the rules 2"),
        ("<2,0,0,1,1,1,1> W", "'W' is neither S nor N"),
        ("<2,0,0,1,1,1,1> s", "'s' is neither S nor N"),
        ("<2,0,0,1,1,1,1> SN", "'SN' is neither S nor N"),
        ("<2,0,0,1,1,1,1> first", "'first' is neither S nor N"),
        ("<2,0,0,1,1,1,1> S last", "'last' behind the side"),
    ],
)
def test_bad_position(bad, said):
    with pytest.raises(KalahError) as caught:
        text.parse_position(bad, SMALL)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400


def test_position_of_two_rows():
    line = "<2x2,0,0,2,1,0,3,4,5,6,7> N"
    state = text.parse_position(line.replace("2x2", "02x2 "), RINGS)
    # south's ring, south's store, north's ring, north's store; then side, phase, status, ply, result
    assert state.tolist() == [2, 1, 0, 3, 0, 4, 5, 6, 7, 0, 1, 0, 0, 0, 0]
    assert text.format_position(RINGS, state) == line


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("<2,0,0,2,1,0,3,4,5,6,7>", "has '2' pits a row, the rules 2x2"),
        ("<2x8,0,0,2,1,0,3,4,5,6,7>", "has '2x8' pits a row, the rules 2x2"),
        ("<x2,0,0,2,1,0,3,4,5,6,7>", "has 'x2' pits a row, the rules 2x2"),
        ("<2x2,0,0,2,1,4,5>", "has 7 numbers; 4 pits a side need 11: <2xn,"),
        ("<2x2,1,0,2,1,0,3,4,5,6,7>", "stay 0"),
        ("<2x2,0,1,2,1,0,3,4,5,6,7>", "stay 0"),
        ("<2x2,0,0,2,1,0,3,4,5,6,7> S swap", "pie=false"),
    ],
)
def test_bad_position_of_two_rows(bad, said):
    with pytest.raises(KalahError) as caught:
        text.parse_position(bad, RINGS)
    assert said in str(caught.value)


def test_swap_needs_the_pie_rule():
    assert text.parse_position("<1,0,0,1,1> N swap", parse_rules("kalah:pits=1,pie=true")) is not None
    with pytest.raises(KalahError, match="pie=false"):
        text.parse_position("<1,0,0,1,1> N swap", parse_rules("kalah:pits=1"))


@pytest.mark.parametrize(
    ("position", "move", "said"),
    [
        ("<2,0,0,0,1,1,1> S", "1", "legal: 2."),  # empty
        ("<2,0,0,0,1,1,1> S", "3", "legal: 2."),
        ("<2,0,0,0,1,1,1> S", "0", "legal: 2."),
        ("<2,0,0,0,1,1,1> S", "-1", "legal: 2."),
        ("<2,0,0,0,1,1,1> S", "02", "legal: 2."),
        ("<2,0,0,0,1,1,1> S", "2+", "legal: 2."),
        ("<2,0,0,0,1,1,1> S", "", "legal: 2."),
        ("<2,0,0,0,1,1,1> S", "swap", "legal: 2."),  # not open
        ("<2,0,0,0,1,1,1> N swap", "Swap", "legal: 1, 2, swap."),
        ("<2,0,0,0,0,1,1> S", "1", "the game is over"),
    ],
)
def test_illegal_move(position, move, said):
    state = text.parse_position(position, SMALL)
    with pytest.raises(KalahError) as caught:
        text.parse_move(SMALL, state, move)
    assert said in str(caught.value)


def test_move_after_truncation():
    rules = parse_rules("kalah:ply_limit=1")
    state = batch.new_games(rules, 1)
    batch.step(rules, state, np.array([0]))
    with pytest.raises(KalahError, match="truncated by ply_limit"):
        text.parse_move(rules, state[0], "1")


@pytest.mark.parametrize(
    "actions", [[0, 1], [0, -1], [0, 3], [0, 2]], ids=["empty", "minus", "beyond", "swap"]
)
def test_illegal_action_leaves_all_games_unchanged(actions):
    states = np.stack([text.parse_position(p, SMALL) for p in ("<2,0,0,1,1,1,1> S", "<2,0,0,1,0,1,1> S")])
    before = states.copy()
    with pytest.raises(KalahError, match=rf"game 1: action {actions[1]} is illegal; legal are \[0\]"):
        batch.step(SMALL, states, np.array(actions))
    np.testing.assert_array_equal(states, before)


def test_step_after_the_end_is_illegal():
    rules = parse_rules("kalah:pits=2,early_stop=keep")  # its last board still holds seeds
    states = text.parse_position("<2,5,0,1,1,1,1> S", rules)[None]
    with pytest.raises(KalahError, match=r"game 0: action 0 is illegal; legal are \[\]"):
        batch.step(rules, states, np.array([0]))


@pytest.mark.parametrize("actions", [[0], [0, 0, 0], [[0], [0]], 0, [0.5, 0.0]])
def test_step_refuses_actions_that_do_not_fit(actions):
    states = batch.new_games(SMALL, 2)
    with pytest.raises(KalahError, match="actions"):
        batch.step(SMALL, states, np.array(actions))


@pytest.mark.parametrize("pits", [1, 3])
def test_states_of_another_board_are_refused(pits):
    states = batch.new_games(parse_rules(f"kalah:pits={pits}"), 2)
    with pytest.raises(KalahError, match="states of shape"):
        batch.legal_masks(SMALL, states)
    with pytest.raises(KalahError, match="states of shape"):
        batch.step(SMALL, states, np.array([0, 0]))
    with pytest.raises(KalahError, match="states of shape"):
        batch.step(SMALL, states[0], np.array([0]))


def test_moves_as_text():
    state = text.parse_position("<2,0,0,0,1,1,1> N swap", SMALL)
    assert text.legal_moves(SMALL, state) == ["1", "2", "swap"]
    assert [text.parse_move(SMALL, state, move) for move in ("1", "2", "swap")] == [0, 1, 2]
    assert [text.format_move(SMALL, action) for action in range(3)] == ["1", "2", "swap"]


@pytest.mark.parametrize(
    ("spec", "moves"),
    [
        ("kalah:pits=2", "1 2"),
        ("kalah:pits=2,directions=2", "1+ 2+ 1- 2-"),
        ("hus:pits=2", "1 2 3 4"),
        ("bao-philos:pits=2", "1+ 2+ 3+ 4+ 1- 2- 3- 4-"),
        ("bao-philos:pits=1,pie=true", "1+ 2+ 1- 2- swap"),
    ],
)
def test_moves_of_all_directions_and_rows(spec, moves):
    rules = parse_rules(spec)
    actions = range(num_actions(rules))
    assert " ".join(text.format_move(rules, action) for action in actions) == moves
    start = batch.new_games(rules, 1)[0]
    assert text.legal_moves(rules, start) == [move for move in moves.split() if move != "swap"]
    assert [text.parse_move(rules, start, m) for m in moves.split() if m != "swap"] == [*actions][
        : len(actions) - rules.pie
    ]


@pytest.mark.parametrize("move", ["1", "1++", "+1", "5+", "1 +", "swap"])
def test_illegal_move_of_two_directions(move):
    with pytest.raises(KalahError, match=r"legal: 1\+, 2\+, 3\+, 4\+, 1-, 2-, 3-, 4-\."):
        text.parse_move(RINGS, batch.new_games(RINGS, 1)[0], move)


@pytest.mark.parametrize(
    ("spec", "move", "hint"),
    [
        (
            "bao-philos",
            "5",
            r"move '5' says no direction: 5\+ is counter-clockwise, 5- clockwise; legal: 1\+",
        ),
        ("bao-philos", "0", r"'0' is illegal in <[^>]*> S first; legal: 1\+"),
        ("kalah", "5+", "move '5\\+' says a direction, of which these rules have one: write 5; legal: 1, 2"),
        ("kalah", "7-", r"'7-' is illegal in <[^>]*> S first; legal: 1, 2"),
        ("kalah", "7", r"'7' is illegal in <[^>]*> S first; legal: 1, 2"),
    ],
)
def test_a_move_with_or_without_direction_gets_a_hint(spec, move, hint):
    rules = parse_rules(spec)
    with pytest.raises(KalahError, match=hint):
        text.parse_move(rules, batch.new_games(rules, 1)[0], move)


@pytest.mark.parametrize("spec", ["kalah", "hus", "kalah:pie=true"])
def test_start_is_a_position(spec):
    rules = parse_rules(spec)
    assert text.parse_position(" start", rules).tolist() == batch.new_games(rules, 1)[0].tolist()


@pytest.mark.parametrize("position", ["Start", "begin", "start S"])
def test_what_is_no_position_hears_of_start(position):
    with pytest.raises(KalahError, match=r"is not of the form .*, nor start"):
        text.parse_position(position, parse_rules("kalah"))


@pytest.mark.parametrize("position", [5, None, b"start", ["start"]])
def test_a_position_is_a_text(position):
    with pytest.raises(KalahError, match="give a text such as"):
        text.parse_position(position, parse_rules("kalah"))


@pytest.mark.parametrize(
    ("position", "said"), [("<1,3,1,0,0>", "S"), ("<1,1,3,0,0>", "N"), ("<1,2,2,0,0>", "draw")]
)
def test_winner(position, said):
    rules = parse_rules("kalah:pits=1")
    assert text.winner(rules, text.parse_position(position, rules)) == said


def test_board_drawing():
    state = text.parse_position("<3,12,7,1,2,3,4,5,16> N", parse_rules("kalah:pits=3"))
    rows = [line.split() for line in text.draw_board(parse_rules("kalah:pits=3"), state).splitlines()]
    assert rows == [
        ["3", "2", "1", "North"],
        ["16", "5", "4"],
        ["7", "12"],
        ["1", "2", "3"],
        ["1", "2", "3", "South"],
    ]
    turned = text.draw_board(parse_rules("kalah:pits=3"), state, bottom=engine.NORTH).splitlines()
    assert [line.split() for line in turned[1:4]] == [["3", "2", "1"], ["12", "7"], ["4", "5", "16"]]


def test_board_drawing_of_two_rows():
    rules = parse_rules("bao-philos:pits=3")
    state = text.parse_position("<2x3,0,0,11,12,13,14,15,16,21,22,23,24,25,26> S", rules)
    # The ring runs leftwards along the front row and rightwards along the back row of its owner.
    from_south = ["6 5 4 North", "26 25 24", "21 22 23", "1 2 3", ""]
    from_south += ["3 2 1", "13 12 11", "14 15 16", "4 5 6 South"]
    from_north = ["6 5 4 South", "16 15 14", "11 12 13", "1 2 3", ""]
    from_north += ["3 2 1", "23 22 21", "24 25 26", "4 5 6 North"]
    for bottom, rows in ((engine.SOUTH, from_south), (engine.NORTH, from_north)):
        drawing = text.draw_board(rules, state, bottom)
        assert [" ".join(line.split()) for line in drawing.splitlines()] == rows


_PIECES = st.sampled_from(["<", ">", ",", "2", "0", "1", "S", "N", "first", "swap", " ", "<2,0,0,1,1,1,1>"])
_WORDS = st.text() | st.lists(_PIECES | st.text(max_size=3), max_size=12).map("".join)


@given(_WORDS)
@example("<2,0,0,1,1,1,1> SN")
@example("<2,0,0,1,1,1,\udcff> S")  # an undecodable byte of a command line
def test_only_kalah_errors_escape(words):
    state = result_or_none(text.parse_position, words, SMALL)
    if state is None:
        state = text.parse_position("<2,0,0,0,1,1,1> N swap", SMALL)
    else:
        letter = text.format_position(SMALL, state).partition("> ")[2][0]
        assert words.partition(">")[2].split()[:1] in ([], [letter])
    action = result_or_none(text.parse_move, SMALL, state, words)
    assert action is None or text.format_move(SMALL, action) == words
