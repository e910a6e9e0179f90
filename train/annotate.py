"""Played games against exact values: what each move threw away, in numbers and in words.

Games are solved from the end, so that what a late position has shown serves the earlier ones. What the
solver cannot prove within its limits stays open, as bounds, and counts in no total. Suites: `grade.py`;
the solver: `agents/solver/`.
"""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from agents import endgame, packed
from agents.solver import Solution, Solver
from agents.solver.prover import INTERRUPTED
from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.notation import GameText, check_game, read_any, say_wrong
from kalah_env.options import EarlyStop
from kalah_env.records import Record
from kalah_env.rules import Rules, format_rules, num_actions
from train.grade import summary

NODES = 20_000_000  # a position, where no limit is given


class Move(NamedTuple):
    """One move of a game; values are final margins for the player who made it, as (low, high).

    number: from 1; side: of the board, 0 = South; player: 0 = who began on South's side; best: the
    moves proved to be; counted, regret, error: None where it was not proved; why: what stopped it.
    """

    number: int
    side: int
    player: int
    played: str
    best: list[str]
    best_value: tuple[int, int]
    played_value: tuple[int, int]
    counted: bool | None
    regret: int | None
    error: bool | None
    why: str


class Game(NamedTuple):
    """A game and its moves; players: of South and North at its start, where its comment names them."""

    rules: Rules
    players: tuple[str, str] | None
    moves: list[Move]


class Played(NamedTuple):
    """A game to be graded: the states (S,) before each of its actions."""

    rules: Rules
    players: tuple[str, str] | None
    states: list[np.ndarray]
    actions: list[int]


def read_games(lines: Iterable[str], name: str, rules: Rules | None = None) -> list[Played]:
    """Return the games of a file, JSON records or text; `KalahError` says which is wrong and why.

    They must be of `rules`, if given, and of rules that the solver can serve.
    """
    games = []
    for where, game in read_any(lines, name):
        try:
            _check_rules(game.told.record.rules, rules)
            if wrong := check_game(game):
                raise KalahError(say_wrong(wrong))
            games.append(Played(game.told.record.rules, _players(game.told), *_play(game.told.record)))
        except KalahError as error:
            raise KalahError(f"{where}: {error}") from None
    if not any(game.actions for game in games):
        raise KalahError(f"{name} holds no moves; `kalah arena --records FILE` writes such files.")
    return games


def _check_rules(rules: Rules, wanted: Rules | None) -> None:
    if wanted is not None and rules._replace(preset=0) != wanted._replace(preset=0):
        raise KalahError(f"the game is of {format_rules(rules)}, not of {format_rules(wanted)}.")
    # Without the stop who wins is the same: see `Solver`.
    if why := packed.unsuitable(rules._replace(early_stop=int(EarlyStop.NO))):
        raise KalahError(f"there are no exact values under {format_rules(rules)}: {why}.")


def _players(told: GameText) -> tuple[str, str] | None:
    if "South" in told.tags and "North" in told.tags:
        return told.tags["South"], told.tags["North"]
    return None


def _play(record: Record) -> tuple[list[np.ndarray], list[int]]:
    state, states, actions = record.first_state(), [], []
    for move in record.moves:
        actions.append(text.parse_move(record.rules, state, move))
        states.append(state.copy())
        engine.play(record.rules, state, actions[-1])
    return states, actions


def annotate(
    games: list[Played],
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    memory: int = 512,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Game]:
    """Grade every move, each position within `nodes` and `seconds`; `progress` hears of moves."""
    solvers: dict[Rules, Solver] = {}
    total, done, graded = sum(len(game.actions) for game in games), 0, []
    for game in games:
        if game.rules not in solvers:
            solvers[game.rules] = Solver(game.rules, memory=memory, table=endgame.find(game.rules))
        solver, players, moves = solvers[game.rules], _players_to_move(game), []
        for i in reversed(range(len(game.actions))):
            found = solver.solve(game.states[i], nodes=nodes, seconds=seconds)
            if found.why == INTERRUPTED:
                raise KeyboardInterrupt
            side = int(batch.sides(game.rules, game.states[i][None])[0])
            moves.append(_judge(game.rules, found, i + 1, side, players[i], game.actions[i]))
            done += 1
            progress(done, total)
        graded.append(Game(game.rules, game.players, moves[::-1]))
    return graded


def _players_to_move(game: Played) -> list[int]:
    """Return who made each move, as the side on which he began: `swap` exchanges the seats."""
    swap = num_actions(game.rules) - 1 if game.rules.pie else -1
    swapped = np.cumsum([0, *(action == swap for action in game.actions)])[: len(game.actions)] % 2
    sides = batch.sides(game.rules, np.array(game.states)) if game.states else np.zeros(0, np.int64)
    return (sides ^ swapped).tolist()


