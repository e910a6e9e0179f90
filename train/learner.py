"""The learner: gradient steps on replayed rows, and the running average of the weights.

The average is what plays and is published. Targets: the search's improved policy, win/draw/loss and
the margin still to be won. Rows: `replay.py`; the network's heads: `agents/network.py`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from agents.encoding import encode
from agents.network import KalahNet, NetConfig, margin_bins, pick_device, use_bfloat16
from kalah_env import batch
from kalah_env.rules import Rules
from train.config import Learner as LearnerConfig
from train.replay import Replay, Rows


class Learner:
    """A network in training, its optimiser, and the averaged network."""

    def __init__(self, rules: Rules, net: NetConfig, config: LearnerConfig, device: str, seed: int) -> None:
        torch.manual_seed(seed)
        self.rules, self.config = rules, config
        self.device = pick_device(device)
        self.bfloat16 = use_bfloat16(config.precision, self.device)
        self.net = KalahNet(net).to(self.device)
        self.average = KalahNet(net).to(self.device).eval()
        self.average.load_state_dict(self.net.state_dict())
        self.optimisers = self._optimisers()
        self.rng = np.random.default_rng(seed)
        self.steps = 0

    def _optimisers(self) -> list[torch.optim.Optimizer]:
        """Return AdamW, after Muon for the blocks' matrices where it is wanted (docs/LOG.md)."""
        config = self.config
        matrices = [p for p in self.net.blocks.parameters() if p.ndim == 2 and config.optimiser == "muon"]
        taken = {id(p) for p in matrices}
        rest = [p for p in self.net.parameters() if id(p) not in taken]
        decay = config.weight_decay
        adamw = torch.optim.AdamW(rest, lr=config.rate, weight_decay=decay, fused=True)
        if not matrices:
            return [adamw]
        return [torch.optim.Muon(matrices, lr=config.muon_rate, weight_decay=decay), adamw]

    def run(
        self, replay: Replay, new_rows: int, progress: float, check: Callable[[], None] | None = None
    ) -> dict[str, float]:
        """Train `samples_per_row` samples for each of `new_rows` rows; return mean losses.

        progress: share of the run that is done, 0 to 1; the learning rate follows a cosine of it.
        `check` is called before each step; what it raises ends the run.
        """
        config = self.config
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        rate = config.final_rate + (config.rate - config.final_rate) * cosine
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group.setdefault("initial_lr", group["lr"]) * rate / config.rate
        steps = max(1, round(config.samples_per_row * new_rows / config.batch))
        sums = torch.zeros(3)
        self.net.train()
        for _ in range(steps):
            if check:
                check()
            losses = self._losses(replay.sample(config.batch, self.rng))
            weights = (config.policy_weight, config.outcome_weight, config.margin_weight)
            loss = sum(weight * part for weight, part in zip(weights, losses, strict=True))
            self.net.zero_grad(set_to_none=True)
            torch.as_tensor(loss).backward()
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
            for optimiser in self.optimisers:
                optimiser.step()
            self.steps += 1
            self._update_average()
            sums += torch.stack([part.detach() for part in losses]).cpu()
        names = ("policy_loss", "outcome_loss", "margin_loss")
        means = dict(zip(names, (sums / steps).tolist(), strict=True))
        return {**means, "rate": rate, "steps": float(steps)}

    def _losses(self, rows: Rows) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        features, facts = encode(self.rules, rows.states)
        legal = torch.from_numpy(batch.legal_masks(self.rules, rows.states) > 0).to(self.device)
        margins, outcomes = self._value_targets(rows.margins, facts)
        targets = torch.from_numpy(rows.policies).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            heads = self.net(torch.from_numpy(features).to(self.device))
        policy, outcome, margin = (head.float() for head in heads)
        log_policy = policy.masked_fill(~legal, -1e9).log_softmax(-1)
        # The targets' entropy is taken off, so that 0 is a perfect fit.
        policy_loss = (torch.xlogy(targets, targets) - targets * log_policy).sum(-1).mean()
        return (
            policy_loss,
            functional.cross_entropy(outcome, torch.from_numpy(outcomes).to(self.device)),
            functional.cross_entropy(margin, torch.from_numpy(margins).to(self.device)),
        )

    def _value_targets(self, margins: np.ndarray, facts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions (R, M) and (R, 3) float32 of margin bin and outcome, for margins (R,).

        A margin between two that a game can end with is shared by both, so that the mean is right.
        """
        shape = self.net.config
        # With `win=move` the margin is 1 or -1, and a win counts as all seeds.
        step, seeds = (1, facts[:, 2]) if self.rules.win else (shape.step, 1)
        below = step * np.floor(margins / step)
        over = (margins - below) / step
        rows = np.arange(len(margins))
        bins = np.zeros((len(margins), 2 * shape.seeds // shape.step + 1), np.float32)
        outcomes = np.zeros((len(margins), 3), np.float32)
        for final, share in ((below, 1 - over), (below + step, over)):
            remaining = (final * seeds - facts[:, 0]).astype(np.int64)
            bins[rows, margin_bins(remaining, shape.seeds, shape.step)] += share
            outcomes[rows, 1 - np.sign(final).astype(np.int64)] += share
        return bins, outcomes

    @torch.no_grad()
    def _update_average(self) -> None:
        # A young average follows quickly: 1/n until the configured memory is reached.
        decay = min(self.config.average, self.steps / (self.steps + 10))
        for averaged, trained in zip(self.average.parameters(), self.net.parameters(), strict=True):
            averaged.lerp_(trained, 1 - decay)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return weights and optimiser state by name."""
        out = {f"net.{k}": v for k, v in self.net.state_dict().items()}
        out |= {f"average.{k}": v for k, v in self.average.state_dict().items()}
        for name, parameter in self.net.named_parameters():
            for optimiser in self.optimisers:
                for key, value in optimiser.state.get(parameter, {}).items():
                    out[f"optimiser.{key}.{name}"] = torch.as_tensor(value)
        return {name: tensor.detach().cpu().contiguous() for name, tensor in out.items()}

    def counters(self) -> dict[str, Any]:
        """Return the generator's state and the counters, as plain data."""
        return {"rng": self.rng.bit_generator.state, "steps": self.steps, "bfloat16": self.bfloat16}

    def restore(self, tensors: dict[str, torch.Tensor], counters: dict[str, Any]) -> None:
        """Take back what `tensors` and `counters` returned."""
        for prefix, module in (("net.", self.net), ("average.", self.average)):
            part = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
            module.load_state_dict(part)
        parameters = dict(self.net.named_parameters())
        owners = {id(p): o for o in self.optimisers for group in o.param_groups for p in group["params"]}
        for full, tensor in tensors.items():
            if full.startswith("optimiser."):
                _, key, name = full.split(".", 2)
                parameter = parameters[name]
                # The fused optimiser wants its count of steps, too, where the weights are.
                owners[id(parameter)].state[parameter][key] = tensor.clone().to(self.device)
        self.rng.bit_generator.state = counters["rng"]
        self.steps, self.bfloat16 = counters["steps"], counters["bfloat16"]
