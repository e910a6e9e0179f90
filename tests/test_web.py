"""The API of `kalah serve`: what it answers, what it refuses, and that nobody waits for another.

Through the test client, without a socket, but for the command itself. The page: `test_browser.py`.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browsing import serving
from fastapi.testclient import TestClient
from pydantic import ValidationError

from agents.analysis import Analysis, MoveValue
from agents.web import guard, thinking
from agents.web.manual import manual
from agents.web.models import MAX_MOVES, Asked, GameIn
from agents.web.refusals import SENTENCES, say_invalid
from agents.web.server import bind, create_app
from agents.web.thinking import Chosen, Thinking, safe_spec
from agents.web.views import analysis_of, game_of
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.options import OPTIONS
from kalah_env.rules import PRESET_NAMES, parse_rules

SMALL = "kalah:pits=3,seeds=2"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    # What is new on this machine is compiled first, and no request waits as long as that.
    thought = game_of(GameIn(rules=SMALL, moves=["2"]))
    for agent in ("greedy", "alphabeta:depth=2", "alphabeta:ms=1", "mcts:sims=1", "bot:ms=50"):
        Thinking(threads=1).choose(thought, agent, 0)
    Thinking(threads=1).analyse(thought, 0.1)
    with TestClient(create_app(), base_url="http://localhost") as client:
        yield client


def ask(client: TestClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def game(*moves: str, rules: str = SMALL, **more: Any) -> dict[str, Any]:
    return {"rules": rules, "moves": list(moves), **more}


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
    assert presets[0]["source"] == "rule sheet 002, quoted in RULES.md"


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


# Agents and analysis


@pytest.mark.parametrize("agent", ["random", "mcts:sims=20", "alphabeta:depth=2", "easy"])
def test_the_same_question_has_the_same_answer(client: TestClient, agent: str):
    moves = [
        [ask(client, "think", game=game("2"), agent=agent, seed=seed)["move"] for seed in range(8)]
        for _ in range(2)
    ]
    assert moves[0] == moves[1]
    assert set(moves[0]) <= {"1", "3"}
    if agent == "random":
        assert len(set(moves[0])) == 2


def test_levels_play_legal_moves(client: TestClient):
    for level in ("easy", "medium", "hard"):
        assert ask(client, "think", game=game("2"), agent=level)["move"] in ("1", "3")


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("net:/etc/passwd", "none of those that ship"),
        ("onnx:../secret", "none of those that ship"),
        ("bot:net=/etc/passwd", "none of those that ship"),
        ("net:kalah-6x4,device=cuda", "'device' cannot be set"),
        ("bot:memory=999999", "'memory' cannot be set"),
        ("alphabeta:depth=200", "at most 10"),
        ("alphabeta:ms=1e9", "not a whole number"),
        ("mcts:sims=0", "not a whole number"),
        ("perfect:ms=999999999", "at most"),
        ("elsewhere", "not offered"),
        ("", "not offered"),
        ("alphabeta", "exactly one"),
    ],
)
def test_agents_that_are_not_offered(client: TestClient, agent: str, said: str):
    assert said in ask(client, "think", 400, game=game(), agent=agent)["error"]


def test_safe_texts_stay_as_they_are():
    assert safe_spec("alphabeta:depth=3") == "alphabeta:depth=3"
    assert safe_spec("hard") == f"bot:ms=200,memory={thinking.MEMORY}"
    assert safe_spec("perfect:ms=50") == f"perfect:ms=50,memory={thinking.MEMORY}"
    assert safe_spec("net:kalah-6x4,sims=8") == "net:kalah-6x4,sims=8"
    assert safe_spec("onnx:kalah-6x4").endswith("net.onnx")


def test_analysis_knows_what_is_proved(client: TestClient):
    found = ask(client, "analysis", game=game("2"), seconds=2)["moves"]
    assert [one["exact"] for one in found] == [True, True]
    assert found[0]["margin"] >= found[1]["margin"]
    assert found[0]["words"].endswith("proved")
    # No solver plays these rules: an estimate, and no claim.
    guess = ask(client, "analysis", game=game(rules="kgp"), seconds=0.1)["moves"]
    assert len(guess) == 8
    assert not any(one["exact"] for one in guess)


@pytest.mark.parametrize(
    ("rules", "margin", "exact", "badge", "words"),
    [
        ("kalah", -0.04, False, "≈0", "about even"),
        ("kalah", -0.06, False, "≈\N{MINUS SIGN}0.1", "loses by about 0.1"),
        ("kalah", 3.0, False, "≈+3", "wins by about 3"),
        ("kalah", -0.0, True, "0 ✓", "a draw, proved"),
        ("kalah", -12.0, True, "\N{MINUS SIGN}12 ✓", "loses by 12, proved"),
        ("hus", 1.0, True, "win", "wins, proved"),
        ("hus", -1.0, True, "loss", "loses, proved"),
        ("hus", 0.0, True, "draw", "a draw, proved"),
        ("hus", 0.0, False, "?", "open"),
        ("hus", 0.5, False, "≈75%", "wins with a chance of about 75 %"),
    ],
)
def test_what_moves_are_worth_in_words(rules: str, margin: float, exact: bool, badge: str, words: str):
    found = analysis_of(parse_rules(rules), Analysis([MoveValue("1", margin, exact)], 0.1))
    assert (found.moves[0].badge, found.moves[0].words) == (badge, words)
    assert ("seeds" in found.words) == (rules == "kalah")


def test_nobody_is_to_move_in_a_finished_game(client: TestClient):
    over = game("3", start="<3,5,3,0,0,1,2,0,1> S")
    assert "over" in ask(client, "think", 400, game=over, agent="random")["error"]
    for rules in (SMALL, "kgp:pits=3"):  # the second has no solver, which would refuse by itself
        assert "over" in ask(client, "analysis", 400, game={**over, "rules": rules})["error"]


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


# Many at once


def test_a_thinker_delays_nobody(client: TestClient):
    slow = threading.Thread(
        target=ask, args=(client, "think"), kwargs={"game": game(rules="kgp"), "agent": "alphabeta:ms=1500"}
    )
    ask(client, "think", game=game(rules="kgp"), agent="alphabeta:ms=1")  # compiled beforehand
    slow.start()
    time.sleep(0.2)
    began = time.monotonic()
    for _ in range(5):
        ask(client, "game", **game("2"))
    assert ask(client, "think", game=game("2"), agent="random")["move"] in ("1", "3")
    took = time.monotonic() - began
    assert slow.is_alive()
    assert took < 1.0
    slow.join()


def test_a_full_queue_says_so():
    few = Thinking(threads=1, queue=1)
    go = threading.Event()
    few.choose = lambda *_: go.wait(20) and Chosen("1", 0.0)  # type: ignore[method-assign]
    with TestClient(create_app(thinking=few), base_url="http://localhost") as client:
        body = {"game": game(), "agent": "random"}
        answers: list[int] = []
        threads = [
            threading.Thread(target=lambda: answers.append(client.post("/api/think", json=body).status_code))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        while few.asked < 2:
            time.sleep(0.01)
        busy = client.post("/api/think", json=body)
        assert (busy.status_code, "too many" in busy.json()["error"]) == (503, True)
        assert client.post("/api/game", json=game()).status_code == 200
        go.set()
        for thread in threads:
            thread.join()
        assert answers == [200, 200]
        assert client.post("/api/think", json=body).status_code == 200


def test_who_has_gone_delays_nobody(client: TestClient):
    one = Thinking(threads=1)
    long = {"game": game(rules="kgp"), "agent": "alphabeta:ms=9000"}
    made = ask(client, "think", game=game(rules="kgp"), agent="alphabeta:ms=1")  # compiled beforehand
    assert made["move"]
    with serving(one) as url:
        address = ("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))
        body = json.dumps(long).encode()
        head = f"POST /api/think HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        clients = [socket.create_connection(address) for _ in range(3)]
        for each in clients:
            each.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        while one.asked < 3:
            time.sleep(0.01)
        began = time.monotonic()
        for each in clients:
            each.close()
        while one.asked and time.monotonic() < began + 9:
            time.sleep(0.01)
        assert time.monotonic() - began < 3


def test_seconds_are_those_of_thinking(client: TestClient):
    one = Thinking(threads=1)
    with TestClient(create_app(thinking=one), base_url="http://localhost") as single:
        one.pool.submit(time.sleep, 0.6)
        began = time.monotonic()
        answer = single.post("/api/think", json={"game": game("2"), "agent": "greedy"}).json()
        assert time.monotonic() - began > 0.5
        assert answer["seconds"] < 0.4


def test_what_takes_too_long_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(thinking, "PATIENCE", 0.1)
    slow = Thinking(threads=1)
    slow.choose = lambda *_: time.sleep(1) or Chosen("1", 0.0)  # type: ignore[method-assign]
    with TestClient(create_app(thinking=slow), base_url="http://localhost") as client:
        assert "no answer" in ask(client, "think", 504, game=game(), agent="random")["error"]


def test_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []

    class Made:
        def act(self, rules: Any, states: np.ndarray) -> np.ndarray:
            return batch.legal_masks(rules, states).argmax(axis=1)

    monkeypatch.setattr(thinking, "make_agent", lambda spec, seed=None: made.append(spec) or Made())
    client = TestClient(create_app(thinking=(minds := Thinking(threads=1))), base_url="http://localhost")
    for seeds in (1, 1, 2, 3, 4, 5, 1, 5):
        ask(client, "think", game=game(rules=f"kalah:pits=3,seeds={seeds}"), agent="bot")
    assert len(made) == 6  # neither the second 1 nor the second 5
    assert len(minds._kept) == thinking.KEPT


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
            server.send_signal(signal.SIGINT)
            rest = server.stdout.read()
    assert (server.returncode, "Traceback" in rest) == (130, False), rest
