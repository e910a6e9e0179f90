"""Paired games between agents: every opening twice with the seats exchanged, all games in lockstep.

Kalah favours who begins, so a single game says more about the seat than about the player; a pair of
games of one opening cancels that. Openings are random, running and without duplicates. A truncated
game is a draw. Not here: what the results are worth (`rating.py`), the table (`commands/arena.py`).
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.base import Agent, make_agent, make_rng
from kalah_env import batch, engine, text
from kalah_env.checks import MAX_SEED, whole_numbers
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, num_actions, side_pits
from train import rating
from train.files import check_target, replacing
from train.suites import Suite

Array = np.ndarray
Progress = Callable[[str, int, int], None]  # what is played, games finished, games in all

_BARREN_ROUNDS = 20  # rounds of openings without a new one, after which no more are sought


def make_openings(
    rules: Rules,
    count: int,
    seed: int,
    start: Array | None = None,
    min_plies: int | None = None,
    max_plies: int = 8,
) -> Array:
    """Return up to `count` distinct running positions: (K, S) int16, K < count where no more are found.

    Each comes from `start` (a state; None: the start of the game) by min_plies to max_plies random
    plies, and stands as loaded from its text, so its plies count from 0. With the pie rule
    min_plies is 1, that some openings leave the choice of `swap` to the agents, and 2 otherwise;
    random plies never swap. Where no such position exists the start itself is the only opening.
    """
    root = batch.new_games(rules, 1)[0] if start is None else start.copy()
    if batch.statuses(rules, root) != engine.RUNNING:
        raise KalahError(
            f"arena: the game is over in {text.format_position(rules, root)}; give a running one."
        )
    batch.extras(rules, root)[engine.PLY] = 0
    least = min_plies if min_plies is not None else 2 - rules.pie
    rng = make_rng(seed)
    found: dict[bytes, Array] = {}
    barren = 0
    while len(found) < count and barren < _BARREN_ROUNDS:
        before = len(found)
        for state in _random_games(rules, root, rng.integers(least, max_plies + 1, max(64, count)), rng):
            found.setdefault(state.tobytes(), state)
        barren = barren + 1 if len(found) == before else 0
    return np.array(list(found.values())[:count] or [root])


def balanced_openings(suite: Suite, rules: Rules, count: int, within: int) -> Array:
    """Return up to `count` positions of a suite whose value is at most `within` seeds from a draw: (K, S).

    Those with most seeds on board come first. `KalahError` where the suite is of other rules, or has none.
    """
    if suite.rules._replace(preset=0) != rules._replace(preset=0):
        raise KalahError(
            f"arena: the openings are of {format_rules(suite.rules)}, the games of {format_rules(rules)}."
        )
    values = suite.values.max(axis=1)  # what is illegal is below every value
    even = np.flatnonzero(np.abs(values) <= within)
    if not len(even):
        raise KalahError(f"arena: no position of the openings is within {within} seeds of a draw.")
    half = side_pits(rules) + 1
    stores = suite.states[even][:, [half - 1, 2 * half - 1]].sum(axis=1)
    openings = suite.states[even[np.argsort(stores, kind="stable")]][:count].copy()
    batch.extras(rules, openings)[:, engine.PLY] = 0
    return openings


def _random_games(rules: Rules, root: Array, plies: Array, rng: np.random.Generator) -> Array:
    """Play plies[i] random pits from `root` in each game i; return those still running, PLY 0."""
    states = np.repeat(root[None], len(plies), axis=0)
    for ply in range(plies.max()):
        rows = np.flatnonzero((plies > ply) & (batch.statuses(rules, states) == engine.RUNNING))
        if not len(rows):
            break
        moving = states[rows]
        masks = batch.legal_masks(rules, moving)[:, : num_actions(rules) - rules.pie]
        batch.step(rules, moving, np.where(masks == 1, rng.random(masks.shape), -1.0).argmax(axis=1))
        states[rows] = moving
    running = states[batch.statuses(rules, states) == engine.RUNNING]
    batch.extras(rules, running)[:, engine.PLY] = 0
    return running


@dataclass
class Pairs:
    """The games of two agents: opening k was played as game 2k and, seats exchanged, as game 2k+1.

    openings: (K, S) int16; south: (2K,) which agent, 0 = a, began on South's side; finals: (2K, S);
    scores: (2K,) a's points, 1, 0.5 or 0; moves: the actions of each game after its opening.
    """

    openings: Array
    south: Array
    finals: Array
    scores: Array
    moves: list[list[int]]

    def distinct_games(self) -> int:
        """Return the number of different games: opening and actions."""
        return len({(self.openings[game // 2].tobytes(), *moves) for game, moves in enumerate(self.moves)})

    def pair_scores(self) -> Array:
        """Return a's mean points on each opening: (K,)."""
        return self.scores.reshape(-1, 2).mean(axis=1)


