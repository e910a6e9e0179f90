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
from agents.network import KalahNet, NetConfig, margin_bins, pick_device
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
        self.net = KalahNet(net).to(self.device)
        self.average = KalahNet(net).to(self.device).eval()
        self.average.load_state_dict(self.net.state_dict())
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), lr=config.rate, weight_decay=config.weight_decay
        )
        self.rng = np.random.default_rng(seed)
        self.steps = 0

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
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        steps = max(1, round(config.samples_per_row * new_rows / config.batch))
        sums = torch.zeros(3)
        self.net.train()
        for _ in range(steps):
            if check:
                check()
            losses = self._losses(replay.sample(config.batch, self.rng))
            weights = (config.policy_weight, config.outcome_weight, config.margin_weight)
            loss = sum(weight * part for weight, part in zip(weights, losses, strict=True))
            self.optimiser.zero_grad(set_to_none=True)
            torch.as_tensor(loss).backward()
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
            self.optimiser.step()
            self._update_average()
            sums += torch.stack([part.detach() for part in losses]).cpu()
        self.steps += steps
        names = ("policy_loss", "outcome_loss", "margin_loss")
        means = dict(zip(names, (sums / steps).tolist(), strict=True))
        return {**means, "rate": rate, "steps": float(steps)}

    def _losses(self, rows: Rows) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        features, facts = encode(self.rules, rows.states)
        legal = torch.from_numpy(batch.legal_masks(self.rules, rows.states) > 0).to(self.device)
        # With `win=move` the margin is 1 or -1, and a win counts as all seeds.
        seeds = facts[:, 2] if self.rules.win else 1
        shape = self.net.config
        remaining = (rows.margins * seeds - facts[:, 0]).astype(np.int64)
        bins = torch.from_numpy(margin_bins(remaining, shape.seeds, shape.step)).to(self.device)
        outcomes = torch.from_numpy(1 - np.sign(rows.margins).astype(np.int64)).to(self.device)
        targets = torch.from_numpy(rows.policies).to(self.device)
        policy, outcome, margin = self.net(torch.from_numpy(features).to(self.device))
        log_policy = policy.masked_fill(~legal, -1e9).log_softmax(-1)
        # The targets' entropy is taken off, so that 0 is a perfect fit.
        policy_loss = (torch.xlogy(targets, targets) - targets * log_policy).sum(-1).mean()
        return (
            policy_loss,
            functional.cross_entropy(outcome, outcomes),
            functional.cross_entropy(margin, bins),
        )

    @torch.no_grad()
    def _update_average(self) -> None:
        # A young average follows quickly: 1/n until the configured memory is reached.
        seen = self.steps_taken()
        decay = min(self.config.average, seen / (seen + 10))
        for averaged, trained in zip(self.average.parameters(), self.net.parameters(), strict=True):
            averaged.lerp_(trained, 1 - decay)

    def steps_taken(self) -> int:
        """Return the optimiser's steps so far."""
        state = next(iter(self.optimiser.state.values()), None)
        return int(state["step"]) if state else 0

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return weights and optimiser state by name."""
        out = {f"net.{k}": v for k, v in self.net.state_dict().items()}
        out |= {f"average.{k}": v for k, v in self.average.state_dict().items()}
        for name, parameter in self.net.named_parameters():
            for key, value in self.optimiser.state.get(parameter, {}).items():
                out[f"optimiser.{key}.{name}"] = torch.as_tensor(value)
        return {name: tensor.detach().cpu().contiguous() for name, tensor in out.items()}

    def counters(self) -> dict[str, Any]:
        """Return the generator's state and the counters, as plain data."""
        return {"rng": self.rng.bit_generator.state, "steps": self.steps}

    def restore(self, tensors: dict[str, torch.Tensor], counters: dict[str, Any]) -> None:
        """Take back what `tensors` and `counters` returned."""
        for prefix, module in (("net.", self.net), ("average.", self.average)):
            part = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
            module.load_state_dict(part)
        for name, parameter in self.net.named_parameters():
            state = {}
            for key in ("step", "exp_avg", "exp_avg_sq"):
                full = f"optimiser.{key}.{name}"
                if full in tensors:
                    value = tensors[full].clone()
                    state[key] = value if key == "step" else value.to(self.device)
            if state:
                self.optimiser.state[parameter] = state
        self.rng.bit_generator.state = counters["rng"]
        self.steps = counters["steps"]
