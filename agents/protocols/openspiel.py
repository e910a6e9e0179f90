"""Our agents as OpenSpiel bots: `PySpielBot` plays `mancala` and `oware` wherever a `pyspiel.Bot` may.

A state of theirs is read into one of ours whole, so a bot keeps nothing between moves. The only file
that imports pyspiel; import it where it is needed. Rules: the presets `openspiel-mancala` and
`openspiel-oware`; what OpenSpiel adds, an end by repetition, no agent sees.
"""

import numpy as np

from agents.base import Agent, make_agent
from kalah_env import batch, engine
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, make_rules

try:
    import pyspiel
except ModuleNotFoundError:
    raise KalahError('OpenSpiel is not installed: `pip install "kalah-env[peers]"`.') from None


def read_rules(game: pyspiel.Game) -> Rules:
    """Return our rules of an OpenSpiel game; `KalahError` for games that we do not play."""
    name, parameters = game.get_type().short_name, game.get_parameters()
    if name == "mancala":
        return make_rules("openspiel-mancala")
    if name == "oware":
        pits, seeds = parameters["num_houses_per_player"], parameters["num_seeds_per_house"]
        return make_rules("openspiel-oware", pits=pits, seeds=seeds)
    raise KalahError(f"OpenSpiel: {name} is no game that our agents play; they play mancala and oware.")


def read_state(state: pyspiel.State) -> tuple[Rules, np.ndarray]:
    """Return rules and state (S,) of an OpenSpiel state in which somebody is to move."""
    if state.is_terminal():
        raise KalahError("OpenSpiel: the game is over and has no move; ask in a running one.")
    rules = read_rules(state.get_game())
    ours = np.zeros(batch.state_size(rules), np.int16)
    pits, seen = rules.pits, np.array(state.observation_tensor(0))
    if state.get_game().get_type().short_name == "mancala":  # a ring that begins with north's store
        ours[: 2 * pits + 2] = np.roll(seen[: 2 * pits + 2], -1)
    else:  # both rows, then both stores, as shares of all seeds
        south, north, stores = np.split(np.rint(seen * (2 * pits * rules.seeds)), [pits, 2 * pits])
        ours[: 2 * pits + 2] = [*south, stores[0], *north, stores[1]]
    batch.extras(rules, ours)[engine.SIDE] = state.current_player()
    engine.settle(rules, ours)
    return rules, ours


def to_theirs(rules: Rules, state: np.ndarray, action: int) -> int:
    """Return OpenSpiel's number of our action: `mancala` counts all cells, `oware` the mover's houses."""
    if rules == make_rules("openspiel-mancala"):
        return action + 1 + int(batch.sides(rules, state)) * (rules.pits + 1)
    return action


class PySpielBot(pyspiel.Bot):
    """An agent, or the agent of a text, as a bot of either player.

    `pyspiel.evaluate_bots(state, [PySpielBot("bot"), PySpielBot("random")], seed)` plays a game.
    """

    def __init__(self, agent: Agent | str) -> None:
        pyspiel.Bot.__init__(self)
        self.agent = make_agent(agent) if isinstance(agent, str) else agent

    def step(self, state: pyspiel.State) -> int:
        """Return the action for the player to move."""
        rules, ours = read_state(state)
        action = int(self.agent.act(rules, ours[None].copy())[0])
        return to_theirs(rules, ours, action)

    def provides_policy(self) -> bool:
        """Say that `step_with_policy` works."""
        return True

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """Return a policy that is sure of the action, and the action."""
        action = self.step(state)
        return [(action, 1.0)], action

    def restart_at(self, state: pyspiel.State) -> None:
        """Do nothing: nothing is kept between moves."""
