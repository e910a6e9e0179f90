"""Export of a network to ONNX, with a parity check that can fail.

The file's metadata holds the rules' text and hash and the number of seeds, so that `onnx:FILE` knows
what it plays. Parity: torch and ONNX Runtime on positions of random games must agree within
`TOLERANCE`, and choose the same move wherever the choice is not a near-tie.
"""

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.encoding import encode
from agents.exported import OnnxEvaluator
from agents.network import KalahNet
from agents.neural import TorchEvaluator, load_net
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, format_rules, rules_hash
from train.files import check_target, replacing

TOLERANCE = 1e-3  # greatest difference allowed in logits (float32 sums in another order)
_POSITIONS = 512


def export_onnx(net: KalahNet, rules: Rules, out: Path) -> None:
    """Write `net` as one ONNX file (atomically); input `features`, outputs the three heads' logits."""
    import onnx

    example = torch.zeros(2, net.config.features)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            net.eval(),
            (example,),
            dynamo=True,
            input_names=["features"],
            output_names=["policy", "outcome", "margin"],
            dynamic_shapes={"features": {0: torch.export.Dim("batch")}},
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    meta = {"rules": format_rules(rules), "rules_hash": rules_hash(rules), "seeds": str(net.config.seeds)}
    onnx.helper.set_model_props(model, meta)
    _compact(model)
    with replacing(out) as partial:
        onnx.save_model(model, str(partial))


def _compact(model: Any) -> None:
    """Store matrices of which float16 loses nothing, as in a published net, as that; a cast reads each."""
    import onnx

    for tensor in list(model.graph.initializer):
        values = onnx.numpy_helper.to_array(tensor)
        with np.errstate(over="ignore"):
            half = values.astype(np.float16)
        if values.dtype == np.float32 and values.ndim == 2 and np.array_equal(half, values):
            name = f"{tensor.name}.float16"
            model.graph.initializer.remove(tensor)
            model.graph.initializer.append(onnx.numpy_helper.from_array(half, name))
            cast = onnx.helper.make_node("Cast", [name], [tensor.name], to=onnx.TensorProto.FLOAT)
            model.graph.node.insert(0, cast)


def sample_positions(rules: Rules, count: int, seed: int = 0) -> np.ndarray:
    """Return `count` running positions (count, S) from random games of all lengths."""
    rng = np.random.default_rng(seed)
    states = batch.new_games(rules, count)
    for ply in range(40):
        masks = batch.legal_masks(rules, states)
        actions = (rng.random(masks.shape) * masks).argmax(1)
        stays = rng.random(count) < ply / 40  # each game stops at its own ply
        moved = states.copy()
        batch.step(rules, moved, actions)
        going = (batch.statuses(rules, moved) == 0) & ~stays
        states[going] = moved[going]
    return states


def parity(net: KalahNet, rules: Rules, path: Path) -> dict[str, Any]:
    """Compare torch and ONNX Runtime: greatest differences, positions, and whether they agree."""
    states = sample_positions(rules, _POSITIONS)
    exported = OnnxEvaluator(str(path))
    features, _ = encode(rules, states)
    with torch.inference_mode():
        ours = [head.numpy() for head in net.eval()(torch.from_numpy(features))]
    theirs = exported.session.run(None, {"features": features})
    worst = max(float(np.abs(a - np.asarray(b)).max()) for a, b in zip(ours, theirs, strict=True))
    torch_logits, torch_values = TorchEvaluator(net, rules, "cpu")(rules, states)
    onnx_logits, onnx_values = exported(rules, states)
    legal = batch.legal_masks(rules, states) > 0
    same = _best(torch_logits, legal) == _best(onnx_logits, legal)
    values = float(np.abs(torch_values - onnx_values).max())
    return {
        "positions": len(states),
        "greatest_logit_difference": worst,
        "greatest_value_difference": values,
        "same_best_move": float(same.mean()),
        "tolerance": TOLERANCE,
        "ok": bool(worst <= TOLERANCE and values <= TOLERANCE and same.mean() >= 0.99),
    }


def _best(logits: np.ndarray, legal: np.ndarray) -> np.ndarray:
    return np.where(legal, logits, -np.inf).argmax(1)


def export_checkpoint(checkpoint: str, out: str) -> dict[str, Any]:
    """Export a checkpoint's net and check it; return the parity report with the file's path."""
    if Path(out).suffix != ".onnx":
        raise KalahError(f"export: {out!r} is no file name ending in .onnx.")
    path = check_target("export: the net", out)
    net, rules = load_net(checkpoint)
    try:
        export_onnx(net, rules, path)
    except OSError as error:
        raise KalahError(f"export: {out} cannot be written ({error.strerror or error}).") from None
    return {"onnx": out, "bytes": path.stat().st_size, **parity(net, rules, path)}


def export_command(checkpoint: str, out: str, as_json: bool) -> int:
    """Run `kalah export`; return 0, or 1 where the parity check fails."""
    report = export_checkpoint(checkpoint, out)
    if as_json:
        print(json.dumps(report))
    else:
        print(
            f"{report['onnx']}: {report['bytes']:,} bytes; against torch on {report['positions']} positions: "
            f"logits differ by at most {report['greatest_logit_difference']:.1e}, values by "
            f"{report['greatest_value_difference']:.1e}, same best move in {report['same_best_move']:.1%}; "
            f"parity {'ok' if report['ok'] else 'FAILED'}"
        )
    return 0 if report["ok"] else 1
