"""Evaluators, and agents that play with one: the policy head's best move, or a search by number or clock.

Nothing here knows what evaluates: torch (`neural.py`) or ONNX Runtime (`exported.py`).
"""

from typing import Any

import numpy as np

from agents import endgame
from agents.base import check_range, check_running, check_states, make_rng
from agents.endgame import Endgame
from agents.mcts import Search, SearchConfig
from agents.nets import check_rules
from agents.timed import TimedSearch
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import Rules

MAX_MS = 10**7
MAX_SIMULATIONS = 100_000  # trees are allocated whole: 100 games of so many take some 3 GB


class Evaluator:
    """What evaluators share: the rules they know, and what they refuse to evaluate.

    trained: the rules; positions of others with as many seeds more or fewer are known, too. sign_weight:
    share of win/draw/loss in the utility, 0 to 1, the same as in the `SearchConfig` that searches with it.
    """

    def __init__(self, what: str, trained: Rules, sign_weight: float) -> None:
        check_range(f"{what}: sign_weight", sign_weight, 0, 1)
        self.what, self.trained, self.sign_weight = what, trained, sign_weight
        self._checked: Rules | None = None

    def check(self, rules: Rules, states: np.ndarray) -> None:
        """Raise `KalahError` unless `states` are positions (B, S) int16 of rules that it knows."""
        if rules is not self._checked:
            check_rules(self.what, self.trained, rules)
            self._checked = rules
        check_states(self.what, rules, states)


class EvaluatorAgent:
    """Plays with an evaluator: the policy head's best legal move, or a search without noise.

    sims: simulations of each position, 0 for none; ms: milliseconds of each position in their place; seeds:
    of the endgame table that the search sees, which is loaded, or made where there is none, when the agent is
    first asked; 0 takes none.
    """

    def __init__(
        self,
        evaluate: Any,
        spec: str,
        sims: int,
        ms: int | None,
        search: str,
        seeds: int,
        seed: int | None,
    ) -> None:
        check_range("agent net: sims", sims, 0, MAX_SIMULATIONS)
        if ms is not None:
            check_range("agent net: ms", ms, 1, MAX_MS)
        if sims and ms:
            raise KalahError(f"agent {spec}: sims={sims} and ms={ms} are two limits; give one of them.")
        if ms and search != "gumbel":
            raise KalahError(
                f"agent {spec}: search={search} counts its simulations; give sims= in place of ms=."
            )
        if search != "gumbel" and not (sims or ms):
            raise KalahError(f"agent {spec}: search={search} searches nothing; give sims= as well.")
        if seeds and not (sims or ms):
            raise KalahError(f"agent {spec}: endgame={seeds} is for a search; give sims= or ms= as well.")
        limit = f",sims={sims}" if sims else f",ms={ms}" if ms else ""
        self.spec = f"{spec}{limit}{f',endgame={seeds}' if seeds else ''}"
        self.trained = trained = evaluate.trained
        self.evaluate = evaluate
        self.config = SearchConfig(max(1, sims), policy=search, sign_weight=evaluate.sign_weight)
        if seeds:
            endgame.table_rules(trained)  # `KalahError` where no table can serve them
            check_range("agent net: endgame", seeds, 0, endgame.max_seeds(trained))
        self.sims, self.ms, self.seeds = sims, ms or 0, seeds
        self._search: Search | None = None
        self._table: Endgame | None = None
        self._clocked: dict[Rules, TimedSearch] = {}
        self.rng = make_rng(seed)

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B,) int64."""
        check_rules(self.spec, self.trained, rules)
        check_running(rules, states, self.spec)
        if self.seeds and self._table is None:
            self._table = endgame.obtain(self.trained, self.seeds)
        if self.sims:
            self._search = self._search or Search(self.config, self._table)
            return self._search.run(rules, states, self.evaluate, self.rng).actions.copy()
        if self.ms:
            return self._by_the_clock(rules, states)
        logits, _ = self.evaluate(rules, states)
        return np.where(batch.legal_masks(rules, states) > 0, logits, -np.inf).argmax(1)

    def _by_the_clock(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        if rules not in self._clocked:
            self._clocked[rules] = TimedSearch(rules, self.evaluate, self._table, self.config)
        search = self._clocked[rules]
        masks = batch.legal_masks(rules, states)
        actions = masks.argmax(axis=1).astype(np.int64)
        for b in np.flatnonzero(masks.sum(axis=1) > 1):
            actions[b] = search.run(states[b], self.ms / 1000).action
        return actions
