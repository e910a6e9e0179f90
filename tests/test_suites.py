"""Suites: written and read back, halves, and each slip in a file as one sentence with its line."""

import gzip
import json

import numpy as np
import pytest
from families import action_values, random_positions

from kalah_env import KalahError, parse_rules, text
from train import suites
from train.suites import ILLEGAL, Suite, join, load_suite, read_suite, state_key, write_suite

RULES = parse_rules("kalah:pits=3,seeds=2,pie=true")
GOOD = '{"rules":"kalah:pits=2","position":"<2,0,0,1,1,1,1> S","values":{"1":1,"2":2}}'


def _suite(count: int = 9) -> Suite:
    memo: dict = {}
    parts = []
    for number, state in enumerate(random_positions(RULES, 60, plies=5, seed=1)[:count]):
        state = text.parse_position(text.format_position(RULES, state), RULES)
        row = np.full(4, ILLEGAL, np.int64)
        for action, value in action_values(RULES, state, memo).items():
            row[action] = value
        parts.append((state, row, suites.HALVES[number % 2], f"source{number % 3}"))
    return join(RULES, parts, {"suite": "mine", "seed": 7, "command": "kalah label 'x'"})


def test_a_suite_comes_back_and_gives_the_same_bytes(tmp_path):
    suite, first, second = _suite(), tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"
    write_suite(first, suite)
    again = read_suite(first)
    assert again.rules == RULES
    assert np.array_equal(again.states, suite.states)
    assert again.states.dtype == np.int16
    assert np.array_equal(again.values, suite.values)
    assert (again.halves, again.sources) == (suite.halves, suite.sources)
    assert {**again.about, **suite.about} == again.about
    write_suite(second, again)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl.gz", "b.jsonl.gz"]


def test_what_is_written_is_plain_json_lines(tmp_path):
    write_suite(tmp_path / "a.jsonl.gz", _suite())
    head, *lines = gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).decode().splitlines()
    about = {
        "suite": "mine",
        "seed": 7,
        "command": "kalah label 'x'",
        "rules": "kalah:pits=3,seeds=2,pie=true",
    }
    assert json.loads(head) == about
    suite = _suite()
    assert len(lines) == len(suite.states)
    for line, state, row in zip(lines, suite.states, suite.values, strict=True):
        item = json.loads(line)
        assert item["position"] == text.format_position(RULES, state)
        assert list(item["values"]) == text.legal_moves(RULES, state)
        assert sorted(item["values"].values()) == sorted(row[row != ILLEGAL].tolist())


def test_plain_lines_of_others_are_read_and_can_be_written(tmp_path):
    lines = [
        GOOD,
        "",
        GOOD.replace('"rules":"kalah:pits=2",', "").replace("1,1,1,1", "0,2,1,1").replace('"1":1,', ""),
    ]
    path = tmp_path / "theirs.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())  # as some editors write
    suite = read_suite(path)
    assert suite.values.tolist() == [[1, 2], [ILLEGAL, 2]]
    assert suite.states[1].tolist()[:6] == [0, 2, 0, 1, 1, 0]
    assert (suite.halves, suite.sources, suite.about) == (["", ""], ["", ""], {})
    write_suite(tmp_path / "ours.jsonl.gz", suite)
    assert np.array_equal(read_suite(tmp_path / "ours.jsonl.gz").values, suite.values)


def test_rules_may_be_given_beside_the_file(tmp_path):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"position":"<2,0,0,1,1,1,1> S","values":{"1":1,"2":-2}}\n')
    assert read_suite(path, parse_rules("kalah:pits=2")).values.tolist() == [[1, -2]]
    with pytest.raises(KalahError, match="line 1: no rules"):
        read_suite(path)
    path.write_text(GOOD)
    assert (
        len(read_suite(path, parse_rules("openspiel-mancala:pits=2")).states) == 1
    )  # equal but for the name
    with pytest.raises(KalahError, match=r"line 1: the rules are kalah:pits=2, but kalah:pits=3 asked for"):
        read_suite(path, parse_rules("kalah:pits=3"))


