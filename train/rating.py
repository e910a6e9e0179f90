"""Ratings from results: Elo by maximum likelihood, and the interval of a paired score.

Pure functions of counts; playing is `arena.py`. The model is Bradley-Terry with a draw as half a
win: a rating difference of d Elo means an expected score of 1 / (1 + 10^(-d/400)). All games count
at once, so their order does not matter (Bradley & Terry, Biometrika 39, 1952; Hunter, Ann. Stat. 32,
2004). Ratings have mean 0. A normal prior of 1000 Elo round that mean keeps scores of 0 % and 100 %
finite; at 75 % of 200 games it moves the difference by less than 0.1 Elo. Intervals are 95 %.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

Array = np.ndarray

NAT = 400 / math.log(10)  # Elo per unit of log odds
PRIOR_SD = 1000 / NAT
Z = 1.959964  # 97.5 % of the standard normal lies below


class Rating(NamedTuple):
    """One player's Elo, and where it lies with 95 % confidence."""

    elo: float
    low: float
    high: float


def elo_difference(score: float) -> float:
    """Return the Elo difference at which `score` (between 0 and 1) is the expected score."""
    return float(NAT * special.logit(score))


def expected_score(difference: float) -> float:
    """Return the expected score of a player who is `difference` Elo better."""
    return float(special.expit(difference / NAT))


def score_interval(pair_scores: Array) -> tuple[float, float]:
    """Return the 95 % interval of the mean of `pair_scores: (K,)`, each the mean of one opening's games.

    Two games of one opening are not independent, so the spread is taken over pairs. Two won and two
    lost pairs are added first ("plus four", Agresti & Coull, Am. Stat. 52, 1998): so the width never
    is zero, also where all pairs scored the same.
    """
    padded = np.concatenate((pair_scores, (0.0, 0.0, 1.0, 1.0)))
    half = Z * padded.std() / math.sqrt(len(padded))
    return max(0.0, float(padded.mean() - half)), min(1.0, float(padded.mean() + half))


def fit_elo(points: Array) -> list[Rating]:
    """Return the rating of each player; points: (K, K), [i, j] = wins plus half the draws of i over j.

    The intervals are those of the profile likelihood, so they are skewed near 0 % and 100 %. They
    take all games as independent; draws make them wider than need be.
    """
    players = len(points)
    best, ratings = _fit(points, np.zeros(players), _zero_sum(np.arange(players), players))
    return [_rating(points, i, float(ratings[i]), best) for i in range(players)]


def _rating(points: Array, player: int, at: float, best: float) -> Rating:
    """Widen `at` to both sides until the likelihood, the others refitted, has dropped by Z^2 / 2."""
    players = len(points)
    others = np.delete(np.arange(players), player)
    basis = _zero_sum(others, players)
    direction = np.full(players, -1 / (players - 1))
    direction[player] = 1.0

    def excess(value: float) -> float:
        return _fit(points, value * direction, basis)[0] - best - Z * Z / 2

    ends = []
    for sign in (-1, 1):
        step = 0.1
        while excess(at + sign * step) < 0:  # the prior makes this end
            step *= 2
        ends.append(optimize.brentq(excess, at, at + sign * step, xtol=1e-6))
    return Rating(NAT * at, NAT * float(ends[0]), NAT * float(ends[1]))


def _zero_sum(members: Array, players: int) -> Array:
    """Return a basis (players, len(members) - 1) of the ratings of `members` that sum to zero."""
    basis = np.zeros((players, len(members) - 1))
    basis[members[:-1], np.arange(len(members) - 1)] = 1.0
    basis[members[-1]] = -1.0
    return basis


def _fit(points: Array, fixed: Array, basis: Array) -> tuple[float, Array]:
    """Minimise the negative log posterior over `fixed + basis @ z`; return it and the ratings in nats.

    Newton's method: the function is convex, and steps that do not go down are halved.
    """
    games = points + points.T
    ratings = fixed
    value = _loss(points, ratings)
    while basis.shape[1]:
        chance = special.expit(ratings[:, None] - ratings)
        gradient = basis.T @ ((games * chance - points).sum(axis=1) + ratings / PRIOR_SD**2)
        weight = games * chance * (1 - chance)
        hessian = basis.T @ (np.diag(weight.sum(axis=1) + 1 / PRIOR_SD**2) - weight) @ basis
        step = np.linalg.solve(hessian, gradient)
        # Twice what is left to gain; intervals ask for 1.92. Below, `value` itself is no more exact.
        if gradient @ step < 1e-10 * max(1.0, value):
            break
        while (lower := _loss(points, ratings - basis @ step)) > value:
            step /= 2
        ratings, value = ratings - basis @ step, lower
    return value, ratings


def _loss(points: Array, ratings: Array) -> float:
    odds = ratings[:, None] - ratings
    return float(-(points * special.log_expit(odds)).sum() + (ratings**2).sum() / (2 * PRIOR_SD**2))
