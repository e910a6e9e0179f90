"""What all environments refuse alike: options, positions, calls out of order, agents that are not there."""

import gymnasium
import numpy as np
import pytest

from kalah_env import batch, kalah_v0
from kalah_env.errors import KalahError
from kalah_env.rules import parse_rules
from kalah_env.single import KalahEnv
from kalah_env.vector import KalahVectorEnv

MAKERS = [kalah_v0.env, kalah_v0.raw_env, KalahEnv, KalahVectorEnv]
ALL = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@ALL
@pytest.mark.parametrize("options", [5, 0, "position", "", ["position"], (), True, {"position"}], ids=repr)
def test_options_are_a_dictionary(make, options):
    with pytest.raises(KalahError, match=r"is no dictionary; give {'position': TEXT} or None"):
        make().reset(options=options)


@ALL
@pytest.mark.parametrize("options", [{"options": 7}, {"options": np.arange(2)}, {"foo": 1}, {1: 1}], ids=repr)
def test_options_are_known_ones(make, options):
    with pytest.raises(
        KalahError, match=r"there is no option '\w+'; options are position, starter(, reset_mask)?\.$"
    ):
        make().reset(options=options)


@ALL
def test_start_is_a_position_everywhere(make):
    env = make(rules="hus")
    env.reset(options={"position": "start"})
    expected = batch.new_games(parse_rules("hus"), 1)
    assert env.unwrapped.state().ravel().tolist() == expected.ravel().tolist()


@pytest.mark.parametrize("make", [KalahEnv, KalahVectorEnv])
def test_games_may_be_made_to_begin_at_the_start(make):
    env = make(rules="hus", start="start")
    env.reset()
    assert env.state().ravel().tolist() == batch.new_games(parse_rules("hus"), 1).ravel().tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda e: e.step(0),
        lambda e: e.last(),
        lambda e: e.observe("player_0"),
        lambda e: e.state(),
        lambda e: e.render(),
    ],
)
def test_a_bare_environment_needs_a_reset_first(call):
    with pytest.raises(
        KalahError, match=r"^(step|observe|state|render): no game has begun; call reset\(\) first\.$"
    ):
        call(kalah_v0.raw_env())


@pytest.mark.parametrize("action", [None, 0])
def test_a_bare_environment_says_that_all_have_left(action):
    env = kalah_v0.raw_env("kalah:pits=1")
    env.reset(options={"position": "<1,3,3,0,0> S"})
    for _ in range(2):
        env.step(None)
    with pytest.raises(KalahError, match="step: both agents have left, the game is over"):
        env.step(action)
    env.reset()
    env.step(0)


@pytest.mark.parametrize("make", MAKERS[:2])
@pytest.mark.parametrize("agent", ["foo", "player_2", None, 0, ["player_0"]], ids=repr)
def test_agents_are_the_two_players(make, agent):
    env = make()
    env.reset()
    for ask in (env.observe, env.action_space, env.observation_space):
        with pytest.raises(KalahError, match=r"there is no agent .*; agents are player_0, player_1"):
            ask(agent)


@pytest.mark.parametrize("action", [True, np.True_, 1.0, "1", None, [1]], ids=repr)
def test_an_action_is_a_whole_number_in_every_environment(action):
    for make in (KalahEnv, kalah_v0.raw_env):
        env = make()
        env.reset()
        with pytest.raises(KalahError, match="action"):
            env.step(action)
        env.step(np.int32(1))
    envs = KalahVectorEnv()
    envs.reset()
    with pytest.raises(KalahError, match="actions are"):
        envs.step([action])
    envs.step(np.array([1], np.int32))


@pytest.mark.parametrize("num_envs", ["3", None, 2.0, True], ids=repr)
def test_gymnasium_makes_a_whole_number_of_games(num_envs):
    with pytest.raises(KalahError, match=r"num_envs=.* is not allowed; give a whole number, 1 or more"):
        gymnasium.make_vec("Kalah-v0", num_envs=num_envs)


@ALL
@pytest.mark.parametrize("rules", [5, None, ["kalah"]], ids=repr)
def test_rules_are_a_text_or_rules(make, rules):
    with pytest.raises(KalahError, match="is neither a text such as kgp:pits=6 nor Rules; make Rules with"):
        make(rules=rules)
