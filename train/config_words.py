"""What is said of a config that cannot be used: one sentence, in the words of what its schema allows.

pydantic finds what is wrong; the key, what was given and what is allowed are told here, and the table of
`docs/TRAINING.md` is held to the same words. The configs themselves: `config.py`.
"""

from typing import Any

from kalah_env.resources import resource_dir

Location = tuple[int | str, ...]

# pydantic's types of errors that one sentence answers: what was given is not what its key allows.
NOT_ALLOWED = {
    "dataclass_type",
    "finite_number",
    "float_type",
    "greater_than",
    "greater_than_equal",
    "int_type",
    "less_than",
    "less_than_equal",
    "list_type",
    "literal_error",
    "string_pattern_mismatch",
    "string_too_long",
    "string_type",
    "string_unicode",
    "too_short",
}
_LONGEST = 80  # characters of what was given


def shipped() -> list[str]:
    """Return the names of the shipped configs."""
    return sorted(path.stem for path in resource_dir("configs").glob("*.yaml"))


def dotted(location: Location) -> str:
    """Return a key as it is written on a command line: `selfplay.games`, `selfplay.simulations[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def find(schema: dict[str, Any], location: Location) -> dict[str, Any]:
    """Return the part of a JSON schema that describes a key."""
    part = schema
    for step in location:
        part = part["items"] if isinstance(step, int) else part["properties"][step]
        if "$ref" in part:
            part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return part


def allowed(part: dict[str, Any]) -> str:
    """Return in words what a part of a schema takes."""
    if "enum" in part:
        return f"one of {', '.join(part['enum'])}"
    if part["type"] == "object":
        return f"a mapping with keys of {', '.join(part['properties'])}"
    if part["type"] == "array":
        return f"a list such as [16, 32], of at least one, each {allowed(part['items'])}"
    if part["type"] == "string":
        return part["description"]
    return f"{'a whole number' if part['type'] == 'integer' else 'a number'} {_range(part)}"


def _range(part: dict[str, Any]) -> str:
    low, high = (_plain(part.get(key)) for key in ("minimum", "maximum"))
    if low and high:
        return f"from {low} to {high}"
    above, below = (_plain(part.get(key)) for key in ("exclusiveMinimum", "exclusiveMaximum"))
    ends = (
        low and f"of {low} or more",
        above and f"above {above}",
        high and f"at most {high}",
        below and f"below {below}",
    )
    return ", ".join(end for end in ends if end)


def _plain(number: float | None) -> str:
    """Return a number without a needless point; nothing for None."""
    return "" if number is None else f"{int(number) if number == int(number) else number}"


def sentence(error: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return what one of pydantic's errors says of a config with this schema."""
    location, kind, given = error["loc"], error["type"], error["input"]
    key = dotted(location)
    if kind == "unexpected_keyword_argument":
        return f"unknown key {key!r}; known are {', '.join(find(schema, location[:-1])['properties'])}."
    if kind == "value_error":  # of a __post_init__: keys of one mapping that do not go together
        return f"{key}: {error['ctx']['error']}." if key else f"{error['ctx']['error']}."
    if kind != "missing" and kind not in NOT_ALLOWED:
        return f"{key}: {error['msg']} (given: {short(given)})."
    part = find(schema, location)
    if kind == "missing" or given is None:
        return f"{key} is {'missing' if kind == 'missing' else 'empty'}; give {allowed(part)}."
    return f"{key}={short(given)} is not allowed; give {allowed(part)}{_hint(part, given)}."


def _hint(part: dict[str, Any], given: Any) -> str:
    """Return how to write what was probably meant: YAML makes a fraction of 1e6, and a number of 2024."""
    if part["type"] == "integer" and isinstance(given, float) and given.is_integer():
        return ", without point or exponent"
    if part["type"] == "string" and "enum" not in part and not isinstance(given, str | list | dict):
        return """, in quotes (in a file "7", in a shell '"7"')"""
    return ""


def short(given: Any) -> str:
    """Return a value as Python writes it, its end left out where it is long."""
    text = repr(given)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
