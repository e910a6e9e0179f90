"""A game shown as text, picture or window, with who sits where and how things stand.

What the environments' `render` does. Pictures are drawn by `render.py`, which needs pygame and is
imported only when one is asked for; the board as text is `text.draw_board`.
"""

from typing import Any

import gymnasium
import numpy as np

from kalah_env import batch, engine, text
from kalah_env.errors import KalahError
from kalah_env.options import Win
from kalah_env.rules import Rules, side_pits


class Screen:
    """Shows states in one of the modes of an environment's `metadata`, or in none."""

    def __init__(self, rules: Rules, mode: str | None, metadata: dict[str, Any]) -> None:
        modes = metadata["render_modes"]
        if mode is not None and mode not in modes:
            raise KalahError(f"render_mode={mode!r} is not known; it is {', '.join(modes)} or None.")
        if mode in ("human", "rgb_array"):
            _renderer()
        self._rules, self._mode, self._metadata = rules, mode, metadata
        self._window = None

    def show(self, state: np.ndarray, names: tuple[str, str]) -> str | np.ndarray | None:
        """Return the board as text or picture, or show it in the window; names are South's, North's."""
        if self._mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode; make the game with one.")
            return None
        remarks = _remarks(self._rules, state)
        if self._mode == "ansi":
            lines = [text.draw_board(self._rules, state)]
            for side in (engine.NORTH, engine.SOUTH):
                remark = f", {remarks[side]}" if remarks[side] else ""
                lines.append(f"{text.SIDE_NAMES[side].capitalize()}: {names[side]}{remark}")
            return "\n".join(lines)
        picture = _renderer().draw(self._rules, state, names, remarks)
        if self._mode == "rgb_array":
            return _renderer().pixels(picture)
        if self._window is None:
            self._window = _renderer().Window("Kalah", picture.get_size())
        self._window.show(picture, self._metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the window behind: a copy or a pickle goes on with the game and opens its own."""
        return {**self.__dict__, "_window": None}


def _remarks(rules: Rules, state: np.ndarray) -> tuple[str, str]:
    """Say for south and north who is to move, or how the game ended for them."""
    side, phase, status, *_ = (int(n) for n in batch.extras(rules, state))
    if status == engine.TRUNCATED:
        return "truncated", "truncated"
    if status == engine.OVER:
        margin = engine.margin(rules, state)
        words = ("draw", "draw") if margin == 0 else ("wins", "loses")[:: 1 if margin > 0 else -1]
        if rules.win == Win.MOVE:
            return words
        pits = side_pits(rules)
        south, north = int(state[pits]), int(state[2 * pits + 1])
        return f"{words[0]} {south}:{north}", f"{words[1]} {north}:{south}"
    remark = "to move or swap" if phase == engine.SWAP else "to move"
    return ("", remark) if side else (remark, "")


def _renderer() -> Any:
    from kalah_env import render

    return render
