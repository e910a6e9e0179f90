"""A game with moves taken back, and what is said of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.game import Game, say_ply, say_result
from kalah_env.records import play_moves, replay
from kalah_env.rules import parse_rules
from kalah_env.text import format_position, legal_moves

SPECS = ["kalah:pits=3,seeds=2", "mankalah:pits=3,seeds=2", "kalaha-philos:pits=3,seeds=2", "hus:pits=3"]


@settings(max_examples=60, deadline=None)
@given(spec=st.sampled_from(SPECS), picks=st.lists(st.integers(0, 99), min_size=1, max_size=30))
def test_undo_redo_and_go_to_give_the_boards_of_the_game(spec: str, picks: list[int]) -> None:
    rules = parse_rules(spec)
    game, boards = Game(rules), []
    for pick in picks:
        if game.running:
            boards.append(format_position(rules, game.state))
            legal = legal_moves(rules, game.state)
            game.play(legal[pick % len(legal)])
    boards.append(format_position(rules, game.state))
    moves = list(game.moves)
    assert [format_position(rules, game.at(ply)) for ply in range(len(boards))] == boards
    assert replay(game.record())["positions"] == boards[1:]
    for ply in (len(moves), 0, len(moves) // 2, len(moves)):
        game.go_to(ply)
        assert (game.moves, format_position(rules, game.state)) == (moves[:ply], boards[ply])
    game.undo()
    assert format_position(rules, game.state) == boards[-2]
    assert game.redo().move == moves[-1]
    game.undo()
    game.play(moves[-1])  # a move made anew: nothing is left to be made again
    with pytest.raises(KalahError, match="redo: no move has been taken back"):
        game.redo()


def test_what_is_handed_out_is_a_copy() -> None:
    game = Game(parse_rules("kalah"), moves=["3"])
    for state in (game.state, game.at(0), game.at(1)):
        state[:] = 0
    assert game.state.sum() > 40
    assert game.at(0).sum() > 40


def test_refusals_change_nothing() -> None:
    game = Game(parse_rules("kalah"), moves=["3", "6"])
    for call, said in (
        (lambda: game.play("9"), "move '9' is illegal"),
        (lambda: game.go_to(3), r"has the moves 0 \(its start\) to 2"),
        (lambda: game.go_to(-1), r"has the moves 0 \(its start\) to 2"),
        (lambda: Game(game.rules, "<6,1> S"), "position"),
    ):
        with pytest.raises(KalahError, match=said):
            call()
        assert game.moves == ["3", "6"]
    empty = Game(game.rules, "start")
    assert empty.start is None
    with pytest.raises(KalahError, match="undo: no move has been made"):
        empty.undo()


def test_a_swap_changes_the_players_and_undo_changes_them_back() -> None:
    rules = parse_rules("mankalah:pits=3,seeds=2")
    game = Game(rules, moves=["1"])
    assert (game.side, game.mover) == (1, 1)
    swap = game.play("swap")
    assert (swap.side, swap.player, swap.again) == (1, 1, False)
    assert (game.side, game.mover, game.player_at(0)) == (1, 0, 1)
    assert say_ply(swap, "North (you)") == "North (you) swaps: the players change seats."
    game.undo()
    assert (game.side, game.mover, game.player_at(0)) == (1, 1, 0)


def test_words_say_what_a_move_did() -> None:
    rules = parse_rules("kalah")
    again, capture = Game(rules).play("3"), Game(rules, "<6,0,0,0,1,0,4,4,4,4,0,4,5,4,4> S").play("2")
    assert say_ply(again, "South") == "South plays 3, moves again."
    assert say_ply(Game(rules).play("1"), "South") == "South plays 1."
    # Pit 2 ends in the empty pit 3, which faces north's pit 4.
    assert say_ply(capture, "South") == "South plays 2, captures 6 seeds."
    last = Game(rules, "<6,24,22,0,0,0,0,0,1,0,0,0,0,0,1> S", ["6"])
    assert say_result(rules, last.state, ["Ann", "Bob"]) == "The game is over, 25 to 23: Ann wins."
    draw = Game(rules, "<6,23,23,0,0,0,0,0,1,0,0,0,0,0,1> S", ["6"])
    assert say_result(rules, draw.state, ["Ann", "Bob"]) == "The game is over, 24 to 24: a draw."
    with pytest.raises(KalahError, match="still running"):
        say_result(rules, Game(rules).state, ["Ann", "Bob"])


@pytest.mark.parametrize("spec", SPECS)
def test_plies_are_those_of_the_records(spec: str) -> None:
    rules, rng = parse_rules(spec), np.random.default_rng(0)
    game = Game(rules)
    while game.running and len(game.plies) < 60:
        game.play(str(rng.choice(legal_moves(rules, game.state))))
    state = batch.new_games(rules, 1)[0]
    for ply in game.plies:
        assert ply.side == batch.sides(rules, state)
        captured, again = play_moves(rules, state, [ply.move])
        assert (ply.captured, ply.again) == (captured[0], again)
        assert np.array_equal(ply.state, state)
