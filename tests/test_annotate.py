"""Moves of played games are graded right: by plain minimax, in words, in totals, and in the command.

Values themselves are the solver's (`test_solver.py`); suites: `test_grade.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import endgame
from agents.alphabeta.search import UNKNOWN, plain_minimax
from agents.solver import Solution, Solver
from kalah_env import KalahError, batch, engine, parse_rules, text
from train import annotate
from train.cli import main


@pytest.fixture(autouse=True)
def _no_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path / "tables"))


def games_of(spec: str, *games: str, **more: Any) -> list[str]:
    return [json.dumps({"rules": spec, "moves": moves.split(), **more}) for moves in games]


def annotated(lines: list[str], **limits: Any) -> list[annotate.Game]:
    return annotate.annotate(annotate.read_games(lines, "games"), memory=1, **limits)


GAMES = {
    "kalah:pits=3,seeds=2": "3 2 3 1 2 1 1 3",
    "kalah:pits=3,seeds=2,pie=true": "2 3 swap 3 1 2 1 3 2 3 1 1 3",
    "kalah:pits=3,seeds=2,early_stop=keep": "3 1 2 1 2 3 3 2 2",
}


@pytest.mark.parametrize("spec", GAMES)
def test_moves_of_a_game_have_the_values_of_plain_minimax(spec: str) -> None:
    (game,) = annotated(games_of(spec, GAMES[spec]))
    rules = parse_rules(spec)
    state = batch.new_games(rules, 1)[0]
    wrong = 0
    for number, (played, move) in enumerate(zip(GAMES[spec].split(), game.moves, strict=True), 1):
        values = plain_minimax(rules, state, 250)
        legal = values[values != UNKNOWN]
        best, action = int(values.max()), text.parse_move(rules, state, played)
        assert (move.number, move.played) == (number, played)
        assert move.side == batch.sides(rules, state)
        assert move.best_value == (best, best)
        assert move.played_value == (values[action], values[action])
        assert move.best == [text.format_move(rules, int(a)) for a in np.flatnonzero(values == best)]
        assert move.counted == (legal.min() < best)
        assert move.regret == best - values[action]
        assert move.error == (np.sign(values[action]) < np.sign(best))
        wrong += move.error
        engine.play(rules, state, action)
    assert wrong >= 2, "else the test says little"


def test_a_game_in_words() -> None:
    lines = games_of("kalah:pits=2,seeds=2", "2 2 1 1 2 1 1 2", "2 1 1 1 2", "1 2")
    lines += games_of("kalah:pits=3,seeds=2,pie=true", "2 3 swap 3 1 2")
    assert annotate.in_words(annotated(lines)) == [
        "game 1, move 2: North played 2, threw away 4 seeds (best 1): a won game is lost",
        "game 1, move 5: South played 2, threw away 4 seeds (best 1): a won game is lost",
        "game 1, move 6: North played 1, threw away 4 seeds (best 2): a won game is lost",
        "game 2: no move threw away a seed",
        "game 3, move 1: South played 1, threw away 2 seeds (best 2)",
        "game 4, move 2: South played 3, threw away 4 seeds (best 1): a drawn game is lost",
        "game 4, move 6: South played 2, threw away 4 seeds (best 3): a won game is drawn",
    ]


def test_totals_of_games_by_side_and_player() -> None:
    """In the second game the players change seats at move 3: what South then plays is b's."""
    lines = games_of("kalah:pits=2,seeds=2", "2 2 1 1 2 1 1 2", comment="south: a, north: b:x=1,y=2, draw")
    lines += games_of(
        "kalah:pits=3,seeds=2,pie=true", "2 3 swap 3 1 2", comment="south: a, north: b:x=1,y=2, won by a"
    )
    found = annotate.report(games := annotated(lines))
    sides = [move.side for game in games for move in game.moves]
    totals, players = found["totals"], found["players"]
    assert [totals[name]["moves"] for name in ("all", "south", "north")] == [
        14,
        sides.count(0),
        sides.count(1),
    ]
    assert [totals[name]["losing"] for name in ("all", "south", "north")] == [5, 3, 2]
    assert {name: part["losing"] for name, part in players.items()} == {"a": 2, "b:x=1,y=2": 3}
    counted = [move for game in games for move in game.moves if move.counted]
    assert totals["all"]["counted"] == totals["all"]["valued"] == len(counted) < 14
    assert totals["all"]["losing_errors"] == 5 / len(counted)
    assert totals["all"]["mean_regret"] == sum(move.regret or 0 for move in counted) / len(counted)
    assert annotate.report(annotated(games_of("kalah:pits=2,seeds=2", "2 2")))["players"] == {}


def test_what_was_not_solved_is_said_and_counts_in_no_total() -> None:
    lines = games_of("kalah", "3 6 1 2 4 4")
    found = annotated(lines, nodes=1)
    first = found[0].moves[0]
    assert (first.counted, first.regret, first.error, first.best) == (None, None, None, [])
    assert first.best_value[0] < first.best_value[1]
    total = annotate.totals(found)["all"]
    assert (total["moves"], total["not_solved"], total["counted"], total["losing_errors"]) == (6, 6, 0, None)
    (words,) = annotate.in_words(found)[:1]
    assert words.startswith("game 1, moves 1-6: not solved, ")
    assert annotate.in_words(found)[1:] == []


