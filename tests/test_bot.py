"""The agent `bot` and its timed search: exact where it can be, in time, without torch."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from families import SMALL, action_values, random_positions
from training import uniform

from agents import endgame, nets
from agents.base import make_agent
from agents.bot import BotAgent
from agents.mcts import SearchConfig
from agents.network import KalahNet, NetConfig
from agents.neural import save_net
from agents.timed import TimedSearch
from kalah_env import batch
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, parse_rules
from train import export

RULES = parse_rules("kalah:pits=3,seeds=3")


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KALAH_TABLE_DIR", str(tmp_path / "tables"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a published net of `RULES` that knows nothing."""
    torch.manual_seed(0)
    net = KalahNet(NetConfig.for_rules(RULES, 16, 1))
    save_net(tmp_path / "net", net, RULES)
    export.export_onnx(net, RULES, tmp_path / "net" / nets.ONNX)
    return tmp_path / "net"


def choices(rules: Rules, count: int, plies: int) -> np.ndarray:
    states = random_positions(rules, count, plies, plies)
    return states[batch.legal_masks(rules, states).sum(1) > 1]


def is_best(rules: Rules, state: np.ndarray, action: int, memo: dict) -> bool:
    values = action_values(rules, state, memo)
    return values[int(action)] == max(values.values())


@pytest.mark.parametrize("spec", ["kalah:pits=3,seeds=3", "danish:pits=3,seeds=3", "mankalah:pits=3,seeds=3"])
def test_timed_search_proves_what_a_small_tree_holds(spec: str) -> None:
    """With a network that knows nothing and no table, by leaves alone: exact, best, and before time is up."""
    rules = parse_rules(spec)
    search = TimedSearch(rules, uniform, None, SearchConfig(sign_weight=0.0))
    memo: dict = {}
    states = choices(rules, 30, 7)
    assert len(states) > 5
    for state in states:
        found = search.run(state, 20.0)
        legal = batch.legal_masks(rules, state[None])[0] > 0
        assert np.isnan(found.utilities[~legal]).all()
        assert found.exact
        assert found.seconds < 19
        assert is_best(rules, state, found.action, memo)


def test_timed_search_takes_its_time_and_no_more() -> None:
    rules = parse_rules("kalah")
    search = TimedSearch(rules, uniform, None, SearchConfig())
    state = batch.new_games(rules, 1)[0]
    search.run(state, 0.05)
    for seconds in (0.05, 0.3):
        taken = []
        for _ in range(4):  # the shortest: the machine may be busy
            began = time.monotonic()
            found = search.run(state, seconds)
            taken.append(time.monotonic() - began)
        assert seconds <= min(taken) < seconds + 0.1
        assert found.simulations > 20


def test_timed_search_with_a_table_leaves_nothing_to_the_network() -> None:
    search = TimedSearch(RULES, uniform, endgame.compute(RULES, 17), SearchConfig(sign_weight=0.0))
    memo: dict = {}
    for state in choices(RULES, 30, 4):
        found = search.run(state, 5.0)
        assert found.exact
        assert found.simulations == 0
        assert is_best(RULES, state, found.action, memo)


def test_a_net_by_the_clock_keeps_to_it_and_says_what_it_is(folder: Path) -> None:
    states = choices(RULES, 20, 3)
    for spec in (f"net:{folder},ms=40", f"onnx:{folder / nets.ONNX},ms=40,endgame=6"):
        agent = make_agent(spec)
        assert agent.spec == spec
        agent.act(RULES, states[:1])  # compiles
        began = time.monotonic()
        actions = agent.act(RULES._replace(seeds=9), batch.new_games(RULES._replace(seeds=9), 10))
        assert 0.3 < time.monotonic() - began < 4
        assert len(set(actions.tolist())) == 1
    memo: dict = {}
    for state, action in zip(states, make_agent(f"net:{folder},ms=200").act(RULES, states), strict=True):
        assert is_best(RULES, state, action, memo)
    for spec, said in (
        ("sims=4,ms=4", "sims=4 and ms=4 are two limits"),
        ("ms=4,search=puct", "give sims= in place of ms="),
        ("endgame=4", "give sims= or ms= as well"),
        ("ms=-1", "ms=-1 is out of range"),
    ):
        with pytest.raises(KalahError, match=said):
            make_agent(f"net:{folder},{spec}")


