"""Text forms: a position on one line, moves, the board as a drawing.

Position: `<n,S,N,s1,...,sn,n1,...,nn> S` = pits a row, south's store, north's store, south's pits,
north's pits (each in its owner's counter-clockwise order), the side to move, then `first` or `swap`
where they apply; with two rows a side `2xn` stands for n, and the front row comes before the back
row. `start` is the start of a game. Moves are pit numbers from 1, with `+` (counter-clockwise) or `-`
where the direction is chosen, and `swap`. Game records: `records.py`.
"""

import re

import numpy as np

from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import MAX_SEEDS, START, Rules, num_actions, side_pits

SIDE_LETTERS = ("S", "N")
SIDE_NAMES = ("south", "north")
_PHASES = {"": engine.MID, "first": engine.FIRST, "swap": engine.SWAP}
_POSITION = re.compile(r"<([^<>]*)>\s*(\S*)\s*(\S*)")
_FORMS = {1: "<n,S,N,s1,...,sn,n1,...,nn> S", 2: "<2xn,S,N,south's 2n pits,north's 2n pits> S"}


def parse_position(text: str, rules: Rules) -> np.ndarray:
    """Return the state (S,) int16 of a position's text, settled if it is already decided.

    `KalahError` if the text is malformed, its pits are not the rules', it holds more than 2,000
    seeds, or it says `swap` where the rules have no pie rule. `start` is the rules' own start.
    """
    if not isinstance(text, str):
        raise KalahError(f"position is {text!r}; give a text such as '<1,0,0,4,4> S', or '{START}'.")
    if text.strip() == START:
        return batch.new_games(rules, 1)[0]
    match = _POSITION.fullmatch(text.strip())
    form = _FORMS[rules.rows]
    if not match:
        raise KalahError(f"position {_short(text)} is not of the form {form}, nor {START}.")
    size, *parts = (part.strip() for part in match[1].split(","))
    if size.lstrip("0") != _size(rules):
        raise KalahError(
            f"position {_short(text)} has {_short(size)} pits a row, the rules {_size(rules)}: {form}."
        )
    numbers = [_number(part, text) for part in parts]
    letter, word = match[2] or "S", match[3]
    if letter not in SIDE_LETTERS:
        raise KalahError(f"position {_short(text)}: side to move {letter!r} is neither S nor N.")
    if word not in _PHASES:
        raise KalahError(f"position {_short(text)}: {word!r} behind the side is neither 'first' nor 'swap'.")
    if word == "swap" and not rules.pie:
        raise KalahError(f"position {_short(text)} says swap, but the rules have pie=false.")
    pits = side_pits(rules)
    if len(numbers) != 2 * pits + 2:
        raise KalahError(
            f"position {_short(text)} has {len(numbers) + 1} numbers; {pits} pits a side need "
            f"{2 * pits + 3}: {form}."
        )
    if sum(numbers) > MAX_SEEDS:
        raise KalahError(f"position {_short(text)} has {sum(numbers)} seeds; at most {MAX_SEEDS}.")
    south, north, *board = numbers
    if rules.rows == 2 and (south or north):
        raise KalahError(f"position {_short(text)}: the stores of a game with two rows a side stay 0.")
    state = np.zeros(batch.state_size(rules), np.int16)
    state[: 2 * pits + 2] = [*board[:pits], south, *board[pits:], north]
    extras = batch.extras(rules, state)
    extras[engine.SIDE] = SIDE_LETTERS.index(letter)
    extras[engine.PHASE] = _PHASES[word]
    engine.settle(rules, state)
    return state


def _size(rules: Rules) -> str:
    return str(rules.pits) if rules.rows == 1 else f"{rules.rows}x{rules.pits}"


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
    pits = side_pits(rules)
    row = [int(x) for x in state]
    numbers = [row[pits], row[2 * pits + 1], *row[:pits], *row[pits + 1 : 2 * pits + 1]]
    side, phase, *_ = batch.extras(rules, state)
    word = next(word for word, code in _PHASES.items() if code == phase)
    return f"<{_size(rules)},{','.join(map(str, numbers))}> {SIDE_LETTERS[side]} {word}".rstrip()


