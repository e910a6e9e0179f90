"""The peer of the search bench: mctx with a Kalah(6,4) in JAX and our network's weights, one thread.

Only `bench_search.py` imports it, where mctx and jax are installed (`pip install "kalah-env[bench]"`).
A board here is turned to the mover: 6 own pits, own store, 6 other pits, other store.
"""

# pyright: reportMissingImports=false
import os
from typing import Any

# One thread, as ours; read when jax is imported.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from agents.encoding import COUNT_CLASSES, MOVE_CLASSES
from agents.mcts import SearchConfig
from agents.network import KalahNet
from kalah_env import batch
from kalah_env.rules import Rules
from train.bench import Work

PITS, SIGN_WEIGHT = 6, SearchConfig().sign_weight
_RING = jnp.arange(2 * PITS + 1)  # where seeds fall: all but the other store


def turned(rules: Rules, states: np.ndarray) -> jax.Array:
    """Return the boards (B, 14) int32 of states (B, S), turned to the mover."""
    boards = states[:, : 2 * PITS + 2]
    other = np.roll(boards, PITS + 1, axis=1)
    return jnp.asarray(np.where(batch.sides(rules, states)[:, None] == 0, boards, other), jnp.int32)


def play(board: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Play a legal action on one board (14,); return the mover's board, if he goes on, and if it ended."""
    seeds = board[action]
    laps, rest = seeds // (2 * PITS + 1), seeds % (2 * PITS + 1)
    ring = board[: 2 * PITS + 1] * (action != _RING) + laps + ((_RING - action - 1) % (2 * PITS + 1) < rest)
    last = (action + seeds) % (2 * PITS + 1)
    facing = jnp.where(last < PITS, 2 * PITS - last, 0)
    takes = (last < PITS) & (ring[last] == 1) & (ring[facing] > 0)
    won = jnp.where(takes, 1 + ring[facing], 0)
    ring = jnp.where(takes & ((last == _RING) | (facing == _RING)), 0, ring)
    own, other = ring[:PITS], ring[PITS + 1 :]
    store = ring[PITS] + won
    ended = (own.sum() == 0) | (other.sum() == 0)
    store = store + jnp.where(ended, own.sum(), 0)
    other_store = board[-1] + jnp.where(ended, other.sum(), 0)
    keep = 1 - ended.astype(jnp.int32)
    board = jnp.concatenate([own * keep, store[None], other * keep, other_store[None]])
    return board, (last == PITS) & ~ended, ended


def move_classes(board: jax.Array) -> jax.Array:
    """Return the classes (6,) of what the mover's moves bring on one board (14,), as in `encoding.py`."""

    def move_class(action: jax.Array) -> jax.Array:
        moved, again, _ = play(board, action)
        gained = jnp.minimum(moved[PITS] - board[PITS], MOVE_CLASSES - 2)
        return jnp.where(board[action] > 0, jnp.where(again, 0, 1 + gained), -1)

    return jax.vmap(move_class)(jnp.arange(PITS))


def features(boards: jax.Array) -> jax.Array:
    """Return what `encoding.encode` returns for boards (B, 14) in midgame."""
    counts = jnp.concatenate([boards[:, :PITS], boards[:, PITS + 1 : -1]], 1)
    one_hot = jax.nn.one_hot(jnp.minimum(counts, COUNT_CLASSES - 1), COUNT_CLASSES).reshape(len(boards), -1)
    kinds = jax.vmap(move_classes)
    kinds = jnp.concatenate([kinds(boards), kinds(jnp.roll(boards, PITS + 1, axis=1))], 1)
    moves = jax.nn.one_hot(kinds, MOVE_CLASSES).reshape(len(boards), -1)  # zeros for a class of -1
    stores = jnp.stack([boards[:, PITS], boards[:, -1], counts.sum(1)], 1) / boards.sum(1, keepdims=True)
    return jnp.concatenate([one_hot, moves, counts / COUNT_CLASSES, stores, jnp.zeros((len(boards), 2))], 1)


def weights(net: KalahNet) -> dict[str, jax.Array]:
    """Return the network's weights, matrices turned for x @ w."""
    return {name: jnp.asarray(tensor.numpy().T) for name, tensor in net.state_dict().items()}


def evaluate(w: dict[str, jax.Array], blocks: int, boards: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return policy logits (B, 6) and utilities (B,), as `TorchEvaluator` does."""

    def linear(name: str, x: jax.Array) -> jax.Array:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = linear("stem", features(boards))
    for i in range(blocks):
        inner = jax.nn.relu(linear(f"blocks.{i}.first", jax.nn.relu(x)))
        x = x + linear(f"blocks.{i}.second", inner)
    x = jax.nn.relu(x)
    policy, outcome, margin = linear("policy", x), jax.nn.softmax(linear("outcome", x)), linear("margin", x)
    seeds = boards.sum(1)
    bins = margin.shape[1]
    remaining = jax.nn.softmax(margin) @ (2.0 * jnp.arange(bins) - (bins - 1))
    final = remaining + (seeds - boards[:, PITS] - boards[:, -1]) % 2 + boards[:, PITS] - boards[:, -1]
    value = SIGN_WEIGHT * (outcome[:, 0] - outcome[:, 2]) + (1 - SIGN_WEIGHT) * final / (seeds / 2)
    return jnp.where(boards[:, :PITS] > 0, policy, -1e9), value


def mctx_search(net: KalahNet, rules: Rules, states: np.ndarray, sims: int) -> Work:
    """Return a work that searches the positions with mctx, and returns the simulations."""
    blocks = net.config.blocks

    def recurrent(w: Any, key: Any, actions: jax.Array, embedding: Any) -> tuple[Any, Any]:
        boards, over = embedding
        moved, again, ended = jax.vmap(play)(boards, actions)
        margins = moved[:, PITS] - moved[:, -1]
        result = SIGN_WEIGHT * jnp.sign(margins) + (1 - SIGN_WEIGHT) * margins / (moved.sum(1) / 2)
        moved = jnp.where(again[:, None], moved, jnp.roll(moved, PITS + 1, axis=1))
        logits, value = evaluate(w, blocks, moved)
        over_now = over | ended
        discount = jnp.where(over_now, 0.0, jnp.where(again, 1.0, -1.0))
        answer = mctx.RecurrentFnOutput(
            reward=jnp.where(ended & ~over, result, 0.0),
            discount=discount,
            prior_logits=logits,
            value=jnp.where(over_now, 0.0, value),
        )
        return answer, (moved, over_now)

    @jax.jit
    def search(w: Any, key: Any, boards: jax.Array) -> Any:
        logits, value = evaluate(w, blocks, boards)
        embedding = (boards, jnp.zeros(len(boards), bool))
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=embedding)
        found = mctx.gumbel_muzero_policy(
            w, key, root, recurrent, sims, invalid_actions=boards[:, :PITS] == 0, gumbel_scale=0.0
        )
        return found.action

    given, boards = weights(net), turned(rules, states)

    def work() -> int:
        search(given, jax.random.PRNGKey(0), boards).block_until_ready()
        return sims * len(states)

    return work
