"""Networks in torch: their files, the evaluator, and the agent `net`.

`save_net` writes a network folder (`nets.py`), `load_net` reads it. `net:PATH` plays the policy head's
best move, or searches with `sims=` (`evaluated.py`). How the heads are read: `heads.py`.
"""

import copy
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from agents.encoding import embed, fold, num_features
from agents.evaluated import Evaluator, EvaluatorAgent
from agents.heads import utilities
from agents.nets import CONFIG, WEIGHTS, find_net, sha256_of
from agents.network import Block, KalahNet, NetConfig, pick_device
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, parse_rules, rules_hash


def save_net(folder: Path, net: KalahNet, rules: Rules, extra: dict[str, Any] | None = None) -> None:
    """Write a network folder: weights and a config with the rules' text and hash."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    digest = sha256_of(folder / WEIGHTS)
    config = {
        "net": net.config.to_dict(),
        "rules": format_rules(rules),
        "rules_hash": rules_hash(rules),
        "weights_sha256": digest,
        **(extra or {}),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")


def load_net(name: str) -> tuple[KalahNet, Rules]:
    """Return the network of a folder and the rules it plays; `KalahError` if it is damaged."""
    folder = find_net(name)
    try:
        config = json.loads((folder / CONFIG).read_text())
        if sha256_of(folder / WEIGHTS) != config["weights_sha256"]:
            raise ValueError(f"{WEIGHTS} is not the file that was written")
        net = KalahNet(NetConfig(**config["net"]))
        net.load_state_dict(load_file(folder / WEIGHTS))
        rules = parse_rules(config["rules"])
        if net.config.features != num_features(rules):
            raise ValueError("another version of kalah-env made it, whose networks see other features")
    except KalahError:
        raise
    except Exception as error:  # safetensors, json and torch each have their own errors
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise KalahError(f"net {name!r} cannot be read ({why}); the folder is damaged or foreign.") from None
    return net.eval(), rules


class TorchEvaluator(Evaluator):
    """Evaluates states with a torch network and the rules it plays (`load_net`), in float32 or bfloat16."""

    def __init__(
        self,
        net: KalahNet,
        trained: Rules,
        device: str = "auto",
        sign_weight: float = 0.25,
        bfloat16: bool = False,
        what: str = "evaluator",
    ) -> None:
        super().__init__(what, trained, sign_weight)
        self.device = pick_device(device)
        self.config = net.config
        self.dtype = torch.bfloat16 if bfloat16 else torch.float32
        self.stem = net.stem.weight.detach().cpu().numpy().copy()
        self.rows: np.ndarray | None = None  # of the stem, once the rules are known
        self.bias = net.stem.bias.detach().cpu().numpy().copy()
        blocks = copy.deepcopy(net.blocks).to(self.device, self.dtype)
        self.blocks = [(block.first, block.second) for block in blocks if isinstance(block, Block)]
        heads = (net.policy, net.outcome, net.margin)  # as one, with the positions side by side
        self.weights = torch.cat([head.weight.detach() for head in heads]).to(self.device, self.dtype)
        self.biases = torch.cat([head.bias.detach() for head in heads])[:, None].to(self.device, self.dtype)

    @torch.inference_mode()
    def __call__(self, rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return policy logits (B, A) float32 and utilities (B,) float32 for the mover (`heads.py`).

        states: (B, S) int16; `KalahError` for other arrays, and for rules that the net does not play.
        """
        self.check(rules, states)
        if self.rows is None:
            self.rows = fold(rules, self.stem)
        layer, facts = embed(rules, states, self.rows, self.bias)
        x = torch.from_numpy(layer).to(self.device, self.dtype)
        for first, second in self.blocks:  # as Block.forward does, with what can be done in place
            x += second(first(torch.relu(x)).relu_())
        heads = torch.addmm(self.biases, self.weights, x.relu_().t()).float().cpu().numpy()
        actions = self.config.actions
        margin, outcome = heads[actions + 3 :], heads[actions : actions + 3]
        values = utilities(outcome, margin, facts, self.config.seeds, self.sign_weight)
        return np.ascontiguousarray(heads[:actions].T), values


class NetAgent(EvaluatorAgent):
    """`net:PATH[,sims=64|ms=100][,search=gumbel|puct][,endgame=16][,device=auto|cpu|cuda][,seed=]`."""

    def __init__(
        self,
        path: str,
        *,
        sims: int = 0,
        ms: int | None = None,
        search: Literal["gumbel", "puct"] = "gumbel",
        device: Literal["auto", "cpu", "cuda"] = "auto",
        sign_weight: float = 0.25,
        endgame: int = 0,
        seed: int | None = None,
    ) -> None:
        net, rules = load_net(path)
        evaluate = TorchEvaluator(net, rules, device, sign_weight, what=f"net:{path}")
        super().__init__(evaluate, f"net:{path}", sims, ms, search, endgame, seed)
