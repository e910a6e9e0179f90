"""Makes suites: positions from several sources, each with the exact value of every legal move.

Positions come from games, one a game and band of seeds on board, so that no game weighs much: from
random play, from greedy players and from alpha-beta with random moves mixed in, and, called hard, those
where the best move is the only one. How many of each band is fixed beforehand. What the solver found
is kept beside the suite while it is made, so that it goes on where it was stopped; the same command and
seed make the same suite.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents import packed
from agents.base import Agent, make_agent
from agents.simple import choose
from agents.solver import Solver, table_for
from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, rules_hash
from train.suites import HALVES, ILLEGAL, Suite, join, state_key, write_suite

GAMES = 96  # of each source a round
BARREN = 40  # rounds in a row that bring nothing new before it is given up


class Source(NamedTuple):
    """Where positions come from: an agent's games against itself, each move random with `chance`."""

    name: str
    agent: str
    chance: float
    share: float
    hard: bool = False


SOURCES = (
    Source("random", "random", 0.0, 0.25),
    Source("greedy", "greedy", 0.3, 0.2),
    Source("alphabeta", "alphabeta:depth=6", 0.15, 0.4),
    Source("hard", "alphabeta:depth=4", 0.25, 0.15, hard=True),
)


def with_agents(specs: list[str]) -> tuple[Source, ...]:
    """Return the sources with further agents, such as nets: half of the positions are theirs."""
    if not specs:
        return SOURCES
    ours = [source._replace(share=source.share / 2) for source in SOURCES]
    return (*ours, *(Source(spec, spec, 0.15, 0.5 / len(specs)) for spec in specs))


class Band(NamedTuple):
    """How many `positions` with `low` to `high` seeds in the pits a suite is to have."""

    low: int
    high: int
    positions: int


class Candidate(NamedTuple):
    """A position that may be taken: its band, its source, and what tells it from others."""

    state: np.ndarray
    band: Band
    source: Source
    key: bytes


def parse_bands(text: str) -> list[Band]:
    """Return the bands of `9-16=1000,17-24=1000`; `KalahError` if they are not of that form."""
    bands = []
    for part in text.split(","):
        span, _, count = part.partition("=")
        low, _, high = span.partition("-")
        if not all(x.isascii() and x.isdigit() and len(x) < 7 for x in (low, high, count)):
            raise KalahError(
                f"bands: {part!r} is not LOW-HIGH=COUNT of up to 6 digits each, such as 9-16=1000; "
                "separate with commas."
            )
        bands.append(Band(int(low), int(high), int(count)))
    bands.sort()
    for band, after in zip(bands, [*bands[1:], None], strict=True):
        if not 1 <= band.low <= band.high or band.positions < 1:
            raise KalahError(
                f"bands: {band.low}-{band.high}={band.positions} is empty; write LOW-HIGH=COUNT with "
                "1 <= LOW <= HIGH and a COUNT of 1 or more."
            )
        if after and after.low <= band.high:
            raise KalahError(f"bands: {text!r} overlap; write LOW-HIGH=COUNT with each number in one band.")
    return bands


