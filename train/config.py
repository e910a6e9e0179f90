"""What a training run is: dataclasses read from YAML, with ranges.

An unknown key, a wrong type or a value out of range is one `KalahError` that names file or override, and
key (in the words of `config_words.py`). `key=value` overrides come from the command line, dotted for nested
keys (`selfplay.games=256`). Every key is explained in `docs/TRAINING.md`.
"""

import re
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from kalah_env.checks import MAX_SEED
from kalah_env.errors import KalahError
from kalah_env.resources import resource_dir
from kalah_env.rules import Rules, format_rules, parse_rules
from train.checkpoint import checkpoints, load_meta
from train.config_words import Location, dotted, sentence, shipped, short
from train.config_yaml import parse_yaml

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
    simulations: Annotated[list[Positive], Field(strict=True, min_length=1)] = field(
        default_factory=lambda: [16, 32]
    )
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
            raise ValueError(
                f"games={self.games} cannot be shared by workers={self.workers} evenly; give a multiple of "
                "workers for games"
            )
        if self.sign_weight == 1 and self.value_target == "backup":
            raise ValueError(
                "value_target=backup needs sign_weight below 1, to read margins off utilities; give less, or "
                "value_target=final"
            )


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

    def __post_init__(self) -> None:
        if self.final_rate > self.rate:
            raise ValueError(
                f"final_rate={self.final_rate} is above rate={self.rate}, which falls to it; lower final_rate"
            )
        if not self.policy_weight + self.outcome_weight + self.margin_weight:
            raise ValueError(
                "policy_weight, outcome_weight and margin_weight are all 0, so nothing would be learned; "
                "raise one of them"
            )


@dataclass(frozen=True, config=_STRICT)
class Replay:
    """The window of rows that the learner samples from: it grows to `share` of all rows made."""

    window: Positive = 1_000_000
    minimum: Positive = 50_000
    share: Share = 0.5

    def __post_init__(self) -> None:
        if self.minimum > self.window:
            raise ValueError(
                f"minimum={self.minimum} is above window={self.window}, the most rows it may hold; "
                "lower minimum or raise window"
            )


@dataclass(frozen=True, config=_STRICT)
class TrainConfig:
    """One training run; `iterations` fixes its length, `max_minutes` cuts it on a slow machine.

    `keep_every`: the net of each so many iterations stays in `nets/` (0: none), for curves.
    """

    name: Annotated[
        str,
        Field(
            strict=True,
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
            max_length=100,
            description="1 to 100 letters, digits and . _ -, with a letter or digit first",
        ),
    ]
    rules: Annotated[str, Field(strict=True, description="rules as text, such as kalah:seeds=3")] = "kalah"
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


_ADAPTER = TypeAdapter(TrainConfig)
SCHEMA = _ADAPTER.json_schema()


def make_config(data: Any, where: str, given: dict[str, str] | None = None) -> TrainConfig:
    """Return the validated config of plain data; errors name `where` and the key.

    given: the overrides that are in it, by their keys; errors name them where it was they.
    """
    overrides = given or {}
    for name, part in _mapping(data, where).items():
        for key in (name, *(part if isinstance(part, dict) else ())):
            if not isinstance(key, str):  # pydantic passes over such keys; YAML reads `on:` as one
                told = _source(where, (str(name),), overrides)
                raise KalahError(f"{told}: unknown key {key!r}; keys are words.")
    try:
        config = _ADAPTER.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        told = _source(where, first["loc"], overrides)
        raise KalahError(f"{told}: {sentence(dict(first), SCHEMA)}") from None
    try:
        format_rules(config.parsed_rules())
    except KalahError as error:
        raise KalahError(f"{_source(where, ('rules',), overrides)}: {error}") from None
    return config


def _mapping(data: Any, where: str) -> dict[Any, Any]:
    if isinstance(data, dict):
        return data
    found = "it is empty" if data is None else f"it holds {short(data)}"
    raise KalahError(
        f"{where}: {found}, but a config is a mapping of keys to values, with `name: ...` at the least; "
        f"examples are {', '.join(shipped())}."
    )


def _source(where: str, location: Location, overrides: dict[str, str]) -> str:
    """Return what to name for an error: the override it comes from, or the file and overrides near it."""
    key = dotted(location)
    for override, item in overrides.items():
        if re.match(rf"{re.escape(override)}(?![^.[])", key):
            return f"override {item!r}"
    near = [item for override, item in overrides.items() if override.startswith(f"{key}.")]
    return f"{where} with {' '.join(near)}" if near else where


def load_config(path: str, overrides: list[str]) -> TrainConfig:
    """Return the config of a YAML file, or of a shipped one by name, with `key=value` overrides applied."""
    where = f"config {path}"
    try:
        text = _find(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise KalahError(
            f"{where} cannot be read ({error.strerror}); give a YAML file, or a shipped config by its name: "
            f"{', '.join(shipped())}."
        ) from None
    except UnicodeDecodeError:
        raise KalahError(f"{where} is not UTF-8 text; save it as such.") from None
    return _with_overrides(parse_yaml(text, where), overrides, where)


def run_config(path: str, overrides: list[str], resume: bool) -> tuple[TrainConfig, Path]:
    """Return the config and the folder of the run that `kalah train` is asked for.

    path: a config as for `load_config`, or with `resume` the folder of a run, which goes on with the config
    that it was begun with.
    """
    folder = Path(path)
    done = checkpoints(folder) if folder.is_dir() else []
    if resume and done:
        config = _with_overrides(load_meta(done[-1])["config"], overrides, f"run {path}")
        return config, folder
    if folder.is_dir() and _find(path) == folder:
        if done:
            raise KalahError(f"{path} holds a run already; go on with --resume, or give a config.")
        raise KalahError(
            f"{path} is a folder without checkpoints; give a config, or with --resume the folder of a run "
            "that has some, such as runs/NAME."
        )
    config = load_config(path, overrides)
    return config, Path("runs") / config.name


def _find(path: str) -> Path:
    """Return the file itself, or where there is none the shipped config: `quick`, `configs/quick.yaml`."""
    named = Path(path)
    if named.is_file() or str(named.parent) not in (".", "configs") or named.suffix not in ("", ".yaml"):
        return named
    own = resource_dir("configs") / f"{named.stem}.yaml"
    return own if named.stem in shipped() else named


def _with_overrides(data: Any, overrides: list[str], where: str) -> TrainConfig:
    """Return the config of plain data and overrides, which are applied in their order."""
    _mapping(data, where)
    given: dict[str, str] = {}
    for item in overrides:
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise KalahError(f"override {item!r} is not key=value; write it as in selfplay.games=256.")
        if key in given:
            raise KalahError(f"override {item!r}: {key!r} stands twice; give it once.")
        given[key] = item
        _override(data, key.split("."), parse_yaml(text, f"override {item!r}"), item)
    return make_config(data, where, given)


def _override(data: dict[Any, Any], keys: list[str], value: Any, item: str) -> None:
    if len(keys) == 1:
        data[keys[0]] = value
        return
    below = data.setdefault(keys[0], {})
    if not isinstance(below, dict):
        raise KalahError(
            f"override {item!r}: {keys[0]} is {short(below)}, which holds no keys; leave {keys[1]} out."
        )
    _override(below, keys[1:], value, item)
