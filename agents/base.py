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


def check_running(rules: Rules, states: np.ndarray) -> None:
    """Raise a `KalahError` unless `states` are running positions of these rules: (B, S)."""
    size = batch.state_size(rules)
    if states.ndim != 2 or states.shape[1] != size:
        raise KalahError(f"agent: positions have the shape {states.shape}; these rules need (B, {size}).")
    ended = np.flatnonzero(batch.statuses(rules, states) != engine.RUNNING)
    if len(ended):
        raise KalahError(f"agent: game {ended[0]} has ended and has no move; ask for running games only.")


def check_plays(agent: Agent, rules: Rules) -> None:
    """Raise the agent's `KalahError` now, not at its first move, where it cannot play these rules."""
    try:
        agent.act(rules, batch.new_games(rules, 0))
    except KalahError:
        raise
    except Exception:
        return  # an agent of others may know no empty batch; its first move will tell