def make_suite(
    path: Path,
    rules: Rules,
    bands: list[Band],
    *,
    seed: int,
    about: dict[str, Any],
    sources: tuple[Source, ...] = SOURCES,
    threads: int = 1,
    memory: int = 512,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Suite:
    """Make a suite and write it to `path`; resume what an earlier call has left beside it.

    A band that has no more positions stays smaller. Only positions whose moves differ in value count.
    """
    why = packed.unsuitable(rules)
    if why:
        raise KalahError(f"label: {format_rules(rules)} cannot be solved exactly enough for a suite: {why}.")
    # By rules, so that no position ever gets the values it has under others.
    labels = _Labels(path.with_name(f"{path.name}.{rules_hash(rules)}.labels"), rules, threads, memory)
    taken: dict[Band, list[tuple[np.ndarray, np.ndarray, str, str]]] = {band: [] for band in bands}
    by_source: Counter[tuple[Band, str]] = Counter()
    seen: set[bytes] = set()
    rounds = barren = 0
    total = sum(band.positions for band in bands)
    with labels:
        while any(len(taken[band]) < band.positions for band in bands) and barren < BARREN:
            # Where a source has no more to give, the others may fill its place.
            strict = barren < BARREN // 4
            wanted: list[Candidate] = []
            asked: Counter[tuple[Band, str]] = Counter()
            for candidate in _candidates(rules, bands, sources, seed, rounds):
                band, source = candidate.band, candidate.source
                missing = band.positions - len(taken[band])
                if strict:
                    missing = min(
                        missing, np.ceil(source.share * band.positions) - by_source[band, source.name]
                    )
                # Some will not count: ask for a few more than are missing.
                if candidate.key not in seen and asked[band, source.name] < 1.2 * missing:
                    seen.add(candidate.key)
                    asked[band, source.name] += 1
                    wanted.append(candidate)
            found = 0
            for candidate, values in zip(wanted, labels.values(wanted), strict=True):
                rows, band, source = taken[candidate.band], candidate.band, candidate.source
                fits = len(rows) < band.positions and _is_wanted(values, source)
                if fits and not (
                    strict and by_source[band, source.name] >= np.ceil(source.share * band.positions)
                ):
                    rows.append((candidate.state, values, HALVES[len(rows) % 2], source.name))
                    by_source[band, source.name] += 1
                    found += 1
                progress(sum(map(len, taken.values())), total)
            rounds, barren = rounds + 1, 0 if found else barren + 1
    rows = [row for band in bands for row in taken[band]]
    if not rows:
        labels.path.unlink(missing_ok=True)
        raise KalahError("label: no position of these bands was found; give bands that these rules reach.")
    suite = join(rules, rows, {"suite": path.name.split(".")[0], **about})
    write_suite(path, suite)
    labels.path.unlink(missing_ok=True)
    return suite


def _is_wanted(values: np.ndarray, source: Source) -> bool:
    known = np.sort(values[values != ILLEGAL])[::-1]
    return known[0] > known[-1] and (not source.hard or known[0] > known[1])


def _candidates(
    rules: Rules, bands: list[Band], sources: tuple[Source, ...], seed: int, number: int
) -> Iterator[Candidate]:
    """Yield the positions of one round of games, the sources in turn."""
    rounds = []
    for index, source in enumerate(sources):
        rng = np.random.default_rng([seed, number, index])
        agent = make_agent(source.agent, int(rng.integers(2**32)))
        rounds.append(_from_games(rules, bands, source, agent, rng))
    for game in range(GAMES):
        for found in rounds:
            yield from found[game]


def _from_games(
    rules: Rules, bands: list[Band], source: Source, agent: Agent, rng: np.random.Generator
) -> list[list[Candidate]]:
    """Play games and return, for each, at most one candidate a band."""
    states = batch.new_games(rules, GAMES)
    met: list[dict[Band, list[np.ndarray]]] = [{band: [] for band in bands} for _ in range(GAMES)]
    pits = rules.rows * rules.pits
    while len(rows := np.flatnonzero(batch.statuses(rules, states) == engine.RUNNING)):
        moving = states[rows]
        boards = moving[:, : 2 * pits + 2].astype(int)
        seeds = boards.sum(axis=1) - boards[:, pits] - boards[:, 2 * pits + 1]
        for row, state, count in zip(rows, moving, seeds, strict=True):
            for band in bands:
                if band.low <= count <= band.high:
                    met[row][band].append(state.copy())
        actions = np.asarray(agent.act(rules, moving))
        anything = choose(batch.legal_masks(rules, moving) == 1, rng)
        actions = np.where(rng.random(len(rows)) < source.chance, anything, actions)
        batch.step(rules, moving, actions)
        states[rows] = moving
    return [
        [
            Candidate(
                state := _mid_game(rules, found[rng.integers(len(found))]),
                band,
                source,
                state_key(rules, state),
            )
            for band, found in game.items()
            if found
        ]
        for game in met
    ]


def _mid_game(rules: Rules, state: np.ndarray) -> np.ndarray:
    """Return the state as its text without `first` or `swap` loads."""
    batch.extras(rules, state)[engine.PHASE] = engine.MID
    return text.parse_position(text.format_position(rules, state), rules)


class _Labels:
    """The solver's answers, kept in a file of JSON lines while a suite is made."""

    def __init__(self, path: Path, rules: Rules, threads: int, memory: int) -> None:
        self.path, self.rules = path, rules
        self.known: dict[str, list[int]] = {}
        if path.exists():
            for line in path.read_bytes().splitlines():
                try:
                    position, values = json.loads(line)
                    self.known[position] = values
                except (ValueError, TypeError):
                    break  # the last line, cut by a kill
        first = Solver(rules, threads=1, memory=memory, table=table_for(rules))
        self.solvers = [first, *(first.twin() for _ in range(threads - 1))]
        self.pool = ThreadPoolExecutor(threads)

    def __enter__(self) -> "_Labels":
        # Rewritten, so that no half line is left in it.
        lines = [json.dumps(item) for item in self.known.items()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(f"{line}\n" for line in lines))
        self.file = self.path.open("a")
        return self

    def __exit__(self, *_: object) -> None:
        for solver in self.solvers:
            solver.stop()
        self.pool.shutdown()
        self.file.close()

    def values(self, candidates: list[Candidate]) -> Iterator[np.ndarray]:
        """Yield the values of every action, ILLEGAL where there is none, in order."""
        free = list(self.solvers)

        def label(candidate: Candidate) -> tuple[str, list[int], bool]:
            name = text.format_position(self.rules, candidate.state)
            if name in self.known:
                return name, self.known[name], True
            solver = free.pop()
            try:
                found = solver.solve(candidate.state)
            finally:
                free.append(solver)
            if not found.all_solved:
                raise KalahError(f"label: {name} was not solved: {found.why}.")
            return name, np.where(found.legal, found.lows, ILLEGAL).tolist(), False

        for name, values, old in self.pool.map(label, candidates):
            if not old:
                self.known[name] = values
                self.file.write(json.dumps([name, values]) + "\n")
                self.file.flush()
            yield np.array(values, np.int64)
