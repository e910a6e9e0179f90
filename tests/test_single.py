"""The single-agent Gymnasium environment: the opponent's answers, seats, rewards, illegal actions."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pygame
import pytest
from gymnasium.utils.env_checker import check_env

from kalah_env import KalahError, batch, parse_rules
from kalah_env.rules import PRESET_NAMES
from kalah_env.single import KalahEnv

ROOT = Path(__file__).parent.parent


def first_legal(positions, rules, rng):
    return batch.legal_masks(rules, positions).argmax(axis=1)


def last_legal(positions, rules, rng):
    masks = batch.legal_masks(rules, positions)
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)


def begun(rules, position=None, seed=0, **kwargs):
    env = KalahEnv(rules, **kwargs)
    observation, info = env.reset(seed=seed, options={"position": position} if position else None)
    return env, observation, info


def counts(observation, seeds):
    return (observation["observation"] * seeds).round(3).tolist()


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_gymnasiums_checker_finds_nothing(preset, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(KalahEnv.metadata, "render_fps", 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make("Kalah-v0", rules=preset)
        check_env(env.unwrapped)
    pygame.display.quit()


def test_make_makes_it_with_its_arguments():
    env = gym.make("Kalah-v0", rules="mankalah", opponent="greedy", seat=1, reward="margin")
    assert isinstance(env.unwrapped, KalahEnv)
    assert env.unwrapped.rules == parse_rules("mankalah")
    _, info = env.reset(seed=0)
    assert info["to_move"] == 1
    assert env.get_wrapper_attr("action_masks")().shape == (8,)


@pytest.mark.parametrize(
    ("opponent", "view"),
    [
        # Pit 2 gives <2,1,0,2,0,3,1> N. Pit 1 of three: the opponent's last seed falls on our side.
        (first_legal, [3, 0, 1, 0, 2, 1]),
        # Pit 2 ends in his store: again, with pit 1 as above.
        (last_legal, [3, 0, 1, 0, 1, 2]),
    ],
)
def test_the_opponent_answers_within_the_step(opponent, view):
    env, observation, _ = begun("kalah:pits=2", "<2,0,0,2,2,2,1> S", opponent=opponent)
    assert counts(observation, 7) == [2, 2, 0, 2, 1, 0]
    observation, reward, terminated, truncated, info = env.step(1)
    assert counts(observation, 7) == view
    assert observation["action_mask"].tolist() == [1, 0]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert [type(x) for x in (reward, terminated, truncated)] == [float, bool, bool]
    assert (info["to_move"], info["illegal"], info["rewards"].tolist()) == (0, False, [0, 0])


def test_an_extra_turn_is_not_answered():
    env, _, _ = begun("kalah:pits=2", "<2,0,0,2,2,2,1> S", opponent=first_legal)
    observation, *_ = env.step(0)
    assert counts(observation, 7) == [0, 3, 1, 2, 1, 0]


def test_the_opponent_opens_where_he_sits_south():
    env, observation, info = begun("kalah:pits=2,seeds=1", opponent=first_legal, seat=1)
    assert counts(observation, 4) == [1, 1, 0, 0, 2, 0]
    assert info == {"to_move": 1}
    assert env.state()[6] == 1


def test_the_opponent_sees_positions_and_rules_and_draws_from_the_environments_generator():
    seen = []

    def opponent(positions, rules, rng):
        seen.append((positions.copy(), rules, rng))
        positions[:] = 0  # his own copy
        return np.zeros(1, int)

    env, _, _ = begun("kalah:pits=2", "<2,5,4,1,2,3,1> S", opponent=opponent)
    env.step(0)
    positions, rules, rng = seen[0]
    assert positions.tolist() == [[0, 3, 5, 3, 1, 4, 1, 0, 0, 1, 0]]
    assert (rules, rng) == (env.rules, env.np_random)


@pytest.mark.parametrize(
    ("position", "outcome", "margin"),
    [
        ("<1,5,0,1,2> S", 1, 4 / 8),  # 6:2
        ("<1,1,0,1,2> S", 0, 0),  # 2:2
        ("<1,0,2,1,7> S", -1, -8 / 10),  # 1:9
    ],
)
@pytest.mark.parametrize("seat", [0, 1])
def test_rewards_are_the_agents(position, outcome, margin, seat):
    for kind, value in (("outcome", outcome), ("margin", margin)):
        kwargs = {"opponent": first_legal, "seat": seat, "reward": kind}
        env, observation, _ = begun("kalah:pits=1", position, **kwargs)
        # From seat 1 the opponent's first turn is the whole game: an empty mask, and the step ends it.
        assert observation["action_mask"].tolist() == [1 - seat]
        _, reward, terminated, _, info = env.step(0)
        assert (reward, terminated) == (value if seat == 0 else -value, True)
        assert info["rewards"].tolist() == [value, -value]
        assert not info["illegal"]


def test_a_swap_takes_the_opponents_seat():
    env, observation, _ = begun("mankalah:pits=2,seeds=2", opponent=last_legal, seat=1)
    assert counts(observation, 8) == [3, 2, 0, 2, 0, 1]  # he has sown pit 2
    assert observation["action_mask"].tolist() == [1, 1, 1]
    observation, *_, info = env.step(2)
    # Ours is south now. North's pit 2 gave him one seed and us one.
    assert counts(observation, 8) == [3, 0, 1, 3, 0, 1]
    assert info["to_move"] == 1


@pytest.mark.parametrize("action", [1, 3, -1, 2**62])
@pytest.mark.parametrize("seat", [0, 1])
def test_an_illegal_action_ends_the_game_with_minus_one(action, seat):
    letter = "SN"[seat]
    env, _, _ = begun("kalah:pits=3", f"<3,1,0,4,0,2,3,0,2> {letter}", opponent=first_legal, seat=seat)
    before = env.state().tolist()
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["illegal"]) == (-1.0, True, False, True)
    assert info["rewards"].tolist() == ([-1, 0] if seat == 0 else [0, -1])
    assert not observation["action_mask"].any()
    assert not env.action_masks().any()
    assert env.state().tolist() == before
    with pytest.raises(KalahError, match=r"call reset\(\)"):
        env.step(0)
    env.reset()
    assert env.action_masks().any()


@pytest.mark.parametrize("action", [None, 0.0, "0", [0], 2**64, True, np.True_, np.uint64(2**64 - 1), np.nan])
def test_what_is_no_number_is_no_action(action):
    env, _, _ = begun("kalah")
    with pytest.raises(KalahError, match="is not a whole number of Discrete"):
        env.step(action)


def test_without_an_opponent_the_caller_plays_both_seats():
    env, observation, info = begun("kalah:pits=2", "<2,5,4,1,2,3,1> S", opponent=None)
    observation, reward, _, _, info = env.step(0)
    assert info["to_move"] == 1
    assert counts(observation, 16) == [3, 1, 4, 0, 3, 5]
    assert "illegal" not in info
    with pytest.raises(KalahError, match="action 2 is illegal"):
        env.step(2)
    env, _, _ = begun("kalah:pits=1", "<1,5,0,2,1> N", opponent=None)
    _, reward, _, _, info = env.step(0)  # north's last seed goes home; 7:1
    assert (reward, info["rewards"].tolist()) == (-1, [1, -1])


def test_steps_need_a_game():
    with pytest.raises(KalahError, match=r"call reset\(\)"):
        KalahEnv().step(0)


def test_masks_for_sb3_are_bools():
    env, observation, _ = begun("bao-philos:pits=2", "<2x2,0,0,1,2,3,0,4,5,6,7> S")
    assert env.action_masks().dtype == bool
    assert env.action_masks().tolist() == [False, True, True, False] * 2
    assert observation["action_mask"].tolist() == [0, 1, 1, 0] * 2


def play(env, seed):
    """Play a random game from a seed; return all that was seen."""
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=seed)
    told = [info["to_move"]]
    over = False
    while not over:
        told.append(observation["observation"].tolist())
        action = rng.choice(np.flatnonzero(env.action_masks()))
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    return [*told, reward]


@pytest.mark.parametrize("opponent", ["random", "greedy"])
def test_the_seed_decides_seats_and_opponent(opponent):
    env = KalahEnv("kalah:pits=4,seeds=3", opponent=opponent, seat="random")
    games = [play(env, seed) for seed in range(12)]
    assert {game[0] for game in games} == {0, 1}
    assert [play(env, seed) for seed in range(12)] == games
    assert len({str(game) for game in games}) == 12


def test_an_unseeded_game_goes_on_with_the_generator():
    env = KalahEnv("kalah:pits=4,seeds=3")
    first = play(env, 1)
    assert play(env, None) != first
    second = play(KalahEnv("kalah:pits=4,seeds=3"), None)
    assert second != play(KalahEnv("kalah:pits=4,seeds=3"), None)


def test_the_last_winner_begins_also_after_an_illegal_action():
    env, _, _ = begun("kalah:pits=2", opponent=first_legal, starter="winner")
    assert env.state()[6] == 0
    env.step(99)  # the opponent wins
    observation, _ = env.reset()
    assert env.matches.names(0) == ("player_1 (opponent)", "player_0")
    assert counts(observation, 16) == [5, 5, 0, 0, 5, 1], "the opponent has sown pit 1"


@pytest.mark.parametrize("starter", [0, 1])
def test_the_starter_is_a_player_whatever_the_seat(starter):
    for seat in (0, 1):
        env, _, _ = begun("kalah:pits=2,seeds=1", opponent=first_legal, seat=seat)
        env.reset(options={"starter": starter})
        assert env.matches.names(0)[0].startswith(f"player_{starter}")
        assert env.state()[9] == (0 if seat == starter else 1), "plies"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (np.array([1]), r"game 0: action 1 is illegal in <2,0,0,2,0,3,0> N; legal are \[0\]"),
        (np.array([-1]), "action -1 is illegal"),
        (np.array([0.0]), r"answered float64 of shape \(1,\)"),
        (np.array([0, 0]), r"answered int64 of shape \(2,\)"),
        (0, r"shape \(\)"),
    ],
)
def test_an_opponent_that_answers_badly_is_named(answer, sentence):
    env = KalahEnv("kalah:pits=2", opponent=lambda *_: answer)
    with pytest.raises(KalahError, match=f"the opponent.*{sentence}"):
        env.reset(options={"position": "<2,0,0,2,0,3,0> N"})


def test_bad_opponents_are_refused_when_the_environment_is_made():
    with pytest.raises(KalahError, match=r"agents are .*greedy"):
        gym.make("Kalah-v0", opponent="gredy")
    with pytest.raises(KalahError, match="alphabeta: 'deep=2' is not understood"):
        KalahEnv(opponent="alphabeta:deep=2")


def test_a_drawing_names_the_opponent():
    env, _, _ = begun("kalah:pits=2", "<2,5,4,1,2,3,1> S", render_mode="ansi", seat=0)
    assert env.render().splitlines()[-2:] == ["North: player_1 (opponent)", "South: player_0, to move"]


def test_the_vector_program_runs():
    command = [sys.executable, str(ROOT / "examples" / "vector_random.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("player 0, who begins, won "), done.stderr
    code = Path(command[1]).read_text().split('"""')[2]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 12
