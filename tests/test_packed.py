"""Packed boards against the engine: sowing, end, left-over seeds, and the numbers of positions."""

from math import comb

import numpy as np
import pytest
from packable import COMBINATIONS, boards, make_state, random_boards

from agents import packed
from kalah_env import batch, engine, parse_rules
from kalah_env.rules import Rules


def _margin(state: np.ndarray, rules: Rules, side: int) -> int:
    return int(engine.margin(rules, state)) * (1 if side == 0 else -1)


def _cases(combinations: list[str], count: int):
    """Yield rules, side to move and a board (2, P): own pits, the other's."""
    rng = np.random.default_rng(4)
    for number, combination in enumerate(combinations):
        pits = 1 + number % packed.MAX_PITS
        rules = parse_rules(f"kalah:pits={pits},{combination}")
        most = (6, 20, 60, packed.MAX_SEEDS)[int(rng.integers(4))]
        for board in random_boards(rng, pits, count, most):
            yield rules, int(rng.integers(2)), board


def test_moves_and_ends_are_those_of_the_engine():
    kinds = set()
    for rules, side, (mine, his) in _cases(COMBINATIONS, 6):
        state = make_state(rules, mine, his, side)
        own, other = packed.pack(rules, make_state(rules._replace(end=1), mine, his, side))
        over = batch.statuses(rules, state) == engine.OVER
        if mine.any():  # else the copy without `end=either` is over, too, and has been emptied
            assert packed.is_over(rules, own, other) == over
        if over:
            continue
        sowing = packed.sowing_table(rules, int(mine.sum() + his.sum()))
        for pit in np.flatnonzero(mine):
            child = state.copy()
            captured = engine.play(rules, child, int(pit))
            first, second, gained, again = packed.play(rules, sowing, own, other, int(pit))
            to_move = (first, second) if again else (second, first)
            ended = batch.statuses(rules, child) == engine.OVER
            assert packed.is_over(rules, *to_move) == ended
            if ended:
                rest = int(packed.leftover(rules, *to_move))
                assert gained + (rest if again else -rest) == _margin(child, rules, side)
            else:
                assert to_move == packed.pack(rules, child)
                assert again == (batch.sides(rules, child) == side)
                assert gained == _margin(child, rules, side)
            kinds.add((bool(again), bool(ended), bool(captured)))
    assert len(kinds) == 8  # every combination was met


def test_compiled_and_plain_python_agree():
    for rules, _, (mine, his) in _cases(COMBINATIONS[::9], 3):
        own, other = packed.pack(rules, make_state(rules._replace(end=1), mine, his))
        seeds = int(mine.sum() + his.sum())
        sowing, ranks = packed.sowing_table(rules, seeds), packed.rank_table(rules, seeds)
        for function in (packed.is_over, packed.leftover):
            assert function(rules, own, other) == function.py_func(rules, own, other)
        with np.errstate(over="ignore"):  # ranks are meant modulo 2^64
            assert packed.rank(ranks, own, other) == packed.rank.py_func(ranks, own, other)
        for pit in np.flatnonzero(mine):
            arguments = (rules, sowing, own, other, int(pit))
            assert packed.play(*arguments) == packed.play.py_func(*arguments)


@pytest.mark.parametrize(("pits", "most"), [(1, 127), (2, 12), (3, 7), (6, 3), (8, 2)])
def test_ranks_have_no_gaps_and_fewer_seeds_come_first(pits, most):
    rules = parse_rules(f"kalah:pits={pits}")
    ranks = packed.rank_table(rules, most)
    found: dict[int, set[int]] = {}
    for board in boards(2 * pits, most):
        # Rows are packed by hand, since an empty one would end the game.
        own, other = (sum(n << 8 * i for i, n in enumerate(row)) for row in (board[:pits], board[pits:]))
        found.setdefault(sum(board), set()).add(int(packed.rank(ranks, own, other)))
    for seeds, numbers in found.items():
        first = comb(seeds - 1 + 2 * pits, 2 * pits)
        assert numbers == set(range(first, packed.count_positions(rules, seeds)))


def test_ranks_of_the_largest_boards_are_exact_modulo_a_word():
    rules, rng = parse_rules("kgp:early_stop=no"), np.random.default_rng(5)
    ranks = packed.rank_table(rules, packed.MAX_SEEDS)
    for board in random_boards(rng, 8, 300, packed.MAX_SEEDS):
        own, other = (sum(int(n) << 8 * i for i, n in enumerate(row)) for row in board)
        sums = np.cumsum(board.ravel()).tolist()
        exact = sum(comb(s + k, k + 1) for k, s in enumerate(sums))
        assert int(packed.rank(ranks, own, other)) % 2**64 == exact % 2**64


def test_a_board_is_packed_for_the_side_to_move():
    rules = parse_rules("kalah:pits=3")
    south, north = 1 + (2 << 8) + (3 << 16), 4 + (5 << 8) + (127 << 16)
    assert packed.pack(rules, make_state(rules, [1, 2, 3], [4, 5, 127])) == (south, north)
    assert packed.pack(rules, make_state(rules, [4, 5, 127], [1, 2, 3], side=1)) == (north, south)
    # What does not fit a byte is no other small board either.
    own, other = packed.pack(rules, make_state(rules, [256, 300, 0], [0, 0, 1]))
    assert (own & 255, other) == (255, 1 << 16)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("hus", "rows"),
        ("kalah:pits=9", "pits"),
        ("openspiel-oware", "sow_store"),
        ("kgp", "early_stop"),
        ("kalah:directions=2", "directions"),
        ("kalah:capture=count", "capture"),
        ("kalah:must_feed=true", "must_feed"),
        ("kalah:min_seeds=2", "min_seeds"),
        ("kalah:win=move", "win"),
        ("kalah:ply_limit=90", "ply_limit"),
    ],
)
def test_rules_that_do_not_fit_are_named(spec, word):
    assert (packed.unsuitable(parse_rules(spec)) or "").startswith(f"they need {word}")
    assert packed.unsuitable(parse_rules("danish:pits=8,pie=true,first_again=false")) is None
