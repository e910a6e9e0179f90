"""Games side by side in matches: who sits where, who begins, the built-in opponent, rewards, views.

What the Gymnasium environments (`vector.py`, `single.py`) are made of; they add spaces, infos and
resets. No rule is written here: plies, legality and ends are the engine's. A *player* is 0 or 1 and
sits at a side, which `swap` exchanges; rewards belong to players.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from kalah_env import batch, engine, features, text
from kalah_env.checks import whole_numbers
from kalah_env.errors import KalahError
from kalah_env.jit import njit
from kalah_env.rules import Rules, num_actions, parse_rules, side_pits, validate
from kalah_env.specs import make_agent

REWARDS = ("outcome", "margin")
STARTERS = ("south", "lot", "winner", 0, 1)
# (positions (K, S) int16, rules, rng) -> (K,) legal actions
Opponent = Callable[[np.ndarray, Rules, np.random.Generator], Any]
Observation = dict[str, np.ndarray]


def checked_rules(rules: str | Rules) -> Rules:
    """Return rules given as text or as `Rules`, validated."""
    return parse_rules(rules) if isinstance(rules, str) else validate(rules)


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise a `KalahError` unless `value` is one of `allowed`, words or numbers."""
    if isinstance(value, bool) or not isinstance(value, (str, int, np.integer)) or value not in allowed:
        *first, last = (str(one) for one in allowed)
        raise KalahError(f"{name}={value!r} is not known; it is {', '.join(first)} or {last}.")


def observation_space(rules: Rules) -> spaces.Space[Any]:
    """Return the space of what one player sees: the board's numbers and the legal actions."""
    return spaces.Dict(
        observation=spaces.Box(0.0, 1.0, (2 * side_pits(rules) + 2,), np.float32),
        action_mask=spaces.Box(0, 1, (num_actions(rules),), np.int8),
    )


def action_space(rules: Rules) -> spaces.Discrete:
    """Return the space of actions, legal or not."""
    return spaces.Discrete(num_actions(rules))


def first_state(rules: Rules, position: Any) -> np.ndarray:
    """Return the state (S,) a game starts from: of a position's text, or the rules' own for None."""
    return batch.new_games(rules, 1)[0] if position is None else text.parse_position(position, rules)


def reset_options(options: dict[str, Any] | None, starter: str | int, *more: str) -> tuple[Any, str | int]:
    """Return position and starter of a reset's options; `starter` is what holds where none is given."""
    if options is None:
        options = {}
    if not isinstance(options, dict):
        raise KalahError(f"reset: options={options!r} is no dictionary; give {{'position': TEXT}} or None.")
    known = ("position", "starter", *more)
    unknown = sorted(map(str, set(options) - set(known)))
    if unknown:
        raise KalahError(f"reset: there is no option {unknown[0]!r}; options are {', '.join(known)}.")
    check_choice("starter", options.get("starter", starter), STARTERS)
    return options.get("position"), options.get("starter", starter)


