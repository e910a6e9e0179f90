"""The network: a residual MLP with policy, win/draw/loss and margin heads.

The margin head is a distribution over the margin *still to be won* by the mover, since stores do not
change what is left to win. With T seeds it has T + 1 bins: a remaining margin m, which has the
parity of the r seeds in the pits, falls into bin (m + T) // 2. Where seeds may stay in their pits m
has either parity, and there are 2T + 1 bins. Inputs: `encoding.py`; reading the heads: `heads.py`; use:
`neural.py`.
"""

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from agents.encoding import num_features
from kalah_env.errors import KalahError
from kalah_env.options import EarlyStop, Leftover, Win
from kalah_env.rules import Rules, num_actions, side_pits


@dataclass(frozen=True)
class NetConfig:
    """What is needed to build a network again; stored beside its weights."""

    features: int
    actions: int
    seeds: int  # T, all seeds of the game it was made for
    width: int
    blocks: int
    step: int = 2  # seeds from one bin of the margin head to the next

    @classmethod
    def for_rules(cls, rules: Rules, width: int, blocks: int) -> "NetConfig":
        """Return the configuration of a network that plays `rules`."""
        seeds = 2 * side_pits(rules) * rules.seeds
        return cls(num_features(rules), num_actions(rules), seeds, width, blocks, margin_step(rules))

    def to_dict(self) -> dict[str, int]:
        """Return plain data for JSON."""
        return asdict(self)


def margin_step(rules: Rules) -> int:
    """Return 1 where a game may end with seeds in the pits, so that margins have either parity, else 2."""
    stay = rules.leftover == Leftover.NOBODY or rules.early_stop == EarlyStop.KEEP
    return 1 if stay and rules.win == Win.SEEDS else 2


class Block(nn.Module):
    """x + W2 relu(W1 relu(x)); W2 starts at zero, so depth costs nothing at first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, width) to (B, width)."""
        return x + self.second(torch.relu(self.first(torch.relu(x))))


class KalahNet(nn.Module):
    """Features (B, F) -> policy logits (B, A), win/draw/loss logits (B, 3), margin logits (B, M)."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = nn.Linear(config.features, config.width)
        self.blocks = nn.Sequential(*(Block(config.width) for _ in range(config.blocks)))
        self.policy = nn.Linear(config.width, config.actions)
        self.outcome = nn.Linear(config.width, 3)
        self.margin = nn.Linear(config.width, 2 * config.seeds // config.step + 1)
        for head in (self.policy, self.outcome, self.margin):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return policy, win/draw/loss and margin logits for the mover."""
        x = torch.relu(self.blocks(self.stem(features)))
        return self.policy(x), self.outcome(x), self.margin(x)


def margin_bins(remaining: np.ndarray, seeds: int, step: int) -> np.ndarray:
    """Return the bins (B,) int64 of remaining margins in seeds; beyond the net's range they clip."""
    return np.clip((remaining + seeds) // step, 0, 2 * seeds // step).astype(np.int64)


def pick_device(name: str) -> torch.device:
    """Return the torch device of `auto`, `cpu` or `cuda`; `KalahError` if there is no such device."""
    if name not in ("auto", "cpu", "cuda"):
        raise KalahError(f"device {name!r} is not known; it is auto, cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise KalahError("device cuda: this torch finds no CUDA device; use device=cpu or auto.")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def use_bfloat16(precision: str, device: torch.device) -> bool:
    """Say whether to calculate in bfloat16: `auto` does where `device` multiplies it natively."""
    if precision == "auto":
        if device.type == "cuda":
            return torch.cuda.is_bf16_supported(including_emulation=False)
        supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
        return bool(supported and supported())
    return precision == "bfloat16"
