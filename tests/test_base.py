"""Agent specs: what they make, their canonical form, and one clear error for each slip."""

import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import agents
from agents.base import GROUP, agent_names, make_agent
from kalah_env import KalahError, batch, parse_rules, specs
from kalah_env.resources import resource_dir


class Everything:
    """An agent with an option of every kind."""

    def __init__(
        self, path: str, *, sims: int = 8, scale: float = 1.0, noisy: bool = False, seed: int | None = None
    ):
        self.spec = ""
        self.given = (path, sims, scale, noisy, seed)

    def act(self, rules, states):
        return np.zeros(len(states), np.int64)


@pytest.fixture
def entry(monkeypatch):
    """Make `make_agent` see these entry points only: name=target."""

    def install(**targets):
        found = [EntryPoint(name, value, GROUP) for name, value in targets.items()]
        monkeypatch.setattr(
            specs, "entry_points", lambda group, name=None: [e for e in found if name in (None, e.name)]
        )

    return install


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("random", "random"),
        (" greedy : seed = 7 ", "greedy:seed=7"),
        ("alphabeta:depth=08", "alphabeta:depth=8"),
        ("alphabeta:seed=1,nodes=500", "alphabeta:nodes=500,seed=1"),
        ("mcts:c=0.50,sims=0800", "mcts:sims=800,c=0.5"),
    ],
)
def test_canonical_spec_makes_the_same_agent(spec, canonical):
    agent = make_agent(spec)
    assert agent.spec == canonical
    again = make_agent(canonical)
    assert (type(again), again.spec) == (type(agent), canonical)


@pytest.mark.parametrize(
    ("spec", "given", "canonical"),
    [
        ("all:a/b.pt", ("a/b.pt", 8, 1.0, False, 5), "all:a/b.pt"),
        ("all:noisy=true,x,scale=0.5,sims=64", ("x", 64, 0.5, True, 5), "all:x,sims=64,scale=0.5,noisy=true"),
        ("all:x,noisy=false", ("x", 8, 1.0, False, 5), "all:x"),
        ("all:path=x,sims=8,seed=9", ("x", 8, 1.0, False, 9), "all:x,seed=9"),
    ],
)
def test_constructor_gets_converted_options(entry, spec, given, canonical):
    entry(all=f"{__name__}:Everything")
    agent = make_agent(spec, seed=5)
    assert agent.given == given  # pyright: ignore[reportAttributeAccessIssue]
    assert agent.spec == canonical


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "agents are"),
        ("minimax", "agents are"),
        ("random:3", "'3' is not understood; write random:seed=int"),
        ("random:", "is not understood"),
        ("random:depth=3", "'depth=3' is not understood"),
        ("random:seed=", "'seed=' is not understood"),
        ("random:seed=1,seed=2", "seed stands twice"),
        ("random:seed=one", "seed=one is not a whole number"),
        ("random:seed=-1", "seed=-1 is not allowed; give a whole number, 0 to 9223372036854775807"),
        ("alphabeta", "give exactly one of depth=, nodes= and ms="),
        ("alphabeta:depth=4,ms=5", "depth, ms given; give exactly one"),
        ("alphabeta:depth=0", "depth=0 is out of range; it is 1 to 250"),
        ("alphabeta:nodes=0", "nodes=0 is out of range"),
        ("alphabeta:ms=0.5", "ms=0.5 is not a whole number"),
        ("mcts", "sims is missing; write mcts:sims=int,c=float,seed=int"),
        ("mcts:sims=0", "sims=0 is out of range; it is 1 to 1000000"),
        ("mcts:sims=9,c=-1", "c=-1.0 is out of range"),
        ("mcts:sims=9,c=nan", "c=nan is out of range"),
        ("all", "path is missing; write all:PATH,sims=int,scale=float,noisy=bool,seed=int"),
        ("all:x,y", "path stands twice"),
        ("all:x,noisy=yes", "noisy=yes is not true or false"),
        ("all:x,scale=wide", "scale=wide is not a number"),
    ],
)
def test_bad_spec_is_one_clear_error(entry, spec, words):
    entry(
        random="agents.simple:RandomAgent",
        alphabeta="agents.alphabeta:AlphaBetaAgent",
        mcts="agents.rollouts:RolloutAgent",
        all=f"{__name__}:Everything",
    )
    with pytest.raises(KalahError) as error:
        make_agent(spec)
    assert words in str(error.value)