def south_players(
    starter: str | int, sides: np.ndarray, winners: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return which player sits South in games where `sides` are to move: (B,) of 0, 1.

    `south`: player 0. Else somebody begins, that is, sits at the side to move: player 0 or 1, by
    `lot`, or the last `winner`.
    """
    if starter == "south":
        return np.zeros(len(sides), np.int64)
    if starter == "lot":
        return rng.integers(2, size=len(sides)) ^ sides
    return (winners if starter == "winner" else np.int64(starter)) ^ sides.astype(np.int64)


@njit
def south_reward(rules, s, divisor, by_margin):
    """Return South's reward in a game that is over; North's is the negative."""
    margin = engine.margin(rules, s)
    if by_margin and rules.win == 0:
        return margin / float(divisor)
    return float(np.sign(margin))


@njit
def _turn(rules, states, south, seats, winners, divisors, by_margin, actions, waits, rewards, reward, ended):
    """Play one legal action in each running game that does not wait, then score the games that end.

    rewards: (B, 2), reward: (B,) of who acted or sits at `seats`, ended: (2, B) bool, over and
    truncated; all of them 0 before. winners: (B,) the last winner, who stays where nobody wins.
    """
    at = engine.board_size(rules)
    swap = engine.pit_actions(rules)
    for b in range(states.shape[0]):
        s = states[b]
        actor = s[at + engine.SIDE] ^ south[b] if seats[b] < 0 else seats[b]
        if s[at + engine.STATUS] == engine.RUNNING and not waits[b]:
            engine.play(rules, s, actions[b])
            if actions[b] == swap:
                south[b] = 1 - south[b]
        if s[at + engine.STATUS] == engine.OVER:
            value = south_reward(rules, s, divisors[b], by_margin)
            rewards[b, south[b]] = value
            rewards[b, 1 - south[b]] = 0.0 - value
            reward[b] = rewards[b, actor]
            if value != 0.0:
                winners[b] = south[b] if value > 0.0 else 1 - south[b]
            ended[0, b] = True
        elif s[at + engine.STATUS] == engine.TRUNCATED:
            ended[1, b] = True


@njit
def _observe(rules, states, south, seats, divisors, shares, boards, masks, to_move):
    """Write what each game's viewer sees: who sits at `seats`, or where it is -1 who is to move.

    shares: (T+1,) float32, shares[n] = n/T for the number T of seeds that nearly all games have: a
    division is what an observation costs.
    """
    half = engine.board_size(rules) // 2
    total = shares.shape[0] - 1
    for b in range(states.shape[0]):
        s = states[b]
        player = s[2 * half + engine.SIDE] ^ south[b]
        to_move[b] = player
        side = (player if seats[b] < 0 else seats[b]) ^ south[b]
        own, other = s[side * half : (side + 1) * half], s[(1 - side) * half : (2 - side) * half]
        if divisors[b] == total:
            for i in range(half):
                boards[b, i] = shares[own[i]]
                boards[b, half + i] = shares[other[i]]
        else:
            for i in range(half):
                boards[b, i] = np.float32(own[i]) / divisors[b]
                boards[b, half + i] = np.float32(other[i]) / divisors[b]
        engine.legal_mask(rules, s, masks[b])


@njit
def _find_illegal(statuses, masks, actions, illegal):
    """Mark the running games whose action is not in the mask; return their number."""
    count = 0
    for b in range(statuses.shape[0]):
        legal = 0 <= actions[b] < masks.shape[1] and masks[b, actions[b]] == 1
        illegal[b] = statuses[b] == engine.RUNNING and not legal
        count += illegal[b]
    return count


def _complaint(
    rules: Rules, states: np.ndarray, masks: np.ndarray, actions: np.ndarray, illegal: np.ndarray
) -> str:
    game = int(illegal.argmax())
    return (
        f"game {game}: action {actions[game]} is illegal in {text.format_position(rules, states[game])}; "
        f"legal are {np.flatnonzero(masks[game]).tolist()}."
    )


class Matches:
    """`count` games, each with its seats, and the memory of who won last there.

    After `play`: `reward` (B,) of who acted (with an opponent: of the agent), `rewards` (B, 2) of both
    players, `terminated`, `truncated` and `illegal` (B,) bool. Later calls overwrite them.
    A game that is over when it begins (a decided start, or the opponent's first turn ended it) shows
    an empty mask; the next `play` ends it with its result, whatever the action.
    """

    def __init__(
        self,
        rules: str | Rules,
        count: int,
        opponent: str | Opponent | None,
        seat: int | str,
        starter: str | int,
        start: str | None,
        reward: str,
    ) -> None:
        self.rules = checked_rules(rules)
        check_choice("reward", reward, REWARDS)
        check_choice("starter", starter, STARTERS)
        check_choice("seat", seat, (0, 1, "random"))
        if opponent is None and seat != 0:
            raise KalahError(f"seat={seat!r} needs an opponent; without one the caller plays both seats.")
        if seat == "random" and starter == "winner":
            raise KalahError("seat='random' clashes with starter='winner': a winner keeps his seat.")
        if not (opponent is None or isinstance(opponent, str) or callable(opponent)):
            raise KalahError(f"opponent={opponent!r} is not known; give an agent's text or a function.")
        self.starter, self.seat, self.opponent = starter, seat, opponent
        self._agent = make_agent(opponent) if isinstance(opponent, str) else None
        self._by_margin = reward == "margin"
        self._first = first_state(self.rules, start)
        self.states = np.tile(self._first, (count, 1))
        self.divisors = np.ones(count, np.float32)
        self.south = np.zeros(count, np.int64)
        self.seats = np.full(count, -1 if opponent is None else 0, np.int64)
        self._masks = np.zeros((count, num_actions(self.rules)), np.int8)  # as last observed
        self.winners = np.zeros(count, np.int64)  # before anybody has won, player 0 begins
        self.rewards, self.reward = np.zeros((count, 2)), np.zeros(count)
        self._ended = self.terminated, self.truncated = np.zeros((2, count), np.bool_)
        self.illegal = np.zeros(count, np.bool_)
        total = features.divisor(self.rules, self._first)
        self._shares = np.arange(int(total) + 1, dtype=np.float32) / total

    def reseed(self, rng: np.random.Generator) -> None:
        """Start the opponent's own randomness anew from `rng`."""
        if isinstance(self.opponent, str):
            self._agent = make_agent(self.opponent, seed=int(rng.integers(2**63)))

    def begin(
        self,
        which: np.ndarray,
        rng: np.random.Generator,
        position: str | None = None,
        starter: str | int | None = None,
    ) -> None:
        """Start the games `which` (their numbers); the opponent plays until the agent is to move."""
        first = self._first if position is None else first_state(self.rules, position)
        starter = self.starter if starter is None else starter
        self.states[which] = first
        self.divisors[which] = features.divisor(self.rules, first)
        sides = batch.sides(self.rules, self.states[which])
        self.illegal[which] = False
        self.south[which] = south_players(starter, sides, self.winners[which], rng)
        if self.opponent is not None:
            drawn = rng.integers(2, size=len(which)) if self.seat == "random" else self.seat
            self.seats[which] = drawn
            self._answer(rng)

    def play(self, actions: np.ndarray, rng: np.random.Generator) -> None:
        """Play the caller's action in each game and, with an opponent, what he answers.

        An illegal action raises `KalahError` and changes nothing; with an opponent it ends the game.
        """
        bad = _find_illegal(batch.statuses(self.rules, self.states), self._masks, actions, self.illegal)
        if self.opponent is None and bad:
            raise KalahError(_complaint(self.rules, self.states, self._masks, actions, self.illegal))
        self._turn(actions, self.illegal)
        if self.opponent is not None:
            self._answer(rng)
        if bad:
            self.rewards[self.illegal, self.seats[self.illegal]] = -1.0
            self.reward[self.illegal] = -1.0
            self.winners[self.illegal] = 1 - self.seats[self.illegal]
            self.terminated |= self.illegal

    def observe(self, which: Any = slice(None)) -> tuple[Observation, np.ndarray]:
        """Return fresh observations of the games `which`, and the player to move: (B,) int64.

        All games must be observed before they are played on: `play` goes by the masks seen then.
        """
        states = self.states[which]
        boards = np.empty((len(states), 2 * side_pits(self.rules) + 2), np.float32)
        masks = np.empty((len(states), num_actions(self.rules)), np.int8)
        to_move = np.empty(len(states), np.int64)
        _observe(
            self.rules,
            states,
            self.south[which],
            self.seats[which],
            self.divisors[which],
            self._shares,
            boards,
            masks,
            to_move,
        )
        if self.opponent is not None:
            masks[self.illegal[which]] = 0
        self._masks[which] = masks
        return {"observation": boards, "action_mask": masks}, to_move

    def names(self, game: int) -> tuple[str, str]:
        """Return what to call South and North of a game in a drawing."""
        names = ["player_0", "player_1"]
        if self.opponent is not None:
            names[1 - self.seats[game]] += " (opponent)"
        south = self.south[game]
        return names[south], names[1 - south]

    def _turn(self, actions: np.ndarray, waits: np.ndarray) -> None:
        outcome = self.rewards, self.reward, self._ended
        for array in outcome:
            array.fill(0)
        games = self.states, self.south, self.seats, self.winners, self.divisors
        _turn(self.rules, *games, self._by_margin, actions, waits, *outcome)

    def _answer(self, rng: np.random.Generator) -> None:
        """Let the opponent play wherever he is to move, through his extra turns."""
        while True:
            to_move = batch.sides(self.rules, self.states) ^ self.south
            waits = (to_move != self.seats) & (batch.statuses(self.rules, self.states) == engine.RUNNING)
            which = np.flatnonzero(waits)
            if not len(which):
                return
            actions = np.zeros(len(self.states), np.int64)
            actions[which] = self._ask(self.states[which], rng)
            self._turn(actions, ~waits)

    def _ask(self, positions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the opponent's actions (K,); `KalahError` if they are none, or illegal."""
        given = positions.copy()
        if self._agent is not None:
            actions = self._agent.act(self.rules, given)
        else:
            assert callable(self.opponent)
            actions = self.opponent(given, self.rules, rng)
        actions = whole_numbers("the opponent answered", actions, len(positions))
        illegal, masks = np.zeros(len(positions), np.bool_), batch.legal_masks(self.rules, positions)
        if _find_illegal(batch.statuses(self.rules, positions), masks, actions, illegal):
            complaint = _complaint(self.rules, positions, masks, actions, illegal)
            raise KalahError(f"the opponent's answer: {complaint}")
        return actions
