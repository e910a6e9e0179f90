"""Our agents as OpenSpiel bots: whole matches, and every state read equal to our own board."""

import subprocess
import sys

import numpy as np
import pyspiel
import pytest

from agents.base import make_agent
from agents.protocols.openspiel import PySpielBot, read_state, to_theirs
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import format_rules

GAMES = ("mancala", "oware", "oware(num_houses_per_player=4,num_seeds_per_house=3)")


class Watched(PySpielBot):
    """Notes what it was asked and what it answered."""

    def __init__(self, agent, seen):
        super().__init__(agent)
        self.seen = seen

    def step(self, state):
        action = super().step(state)
        self.seen.append((state.clone(), action))
        return action


@pytest.mark.parametrize("name", GAMES)
def test_whole_matches_on_boards_equal_to_ours(name):
    """Ours is played on by our own engine; theirs is read anew at every move."""
    score = np.zeros(2)
    for seed in range(4):
        seen = []
        bots = [Watched(make_agent(spec, seed), seen) for spec in ("alphabeta:depth=4", "random")]
        start = pyspiel.load_game(name).new_initial_state()
        returns = pyspiel.evaluate_bots(start, bots if seed % 2 else bots[::-1], seed)
        score += returns if seed % 2 else returns[::-1]
        rules, _ = read_state(seen[0][0])
        ours = batch.new_games(rules, 1)[0]
        for state, action in seen:
            rules, read = read_state(state)
            size = 2 * rules.pits + 3  # the board and whose turn it is; plies they do not tell
            assert read[:size].tolist() == ours[:size].tolist()
            masks = batch.legal_masks(rules, ours[None])[0]
            assert [to_theirs(rules, ours, a) for a in np.flatnonzero(masks)] == state.legal_actions()
            own = [a for a in np.flatnonzero(masks) if to_theirs(rules, ours, a) == action]
            batch.step(rules, ours[None], np.array(own))
        if name == "mancala":
            assert np.sign(batch.margins(rules, ours)) == returns[0]
    assert score[0] >= 2


def test_rules_are_those_of_the_game():
    texts = [format_rules(read_state(pyspiel.load_game(name).new_initial_state())[0]) for name in GAMES]
    assert texts == ["openspiel-mancala", "openspiel-oware", "openspiel-oware:pits=4,seeds=3"]


def test_a_bot_is_a_pyspiel_bot():
    bot = PySpielBot("greedy")
    assert isinstance(bot, pyspiel.Bot)
    state = pyspiel.load_game("mancala").new_initial_state()
    bot.restart_at(state)
    assert bot.provides_policy()
    policy, action = bot.step_with_policy(state)
    assert policy == [(action, 1.0)]
    assert action in (3, 4, 5, 6)  # those that bring a seed


def test_what_it_does_not_play_is_refused():
    with pytest.raises(KalahError, match=r"tic_tac_toe is no game .* mancala and oware"):
        PySpielBot("greedy").step(pyspiel.load_game("tic_tac_toe").new_initial_state())
    state = pyspiel.load_game("mancala").new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(KalahError, match="the game is over"):
        PySpielBot("greedy").step(state)


def test_only_this_module_needs_openspiel():
    code = (
        "import sys; sys.modules['pyspiel'] = None\n"
        "import agents.protocols.kgp, agents.protocols.mankalah, agents.protocols.uci\n"
        "import train.commands.engine\n"
        "from kalah_env.errors import KalahError\n"
        "try:\n    import agents.protocols.openspiel\n"
        "except KalahError as error:\n    assert 'kalah-env[peers]' in str(error)\n"
        "else:\n    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
