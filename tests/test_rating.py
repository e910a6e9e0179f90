"""Ratings against closed forms, known strengths, and the coverage that an interval promises.

Played games are not needed here; that draws and truncated games count half is in `test_arena.py`.
What the numbers mean: `train/rating.py`.
"""

import numpy as np
import pytest

from train.rating import NAT, PRIOR_SD, elo_difference, expected_score, fit_elo, score_interval

PAIRS = np.array([0, 0.25, 0.5, 0.75, 1])  # what a pair of games can score


def points(wins: int, losses: int) -> np.ndarray:
    return np.array([[0, wins], [losses, 0]], float)


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.75, 190.8485), (10 / 11, 400), (0.36, -99.9510)])
def test_elo_difference_of_a_score(score, elo):
    assert elo_difference(score) == pytest.approx(elo, abs=1e-3)
    assert expected_score(elo) == pytest.approx(score, abs=1e-6)


def test_two_players_get_the_difference_of_their_score():
    a, b = fit_elo(points(150, 50))
    assert a.elo - b.elo == pytest.approx(190.85, abs=0.1)  # the prior takes less than 0.1
    assert a.elo == pytest.approx(-b.elo)
    assert a.low == pytest.approx(-b.high, abs=1e-3)


def test_interval_of_two_players_is_that_of_the_binomial():
    """Far from 0 % and 100 % the profile interval is the normal one: sd = 1 / sqrt(n p (1 - p)) nats."""
    rating = fit_elo(points(50_000, 50_000))[0]
    assert rating.high - rating.low == pytest.approx(2 * 1.959964 * NAT / 2 / np.sqrt(100_000 / 4), rel=1e-3)


def test_whitewash_stays_finite_and_skewed():
    winner, loser = fit_elo(points(200, 0))
    assert 300 < winner.low < winner.elo < winner.high < 3000
    assert winner.high - winner.elo > 2 * (winner.elo - winner.low)
    assert loser.elo == pytest.approx(-winner.elo)


def test_without_games_the_prior_is_left():
    a, b = fit_elo(points(0, 0))
    assert a.elo == pytest.approx(0)
    sd = PRIOR_SD * NAT / np.sqrt(2)  # of (r1 - r2) / 2
    assert a.high == pytest.approx(1.959964 * sd, rel=1e-3)
    assert b.low == pytest.approx(-a.high)


def test_known_strengths_come_back():
    """Exact expected points of strengths -300, 0, 120, 180 in many games give them again."""
    strengths = np.array([-300.0, 0, 120, 180])
    expected = 10_000 * np.vectorize(expected_score)(strengths[:, None] - strengths)
    np.fill_diagonal(expected, 0)
    assert [r.elo for r in fit_elo(expected)] == pytest.approx(list(strengths), abs=0.1)


def test_intervals_cover_known_strengths_in_simulated_results():
    """Guards against an interval of the wrong width. 100 fixed draws x 4 players: 95 % are expected;
    below 90 % or above 99 % would happen by chance less than once in a thousand seeds."""
    rng = np.random.default_rng(7)
    strengths = np.array([-200.0, -20, 70, 150])
    chance = np.vectorize(expected_score)(strengths[:, None] - strengths)
    covered = []
    for _ in range(100):
        wins = np.triu(rng.binomial(40, chance), 1).astype(float)
        results = wins + np.triu(40 - wins, 1).T
        covered += [r.low <= s <= r.high for r, s in zip(fit_elo(results), strengths, strict=True)]
    assert 0.90 < np.mean(covered) < 0.99


def test_order_of_players_does_not_matter_and_the_mean_is_zero():
    rng = np.random.default_rng(1)
    results = rng.integers(0, 60, (5, 5)).astype(float)
    np.fill_diagonal(results, 0)
    order = np.array([3, 0, 4, 1, 2])
    ratings = np.array(fit_elo(results))
    assert ratings[order] == pytest.approx(np.array(fit_elo(results[np.ix_(order, order)])), abs=0.01)
    assert ratings[:, 0].sum() == pytest.approx(0, abs=1e-6)


def test_more_games_narrow_the_interval():
    widths = [fit_elo(points(3 * n, n))[0] for n in (10, 40, 160)]
    widths = [r.high - r.low for r in widths]
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.1)
    assert widths[1] / widths[2] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("score", PAIRS)
@pytest.mark.parametrize("pairs", [1, 10, 100])
def test_score_interval_of_equal_pairs_has_a_width_and_holds_the_score(score, pairs):
    low, high = score_interval(np.full(pairs, score))
    assert 0 <= low <= score <= high <= 1
    assert high - low > 1 / (pairs + 4)


def test_score_interval_pinned():
    """100 of 100 pairs won: the plus-four interval 102/104 +- 1.96 sqrt(102/104 2/104 / 104), cut at 1."""
    assert score_interval(np.ones(100)) == pytest.approx((0.954375, 1.0), abs=1e-6)


def test_score_interval_is_over_pairs_not_games():
    """One win each on every opening says more about the score than openings won or lost as a whole."""
    split, swept = score_interval(np.full(100, 0.5)), score_interval(np.repeat([0.0, 1.0], 50))
    assert (swept[1] - swept[0]) > 4 * (split[1] - split[0])


@pytest.mark.parametrize(
    "chances",
    [(0.25, 0, 0.5, 0, 0.25), (0.05, 0, 0.9, 0, 0.05), (0.1, 0.2, 0.3, 0.25, 0.15), (0, 0, 0.06, 0, 0.94)],
    ids=["independent", "seat decides", "draws", "97 %"],
)
def test_score_interval_covers_the_score(chances):
    """Guards against a wrong spread (variance of games, no root of K). 2,000 fixed draws of 50 pairs:
    95 % are promised; less than 93.5 % would happen by chance once in a thousand seeds."""
    rng = np.random.default_rng(3)
    draws = rng.choice(PAIRS, (2000, 50), p=chances)
    mean = PAIRS @ chances
    assert np.mean([low <= mean <= high for low, high in map(score_interval, draws)]) > 0.935
