"""What our agents share: the checks of options, seeds and positions; and agents by text, re-exported.

What an agent is and how one is made from a text such as `alphabeta:depth=8` stands in
`kalah_env/specs.py`, since environments make opponents too. The agents themselves: `simple.py`,
`alphabeta/`, `rollouts.py`, `neural.py`.
"""

import numbers

import numpy as np

from kalah_env import batch, engine
from kalah_env.checks import MAX_SEED, whole_number
from kalah_env.errors import KalahError
from kalah_env.rules import Rules
from kalah_env.specs import GROUP, Agent, agent_names, make_agent

__all__ = [
    "GROUP",
    "Agent",
    "agent_names",
    "check_plays",
    "check_range",
    "check_running",
    "check_states",
    "make_agent",
    "make_rng",
]


def check_range(what: str, value: float, low: float, high: float) -> None:
    """Raise a `KalahError` unless low <= value <= high; `what` names agent and option."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not low <= value <= high:
        raise KalahError(f"{what}={value} is out of range; it is {low} to {high}.")


def make_rng(seed: int | None) -> np.random.Generator:
    """Return the random generator of an agent's seed; None takes fresh entropy."""
    if seed is not None:
        whole_number("agent: seed", seed, 0, MAX_SEED)
    return np.random.default_rng(seed)


def check_states(what: str, rules: Rules, states: np.ndarray) -> None:
    """Raise a `KalahError` unless `states` are positions of these rules: (B, S) int16; `what` asks."""
    size = batch.state_size(rules)
    if not isinstance(states, np.ndarray) or states.ndim != 2 or states.shape[1] != size:
        given = getattr(states, "shape", None)
        shape = f"have the shape {given}" if given is not None else f"are a {type(states).__name__}"
        raise KalahError(f"{what}: positions {shape}; these rules need an array (B, {size}) of int16.")
    if states.dtype != np.int16:
        raise KalahError(f"{what}: positions are {states.dtype}; give int16, as `batch.new_games` does.")


def check_running(rules: Rules, states: np.ndarray, what: str = "agent") -> None:
    """Raise a `KalahError` unless `states` are running positions of these rules: (B, S) int16."""
    check_states(what, rules, states)
    ended = np.flatnonzero(batch.statuses(rules, states) != engine.RUNNING)
    if len(ended):
        raise KalahError(f"{what}: game {ended[0]} has ended and has no move; ask for running games only.")


def check_plays(agent: Agent, rules: Rules) -> None:
    """Raise the agent's `KalahError` now, not at its first move, where it cannot play these rules."""
    try:
        agent.act(rules, batch.new_games(rules, 0))
    except KalahError:
        raise
    except Exception:
        return  # an agent of others may know no empty batch; its first move will tell