def test_bounds_tell_what_they_can() -> None:
    """Who wins may be proved where the margin is not; a bound that says nothing leaves all open."""
    rules = parse_rules("kalah:pits=3,seeds=2")

    def judge(lows: list[int], highs: list[int], action: int) -> annotate.Move:
        bounds = max(lows), max(highs)
        legal = np.ones(3, bool)
        found = annotate.Solution(
            *bounds, np.array(lows), np.array(highs), legal, [], 0, 0, 0.0, "out of nodes"
        )
        return annotate._judge(rules, found, 1, 0, 0, action)

    lost = judge([1, -12, -12], [12, -1, -1], 1)
    assert (lost.counted, lost.regret, lost.error, lost.best) == (True, None, True, [])
    assert annotate._words(lost) == (
        ", move 1: South played 2, threw away seeds, how many was not solved: a won game is lost"
    )
    fine = judge([1, -12, -12], [12, -1, -1], 0)
    assert (fine.counted, fine.regret, fine.error) == (True, None, False)
    known = judge([4, 2, -12], [4, 2, 4], 1)
    assert (known.counted, known.regret, known.error, known.best) == (True, 2, False, ["1"])
    half = judge([4, -12, 0], [4, 4, 2], 1)
    assert (half.counted, half.regret, half.error) == (True, None, None)
    open_ = judge([0, -12, -12], [12, 12, 12], 1)
    assert (open_.counted, open_.regret, open_.error) == (None, None, None)


def test_a_table_that_is_found_is_used() -> None:
    """A table of nothing but zeros makes every game worth what the stores hold already."""
    rules = parse_rules("kalah:pits=2,seeds=2")
    table = endgame.compute(rules, 8)
    line = games_of("kalah:pits=2,seeds=2", "2 2")
    right = annotated(line)
    endgame.save(table, endgame.path_of(rules, 8))
    assert annotated(line) == right
    endgame.save(table._replace(values=np.zeros_like(table.values)), endgame.path_of(rules, 8))
    assert annotated(line) != right


def test_ctrl_c_ends_it_although_the_solver_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(solver: Solver, *_: object, **limits: object) -> Solution:
        return Solution(-8, 8, np.zeros(2), np.zeros(2), np.ones(2, bool), [], 1, 0, 0.0, "stopped by Ctrl-C")

    monkeypatch.setattr(Solver, "solve", solve)
    with pytest.raises(KeyboardInterrupt):
        annotated(games_of("kalah:pits=2,seeds=2", "2 2"))


GOOD = '{"rules": "kalah:pits=2,seeds=2", "moves": ["2"]}'


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([GOOD, "", '{"rules": "kalah", "moves": ["3", "9"]}'], "games, line 3: illegal at move 2: move '9'"),
        (
            [GOOD, '{"rules": "openspiel-oware", "moves": ["3"]}'],
            "line 2: there are no exact values under openspiel-oware: ",
        ),
        ([GOOD, "{"], "games, line 2: record: this is neither JSON"),
        (["", "  "], "games holds no moves"),
        (['{"rules": "kalah", "moves": []}'], "games holds no moves"),
    ],
)
def test_games_that_cannot_be_graded_are_refused(lines: list[str], words: str) -> None:
    with pytest.raises(KalahError) as caught:
        annotate.read_games(lines, "games")
    assert words in str(caught.value)
    with pytest.raises(KalahError, match="the game is of kalah:pits=2,seeds=2, not of kalah"):
        annotate.read_games([GOOD], "games", parse_rules("kalah"))
    assert len(annotate.read_games([GOOD], "games", parse_rules("kalah:pits=2,seeds=2"))) == 1


def test_the_command_annotates_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("\ufeff" + "\n\n".join(games_of("kalah:pits=2,seeds=2", "2 2", "1 2")), encoding="utf-8")
    words = ["grade", "--games", str(path)]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "game 1, move 2: North played 2, threw away 4 seeds (best 1): a won game is lost"
    assert lines[1] == "game 2, move 1: South played 1, threw away 2 seeds (best 2)"
    assert lines[2] == "2 games, at most 20,000,000 nodes a position; 95 % intervals"
    assert [line.split()[1::2][:4] for line in lines if line[:1] == "│"] == [
        ["all", "4", "0", "3"],
        ["south", "3", "0", "2"],
        ["north", "1", "0", "1"],
    ]
    assert main([*words, "--json", "--seconds", "5.5", "--rules", "kalah:pits=2,seeds=2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["limits"] == {"nodes": None, "seconds": 5.5}
    assert answer["games"][0]["moves"][1] == {
        "move": 2,
        "side": "N",
        "played": "2",
        "best": ["1"],
        "best_value": [2, 2],
        "played_value": [-2, -2],
        "counted": True,
        "regret": 4,
        "losing_error": True,
    }
    assert answer["totals"]["all"]["mean_regret"] == 2
