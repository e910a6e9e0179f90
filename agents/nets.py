"""Where networks lie: their folders, the nets that ship with the project, and what they play.

A network folder holds `config.json` (network shape, rules text and hash), `weights.safetensors`, and
where it is published `net.onnx` and a card. Knows nothing of torch. Reading weights: `neural.py`.
"""

import hashlib
import json
from pathlib import Path

from agents import packed
from kalah_env.errors import KalahError
from kalah_env.options import EarlyStop
from kalah_env.resources import resource_dir
from kalah_env.rules import Rules, format_rules, parse_rules, rules_hash

WEIGHTS, CONFIG, ONNX = "weights.safetensors", "config.json", "net.onnx"


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
    if path.suffix == ".onnx":
        raise KalahError(f"net {name!r}: that is an exported network; write onnx:{name}.")
    why = f"there is no {CONFIG} in that folder" if path.is_dir() else "there is no such folder"
    known = ", ".join(shipped_nets())
    raise KalahError(f"net {name!r}: {why}; give a run's, a checkpoint's, or a shipped net: {known}.")


def shipped_nets() -> list[str]:
    """Return the names of the nets that ship with the project, sorted."""
    return sorted(file.parent.name for file in resource_dir("checkpoints").glob(f"*/{CONFIG}"))


def can_play(trained: Rules, rules: Rules) -> bool:
    """Say whether a net trained on `trained` can play `rules`: the seeds of the start may differ."""
    return rules_hash(trained._replace(seeds=1, ply_limit=0)) == rules_hash(
        rules._replace(seeds=1, ply_limit=0)
    )


def check_rules(what: str, trained: Rules, rules: Rules) -> None:
    """Raise `KalahError` unless the net `what`, trained on `trained`, can play `rules`."""
    if not can_play(trained, rules):
        raise KalahError(
            f"{what} was trained on {format_rules(trained)} and cannot play {format_rules(rules)}; "
            "choose a net of those rules (only seeds may differ)."
        )


def shipped_for(rules: Rules) -> Path | None:
    """Return the shipped net, with an ONNX file, that plays `rules` and begins with the nearest seeds."""
    found: list[tuple[int, str, Path]] = []
    for file in resource_dir("checkpoints").glob(f"*/{CONFIG}"):
        trained = parse_rules(json.loads(file.read_text())["rules"])
        if can_play(trained, rules) and (file.parent / ONNX).is_file():
            found.append((abs(trained.seeds - rules.seeds), file.parent.name, file.parent))
    return min(found)[2] if found else None


def plain_rules(rules: Rules) -> Rules:
    """Return rules with the same wins and boards that network and exact parts serve, or these rules.

    A store over half decides a game, but not who wins it; and where stores are sown no position comes
    back, so that games end long before a usual limit of plies.
    """
    plain = rules._replace(early_stop=int(EarlyStop.NO), ply_limit=0)
    return plain if packed.unsuitable(plain) is None else rules