def test_our_agents_are_registered():
    assert {"random", "greedy", "alphabeta", "mcts", "net", "onnx"} <= set(agent_names())


def test_two_packages_with_one_name_are_an_error(monkeypatch):
    found = [EntryPoint("random", target, GROUP) for target in ("agents.simple:RandomAgent", "other:Agent")]
    monkeypatch.setattr(specs, "entry_points", lambda **_: found)
    with pytest.raises(KalahError, match=r"ambiguous: agents\.simple:RandomAgent, other:Agent"):
        make_agent("random")


@pytest.mark.parametrize(
    ("package", "module", "hint"),
    [
        ("agents", "torch", 'pip install "kalah-env[train]"'),
        ("agents", "onnxruntime", 'pip install "kalah-env[onnx]"'),
        ("elsewhere", "torch", "pip install torch"),
    ],
)
def test_missing_optional_package_names_what_to_install(entry, monkeypatch, tmp_path, package, module, hint):
    (tmp_path / "absent_agent.py").write_text(f"import {module}.nn\n")
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(tmp_path)])
    monkeypatch.syspath_prepend(tmp_path)
    target = "agents.absent_agent" if package == "agents" else "absent_agent"
    entry(absent=f"{target}:Agent")
    with pytest.raises(KalahError) as error:
        make_agent("absent")
    assert f"needs the package {module}" in str(error.value)
    assert hint in str(error.value)


def test_missing_module_of_ours_stays_a_bug(entry):
    entry(lost="agents.not_written:Agent")
    with pytest.raises(ModuleNotFoundError):
        make_agent("lost")


OURS = [
    "random",
    "greedy",
    "alphabeta:depth=1",
    "mcts:sims=2",
    "perfect",
    "bot:ms=10",
    "net:kalah-6x4",
    f"onnx:{resource_dir('checkpoints') / 'kalah-6x4' / 'net.onnx'}",
]


@pytest.mark.parametrize("spec", OURS)
def test_every_agent_refuses_what_is_no_seed(spec):
    for words, seed in ((f"{spec}{',' if ':' in spec else ':'}seed=-1", None), (spec, -1)):
        with pytest.raises(KalahError, match="seed=-1 is not allowed; give a whole number, 0 to"):
            make_agent(words, seed)


@pytest.mark.parametrize("spec", OURS)
def test_positions_that_cannot_be_played_are_an_error(spec):
    rules = parse_rules("kalah")
    states = batch.new_games(rules, 2)
    batch.statuses(rules, states)[1] = 1
    with pytest.raises(KalahError, match="game 1 has ended"):
        make_agent(spec).act(rules, states)
    with pytest.raises(KalahError, match=r"shape \(2, 18\); these rules need an array \(B, 19\)"):
        make_agent(spec).act(rules, states[:, 1:])


@pytest.mark.parametrize("spec", ["random", "greedy", "alphabeta:depth=2"])
def test_seed_decides_the_moves_and_an_empty_batch_is_fine(spec):
    rules = parse_rules("kalah:pits=3,seeds=4,pie=true")
    states = batch.new_games(rules, 200)
    moves = [make_agent(spec, seed=seed).act(rules, states) for seed in (1, 1, 2)]
    assert moves[0].dtype == np.int64
    assert moves[0].tolist() == moves[1].tolist() != moves[2].tolist()
    assert make_agent(spec).act(rules, states[:0]).shape == (0,)
