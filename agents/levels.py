"""Strength by name, for people: what `easy`, `medium`, `hard` and `perfect` stand for.

Used where people choose an opponent (`kalah play`, `kalah serve`); everything else takes agents by their
text. The agents themselves: `base.py` and its entry points.
"""

from kalah_env.errors import KalahError
from kalah_env.specs import agent_names

HUMAN = "human"
LEVELS = {
    "easy": "greedy",
    "medium": "alphabeta:depth=5",
    "hard": "bot:ms=200",
    "perfect": "bot:ms=10000",
}
SAID = {
    "easy": "takes what it can get at once",
    "medium": "looks five plies ahead",
    "hard": "network and exact endgames, a fifth of a second a move",
    "perfect": "proves its moves where ten seconds are enough, and plays the best it finds elsewhere",
}


def agent_of(name: str) -> str:
    """Return the agent's text that a level stands for; any other text stands for itself."""
    return LEVELS.get(name, name)


def check_seat(name: str) -> str | None:
    """Return the agent's text for a seat, or None for a human; `KalahError` for an empty one."""
    if not name.strip():
        raise KalahError(f"a seat needs {HUMAN}, a level ({', '.join(LEVELS)}) or an agent's text.")
    return None if name == HUMAN else agent_of(name)


def name_of(seat: str, tag: str | None) -> str:
    """Return the name of who plays at a seat, human or agent: that of the game's tag where it fits."""
    if seat == HUMAN:
        return tag if tag and seat_of(tag) is None else HUMAN
    return tag if tag and agent_of(tag) == agent_of(seat) else seat


def seat_of(tag: str | None) -> str | None:
    """Return the agent's text that a game's tag of a seat names, or None for a human, who may have a name."""
    named = tag is not None and (tag in LEVELS or tag.partition(":")[0].strip() in agent_names())
    return agent_of(tag) if tag is not None and named else None
