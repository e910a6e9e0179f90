"""What the solver may use and what becomes of it: nodes, time, memory, threads, Ctrl-C, seeds a byte."""

import signal
import threading

import numpy as np
import pytest
from families import action_values
from packable import exact_values, make_solver, make_state

from agents import endgame
from agents.solver import Solver
from agents.solver.prover import Prover
from kalah_env import KalahError, batch, parse_rules
from kalah_env.text import parse_position


@pytest.mark.parametrize("threads", [1, 2])
def test_limits_give_bounds_that_hold(threads):
    spec = "kalah:pits=4,seeds=4"
    state = batch.new_games(parse_rules(spec), 1)[0]
    truth = exact_values(make_solver(spec, memory=16).solve(state))
    widths = []
    for nodes in [1, 2, 10, 100, 1000, 5000, 20_000, 40_000, 60_000, 120_000, 250_000, 10**6, 10**9]:
        found = make_solver(spec, 4, threads).solve(state, nodes=nodes)
        assert found.low <= max(truth.values()) <= found.high
        for action, value in truth.items():
            assert found.lows[action] <= value <= found.highs[action]
        assert found.nodes <= nodes + 10 * threads * (found.nodes > 30_000) + 10
        assert found.why in (("", "out of nodes") if found.all_solved else ("out of nodes",))
        widths.append(found.high - found.low)
    assert widths[0] == 64
    assert widths[-1] == 0
    assert any(0 < width < 64 for width in widths), widths  # some limit fell in between


def test_time_limit_holds_and_is_used():
    solver = make_solver("kalah:seeds=6", memory=16)
    state = batch.new_games(solver.rules, 1)[0]
    solver.solve(state, nodes=100)  # compiled
    for seconds in (0, 0.3, 1):
        found = solver.solve(state, seconds=seconds)
        assert (found.solved, found.why) == (False, "out of time")
        assert seconds <= found.seconds < seconds + 1.5


@pytest.mark.parametrize("limit", [{"nodes": 0}, {"nodes": 2.5}, {"seconds": -1}, {"seconds": float("nan")}])
def test_limits_out_of_range_are_refused(limit):
    solver = make_solver("kalah:pits=2")
    with pytest.raises(KalahError, match=f"solver: {next(iter(limit))}"):
        solver.solve(batch.new_games(solver.rules, 1)[0], **limit)


@pytest.mark.parametrize("wrong", [{"memory": 0}, {"memory": 2**21}, {"threads": 0}, {"threads": 257}])
def test_memory_and_threads_out_of_range_are_refused(wrong):
    with pytest.raises(KalahError, match=f"solver: {next(iter(wrong))}"):
        Solver(parse_rules("kalah:pits=2"), **wrong)


def test_a_table_of_other_rules_is_refused():
    table = endgame.compute(parse_rules("kalah:pits=3"), 4)
    Solver(parse_rules("kgp:pits=3"), memory=1, table=table)
    with pytest.raises(KalahError, match=r"table is of kalah:pits=3.*capture_empty"):
        Solver(parse_rules("kalah:pits=3,capture_empty=true"), table=table)


def test_a_small_memory_changes_no_value():
    spec = "kalah:pits=4,seeds=5"
    state = batch.new_games(parse_rules(spec), 1)[0]
    small, large = (make_solver(spec, memory=memory).solve(state) for memory in (1, 64))
    assert exact_values(small) == exact_values(large)
    assert small.nodes > 1.05 * large.nodes  # it had to forget


def test_a_memory_larger_than_needed_is_spread_over():
    solver = make_solver("kalah:pits=1")  # has 8,256 positions
    for seeds in range(1, 60):
        solver.solve(make_state(solver.rules, [seeds], [seeds]))
    prover = solver.prover
    assert prover is not None
    used = np.flatnonzero(prover.entries)
    assert prover.shift >= 0
    assert used[-1] - used[0] > len(prover.entries) / 2


