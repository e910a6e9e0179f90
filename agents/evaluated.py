"""Agents that play with an evaluator: the policy head's best move, or a search.

Nothing here knows what evaluates: torch (`neural.py`) or ONNX Runtime (`exported.py`).
"""

from typing import Any

import numpy as np

from agents import endgame
from agents.base import check_range
from agents.mcts import Search, SearchConfig
from agents.nets import check_rules
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import Rules

MAX_SIMULATIONS = 100_000  # trees are allocated whole: 100 games of so many take some 3 GB


class EvaluatorAgent:
    """Plays with an evaluator: the policy head's best legal move, or a search without noise.

    seeds: of the endgame table that the search sees, made where there is none; 0 takes none.
    """

    def __init__(
        self,
        evaluate: Any,
        trained: Rules,
        spec: str,
        sims: int,
        search: str,
        seeds: int,
        seed: int | None,
    ) -> None:
        check_range("agent net: sims", sims, 0, MAX_SIMULATIONS)
        check_range("agent net: sign_weight", evaluate.sign_weight, 0, 1)
        if seeds and not sims:
            raise KalahError(f"agent {spec}: endgame={seeds} is for a search; give sims= as well.")
        self.spec = spec + (f",sims={sims}" if sims else "") + (f",endgame={seeds}" if seeds else "")
        self.trained = trained
        self.evaluate = evaluate
        config = SearchConfig(max(1, sims), policy=search, sign_weight=evaluate.sign_weight)
        table = endgame.obtain(trained, seeds) if seeds else None
        self.search = Search(config, table) if sims else None
        self.rng = np.random.default_rng(seed)

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B,) int64."""
        check_rules(self.spec, self.trained, rules)
        if self.search:
            return self.search.run(rules, states, self.evaluate, self.rng).actions.copy()
        logits, _ = self.evaluate(rules, states)
        return np.where(batch.legal_masks(rules, states) > 0, logits, -np.inf).argmax(1)
