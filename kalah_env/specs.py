"""Agents by text: `make_agent("alphabeta:depth=8")`, through the entry-point group `kalah_env.agents`.

Texts are `name[:argument][,option=value,...]`. A name resolves to a class that an installed package
has put into the group, so nothing of `agents` is imported here. The class's constructor says what the
text may hold: its one positional parameter, if any, is the argument without `=`, its keyword-only
parameters are the options, annotated with int, float, str, bool, a `Literal` of texts or `X | None`;
`seed` is one of them in every agent.
"""

import inspect
import types
import typing
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

import numpy as np

from kalah_env.errors import KalahError
from kalah_env.rules import Rules

GROUP = "kalah_env.agents"
# Modules that only an extra of ours installs; everything else that is missing comes with `train`.
_EXTRAS = {"onnxruntime": "onnx"}
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class Agent(Protocol):
    """Chooses moves for a batch of positions.

    `spec` is the text the agent was made from, in canonical form: options in the constructor's
    order, those at their default left out. `make_agent` sets it.
    """

    spec: str

    def act(self, rules: Rules, states: np.ndarray) -> np.ndarray:
        """Return one legal action for each running state: (B, S) int16 -> (B,) int64."""
        ...


def make_agent(spec: str, seed: int | None = None) -> Agent:
    """Return the agent of a text; `KalahError` says what is wrong with it.

    The same seed gives the same moves, except under time limits; None takes fresh entropy. A
    `seed=` in the text goes before `seed`, and alone becomes part of the agent's `spec`.
    """
    if not isinstance(spec, str):
        raise KalahError(f"agent: {spec!r} is no text; write a name such as greedy or alphabeta:depth=6.")
    name, colon, rest = (part.strip() for part in spec.partition(":"))
    entry = _entry(name)
    try:
        factory = entry.load()
        parameters = _parameters(factory)
        options = _options(name, rest.split(",") if colon else [], parameters)
        agent = factory(**{"seed": seed, **options})
    except ModuleNotFoundError as error:
        raise _not_installed(name, entry, error) from error
    agent.spec = _format(name, options, parameters)
    return agent


def agent_names() -> list[str]:
    """Return the names that `make_agent` knows, sorted."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def _entry(name: str) -> EntryPoint:
    found = {entry.value: entry for entry in entry_points(group=GROUP, name=name)}
    if len(found) > 1:
        raise KalahError(f"agent {name!r} is ambiguous: {', '.join(found)}; uninstall one of the packages.")
    if not found:
        known = ", ".join(agent_names()) or "missing, since kalah-env is not installed: `pip install -e .`"
        raise KalahError(f"agent: there is no {name!r}; agents are {known}.")
    return next(iter(found.values()))


def _not_installed(name: str, entry: EntryPoint, error: ModuleNotFoundError) -> Exception:
    missing = (error.name or "").partition(".")[0]
    if missing in ("agents", "kalah_env"):
        return error  # a bug of ours, not a missing extra
    if entry.module.startswith("agents."):
        hint = f'`pip install "kalah-env[{_EXTRAS.get(missing, "train")}]"`'
    else:
        hint = f"`pip install {missing}`"
    return KalahError(f"agent {name!r} needs the package {missing}, which is not installed: {hint}.")


def _parameters(factory: Any) -> dict[str, inspect.Parameter]:
    """Return the constructor's parameters by name, annotations resolved to types."""
    hints = typing.get_type_hints(factory.__init__)
    signature = inspect.signature(factory)
    return {p.name: p.replace(annotation=hints.get(p.name, str)) for p in signature.parameters.values()}


def _options(name: str, items: list[str], parameters: dict[str, inspect.Parameter]) -> dict[str, Any]:
    """Return the converted options of the items behind the name."""
    positional = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY][:1]
    options: dict[str, Any] = {}
    for item in items:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            key, value = next(iter(positional), ""), key
        if key not in parameters or not value:
            raise KalahError(f"agent {name}: {item!r} is not understood; {_usage(name, parameters)}")
        if key in options:
            raise KalahError(f"agent {name}: {key} stands twice; give it once.")
        options[key] = _convert(name, key, value, parameters[key].annotation)
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in options:
            raise KalahError(f"agent {name}: {key} is missing; {_usage(name, parameters)}")
    return options


def _usage(name: str, parameters: dict[str, inspect.Parameter]) -> str:
    forms = [
        f"{p.name}={'|'.join(_choices(p.annotation)) or _kind(p.annotation).__name__}"
        if p.kind is p.KEYWORD_ONLY
        else p.name.upper()
        for p in parameters.values()
    ]
    return f"write {name}:{','.join(forms)} with what you need of these, separated by commas."


def _choices(annotation: Any) -> tuple[str, ...]:
    """Return the texts of a `Literal`; none for other annotations."""
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


def _kind(annotation: Any) -> type:
    """Return int, float, bool or str for an annotation that may be `X | None`, str for a `Literal`."""
    if _choices(annotation):
        return str
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(arg for arg in typing.get_args(annotation) if arg is not type(None))
    return annotation


def _convert(name: str, key: str, text: str, annotation: Any) -> Any:
    kind, choices = _kind(annotation), _choices(annotation)
    if choices and text not in choices:
        raise KalahError(f"agent {name}: {key}={text} is not known; it is {' or '.join(choices)}.")
    try:
        # int() and float() would also take digits of other scripts and 1_000.
        if kind in (int, float) and not (text.isascii() and "_" not in text):
            raise ValueError
        return {"true": True, "false": False}[text] if kind is bool else kind(text)
    except (ValueError, KeyError):
        raise KalahError(f"agent {name}: {key}={text} is not {_KINDS[kind]}.") from None


def _format(name: str, options: dict[str, Any], parameters: dict[str, inspect.Parameter]) -> str:
    items = []
    for key, parameter in parameters.items():
        if key in options and options[key] != parameter.default:
            value = str(options[key]).lower() if isinstance(options[key], bool) else str(options[key])
            items.append(f"{key}={value}" if parameter.kind is parameter.KEYWORD_ONLY else value)
    return f"{name}:{','.join(items)}" if items else name
