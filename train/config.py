"""What a training run is: dataclasses read from YAML, with ranges.

An unknown key, a wrong type or a value out of range is one `KalahError` that names file and key.
`key=value` overrides come from the command line, dotted for nested keys (`selfplay.games=256`).
"""

from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from kalah_env.checks import MAX_SEED
from kalah_env.errors import KalahError
from kalah_env.resources import resource_dir
from kalah_env.rules import Rules, format_rules, parse_rules

# Strict: 5.0, "5" or true are no whole numbers; infinity is no number to train with.
_STRICT = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)
Positive = Annotated[int, Field(strict=True, ge=1, le=10**9)]
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, config=_STRICT)
class Net:
    """The network's size."""

    width: Annotated[int, Field(strict=True, ge=8, le=4096)] = 128
    blocks: Annotated[int, Field(strict=True, ge=0, le=64)] = 3


@dataclass(frozen=True, config=_STRICT)
class SelfPlay:
    """How games are made. An iteration is `plies` decisions in each of `games` games at once.

    workers: threads that share the games. fork: chance that a game begins with a position of the one before
    and a few random plies. endgame: seeds of the endgame table that the search sees (0: none).
    policy_target: the search's improved policy (completed Q), or its shares of visits.
    value_target: `final` margin, or `backup`, the search's values with traces of `trace` (`selfplay.py`).
    """

    games: Annotated[int, Field(strict=True, ge=1, le=65536)] = 1024
    plies: Positive = 64
    simulations: Annotated[list[Positive], Field(min_length=1)] = field(default_factory=lambda: [16, 32])
    random_plies: Annotated[int, Field(strict=True, ge=0, le=100)] = 10
    noise: Annotated[float, Field(strict=True, ge=0.0)] = 1.0
    fork: Share = 0.0
    policy: Literal["gumbel", "puct"] = "gumbel"
    sign_weight: Share = 0.5
    endgame: Annotated[int, Field(strict=True, ge=0, le=24)] = 0
    policy_target: Literal["improved", "visits"] = "improved"
    value_target: Literal["final", "backup"] = "final"
    trace: Share = 0.85
    workers: Annotated[int, Field(strict=True, ge=1, le=256)] = 1
    precision: Precision = "auto"

    def __post_init__(self) -> None:
        if self.games % self.workers:
            raise ValueError(f"games={self.games} cannot be shared by workers={self.workers} evenly")
        if self.sign_weight == 1 and self.value_target == "backup":
            raise ValueError("value_target=backup needs sign_weight below 1, to read margins off utilities")


@dataclass(frozen=True, config=_STRICT)
class Learner:
    """How the network learns from the replay window; the rates fall along a cosine of `iterations`.

    optimiser: `muon` takes the square matrices of the blocks with `muon_rate` and leaves the rest to AdamW.
    """

    batch: Positive = 2048
    samples_per_row: Annotated[float, Field(strict=True, gt=0.0, le=100.0)] = 4.0
    optimiser: Literal["adamw", "muon"] = "adamw"
    muon_rate: Annotated[float, Field(strict=True, gt=0.0, le=1.0)] = 1e-2
    rate: Annotated[float, Field(strict=True, gt=0.0, le=1.0)] = 1e-3
    final_rate: Annotated[float, Field(strict=True, ge=0.0, le=1.0)] = 5e-5
    weight_decay: Annotated[float, Field(strict=True, ge=0.0)] = 1e-4
    precision: Precision = "auto"
    average: Annotated[float, Field(strict=True, ge=0.0, lt=1.0)] = 0.998
    policy_weight: Annotated[float, Field(strict=True, ge=0.0)] = 1.0
    outcome_weight: Annotated[float, Field(strict=True, ge=0.0)] = 1.0
    margin_weight: Annotated[float, Field(strict=True, ge=0.0)] = 1.0


@dataclass(frozen=True, config=_STRICT)
class Replay:
    """The window of rows that the learner samples from: it grows to `share` of all rows made."""

    window: Positive = 1_000_000
    minimum: Positive = 50_000
    share: Share = 0.5


