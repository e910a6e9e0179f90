"""Speed of the search: simulations a second, and what takes the time.

Figures on one core are CPU seconds, those on several cores go by the clock. The peer, mctx on a network
of the same shape, is `bench_mctx.py`; how rounds are taken and summed up is `bench.py`.
"""

import importlib.util
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import nn

from agents import tree as trees
from agents.mcts import Evaluate, Search, SearchConfig
from agents.network import KalahNet, NetConfig, pick_device
from agents.neural import TorchEvaluator
from kalah_env.rules import Rules, parse_rules
from train.bench import Measured, Work, cpu_rate, summarize
from train.config import SelfPlay as SelfPlayConfig
from train.loop import use_bfloat16
from train.selfplay import SelfPlay

RANDOM_PLIES = 20  # the positions searched stand after 0 to so many random plies


def fresh_net(rules: Rules, width: int, blocks: int) -> KalahNet:
    """Return a network of random weights, the heads' too: with heads of zero all trees would be alike."""
    torch.manual_seed(0)
    net = KalahNet(NetConfig.for_rules(rules, width, blocks))
    for layer in net.modules():
        if isinstance(layer, nn.Linear):
            layer.reset_parameters()
    return net


def positions(rules: Rules, games: int) -> np.ndarray:
    """Return (games, S) int16 positions of random games, a decision to be made in each."""
    return SelfPlay(rules, SelfPlayConfig(games=games, random_plies=RANDOM_PLIES), 1).states


class Clocked:
    """An evaluator that counts the positions it saw and the CPU seconds they took in its thread."""

    def __init__(self, evaluate: Evaluate) -> None:
        self.evaluate = evaluate
        self.positions, self.seconds = 0, 0.0

    def __call__(self, rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate, and count."""
        started = time.thread_time()
        answer = self.evaluate(rules, states)
        self.seconds += time.thread_time() - started
        self.positions += len(states)
        return answer


class SearchWork:
    """Searches the same positions in every round, in one thread or a share of them in each of several."""

    def __init__(self, net: KalahNet, rules: Rules, states: np.ndarray, sims: int, threads: int) -> None:
        self.rules, self.sims, self.threads = rules, sims, threads
        self.shares = np.array_split(states, threads)
        bfloat16 = use_bfloat16("auto", pick_device("cpu"))
        self.clocks = [Clocked(TorchEvaluator(net, rules, "cpu", bfloat16=bfloat16)) for _ in self.shares]
        self.searches = [Search(SearchConfig(sims)) for _ in self.shares]

    def __call__(self) -> int:
        """Search all positions; return the simulations."""
        if self.threads == 1:
            self._search(0)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(self._search, range(self.threads)))
        return self.sims * sum(map(len, self.shares))

    def _search(self, share: int) -> None:
        torch.set_num_threads(1)
        rng = np.random.default_rng(0)
        self.searches[share].run(self.rules, self.shares[share], self.clocks[share], rng)

    def shares_of_time(self) -> dict[str, float]:
        """Return the shares of network, rules and tree in the CPU time of one more search, in one thread.

        The rules' time is that of playing the moves of all nodes again; what is left is the tree's.
        """
        clock, search = self.clocks[0], self.searches[0]
        trees.replay(self.rules, search.tree)  # compiles
        before = clock.seconds
        started = time.thread_time()
        self._search(0)
        total = time.thread_time() - started
        network = (clock.seconds - before) / total
        started = time.thread_time()
        trees.replay(self.rules, search.tree)
        rules = (time.thread_time() - started) / total
        return {"network": network, "tree": 1 - network - rules, "rules": rules}


def clock_rate(work: Work) -> tuple[float, float]:
    """Run `work` once; return what it did per second of the clock, and the CPU seconds of all threads."""
    started, cpu = time.monotonic(), time.process_time()
    done = work()
    return done / (time.monotonic() - started), time.process_time() - cpu


def bench_search(
    rounds: int, width: int, blocks: int, games: int, sims: list[int]
) -> dict[str, dict[str, Any]]:
    """Measure the search on one core, on all, and beside mctx where that is installed."""
    rules = parse_rules("kalah")
    states, net = positions(rules, games), fresh_net(rules, width, blocks)
    cores = len(os.sched_getaffinity(0))
    answer: dict[str, dict[str, Any]] = {}
    for count in sims:
        alone = SearchWork(net, rules, states, count, 1)
        works: dict[str, Work] = {f"search, {count} simulations": alone}
        if has_mctx():
            from train.bench_mctx import mctx_search

            works[f"mctx, {count} simulations"] = mctx_search(net, rules, states, count)
        together = SearchWork(net, rules, states, count, cores) if cores > 1 else None
        measured: Measured = {name: [] for name in works}
        by_clock: list[tuple[float, float]] = []
        shares = []
        for number in range(rounds + 1):  # the first one compiles
            for name, work in works.items():
                figures = cpu_rate(work)
                measured[name] += [figures] if number else []
            if together:
                figures = clock_rate(together)
                by_clock += [figures] if number else []
            shares.append(alone.shares_of_time())
        answer |= summarize(measured, "simulations/s", f"mctx, {count} simulations")
        answer[f"search, {count} simulations"]["shares"] = {
            part: statistics.median(share[part] for share in shares[1:]) for part in shares[0]
        }
        if together:
            name = f"search, {count} simulations, by the clock"
            answer |= summarize({name: by_clock}, "simulations/s", None)
            answer[name]["threads"] = cores
    return answer


def has_mctx() -> bool:
    """Say whether mctx and jax are installed."""
    return all(importlib.util.find_spec(name) for name in ("mctx", "jax"))
