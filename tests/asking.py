"""What tests of the server ask with: games as requests, and the API through a test client."""

import contextlib
from collections.abc import Iterator
from typing import Any

from fastapi.testclient import TestClient

from agents.web.server import create_app

SMALL = "kalah:pits=3,seeds=2"


@contextlib.contextmanager
def asking() -> Iterator[TestClient]:
    """Yield a client of a new server."""
    with TestClient(create_app(), base_url="http://localhost") as client:
        yield client


def ask(client: TestClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def game(*moves: str, rules: str = SMALL, **more: Any) -> dict[str, Any]:
    return {"rules": rules, "moves": list(moves), **more}