def _judge(rules: Rules, found: Solution, number: int, side: int, player: int, action: int) -> Move:
    low, high = int(found.lows[action]), int(found.highs[action])
    lows, highs = found.lows[found.legal], found.highs[found.legal]
    counted = True if highs.min() < lows.max() else False if found.all_solved else None
    if len(lows) == 1:
        counted = False
    error = None
    if np.sign(high) < np.sign(found.low):
        error = True
    elif np.sign(low) >= np.sign(found.high) or counted is False:
        error = False
    regret = 0 if counted is False else found.low - high if found.solved and low == high else None
    best = [text.format_move(rules, int(a)) for a in np.flatnonzero(found.legal & (found.lows >= found.high))]
    played = text.format_move(rules, action)
    bounds = (found.low, found.high), (low, high)
    return Move(number, side, player, played, best, *bounds, counted, regret, error, found.why)


def totals(games: list[Game]) -> dict[str, dict[str, Any]]:
    """Return the figures of all moves, and of those of each side of the board."""
    moves = [move for game in games for move in game.moves]
    sides = {name: [m for m in moves if m.side == side] for side, name in enumerate(text.SIDE_NAMES)}
    return {name: _total(part) for name, part in {"all": moves, **sides}.items()}


def player_totals(games: list[Game]) -> dict[str, dict[str, Any]]:
    """Return the figures of each player's moves, in the games whose comments name them."""
    parts: dict[str, list[Move]] = {}
    for _, players, moves in games:
        if players:
            for move in moves:
                parts.setdefault(players[move.player], []).append(move)
    return {name: _total(part) for name, part in sorted(parts.items())}


def _total(moves: list[Move]) -> dict[str, Any]:
    counted = [move for move in moves if move.counted and move.error is not None]
    open_ = [move for move in moves if move.counted is None or move.error is None]
    errors = np.array([move.error for move in counted], bool)
    regrets = np.array([move.regret for move in counted if move.regret is not None], np.int64)
    return {
        "moves": len(moves),
        "not_solved": len(open_),
        "losing": int(errors.sum()),
        "valued": len(regrets),
        **summary(errors, regrets),
    }


def report(games: list[Game]) -> dict[str, Any]:
    """Return the answer of `kalah grade --games --json`."""
    told = [
        {
            "rules": format_rules(game.rules),
            "players": list(game.players) if game.players else None,
            "moves": [
                {
                    "move": move.number,
                    "side": text.SIDE_LETTERS[move.side],
                    "played": move.played,
                    "best": move.best,
                    "best_value": list(move.best_value),
                    "played_value": list(move.played_value),
                    "counted": move.counted,
                    "regret": move.regret,
                    "losing_error": move.error,
                }
                for move in game.moves
            ],
        }
        for game in games
    ]
    return {"games": told, "totals": totals(games), "players": player_totals(games)}


def in_words(games: list[Game]) -> list[str]:
    """Return a line for each move that threw something away, and for what could not be solved."""
    lines = []
    for number, game in enumerate(games, 1):
        told = [_words(move) for move in game.moves if move.error or move.regret]
        unsolved: dict[str, list[int]] = {}
        for move in game.moves:
            if move.counted is None or move.error is None:
                unsolved.setdefault(move.why, []).append(move.number)
        if not told and sum(map(len, unsolved.values())) < max(1, len(game.moves)):
            told = [f": no move{' that was solved' if unsolved else ''} threw away a seed"]
        told = [f", {_spans(numbers)}: not solved, {why}" for why, numbers in unsolved.items()] + told
        lines += [f"game {number}{words}" for words in told]
    return lines


def _words(move: Move) -> str:
    side = text.SIDE_NAMES[move.side].capitalize()
    if move.regret is None:
        lost = "threw away seeds, how many was not solved"
    else:
        lost = f"threw away {move.regret} seed{'s' if move.regret > 1 else ''}"
    best = f" (best {' or '.join(move.best)})" if move.best else ""
    result = ""
    if move.error:
        (low, high), after = move.best_value, move.played_value
        before = "won" if low > 0 else "drawn" if high == 0 else "won or drawn"
        end = "lost" if after[1] < 0 else "drawn" if after[0] == after[1] == 0 else "no more won"
        result = f": a {before} game is {end}"
    return f", move {move.number}: {side} played {move.played}, {lost}{best}{result}"


def _spans(numbers: list[int]) -> str:
    """Return `move 3` or `moves 1-4, 6` for increasing numbers."""
    spans = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        span = [number for _, number in run]
        spans.append(str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}")
    return f"move{'s' if len(numbers) > 1 else ''} {', '.join(spans)}"
