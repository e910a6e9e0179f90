"""`docs/PROTOCOLS.md` against what the engines do: its transcripts, and the times in its table."""

import io
import re
from pathlib import Path

from test_mankalah import Scripted

from agents.protocols import mankalah
from agents.protocols.kgp_wire import parse
from agents.protocols.uci import Engine
from train.commands.engine import MS

PAGE = (Path(__file__).parent.parent / "docs" / "PROTOCOLS.md").read_text()


def transcripts():
    """Return what is said to the engine and by it, of each transcript on the page."""
    blocks = [part.split("```")[1].strip().splitlines() for part in PAGE.split("<!-- transcript -->")[1:]]
    return [
        ["".join(f"{line[2:]}\n" for line in block if line[0] == way) for way in "<>"] for block in blocks
    ]


def test_transcripts_on_the_page_are_true():
    manchester, uci = transcripts()
    sink = io.StringIO()
    assert mankalah.play(Scripted(0, 1), io.StringIO(manchester[0]), sink, 0.01) == 0
    assert sink.getvalue() == manchester[1]
    sink = io.StringIO()
    Engine("greedy", 1.0, sink).run(io.StringIO(uci[0]))
    times = re.compile(r"nps \d+ time \d+")
    assert times.sub("", sink.getvalue()) == times.sub("", uci[1])


def test_the_kgp_session_on_the_page_is_made_of_lines():
    lines = re.findall(r"^    [sc]: (.*)$", PAGE, re.MULTILINE)
    assert len(lines) > 5
    assert [parse(line).name for line in lines][:4] == ["kgp", "set", "mode", "ok"]
    ours = [parse(line) for line in re.findall(r"^    c: (.*)$", PAGE, re.MULTILINE)]
    assert [message.id for message in ours] == [1, 3, 5, 7, 9, 11]


def test_the_times_on_the_page_are_the_defaults():
    rows = dict(re.findall(r"^\| `(\w+)`.*\| (\d+) \|", PAGE, re.MULTILINE))
    assert rows == {name: str(ms) for name, ms in MS.items()}
