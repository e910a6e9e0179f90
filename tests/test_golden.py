"""Golden games: every preset has a file of them, and engine and oracle play them as they stand there.

`python tests/make_golden.py` makes the files again. They notice a change of behaviour, and that the
games are drawn anew is no proof: a changed line must be argued in the commit that changes it.
"""

import json

import pytest
from make_golden import FOLDER
from oracle import Game

from kalah_env.records import parse_record, replay
from kalah_env.rules import PRESET_NAMES, format_rules


def _games(preset: str) -> list[dict]:
    return [json.loads(line) for line in (FOLDER / f"{preset}.jsonl").read_text().splitlines()]


def test_every_preset_has_golden_games():
    assert {path.stem for path in FOLDER.iterdir()} == {*PRESET_NAMES}
    for preset in PRESET_NAMES:
        games = _games(preset)
        assert len(games) > 3
        assert all(game["record"]["rules"] == preset for game in games)
        assert sum("start" not in game["record"] for game in games) > 1
        assert sum(game["result"] is not None for game in games) > 1


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_golden_games_replay_equal(preset):
    for game in _games(preset):
        record = parse_record(json.dumps(game["record"]))
        assert format_rules(record.rules) == preset
        answer = {name: game[name] for name in ("positions", "next", "result")}
        assert replay(record) == {**answer, "error": None}
        oracle = Game(preset, record.start)
        for move, position in zip(record.moves, answer["positions"], strict=True):
            oracle.play(move)
            assert oracle.text() == position
