"""Speed of training: decisions and games of self-play, samples of the learner, of a config cut short.

One thread each, as `loop.py` runs them side by side. How rounds are taken is `bench.py`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from agents.network import NetConfig, pick_device, use_bfloat16
from agents.neural import TorchEvaluator
from train.bench import Measured, Work, alternate, summarize
from train.bench_search import fresh_net
from train.config import TrainConfig
from train.learner import Learner
from train.replay import Replay, Rows
from train.selfplay import SelfPlay

PLIES = 2  # decisions in every game, in a round of self-play
STEPS = 10  # in a round of the learner


class Fixed(Replay):
    """A replay that holds the same rows for ever and writes no files."""

    def __init__(self, rows: Rows) -> None:
        self._joined = rows


def whole_games(selfplay: SelfPlay, evaluate: TorchEvaluator) -> Rows:
    """Play hastily until every game has had time to end; return the rows."""
    parts = []
    while selfplay.games_done < len(selfplay.states):
        parts.append(selfplay.run(evaluate, 2))
    return Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def bench_train(rounds: int, config: TrainConfig) -> dict[str, dict[str, Any]]:
    """Measure self-play with each of the config's simulations, and the learner."""
    torch.set_num_threads(1)
    rules, settings, batch = config.parsed_rules(), config.selfplay, config.learner.batch
    net = fresh_net(rules, config.net.width, config.net.blocks)
    bfloat16 = use_bfloat16(settings.precision, pick_device(config.device))
    evaluate = TorchEvaluator(net, rules, config.device, settings.sign_weight, bfloat16)
    selfplay = SelfPlay(rules, replace(settings, plies=PLIES), config.seed)
    rows = whole_games(selfplay, evaluate)
    length = len(rows.margins) / selfplay.games_done
    shape = NetConfig.for_rules(rules, config.net.width, config.net.blocks)
    learner = Learner(rules, shape, config.learner, config.device, config.seed)
    fixed, new_rows = Fixed(rows), round(STEPS * batch / config.learner.samples_per_row)

    def play(simulations: int) -> Work:
        return lambda: settings.games * PLIES + 0 * len(selfplay.run(evaluate, simulations).margins)

    def learn() -> int:
        return batch * int(learner.run(fixed, new_rows, 0.0)["steps"])

    works = {f"self-play, {n} simulations": play(n) for n in dict.fromkeys(settings.simulations)}
    measured: Measured = alternate({**works, "learner": learn}, rounds)
    learned = summarize({"learner": measured.pop("learner")}, "samples/s", None)
    answer = summarize(measured, "plies/s", None)
    for row in answer.values():
        row["games_per_hour"] = 3600 * row["rate"] / length
    return {**answer, **learned}
