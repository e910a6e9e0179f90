"""The API of `kalah serve`: games, files and positions, what is refused, the page's frame, the command.

Through the test client, without a socket, but for what is no HTTP and the command itself. Thinking:
`test_web_thinking.py`; the page: `test_browser.py`.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from asking import SMALL, ask, asking, game
from browsing import serving
from fastapi.testclient import TestClient
from pydantic import ValidationError

from agents.web import guard
from agents.web.manual import manual
from agents.web.models import MAX_MOVES, Asked
from agents.web.refusals import SENTENCES, say_invalid
from agents.web.server import bind, create_app
from kalah_env.errors import KalahError
from kalah_env.options import OPTIONS
from kalah_env.rules import PRESET_NAMES, parse_rules


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with asking() as client:
        yield client


# Games


def test_a_game_is_replayed(client: TestClient):
    start = ask(client, "game", **game())
    assert (start["position"], start["mover"]) == ("<3,0,0,2,2,2,2,2,2> S first", 0)
    assert [choice["move"] for choice in start["legal"]] == ["1", "2", "3"]
    assert [cell["pit"] for cell in start["cells"]] == [1, 2, 3, None] * 2
    after = ask(client, "game", **game("2", "1"))
    assert [ply["words"] for ply in after["plies"]] == ["South plays 2, moves again.", "South plays 1."]
    assert after["words"] == "North is to move."
    assert after["before"] == ask(client, "game", **game("2"))["board"]
    assert after["steps"][-1]["board"] == after["board"]


def test_a_game_ends(client: TestClient):
    over = ask(client, "game", **game("3", start="<3,5,3,0,0,1,2,0,1> S"))
    assert over["over"]
    assert (over["mover"], over["legal"], over["result"]["winner"]) == (None, [], "draw")
    assert over["words"] == "The game is over, 6 to 6: a draw."
    assert [step["kind"] for step in over["steps"]] == ["sow", "sweep"]


def test_swap_and_directions_are_choices(client: TestClient):
    swap = ask(client, "game", **game("1", rules="mankalah:pits=3,seeds=2"))
    assert swap["legal"][-1]["move"] == "swap"
    assert swap["legal"][-1]["cell"] is None
    swapped = ask(client, "game", **game("1", "swap", rules="mankalah:pits=3,seeds=2"))
    assert (swapped["players"], swapped["mover"], swapped["side"]) == ([1, 0], 0, 1)
    turns = ask(client, "game", **game(rules="bao-philos:pits=2"))["legal"]
    assert {(choice["cell"], choice["turn"]) for choice in turns[:5:4]} == {(0, "+"), (0, "-")}
    assert ask(client, "game", **game(rules="bao-philos:pits=2"))["rows"] == 2


@pytest.mark.parametrize("rules_text", PRESET_NAMES)
def test_cells_stand_on_places_of_their_own(client: TestClient, rules_text: str):
    view = ask(client, "game", rules=rules_text)
    places = {(cell["row"], cell["column"]) for cell in view["cells"]}
    assert len(places) == len(view["cells"]) == len(view["board"]) - (0 if view["stores"] else 2)
    if view["rows"] == 2:  # pit 9 stands behind pit 8, further from the middle
        eighth, ninth = (cell for cell in view["cells"] if cell["side"] == 0 and cell["pit"] in (8, 9))
        assert (ninth["row"], ninth["column"]) == (eighth["row"] + 1, eighth["column"])


def test_every_rule_is_told_to_players(client: TestClient):
    told = ask(client, "game", rules="kalah")["manual"]
    assert told[1] == "You move again if the last seed falls into your store."
    for option in OPTIONS:
        if option.name in ("pits", "seeds", "lap_limit"):  # seen on the board; never met
            continue
        words = option.values if isinstance(option.values, tuple) else [str(n) for n in option.values[:2]]
        tells = []  # for each preset, whether every value is told otherwise
        for preset in ("kalah", "kalaha-philos", "bao-philos"):
            found = []
            for word in words:
                with contextlib.suppress(KalahError):
                    found.append(tuple(manual(parse_rules(f"{preset}:{option.name}={word}"))))
            tells.append(len(set(found)) == len(found) > 1)
        assert any(tells) or option.name == "rows", option.name
    presets = client.get("/api/setup").json()["presets"]
    assert not [preset for preset in presets if "sheet" in preset["about"]]
    assert presets[0]["source"] == "rules of a game box, quoted in kalah_env/RULES.md (sheet 002)"


def test_files_of_games(client: TestClient):
    record = ask(client, "save", game=game("2", "1"))["record"]
    assert json.loads(record) == {"rules": SMALL, "moves": ["2", "1"]}
    loaded = ask(client, "load", text=f"\ufeff{record}\n\n{record}\n")["games"]
    assert [one["game"]["moves"] for one in loaded] == [["2", "1"]] * 2
    assert "line 2: " in ask(client, "load", 400, text=f"{record}\n{record[:-3]}")["error"]
    assert "illegal" in ask(client, "load", 400, text='{"rules": "kalah", "moves": ["7"]}')["error"]
    assert "no game" in ask(client, "load", 400, text=" ")["error"]


def test_what_a_file_tells_of_a_game_is_kept(client: TestClient):
    told = {"tags": {"South": "Ann", "North": "Bob", "Date": "2026-11-30"}, "comments": {"1": "a gift"}}
    over = game("3", start="<3,5,3,0,0,1,2,0,1> S")
    written = "".join(ask(client, "save", game=one, told=told)["text"] for one in (over, game("2")))
    assert '[South "Ann"]' in written
    first, second = ask(client, "load", text=written)["games"]
    assert (first["told"], first["game"]["moves"]) == (told, ["3"])
    assert first["words"] == "Ann - Bob, 6-6, 1 move, 2026-11-30"
    assert second["words"] == "Ann - Bob, unfinished, 1 move, 2026-11-30"
    assert "a gift" not in ask(client, "save", game=game(), told=told)["text"]  # of a move taken back
    assert "tag" in ask(client, "save", 400, game=game(), told={"tags": {"Result": "1-0"}})["error"]


def test_who_plays_a_game_on_is_named(client: TestClient):
    told = {"tags": {"Event": "Cup", "South": "Ann", "North": "greedy"}}
    for south, north, names in (
        ("human", "easy", ("Ann", "greedy")),
        ("human", "human", ("Ann", "human")),
        ("random", "mcts:sims=9", ("random", "mcts:sims=9")),
    ):
        text = ask(client, "save", game=game(), told=told, seats={"south": south, "north": north})["text"]
        assert text.startswith(f'[Event "Cup"]\n[South "{names[0]}"]\n[North "{names[1]}"]\n')


def test_a_position_set_up_by_hand(client: TestClient):
    board = [2, 0, 3, 3, 1, 0, 4, 1]
    found = ask(client, "position", rules=SMALL, board=board, side=1)["position"]
    assert found == "<3,3,1,2,0,3,1,0,4> N"
    assert ask(client, "game", rules=SMALL, start=found)["board"] == board
    four = ask(client, "position", rules="bao-philos:pits=1", board=[1, 2, 0, 3, 4, 0], side=0)["position"]
    assert ask(client, "game", rules="bao-philos:pits=1", start=four)["board"] == [1, 2, 0, 3, 4, 0]
    assert "needs 8" in ask(client, "position", 400, rules=SMALL, board=board[1:], side=1)["error"]
    assert "at most" in ask(client, "position", 400, rules=SMALL, board=[900] * 8, side=1)["error"]
    assert (
        "board[0]: -1 is too small" in ask(client, "position", 422, rules=SMALL, board=[-1], side=1)["error"]
    )


# Bad input


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"rules": "checkers"}, 400, "there is no preset 'checkers'"),
        ({"rules": "kalah:pits=99"}, 400, "pits"),
        ({"rules": SMALL, "moves": ["9"]}, 400, "legal: 1, 2, 3"),
        ({"rules": SMALL, "start": "<4,0,0> S"}, 400, "4"),
        ({"rules": SMALL, "moves": ["1"] * (MAX_MOVES + 1)}, 422, "moves: a list of 2001; at most 2000"),
        ({"rules": SMALL, "moves": 3}, 422, 'moves: 3 is not a list; give one such as ["3", "6"].'),
        ({"rules": SMALL, "moves": ["1", "1" * 50]}, 422, "moves[1]: a text of 50 characters; at most 8"),
        ({"rules": SMALL, "wish": 1}, 422, "wish: there is no such key"),
        ({"rules": 7}, 422, "rules: 7 is not a text; give one in quotes."),
    ],
)
def test_a_bad_game_is_one_clear_error(client: TestClient, body: dict, status: int, said: str):
    answer = ask(client, "game", status, **body)
    assert list(answer) == ["error"]
    assert said in answer["error"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"\xff\xfe{}", 400),
        (b'{"rules": "\\ud800"}', 400),
        (b"[" * 30_000, 422),
        (b" " * (guard.MAX_BYTES + 1), 413),
        (b"null", 422),
    ],
)
def test_a_broken_body_is_one_clear_error(client: TestClient, content: bytes, status: int):
    answer = client.post("/api/game", content=content, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert answer.status_code in (status, 400, 422)
    assert list(answer.json()) == ["error"]


def test_every_kind_of_wrong_value_has_its_sentence():
    wrong = [None, True, "", "x", "9" * 70_000, 1e300, -1, 1.5, 10**30, "9" * 5000, [], [1], ["1"] * 3000, {}]
    wrong += ["\ud800", {"game": 1}, {"game": {"wish": 1}}, {"rules": "\ud800"}, float("nan"), float("inf")]
    found: list[Any] = []
    for model in Asked.__subclasses__():
        whole = [value for value in wrong if not isinstance(value, dict)]
        for body in (*whole, *wrong, *({name: value} for name in model.model_fields for value in wrong)):
            try:
                model.model_validate(body, from_attributes=True)
            except ValidationError as error:
                found += error.errors()
    assert {error["type"] for error in found} == set(SENTENCES) - {"json_invalid"}
    assert not [said for error in found if "not allowed; /docs" in (said := say_invalid([error]))]


@pytest.mark.parametrize(
    "content", [b"hello\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nX\r\n\r\n", b"\0" * 99_999]
)
def test_what_is_no_http_is_a_json_error(content: bytes):
    with serving() as url, socket.create_connection(("127.0.0.1", int(url[17:-1]))) as client:
        client.sendall(content)
        answer = b"".join(iter(lambda: client.recv(1000), b""))
    head, body = answer.split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"content-type: application/json" in head
    assert list(json.loads(body)) == ["error"]


def test_what_is_not_marked_as_json_is_told_so(client: TestClient):
    for kind in ("text/plain", ""):
        answer = client.post("/api/game", content=b'{"rules": "kalah"}', headers={"content-type": kind})
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("the request is not marked as JSON; send it with")


def test_who_sends_too_much_sees_the_answer():
    with serving() as url, socket.create_connection(("127.0.0.1", int(url[17:-1]))) as client:
        head = "POST /api/game HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n"
        client.sendall(head.encode() + b" " * 10_000_000)
        assert client.recv(100).startswith(b"HTTP/1.1 413")


def test_unknown_addresses_are_json_errors(client: TestClient):
    assert client.get("/nowhere").json()["error"].startswith("there is nothing at /nowhere;")
    wrong = client.get("/api/game")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert wrong.json()["error"].startswith("GET is not answered at /api/game; POST is")
    assert client.get("/static/../server.py").status_code == 404


def test_a_body_without_an_end_is_too_large(client: TestClient):
    def pieces() -> Iterator[bytes]:
        for _ in range(2 * guard.MAX_BYTES // 1000):
            yield b" " * 1000

    answer = client.post("/api/game", content=pieces(), headers={"content-type": "application/json"})
    assert (answer.status_code, "too large" in answer.json()["error"]) == (413, True)


def test_foreign_hosts_and_pages_are_refused(client: TestClient):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 403
    assert client.get("/", headers={"host": "localhost.evil.example"}).status_code == 403
    assert client.get("/", headers={"host": "127.0.0.1:8064.evil.example"}).status_code == 403
    assert client.get("/", headers={"host": "[::1]:8064"}).status_code == 200
    foreign = client.post("/api/game", json=game(), headers={"origin": "http://evil.example"})
    assert (foreign.status_code, list(foreign.json())) == (403, ["error"])
    assert client.post("/api/game", json=game(), headers={"origin": "http://localhost"}).status_code == 200
    with TestClient(create_app(local=False), base_url="http://board.example") as public:
        assert public.get("/api/setup").status_code == 200
        headers = {"origin": "http://evil.example"}
        assert public.post("/api/game", json=game(), headers=headers).status_code == 403


# The page's frame, and the command


def test_everything_comes_from_here(client: TestClient):
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    for text in (page.text, client.get("/docs").text):
        assert "http:" not in text
        assert "https:" not in text
    assert client.get("/docs").status_code == 200
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {
        "/api/setup",
        "/api/game",
        "/api/load",
        "/api/save",
        "/api/position",
        "/api/think",
        "/api/agent",
        "/api/analysis",
    }
    setup = client.get("/api/setup").json()
    assert [preset["name"] for preset in setup["presets"]] == list(PRESET_NAMES)
    assert [level["name"] for level in setup["levels"]] == ["easy", "medium", "hard", "perfect"]


def test_a_port_in_use_is_one_clear_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(KalahError, match="--port"):
            bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(KalahError, match="cannot be used"):
        bind("no host at all", 0)


def test_the_command_serves_until_ctrl_c():
    command = [sys.executable, "-m", "train.cli", "serve", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().split(":")[3].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as half_open:
            half_open.sendall(b"GET / HTTP/1.1\r\nHo")
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET /api/setup HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 200")
            with socket.create_connection(("127.0.0.1", port)) as broken:
                broken.sendall(b"hello\r\n\r\n")
            with (
                socket.create_connection(("127.0.0.1", port)) as half_sent,
                socket.create_connection(("127.0.0.1", port)) as thinking,
            ):
                head = "POST /api/think HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                body = json.dumps({"game": game(rules="kgp"), "agent": "alphabeta:ms=9000"})
                for client in (half_sent, thinking):
                    client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body[:20]}".encode())
                thinking.sendall(body[20:].encode())
                time.sleep(0.5)
                server.send_signal(signal.SIGINT)
                began = time.monotonic()
                rest = server.stdout.read()
                took = time.monotonic() - began
                answer = thinking.recv(5000)
    assert (server.returncode, rest) == (130, "kalah: stopped.\n")
    assert answer.startswith(b"HTTP/1.1 503")
    assert json.loads(answer.split(b"\r\n\r\n")[1]) == {"error": "the server is ending."}
    assert took < 2
