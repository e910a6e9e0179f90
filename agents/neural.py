"""Networks that play: evaluators (torch, ONNX), and the agents `net` and `onnx`.

A network folder holds `weights.safetensors` and `config.json` (network shape, rules text and hash);
`save_net` writes one, `load_net` reads it. `net:PATH` plays the policy head's best move, or searches
with `sims=`. How the heads are read: `heads.py`; the search: `mcts.py`.
"""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from agents.base import check_range
from agents.encoding import embed, encode, fold
from agents.heads import utilities
from agents.mcts import Search, SearchConfig
from agents.network import Block, KalahNet, NetConfig, pick_device
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.resources import resource_dir
from kalah_env.rules import Rules, format_rules, parse_rules, rules_hash

MAX_SIMULATIONS = 100_000  # trees are allocated whole: 100 games of so many take some 3 GB
WEIGHTS, CONFIG = "weights.safetensors", "config.json"


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


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_net(name: str) -> Path:
    """Return the folder of a network: the folder itself, a run's newest checkpoint, or a shipped net."""
    path = Path(name)
    newest = sorted(path.glob("checkpoints/[0-9]*[0-9]"))[-1:]
    for folder in (path, *newest, resource_dir("checkpoints") / name):
        if (folder / CONFIG).is_file():
            return folder
    raise KalahError(
        f"net {name!r}: there is no {CONFIG} in that folder; give a checkpoint's folder (or its run's)."
    )


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
    except KalahError:
        raise
    except Exception as error:  # safetensors, json and torch each have their own errors
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise KalahError(f"net {name!r} cannot be read ({why}); the folder is damaged or foreign.") from None
    return net.eval(), rules


def check_rules(what: str, trained: Rules, rules: Rules) -> None:
    """Raise `KalahError` unless a net trained on `trained` can play `rules`: seeds may differ."""
    if rules_hash(trained._replace(seeds=1, ply_limit=0)) != rules_hash(rules._replace(seeds=1, ply_limit=0)):
        raise KalahError(
            f"{what} was trained on {format_rules(trained)} and cannot play {format_rules(rules)}; "
            "choose a net of those rules."
        )


class TorchEvaluator:
    """Evaluates states with a torch network on one device, in float32 or bfloat16."""

    def __init__(
        self, net: KalahNet, device: str = "auto", sign_weight: float = 0.5, bfloat16: bool = False
    ) -> None:
        self.device = pick_device(device)
        self.config = net.config
        self.sign_weight = sign_weight
        self.dtype = torch.bfloat16 if bfloat16 else torch.float32
        self.rows = fold(net.stem.weight.detach().cpu().numpy())
        self.bias = net.stem.bias.detach().cpu().numpy().copy()
        blocks = copy.deepcopy(net.blocks).to(self.device, self.dtype)
        self.blocks = [(block.first, block.second) for block in blocks if isinstance(block, Block)]
        heads = (net.policy, net.outcome, net.margin)  # as one, with the positions side by side
        self.weights = torch.cat([head.weight.detach() for head in heads]).to(self.device, self.dtype)
        self.biases = torch.cat([head.bias.detach() for head in heads])[:, None].to(self.device, self.dtype)

    @torch.inference_mode()
    def __call__(self, rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return policy logits (B, A) float32 and utilities (B,) float32 for the mover."""
        layer, facts = embed(rules, states, self.rows, self.bias)
        x = torch.from_numpy(layer).to(self.device, self.dtype)
        for first, second in self.blocks:  # as Block.forward does, with what can be done in place
            x += second(first(torch.relu(x)).relu_())
        heads = torch.addmm(self.biases, self.weights, x.relu_().t()).float().cpu().numpy()
        actions = self.config.actions
        margin, outcome = heads[actions + 3 :], heads[actions : actions + 3]
        values = utilities(outcome, margin, facts, self.config.seeds, self.sign_weight)
        return np.ascontiguousarray(heads[:actions].T), values


class OnnxEvaluator:
    """Evaluates states with an exported network; its metadata holds the rules and the shape."""

    def __init__(self, path: str, sign_weight: float = 0.5, threads: int = 1) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise KalahError('onnx: onnxruntime is not installed; pip install "kalah-env[onnx]".') from None
        if not Path(path).is_file():
            raise KalahError(f"onnx: there is no file {path!r}; `kalah export` makes one.")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        try:
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            meta = self.session.get_modelmeta().custom_metadata_map
            self.rules = parse_rules(meta["rules"])
            self.seeds = int(meta["seeds"])
        except KalahError:
            raise
        except Exception as error:  # onnxruntime's errors share no base class
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise KalahError(f"onnx: {path!r} is no network of `kalah export` ({why}).") from None
        self.sign_weight = sign_weight

    def __call__(self, rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return policy logits (B, A) float32 and utilities (B,) float32 for the mover."""
        features, facts = encode(rules, states)
        policy, outcome, margin = self.session.run(None, {"features": features})
        outcome, margin = np.asarray(outcome).T, np.asarray(margin).T
        return np.asarray(policy), utilities(outcome, margin, facts, self.seeds, self.sign_weight)


class _EvaluatorAgent:
    """Plays with an evaluator: the policy head's best legal move, or a search without noise."""

    def __init__(
        self, evaluate: Any, trained: Rules, spec: str, sims: int, search: str, seed: int | None
    ) -> None:
        check_range("agent net: sims", sims, 0, MAX_SIMULATIONS)
        check_range("agent net: sign_weight", evaluate.sign_weight, 0, 1)
        self.spec = spec
        self.trained = trained
        self.evaluate = evaluate
        config = SearchConfig(max(1, sims), policy=search, sign_weight=evaluate.sign_weight)
        self.search = Search(config) if sims else None
        self.rng = np.random.default_rng(seed)

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B,) int64."""
        check_rules(self.spec, self.trained, rules)
        if self.search:
            return self.search.run(rules, states, self.evaluate, self.rng).actions.copy()
        logits, _ = self.evaluate(rules, states)
        return np.where(batch.legal_masks(rules, states) > 0, logits, -np.inf).argmax(1)


class NetAgent(_EvaluatorAgent):
    """`net:PATH[,sims=64][,search=gumbel|puct][,device=auto|cpu|cuda][,seed=]`."""

    def __init__(
        self,
        path: str,
        *,
        sims: int = 0,
        search: str = "gumbel",
        device: str = "auto",
        sign_weight: float = 0.5,
        seed: int | None = None,
    ) -> None:
        net, rules = load_net(path)
        spec = f"net:{path}" + (f",sims={sims}" if sims else "")
        super().__init__(TorchEvaluator(net, device, sign_weight), rules, spec, sims, search, seed)


class OnnxAgent(_EvaluatorAgent):
    """`onnx:FILE[,sims=64][,search=gumbel|puct][,seed=]`: an exported network."""

    def __init__(
        self,
        path: str,
        *,
        sims: int = 0,
        search: str = "gumbel",
        sign_weight: float = 0.5,
        seed: int | None = None,
    ) -> None:
        evaluate = OnnxEvaluator(path, sign_weight)
        spec = f"onnx:{path}" + (f",sims={sims}" if sims else "")
        super().__init__(evaluate, evaluate.rules, spec, sims, search, seed)
