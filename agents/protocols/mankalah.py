"""The University of Manchester's Kalah engine: an agent behind its messages on standard input and output.

Rules are the preset `mankalah`: 7 pits, 7 seeds, pie rule, and the first move of a match earns no extra
turn. The engine's CHANGE is the truth for the board; whose turn it is and which side is ours is kept
here. In words and with a transcript: `docs/PROTOCOLS.md`.
"""

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TextIO

import numpy as np

from agents.base import Agent
from agents.protocols.lines import GRACE, LinesAhead
from agents.protocols.minds import set_ms
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import START, make_rules
from kalah_env.text import SIDE_LETTERS, format_position, parse_position

RULES = make_rules("mankalah")
MATCH_SECONDS = 3600.0
MOVES = 40  # a move takes at most this part of the time that is left
_SIDES = {"South": engine.SOUTH, "North": engine.NORTH}
_PITS = [str(pit) for pit in range(1, RULES.pits + 1)]
_NUMBERS = 2 * RULES.pits + 2
_FORMS = "START;South|North, CHANGE;<1..7|SWAP>;<16 numbers>;YOU|OPP|END and END"


class Match:
    """The state of one match, as one side sees it.

    side: ours, or None before START; may_swap: we are second and have not answered yet;
    over: the last CHANGE said END; last_resort: a pit with seeds where a move is asked for although
    by our rules the game is over.
    """

    def __init__(self) -> None:
        self.side: int | None = None
        self.may_swap = self.over = False
        self.last_resort: int | None = None

    def read(self, line: str) -> np.ndarray | None:
        """Take a message in; return the state (S,) to move in where it is our turn, else None."""
        name, *parts = line.split(";")
        if name == "START" and len(parts) == 1 and parts[0] in _SIDES and self.side is None:
            self.side = _SIDES[parts[0]]
            self.may_swap = self.side == engine.NORTH
            return parse_position(START, RULES) if self.side == engine.SOUTH else None
        if name == "CHANGE" and len(parts) == 3 and self.side is not None and not self.over:
            return self._change(line, *parts)
        raise self._refusal(line)

    def _change(self, line: str, move: str, numbers: str, turn: str) -> np.ndarray | None:
        seeds = numbers.split(",")
        if move not in (*_PITS, "SWAP") or turn not in ("YOU", "OPP", "END") or len(seeds) != _NUMBERS:
            raise self._refusal(line)
        assert self.side is not None
        if move == "SWAP":
            self.side = 1 - self.side
        self.over = turn == "END"
        north, south = seeds[: RULES.pits + 1], seeds[RULES.pits + 1 :]
        board = ",".join([_PITS[-1], south[-1], north[-1], *south[:-1], *north[:-1]])
        word = " swap" if self.may_swap and turn == "YOU" else ""
        state = parse_position(f"<{board}> {SIDE_LETTERS[self.side]}{word}", RULES)
        if turn != "YOU":
            return None
        self.last_resort = None
        if batch.statuses(RULES, state) != engine.RUNNING:
            own = south if self.side == engine.SOUTH else north
            filled = [pit for pit in range(RULES.pits) if own[pit].strip("0")]
            if not filled:
                raise KalahError(f"mankalah: {line!r} asks for a move, but there is none.")
            self.last_resort = filled[0]
        return state

    def _refusal(self, line: str) -> KalahError:
        when = "before START" if self.side is None else "after the end" if self.over else "during a match"
        shown = line if len(line) <= 100 else f"{line[:97]}..."
        return KalahError(f"mankalah: {shown!r} is no message {when}; messages are {_FORMS}.")

    def answer(self, action: int) -> str:
        """Return the message of our action, and note what it changes."""
        assert self.side is not None
        self.may_swap = False
        if action == RULES.pits:
            self.side = 1 - self.side  # the engine does not tell the player who swaps
            return "SWAP"
        return f"MOVE;{_PITS[action]}"


def play(agent: Agent, source: TextIO, sink: TextIO, seconds: float, began: float | None = None) -> int:
    """Play a match, thinking `seconds` a move, less when the match's time runs short; return the exit code.

    began: when the engine's clock may have started, by `time.monotonic`. Where the input ends while the
    agent thinks, it has a moment more; a thread of its own may then think on, unheard.
    """
    match = Match()
    left = MATCH_SECONDS - (0.0 if began is None else time.monotonic() - began)
    lines = LinesAhead(source, "END")
    for line, whole in lines:
        asked = time.monotonic()
        if line == "END" and whole:
            return 0
        state = match.read(line if whole else f"{line}...")
        if state is None:
            continue
        set_ms(agent, min(seconds, max(0.0, left) / MOVES))
        if match.last_resort is not None:
            print(match.answer(match.last_resort), file=sink, flush=True)
            continue
        action = _think(agent, state, lines)
        if action is None:
            continue  # to the end, which is in sight
        if not engine.is_legal(RULES, state, action):
            where = format_position(RULES, state)
            raise KalahError(f"mankalah: agent {agent.spec} answers {action} in {where}, which is illegal.")
        print(match.answer(action), file=sink, flush=True)
        left -= time.monotonic() - asked
    if match.over:
        return 0
    raise KalahError("mankalah: the input ended before END.")


def _think(agent: Agent, state: np.ndarray, lines: LinesAhead) -> int | None:
    """Return the agent's action, or None where the input ends before it is found."""
    found: Future[int] = Future()

    def act() -> None:
        try:
            found.set_result(int(agent.act(RULES, state[None].copy())[0]))
        except Exception as error:
            found.set_exception(error)

    threading.Thread(target=act, daemon=True).start()
    either: list[Future[Any]] = [found, lines.ended]
    wait(either, return_when=FIRST_COMPLETED)
    return found.result() if wait([found], GRACE).done else None
