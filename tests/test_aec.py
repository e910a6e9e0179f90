"""The PettingZoo environment: its own tests, views, seats, rewards, ends, bad input, copies."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, seed_test

from kalah_env import KalahError, batch, kalah_v0, make_rules, parse_rules
from kalah_env.rules import PRESET_NAMES

ROOT = Path(__file__).parent.parent

# What api_test says of every environment it does not know by name, and of zeros it sees at the end.
harmless = pytest.mark.filterwarnings(
    "error",
    "ignore:Observation is not a NumPy array",
    "ignore:Observation space for each agent probably should be",
    "ignore:Action mask numpy array is all zeros",
)


def started(rules="kalah", position=None, make=kalah_v0.raw_env, **kwargs):
    env = make(rules, **kwargs)
    env.reset(options={"position": position} if position else None)
    return env


def seen(env, agent, seeds):
    return (env.observe(agent)["observation"] * seeds).tolist()


def finish(env):
    """Step the agents that are done away; return the rewards they were told."""
    told = {}
    while env.agents:
        told[env.agent_selection] = env.last()[1]
        env.step(None)
    return told


@harmless
@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_pettingzoo_api_test(preset):
    api_test(kalah_v0.env(preset))
    api_test(kalah_v0.raw_env(f"{preset}:pits=3", reward="margin"))


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_pettingzoo_seed_test(preset):
    seed_test(lambda: kalah_v0.env(preset))


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_a_game_is_the_engines_game(preset):
    env = started(preset)
    rules = env.rules
    states = batch.new_games(rules, 1)
    rng = np.random.default_rng(0)
    for agent in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        mask = observation["action_mask"]
        side = env.possible_agents.index(agent)
        half = len(observation["observation"]) // 2
        board = np.roll(states[0, : 2 * half], -half * side)  # own pits, own store, other pits, other store
        assert observation["observation"].tolist() == (board / np.float32(board.sum())).tolist()
        assert env.state().tolist() == states[0].tolist()
        assert env.state_space.contains(env.state())
        assert mask.tolist() == batch.legal_masks(rules, states)[0].tolist()
        if termination or truncation:
            break
        other = env.possible_agents[1 - side]
        assert not env.observe(other)["action_mask"].any()
        sowing = mask[: env.action_space(agent).n - rules.pie]  # without swap, seats stay
        action = rng.choice(np.flatnonzero(sowing))
        taken = batch.step(rules, states, [action])[0]
        env.step(action)
        assert env.infos[agent]["captured"] == taken
    sign = 0.0 if truncation else float(np.sign(batch.margins(rules, states)[0]))
    assert env.rewards == {"player_0": sign, "player_1": -sign}
    assert env.terminations == dict.fromkeys(env.agents, termination)
    assert env.truncations == dict.fromkeys(env.agents, truncation)
    assert {type(flag) for flag in (*env.terminations.values(), *env.truncations.values())} == {bool}


def test_each_agent_sees_the_board_from_its_own_side():
    env = started("kalah:pits=2", "<2,5,4,1,2,3,1> N")
    assert seen(env, "player_1", 16) == [3, 1, 4, 1, 2, 5]
    assert seen(env, "player_0", 16) == [1, 2, 5, 3, 1, 4]
    assert env.observe("player_1")["action_mask"].tolist() == [1, 1]
    assert env.observe("player_0")["action_mask"].tolist() == [0, 0]
    view = env.observe("player_0")
    assert (view["observation"].dtype, view["action_mask"].dtype) == (np.float32, np.int8)
    assert env.infos["player_0"] == {"side": "south", "captured": 0}


def test_an_observation_is_the_callers_own():
    env = started()
    first = env.observe("player_0")
    first["action_mask"][:] = 0
    first["observation"][:] = 0
    assert env.observe("player_0")["action_mask"].all()
    assert seen(env, "player_0", 48)[0] == 4
    env.step(0)


def test_the_same_agent_is_selected_again_after_an_extra_turn():
    env = started()
    env.step(2)
    assert env.agent_selection == "player_0"
    assert env.last()[1:4] == (0.0, False, False)
    env.step(0)
    assert env.agent_selection == "player_1"


def test_captured_seeds_are_told():
    env = started("kalah:pits=2", "<2,0,0,1,0,3,1> S")
    env.step(0)
    assert env.infos["player_0"]["captured"] == env.infos["player_1"]["captured"] == 4


@pytest.mark.parametrize(("reward", "win"), [("outcome", 1.0), ("margin", 0.5)])
def test_a_swap_exchanges_the_seats(reward, win):
    env = started("mankalah:pits=2,seeds=1", reward=reward)
    env.step(1)  # the first move earns no further one: <2,1,0,1,0,1,1> N swap
    assert env.agent_selection == "player_1"
    assert env.observe("player_1")["action_mask"].tolist() == [1, 1, 1]
    env.step(2)  # board and side to move stay, so North moves, who is player_0 now
    assert env.agent_selection == "player_0"
    assert {agent: info["side"] for agent, info in env.infos.items()} == {
        "player_0": "north",
        "player_1": "south",
    }
    assert seen(env, "player_0", 4) == [1, 1, 0, 1, 0, 1]
    assert seen(env, "player_1", 4) == [1, 0, 1, 1, 1, 0]
    assert env.observe("player_0")["action_mask"].tolist() == [1, 1, 0]
    env.step(1)  # into the store: again
    assert env.agent_selection == "player_0"
    env.step(0)  # captures south's last pit: 1:3
    assert finish(env) == {"player_0": win, "player_1": -win}
    env.reset()
    assert env.infos["player_0"]["side"] == "south"


@pytest.mark.parametrize(
    ("position", "outcome", "margin"),
    [
        ("<1,5,0,1,2> S", 1, 4 / 8),  # 6:2
        ("<1,1,0,1,2> S", 0, 0),  # 2:2
        ("<1,0,2,1,7> S", -1, -8 / 10),  # 1:9
    ],
)
def test_rewards_at_the_end(position, outcome, margin):
    for reward, value in (("outcome", outcome), ("margin", margin)):
        env = started("kalah:pits=1", position, make=kalah_v0.env, reward=reward)
        env.step(0)
        assert env.agent_selection == "player_0"
        assert finish(env) == {"player_0": value, "player_1": -value}


@pytest.mark.parametrize("make", [kalah_v0.env, kalah_v0.raw_env])
def test_a_decided_position_starts_with_the_game_over(make):
    env = started("kalah:pits=2", "<2,1,2,0,0,3,4> S", make=make)
    assert env.agents == ["player_0", "player_1"]
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert not env.observe(env.agent_selection)["action_mask"].any()
    assert finish(env) == {"player_0": -1.0, "player_1": 1.0}
    env.reset()
    assert env.agents
    assert not any(env.terminations.values())
    env.step(0)


def test_an_empty_board_is_a_draw_and_divides_by_nothing():
    env = started("kalah:pits=2", "<2,0,0,0,0,0,0> S", reward="margin")
    assert seen(env, "player_0", 1) == [0] * 6
    assert finish(env) == {"player_0": 0.0, "player_1": 0.0}


@pytest.mark.parametrize("preset", ["kalah", "kalaha-philos", "bohnenspiel"])
def test_the_ply_limit_truncates_without_reward(preset):
    env = started(f"{preset}:ply_limit=2", make=kalah_v0.env)
    env.step(0)
    assert env.truncations == {"player_0": False, "player_1": False}
    env.step(0)
    assert env.truncations == {"player_0": True, "player_1": True}
    assert env.terminations == {"player_0": False, "player_1": False}
    assert not env.observe(env.agent_selection)["action_mask"].any()
    assert finish(env) == {"player_0": 0.0, "player_1": 0.0}


@pytest.mark.parametrize("action", [1, -1, 3, 99, None, 0.0, "0"])
def test_an_illegal_action_raises_in_raw_env_and_changes_nothing(action):
    env = started("kalah:pits=3", "<3,1,0,4,0,2,1,2,3> S")
    before, view = env.state().tolist(), env.observe("player_0")
    with pytest.raises(KalahError, match=r"player_0.*<3,1,0,4,0,2,1,2,3> S; legal are \[0, 2\]"):
        env.step(action)
    assert env.state().tolist() == before
    assert env.agent_selection == "player_0"
    assert env.observe("player_0")["action_mask"].tolist() == view["action_mask"].tolist()


def test_an_illegal_action_ends_the_game_in_env(capfd):
    env = started("kalah:pits=2", "<2,0,0,0,2,1,1> S", make=kalah_v0.env)
    env.step(0)
    assert env.terminations == {"player_0": True, "player_1": True}
    assert not env.observe("player_0")["action_mask"].any()
    assert finish(env) == {"player_0": -1.0, "player_1": 0.0}
    env.reset()
    with pytest.raises(AssertionError, match="action is not in action space"):
        env.step(2)


def test_a_position_decides_who_begins():
    env = started("kalah:pits=2", "<2,5,4,1,2,3,1> N")
    assert env.agent_selection == "player_1"
    assert started("kalah:pits=2", "<2,5,4,1,2,3,1> S").agent_selection == "player_0"
    env.reset()
    assert seen(env, "player_0", 16) == [4, 4, 0, 4, 4, 0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"postion": "<2,5,4,1,2,3,1> N"}, "no option 'postion'"),
        ({"position": "<3,0,0,1,1,1,1,1,1> S"}, "3' pits a row, the rules 2"),
        ({"position": [1, 2]}, "give a text"),
        ({"starter": "loser"}, "starter='loser' is not known; it is south, lot, winner, 0 or 1"),
    ],
)
def test_a_bad_reset_raises_and_leaves_the_game_alone(options, sentence):
    env = started("kalah:pits=2", "<2,5,4,1,2,3,1> N")
    with pytest.raises(KalahError, match=sentence):
        env.reset(options=options)
    assert env.agent_selection == "player_1"
    assert seen(env, "player_0", 16) == [1, 2, 5, 3, 1, 4]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rules": "kala"}, "no preset 'kala'"),
        ({"rules": parse_rules("kalah")._replace(pits=99)}, "pits has no value 99"),
        ({"reward": "score"}, "reward='score' is not known; it is outcome or margin"),
        ({"starter": True}, "starter=True is not known"),
        ({"render_mode": "svg"}, "render_mode='svg' is not known; it is human, ansi, rgb_array"),
    ],
)
def test_bad_arguments_raise(arguments, sentence):
    with pytest.raises(KalahError, match=sentence):
        kalah_v0.env(**arguments)


@pytest.mark.parametrize("make", [kalah_v0.env, kalah_v0.raw_env])
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_and_pickles_go_on_with_the_game(make, clone):
    env = started("mankalah:pits=3,seeds=2", make=make)
    for action in (0, 3):  # the swap changes the seats, and the copy must know
        env.step(action)
    twin = clone(env)
    unmoved = env.state().tolist()
    while not env.terminations[twin.agent_selection]:
        action = int(np.flatnonzero(twin.last()[0]["action_mask"])[-1])
        twin.step(action)
        assert env.state().tolist() == unmoved, "the copy moved the original"
        env.step(action)
        unmoved = env.state().tolist()
        assert twin.state().tolist() == unmoved
        assert (twin.agent_selection, twin.infos) == (env.agent_selection, env.infos)
    assert finish(twin) == finish(env)


def test_rules_may_be_given_as_rules():
    assert kalah_v0.env(make_rules("kgp", pits=3)).action_space("player_0").n == 3
    assert kalah_v0.env("mankalah").action_space("player_1").n == 8


def run_python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def test_the_registry_knows_the_environment():
    env = pettingzoo.make("aec", "kalah/kalah-v0", rules="mankalah", reward="margin")
    env.reset()
    assert str(env) == "kalah_v0"
    assert env.unwrapped.rules == parse_rules("mankalah")
    assert isinstance(env, pettingzoo.utils.wrappers.OrderEnforcingWrapper)


def test_importing_the_package_registers_but_loads_no_compiler_and_no_window():
    script = (
        "import sys, kalah_env, pettingzoo; pettingzoo.spec('aec', 'kalah/kalah-v0');"
        "print([name for name in ('numba', 'pygame', 'torch') if name in sys.modules])"
    )
    assert run_python("-c", script).strip() == "[]"


def test_the_first_program_runs():
    program = ROOT / "examples" / "random_game.py"
    assert "South: player_0, " in run_python(str(program))
    code = program.read_text().split('"""')[2]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 10
