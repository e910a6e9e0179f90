"""Exported networks, played by ONNX Runtime without torch: the evaluator and the agent `onnx`.

The file's metadata holds the rules and the number of seeds; `kalah export` (`train/export.py`) writes it.
"""

import os
from pathlib import Path
from types import ModuleType
from typing import Literal

import numpy as np

from agents.encoding import encode, num_features
from agents.evaluated import Evaluator, EvaluatorAgent
from agents.heads import utilities
from agents.nets import shipped_nets
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, parse_rules


def load_onnxruntime() -> ModuleType:
    """Return the module `onnxruntime`, kept from sending anything; `ModuleNotFoundError` without it.

    Its packages report each process to their maker since 1.29, unless this stands before the import.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


class OnnxEvaluator(Evaluator):
    """Evaluates states with an exported network, a file or its bytes; its metadata holds the rules."""

    def __init__(self, path: str | bytes, sign_weight: float = 0.25, threads: int = 1) -> None:
        try:
            onnxruntime = load_onnxruntime()
        except ImportError:
            raise KalahError('onnx: onnxruntime is not installed; pip install "kalah-env[onnx]".') from None
        if isinstance(path, str) and not Path(path).is_file():
            advice = "`kalah export` makes one"
            if path in shipped_nets() or Path(path).is_dir():
                advice = f"a network's folder is net:{path}"
            raise KalahError(f"onnx: there is no file {path!r}; {advice}.")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        try:
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            meta = self.session.get_modelmeta().custom_metadata_map
            rules = parse_rules(meta["rules"])
            self.seeds = int(meta["seeds"])
            if self.session.get_inputs()[0].shape[1] != num_features(rules):
                raise ValueError("another version exported it, whose networks see other features")
        except KalahError:
            raise
        except Exception as error:  # onnxruntime's errors share no base class
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            what = repr(path) if isinstance(path, str) else "what was given"
            raise KalahError(f"onnx: {what} is no network of `kalah export` ({why}).") from None
        super().__init__("onnx" if isinstance(path, bytes) else f"onnx:{path}", rules, sign_weight)

    def __call__(self, rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return policy logits (B, A) float32 and utilities (B,) float32 for the mover (`heads.py`).

        states: (B, S) int16; `KalahError` for other arrays, and for rules that the net does not play.
        """
        self.check(rules, states)
        features, facts = encode(rules, states)
        policy, outcome, margin = self.session.run(None, {"features": features})
        outcome, margin = np.asarray(outcome).T, np.asarray(margin).T
        return np.asarray(policy), utilities(outcome, margin, facts, self.seeds, self.sign_weight)


class OnnxAgent(EvaluatorAgent):
    """`onnx:FILE[,sims=64|ms=100][,search=gumbel|puct][,endgame=16][,seed=]`: an exported network."""

    def __init__(
        self,
        path: str,
        *,
        sims: int = 0,
        ms: int | None = None,
        search: Literal["gumbel", "puct"] = "gumbel",
        sign_weight: float = 0.25,
        endgame: int = 0,
        seed: int | None = None,
    ) -> None:
        evaluate = OnnxEvaluator(path, sign_weight)
        super().__init__(evaluate, f"onnx:{path}", sims, ms, search, endgame, seed)
