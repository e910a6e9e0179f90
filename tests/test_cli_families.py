"""Every command with every preset: the calls work, their answers fit together, texts of all families.

The commands call each other's answers here, so that no position is worked out twice. What the commands
say and refuse in general: `test_cli.py`; whether a move is right: the tests of the engine.
"""

import json
from pathlib import Path

import pytest
from families import SMALL

from kalah_env.rules import PRESET_NAMES
from train.cli import main

PRESETS = pytest.mark.parametrize("preset", PRESET_NAMES)


@pytest.fixture
def kalah(capsys):
    """Run a command line that must succeed; return what it printed."""

    def run(*words: str) -> str:
        code = main(list(words))
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


@PRESETS
def test_rules_tells_everything_of_a_preset(preset, kalah):
    one = json.loads(kalah("rules", preset, "--json"))
    out = kalah("rules", preset)
    assert out.splitlines()[0] == one["rules"] == preset
    assert f"\nsource: {one['source']}\nstart: {one['start']}\n" in out
    assert one["start"] == json.loads(kalah("move", "start", "--rules", preset, "--json"))["position"]
    shown = {line[2:].split()[0]: line[2:].split()[1] for line in out.splitlines()[5:]}
    assert shown == {k: str(v).lower() for k, v in one["options"].items()}
    assert len(max(out.splitlines(), key=len)) <= 120


def test_rules_says_that_serata_is_an_alias(kalah):
    serata, philos = (json.loads(kalah("rules", name, "--json")) for name in ("serata", "kalaha-philos"))
    assert "alias" in kalah("rules", "serata")
    assert "kalaha-philos" in serata["about"]
    assert serata["hash"] == philos["hash"]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_table_of_presets_fits(columns, kalah, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = kalah("rules").splitlines()
    assert max(map(len, lines)) <= columns
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["preset", *PRESET_NAMES]
    assert "2x8x2" in next(line for line in lines if line.startswith("hus"))


@PRESETS
def test_move_and_perft_agree(preset, kalah):
    """The leaves of depth 2 are the legal moves of the positions behind each legal move."""
    start = json.loads(kalah("move", "start", "--rules", preset, "--json"))
    behind = [
        json.loads(kalah("move", start["position"], move, "--rules", preset, "--json"))
        for move in start["legal"]
    ]
    leaves = json.loads(kalah("perft", "--depth", "2", "--rules", preset, "--json"))
    assert leaves == {"rules": preset, "leaves": [len(start["legal"]), sum(len(b["legal"]) for b in behind)]}
    assert all(b["captured"] == [0] or b["captured"][0] > 0 for b in behind)
    said = kalah("move", "start", start["legal"][0], "--rules", preset)
    assert said.splitlines()[0] == behind[0]["position"]
    assert said.endswith(f"legal: {', '.join(behind[0]['legal'])}\n")


def test_move_with_two_rows_and_directions(kalah):
    """Worked out by hand: 3+ ends in front pit 1, takes the three of north's front row, and so wins."""
    words = ("move", "<2x2,0,0,1,2,2,0,0,3,1,1> S", "3+", "--rules", "bao-philos:pits=2")
    assert json.loads(kalah(*words, "--json")) == {
        "position": "<2x2,0,0,2,3,1,2,0,0,1,1> S",
        "captured": [3],
        "next": None,
        "again": False,
        "over": True,
        "truncated": False,
        "result": {"south": 0, "north": 0, "winner": "S"},
        "legal": [],
    }
    assert kalah(*words).endswith("over: south wins\n")


@PRESETS
def test_arena_records_replay_and_play_ends(preset, kalah, tmp_path):
    file = tmp_path / "games.jsonl"
    words = ("arena", "greedy", "random", "mcts:sims=3", "alphabeta:depth=1", "--rules", preset)
    found = json.loads(kalah(*words, "--games", "4", "--json", "--records", str(file)))
    assert [r["games"] for r in found["results"]] == [4] * 6
    records = [json.loads(line) for line in file.read_text().splitlines()]
    answers = [json.loads(line) for line in kalah("replay", str(file)).splitlines()]
    assert len(answers) == len(records) == 24
    assert all(a["error"] is None and a["next"][-1] is None for a in answers)
    wins = [0] * 6
    for game, (record, answer) in enumerate(zip(records, answers, strict=True)):
        first_is_south = record["comment"].startswith(f"south: {found['results'][game // 4]['a']},")
        side = "S" if first_is_south != ("swap" in record["moves"]) else "N"
        wins[game // 4] += answer["result"] is not None and answer["result"]["winner"] == side
    assert wins == [r["wins"] for r in found["results"]]
    told = kalah("play", "--south", "greedy", "--north", "mcts:sims=2", "--rules", preset)
    assert "The game is over" in told or "The game is truncated" in told


@PRESETS
def test_a_trained_net_of_every_preset_plays(preset, kalah, tmp_path, monkeypatch):
    """Two iterations of a small run; what it leaves plays in the arena, with and without search."""
    monkeypatch.chdir(tmp_path)
    spec = SMALL[preset]
    kalah(
        *("train", "tiny", f"rules={spec}", "name=small", "iterations=2", "device=cpu", "learner.batch=64"),
        *(
            "net.width=16",
            "net.blocks=1",
            "selfplay.games=16",
            "selfplay.plies=24",
            "selfplay.simulations=[4]",
        ),
    )
    meta = json.loads(Path("runs/small/checkpoints/000002/config.json").read_text())
    assert meta["rules"] == spec
    lines = Path("runs/small/metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["iteration"] == 2
    found = json.loads(
        kalah("arena", "net:runs/small", "net:runs/small,sims=4", "--rules", spec, "--games", "4", "--json")
    )
    assert found["results"][0]["games"] == 4


def test_rules_says_what_was_changed(kalah):
    """A preset's sentence and source are not told as those of changed rules."""
    lines = kalah("rules", "danish:seeds=3,relay=false").splitlines()
    own = json.loads(kalah("rules", "danish", "--json"))
    one = json.loads(kalah("rules", "danish:seeds=3,relay=false", "--json"))
    assert lines[:4] == [
        "danish:seeds=3,relay=false",
        "changed from danish by seeds=3, relay=false",
        f"danish: {own['about']}",
        f"source of danish: {own['source']}",
    ]
    assert one["changes"] == {"seeds": 3, "relay": False}
    assert own["changes"] == {}
    assert "changed" not in kalah("rules", "danish:seeds=6")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (("iterations=1",), "only one iteration ran, and learning begins in the second"),
        (("iterations=2", "selfplay.plies=1", "rules=kalah"), "learning needs games that have ended"),
    ],
)
def test_train_says_why_nothing_was_learned(changes, why, kalah, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ("net.width=16", "net.blocks=1", "selfplay.games=16", "selfplay.simulations=[2]", "device=cpu")
    told = kalah("train", "tiny", "name=small", *small, *changes)
    assert f"nothing was learned: {why}" in " ".join(told.split())
    assert "untrained: runs/small" in told
    assert "play it" not in told
    assert "\ntrained" not in told
