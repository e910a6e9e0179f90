"""The Gymnasium `VectorEnv` against opponents and in matches: seats, answers, lots, winners, seeds."""

import numpy as np
import pytest
from test_vector import begun, draw, first_legal

from kalah_env import batch
from kalah_env.vector import KalahVectorEnv


def play(envs, seed, steps=80):
    """Play random games from a seed; return everything that was told."""
    rng = np.random.default_rng(3)
    observation, infos = envs.reset(seed=seed)
    told = [infos["to_move"].tolist()]
    for _ in range(steps):
        observation, reward, *_, infos = envs.step(draw(rng, observation["action_mask"]))
        told += [observation["observation"].tolist(), reward.tolist(), infos["to_move"].tolist()]
    return told


@pytest.mark.parametrize(
    "opponent", ["random", "greedy", lambda p, r, rng: draw(rng, batch.legal_masks(r, p))]
)
def test_the_seed_decides_everything(opponent):
    kwargs = {"opponent": opponent, "seat": "random", "starter": "lot"}
    envs = KalahVectorEnv(5, "kalah:pits=4,seeds=3", **kwargs)
    first = play(envs, 11)
    assert play(envs, 11) == first
    assert play(KalahVectorEnv(5, "kalah:pits=4,seeds=3", **kwargs), 11) == first
    assert play(envs, 12) != first


def test_lots_are_fair_and_drawn_for_every_game():
    envs, _, infos = begun(400, "kalah:pits=1,seeds=1", starter="lot")
    begins = [infos["to_move"]]
    for _ in range(3):  # every game is one ply long
        *_, infos = envs.step(np.zeros(400, int))
        begins.append(infos["to_move"])
    for drawn in begins:
        # 400 fair lots are outside 150 to 250 once in 2 million seeds.
        assert 150 <= drawn.sum() <= 250
    assert len({tuple(drawn) for drawn in begins}) == 4


def test_the_last_winner_begins_in_each_game_for_itself():
    envs, _, _ = begun(2, "kalah:pits=1,seeds=1", starter="winner", options={"position": "<1,5,0,1,2> S"})
    second = {"position": "<1,0,2,1,7> S", "reset_mask": np.array([False, True])}
    envs.reset(options=second)
    *_, infos = envs.step([0, 0])  # won by player 0, won by player 1
    assert infos["to_move"].tolist() == [0, 1]
    _, reward, *_, infos = envs.step([0, 0])  # every fresh game is one ply: 1:1
    assert reward.tolist() == [0, 0]
    assert infos["to_move"].tolist() == [0, 1], "after a draw the winner before still begins"
    _, infos = envs.reset()
    assert infos["to_move"].tolist() == [0, 1]
    _, infos = envs.reset(seed=1)
    assert infos["to_move"].tolist() == [0, 0], "a seed starts a new match"


@pytest.mark.parametrize("opponent", ["random", "greedy", "alphabeta:depth=1", first_legal])
@pytest.mark.parametrize("seat", [0, 1, "random"])
def test_against_an_opponent_the_agent_always_is_to_move(opponent, seat):
    envs, observation, infos = begun(8, "mankalah:pits=3,seeds=3", opponent=opponent, seat=seat)
    rng = np.random.default_rng(2)
    seats, ends = set(), 0
    for _ in range(60):
        seats |= set(infos["to_move"].tolist())
        assert observation["action_mask"].any(axis=1).all()
        actor = infos["to_move"]
        observation, reward, terminated, _, infos = envs.step(draw(rng, observation["action_mask"]))
        assert reward.tolist() == infos["rewards"][range(8), actor].tolist()
        assert not infos["illegal"].any()
        ends += terminated.sum()
    assert ends > 8
    assert seats == ({0, 1} if seat == "random" else {seat})


def test_an_illegal_action_against_an_opponent_ends_that_game():
    position = {"position": "<3,1,0,4,0,2,1,2,3> S"}
    envs, _, _ = begun(3, "kalah:pits=3", opponent=first_legal, options=position)
    observation, reward, terminated, truncated, infos = envs.step([0, 1, -7])
    assert terminated.tolist() == infos["illegal"].tolist() == [False, True, True]
    assert not truncated.any()
    assert reward.tolist() == [0, -1, -1]
    assert infos["rewards"].tolist() == [[0, 0], [-1, 0], [-1, 0]]
    assert not infos["final_obs"][1]["action_mask"].any()
    assert (infos["final_obs"][1]["observation"] * 13).round().tolist() == [4, 0, 2, 1, 1, 2, 3, 0]
    assert observation["action_mask"][1].tolist() == [1, 1, 1]
    assert not envs.step([2, 0, 0])[4]["illegal"].any()


def test_boards_are_shown_one_a_game():
    envs, _, _ = begun(2, render_mode="ansi", opponent="random", seat=1, options={"starter": 1})
    assert [board.splitlines()[-2:] for board in envs.render()] == [
        ["North: player_0 (opponent)", "South: player_1, to move"]
    ] * 2
    assert begun(2, render_mode="rgb_array")[0].render()[1].shape == (420, 856, 3)