def test_moves_given_up_early_are_not_chosen() -> None:
    """One move's network value is flattered at first sight, and found out by what follows."""
    rules = parse_rules("kalah:pits=4,seeds=3")
    start = batch.new_games(rules, 1)[0]
    traps = batch.new_games(rules, 1)
    batch.step(rules, traps, np.array([0]))

    def flatter(rules: Rules, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, values = uniform(rules, states)
        behind = (states == traps[0]).all(1)
        return logits, np.where(behind, -1.0, values).astype(np.float32)

    found = TimedSearch(rules, flatter, None, SearchConfig()).run(start, 0.3)
    assert found.action != 0
    assert found.utilities[0] < 0.5


@pytest.mark.parametrize("name", SMALL)
def test_bot_plays_every_family_without_a_net(name: str) -> None:
    rules = parse_rules(SMALL[name])
    states = choices(rules, 6, 3)
    bot = BotAgent(ms=20)
    actions = bot.act(rules, states)
    assert (batch.legal_masks(rules, states)[np.arange(len(states)), actions] == 1).all()
    assert sum(bot.chosen.values()) == len(states)


def test_bot_with_a_net_plays_perfectly_where_it_can_prove(folder: Path) -> None:
    bot = BotAgent(ms=300, net=str(folder))
    memo: dict = {}
    states = choices(RULES, 20, 3)
    for state, action in zip(states, bot.act(RULES, states), strict=True):
        assert is_best(RULES, state, action, memo)
    assert set(bot.chosen) <= {"solver", "proved"}


@pytest.mark.parametrize("option", ["early_stop=keep", "early_stop=sweep", "ply_limit=300"])
def test_a_stop_that_leaves_the_winner_hides_neither_net_nor_solver(
    folder: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = parse_rules(f"kalah:pits=3,seeds=3,{option}")
    bot = BotAgent(ms=300, net=str(folder))
    memo: dict = {}
    states = choices(rules, 20, 3)
    for state, action in zip(states, bot.act(rules, states), strict=True):
        values = action_values(rules, state, memo)
        assert np.sign(values[int(action)]) == np.sign(max(values.values()))
    assert set(bot.chosen) <= {"solver", "proved"}
    monkeypatch.setattr("agents.bot.SOLVER_SEEDS", 0)
    monkeypatch.setattr("agents.bot.endgame.SMALL", 100)  # a table of few seeds
    searching = BotAgent(ms=10, net=str(folder))
    searching.act(rules._replace(seeds=8), batch.new_games(rules._replace(seeds=8), 2))
    assert searching.chosen == {"search": 2}


def test_bot_searches_with_its_net_where_the_solver_is_not_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.bot.SOLVER_SEEDS", 0)
    monkeypatch.setattr("agents.bot.endgame.SMALL", 100)  # a table of few seeds
    bot = BotAgent(ms=10, net=str(folder))
    rules = RULES._replace(seeds=8)
    bot.act(rules, batch.new_games(rules, 2))
    assert bot.chosen == {"search": 2}


def test_bot_takes_the_shipped_net_of_the_rules_and_the_nearest_seeds(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.nets.resource_dir", lambda _: tmp_path / "shipped")
    assert nets.shipped_for(RULES) is None
    for seeds in (2, 3, 6):
        copied = tmp_path / "shipped" / f"kalah-3x{seeds}"
        copied.mkdir(parents=True)
        for file in folder.iterdir():
            (copied / file.name).write_bytes(file.read_bytes())
        text = (copied / "config.json").read_text()
        (copied / "config.json").write_text(text.replace("seeds=3", f"seeds={seeds}"))
    assert nets.shipped_for(RULES) == tmp_path / "shipped" / "kalah-3x3"
    assert nets.shipped_for(RULES._replace(seeds=5)) == tmp_path / "shipped" / "kalah-3x6"
    assert nets.shipped_for(parse_rules("danish:pits=3,seeds=3")) is None
    (tmp_path / "shipped/kalah-3x3/net.onnx").unlink()
    assert nets.shipped_for(RULES) == tmp_path / "shipped" / "kalah-3x2"


def test_bot_refuses_nets_it_cannot_use(folder: Path) -> None:
    danish = parse_rules("danish:pits=3,seeds=3")
    with pytest.raises(KalahError, match="was trained on kalah:pits=3,seeds=3 and cannot play danish"):
        BotAgent(net=str(folder)).act(danish, choices(danish, 3, 2))
    (folder / nets.ONNX).unlink()
    with pytest.raises(KalahError, match=r"holds no net\.onnx; `kalah export`"):
        BotAgent(net=str(folder)).act(RULES, choices(RULES, 3, 2))
    for wrong in ({"ms": 0}, {"memory": 0}, {"sign_weight": 2.0}):
        with pytest.raises(KalahError, match="out of range"):
            BotAgent(**wrong)


def test_bot_and_exported_nets_start_without_torch(folder: Path) -> None:
    code = (
        "import sys\n"
        "from agents.base import make_agent\n"
        "from kalah_env import batch, parse_rules\n"
        "rules = parse_rules('kalah:pits=3,seeds=3')\n"
        f"for spec in ('bot:ms=50,net={folder}', 'onnx:{folder}/net.onnx,sims=8'):\n"
        "    make_agent(spec).act(rules, batch.new_games(rules, 1))\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'onnxruntime' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=250)


def test_a_bot_reports_to_nobody(folder: Path, tmp_path: Path) -> None:
    """ONNX Runtime keeps the name it gave to a machine, and what it is to send, in files at home."""
    home = tmp_path / "home"
    home.mkdir()
    away = ("XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY", "CI")
    environment = {name: value for name, value in os.environ.items() if name not in away}
    code = f"from agents.exported import OnnxEvaluator; OnnxEvaluator('{folder}/net.onnx')"
    subprocess.run([sys.executable, "-c", code], check=True, env={**environment, "HOME": str(home)})
    assert not list(home.rglob("*onnxruntime*"))


def test_bot_by_its_text_keeps_to_the_time(folder: Path) -> None:
    bot = make_agent(f"bot:ms=60,net={folder}")
    rules = RULES._replace(seeds=9)
    states = batch.new_games(rules, 1)
    bot.act(rules, states)
    taken = []
    for _ in range(8):  # the shortest: the machine may be busy
        began = time.monotonic()
        bot.act(rules, states)
        taken.append(time.monotonic() - began)
    assert min(taken) < 0.09


def test_the_bot_keeps_the_parts_of_a_few_rule_sets() -> None:
    bot = BotAgent(ms=1, memory=1)
    loaded = []
    for seeds in (1, 2, 1, 3, 1):
        rules = RULES._replace(seeds=seeds)
        bot.act(rules, batch.new_games(rules, 1))
        loaded.append([mind.rules.seeds for mind in bot._minds.values()])
    assert loaded[1:] == [[1, 2], [2, 1], [1, 3], [3, 1]]