def play_pairs(
    agent_a: Agent,
    agent_b: Agent,
    rules: Rules,
    openings: Array,
    progress: Callable[[int, int], None] | None = None,
) -> Pairs:
    """Play every opening twice with the seats exchanged and return all games.

    `progress` is told the number of finished games and of all games after each ply.
    """
    states = np.repeat(openings, 2, axis=0)
    games = len(states)
    began_south = np.tile([0, 1], len(openings))
    south = began_south.copy()  # which agent sits at South's side now: a swap exchanges the seats
    moves: list[list[int]] = [[] for _ in range(games)]
    swap = num_actions(rules) - 1 if rules.pie else -1
    while len(running := np.flatnonzero(batch.statuses(rules, states) == engine.RUNNING)):
        to_move = south[running] ^ batch.sides(rules, states[running])
        for who, agent in enumerate((agent_a, agent_b)):
            rows = running[to_move == who]
            if not len(rows):
                continue
            moving = states[rows]
            actions = _act(agent, rules, moving)
            states[rows] = moving
            south[rows[actions == swap]] ^= 1
            for row, action in zip(rows, actions, strict=True):
                moves[row].append(int(action))
        if progress:
            progress(int((batch.statuses(rules, states) != engine.RUNNING).sum()), games)
    margins = np.sign(batch.margins(rules, states)) * np.where(south == 0, 1, -1)
    over = batch.statuses(rules, states) == engine.OVER
    return Pairs(openings, began_south, states, np.where(over, (margins + 1) / 2, 0.5), moves)


def _act(agent: Agent, rules: Rules, states: Array) -> Array:
    """Let `agent` move in all `states`, in place, and return its actions (B,)."""
    given = agent.act(rules, states.copy())
    actions = whole_numbers(f"agent {agent.spec}: answered", given, len(states))
    try:
        batch.step(rules, states, actions)
    except KalahError as error:
        raise KalahError(f"agent {agent.spec}: {error}") from None
    return actions


def run_arena(
    specs: list[str],
    rules: Rules,
    games: int,
    seed: int = 0,
    *,
    start: Array | None = None,
    openings: Array | None = None,
    against_first: bool = False,
    records: Path | str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Play `games` games between each two agents and return the object of `kalah arena --json`.

    All pairings play the same openings: `openings: (K, S)`, or random ones from `start`. Agent i gets the
    seed `seed + i` unless its text names one. `against_first` plays the first agent against each of the
    others only. `records` is a file that gets every game as a JSON line, written at the end in one go.
    After Ctrl-C the pairings that are finished count, without Elo, and `stopped` is true.
    """
    if len(specs) < 2:
        raise KalahError(f"arena: {len(specs)} agent given; give two or more.")
    if games < 2 or games % 2:
        raise KalahError(f"arena: games={games}, but games come in pairs; give an even number of 2 or more.")
    target = None if records is None else check_target("arena: records", records)
    keys = _keys(specs)
    players = [make_agent(spec, (seed + i) % (MAX_SEED + 1)) for i, spec in enumerate(specs)]
    if openings is None:
        openings = make_openings(rules, games // 2, seed, start)
    points = np.zeros((len(specs), len(specs)))
    results, lines, stopped = [], [], False
    for a, b in itertools.combinations(range(len(specs)), 2):
        if against_first and a:
            continue
        title = f"{keys[a]} - {keys[b]}"
        told = None if progress is None else lambda done, total, title=title: progress(title, done, total)
        try:
            pairs = play_pairs(players[a], players[b], rules, openings, told)
        except KeyboardInterrupt:
            if not results:
                raise
            stopped = True
            break
        points[a, b] = pairs.scores.sum()
        points[b, a] = len(pairs.scores) - points[a, b]
        results.append(_result(keys[a], keys[b], rules, pairs))
        if target:
            lines += _record_lines(rules, pairs, keys[a], keys[b])
    if target:
        with replacing(target) as partial:
            partial.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    ratings = {
        key: {"elo": round(r.elo, 1), "interval": [round(r.low, 1), round(r.high, 1)]}
        for key, r in zip(keys, [] if stopped else rating.fit_elo(points), strict=not stopped)
    }
    return {
        "rules": format_rules(rules),
        "seed": seed,
        "openings": len(openings),
        "results": results,
        "elo": ratings,
        "stopped": stopped,
    }


def _keys(specs: list[str]) -> list[str]:
    """Return the texts with `#2`, `#3` behind those that stood before."""
    return [spec if (n := specs[:i].count(spec)) == 0 else f"{spec}#{n + 1}" for i, spec in enumerate(specs)]


def _result(a: str, b: str, rules: Rules, pairs: Pairs) -> dict[str, Any]:
    scores = pairs.scores
    low, high = rating.score_interval(pairs.pair_scores())
    return {
        "a": a,
        "b": b,
        "games": len(scores),
        "wins": int((scores == 1).sum()),
        "draws": int((scores == 0.5).sum()),
        "losses": int((scores == 0).sum()),
        "score": float(scores.mean()),
        "interval": [round(low, 4), round(high, 4)],
        "distinct_games": pairs.distinct_games(),
        "truncated": int((batch.statuses(rules, pairs.finals) == engine.TRUNCATED).sum()),
    }


def _record_lines(rules: Rules, pairs: Pairs, a: str, b: str) -> list[str]:
    """Return each game as a record that starts at its opening; the comment says who sat where then."""
    return [
        json.dumps(
            {
                "rules": format_rules(rules),
                "start": text.format_position(rules, pairs.openings[game // 2]),
                "moves": [text.format_move(rules, action) for action in moves],
                "comment": f"south: {(a, b)[pairs.south[game]]}, north: {(b, a)[pairs.south[game]]}, "
                + {1.0: f"won by {a}", 0.5: "draw", 0.0: f"won by {b}"}[float(pairs.scores[game])],
            }
        )
        for game, moves in enumerate(pairs.moves)
    ]
