"""The Gymnasium `VectorEnv`: the engine's games, self-play's conventions, automatic resets, matches."""

import copy
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from kalah_env import KalahError, batch, engine, parse_rules
from kalah_env.rules import PRESET_NAMES
from kalah_env.single import KalahEnv
from kalah_env.vector import KalahVectorEnv

SAME_STEP = AutoresetMode.SAME_STEP


def first_legal(positions, rules, rng):
    return batch.legal_masks(rules, positions).argmax(axis=1)


def draw(rng, masks):
    """Return a random legal action of each mask (B, A); 0 where it is empty."""
    return (rng.random(masks.shape) * masks).argmax(axis=1)


def begun(*args, options=None, seed=0, **kwargs):
    envs = KalahVectorEnv(*args, **kwargs)
    return envs, *envs.reset(seed=seed, options=options)


def assert_same(one, other, where=""):
    """Compare two values of observations or infos: nested dicts, object arrays, arrays with dtype."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, np.ndarray) and one.dtype == object:
        for a, b in zip(one, other, strict=True):
            assert_same(a, b, where)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        assert one.tolist() == other.tolist(), where
    else:
        assert one == other, where


def test_make_vec_makes_it_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = gym.make_vec("Kalah-v0", num_envs=3, rules="mankalah", reward="margin")
    assert isinstance(envs, KalahVectorEnv)
    assert (envs.num_envs, envs.rules) == (3, parse_rules("mankalah"))
    assert envs.metadata["autoreset_mode"] is SAME_STEP
    observation, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(observation)
    assert envs.single_action_space == gym.spaces.Discrete(8)
    assert envs.action_space.contains(np.array([7, 0, 1]))


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_games_are_the_engines_games(preset):
    envs, observation, infos = begun(6, preset)
    rules, fresh = envs.rules, batch.new_games(envs.rules, 6)
    states, south = fresh.copy(), np.zeros(6, int)
    rng = np.random.default_rng(0)
    half = fresh.shape[1] // 2 - 2
    ends = 0
    for _ in range(500):
        sides = batch.sides(rules, states)
        assert infos["to_move"].tolist() == (sides ^ south).tolist()
        assert observation["action_mask"].tolist() == batch.legal_masks(rules, states).tolist()
        total = np.float32(fresh[0, : 2 * half].sum())
        views = [np.roll(s[: 2 * half], -half * side) / total for s, side in zip(states, sides, strict=True)]
        assert observation["observation"].tolist() == np.array(views).tolist()
        assert envs.state().tolist() == states.tolist()
        actions, actor = draw(rng, observation["action_mask"]), sides ^ south
        batch.step(rules, states, actions)
        south ^= actions == engine.pit_actions(rules)
        observation, reward, terminated, truncated, infos = envs.step(actions)
        over = batch.statuses(rules, states) == engine.OVER
        souths = np.where(over, np.sign(batch.margins(rules, states)), 0)
        assert infos["rewards"][range(6), south].tolist() == souths.tolist()
        assert infos["rewards"].sum() == 0
        assert reward.tolist() == infos["rewards"][range(6), actor].tolist()
        assert terminated.tolist() == over.tolist()
        assert truncated.tolist() == (batch.statuses(rules, states) == engine.TRUNCATED).tolist()
        done = terminated | truncated
        states[done], south[done] = fresh[done], 0
        ends += done.sum()
    assert ends > 5


@pytest.mark.parametrize(
    ("rules", "opponent", "seat"),
    [
        ("kalah:pits=3,seeds=3", None, 0),
        ("mankalah:pits=2,seeds=2", None, 0),
        ("bao-philos:pits=2,ply_limit=9", None, 0),
        ("kalah:pits=3,seeds=3", first_legal, 0),
        ("mankalah:pits=3,seeds=2", first_legal, 1),
        ("kalaha-philos:pits=3,ply_limit=12", first_legal, 1),
    ],
)
@pytest.mark.parametrize("reward", ["outcome", "margin"])
def test_it_is_a_sync_vector_env_of_the_single_environment(rules, opponent, seat, reward):
    kwargs = {"rules": rules, "opponent": opponent, "seat": seat, "reward": reward, "starter": "winner"}
    envs = KalahVectorEnv(4, **kwargs)
    sync = SyncVectorEnv([lambda: KalahEnv(**kwargs)] * 4, autoreset_mode=SAME_STEP)
    assert envs.observation_space == sync.observation_space
    assert envs.action_space == sync.action_space
    ours, theirs = envs.reset(seed=5), sync.reset(seed=5)
    for a, b in zip(ours, theirs, strict=True):
        assert_same(a, b)
    rng = np.random.default_rng(1)
    ends = bad = 0
    for _ in range(150):
        mask = ours[0]["action_mask"]
        # Against an opponent one action in ten is drawn from all, illegal ones among them.
        wild = rng.random(4) < (0.1 if opponent else 0)
        actions = np.where(wild, rng.integers(mask.shape[1], size=4), draw(rng, mask))
        ours, theirs = envs.step(actions), sync.step(actions)
        done = ours[2] | ours[3]
        # The one difference: what this step brought stays in sight where the next game has begun.
        for key in {"rewards", "illegal"} & ours[4].keys():
            assert ours[4][f"_{key}"].all()
            ours[4][key][done] = 0
            ours[4][f"_{key}"] = ~done
            if done.all():
                del ours[4][key], ours[4][f"_{key}"]
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
        ends += done.sum()
        bad += ours[4].get("final_info", {}).get("illegal", done * 0).sum()
    assert ends > 20
    assert bool(bad) == (opponent is not None)


def test_self_play_tells_the_next_movers_view():
    envs, _, _ = begun(2, "kalah:pits=3", options={"position": "<3,0,0,2,1,1,3,2,1> S"})
    observation, reward, terminated, _, infos = envs.step([1, 2])  # to pit 3; to the store, so again
    assert infos["to_move"].tolist() == [1, 0]
    views = [[3, 2, 1, 0, 2, 0, 2, 0], [2, 1, 0, 1, 3, 2, 1, 0]]
    assert (observation["observation"] * 10).tolist() == views
    assert observation["action_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert (terminated.any(), reward.any(), infos["rewards"].any()) == (False, False, False)


@pytest.mark.parametrize(
    ("position", "reward", "rewards", "margin"),
    [
        ("<1,5,0,1,2> S", 1, [1, -1], 0.5),  # 6:2
        ("<1,1,0,1,2> S", 0, [0, 0], 0),  # 2:2
        ("<1,0,2,1,7> S", -1, [-1, 1], -0.8),  # 1:9
        ("<1,5,0,2,1> N", -1, [1, -1], 0.75),  # 7:1
    ],
)
def test_both_rewards_at_the_end(position, reward, rewards, margin):
    for kind in ("outcome", "margin"):
        envs, _, _ = begun(1, "kalah:pits=1", reward=kind, options={"position": position})
        _, told, terminated, _, infos = envs.step([0])
        assert terminated.tolist() == [True]
        souths = margin if kind == "margin" else rewards[0]
        assert infos["rewards"].tolist() == infos["final_info"]["rewards"].tolist() == [[souths, -souths]]
        assert told[0] == (souths if position[-1] == "S" else -souths)
        assert told[0] == pytest.approx(reward * abs(souths))


def test_a_game_that_ends_begins_anew_in_the_same_step():
    envs, _, _ = begun(2, "kalah:pits=2,seeds=2")
    envs.reset(options={"position": "<2,0,5,2,0,0,1> N", "reset_mask": np.array([True, False])})
    observation, reward, terminated, truncated, infos = envs.step([1, 0])
    assert terminated.tolist() == [True, False]
    assert truncated.tolist() == [False, False]
    assert reward.tolist() == [1, 0]  # north's, who acted
    assert infos["to_move"].tolist() == [0, 0]
    assert (observation["observation"] * 8).tolist() == [[2, 2, 0, 2, 2, 0], [0, 3, 1, 2, 2, 0]]
    assert observation["action_mask"].tolist() == [[1, 1], [0, 1]]
    last = infos["final_obs"][0]
    assert (last["observation"] * 8).tolist() == [0, 0, 6, 0, 0, 2]
    assert last["action_mask"].tolist() == [0, 0]
    assert infos["final_info"]["to_move"].tolist() == [1, 0]
    assert infos["final_obs"][1] is None
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [True, False]


def test_a_swap_changes_the_player_to_move():
    envs, _, infos = begun(1, "mankalah:pits=2,seeds=1")
    assert infos["to_move"].tolist() == [0]
    *_, infos = envs.step([1])  # <2,1,0,1,0,1,1> N swap
    assert infos["to_move"].tolist() == [1]
    observation, *_, infos = envs.step([2])
    assert infos["to_move"].tolist() == [0]
    assert (observation["observation"][0] * 4).tolist() == [1, 1, 0, 1, 0, 1]
    envs.step([1])
    _, reward, _, _, infos = envs.step([0])  # player 0, who sits north now, wins 3:1
    assert reward.tolist() == [1]
    assert infos["rewards"].tolist() == [[1, -1]]
    assert infos["to_move"].tolist() == [0]


@pytest.mark.parametrize("bad", [1, -1, 3, 99, -(2**63)])
def test_an_illegal_action_in_self_play_raises_and_changes_nothing(bad):
    envs, *_ = begun(3, "kalah:pits=3", options={"position": "<3,1,0,4,0,2,1,2,3> S"})
    state = envs.state()
    with pytest.raises(
        KalahError, match=rf"game 1: action {bad} .*<3,1,0,4,0,2,1,2,3> S; legal are \[0, 2\]"
    ):
        envs.step([0, bad, 2])
    assert envs.state().tolist() == state.tolist()
    assert not envs.step([2, 2, 2])[2].any()


@pytest.mark.parametrize("bad", [[0.0, 1.0], [0], [[0, 1]], [None, 0], 0, [0, [1]], [True, False]])
def test_actions_are_one_whole_number_a_game(bad):
    envs, _, _ = begun(2)
    with pytest.raises(KalahError, match=r"one whole number a game: \(2,\)"):
        envs.step(bad)


def test_games_must_have_begun():
    envs = KalahVectorEnv(2)
    with pytest.raises(KalahError, match=r"call reset\(\) first"):
        envs.step([0, 0])
    with pytest.raises(KalahError, match="leaves out games that have not begun"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(KalahError, match=r"call reset\(\) first"):
        envs.step([0, 0])
    envs.reset(options={"reset_mask": np.array([True, True])})
    envs.reset(options={"reset_mask": np.array([True, False])})
    envs.step([0, 0])


def test_a_mask_resets_some_games_and_leaves_the_others():
    envs, _, _ = begun(3, "kalah:pits=2,seeds=2")
    envs.step([0, 0, 1])
    before = envs.state()
    options = {"position": "<2,5,4,1,2,3,1> N", "reset_mask": np.array([False, True, False])}
    observation, infos = envs.reset(options=options)
    assert set(options) == {"position", "reset_mask"}, "the caller's options are his own"
    after = envs.state()
    assert after[[0, 2]].tolist() == before[[0, 2]].tolist()
    assert after[1, :6].tolist() == [1, 2, 5, 3, 1, 4]
    assert (observation["observation"][1] * 16).tolist() == [3, 1, 4, 1, 2, 5]
    assert infos["_to_move"].tolist() == [False, True, False]
    assert infos["to_move"].tolist() == [0, 1, 0]


@pytest.mark.parametrize("mask", [[True, False], np.zeros(2, bool), np.ones(3, bool), np.ones(2, int)])
def test_a_bad_mask_raises(mask):
    with pytest.raises(KalahError, match="reset_mask"):
        KalahVectorEnv(2).reset(options={"reset_mask": mask})


def test_the_start_lasts_and_the_position_of_a_reset_does_not():
    start, once = "<1,0,0,1,3> S", "<1,5,0,1,2> N"
    envs, observation, _ = begun(1, "kalah:pits=1", start=start, options={"position": once})
    assert (observation["observation"] * 8).tolist() == [[2, 0, 1, 5]]
    observation = envs.step([0])[0]
    while not (observation["observation"] * 4 == [1, 0, 3, 0]).all():
        observation = envs.step([0])[0]
    assert envs.state()[0, :4].tolist() == [1, 0, 3, 0]


def test_a_start_that_is_decided_ends_at_once_and_again():
    envs, observation, _ = begun(2, "kalah:pits=2", start="<2,1,2,0,0,3,4> S")
    for _ in range(2):
        assert not observation["action_mask"].any()
        observation, reward, terminated, _, infos = envs.step([0, 99])
        assert terminated.all()
        assert infos["rewards"].tolist() == [[-1, 1], [-1, 1]]
        assert reward.tolist() == [-1, -1]


def test_all_arrays_are_the_callers_own():
    envs, observation, _ = begun(2, opponent=first_legal)
    twin, *_ = begun(2, opponent=first_legal)
    kept = []
    for step in range(60):
        actions = observation["action_mask"].argmax(axis=1)
        spoilt, result = envs.step(actions), twin.step(actions)
        for a, b in zip(spoilt, result, strict=True):
            assert_same(a, b)
        kept.append((result, copy.deepcopy(result)))
        observation = result[0]
        for array in (*spoilt[0].values(), *spoilt[1:4], *spoilt[4].values()):
            if isinstance(array, np.ndarray):
                array.fill(step % 2)
    for result, then in kept:
        for a, b in zip(result, then, strict=True):
            assert_same(a, b)


@pytest.mark.parametrize(
    ("kwargs", "sentence"),
    [
        *(({"num_envs": n}, f"num_envs={n!r} is not allowed") for n in (0, "3", None, 2.0, True)),
        ({"rules": "kala"}, "no preset 'kala'"),
        ({"reward": "score"}, "reward='score' is not known; it is outcome or margin"),
        ({"seat": 2, "opponent": "random"}, "seat=2 is not known; it is 0, 1 or random"),
        ({"seat": 1}, "seat=1 needs an opponent"),
        ({"starter": "loser"}, "starter='loser' is not known"),
        ({"starter": "winner", "seat": "random", "opponent": "random"}, "clashes with starter='winner'"),
        ({"start": "<3,0,0,1,1,1,1,1,1> S"}, "the rules 6"),
        ({"opponent": "nobody"}, "there is no 'nobody'"),
        ({"opponent": 7}, "opponent=7 is not known"),
        ({"render_mode": "human"}, "render_mode='human' is not known; it is ansi, rgb_array or None"),
    ],
)
def test_bad_arguments_raise(kwargs, sentence):
    with pytest.raises(KalahError, match=sentence):
        KalahVectorEnv(**kwargs)


@pytest.mark.parametrize("options", [{"postion": ""}, {"position": 3}, {"starter": 2}])
def test_bad_options_raise_and_leave_the_games_alone(options):
    envs, _, _ = begun(2)
    envs.step([0, 1])
    before = envs.state()
    with pytest.raises(KalahError, match=next(iter(options))):
        envs.reset(options=options)
    assert envs.state().tolist() == before.tolist()


def test_gymnasiums_statistics_count_our_episodes():
    envs = RecordEpisodeStatistics(KalahVectorEnv(2, "kalah:pits=2,seeds=2"))
    envs.reset(options={"position": "<2,5,0,2,0,1,0> S"})
    envs.step(np.array([0, 0]))  # into the store: again
    envs.reset(options={"position": "<2,5,0,0,1,2,0> S", "reset_mask": np.array([True, False])})
    observation, *_, infos = envs.step(np.array([1, 1]))
    assert infos["episode"]["l"].tolist() == [1, 2]
    assert infos["episode"]["r"].tolist() == [1, 1]
    infos, steps = {}, 0
    while "episode" not in infos:
        observation, *_, infos = envs.step(observation["action_mask"].argmax(axis=1))
        steps += 1
    assert infos["episode"]["l"].tolist() == [steps, steps]
