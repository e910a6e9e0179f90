"""What the tests of training share: a small config, a know-nothing evaluator, a stretch of self-play."""

import numpy as np

from agents.mcts import Evaluate
from kalah_env.rules import Rules, num_actions
from train.config import SelfPlay as SelfPlayConfig
from train.replay import Rows
from train.selfplay import SelfPlay

SMALL = {
    "name": "small",
    "rules": "kalah:pits=3,seeds=2",
    "iterations": 4,
    "net": {"width": 16, "blocks": 1},
    "selfplay": {"games": 16, "plies": 12, "simulations": [4, 8], "random_plies": 2},
    "learner": {"batch": 32},
    "replay": {"window": 600, "minimum": 100},
}


def uniform(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((len(states), num_actions(rules)), np.float32), np.zeros(len(states), np.float32)


def play(rules: Rules, evaluate: Evaluate = uniform, **changes: object) -> tuple[SelfPlay, Rows]:
    config = SelfPlayConfig(**{"games": 32, "plies": 40, "simulations": [4], "random_plies": 3, **changes})
    selfplay = SelfPlay(rules, config, seed=1)
    return selfplay, selfplay.run(evaluate, 4)
