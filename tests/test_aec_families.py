"""The PettingZoo environment beyond plain Kalah: four rows, directions, other ends, who begins."""

import pytest
from test_aec import finish, seen, started

from kalah_env import kalah_v0


def test_four_rows_are_seen_ring_by_ring():
    env = started("bao-philos:pits=2", "<2x2,0,0,1,2,3,0,4,5,6,7> S")
    assert seen(env, "player_0", 28) == [1, 2, 3, 0, 0, 4, 5, 6, 7, 0]
    assert seen(env, "player_1", 28) == [4, 5, 6, 7, 0, 1, 2, 3, 0, 0]
    assert env.observe("player_0")["action_mask"].tolist() == [0, 1, 1, 0, 0, 1, 1, 0]


@pytest.mark.parametrize(("action", "ring"), [(1, [1, 0, 4, 1]), (5, [2, 0, 3, 1])])
def test_actions_are_counter_clockwise_then_clockwise(action, ring):
    env = started("bao-philos:pits=2", "<2x2,0,0,1,2,3,0,4,5,6,7> S")
    env.step(action)  # pit 2: into 3 and 4, or into 1 and 4
    assert seen(env, "player_0", 28)[:4] == ring


def test_swap_is_the_last_action_also_with_two_directions():
    env = started("bao-philos:pits=2,pie=true")
    env.step(4)
    assert env.observe("player_1")["action_mask"][8] == 1
    env.step(8)
    assert (env.agent_selection, env.infos["player_0"]["side"]) == ("player_0", "north")


def test_a_preset_starts_in_its_own_layout():
    env = started("hus")
    assert seen(env, "player_1", 48)[:17] == [2, 2, 2, 2, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 0]


@pytest.mark.parametrize("reward", ["outcome", "margin"])
def test_who_can_still_move_wins_it_all(reward):
    # Pit 2 goes 1, 2, 1 and captures north's only front seed.
    env = started("bao-philos:pits=1", "<2x1,0,0,1,3,1,3> S", reward=reward)
    env.step(1)
    assert finish(env) == {"player_0": 1.0, "player_1": -1.0}


@pytest.mark.parametrize(("leftover", "value"), [("nobody", 2 / 9), ("owner", 3 / 9)])
def test_seeds_left_count_for_whom_the_rules_say(leftover, value):
    # South's seed cannot feed north: over at 5:3 with one seed left.
    rules = f"kalaha-philos:pits=2,leftover={leftover},early_stop=no"
    env = started(rules, "<2,5,3,1,0,0,0> S", reward="margin")
    assert finish(env) == {"player_0": pytest.approx(value), "player_1": pytest.approx(-value)}


def seat_and_mover(env, **reset):
    env.reset(**reset)
    return env.infos["player_0"]["side"], env.agent_selection


@pytest.mark.parametrize("given", ["at reset", "for all games"])
@pytest.mark.parametrize(
    ("starter", "letter", "expected"),
    [
        ("south", "S", ("south", "player_0")),
        ("south", "N", ("south", "player_1")),
        (0, "S", ("south", "player_0")),
        (0, "N", ("north", "player_0")),
        (1, "S", ("north", "player_1")),
        (1, "N", ("south", "player_1")),
    ],
)
def test_who_begins_sits_at_the_side_to_move(given, starter, letter, expected):
    position = f"<2,5,4,1,2,3,1> {letter}"
    if given == "at reset":
        env = kalah_v0.env("kalah:pits=2")
        assert seat_and_mover(env, options={"position": position, "starter": starter}) == expected
        assert seat_and_mover(env) == ("south", "player_0")
    else:
        env = kalah_v0.env("kalah:pits=2", starter=starter)
        assert seat_and_mover(env, options={"position": position}) == expected


def test_the_lot_decides_by_the_seed():
    env = kalah_v0.raw_env(starter="lot")
    env.reset(seed=7)
    drawn = [seat_and_mover(env) for _ in range(40)]
    # 40 fair lots are outside 8 to 32 once in 10,000 seeds.
    assert 8 <= drawn.count(("north", "player_1")) <= 32
    assert drawn.count(("south", "player_0")) == 40 - drawn.count(("north", "player_1"))
    env.reset(seed=7)
    assert [seat_and_mover(env) for _ in range(40)] == drawn
    env.reset(seed=8)
    assert [seat_and_mover(env) for _ in range(40)] != drawn


def test_the_last_winner_begins():
    wins, draws, loses = "<1,5,0,1,2> S", "<1,1,0,1,2> S", "<1,0,2,1,7> S"
    env = kalah_v0.raw_env("kalah:pits=1", starter="winner")
    begins = []
    for position in (loses, wins, draws, wins, loses):
        env.reset(options={"position": position})
        begins.append(env.agent_selection)
        env.step(0)  # the one ply of the game
    # Lost by player 0; won and drawn and won by player 1; lost by him.
    assert begins == ["player_0", "player_1", "player_1", "player_1", "player_1"]
    assert seat_and_mover(env) == ("south", "player_0")
    env.reset(options={"position": loses})
    env.step(0)
    assert seat_and_mover(env, seed=3) == ("south", "player_0"), "a seed starts a new match"
