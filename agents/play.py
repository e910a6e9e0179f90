"""A plain game in the terminal: humans and agents in any seats, one line of input a move.

Reads and writes text streams, so it also works in a pipe and in tests. Not here: which agents play
(the command `kalah play`), a browser (`web.py`).
"""

from typing import TextIO

import numpy as np

from agents.base import Agent
from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, num_actions, side_pits

_COMMANDS = """\
  board      show the board and its position as text
  help       show this
  quit       leave the game (also q, exit)"""


def help_text(rules: Rules) -> str:
    """Return what a human may type in a game of these rules."""
    if rules.rows == 1:
        where = "your pits are the lower row, 1 farthest from your store"
    else:
        where = "your pits are the two lower rows, with their numbers"
    lines = [f"  1, 2, ...  sow the seeds of that pit; {where}"]
    if rules.directions == 2:
        lines = [
            f"  1+, 2+ ... sow that pit counter-clockwise; {where}",
            "  1-, 2- ... sow that pit clockwise",
        ]
    if rules.pie:
        lines.append("  swap       change seats with the other player (only when it is offered)")
    return "\n".join([*lines, _COMMANDS])


class _LeftError(Exception):
    """The human has left the game; the message says how."""


def play_game(
    rules: Rules, start: np.ndarray, south: Agent | None, north: Agent | None, source: TextIO, sink: TextIO
) -> np.ndarray:
    """Play one game from the state `start`, None being a human; return the state it ended in.

    A human's moves are read from `source`; everything is told on `sink`. The game is left, still
    running, at `quit` or at the end of the input.
    """
    state = start.copy()
    seats = [south, north]

    def say(line: str = "") -> None:
        print(line, file=sink, flush=True)

    say(f"{format_rules(rules)}: {_who(seats, 0)} against {_who(seats, 1)}. Type help for help.")
    try:
        while batch.statuses(rules, state) == engine.RUNNING:
            agent = seats[batch.sides(rules, state)]
            if agent is None:
                action = _ask(rules, state, source, sink)
            else:
                action = int(agent.act(rules, state[None].copy())[0])
            _play(rules, state, action, seats, say)
    except _LeftError as left:
        say(f"\n{left} The game stands at {text.format_position(rules, state)}.")
        return state
    say()
    say(text.draw_board(rules, state))
    say(_outcome(rules, state, seats))
    return state


def _who(seats: list[Agent | None], side: int) -> str:
    agent = seats[side]
    return f"{text.SIDE_NAMES[side].capitalize()} ({agent.spec if agent else 'human'})"


def _ask(rules: Rules, state: np.ndarray, source: TextIO, sink: TextIO) -> int:
    """Return the action a human chooses; ask again after anything that is not a legal move."""
    side = int(batch.sides(rules, state))
    legal = ", ".join(text.legal_moves(rules, state))
    prompt = f"{text.SIDE_NAMES[side].capitalize()}, your move ({legal}): "
    board = f"\n{text.draw_board(rules, state, side)}\n"
    print(board, file=sink)
    while True:
        print(prompt, end="", file=sink, flush=True)
        line = source.readline()
        word = line.strip().lower()
        if not line:
            raise _LeftError("End of input.")
        if word in ("quit", "exit", "q"):
            raise _LeftError("You left.")
        if word == "help":
            print(help_text(rules), file=sink)
        elif word == "board":
            print(f"{board}{text.format_position(rules, state)}", file=sink)
        elif word:
            try:
                return text.parse_move(rules, state, word)
            except KalahError as error:
                print(f"{error} Type help for help.", file=sink)


def _play(rules: Rules, state: np.ndarray, action: int, seats: list[Agent | None], say) -> None:
    """Play `action` in `state`, exchange the seats at a swap, and tell what happened."""
    side = int(batch.sides(rules, state))
    mover = _who(seats, side)
    captured = int(batch.step(rules, state[None], np.array([action]))[0])
    if rules.pie and action == num_actions(rules) - 1:
        seats.reverse()
        say(f"{mover} swaps: the players change seats. Now {_who(seats, 0)}, {_who(seats, 1)}.")
        return
    said = f"{mover} plays {text.format_move(rules, action)}"
    if captured:
        said += f", captures {captured} seed{'s' if captured > 1 else ''}"
    running = batch.statuses(rules, state) == engine.RUNNING
    if running and engine.same_player(rules, side, action, batch.sides(rules, state)):
        said += ", moves again"
    say(f"{said}.")


def _outcome(rules: Rules, state: np.ndarray, seats: list[Agent | None]) -> str:
    if batch.statuses(rules, state) == engine.TRUNCATED:
        return f"The game is truncated at the limit of {rules.ply_limit} plies: no result."
    pits = side_pits(rules)
    score = f", {state[pits]} to {state[2 * pits + 1]}" if rules.rows == 1 else ""
    won = text.winner(rules, state)
    verdict = "a draw" if won == "draw" else f"{_who(seats, text.SIDE_LETTERS.index(won))} wins"
    return f"The game is over{score}: {verdict}."
