"""Game records and the description of a position: answers key for key, and bad records."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Game
from strategies import result_or_none, specs

from kalah_env import batch, text
from kalah_env.errors import KalahError
from kalah_env.records import Record, describe, format_record, parse_record, play_moves, replay
from kalah_env.rules import format_rules, parse_rules

TINY = "kalah:pits=2,seeds=1"


def _described(spec: str, position: str | None, *moves: str) -> dict:
    rules = parse_rules(spec)
    state = batch.new_games(rules, 1)[0] if position is None else text.parse_position(position, rules)
    return describe(rules, state, *play_moves(rules, state, moves))


@pytest.mark.parametrize(
    ("spec", "position", "moves", "answer"),
    [
        (  # no move: the position is described
            TINY,
            None,
            [],
            ["<2,0,0,1,1,1,1> S first", [], "S", False, False, False, None, ["1", "2"]],
        ),
        (  # a bonus move
            TINY,
            None,
            ["2"],
            ["<2,1,0,1,0,1,1> S", [0], "S", True, False, False, None, ["1"]],
        ),
        (  # a capture counts the capturing seed; swept seeds are not captured
            TINY,
            None,
            ["2", "1"],
            ["<2,3,1,0,0,0,0> S", [0, 2], None, False, True, False, [3, 1, "S"], []],
        ),
        (  # the last seed in the store ends the game: no further move is earned
            TINY,
            "<2,1,3,0,1,1,0> S",
            ["2"],
            ["<2,2,4,0,0,0,0> S", [0], None, False, True, False, [2, 4, "N"], []],
        ),
        (  # already decided
            TINY,
            "<2,2,1,0,0,1,0> N",
            [],
            ["<2,2,2,0,0,0,0> N", [], None, False, True, False, [2, 2, "draw"], []],
        ),
        (  # truncated after a bonus move: nobody is to move
            f"{TINY},ply_limit=1",
            None,
            ["2"],
            ["<2,1,0,1,0,1,1> S", [0], None, False, False, True, None, []],
        ),
        (  # faced seeds only
            f"{TINY},capture_takes=faced",
            "<2,0,0,1,0,3,1> S",
            ["1"],
            ["<2,3,0,0,1,0,1> N", [3], "N", False, False, False, None, ["2"]],
        ),
        (  # swap: side to move stays, the player changes, so it is no further move
            f"{TINY},pie=true",
            "<2,0,0,1,0,3,1> N swap",
            ["swap"],
            ["<2,0,0,1,0,3,1> N", [0], "N", False, False, False, None, ["1", "2"]],
        ),
    ],
)
def test_describe(spec, position, moves, answer):
    found = _described(spec, position, *moves)
    keys = ["position", "captured", "next", "again", "over", "truncated", "result", "legal"]
    if answer[6]:
        answer[6] = dict(zip(("south", "north", "winner"), answer[6], strict=True))
    assert json.loads(json.dumps(found)) == dict(zip(keys, answer, strict=True))


def test_play_moves_stops_at_an_illegal_one():
    rules = parse_rules(TINY)
    state = batch.new_games(rules, 1)[0]
    with pytest.raises(KalahError, match="move '2' is illegal"):
        play_moves(rules, state, ["2", "2"])
    assert text.format_position(rules, state) == "<2,1,0,1,0,1,1> S"


WHOLE = [
    ("2", "<2,1,0,2,0,3,2> N", "N"),
    ("2", "<2,1,1,3,0,3,0> S", "S"),
    ("1", "<2,2,1,0,1,4,0> N", "N"),
    ("1", "<2,2,2,1,2,0,1> S", "S"),
    ("1", "<2,2,2,0,3,0,1> N", "N"),
    ("2", "<2,5,3,0,0,0,0> N", None),
]


def _whole(*more: str, start: str | None = None) -> dict:
    moves = tuple(move for move, _, _ in WHOLE)
    return replay(Record(parse_rules("kalah:pits=2,seeds=2"), start, (*moves, *more)))


def test_replay_of_a_whole_game():
    assert _whole() == _whole(start="<2,0,0,2,2,2,2> S first")
    assert json.loads(json.dumps(_whole())) == {
        "positions": [position for _, position, _ in WHOLE],
        "next": [side for _, _, side in WHOLE],
        "result": {"south": 5, "north": 3, "winner": "S"},
        "error": None,
    }


def test_replay_stops_before_an_illegal_move():
    answer = replay(Record(parse_rules("kalah:pits=2,seeds=2"), None, ("2", "2", "2", "1")))
    assert answer["positions"] == [position for _, position, _ in WHOLE[:2]]
    assert answer["next"] == ["N", "S"]
    assert answer["result"] is None
    assert answer["error"]["ply"] == 3
    assert "legal: 1." in answer["error"]["why"]


def test_replay_reports_a_move_after_the_end():
    answer = _whole("1")
    assert len(answer["positions"]) == len(WHOLE)
    assert answer["result"] == {"south": 5, "north": 3, "winner": "S"}
    assert answer["error"] == {"ply": 7, "why": "move '1' is illegal: the game is over."}


@given(specs(ply_limit="60"), st.randoms(use_true_random=False))
def test_random_records_replay_as_the_oracle_plays(spec, rng):
    game, moves, seen = Game(spec), [], []
    while legal := game.legal():
        moves.append(rng.choice(legal))
        game.play(moves[-1])
        seen.append((game.text(), game.mover if game.legal() else None))
    record = parse_record(json.dumps({"rules": spec, "moves": moves}))
    assert parse_record(format_record(record)) == record
    answer = replay(record)
    assert list(zip(answer["positions"], answer["next"], strict=True)) == seen
    assert answer["error"] is None
    winner = "draw" if game.margin == 0 else "S" if game.margin > 0 else "N"
    south, north = (game.board.stores[side].seeds for side in "SN")
    result = {"south": south, "north": north, "winner": winner}
    assert answer["result"] == (result if game.over else None)


def test_format_record():
    record = Record(parse_rules("kalah:pits=2,seeds=1"), "<2,0,0,1,1,1,1> N", ("1", "2"))
    line = format_record(record)
    assert json.loads(line) == {
        "rules": "kalah:pits=2,seeds=1",
        "start": "<2,0,0,1,1,1,1> N",
        "moves": ["1", "2"],
    }
    assert "\n" not in line
    assert parse_record(line) == record
    assert "start" not in json.loads(format_record(Record(record.rules)))


def test_notes_are_not_read():
    line = '{"rules": "kalah", "moves": [], "id": 3, "source": {"a": []}, "comment": null}'
    assert parse_record(line) == Record(parse_rules("kalah"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "neither JSON"),
        ("{", "neither JSON"),
        ("[" * 100_000, "neither JSON"),
        ('{"rules": ' + "9" * 5000 + "}", "neither JSON"),
        ("[]", "object is needed, not list"),
        ("null", "object is needed, not NoneType"),
        ("{}", "'rules' is missing"),
        ('{"rules": "kalah"}', "'moves' is missing"),
        ('{"moves": []}', "'rules' is missing"),
        ('{"rules": "kalah", "moves": [], "strat": "<1,0,0,1,1>"}', "no key 'strat'"),
        ('{"rules": "kalah", "moves": ["1"], "moves": []}', "stands twice"),
        ('{"rules": 4, "moves": []}', "'rules' is a text"),
        ('{"rules": "kalah", "moves": [], "start": null}', "'start' is a position's text"),
        ('{"rules": "kalah", "moves": "36"}', "'moves' is a list"),
        ('{"rules": "kalah", "moves": [3, 6]}', "'moves' is a list"),
        ('{"rules": "chess", "moves": []}', "no preset 'chess'"),
        ('{"rules": "kalah", "moves": [], "start": "<2,0,0,1,1,1,1> S"}', "has '2' pits a row, the rules 6"),
    ],
)
def test_bad_record(line, said):
    with pytest.raises(KalahError) as caught:
        parse_record(line)
    assert said in str(caught.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["kalah", "1", "swap"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["rules", "start", "moves", "id", "x"]), inner, max_size=4)
    ),
)


@given(st.text() | _JSON.map(json.dumps) | st.lists(st.text()).map(lambda m: _line(moves=m)))
def test_only_kalah_errors_escape(line):
    record = result_or_none(parse_record, line)
    if record is None:
        return
    answer = replay(record)
    assert len(answer["positions"]) == len(record.moves) or answer["error"]
    assert format_rules(record.rules) in format_record(record)


def _line(**keys) -> str:
    return json.dumps({"rules": "kalah", **keys})
