"""Games as text: written and read back, held against the rules; and one game in a file."""

import json
import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.saved import load_game, save_game
from kalah_env.errors import KalahError
from kalah_env.game import Game
from kalah_env.notation import (
    GameText,
    check_game,
    format_game,
    format_json,
    parse_games,
    read_any,
    result_text,
)
from kalah_env.records import Record
from kalah_env.rules import parse_rules
from kalah_env.text import legal_moves
from train.cli import main

SPECS = [
    "kalah:pits=3,seeds=2",
    "mankalah:pits=3,seeds=2",
    "hus:pits=3",
    "bao-philos:pits=2",
    "kgp:pits=2,seeds=3",
]
COMMENTS = st.text(
    st.characters(exclude_characters="{}", exclude_categories=["C", "Z"]), min_size=1, max_size=90
)

EXAMPLE = """\
[South "Ann \\"A\\""]
[North "bot:ms=100"]
[Rules "kalah:pits=3,seeds=2"]
[Result "*"]

{a short one} 1. 2, {a free move} 1 1 *
"""


def random_game(spec: str, picks: list[int]) -> Game:
    game = Game(parse_rules(spec))
    for pick in picks:
        if game.running:
            legal = legal_moves(game.rules, game.state)
            game.play(legal[pick % len(legal)])
    return game


@settings(max_examples=80, deadline=None)
@given(
    spec=st.sampled_from(SPECS),
    picks=st.lists(st.integers(0, 99), max_size=25),
    comments=st.dictionaries(st.integers(0, 25), COMMENTS, max_size=4),
    tags=st.dictionaries(st.from_regex(r"[A-Z][a-z]{1,5}", fullmatch=True), COMMENTS, max_size=3),
)
def test_what_is_written_is_read_back(spec: str, picks: list[int], comments: dict, tags: dict) -> None:
    game = random_game(spec, picks)
    comments = {at: said for at, said in comments.items() if at <= len(game.plies)}
    tags = {name: value for name, value in tags.items() if name not in ("Rules", "Start", "Result")}
    told = GameText(game.record(), tags, comments)
    written = format_game(told)
    assert parse_games(written) == [told]
    assert max(map(len, written.partition("\n\n")[2].splitlines())) <= max(
        80, *(len(c) + 2 for c in ["", *comments.values()])
    )
    assert parse_games(written + "\n" + written) == [told, told]


def test_the_example_reads_as_it_looks() -> None:
    (game,) = parse_games(EXAMPLE)
    assert game.record == Record(parse_rules("kalah:pits=3,seeds=2"), None, ("2", "1", "1"))
    assert game.tags == {"South": 'Ann "A"', "North": "bot:ms=100"}
    assert game.comments == {0: "a short one", 1: "a free move"}
    assert format_game(game) == EXAMPLE


@pytest.mark.parametrize(
    ("spec", "start", "moves", "result"),
    [
        ("kalah", None, ["3"], "*"),
        ("kalah", "<6,24,22,0,0,0,0,0,1,0,0,0,0,0,1> S", ["6"], "25-23"),
        ("kalah", "<6,23,23,0,0,0,0,0,1,0,0,0,0,0,1> S", ["6"], "24-24"),
        ("kalah:ply_limit=1", None, ["1"], "*"),
        ("bao-philos:pits=2", "<2x2,0,0,1,2,2,0,0,3,1,1> S", ["3+"], "1-0"),
        ("bao-philos:pits=2", "<2x2,0,0,0,3,1,1,1,2,2,0> N", ["3+"], "0-1"),
    ],
)
def test_results_are_seeds_or_who_won(spec: str, start: str | None, moves: list[str], result: str) -> None:
    assert result_text(Game(parse_rules(spec), start, moves)) == result


WRONG = {
    "[South Ann]": "tag '[South Ann]' is not of the form",
    '[Rules "kalah"] 1. 3': "is not of the form",
    '[South "a"]\n[South "b"]': "tag South stands twice",
    '[South "a"]\n1. 3': "the tag Rules is missing",
    '[Rules "kalahx"]': "kalahx",
    '[Rules "kalah"]\n[Start "<5,1> S"]': "position",
    '[Rules "kalah"]\n1. 7': "illegal at move 1: move '7' is illegal",
    '[Rules "kalah"]\n1. 3 6': "illegal at move 2: '6' is of the same player's turn; join it by a comma",
    '[Rules "kalah"]\n1. 1,2': "illegal at move 2: the comma before '2' says that the same player goes on",
    '[Rules "kalah"]\n1. 1 2 25-23': "the end of the game's text says 25-23; it is *, since",
    '[Rules "kalah"]\n[Result "25-23"]\n1. 1 2 *': "the result is wrong: the tag Result says 25-23; it is *",
    '[Rules "kalah"]\n[Start "<6,24,22,0,0,0,0,0,1,0,0,0,0,0,1> S"]\n1. 6 23-25': "says 23-25; it is 25-23.",
    '[Rules "kalah"]\n1. 3 {open': "a brace is opened and not closed",
    '[Rules "kalah"]\n1. 3, *': "the comma behind the last move joins nothing",
    '[Rules "kalah"]\n1. 3 } 4': "'}' at character",
}


