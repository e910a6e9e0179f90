"""Reading a network's heads, without torch: utilities of many positions at once.

What the heads are: `network.py`. Every loop goes over the positions, which stand side by side, so that
the compiler makes vector instructions of it.
"""

import numpy as np

from kalah_env.jit import inlined, njit

_LOG2_E = np.float32(1.4426950408889634)
# 2^x between -1/2 and 1/2, highest power first: the Taylor series, 1e-7 off at most.
_EXP2 = tuple(np.float32(np.log(2) ** k / np.prod(np.arange(1.0, k + 1))) for k in range(6, -1, -1))
_LEAST = np.float32(-87.0)  # e^x is the least normal number about there


@inlined
def fast_exp(x):
    """Return e^x of a float32 below 88, to a relative error of about 1e-6; e^-87 below -87."""
    t = max(x, _LEAST) * _LOG2_E
    whole = np.floor(t + np.float32(0.5))
    rest = t - whole
    power = _EXP2[0]
    for i in range(1, len(_EXP2)):
        power = power * rest + _EXP2[i]
    # 2^whole: a float's exponent stands behind 23 bits and counts from -127
    return power * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


@inlined
def _softmax_mean(logits, worth, low, step, top, total):
    """Write the mean of low + step * bin into `worth: (B,)`, bins drawn by the softmax of logits (M, B)."""
    bins, count = logits.shape
    for b in range(count):
        top[b] = logits[0, b]
    for k in range(1, bins):
        for b in range(count):
            top[b] = max(top[b], logits[k, b])
    for b in range(count):
        worth[b] = total[b] = np.float32(0)
    for k in range(bins):
        centre = np.float32(low + step * k)
        for b in range(count):
            chance = fast_exp(logits[k, b] - top[b])
            total[b] += chance
            worth[b] += centre * chance
    for b in range(count):
        worth[b] /= total[b]


@njit
def _utilities(outcome, margin, facts, seeds, sign_weight, values):
    count = values.shape[0]
    step = 2 * seeds // (margin.shape[0] - 1)
    remaining, top, total = (
        np.empty(count, np.float32),
        np.empty(count, np.float32),
        np.empty(count, np.float32),
    )
    _softmax_mean(margin, remaining, -seeds, step, top, total)
    _softmax_mean(outcome, values, 1, -1, top, total)  # win, draw, loss
    for b in range(count):
        final = remaining[b] + (facts[b, 1] - seeds) % step + facts[b, 0]
        values[b] = sign_weight * values[b] + (1.0 - sign_weight) * final / facts[b, 2]


def utilities(
    outcome: np.ndarray, margin: np.ndarray, facts: np.ndarray, seeds: int, sign_weight: float
) -> np.ndarray:
    """Return the utility (B,) float32 for the mover.

    outcome: (3, B) logits of win, draw, loss; margin: (M, B) logits; facts: (B, 3) of `encode`. Utility =
    sign_weight (P(win) - P(loss)) + (1 - sign_weight) (expected final margin / half of all seeds).
    """
    values = np.empty(len(facts), np.float32)
    rows = (np.ascontiguousarray(head, np.float32) for head in (outcome, margin))
    _utilities(*rows, facts, seeds, sign_weight, values)
    return values
