"""Grades are right: on suites worked out by hand, on small boards by plain minimax, and in the command.

Suites as files: `test_suites.py`; played games: `test_annotate.py`. Here, too: the shipped suites' values
proved anew.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.alphabeta.search import UNKNOWN, plain_minimax, search
from agents.base import make_agent
from agents.network import KalahNet, NetConfig
from agents.neural import save_net
from agents.solver import Solver
from kalah_env import KalahError, batch, engine, parse_rules, text
from kalah_env.rules import num_actions
from train.cli import main
from train.grade import draw, grade, mean_interval, report, share_interval, summary
from train.suites import ILLEGAL, Suite, join, load_suite, shipped_names

# The values are made up. Seeds in the pits: 6, 8, 18, 12 in the one that does not count, 16.
LINES = [
    '{"suite": "made up", "rules": "kalah:pits=3,seeds=3"}',
    '{"position": "<3,0,0,1,1,1,1,1,1> S", "values": {"1": 2, "2": 0, "3": -2}}',
    '{"position": "<3,0,0,1,1,1,1,2,2> N", "values": {"1": 3, "2": 1, "3": 1}}',
    '{"position": "<3,0,0,3,3,3,3,3,3> S", "values": {"1": 0, "2": -4, "3": 0}}',
    '{"position": "<3,0,0,2,2,2,2,2,2> S", "values": {"1": 4, "2": 4, "3": 4}}',
    '{"position": "<3,0,0,3,3,2,3,3,2> N", "values": {"1": -1, "2": -3, "3": -5}}',
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "made-up.jsonl"
    path.write_text("\n".join(LINES))
    return str(path)


class Scripted:
    """Answers with `choose(rules, state)` of each state, and keeps what it was shown."""

    def __init__(self, choose: Any) -> None:
        self.choose, self.spec = choose, "scripted"
        self.shown: list[np.ndarray] = []

    def act(self, rules: Any, states: np.ndarray) -> Any:
        self.shown.append(states.copy())
        answers = np.array([self.choose(rules, state) for state in states])
        states[:] = 0  # an agent may do with them as it likes
        return answers


MIDDLE = Scripted(lambda rules, state: 1)


def exact_suite(spec: str, games: int = 12) -> Suite:
    """Return positions of random games of a small board, valued by plain minimax."""
    rules, rng = parse_rules(spec), np.random.default_rng(5)
    rows = {}
    for _ in range(games):
        state = batch.new_games(rules, 1)[0]
        while batch.statuses(rules, state) == engine.RUNNING:
            values = plain_minimax(rules, state, 250)
            values[values == UNKNOWN] = ILLEGAL
            rows[state.tobytes()] = (state.copy(), values, "", "")
            engine.play(rules, state, int(rng.choice(np.flatnonzero(values != ILLEGAL))))
    return join(rules, rows.values(), {})


def test_grades_worked_out_by_hand(file: str) -> None:
    found = grade(MIDDLE, load_suite(file))
    assert found.positions == 5
    assert found.actions.tolist() == [1, 1, 1, 1]
    assert found.regrets.tolist() == [2, 2, 4, 2]
    assert found.errors.tolist() == [True, False, True, False]  # won -> drawn, drawn -> lost
    last = grade(Scripted(lambda rules, state: 2), load_suite(file))
    assert last.regrets.tolist() == [4, 2, 0, 4]
    assert last.errors.tolist() == [True, False, False, False]  # won -> lost; the last was lost anyway


def test_report_by_band_and_seat(file: str) -> None:
    found = report(MIDDLE, grade(MIDDLE, load_suite(file)))
    keys = ("counted", "losing_errors", "best_moves", "mean_regret")
    assert [found[key] for key in keys] == [4, 0.5, 0, 2.5]
    assert found["positions"] == 5
    bands = [[band[key] for key in ("low", "high", *keys)] for band in found["bands"]]
    assert bands == [[1, 8, 2, 0.5, 0, 2], [9, 16, 1, 0, 0, 2], [17, 24, 1, 1, 0, 4]]
    assert [found["seats"]["south"][key] for key in keys] == [2, 1, 0, 3]
    assert [found["seats"]["north"][key] for key in keys] == [2, 0, 0, 2]
    assert found["rules"] == "kalah:pits=3,seeds=3"


def test_intervals_pinned() -> None:
    """Wilson's for 2 of 4, by its formula; Student's with t = 3.18245 for 3 degrees of freedom."""
    found = summary(np.array([True, False, True, False]), np.array([2, 2, 4, 2]))["intervals"]
    assert found["losing_errors"] == pytest.approx([0.15004, 0.84996], abs=1e-4)
    assert found["best_moves"] == pytest.approx([0, 0.48989], abs=1e-4)  # 0 of 4: 3.8415 / 7.8415
    assert found["mean_regret"] == pytest.approx([2.5 - 1.59122, 2.5 + 1.59122], abs=1e-4)
    assert mean_interval(np.array([0, 1, 0, 0]))[0] == 0, "regret is never negative"


def test_nothing_counted_has_no_figures() -> None:
    none = np.zeros(0)
    assert summary(none.astype(bool), none) == {
        "counted": 0,
        "losing_errors": None,
        "best_moves": None,
        "mean_regret": None,
        "intervals": {"losing_errors": None, "best_moves": None, "mean_regret": None},
    }
    assert mean_interval(np.array([3])) is None
    assert share_interval(np.array([True])) is not None


def test_agents_are_shown_the_counted_positions_in_batches(file: str) -> None:
    """The first alone, since its time does not count; what an agent writes into them does no harm."""
    agent, suite = Scripted(lambda rules, state: 1), load_suite(file)
    told: list[tuple[int, int]] = []
    grade(agent, suite, 2, lambda done, total: told.append((done, total)))
    assert [len(states) for states in agent.shown] == [1, 2, 1]
    assert (np.concatenate(agent.shown) == suite.states[[0, 1, 2, 4]]).all()
    assert told == [(1, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("action", [-1, 0, 3, 9])
def test_an_illegal_answer_is_refused(tmp_path: Path, action: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join([*LINES, '{"position": "<3,0,0,0,1,1,1,1,1> S", "values": {"2": 1, "3": 0}}']))
    last = Scripted(lambda rules, state: action if state[0] == 0 else 2)
    with pytest.raises(KalahError, match=f"scripted: action {action} is illegal in <3,0,0,0,1,1,1,1,1> S"):
        grade(last, load_suite(str(path)))
    with pytest.raises(KalahError, match="scripted: answered float64"):
        grade(Scripted(lambda rules, state: 0.5), load_suite(str(path)))


def test_a_suite_without_a_counted_position_is_refused(file: str) -> None:
    with pytest.raises(KalahError, match="in no position"):
        grade(MIDDLE, load_suite(file).take(np.array([3])))


@pytest.mark.parametrize(
    "spec", ["kalah:pits=3,seeds=2", "kalah:pits=3,seeds=2,pie=true", "danish:pits=2,seeds=2"]
)
def test_perfect_play_has_no_errors(spec: str) -> None:
    found = grade(make_agent("alphabeta:depth=100", 0), exact_suite(spec))
    assert len(found.regrets) > 5
    assert not found.regrets.any()
    assert not found.errors.any()


def test_random_play_comes_out_as_expected() -> None:
    """Guards against shares over the wrong positions and values of the wrong moves.

    Expected figures by the values themselves; 4.9 standard deviations: by chance once in 10^6 seeds.
    """
    suite = exact_suite("kalah:pits=3,seeds=2", 40)
    suite = suite.take(np.repeat(np.flatnonzero(suite.counted()), 100))
    found = report(agent := make_agent("random", 1), grade(agent, suite))
    legal = suite.values != ILLEGAL
    best = suite.values.max(axis=1, keepdims=True)
    regrets = np.where(legal, best - suite.values, 0)
    for key, each in {
        "losing_errors": np.sign(suite.values) < np.sign(best),
        "best_moves": regrets == 0,
        "mean_regret": regrets,
    }.items():
        means = (each * legal).sum(axis=1) / legal.sum(axis=1)
        squares = (each.astype(int) ** 2 * legal).sum(axis=1) / legal.sum(axis=1)
        error = np.sqrt((squares - means**2).sum()) / len(means)
        assert abs(found[key] - means.mean()) < 4.9 * error
        assert error < 0.05


def test_what_an_agent_could_prove_is_told(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    agent = make_agent("random", 0)
    found = grade(agent, load_suite(file))
    assert "asked" not in report(agent, found)
    agent.asked, agent.proved = np.int64(4), 3  # pyright: ignore[reportAttributeAccessIssue]
    answer = report(agent, found)
    assert json.loads(json.dumps([answer["asked"], answer["proved"]])) == [4, 3]
    from train.commands.grade import _print_suite

    _print_suite([{"agent": "perfect", "suite": "s", "seed": 0, **answer}], 256)
    assert "perfect: proved 3 of 4 positions it was asked." in capsys.readouterr().out


def test_the_picture_shows_every_agent_and_band(file: str, tmp_path: Path) -> None:
    results = [
        {"agent": name, "suite": "s", **report(agent, grade(agent, load_suite(file)))}
        for name, agent in (("a", MIDDLE), ("b", Scripted(lambda rules, state: 0)))
    ]
    figure = draw(results, tmp_path / "grades.png")
    assert (tmp_path / "grades.png").read_bytes().startswith(b"\x89PNG")
    above, below = figure.axes
    heights = [bars.lines[0].get_ydata().tolist() for bars in above.containers]
    assert heights == [[50, 0, 100], [0, 0, 0]]
    assert [bars.lines[0].get_ydata().tolist() for bars in below.containers][1] == [0, 0, 0]
    bars = [line.tolist() for line in above.containers[0].lines[2][0].get_segments()]
    share = results[0]["bands"][0]["intervals"]["losing_errors"]
    assert [y for _, y in bars[0]] == pytest.approx([100 * end for end in share])
    assert np.isnan([y for _, y in below.containers[0].lines[2][0].get_segments()[1]]).all(), "one position"
    assert [word.get_text() for word in above.get_legend().get_texts()] == ["a", "b"]
    assert [label.get_text().split()[0] for label in below.get_xticklabels()] == ["1-8", "9-16", "17-24"]


SLIPS = {
    "no-suite": (["random"], "grade takes either agents and --suite"),
    "no-agent": (["--suite", "made-up.jsonl"], "grade takes either"),
    "nothing": ([], "grade takes either"),
    "both": (["random", "--suite", "made-up.jsonl", "--games", "g.jsonl"], "grade takes either"),
    "nodes": (["random", "--suite", "made-up.jsonl", "--nodes", "5"], "grade takes either"),
    "batch": (["--games", "g.jsonl", "--batch", "5"], "grade takes either"),
    "unknown-suite": (["random", "--suite", "none"], "suite: 'none' is neither"),
    "empty-suite": (["random", "--suite", "empty.jsonl"], "suite empty.jsonl holds no positions"),
    "rules": (["random", "--suite", "made-up.jsonl", "--rules", "kalah"], "a suite has one rule set"),
    "agent": (["random", "nobody", "--suite", "made-up.jsonl"], "agent: there is no 'nobody'"),
    "other-net": (["net:net", "--suite", "made-up.jsonl"], "kalah:pits=2"),
    "picture": (["random", "--suite", "made-up.jsonl", "--picture", "a.jpg"], "does not end with .png"),
    "folder": (["random", "--suite", "made-up.jsonl", "--picture", "no/a.png"], "picture cannot be written"),
    "no-games": (["--games", "g.jsonl"], "g.jsonl: No such file"),
    "empty-games": (["--games", "empty.jsonl"], "empty.jsonl holds no moves"),
    "seconds": (["--games", "empty.jsonl", "--seconds", "nan"], "'nan' is not a number above 0"),
    "no-nodes": (["--games", "empty.jsonl", "--nodes", "0"], "'0' is not a whole number of 1"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips_are_one_line_and_2(
    name: str, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words, message = SLIPS[name]
    monkeypatch.chdir(Path(file).parent)
    Path("empty.jsonl").touch()
    if name == "other-net":
        rules = parse_rules("kalah:pits=2")
        save_net(Path("net"), KalahNet(NetConfig.for_rules(rules, 16, 1)), rules)
    assert main(["grade", *words]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert message in error
    assert len(error.splitlines()) == 1


def test_the_command_answers_for_one_agent_and_for_several(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["grade", "greedy", "--suite", file, "--seed", "7", "--json"]
    assert main(words) == 0
    alone = json.loads(capsys.readouterr().out)
    assert {key: alone[key] for key in ("agent", "suite", "rules", "seed", "positions", "counted")} == {
        "agent": "greedy",
        "suite": file,
        "rules": "kalah:pits=3,seeds=3",
        "seed": 7,
        "positions": 5,
        "counted": 4,
    }
    assert {"losing_errors", "best_moves", "mean_regret", "intervals", "bands", "seats"} <= {*alone}
    assert alone["seconds_per_move"] > 0
    picture = tmp_path / "a.png"
    assert main([*words, "random", "--picture", str(picture), "--batch", "1"]) == 0
    several = json.loads(capsys.readouterr().out)["results"]
    assert [result["agent"] for result in several] == ["greedy", "random"]
    several[0]["seconds_per_move"] = alone["seconds_per_move"]
    assert several[0] == alone, "an agent's figures do not depend on its company"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_tables(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", "alphabeta:depth=1", "random", "--suite", file]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{file}: kalah:pits=3,seeds=3, 4 of 5 positions counted, seed 0; 95 % intervals; ")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines()]
    firsts = [row[0] for row in cells if row]
    where = [
        "1-8 seeds in pits",
        "9-16 seeds in pits",
        "17-24 seeds in pits",
        "south to move",
        "north to move",
    ]
    assert firsts == ["alphabeta:depth=1", "random", *where, *where]
    assert [row[1] for row in cells if row][2:7] == ["2", "1", "1", "2", "2"]
    assert "alphabeta:depth=1:" in out.splitlines()


def value_of(solver: Solver, state: np.ndarray) -> int:
    """Return the final margin for SIDE, proved without any table."""
    rules = solver.rules
    if batch.statuses(rules, state) == engine.RUNNING:
        if int(join(rules, [(state, state, "", "")], {}).seeds()[0]) <= 14:
            found = search(rules, state[None])
            assert found.solved[0]
            return int(found.value[0])
        found = solver.solve(state, every_move=False)
        assert found.solved
        return found.low
    return int(batch.margins(rules, state)) * (1 if batch.sides(rules, state) == engine.SOUTH else -1)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_values_are_proved_by_a_second_method(name: str) -> None:
    """Up to 14 seeds by alpha-beta to the end of the game, up to 24 by the solver without tables."""
    suite = load_suite(name)
    rng = np.random.default_rng(2)
    seeds = suite.seeds()
    solver = Solver(suite.rules, memory=64)
    rows = [*rng.permutation(np.flatnonzero(seeds <= 14))[:100]]
    rows += [*rng.permutation(np.flatnonzero((seeds > 14) & (seeds <= 24)))[:40]]
    assert len(rows) >= 40
    for state, values in zip(suite.states[rows], suite.values[rows], strict=True):
        known = np.full(num_actions(suite.rules), ILLEGAL)
        for action in np.flatnonzero(batch.legal_masks(suite.rules, state[None])[0]):
            child, sign = solver.after(state, int(action))
            known[action] = sign * value_of(solver, child)
        assert values.tolist() == known.tolist(), text.format_position(suite.rules, state)
