"""Make the golden games again: `python tests/make_golden.py`, for each preset a file of random games.

A line is `{"record": ..., "positions": [...], "next": [...], "result": ...}`: a game record and what
`records.replay` answers to it, the position after every move included. `test_golden.py` replays them.
Made to notice change: who runs this looks at the diff and says in the commit why the new games are right.
"""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kalah_env import engine, text
from kalah_env.records import Record, format_record, replay
from kalah_env.rules import PRESET_NAMES, format_rules, parse_rules, side_pits

FOLDER = Path(__file__).parent / "data" / "golden"


def _late_start(rng: random.Random, rules) -> str:
    """Return a thin position, since games from it are short and end in many ways."""
    pits = side_pits(rules)
    counts = [rng.randint(1, 4) if rng.random() < 0.5 else 0 for _ in range(2 * pits)]
    size = rules.pits if rules.rows == 1 else f"2x{rules.pits}"
    stores = "0,0" if rules.rows == 2 else "5,5"
    return f"<{size},{stores},{','.join(map(str, counts))}> {rng.choice('SN')}"


def games_of(preset: str) -> list[str]:
    """Return the lines of a preset's file: two games from the start, four from late positions."""
    rules, lines = parse_rules(preset), []
    for number in range(6):
        rng = random.Random(f"golden {format_rules(rules)} {number}")
        moves: list[str] = []
        start = None if number < 2 else _late_start(rng, rules)
        state = Record(rules, start).first_state()
        while legal := text.legal_moves(rules, state):
            moves.append(rng.choice(legal))
            engine.play(rules, state, text.parse_move(rules, state, moves[-1]))
        record = Record(rules, start, tuple(moves))
        answer = replay(record)
        assert answer.pop("error") is None
        lines.append(json.dumps({"record": json.loads(format_record(record)), **answer}))
    return lines


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for preset in PRESET_NAMES:
        (FOLDER / f"{preset}.jsonl").write_text("\n".join(games_of(preset)) + "\n")
