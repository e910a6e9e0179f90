"""YAML as configs are written in it: nothing stands twice, and numbers such as 1e-3 are numbers.

Used for files and for the values of overrides alike. What a config is: `config.py`.
"""

import re
from typing import Any

import yaml

from kalah_env.errors import KalahError


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, but a key that stands twice is an error instead of the last one winning."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node."""
        # `!!map [1]` comes here, too, and is refused by PyYAML's own function.
        pairs = node.value if node.id == "mapping" else ()
        keys: list[Any] = []
        for key, _ in pairs:
            name = self.construct_object(key, deep=True)
            if name in keys:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {name!r} stands twice", key.start_mark
                )
            keys.append(name)
        return super().construct_mapping(node, deep)


# PyYAML keeps to YAML 1.1, where 1e-3, 1.5e3 and +.5 are texts; YAML 1.2, 10.3.2 makes them numbers.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+$|[-+]?\.[0-9]+$"),
    list("-+.0123456789"),
)


def parse_yaml(text: str, where: str) -> Any:
    """Return the plain data of a text; `KalahError` names `where`, the reason and the place."""
    try:
        return yaml.load(text, _Loader)
    except Exception as error:  # with a tag or a date, PyYAML passes on whatever a constructor raises
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        why = getattr(error, "problem", None) or str(error) or type(error).__name__
        raise KalahError(f"{where} is not YAML ({' '.join(why.split())}{place}).") from None
