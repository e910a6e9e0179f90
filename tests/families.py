"""What tests of every family share: a small board of each preset, and exact values of tiny ones.

Values are found by plain minimax with a memory, in Python, so that no search of ours is held against
itself. How a rule works is not tested with these: they trust the engine.
"""

import numpy as np

from kalah_env import batch, engine
from kalah_env.playout import random_action
from kalah_env.rules import PRESET_NAMES, Rules, num_actions, side_pits

_SIZES = {
    "danish": "pits=4,seeds=3",
    "bao-philos": "pits=4",
    "kgp": "pits=3,seeds=3",
    "mankalah": "pits=3,seeds=3",
}
SMALL = {name: f"{name}:{_SIZES.get(name, 'pits=3,seeds=2')}" for name in PRESET_NAMES}
SMALL["hus"] = "hus"  # for its start; a game is short

# One of each family, small enough to be played out in full.
TINY = [
    "kalah:pits=2,seeds=2",
    "kalah:pits=2,seeds=4",
    "kalah:pits=3,seeds=2",
    "kalah:pits=2,seeds=3,pie=true",
    "fairkalah:pits=2,seeds=3",
    "kalah-72:pits=2,seeds=3",
    "ludii-kalah:pits=2,seeds=3",
    "mankalah:pits=2,seeds=2",
    "danish:pits=2,seeds=2",
    "danish:pits=2,seeds=3,pie=true",
    "kalaha-philos:pits=3,seeds=2,ply_limit=14",
    "openspiel-oware:pits=3,seeds=2,ply_limit=12",
    "bohnenspiel:pits=3,seeds=2,ply_limit=12",
    "kalah:pits=2,seeds=2,directions=2,ply_limit=6",
    "bao-philos:pits=2,ply_limit=8",
    "hus:pits=2,ply_limit=12,pie=true",
]


def random_positions(rules: Rules, count: int, plies: int, seed: int) -> np.ndarray:
    """Return different running positions with a choice, `plies` random plies from the start at most."""
    rng = np.random.default_rng(seed)
    states = batch.new_games(rules, count)
    for _ in range(plies):
        masks = batch.legal_masks(rules, states)
        going = batch.statuses(rules, states) == engine.RUNNING
        actions = (rng.random(masks.shape) * masks).argmax(1)
        moved = states[going]
        batch.step(rules, moved, actions[going])
        states[going] = moved
    decisions = batch.legal_masks(rules, states).sum(1) > 1
    return np.unique(states[decisions], axis=0)


def exact(rules: Rules, state: np.ndarray, memo: dict | None = None) -> int:
    """Return the final margin for the mover of `state` under perfect play; truncated is a draw."""
    memo = {} if memo is None else memo
    extras = batch.extras(rules, state)
    if extras[engine.STATUS] == engine.TRUNCATED:
        return 0
    if extras[engine.STATUS] == engine.OVER:
        margin = engine.margin(rules, state)
        return margin if extras[engine.SIDE] == engine.SOUTH else -margin
    key = state[: None if rules.ply_limit else engine.PLY - engine.EXTRAS].tobytes()
    if key not in memo:
        memo[key] = max(action_values(rules, state, memo).values())
    return memo[key]


def action_values(rules: Rules, state: np.ndarray, memo: dict | None = None) -> dict[int, int]:
    """Return the exact value of each legal action for the mover."""
    memo = {} if memo is None else memo
    swap = side_pits(rules) * rules.directions
    values = {}
    for action in range(num_actions(rules)):
        if engine.is_legal(rules, state, action):
            child = state.copy()
            side = int(batch.sides(rules, state))
            engine.play(rules, child, action)
            value = exact(rules, child, memo)
            # The side that moved stays in a finished game; a swap changes the player, not the side.
            over = batch.statuses(rules, child) == engine.OVER
            same = action != swap and (over or int(batch.sides(rules, child)) == side)
            values[action] = value if same else -value
    return values


def random_game(rules: Rules, draws: np.ndarray, state: np.ndarray) -> tuple[list[int], int]:
    """Play `state` to its end in place by chance; return the actions and the result for its mover.

    Who sits where is kept by hand, so that no sign rule of ours is needed. draws: as in `playout.py`.
    """
    seats, actions = [0, 1], []
    first = int(batch.sides(rules, state))
    swap = side_pits(rules) * rules.directions
    while batch.statuses(rules, state) == engine.RUNNING:
        action = int(random_action(rules, state, draws))
        if action == swap:
            seats.reverse()
        engine.play(rules, state, action)
        actions.append(action)
    if batch.statuses(rules, state) == engine.TRUNCATED:
        return actions, 0
    sign = int(np.sign(engine.margin(rules, state)))  # of who sits at south
    return actions, sign if seats[engine.SOUTH] == first else -sign
