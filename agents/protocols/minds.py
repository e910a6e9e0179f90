"""Agents with a clock, for protocols that give a time: one agent's limit, and a pool for several games.

Which agents take `ms=` is their own matter (`kalah_env/specs.py`). Not here: what a protocol says about
time (`kgp_games.py`, `mankalah.py`, `uci.py`).
"""

import re
import threading
from collections.abc import Sequence

from agents.base import Agent, make_agent
from kalah_env import batch
from kalah_env.checks import MAX_SEED
from kalah_env.errors import KalahError
from kalah_env.rules import Rules

_MS = re.compile(r"[:,]\s*ms\s*=")


def takes_ms(agent: Agent) -> bool:
    """Say whether the agent thinks for a given time."""
    return hasattr(agent, "ms") or "ms" in getattr(agent, "limits", {})


def set_ms(agent: Agent, seconds: float) -> None:
    """Make an agent that takes `ms=` think so long about its next moves; others are left as they are."""
    ms = max(1, round(1000 * seconds))
    if hasattr(agent, "ms"):
        agent.ms = ms  # type: ignore[attr-defined]
    elif takes_ms(agent):
        agent.limits["ms"] = ms  # type: ignore[attr-defined]


def own_seconds(spec: str, agent: Agent) -> float | None:
    """Return the time a move that the text `spec` gives its agent, or None where it gives none."""
    if not _MS.search(spec) or not takes_ms(agent):
        return None
    ms = agent.ms if hasattr(agent, "ms") else agent.limits["ms"]  # type: ignore[attr-defined]
    return ms / 1000


def warm(agent: Agent, rules: Sequence[Rules]) -> None:
    """Let the agent choose a move in each of these starts, so that no clock runs while it compiles.

    An agent without a time limit could think for long: only the first start then, a small one.
    """
    for each in rules if takes_ms(agent) else rules[:1]:
        set_ms(agent, 0.01)
        try:
            agent.act(each, batch.new_games(each, 1))
        except KalahError:  # such as a network of another board
            continue


class Minds:
    """A pool of agents of one text, since an agent thinks about one position at a time.

    They are made when they are needed, `most` at most, so that memory stays flat however many games
    are asked for at once.
    """

    def __init__(self, spec: str, most: int = 4, seed: int = 0) -> None:
        self.spec, self.most, self.seed = spec, most, seed
        self.made = 0
        self._free = [self._make()]  # a wrong text is noticed at once
        self._changed = threading.Condition()
        self._seen: set[tuple[int, Rules]] = set()

    def _make(self) -> Agent:
        self.made += 1
        return make_agent(self.spec, (self.seed + self.made - 1) % (MAX_SEED + 1))

    @property
    def first(self) -> Agent:
        """The agent that was made first, to look at or warm up before there are games."""
        return self._free[0]

    def is_new(self, agent: Agent, rules: Rules) -> bool:
        """Say, once, that an agent with a clock has not played these rules: it may have much to load."""
        key = (id(agent), rules)
        if key in self._seen or not takes_ms(agent):
            return False
        self._seen.add(key)
        return True

    def take(self, seconds: float, rules: Rules | None = None) -> Agent | None:
        """Return an agent nobody else uses, one that knows the rules if possible; None if none is free
        within so many seconds.
        """
        with self._changed:
            if not self._free and self.made < self.most:
                return self._make()
            if not self._changed.wait_for(lambda: self._free, max(0.0, seconds)):
                return None
            known = [i for i, agent in enumerate(self._free) if (id(agent), rules) in self._seen]
            return self._free.pop(known[-1] if known else -1)

    def give(self, agent: Agent) -> None:
        """Give an agent back."""
        with self._changed:
            self._free.append(agent)
            self._changed.notify()
