"""Search: schedules, agreement with exact play on tiny boards, signs, and what it may not depend on."""

import numpy as np
import pytest
from families import SMALL, TINY, action_values, exact, random_positions

from agents import tree as trees
from agents.mcts import Search, SearchConfig, halving_schedule
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions, parse_rules
from kalah_env.text import parse_position

_PLY = engine.PLY - engine.EXTRAS  # index of PLY, from the end


def uniform(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Know nothing: equal logits, value 0."""
    return np.zeros((len(states), num_actions(rules)), np.float32), np.zeros(len(states), np.float32)


def rough(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Have an opinion of each position, the same one in every batch, and a wrong one."""
    weights = np.random.default_rng(0).normal(size=(states.shape[1], num_actions(rules) + 1))
    opinions = np.sin((states[:, :, None] * weights).sum(1))
    return opinions[:, :-1].astype(np.float32), opinions[:, -1].astype(np.float32)


@pytest.mark.parametrize(
    ("considered", "simulations", "expected"),
    [(6, 8, [0] * 6 + [1, 1]), (1, 3, [0, 1, 2]), (2, 3, [0, 0, 1])],
)
def test_halving_schedule_small(considered: int, simulations: int, expected: list[int]) -> None:
    assert halving_schedule(considered, simulations) == expected


@pytest.mark.parametrize(
    ("considered", "simulations", "rounds"),
    [
        (6, 16, [(6, 1), (3, 1), (2, 2), (2, 2)]),
        (6, 32, [(6, 1), (3, 3), (2, 5), (2, 5)]),
        (6, 64, [(6, 3), (3, 7), (2, 10), (2, 10)]),
        (3, 16, [(3, 2), (2, 4), (2, 4)]),
    ],
)
def test_halving_schedule_rounds(considered: int, simulations: int, rounds: list[tuple[int, int]]) -> None:
    """The published schedule: (actions left, visits each) a round, the last one cut short."""
    expected: list[int] = []
    visits = 0
    for actions, each in rounds:
        for _ in range(each):
            expected += [visits] * actions
            visits += 1
    assert halving_schedule(considered, simulations) == expected[:simulations]


@pytest.mark.parametrize("policy", ["gumbel", "puct"])
@pytest.mark.parametrize("spec", TINY)
def test_search_finds_the_minimax_move(spec: str, policy: str) -> None:
    rules = parse_rules(spec)
    states = np.concatenate(
        [batch.new_games(rules, 1), *(random_positions(rules, 20, p, p) for p in (1, 2, 3))]
    )
    states = states[batch.legal_masks(rules, states).sum(1) > 1]
    config = SearchConfig(4000, policy=policy, sign_weight=0.0, c_puct=2.5)
    found = Search(config).run(rules, states, uniform, np.random.default_rng(0))
    memo: dict = {}
    wrong = []
    for state, action in zip(states, found.actions, strict=True):
        values = action_values(rules, state, memo)
        if values[int(action)] != max(values.values()):
            wrong.append((state.tolist(), int(action), values))
    assert not wrong
    assert len(states) >= 3


def test_errors_shrink_as_simulations_grow() -> None:
    rules = parse_rules("kalah:pits=3,seeds=3")
    states = np.concatenate([random_positions(rules, 60, p, p) for p in (2, 4, 6)])
    memo: dict = {}
    best = [action_values(rules, state, memo) for state in states]
    regrets = []
    for simulations in (2, 32, 1000):
        config = SearchConfig(simulations, sign_weight=0.0)
        actions = Search(config).run(rules, states, uniform, np.random.default_rng(0)).actions
        regrets.append(np.mean([max(v.values()) - v[int(a)] for v, a in zip(best, actions, strict=True)]))
    assert regrets[0] > regrets[1] > regrets[2]
    assert regrets[2] < 0.02


def test_chain_of_extra_turns_is_found() -> None:
    """Pits 6, 5, 4, 3 each reach the store only in the right order: the best line is all extra turns."""
    rules = parse_rules("kalah")
    state = parse_position("<6,0,0,0,0,0,3,2,1,1,1,1,1,1,1> S", rules)
    found = Search(SearchConfig(400)).run(rules, state[None], uniform, np.random.default_rng(0))
    assert found.actions[0] == 5
    after = state.copy()
    engine.play(rules, after, 5)
    assert batch.sides(rules, after) == engine.SOUTH
    found = Search(SearchConfig(400)).run(rules, after[None], uniform, np.random.default_rng(0))
    assert found.actions[0] == 4


def test_root_value_reaches_the_exact_one() -> None:
    """PUCT spends its visits on the best line, so that the root's mean tends to the exact value."""
    rules = parse_rules("kalah:pits=2,seeds=3,pie=true")
    states = np.concatenate([random_positions(rules, 10, plies, plies) for plies in range(4)])
    expected = np.array([exact(rules, state) for state in states])
    assert len(states) >= 10
    assert (expected > 0).any()
    assert (expected < 0).any()
    config = SearchConfig(20000, policy="puct", sign_weight=0.0)
    found = Search(config).run(rules, states, uniform, np.random.default_rng(0))
    assert np.abs(found.values * 6 - expected).max() < 0.2


def test_swap_has_the_sign_of_a_new_player() -> None:
    """North may swap into South's winning seat: the swapped position's value counts for the swapper."""
    rules = parse_rules("mankalah:pits=3,seeds=3")
    states = [parse_position(f"<3,{stores},1,1,0,1,1,1> N swap", rules) for stores in ("9,0", "0,9")]
    config = SearchConfig(500, policy="puct")
    found = Search(config).run(rules, np.array(states), uniform, np.random.default_rng(0))
    assert found.actions[0] == rules.pits
    assert found.actions[1] != rules.pits
    assert (found.values > 0.5).all()


@pytest.mark.parametrize("policy", ["gumbel", "puct"])
def test_a_swap_inside_the_tree_counts_for_the_other_player(policy: str) -> None:
    """Who moves first must not move too well: North takes the seat that is ahead."""
    position = "<3,1,0,1,2,2,0,1,1> S first"
    for pie, expected in (("false", [1]), ("true", [2])):
        rules = parse_rules(f"kalah:pits=3,seeds=2,pie={pie}")
        state = parse_position(position, rules)
        config = SearchConfig(5000, policy=policy, sign_weight=0.0, c_explore=1.0, c_puct=2.5)
        found = Search(config).run(rules, state[None], uniform, np.random.default_rng(0))
        values = action_values(rules, state)
        assert [a for a in values if values[a] == max(values.values())] == expected
        assert found.actions[0] in expected
        if policy == "puct":
            assert found.values[0] * 8 / 2 == pytest.approx(max(values.values()), abs=0.3)


def test_advance_keeps_the_sign_across_a_swap_and_the_forced_moves_behind_it() -> None:
    """The swapper leaves North's seat; the one who gets it is forced; then the swapper moves as South."""
    rules = parse_rules("mankalah:pits=3,seeds=3")
    state = parse_position("<3,2,3,2,2,2,0,3,0> N swap", rules)
    assert trees.advance(rules, state, rules.pits) == 1.0
    expected = parse_position("<3,2,4,3,2,2,0,0,1> S", rules)
    assert state[:_PLY].tolist() == expected[:_PLY].tolist()
    state = parse_position("<3,2,3,2,2,2,1,1,0> N swap", rules)
    assert trees.advance(rules, state, rules.pits) == -1.0
    assert batch.sides(rules, state) == engine.NORTH


@pytest.mark.parametrize(
    "spec",
    [
        "mankalah:pits=2,seeds=2",
        "kalah:pits=3,seeds=1,pie=true",
        "kgp:pits=3",
        "danish:pits=3,seeds=2,pie=true",
        "kalaha-philos:pits=2,seeds=2,pie=true",
        "bohnenspiel:pits=3,seeds=2,pie=true",
        "hus:pits=3,pie=true",
    ],
)
def test_advance_agrees_with_seats_kept_by_hand(spec: str) -> None:
    """Plays on ply by ply beside it and keeps who sits where; +1 is: who chose is to move again."""
    rules = parse_rules(spec)
    rng = np.random.default_rng(4)
    swaps = chains = 0
    for _ in range(60):
        state = batch.new_games(rules, 1)[0]
        while batch.statuses(rules, state) == engine.RUNNING:
            chosen = int(rng.choice(np.flatnonzero(batch.legal_masks(rules, state[None])[0])))
            beside, seats, legal = state.copy(), [0, 1], [chosen]
            mover = seats[int(batch.sides(rules, state))]
            plies = 0
            while len(legal) == 1 and batch.statuses(rules, beside) == engine.RUNNING:
                if legal[0] == engine.pit_actions(rules):
                    seats.reverse()
                    swaps += 1
                engine.play(rules, beside, int(legal[0]))
                legal = np.flatnonzero(batch.legal_masks(rules, beside[None])[0]).tolist()
                plies += 1
            chains += plies > 1
            sign = trees.advance(rules, state, chosen)
            assert state.tolist() == beside.tolist()
            if batch.statuses(rules, beside) != engine.TRUNCATED:  # a draw has no sign
                assert (sign == 1) == (seats[int(batch.sides(rules, beside))] == mover)
    assert chains > 10
    assert swaps > 5 or not rules.pie


def test_an_ended_position_has_the_utility_of_its_result() -> None:
    """For the player at SIDE: the sign and the margin over half of all seeds, weighed; truncated is 0."""
    rules = parse_rules("kalah:pits=3,seeds=3,ply_limit=40")
    state = parse_position("<3,12,6,0,0,0,0,0,0> S", rules)
    extras = batch.extras(rules, state)
    assert extras[engine.STATUS] == engine.OVER
    assert trees.exact_utility(rules, state, 0.25) == pytest.approx(0.25 + 0.75 * 6 / 9)
    extras[engine.SIDE] = engine.NORTH
    assert trees.exact_utility(rules, state, 0.25) == pytest.approx(-0.25 - 0.75 * 6 / 9)
    extras[engine.STATUS] = engine.TRUNCATED
    assert trees.exact_utility(rules, state, 0.25) == 0.0
    state[[rules.pits, 2 * rules.pits + 1]] = 9
    extras[engine.STATUS] = engine.OVER
    assert trees.exact_utility(rules, state, 0.25) == 0.0


@pytest.mark.parametrize(
    ("spec", "position", "result"),
    [
        # Who can still move wins all: the sign and the margin are both 1.
        ("bao-philos:pits=2", "<2x2,0,0,0,0,1,5,1,1,0,0> N", 1.0),
        ("bao-philos:pits=2", "<2x2,0,0,1,5,0,0,0,0,1,1> S", 1.0),
        ("bao-philos:pits=2", "<2x2,0,0,0,0,1,5,1,1,0,0> S", -1.0),
        # 5 seeds of 12 stay on the board and are nobody's: 7 to 0 is 7 over half of all.
        ("kalaha-philos:pits=3,seeds=2", "<3,7,0,1,1,3,0,0,0> N", -0.25 - 0.75 * 7 / 6),
    ],
)
def test_the_results_of_other_families_as_utility(spec: str, position: str, result: float) -> None:
    rules = parse_rules(spec)
    state = parse_position(position, rules)
    assert batch.statuses(rules, state) == engine.OVER
    assert trees.exact_utility(rules, state, 0.25) == pytest.approx(result)


def test_advance_stops_where_forced_moves_go_round_for_ever() -> None:
    """1:1, 0:2, 1:1 and so on: nothing is taken, and no limit ends it."""
    rules = parse_rules("kalah:pits=1,seeds=1,sow_store=none,capture=none,end=mover,ply_limit=0")
    state = batch.new_games(rules, 1)[0]
    trees.advance(rules, state, 0)
    assert batch.statuses(rules, state) == engine.RUNNING
    assert batch.extras(rules, state)[engine.PLY] == trees.MAX_FORCED


@pytest.mark.parametrize("policy", ["gumbel", "puct"])
@pytest.mark.parametrize(
    ("spec", "position", "worth"),
    [
        # Either move ends the game by the forced moves behind it: 8:4 or 10:2 of 12 seeds.
        ("kalah:pits=2,seeds=3", "<2,7,2,1,1,1,0> S", [0.5 + 0.5 * 4 / 6, 0.5 + 0.5 * 8 / 6]),
        # Any move reaches the limit: a draw, though South is far ahead.
        ("kalah:pits=3,seeds=3,ply_limit=1", "<3,9,0,1,1,1,2,2,2> S", [0.0, 0.0, 0.0]),
    ],
)
def test_ended_nodes_are_visited_again_and_never_evaluated(
    spec: str, position: str, worth: list[float], policy: str
) -> None:
    rules = parse_rules(spec)
    state = parse_position(position, rules)
    asked: list[int] = []

    def sure(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(len(states))
        return uniform(rules, states)[0], np.full(len(states), 0.5, np.float32)

    config = SearchConfig(24, policy=policy, sign_weight=0.5)
    found = Search(config).run(rules, state[None], sure, np.random.default_rng(0))
    assert asked == [1]  # the root
    assert found.visits.sum() == 24
    assert found.visits.max() > 1
    assert found.action_values[0].tolist() == pytest.approx(worth)
    assert found.values[0] == pytest.approx(found.policy[0] @ np.array(worth))
    assert worth[found.actions[0]] == max(worth)


def test_advance_plays_forced_moves_and_keeps_the_sign() -> None:
    rules = parse_rules("kalah:pits=3,seeds=3")
    # South's pit 3 reaches the store (again), then pit 1 is forced and passes the turn.
    state = parse_position("<3,0,0,2,0,1,2,2,2> S", rules)
    assert trees.advance(rules, state, 2) == -1.0
    assert batch.sides(rules, state) == engine.NORTH
    expected = parse_position("<3,4,0,0,1,0,0,2,2> N", rules)
    assert state[:_PLY].tolist() == expected[:_PLY].tolist()


@pytest.mark.parametrize("spec", SMALL.values(), ids=SMALL)
def test_policy_prefers_nothing_illegal_and_sums_to_one(spec: str) -> None:
    rules = parse_rules(spec)
    states = random_positions(rules, 50, 2, 1)
    masks = batch.legal_masks(rules, states)
    for policy in ("gumbel", "puct"):
        config = SearchConfig(16, policy=policy, noise=0.25)
        found = Search(config).run(rules, states, uniform, np.random.default_rng(0))
        assert np.allclose(found.policy.sum(1), 1, atol=1e-5)
        assert (found.policy[masks == 0] == 0).all()
        assert (masks[np.arange(len(states)), found.actions] == 1).all()
        assert (found.visits.sum(1) == 16).all()


def test_a_position_is_searched_alike_alone_and_in_a_batch() -> None:
    rules = parse_rules("kalah:pits=4,seeds=3")
    states = random_positions(rules, 40, 5, 2)
    search = Search(SearchConfig(50))
    together = search.run(rules, states, rough, np.random.default_rng(0))
    for i in (0, len(states) // 2, len(states) - 1):
        alone = search.run(rules, states[i : i + 1], rough, np.random.default_rng(0))
        assert alone.visits[0].tolist() == together.visits[i].tolist()


@pytest.mark.parametrize("policy", ["gumbel", "puct"])
def test_what_was_searched_before_changes_nothing(policy: str) -> None:
    """Trees are used again: neither a larger batch nor other positions may leave traces, noise included."""
    rules = parse_rules("kalah:pits=4,seeds=3")
    many, few = random_positions(rules, 40, 5, 2), random_positions(rules, 6, 3, 1)
    config = SearchConfig(20, policy=policy, noise=0.25)
    used = Search(config)
    used.run(rules, many, rough, np.random.default_rng(0))
    found = used.run(rules, few, rough, np.random.default_rng(9))
    fresh = Search(config).run(rules, few, rough, np.random.default_rng(9))
    assert found.visits.tolist() == fresh.visits.tolist()
    assert found.policy.tolist() == fresh.policy.tolist()
    assert found.values.tolist() == fresh.values.tolist()


def test_gumbel_noise_explores_and_is_seeded() -> None:
    rules = parse_rules("kalah")
    states = batch.new_games(rules, 200)
    config = SearchConfig(8, noise=1.0)
    first = Search(config).run(rules, states, uniform, np.random.default_rng(3)).actions
    again = Search(config).run(rules, states, uniform, np.random.default_rng(3)).actions
    assert first.tolist() == again.tolist()
    assert len(set(first.tolist())) > 1
    tried = Search(SearchConfig(2, noise=1.0)).run(rules, states, uniform, np.random.default_rng(3)).visits
    assert (tried.sum(0) > 30).all()  # 400 tries of 6 actions, 67 each expected


@pytest.mark.parametrize("wrong", [{"simulations": 0}, {"policy": "alphazero"}, {"sign_weight": 2}])
def test_bad_search_settings(wrong: dict) -> None:
    with pytest.raises(KalahError, match="search"):
        SearchConfig(**wrong)
    rules = parse_rules("kalah")
    ended = batch.new_games(rules, 2)
    batch.statuses(rules, ended)[1] = engine.OVER
    with pytest.raises(KalahError, match="search: game 1 has ended"):
        Search(SearchConfig(2)).run(rules, ended, uniform, np.random.default_rng(0))


def test_what_is_exact_rises_to_the_root_and_is_not_visited_again() -> None:
    """A uniform network on a small board: in the end every root is exact, with exact action values."""
    rules = parse_rules("kalah:pits=3,seeds=2")
    states = np.concatenate([random_positions(rules, 40, p, p) for p in (4, 6)])
    states = states[batch.legal_masks(rules, states).sum(1) > 1]
    search = Search(SearchConfig(3000, sign_weight=0.0))
    found = search.run(rules, states, uniform, np.random.default_rng(0))
    count, memo = len(states), {}
    assert count > 20
    assert (search.tree.ended[:count, 0] == 1).all()
    for state, values, visits in zip(states, found.action_values, found.visits, strict=True):
        for action, value in action_values(rules, state, memo).items():
            assert visits[action] > 0
            assert values[action] * 6 == pytest.approx(value, abs=1e-2)  # float32 sums


def test_an_exact_move_is_a_floor_for_the_node_above_it() -> None:
    """Of a node's two moves one ends the game; what the other one seems to be worth cannot hide that."""
    rules = parse_rules("kalah:pits=2,seeds=3")
    tree = trees.make_tree(rules, 1, 4)
    trees.plant(tree, batch.new_games(rules, 1))
    tree.logits[0, :] = 0.0
    for node, parent, action in ((1, 0, 0), (2, 1, 0), (3, 1, 1)):
        tree.parent[0, node], tree.action[0, node], tree.sign[0, node] = parent, action, -1.0
        tree.children[0, node], tree.sure[0, node] = -1, -np.inf
        tree.children[0, parent, action] = node
        tree.visits[0, node], tree.totals[0, node] = 0, 0.0
    tree.ended[0, 2], tree.raw[0, 2] = 1, -0.5  # worth 0.5 to the player of node 1
    settle_and_back_up(tree, 2, 3, -0.75)
    assert tree.ended[0].tolist() == [0, 0, 1, 0]
    assert tree.sure[0, :2].tolist() == [-np.inf, 0.5]
    assert tree.totals[0, 1].tolist() == [0.0, 0.75]
    assert tree.totals[0, 0].tolist() == [-0.75, 0.0]
    settle_and_back_up(tree, 2, 3, 0.25)  # -0.25 to the player of node 1, who would rather have 0.5
    assert tree.totals[0, 0].tolist() == [-0.75 - 0.5, 0.0]
    tree.ended[0, 3], tree.raw[0, 3] = 1, -0.125
    settle_and_back_up(tree, 3, 3, -0.125)
    assert tree.ended[0, 1] == 1
    assert tree.raw[0, 1] == 0.5
    assert tree.ended[0, 0] == 0  # its other move is not known


@njit
def settle_and_back_up(tree, settled, node, value):
    trees.settle(tree, 0, settled)
    trees.back_up(tree, 0, node, value)


def test_sharpness_stops_growing() -> None:
    constants = SearchConfig(c_visit=10.0, c_most=20.0, c_scale=0.5).constants
    assert [ask_sharpness(constants, most) for most in (0, 4, 20, 1000)] == [5.0, 7.0, 15.0, 15.0]


@njit
def ask_sharpness(constants, most):
    return trees.sharpness(constants, most)
