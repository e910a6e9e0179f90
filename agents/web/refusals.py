"""What is wrong with a request, in plain sentences: what was given, what is allowed, what to do.

pydantic and the framework have words of their own, for programmers of servers; here stands what is said in
their place, a sentence for each type of error that the models of `models.py` can have. The game's own
errors are `KalahError`s and have their sentences already.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MOST_SHOWN = 40  # characters of what was given

Sentence = Callable[[Any, Mapping[str, Any]], str]  # what was given, and the limits of its field

_OBJECT = 'send a JSON object such as {"rules": "kalah"}, with the header Content-Type: application/json'
_WHOLE = "give a whole number such as 0"
_NUMBER = "give a number such as 1.5"

SENTENCES: dict[str, Sentence] = {
    "json_invalid": lambda _, limits: f"this is not JSON; {_OBJECT}",
    "missing": lambda _, limits: "is missing; give it, as /docs describes",
    "extra_forbidden": lambda _, limits: "there is no such key here; leave it out (/docs lists the keys)",
    "model_attributes_type": lambda given, limits: f"{show(given)} is not a JSON object; {_OBJECT}",
    "string_type": lambda given, limits: f"{show(given)} is not a text; give one in quotes",
    "string_too_long": lambda given, limits: (
        f"a text of {len(given)} characters; at most {limits['max_length']} are allowed, send less"
    ),
    "string_unicode": lambda given, limits: "holds half a character (a lone surrogate); leave it out",
    "dict_type": lambda given, limits: f"{show(given)} is not a JSON object; give one such as {{}}",
    "list_type": lambda given, limits: f'{show(given)} is not a list; give one such as ["3", "6"]',
    "too_long": lambda given, limits: (
        f"a list of {limits['actual_length']}; at most {limits['max_length']} are allowed, send fewer"
    ),
    "int_type": lambda given, limits: f"{show(given)} is not a number; {_WHOLE}",
    "int_parsing": lambda given, limits: f"{show(given)} is not a number; {_WHOLE}",
    "int_parsing_size": lambda given, limits: f"{show(given)} is too large; {_WHOLE}",
    "int_from_float": lambda given, limits: f"{show(given)} is not a whole number; {_WHOLE}",
    "finite_number": lambda given, limits: f"{show(given)} is not a finite number; give one such as 1",
    "float_type": lambda given, limits: f"{show(given)} is not a number; {_NUMBER}",
    "float_parsing": lambda given, limits: f"{show(given)} is not a number; {_NUMBER}",
    "greater_than_equal": lambda given, limits: f"{show(given)} is too small; give at least {limits['ge']}",
    "less_than_equal": lambda given, limits: f"{show(given)} is too large; give at most {limits['le']}",
    "less_than": lambda given, limits: f"{show(given)} is too large; give less than {limits['lt']}",
}


def say_invalid(errors: Sequence[Any]) -> str:
    """Return a sentence on the first of pydantic's errors."""
    first = errors[0]
    kind, given = first["type"], first.get("input")
    if kind == "missing" and first["loc"] == ("body",):
        return f"the request is empty; {_OBJECT}."
    if isinstance(given, bytes):  # never taken for JSON, whatever it holds
        return "the request is not marked as JSON; send it with the header Content-Type: application/json."
    place = (
        "" if kind == "json_invalid" else _place(first["loc"])
    )  # of broken JSON it is a character's number
    say = SENTENCES.get(kind, lambda given, limits: f"{show(given)} is not allowed; /docs says what is")
    return f"{place or 'the request'}: {say(given, first.get('ctx', {}))}."


def _place(loc: Sequence[str | int]) -> str:
    """Return where in a request something stands, such as `game.moves[3]`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc if part != "body"]
    return "".join(parts).removeprefix(".")


def show(given: Any) -> str:
    """Return what was given, as JSON and shortened."""
    text = json.dumps(given, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def say_http(status: int, detail: str, method: str, path: str, headers: Mapping[str, str] | None) -> str:
    """Return a sentence for an error of the framework's own."""
    if status == 404:
        return f"there is nothing at {path}; the page is at /, what programs may ask at /docs."
    if status == 405:
        allowed = (headers or {}).get("Allow") or (headers or {}).get("allow") or "another method"
        return f"{method} is not answered at {path}; {allowed} is, as /docs describes."
    if status == 400:  # the body could be read and made no sense, such as one nested too deeply
        return f"the request cannot be read; {_OBJECT}."
    return f"{detail}."