@pytest.mark.parametrize("source", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_with_its_game(source: str) -> None:
    with pytest.raises(KalahError, match=f"^game 2: .*{re.escape(WRONG[source])}"):
        parse_games(f'[Rules "kalah"]\n1. 1 *\n\n{source}\n')


def test_a_wrong_result_is_no_illegal_move(tmp_path, capsys) -> None:
    file = tmp_path / "games"
    file.write_text('[Rules "kalah"]\n[Result "1-0"]\n1. 1 2 *\n\n[Rules "kalah"]\n1. 1 9')
    assert main(["replay", str(file)]) == 1
    out, error = capsys.readouterr()
    plies = [json.loads(line)["error"]["ply"] for line in out.splitlines()]
    assert plies == [None, 2]
    first, second = error.splitlines()
    assert first.endswith(
        "game 1: the result is wrong: the tag Result says 1-0; it is *, since the moves lead to no result."
    )
    assert "game 2: illegal at move 2: move '9'" in second


def test_what_the_format_cannot_hold_is_refused() -> None:
    record = Record(parse_rules("kalah"), None, ("3",))
    for told, said in (
        (GameText(record, {}, {1: "a } b"}), "braces end a comment"),
        (GameText(record, {"Rules": "x"}), "follow from the game"),
        (GameText(record, {"a b": "x"}), "begins with a capital"),
        (GameText(record, {"South": "x\ny"}), "goes over a line's end"),
        (GameText(Record(record.rules, None, ("9",))), "move '9' is illegal"),
    ):
        with pytest.raises(KalahError, match=said):
            format_game(told)


def test_both_forms_are_told_apart_and_turn_into_each_other() -> None:
    line = '{"rules": "kalah", "moves": ["3", "6"], "id": 7, "comment": "south: a, north: b, draw"}'
    ((where, read),) = read_any(["\n", line], "file")
    assert where == "file, line 2"
    assert (read.told.tags, read.told.comments) == (
        {"South": "a", "North": "b", "Id": "7"},
        {0: "south: a, north: b, draw"},
    )
    assert check_game(read) is None
    written = format_game(read.told)
    ((where, again),) = read_any(written.splitlines(keepends=True), "file")
    assert (where, again.told) == ("file, game 1", read.told)
    assert json.loads(format_json(again.told)) == {**json.loads(line), "id": "7"}
    with pytest.raises(KalahError, match=r"^file, line 1: a game as text begins with its tags"):
        list(read_any(["1. 3,6 *"], "file"))
    with pytest.raises(KalahError, match=r"^file, line 2: record: this is neither JSON"):
        list(read_any([line, "{"], "file"))


def test_saving_writes_over_nothing_and_loading_says_what_is_wrong(tmp_path) -> None:
    game = Game(parse_rules("kalah:seeds=5"), "<6,1,0,4,4,4,4,4,4,4,4,4,4,4,4> N", ["2"])
    for name in ("a.txt", "a.jsonl"):
        file = str(tmp_path / name)
        save_game(game, file, {"South": "me"})
        loaded = load_game(file)
        assert (loaded.rules, loaded.start, loaded.moves) == (game.rules, game.start, game.moves)
        with pytest.raises(KalahError, match="exists; nothing is written over"):
            save_game(Game(game.rules), file, {})
        assert load_game(file).moves == ["2"]
    bad = tmp_path / "bad"
    for content, said in (
        (b"", "holds 0 games"),
        (format_game(GameText(game.record())).encode() * 2, "holds 2 games"),
        (b"\xff\xfe", "is not a text in UTF-8"),
        (b'[Rules "kalah"]\n1. 9', "game 1: illegal at move 1"),
        (b" " * 1_000_001, "which is no single game"),
    ):
        bad.write_bytes(content)
        with pytest.raises(KalahError, match=said):
            load_game(str(bad))
    with pytest.raises(KalahError, match="cannot be read"):
        load_game(str(tmp_path / "none"))
    with pytest.raises(KalahError, match="there is no folder"):
        save_game(game, str(tmp_path / "no" / "folder"), {})


def test_the_page_shows_a_game_that_can_be_read() -> None:
    page = (Path(__file__).parent.parent / "docs" / "RECORDS.md").read_text()
    block = page.partition("chess's PGN:\n")[2].partition("\n- **Tags**")[0]
    (game,) = parse_games(textwrap.dedent(block))
    assert len(game.record.moves) == 4
    assert len(game.comments) == 2