@dataclass(frozen=True, config=_STRICT)
class TrainConfig:
    """One training run; `iterations` fixes its length, `max_minutes` cuts it on a slow machine.

    `keep_every`: the net of each so many iterations stays in `nets/` (0: none), for curves.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
    rules: str = "kalah"
    seed: Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)] = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    iterations: Positive = 50
    max_minutes: Annotated[float, Field(strict=True, gt=0.0)] = 10_000.0
    threads: Annotated[int, Field(strict=True, ge=1, le=256)] = 1
    keep_every: Annotated[int, Field(strict=True, ge=0)] = 5
    net: Net = field(default_factory=Net)
    selfplay: SelfPlay = field(default_factory=SelfPlay)
    learner: Learner = field(default_factory=Learner)
    replay: Replay = field(default_factory=Replay)

    def parsed_rules(self) -> Rules:
        """Return the rules that `rules` names."""
        return parse_rules(self.rules)

    def simulations_at(self, iteration: int) -> int:
        """Return the simulations of an iteration: the list's entries share the run equally."""
        stages = self.selfplay.simulations
        return stages[min(len(stages) - 1, iteration * len(stages) // self.iterations)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, but a key that stands twice is an error instead of the last one winning."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} stands twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


_ADAPTER = TypeAdapter(TrainConfig)


def make_config(data: Any, where: str) -> TrainConfig:
    """Return the validated config of plain data; errors name `where` and the key."""
    if not isinstance(data, dict):
        raise KalahError(f"{where}: a config is a mapping of keys to values; see configs/.")
    for part in (data, *data.values()):
        for key in part if isinstance(part, dict) else ():
            if not isinstance(key, str):  # pydantic passes over such keys; YAML reads `on:` as one
                raise KalahError(f"{where}: unknown key {key!r}; keys are words.")
    try:
        config = _ADAPTER.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "unexpected_keyword_argument":
            raise KalahError(
                f"{where}: unknown key {key!r}; known are {_known_keys(first['loc'])}."
            ) from None
        given = "" if first["type"].startswith("missing") else f" (given: {first['input']!r})"
        raise KalahError(f"{where}: {key}: {first['msg']}{given}.") from None
    try:
        format_rules(config.parsed_rules())
    except KalahError as error:
        raise KalahError(f"{where}: {error}") from None
    return config


def _known_keys(location: tuple[int | str, ...]) -> str:
    owner: Any = TrainConfig
    for part in location[:-1]:
        owner = {"net": Net, "selfplay": SelfPlay, "learner": Learner, "replay": Replay}.get(str(part), owner)
    return ", ".join(owner.__dataclass_fields__)


def load_config(path: str, overrides: list[str]) -> TrainConfig:
    """Return the config of a YAML file, or of a shipped one by name, with `key=value` overrides applied."""
    try:
        data = yaml.load(_find(path).read_text(encoding="utf-8-sig"), _Loader)
    except OSError as error:
        raise KalahError(
            f"config {path}: cannot be read ({error.strerror}); configs/ has examples."
        ) from None
    except UnicodeDecodeError:
        raise KalahError(f"config {path}: is not UTF-8 text.") from None
    except yaml.YAMLError as error:
        raise KalahError(f"config {path}: is not YAML ({' '.join(str(error).split())}).") from None
    given: set[str] = set()
    for item in overrides:
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise KalahError(f"override {item!r} is not key=value, e.g. selfplay.games=256.")
        if key in given:
            raise KalahError(f"override: {key!r} stands twice; give it once.")
        given.add(key)
        _override(data, key.split("."), text, item)
    return make_config(data, f"config {path}")


def _find(path: str) -> Path:
    """Return the file itself, or where there is none the shipped config of that name (`quick`)."""
    shipped = (
        resource_dir("configs") / Path(path).with_suffix(".yaml").name if Path(path).name else Path(path)
    )
    return Path(path) if Path(path).exists() or not shipped.is_file() else shipped


def _override(data: Any, keys: list[str], text: str, item: str) -> None:
    if not isinstance(data, dict):
        raise KalahError(f"override {item!r}: {keys[0]!r} is below a key that holds no keys.")
    if len(keys) > 1:
        _override(data.setdefault(keys[0], {}), keys[1:], text, item)
        return
    try:
        data[keys[0]] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise KalahError(f"override {item!r}: {text!r} is not a YAML value.") from None