def format_move(rules: Rules, action: int) -> str:
    """Return the text of an action: the pit's number, with its direction where chosen, or `swap`."""
    pits = side_pits(rules)
    if action == pits * rules.directions:
        return "swap"
    return f"{action % pits + 1}{'' if rules.directions == 1 else '+-'[action // pits]}"


def legal_moves(rules: Rules, state: np.ndarray) -> list[str]:
    """Return the texts of the legal moves, in the order of the actions."""
    actions = range(num_actions(rules))
    return [format_move(rules, a) for a in actions if engine.is_legal(rules, state, a)]


def parse_move(rules: Rules, state: np.ndarray, text: str) -> int:
    """Return the action of a move's text; `KalahError` says why a move is not legal in `state`."""
    actions = {format_move(rules, a): a for a in range(num_actions(rules))}
    legal = [move for move, action in actions.items() if engine.is_legal(rules, state, action)]
    if text in legal:
        return actions[text]
    if not legal:
        status = batch.extras(rules, state)[engine.STATUS]
        why = "the game is over" if status == engine.OVER else "the game is truncated by ply_limit"
        raise KalahError(f"move {text!r} is illegal: {why}.")
    why = f"is illegal in {format_position(rules, state)}"
    if f"{text}+" in actions:
        why = f"says no direction: {text}+ is counter-clockwise, {text}- clockwise"
    elif rules.directions == 1 and str(text)[-1:] in ("+", "-") and text[:-1] in actions:
        why = f"says a direction, of which these rules have one: write {text[:-1]}"
    raise KalahError(f"move {text!r} {why}; legal: {', '.join(legal)}.")


def winner(rules: Rules, state: np.ndarray) -> str:
    """Return `S`, `N` or `draw` for a state whose game is over."""
    margin = engine.margin(rules, state)
    return "draw" if margin == 0 else SIDE_LETTERS[int(margin < 0)]


def draw_board(rules: Rules, state: np.ndarray, bottom: int = engine.SOUTH) -> str:
    """Return the board as lines of text, the side `bottom` below with its pits numbered."""
    half = side_pits(rules) + 1
    own, other = (state[side * half : (side + 1) * half].tolist() for side in (bottom, 1 - bottom))
    width = max(2, *(len(str(seeds)) for seeds in own + other))

    def lines(side: list[int], row: list[int]) -> list[str]:
        """Return a row's seeds and below them the pits' numbers."""
        texts = [[str(side[i]) for i in row], [str(i + 1) for i in row]]
        return [" " * (width + 2) + "  ".join(text.rjust(width) for text in cells) for cells in texts]

    upper, lower = [], []
    for number, row in enumerate(_rows(rules)):
        seeds, numbers = lines(own, row)
        lower += [seeds, numbers] if number == rules.rows - 1 else [numbers, seeds]
        seeds, numbers = lines(other, row[::-1])
        upper[:0] = [numbers, seeds] if number == rules.rows - 1 else [seeds, numbers]
    upper[0] += f"    {SIDE_NAMES[1 - bottom].capitalize()}"
    lower[-1] += f"    {SIDE_NAMES[bottom].capitalize()}"
    middle = " " * (rules.pits * (width + 2) - 2)
    stores = f"{other[-1]:>{width}}  {middle}  {own[-1]}" if rules.rows == 1 else ""
    return "\n".join((*upper, stores, *lower))


def _rows(rules: Rules) -> list[list[int]]:
    """Return the pits of each row, front row first, from left to right as their owner sees them."""
    pits = rules.pits
    if rules.rows == 1:
        return [list(range(pits))]
    # The ring runs counter-clockwise: leftwards along the front row, rightwards along the back row.
    return [list(range(pits))[::-1], list(range(pits, 2 * pits))]
