"""Endgame tables against minimax and published totals, and their files: whole, or refused."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from families import exact
from packable import COMBINATIONS, boards, make_state, random_boards

from agents import endgame, packed
from kalah_env import KalahError, parse_rules
from kalah_env.rules import Rules

PUBLISHED = json.loads((Path(__file__).parent / "data" / "published_values.json").read_text())
TOTALS = PUBLISHED["endgame_table_totals_6_pits"]


def _value(table: endgame.Endgame, own: list[int], other: list[int]) -> int:
    words = [sum(int(n) << 8 * i for i, n in enumerate(row)) for row in (own, other)]
    return int(table.values[packed.rank(packed.rank_table(table.rules, table.seeds), *words)])


def _check(rules: Rules, table: endgame.Endgame, positions) -> None:
    memo: dict = {}
    for number, board in enumerate(positions):
        own, other = board[: rules.pits], board[rules.pits :]
        # Both sides to move, with something in the stores, which must not matter.
        stores = (number % 3, number % 5)
        state = make_state(rules, own, other, number % 2, stores)
        left = exact(rules, state, memo) - (stores[0] - stores[1])
        assert _value(table, own, other) == left, (rules, own, other)


@pytest.mark.parametrize("part", range(8))
def test_tables_are_what_minimax_finds(part):
    for number, combination in enumerate(COMBINATIONS[part::8]):
        rules = parse_rules(f"kalah:pits=2,{combination}")
        positions = list(boards(4, 5))
        _check(rules, endgame.compute(rules, 5), positions[number % 3 :: 3])


@pytest.mark.parametrize(("pits", "seeds"), [(1, 12), (3, 7), (4, 6), (5, 5)])
def test_tables_of_other_sizes_are_what_minimax_finds(pits, seeds):
    rng = np.random.default_rng(pits)
    for combination in rng.choice(COMBINATIONS, 8, replace=False):
        rules = parse_rules(f"kalah:pits={pits},{combination}")
        positions = [board.ravel().tolist() for board in random_boards(rng, pits, 40, seeds)]
        _check(rules, endgame.compute(rules, seeds), positions)


def test_a_large_table_is_not_made_on_the_way(tmp_path, monkeypatch):
    rules = parse_rules("kalah")
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path))
    with pytest.raises(
        KalahError, match=r"30 seeds .* 11,058,116,888 boards.*`kalah endgame --rules kalah --seeds 30`"
    ):
        endgame.obtain(rules, 30)
    with pytest.raises(KalahError, match="seeds=36 is out of range; it is 1 to 35"):
        endgame.obtain(rules, 36)
    with pytest.warns(UserWarning, match=f"making an endgame table of 11 seeds .*kept in {tmp_path}"):
        endgame.obtain(rules, 11)
    with warnings.catch_warnings(action="error"):  # it is there now, and a small one is made without a word
        assert endgame.obtain(rules, 11).seeds == 11
        assert endgame.obtain(rules, 2).seeds == 2


def test_a_byte_holds_the_values_of_the_largest_boards():
    rules = parse_rules("kalah:pits=1")
    table = endgame.compute(rules, packed.MAX_SEEDS)
    _check(rules, table, ([n, 127 - n] for n in range(128)))
    assert _value(table, [0], [127]) == -127


def test_a_chain_of_extra_turns_worked_out_by_hand():
    # 6, 5, 6, 4, 6 end in the store (5 seeds); then 5 captures its own seed and the last one.
    rules = parse_rules("kalah")
    table = endgame.compute(rules, 7)
    assert _value(table, [0, 0, 0, 3, 2, 1], [1, 0, 0, 0, 0, 0]) == 7
    # The seed facing another pit stays out of reach, and goes home at the end.
    assert _value(table, [0, 0, 0, 3, 2, 1], [0, 0, 1, 0, 0, 0]) == 5


def test_values_are_for_the_player_to_move():
    # One seed before each store: who moves first ends the game, and each keeps his own.
    table = endgame.compute(parse_rules("kalah:pits=2,leftover=emptier"), 2)
    assert _value(table, [0, 1], [0, 1]) == 2
    assert _value(table, [0, 0], [0, 1]) == 1
    assert _value(table, [0, 1], [0, 0]) == -1


@pytest.mark.parametrize("kind", ["standard", "empty_capture"])
def test_totals_of_six_pits_are_the_published_ones(kind):
    rules = parse_rules({"standard": "kalah", "empty_capture": "fairkalah"}[kind])
    table = endgame.compute(rules, 8, threads=2)
    for seeds in (4, 6, 8):
        low, high = (packed.count_positions(rules, n) for n in (seeds - 1, seeds))
        values = table.values[low:high].astype(int)
        one_sided = [(*row, seeds - sum(row)) for row in boards(5, seeds)]
        ranks = packed.rank_table(rules, seeds)
        for row in one_sided:
            word = sum(n << 8 * i for i, n in enumerate(row))
            for own, other in ((word, 0), (0, word)):
                values[packed.rank(ranks, own, other) - low] = 1000
        values = values[values < 1000]
        found = [len(values), *(int((np.sign(values) == sign).sum()) for sign in (1, 0, -1)), values.sum()]
        assert found == TOTALS[kind][str(seeds)]


def test_one_table_serves_all_starts():
    rules = parse_rules("kalah")
    for changes in (
        "seeds=3",
        "seeds=6",
        "pie=true",
        "first_again=false",
        "early_stop=keep",
        "early_stop=sweep",
        "lap_limit=7",
    ):
        assert endgame.path_of(parse_rules(f"kalah:{changes}"), 9) == endgame.path_of(rules, 9)
    assert endgame.table_rules(parse_rules("kgp:pits=6,seeds=6")) == endgame.table_rules(rules)
    for changes in ("pits=5", "capture_empty=true", "relay=true", "relay=true,lap_limit=7", "end=mover"):
        assert endgame.path_of(parse_rules(f"kalah:{changes}"), 9) != endgame.path_of(rules, 9)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("kalaha-philos", "sow_store=own"),
        ("hus", "rows=1"),
        ("kalah:pits=9", "at most 8"),
        ("kalah:directions=2", "directions=1"),
        ("kalah:ply_limit=50", "ply_limit=0"),
        ("kalah:capture=count", "capture=opposite"),
    ],
)
def test_rules_no_table_can_serve_are_refused(spec, reason):
    rules = parse_rules(spec)
    for call in (endgame.table_rules, endgame.find, endgame.find_or_make, lambda r: endgame.compute(r, 2)):
        with pytest.raises(KalahError, match=reason):
            call(rules)


@pytest.mark.parametrize("seeds", [0, 128, 10**9])
def test_a_number_of_seeds_out_of_range_is_refused(seeds):
    with pytest.raises(KalahError, match="seeds"):
        endgame.compute(parse_rules("kalah:pits=1"), seeds)
    assert endgame.max_seeds(parse_rules("kalah")) == 35
    assert packed.count_positions(parse_rules("kalah"), 35) <= endgame.MAX_BYTES
    assert packed.count_positions(parse_rules("kalah"), 36) > endgame.MAX_BYTES


def test_neither_threads_nor_size_change_a_value():
    rules, heard = parse_rules("danish:pits=4"), []
    one = endgame.compute(rules, 8)
    many = endgame.compute(rules, 9, threads=3, progress=heard.append)
    assert np.array_equal(one.values, many.values[: len(one.values)])
    assert heard == [packed.count_positions(rules, n) for n in range(10)]


def test_interrupt_ends_a_long_build(interruptible):
    rules = parse_rules("kalah")
    endgame.compute(rules, 2)
    main = threading.main_thread().ident
    timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
    start = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endgame.compute(rules, 20, threads=2)
    assert time.perf_counter() - start < 10  # the whole takes minutes


# Files.


@pytest.fixture
def saved(tmp_path) -> endgame.Endgame:
    """A small table with its file."""
    rules = parse_rules("kalah:pits=2")
    return endgame.save(endgame.compute(rules, 5), tmp_path / "deep" / "2.endgame")


def test_a_saved_table_comes_back(saved):
    assert saved.path is not None
    again = endgame.load(saved.path, parse_rules("kalah:pits=2,seeds=6,pie=true"))
    assert (again.rules, again.seeds, again.path) == (saved.rules, 5, saved.path)
    assert np.array_equal(again.values, saved.values)
    assert isinstance(again.values.base, np.memmap)
    assert endgame.load(saved.path).rules == saved.rules
    assert os.listdir(saved.path.parent) == [saved.path.name]


def _refused(path: Path, rules: Rules | None = None) -> str:
    with pytest.raises(KalahError) as info:
        endgame.load(path, rules)
    assert str(path) in str(info.value)
    assert str(info.value).isprintable()
    return str(info.value)


def test_no_byte_of_a_file_may_change(saved):
    whole = saved.path.read_bytes()
    places = [*range(260), *range(260, 4096, 97), 4095, *range(4096, len(whole))]
    assert whole[260:4095] == b" " * 3835
    for place in places:
        for change in (1, 128):
            damaged = bytearray(whole)
            damaged[place] ^= change
            saved.path.write_bytes(damaged)
            assert "damaged" in _refused(saved.path)


def test_a_header_that_lies_is_refused(saved):
    whole = saved.path.read_bytes()
    about = json.loads(whole[:4096])
    lies = [
        {"seeds": 4},
        {"seeds": True},
        {"seeds": 10**30},
        {"bytes": about["bytes"] + 1},
        {"format": "kalah-env endgame table 2"},
        {"rules": "kalah:pits=3"},
        {"rules": "kalah:pits=2,capture_empty=true"},
        {"rules": "no such"},
        {"hash": "0" * 16},
        {"sha256": None},
        {"sha256": "0" * 64},
    ]
    for lie in lies:
        saved.path.write_bytes(json.dumps({**about, **lie}).encode().ljust(4095) + b"\n" + whole[4096:])
        assert "damaged" in _refused(saved.path), lie


@pytest.mark.parametrize("length", [0, 1, 100, 4095, 4096, 4097, -1])
def test_a_truncated_file_is_refused(saved, length):
    saved.path.write_bytes(saved.path.read_bytes()[:length])
    assert "damaged" in _refused(saved.path)


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b\x08" + b"\0" * 5000, b"[" * 5000, b"[]", b"null", b"{}", b"7" * 5000, b"\x89PNG" * 2000],
)
def test_a_file_of_another_program_is_refused(tmp_path, content):
    path = tmp_path / "x.endgame"
    path.write_bytes(content.ljust(5000))
    assert "damaged" in _refused(path)


def test_a_file_with_more_behind_it_is_refused(saved):
    saved.path.write_bytes(saved.path.read_bytes() + b"\0")
    assert "damaged" in _refused(saved.path)


def test_a_table_of_other_rules_is_refused(saved):
    told = _refused(saved.path, parse_rules("kalah:pits=2,capture_empty=true"))
    assert "capture_empty=true" in told
    assert "move it away" in told


def test_what_cannot_be_read_is_refused(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (tmp_path, tmp_path / "missing", loop):
        assert "cannot be read" in _refused(path)


def test_a_full_disk_leaves_no_file_and_the_old_one_whole(saved):
    rules = parse_rules("kalah:pits=2")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    table, new = endgame.compute(rules, 40), saved.path.with_name("new.endgame")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        for path in (new, saved.path):
            with pytest.raises(KalahError, match=r"too large.*KALAH_TABLE_DIR"):
                endgame.save(table, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(saved.path.parent) == [saved.path.name]
    assert endgame.load(saved.path, rules).seeds == 5


def test_a_kill_while_saving_leaves_no_file_that_looks_whole(saved, monkeypatch):
    script = (
        "import os, sys; from pathlib import Path; from agents import endgame\n"
        "old = endgame.load(Path(sys.argv[1]))\n"
        "endgame.os.fsync = lambda file: os.kill(os.getpid(), 9)\n"
        "endgame.save(old, endgame.path_of(old.rules, 9)); print('not killed')\n"
    )
    folder = saved.path.parent
    monkeypatch.setenv("KALAH_TABLE_DIR", str(folder))
    done = subprocess.run([sys.executable, "-c", script, str(saved.path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-9, ""), done.stderr
    assert len(list(folder.iterdir())) == 2  # what had been written lies under another name
    assert endgame.find(saved.rules) is None
    assert not endgame.path_of(saved.rules, 9).exists()


def test_find_takes_the_largest_and_says_where_it_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path))
    rules = parse_rules("kalah:pits=2,seeds=7")
    assert endgame.find(rules) is None
    for seeds in (2, 10, 9):
        endgame.save(endgame.compute(rules, seeds), endgame.path_of(rules, seeds))
    other = parse_rules("kalah:pits=2,capture_empty=true")
    endgame.save(endgame.compute(other, 11), endgame.path_of(other, 11))
    name = endgame.path_of(rules, 10).name
    for junk in (name.replace("10", "²"), name.replace("10", "x"), f"{name}.1.partial"):
        (tmp_path / junk).write_bytes(b"")
    found = endgame.find(rules)
    assert found is not None
    assert found.seeds == 10
    endgame.path_of(rules, 12).write_bytes(b"half")
    with pytest.raises(KalahError, match=r"12seeds.*--rebuild"):
        endgame.find(rules)


def test_without_a_file_a_small_table_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path))
    rules = parse_rules("kalah:pits=3")
    made = endgame.find_or_make(rules)
    assert packed.count_positions(rules, made.seeds) == len(made.values) <= endgame.SMALL
    assert packed.count_positions(rules, made.seeds + 1) > endgame.SMALL
    assert list(tmp_path.iterdir()) == []
    endgame.save(endgame.compute(rules, 3), endgame.path_of(rules, 3))
    assert endgame.find_or_make(rules).seeds == 3


def test_a_table_is_read_once_in_a_process_unless_it_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path))
    read, load = [], endgame.load
    monkeypatch.setattr(endgame, "load", lambda path, rules: read.append(path) or load(path, rules))
    rules = parse_rules("kalah:pits=2,seeds=9,capture_empty=true")
    made = endgame.find_or_make(rules)
    assert endgame.find_or_make(rules._replace(seeds=3)).values is made.values
    path = endgame.save(endgame.compute(rules, 5), endgame.path_of(rules, 5)).path
    for seeds in (1, 2, 3):
        assert endgame.find_or_make(rules._replace(seeds=seeds)).seeds == 5
    assert read == [path]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(KalahError, match="checksum"):
        endgame.find_or_make(rules)
