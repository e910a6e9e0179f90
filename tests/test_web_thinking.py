"""The API of `kalah serve`: agents and analysis, which may be named, and that nobody waits for another.

What else the server answers and refuses: `test_web.py`; how searches end when nobody waits: `test_halt.py`.
"""

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from asking import SMALL, ask, asking, game
from browsing import serving
from fastapi.testclient import TestClient

from agents.analysis import Analysis, MoveValue
from agents.web import thinking
from agents.web.models import GameIn
from agents.web.server import create_app
from agents.web.thinking import Chosen, Thinking, safe_spec
from agents.web.views import analysis_of, game_of
from kalah_env import batch
from kalah_env.rules import parse_rules


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    # What is new on this machine is compiled first, and no request waits as long as that.
    thought = game_of(GameIn(rules=SMALL, moves=["2"]))
    for agent in ("greedy", "alphabeta:depth=2", "alphabeta:ms=1", "mcts:sims=1", "bot:ms=50"):
        Thinking(threads=1).choose(thought, agent, 0)
    Thinking(threads=1).analyse(thought, 0.1)
    with asking() as client:
        yield client


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
        ("alphabeta:depth=200", "from 1 to 10."),
        ("alphabeta:ms=1e9", "not a whole number"),
        ("mcts:sims=0", "not a whole number"),
        ("perfect:ms=999999999", "from 1 to 10000."),
        ("elsewhere", "not offered"),
        ("", "not offered"),
        ("alphabeta", "exactly one"),
        ("alphabeta:nodes=9999999999999", "from 1 to 10000000."),
        ("human", "easy, medium, hard, perfect, random, greedy, alphabeta, mcts, bot, net, onnx."),
    ],
)
def test_agents_that_are_not_offered(client: TestClient, agent: str, said: str):
    assert said in ask(client, "think", 400, game=game(), agent=agent)["error"]
    assert said in ask(client, "agent", 400, rules=SMALL, agent=agent)["error"]


def test_an_agent_that_cannot_play_is_told_so_before_it_is_to_move(client: TestClient):
    for agent in ("mcts:sims=10000", "alphabeta:ms=9000", "alphabeta:depth=10"):
        began = time.monotonic()
        assert ask(client, "agent", rules="kalah:pits=8,seeds=8", agent=agent) == {"agent": agent}
        assert time.monotonic() - began < 2
    net = thinking.shipped_nets()[0]
    assert "cannot play" in ask(client, "agent", 400, rules=SMALL, agent=f"onnx:{net},sims=9")["error"]
    assert "there is no preset" in ask(client, "agent", 400, rules="x", agent="random")["error"]


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
    for seconds in ("NaN", "Infinity"):
        content = f'{{"game": {{}}, "seconds": {seconds}}}'
        answer = client.post("/api/analysis", content=content, headers={"content-type": "application/json"})
        assert answer.json()["error"].startswith(f"seconds: {seconds} is not a finite number")


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
    assert "-0.0," not in found.model_dump_json()


def test_nobody_is_to_move_in_a_finished_game(client: TestClient):
    over = game("3", start="<3,5,3,0,0,1,2,0,1> S")
    assert "over" in ask(client, "think", 400, game=over, agent="random")["error"]
    for rules in (SMALL, "kgp:pits=3"):  # the second has no solver, which would refuse by itself
        assert "over" in ask(client, "analysis", 400, game={**over, "rules": rules})["error"]


# Many at once


def test_a_thinker_delays_nobody(client: TestClient):
    slow = threading.Thread(
        target=ask, args=(client, "think"), kwargs={"game": game(rules="kgp"), "agent": "alphabeta:ms=3000"}
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
    assert took < 2.0
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
