"""Endgame tables inside the search and self-play: what they know counts as the end of the game."""

from pathlib import Path

import numpy as np
import pytest
from families import exact, random_positions
from training import play, uniform

from agents import endgame
from agents import tree as trees
from agents.mcts import Search, SearchConfig
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions, parse_rules
from train.config import SelfPlay as SelfPlayConfig
from train.selfplay import Decisions, SelfPlay, back_up, margin_utilities

SPECS = ("kalah:pits=3,seeds=3", "danish:pits=3,seeds=3", "kalah:pits=3,seeds=3,end=mover,leftover=nobody")


@njit
def _ask(rules, probe, states, known, margins):
    for b in range(len(states)):
        known[b] = endgame.is_known(rules, probe, states[b])
        margins[b] = endgame.known_margin(rules, probe, states[b]) if known[b] else -999


def ask(rules: Rules, probe: endgame.Probe, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known, margins = np.zeros(len(states), np.bool_), np.zeros(len(states), np.int64)
    _ask(rules, probe, states, known, margins)
    return known, margins


def endings(rules: Rules) -> np.ndarray:
    states = np.concatenate([random_positions(rules, 60, plies, plies) for plies in range(0, 12, 2)])
    return states[batch.statuses(rules, states) == engine.RUNNING]


@pytest.mark.parametrize("spec", SPECS)
def test_known_margins_are_those_of_minimax(spec: str) -> None:
    rules = parse_rules(spec)
    states = endings(rules)
    known, margins = ask(rules, endgame.probe_of(rules, endgame.compute(rules, 9)), states)
    stores = states[:, 3].astype(int) + states[:, 7]
    assert known.tolist() == (18 - stores <= 9).tolist()
    assert 20 < known.sum() < len(known)
    memo: dict = {}
    assert margins[known].tolist() == [exact(rules, state, memo) for state in states[known]]


def test_without_a_table_and_at_an_open_swap_nothing_is_known() -> None:
    rules = parse_rules("kalah:pits=3,seeds=1,pie=true")
    states = np.concatenate([batch.new_games(rules, 1), random_positions(rules, 20, 1, 0)])
    phases = batch.extras(rules, states)[:, engine.PHASE]
    table = endgame.compute(rules, 6)
    assert not ask(rules, endgame.probe_of(rules, None), states)[0].any()
    assert ask(rules, endgame.probe_of(rules, table), states)[0].tolist() == (phases == engine.MID).tolist()
    assert (phases == engine.SWAP).any()


@pytest.mark.parametrize("spec", ["kgp:pits=6,seeds=4", "kalah:capture_empty=true", "kalah:ply_limit=90"])
def test_a_table_is_refused_where_it_does_not_tell_the_margin(spec: str) -> None:
    table = endgame.compute(parse_rules("kalah"), 2)
    with pytest.raises(KalahError, match="does not tell the final margins of"):
        endgame.probe_of(parse_rules(spec), table)


def test_a_search_with_a_table_asks_the_network_about_unknown_positions_only() -> None:
    rules = parse_rules("kalah:pits=3,seeds=3")
    table = endgame.compute(rules, 9)
    states = endings(rules)
    probe = endgame.probe_of(rules, table)
    asked: list[np.ndarray] = []

    def note(rules: Rules, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(ask(rules, probe, positions)[0])
        return uniform(rules, positions)

    search = Search(SearchConfig(24, sign_weight=0.0), table)
    found = search.run(rules, states, note, np.random.default_rng(0))
    assert len(asked) > 5
    assert not np.concatenate(asked[1:]).any()  # the first call is about the roots
    known, margins = ask(rules, probe, states)
    best = found.action_values[np.arange(len(states)), found.actions]
    # Every move of a known position leads to a known one or ends the game.
    assert np.allclose(best[known], margins[known] / 9)


def test_backed_up_utilities_are_those_of_the_formula() -> None:
    """G = v + trace (sign G' - q), by hand: three decisions, the player changes after the second."""
    rules = parse_rules("kalah:pits=2,seeds=1")
    final = batch.new_games(rules, 1)[0]
    final[:6] = (0, 0, 3, 0, 0, 1)  # south has won by 2 of 4 seeds
    final[batch.state_size(rules) - engine.EXTRAS :][:3] = (engine.NORTH, engine.MID, engine.OVER)
    decisions = Decisions.make(1, 3, len(final), num_actions(rules)).of(0, 3)
    decisions.signs[:] = (1, -1, 1)
    decisions.values[:] = (0.5, 0.25, -0.5)
    decisions.chosen[:] = (0.25, 0.0, -0.75)
    decisions.traces[:] = (0.5, 0.25, 0.75)
    out = np.zeros(3)
    back_up(rules, endgame.probe_of(rules, None), final, decisions, 0.25, out)
    last = -0.5 + 0.75 * (-(0.25 + 0.75 * 2 / 2) - -0.75)  # north moved last, and lost by 2
    middle = 0.25 + 0.25 * (-last - 0.0)
    assert out.tolist() == pytest.approx([0.5 + 0.5 * (middle - 0.25), middle, last])


@pytest.mark.parametrize("spec", ["kalah:pits=3,seeds=2", "kalah:pits=3,seeds=2,leftover=nobody", "hus"])
@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_margins_and_their_utilities(spec: str, weight: float) -> None:
    rules = parse_rules(spec)
    margins, utilities = margin_utilities(rules, weight)
    step = 2 if spec.endswith("seeds=2") else 1
    assert margins.tolist() == list(range(-1, 2) if rules.win else range(-12, 13, step))
    assert (np.diff(utilities) > 0).all()
    assert utilities[-1] == pytest.approx(1.0 if rules.win else weight + 2 * (1 - weight))
    state = batch.new_games(rules, 1)[0]
    for margin, utility in zip(margins, utilities, strict=True):
        assert trees.margin_utility(rules, state, int(margin), weight) == utility


@pytest.mark.parametrize("value_target", ["final", "backup"])
def test_rows_that_the_table_knows_have_exact_margins(value_target: str) -> None:
    rules = parse_rules("kalah:pits=3,seeds=3")
    table = endgame.compute(rules, 9)
    config = SelfPlayConfig(games=64, simulations=[4], value_target=value_target)
    rows = SelfPlay(rules, config, 0, table).run(uniform, 4)
    known, margins = ask(rules, endgame.probe_of(rules, table), rows.states)
    assert known.sum() > 100
    assert rows.margins[known].tolist() == margins[known].tolist()
    whole = rows.margins == np.round(rows.margins)
    assert whole.all() == (value_target == "final")


def test_backed_up_margins_are_nearer_to_the_exact_value_than_final_ones() -> None:
    """With a search of 16 simulations that knows nothing: the errors of all rows, in seeds."""
    rules = parse_rules("kalah:pits=3,seeds=3")
    errors = {}
    memo: dict = {}
    for target in ("final", "backup"):
        config = SelfPlayConfig(games=64, simulations=[16], value_target=target, sign_weight=0.0)
        rows = SelfPlay(rules, config, 0).run(uniform, 16)
        values = np.array([exact(rules, state, memo) for state in rows.states])
        errors[target] = float(np.abs(rows.margins - values).mean())
    # Several hundred rows each.
    assert errors["backup"] < 0.85 * errors["final"], errors


def test_forks_go_on_from_the_game_before() -> None:
    rules = parse_rules("kalah:pits=4,seeds=3")
    selfplay, rows = play(rules, games=8, plies=60, random_plies=0, fork=1.0)
    assert selfplay.games_done > 20
    plies = batch.extras(rules, rows.states)[:, engine.PLY]
    first = np.flatnonzero(np.diff(plies, prepend=10**4) < 0)
    # Each game once from the start, later ones from another's middle unless that was at its end.
    assert 8 <= (plies[first] == 0).sum() < 0.5 * len(first)
    assert plies[first].max() > 5
    _, rows = play(rules, games=8, plies=60, random_plies=0, fork=0.0)
    plies = batch.extras(rules, rows.states)[:, engine.PLY]
    assert (plies[np.diff(plies, prepend=10**4) < 0] == 0).all()


def test_workers_share_the_games_and_differ(tmp_path: Path) -> None:
    from training import SMALL

    from train.config import make_config
    from train.loop import Run

    config = make_config(SMALL | {"selfplay": SMALL["selfplay"] | {"workers": 4}}, "test")
    players = Run(config, tmp_path).players
    assert [len(player.states) for player in players] == [4] * 4
    starts = {player.states.tobytes() for player in players}
    assert len(starts) == 4
