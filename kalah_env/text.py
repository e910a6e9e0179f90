"""Text forms: a position on one line, moves, the board as a drawing.

Position: `<n,S,N,s1,...,sn,n1,...,nn> S` = pits a side, south's store, north's store, south's pits,
north's pits (each row in its owner's sowing order), the side to move, then `first` or `swap` where
they apply. Moves are pit numbers from 1, and `swap`. Game records: `records.py`.
"""

import re

import numpy as np

from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import MAX_SEEDS, Rules, num_actions

SIDE_LETTERS = ("S", "N")
SIDE_NAMES = ("south", "north")
_PHASES = {"": engine.MID, "first": engine.FIRST, "swap": engine.SWAP}
_POSITION = re.compile(r"<([^<>]*)>\s*(\S*)\s*(\S*)")
_FORM = "<n,S,N,s1,...,sn,n1,...,nn> S"


def parse_position(text: str, rules: Rules) -> np.ndarray:
    """Return the state (S,) int16 of a position's text, settled if it is already decided.

    `KalahError` if the text is malformed, its pits are not the rules', it holds more than 2,000
    seeds, or it says `swap` where the rules have no pie rule.
    """
    match = _POSITION.fullmatch(text.strip())
    if not match:
        raise KalahError(f"position {_short(text)} is not of the form {_FORM}.")
    numbers = [_number(part.strip(), text) for part in match[1].split(",")]
    letter, word = match[2] or "S", match[3]
    if letter not in SIDE_LETTERS:
        raise KalahError(f"position {_short(text)}: side to move {letter!r} is neither S nor N.")
    if word not in _PHASES:
        raise KalahError(f"position {_short(text)}: {word!r} behind the side is neither 'first' nor 'swap'.")
    if word == "swap" and not rules.pie:
        raise KalahError(f"position {_short(text)} says swap, but the rules have pie=false.")
    pits = rules.pits
    if numbers[0] != pits:
        raise KalahError(f"position {_short(text)} has {numbers[0]} pits a side, the rules {pits}.")
    if len(numbers) != 2 * pits + 3:
        raise KalahError(
            f"position {_short(text)} has {len(numbers)} numbers; {pits} pits a side need "
            f"{2 * pits + 3}: {_FORM}."
        )
    if sum(numbers[1:]) > MAX_SEEDS:
        raise KalahError(f"position {_short(text)} has {sum(numbers[1:])} seeds; at most {MAX_SEEDS}.")
    _, south, north, *board = numbers
    state = np.zeros(batch.state_size(rules), np.int16)
    state[: 2 * pits + 2] = [*board[:pits], south, *board[pits:], north]
    extras = batch.extras(rules, state)
    extras[engine.SIDE] = SIDE_LETTERS.index(letter)
    extras[engine.PHASE] = _PHASES[word]
    engine.settle(rules, state)
    return state


def _number(part: str, text: str) -> int:
    if not (part.isascii() and part.isdigit()):
        raise KalahError(f"position {_short(text)}: {part!r} is not a whole number of 0 or more.")
    if len(part.lstrip("0")) > 9:
        raise KalahError(f"position {_short(text)}: {_short(part)} seeds are too many; at most {MAX_SEEDS}.")
    return int(part.lstrip("0") or 0)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def format_position(rules: Rules, state: np.ndarray) -> str:
    """Return the text of one state (S,)."""
    pits = rules.pits
    row = [int(x) for x in state]
    numbers = [pits, row[pits], row[2 * pits + 1], *row[:pits], *row[pits + 1 : 2 * pits + 1]]
    side, phase, *_ = batch.extras(rules, state)
    word = next(word for word, code in _PHASES.items() if code == phase)
    return f"<{','.join(map(str, numbers))}> {SIDE_LETTERS[side]} {word}".rstrip()


def format_move(rules: Rules, action: int) -> str:
    """Return the text of an action: the pit's number, or `swap`."""
    return "swap" if action == rules.pits else str(action + 1)


def legal_moves(rules: Rules, state: np.ndarray) -> list[str]:
    """Return the texts of the legal moves, in the order of the actions."""
    actions = range(num_actions(rules))
    return [format_move(rules, a) for a in actions if engine.is_legal(rules, state, a)]


def parse_move(rules: Rules, state: np.ndarray, text: str) -> int:
    """Return the action of a move's text; `KalahError` says why a move is not legal in `state`."""
    legal = legal_moves(rules, state)
    if text in legal:
        return rules.pits if text == "swap" else int(text) - 1
    if not legal:
        status = batch.extras(rules, state)[engine.STATUS]
        why = "the game is over" if status == engine.OVER else "the game is truncated by ply_limit"
        raise KalahError(f"move {text!r} is illegal: {why}.")
    raise KalahError(
        f"move {text!r} is illegal in {format_position(rules, state)}; legal: {', '.join(legal)}."
    )


def winner(rules: Rules, state: np.ndarray) -> str:
    """Return `S`, `N` or `draw` for a state whose game is over."""
    margin = engine.margin(rules, state)
    return "draw" if margin == 0 else SIDE_LETTERS[int(margin < 0)]


def draw_board(rules: Rules, state: np.ndarray, bottom: int = engine.SOUTH) -> str:
    """Return the board as lines of text, the side `bottom` below with its pits numbered."""
    pits = rules.pits
    rows = (state[: pits + 1], state[pits + 1 : 2 * pits + 2])
    own, other = rows[bottom], rows[1 - bottom]
    width = max(2, *(len(str(int(n))) for n in state[: 2 * pits + 2]))
    indent = " " * (width + 2)

    def line(cells: list[str]) -> str:
        return indent + "  ".join(cell.rjust(width) for cell in cells)

    upper = SIDE_NAMES[1 - bottom].capitalize()
    lower = SIDE_NAMES[bottom].capitalize()
    middle = " " * (pits * (width + 2) - 2)
    return "\n".join(
        (
            line([f"{pits - i}" for i in range(pits)]) + f"    {upper}",
            line([str(int(n)) for n in other[pits - 1 :: -1]]),
            f"{int(other[pits]):>{width}}  {middle}  {int(own[pits])}",
            line([str(int(n)) for n in own[:pits]]),
            line([f"{i + 1}" for i in range(pits)]) + f"    {lower}",
        )
    )