def test_one_thread_repeats_itself_and_remembers():
    spec = "kalah:pits=4,seeds=3"
    state = batch.new_games(parse_rules(spec), 1)[0]
    first, second = make_solver(spec, 3), make_solver(spec, 3)
    found = first.solve(state)
    same = second.solve(state)
    assert (found.nodes, found.hits, found.line) == (same.nodes, same.hits, same.line)
    assert found.hits > 0
    again = first.solve(state)
    assert again.nodes < found.nodes / 10
    assert exact_values(again) == exact_values(found)
    assert make_solver(spec).solve(state).hits == 0


def test_many_threads_share_one_memory_and_agree():
    spec = "kalah:pits=4,seeds=4"
    state = batch.new_games(parse_rules(spec), 1)[0]
    truth = exact_values(make_solver(spec, memory=16).solve(state))
    for _ in range(3):
        assert exact_values(make_solver(spec, threads=7).solve(state)) == truth


def test_twins_share_what_they_find_and_stop_alone():
    spec = "kalah:pits=4,seeds=3"
    state = batch.new_games(parse_rules(spec), 1)[0]
    first = make_solver(spec)
    twin = first.twin()
    found = first.solve(state)
    assert twin.solve(state).nodes < found.nodes / 10
    twin.stop()
    stopped = twin.solve(make_state(first.rules, [5, 1, 0, 2], [0, 4, 4, 1]))
    assert (stopped.solved, stopped.why) == (False, "stopped")
    assert first.solve(state).all_solved


@pytest.mark.parametrize(
    "position",
    [
        "<2,0,0,256,0,1,0> S",
        "<2,0,0,60,60,1,7> S",
        "<2,500,3,256,256,0,512> N",
        "<2,0,0,0,1,128,0> S",
        "<2,0,900,300,300,300,200> S",
    ],
)
def test_more_seeds_than_a_byte_counts_are_said_to_be_unsolved(position):
    solver = make_solver("kalah:pits=2", 6)
    state = parse_position(position, solver.rules)
    found = solver.solve(state)
    assert (found.solved, found.why, found.line) == (False, "over 127 seeds on the board", [])
    total = int(state[:6].sum())
    assert (found.low, found.high) == (-total, total)


def test_as_many_seeds_as_a_byte_counts_are_solved():
    solver, memo = make_solver("kalah:pits=1", 6), {}
    for own in range(1, 127):
        state = make_state(solver.rules, [own], [127 - own], own % 2, (700, own))
        assert exact_values(solver.solve(state)) == action_values(solver.rules, state, memo)


def test_interrupt_ends_a_long_search_with_bounds(interruptible):
    for spec, threads in (("kalah:seeds=6", 1), ("kalah:seeds=6", 2), ("kgp", 2), ("kalaha-philos", 1)):
        solver = make_solver(spec, threads=threads, memory=16)
        state = batch.new_games(solver.rules, 1)[0]
        solver.solve(state, nodes=100)
        main = threading.main_thread().ident
        timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        found = solver.solve(state, seconds=30)
        assert (found.solved, found.why) == (False, "stopped by Ctrl-C")
        assert found.seconds < 5
        assert (found.lows[found.legal] < found.highs[found.legal]).all()


def test_interrupt_between_short_questions_is_heard():
    solver = make_solver("mankalah:pits=3,seeds=3")
    state = batch.new_games(solver.rules, 1)[0]
    truth = exact_values(solver.solve(state))
    bound, left = Prover.bound, []

    def interrupted(self, *question):
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return bound(self, *question)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prover, "bound", interrupted)
        for count in (0, 4, 11):
            left[:] = [0] * count
            try:
                found = solver.solve(state)
            except KeyboardInterrupt:
                pytest.fail("not caught")
            assert found.why == "stopped by Ctrl-C"
            for action, value in truth.items():
                assert found.lows[action] <= value <= found.highs[action]


def test_too_much_memory_is_one_line(monkeypatch):
    def full(*_: object) -> None:
        raise MemoryError("1 TiB")

    monkeypatch.setattr("agents.solver.prover.np.zeros", full)
    with pytest.raises(KalahError, match="no room for a table of 1024 MiB"):
        Prover(parse_rules("kalah:pits=3"), memory=1024)