def test_values_of_a_swap_are_read(tmp_path):
    path = tmp_path / "swap.jsonl"
    path.write_text('{"position":"<2,0,0,1,1,1,1> N swap","values":{"swap":0,"2":-1,"1":4}}')
    assert read_suite(path, parse_rules("kalah:pits=2,pie=true")).values.tolist() == [[4, -1, 0]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "no JSON"),
        ("position", "no JSON"),
        ("[" * 10**5, "no JSON"),
        ('{"position": ' + "1" * 5000 + "}", "no JSON"),
        ("[1, 2]", "is no object"),
        ("null", "is no object"),
        ("{}", "write"),
        ('{"suite": "late"}', "write"),
        ('{"position": 5, "values": {}}', "write"),
        (GOOD.replace('{"1":1,"2":2}', "[1, 2]"), "write"),
        (GOOD.replace("kalah:pits=2", "nokalah"), "there is no preset"),
        (GOOD.replace('"kalah:pits=2"', "2"), "is no text"),
        (GOOD.replace("pits=2", "pits=2,end=mover"), "a suite has one rule set"),
        (GOOD.replace("<2,", "<3,"), "pits a row"),
        (GOOD.replace("1,1,1,1", "1,1,1"), "numbers"),
        (GOOD.replace("1,1,1,1", "1,1,1,x"), "not a whole number"),
        (GOOD.replace("> S", "> S swap"), "pie=false"),
        (GOOD.replace('"2":2', '"3":2'), "legal are 1, 2"),
        (GOOD.replace(',"2":2', ""), "legal are 1, 2"),
        (GOOD.replace("1,1,1,1", "0,1,1,1"), "legal are 2"),
        (GOOD.replace("1,1,1,1", "0,0,1,1").replace('"1":1,"2":2', ""), "the game is over"),
        (GOOD.replace(":2}", ":5}"), "not a margin of 4 seeds"),
        (GOOD.replace(":2}", ":-5}"), "not a margin of 4 seeds"),
        (GOOD.replace(":2}", ":2.0}"), "not a margin"),
        (GOOD.replace(":2}", ":true}"), "not a margin"),
        (GOOD.replace(":2}", ":NaN}"), "not a margin"),
        (GOOD.replace(":2}", ':"2"}'), "not a margin"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, told):
    path = tmp_path / "bad.jsonl"
    for good in (1, 2):
        path.write_text("\n".join([GOOD] * good + [line, GOOD]))
        with pytest.raises(KalahError) as info:
            read_suite(path)
        assert str(info.value).startswith(f"suite bad.jsonl, line {good + 1}: ")
        assert told in str(info.value)
        assert str(info.value).isprintable()
        assert len(str(info.value)) < 400


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "holds no positions"),
        (b"\n \n", "holds no positions"),
        (b'{"suite": "x", "rules": "kalah"}\n', "holds no positions"),
        (GOOD.encode() + b"\xff\n", "UTF-8"),
        (gzip.compress(GOOD.encode() * 50)[:-5], "cannot be read"),
        (gzip.compress(GOOD.encode())[:10] + b"\xff" * 40, "cannot be read"),
        (b"\x1f\x8b\x08", "cannot be read"),
        (gzip.compress(b"\xff\xff"), "UTF-8"),
    ],
)
def test_a_file_that_is_no_suite_is_refused(tmp_path, data, told):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(data)
    with pytest.raises(KalahError, match=told):
        read_suite(path)
    with pytest.raises(KalahError, match="cannot be read"):
        read_suite(tmp_path)


def test_halves_of_shipped_suites_and_names_that_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "SHIPPED", tmp_path)
    write_suite(tmp_path / "small.jsonl.gz", _suite())
    assert suites.shipped_names() == ["small"]
    whole, tune, test = (load_suite(name) for name in ("small", "small/tune", "small/test"))
    assert len(whole.states) == 9
    assert (set(tune.halves), set(test.halves)) == ({"tune"}, {"test"})
    assert np.array_equal(tune.states, whole.states[::2])
    assert np.array_equal(test.values, whole.values[1::2])
    assert test.sources == whole.sources[1::2]
    for name in ("smal", "small/all", "small/tune/tune", str(tmp_path), ""):
        with pytest.raises(KalahError, match=r"neither a file nor a shipped suite; those are small"):
            load_suite(name)
    own = str(tmp_path / "small.jsonl.gz")
    assert len(load_suite(own).states) == 9
    assert np.array_equal(load_suite(f"{own}/test").states, test.states)
    write_suite(tmp_path / "plain.jsonl", _suite()._replace(halves=[""] * 9))
    with pytest.raises(KalahError, match=r"plain.jsonl has no half tune; give .*plain.jsonl alone"):
        load_suite(f"{tmp_path}/plain.jsonl/tune")


def test_counted_and_seeds():
    rules = parse_rules("kalah:pits=2")
    states = [text.parse_position(f"<2,5,9,{pits}> S", rules) for pits in ("1,2,3,4", "0,2,1,0", "1,1,0,7")]
    values = np.array([[4, 4], [ILLEGAL, -3], [-1, 0]])
    suite = Suite(rules, np.array(states), values, [""] * 3, [""] * 3, {})
    assert suite.counted().tolist() == [False, False, True]
    assert suite.seeds().tolist() == [10, 3, 9]


def test_a_key_leaves_out_stores_and_seats():
    rules = parse_rules("kalah:pits=2")

    def key(position: str) -> bytes:
        return state_key(rules, text.parse_position(position, rules))

    assert key("<2,0,0,1,2,3,4> S") == key("<2,7,1,1,2,3,4> S") == key("<2,0,5,3,4,1,2> N")
    assert len({key(f"<2,0,0,{board}> S") for board in ("1,2,3,4", "3,4,1,2", "1,2,4,3", "2,1,3,4")}) == 4


def test_a_full_disk_leaves_the_old_suite(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl.gz"
    write_suite(path, _suite(3))

    def full(self, data):
        self.open("wb").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_suite(path, _suite())
    assert list(tmp_path.iterdir()) == [path]
    assert len(read_suite(path).states) == 3
