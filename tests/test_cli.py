"""The command `kalah`: answers, JSON keys, exit codes, and one line for every slip.

Most tests call `main` in this process; a few start one, for what only a process shows. Not here: what
the commands call, which each has a test file of its own.
"""

import importlib
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from train.cli import COMMANDS, main, make_parser

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
START = "<6,0,0,4,4,4,4,4,4,4,4,4,4,4,4> S first"


@pytest.fixture
def kalah(capsys):
    """Run a command line in this process; return exit code, output, errors."""

    def run(*words):
        code = main(list(words))
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def answer(kalah):
    """Run a command line that must succeed; return its one JSON object."""

    def run(*words):
        code, out, err = kalah(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return run


def run_process(*words, **options):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.run([sys.executable, "-m", "train.cli", *words], cwd=ROOT, **streams)


# Help and the frame


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_that_parses(command, kalah):
    code, out, _ = kalah(command, "--help")
    assert code == 0
    assert "example:" in out
    example = importlib.import_module(f"train.commands.{command}").EXAMPLE
    assert example in out
    assert example.split()[:2] == ["kalah", command]
    make_parser(command).parse_intermixed_args(shlex.split(example)[2:])


def test_the_list_of_commands_is_the_modules(kalah):
    modules = {path.stem for path in (ROOT / "train" / "commands").glob("*.py")}
    assert modules - {"__init__"} == set(COMMANDS)
    code, out, _ = kalah("--help")
    assert code == 0
    assert all(f"  {name}" in out for name in COMMANDS)


def test_version(kalah):
    assert kalah("--version") == (0, "kalah-env 0.1.0\n", "")


def test_ctrl_c_is_one_line_and_130(kalah, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("train.commands.rules.run", interrupted)
    assert kalah("rules") == (130, "", "kalah: stopped by Ctrl-C.\n")


def test_warnings_are_one_line(kalah, monkeypatch):
    import warnings

    before = warnings.showwarning
    monkeypatch.setattr("train.commands.rules.run", lambda _: warnings.warn("no\ncache", stacklevel=1) or 0)
    assert kalah("rules") == (0, "", "kalah: warning: no cache\n")
    assert warnings.showwarning is before


def test_small_commands_import_nothing_heavy():
    code = (
        "import sys; from train.cli import main; main(['move', 'start', '3']); main(['rules']);"
        "print(sorted({'torch', 'rich', 'pydantic', 'agents', 'train.arena'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_has_gone_is_no_error():
    read, write = os.pipe()
    os.close(read)
    done = run_process("rules", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_as_a_process():
    done = run_process("move", START, "3", "6", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["next"] == "N"
    done = run_process("move", START, "9")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("kalah: move '9' is illegal")
    assert done.stderr.count("\n") == 1


BAD = {
    "no command": [],
    "unknown command": ["solv"],
    "unknown option": ["rules", "--jsn"],
    "no abbreviations": ["move", "start", "--rule", "kalah"],
    "unknown preset": ["rules", "chess"],
    "unknown rules option": ["move", "start", "--rules", "kalah:seed=3"],
    "rules value": ["perft", "--depth", "2", "--rules", "kalah:pits=13"],
    "clashing rules": ["move", "start", "--rules", "kalah:capture=none,capture_empty=true"],
    "no position": ["move"],
    "position of other pits": ["move", "<2,0,0,1,1,1,1> S"],
    "negative seeds": ["move", "<6,0,0,4,4,4,4,4,4,4,4,4,4,4,-4> S"],
    "position text": ["move", "<6,0,0,4"],
    "too many seeds": ["move", "<6,0,0,4,4,4,4,4,4,4,4,4,4,4,2000> S"],
    "swap without pie": ["move", "<6,0,0,4,4,4,4,4,4,4,4,4,4,4,4> S swap"],
    "illegal move": ["move", "start", "3", "3"],
    "move text": ["move", "start", "three"],
    "negative move": ["move", "start", "-1"],
    "move after the end": ["move", "<1,1,1,0,1> S", "1", "--rules", "kalah:pits=1"],
    "depth text": ["perft", "--depth", "five"],
    "depth 0": ["perft", "--depth", "0"],
    "depth of other digits": ["perft", "--depth", "٣"],
    "no depth": ["perft"],
    "perft position": ["perft", "--depth", "1", "--position", "begin"],
    "missing file": ["replay", "no/such/file.jsonl"],
    "folder as file": ["replay", str(DATA)],
    "one agent": ["arena", "random"],
    "no agent": ["arena"],
    "unknown agent": ["arena", "random", "stockfish"],
    "unknown agent option": ["arena", "random", "greedy:depth=3"],
    "missing net": ["arena", "random", "net:no/such/folder"],
    "missing config": ["train", "no/such/config.yaml"],
    "missing checkpoint": ["export", "no/such/folder", "net.onnx"],
    "odd games": ["arena", "random", "greedy", "--games", "7"],
    "games text": ["arena", "random", "greedy", "--games", "many"],
    "negative seed": ["arena", "random", "greedy", "--seed", "-1"],
    "arena start": ["arena", "random", "greedy", "--start", "<6,0"],
    "arena start over": ["arena", "random", "greedy", "--start", "<6,9,9,0,0,0,0,0,0,1,1,1,1,1,1> S"],
    "seed beyond the range": ["play", "--seed", str(2**63)],
    "export folder": ["export", "no/such/folder", "no/such/folder/net.onnx"],
    "records folder": ["arena", "random", "greedy", "--records", "no/such/folder/games.jsonl"],
    "unknown player": ["play", "--south", "me"],
    "play rules": ["play", "--rules", "kalah:pits"],
    "play start": ["play", "--start", "<3,0,0,1,1,1,1,1,1> S"],
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD)
def test_a_bad_call_is_one_line_and_2(words, kalah):
    code, out, err = kalah(*words)
    assert (code, out) == (2, "")
    assert err.startswith("kalah: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    assert "Traceback" not in err


# rules


def test_rules_shows_the_presets(kalah, answer):
    presets = {p["preset"]: p for p in answer("rules")["presets"]}
    assert presets["kgp"]["options"]["pits"] == 8
    assert presets["mankalah"]["options"]["pie"] is True
    _, out, _ = kalah("rules")
    assert all(name in out for name in presets)


def test_rules_shows_one_with_its_options(kalah, answer):
    one = answer("rules", "fairkalah:seeds=5")
    assert one["rules"] == "fairkalah:seeds=5"
    assert one["options"]["seeds"] == 5
    assert one["options"]["capture_empty"] is True
    assert one["options"]["end"] == "either"
    _, out, _ = kalah("rules", "fairkalah:seeds=5")
    marked = {line.split()[1] for line in out.splitlines() if line.startswith("* ")}
    assert marked == {"seeds", "capture_empty"}
    assert one["source"] in out


# move


def test_move_json_has_its_keys(answer):
    assert answer("move", START) == {
        "position": START,
        "captured": [],
        "next": "S",
        "again": False,
        "over": False,
        "truncated": False,
        "result": None,
        "legal": ["1", "2", "3", "4", "5", "6"],
    }
    after = answer("move", START, "3")
    assert after["again"] is True
    assert after["next"] == "S"
    assert after["captured"] == [0]


def test_move_takes_start_and_options_between_moves(answer):
    assert answer("move", "start", "--rules", "kalah", "3", "6") == answer("move", START, "3", "6")


CASES = json.loads((DATA / "positions.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_move_agrees_with_the_collected_positions(case, answer):
    found = answer("move", case["position"], *case["moves"], "--rules", case["rules"])
    if "after" in case:
        assert found["position"].partition(">")[0] == case["after"].partition(">")[0]
        assert (found["again"], found["over"]) == (case["again"], case["over"])
    if "store_south_at_least" in case:
        assert int(found["position"].split(",")[1]) >= case["store_south_at_least"]
    if "result" in case:
        assert found["result"]["winner"] == case["result"]


def test_move_in_words(kalah):
    _, out, _ = kalah("move", "<6,0,0,1,0,9,0,0,0,1,1,1,1,7,1> S", "1")
    assert out.splitlines()[0] == "<6,8,0,0,0,9,0,0,0,1,1,1,1,0,1> N"
    assert "captured: 8" in out
    assert out.endswith("north moves; legal: 1, 2, 3, 4, 6\n")
    assert "South" in out  # the board
    _, out, _ = kalah("move", "start", "3")
    assert "south moves again; legal: 1, 2, 4, 5, 6" in out
    _, out, _ = kalah("move", "<1,2,1,1,1> S", "1", "--rules", "kalah:pits=1")
    assert out.endswith("over: south 3, north 2: south wins\n")
    _, out, _ = kalah("move", "start", "1", "--rules", "kalah:ply_limit=1")
    assert out.endswith("truncated by ply_limit: no result\n")


# replay


def test_replay_answers_a_line_for_each_record(kalah, tmp_path):
    file = tmp_path / "games.jsonl"
    file.write_text('{"rules": "kalah", "moves": ["3", "6"]}\n\n{"rules": "kalah", "moves": ["3", "3"]}\n')
    code, out, err = kalah("replay", str(file))
    good, bad = map(json.loads, out.splitlines())
    assert code == 1
    assert good == {
        "positions": ["<6,1,0,4,4,0,5,5,5,4,4,4,4,4,4> S", "<6,2,0,4,4,0,5,5,0,5,5,5,5,4,4> N"],
        "next": ["S", "N"],
        "result": None,
        "error": None,
    }
    assert bad["error"]["ply"] == 2
    assert len(bad["positions"]) == 1
    assert err.count("\n") == 1
    assert "line 3" in err
    assert "illegal at move 2" in err


def test_replay_reads_standard_input_and_succeeds(kalah, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"rules": "kalah", "moves": []}\n'))
    code, out, err = kalah("replay", "-", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["positions"] == []


@pytest.mark.parametrize(
    "content", [b"\xff\xfe{}", b"\x7fELF\x00\x01\xd0", b"not json", b"[]", b'{"rules": "chess", "moves": []}']
)
def test_replay_of_no_records_is_a_bad_call(content, kalah, tmp_path):
    file = tmp_path / "games.jsonl"
    file.write_bytes(content)
    code, out, err = kalah("replay", str(file))
    assert (code, out) == (2, "")
    assert err.startswith("kalah: ")
    assert err.count("\n") == 1
    assert str(file) in err


# perft


def test_perft_counts_leaves(kalah, answer):
    assert answer("perft", "--depth", "5") == {"rules": "kalah", "leaves": [6, 35, 185, 942, 4690]}
    assert answer("perft", "--depth", "2", "--rules", "mankalah")["leaves"] == [7, 56]
    _, out, _ = kalah("perft", "--depth", "2")
    assert out.split() == ["1", "6", "2", "35"]


def test_perft_of_a_position(answer):
    assert answer("perft", "--depth", "1", "--position", "<6,0,0,0,0,0,1,1,1,1,1,1,1,1,1> S")["leaves"] == [3]


# arena


def test_arena_json_and_table(kalah, answer, tmp_path):
    words = ("arena", "greedy", "random", "--games", "20", "--rules", "kalah:pits=4", "--seed", "3")
    found = answer(*words)
    (result,) = found["results"]
    assert {"a", "b", "games", "wins", "draws", "losses", "score", "interval", "distinct_games"} <= set(
        result
    )
    assert found["elo"]["greedy"].keys() == {"elo", "interval"}
    file = tmp_path / "games.jsonl"
    code, out, err = kalah(*words, "--records", str(file))
    assert (code, err) == (0, "")
    assert "greedy" in out
    assert f"{result['score']:.1%}" in out
    assert "Elo" in out
    assert kalah("replay", str(file))[0] == 0


def test_arena_says_that_openings_are_few(kalah):
    words = ("arena", "random", "random", "--rules", "kalah:pits=1,seeds=3", "--games", "500")
    code, out, err = kalah(*words, "--json")
    games = json.loads(out)["results"][0]["games"]
    assert code == 0
    assert games < 500
    assert err.count("\n") == 1
    assert f" {games} games" in err


def test_arena_takes_start_and_against_first(answer):
    found = answer(
        *("arena", "random", "greedy", "random", "--against-first", "--games", "4"),
        *("--start", "<6,9,9,1,2,3,0,1,2,2,2,1,0,3,0> N"),
    )
    assert [(r["a"], r["b"]) for r in found["results"]] == [("random", "greedy"), ("random", "random#2")]


# play, warm, train, export


def test_play_reads_moves_from_the_input(kalah, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n6\n"))
    code, out, err = kalah("play", "--north", "random", "--seed", "4")
    assert (code, err) == (0, "")
    assert "South (human) plays 3, moves again." in out
    assert "North (random) plays" in out
    assert "End of input." in out


def test_play_of_two_agents_depends_on_the_seed(kalah):
    words = ("play", "--south", "random", "--north", "random", "--rules", "kalah:pits=3", "--seed")
    first, again, other = (kalah(*words, seed)[1] for seed in ("1", "1", "2"))
    assert first == again != other
    assert "The game is over" in first


def test_play_takes_a_start(kalah):
    start = "<6,23,23,0,0,0,0,0,1,0,0,0,0,0,1> S"
    code, out, _ = kalah("play", "--south", "greedy", "--north", "greedy", "--start", start)
    assert code == 0
    assert out.endswith("The game is over, 24 to 24: a draw.\n")


def test_warm_names_parts_and_cache(kalah, answer, monkeypatch):
    from kalah_env import jit

    found = answer("warm")
    assert set(found["seconds"]) == {"engine", "arena", "alphabeta", "search", "solver", "analysis"}
    assert found["cache"] == jit.CACHE
    monkeypatch.setattr(jit, "CACHE", None)
    code, out, _ = kalah("warm")
    assert code == 0
    assert out.splitlines()[-1].startswith("cache: none")


def test_train_and_export_hand_their_words_over(kalah, monkeypatch):
    calls = []
    loop = SimpleNamespace(train_command=lambda *words: calls.append(words) or 0)
    export = SimpleNamespace(export_command=lambda *words: calls.append(words) or 1)
    monkeypatch.setitem(sys.modules, "train.loop", loop)
    monkeypatch.setitem(sys.modules, "train.export", export)
    assert kalah("train", "a.yaml", "--resume", "x=1", "y.z=2")[0] == 0
    assert kalah("train", "a.yaml")[0] == 0
    assert kalah("export", "folder", "net.onnx")[0] == 1
    assert calls[:2] == [("a.yaml", ["x=1", "y.z=2"], True), ("a.yaml", [], False)]
    assert calls[2:] == [("folder", "net.onnx", False)]
