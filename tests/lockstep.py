"""Random games that several players of the rules must play alike: compiled, batch, plain Python, oracle.

`engine_games` plays them with the scalar engine; `test_engine.py` holds the others against it, one of
them in a second process without compiler. Which rules: every preset, several sizes, random options.
"""

import hashlib
import json
import random
from collections.abc import Iterable, Iterator

import numpy as np
from strategies import option_words, spec_or_none

from kalah_env import batch, engine, text
from kalah_env.rules import OPTIONS, PRESET_NAMES, parse_rules, side_pits

MOST_PLIES = 550  # with ply_limit=0 a game may go on for ever where no store is sown
SIZES = ((1, 1), (1, 12), (2, 3), (3, 12), (6, 4), (12, 12))


def _random_specs(count: int) -> list[str]:
    rng, specs = random.Random(20), []
    while len(specs) < count:
        changes = {"pits": str(rng.randint(1, 7)), "seeds": str(rng.randint(1, 9))}
        for option in OPTIONS:
            if option.name not in changes and rng.random() < 0.35:
                changes[option.name] = rng.choice(option_words(option))
        spec = spec_or_none(rng.choice(PRESET_NAMES), changes)
        specs += [spec] if spec else []
    return specs


def specs_and_games(games: int) -> dict[str, int]:
    """Return rules texts and how many games to play: `games` a preset, half of them on other sizes."""
    counts = dict.fromkeys(PRESET_NAMES, games // 2)
    for name in PRESET_NAMES:
        sized = (spec_or_none(name, {"pits": str(p), "seeds": str(s)}) for p, s in SIZES)
        counts |= dict.fromkeys(filter(None, sized), max(3, games // 2 // len(SIZES)))
    return counts | dict.fromkeys(_random_specs(games // 2), 3)


def start_of(spec: str, number: int) -> str | None:
    """Return the start of a game: None (the usual one), every third `first`, every third in mid-game."""
    rules, rng = parse_rules(spec), random.Random(f"{spec} {number}")
    if number % 3 == 0:
        return None
    word = " first" if number % 3 == 1 else " swap" if rules.pie else ""
    pits = side_pits(rules)
    most = rng.choice((1, 3, 2 * pits + 2, 30))
    stores = [0, 0] if rules.rows == 2 else [rng.randint(0, 9) for _ in "SN"]
    counts = stores + [rng.randint(0, most) for _ in range(2 * pits)]
    size = rules.pits if rules.rows == 1 else f"2x{rules.pits}"
    return f"<{size},{','.join(map(str, counts))}> {rng.choice('SN')}{word}"


def engine_games(spec: str, games: int) -> Iterator[list[list]]:
    """Play `games` random games; of each, yield a list of [action, captured, state, mask] by ply.

    The first entry is the start; its action is -1.
    """
    rules = parse_rules(spec)
    mask = np.zeros(engine.pit_actions(rules) + rules.pie, np.int8)
    for number in range(games):
        rng, start = random.Random(f"{spec} {number} moves"), start_of(spec, number)
        state = batch.new_games(rules, 1)[0] if start is None else text.parse_position(start, rules)
        action, captured, seen = -1, 0, []
        while True:
            engine.legal_mask(rules, state, mask)
            seen.append([action, int(captured), state.tolist(), mask.tolist()])
            if not mask.any() or len(seen) > MOST_PLIES:
                break
            action = rng.choice(np.flatnonzero(mask).tolist())
            captured = engine.play(rules, state, action)
        yield seen


def digest(games: Iterable[list[list]]) -> str:
    """Return a hash of all that was seen in some games."""
    found = hashlib.sha256()
    for seen in games:
        found.update(json.dumps(seen).encode())
    return found.hexdigest()
