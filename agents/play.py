"""A game in the terminal: humans and agents in any seats, one line of input a move.

Reads and writes text streams, so it also works in a pipe and in tests. A human may take moves back, ask
for a hint, save and load. Not here: which agents play (the command `kalah play`), a browser (`web/`), the
game itself (`kalah_env/game.py`).
"""

import re
from collections.abc import Callable, Iterable
from typing import TextIO

from agents.analysis import Analyst, say_value
from agents.base import Agent, check_plays
from agents.levels import HUMAN, name_of
from agents.saved import load_game, save_game
from kalah_env import text
from kalah_env.errors import KalahError
from kalah_env.game import Game, say_ply, say_result
from kalah_env.rules import Rules, format_rules

HINT_SECONDS = 1.0
_LONGEST = 500  # characters of a complaint
_MOVE = re.compile(r"\d+[+-]?|swap")
_COMMANDS = """\
  undo       take back your last move and what was answered (redo: make it again)
  hint       what your moves are worth
  moves      the moves so far
  board      show the board and its position as text
  save FILE  write the game to a new file (.jsonl: a JSON record, else text)
  load FILE  go on with a game that was saved
  help       show this
  quit       leave the game (also q, exit)"""


def help_text(rules: Rules) -> str:
    """Return what a human may type in a game of these rules."""
    if rules.rows == 1:
        where = "your pits are the lower row, 1 farthest from your store"
    else:
        where = "your pits are the two lower rows, with their numbers"
    lines = [f"  1, 2, ...  sow the seeds of that pit; {where}"]
    if rules.directions == 2:
        lines = [
            f"  1+, 2+ ... sow that pit counter-clockwise; {where}",
            "  1-, 2- ... sow that pit clockwise",
        ]
    if rules.pie:
        lines.append("  swap       change seats with the other player (only when it is offered)")
    return "\n".join([*lines, _COMMANDS])


class _LeftError(Exception):
    """The human has left the game; the message says how."""


SEATS = ("South", "North")  # tags, and keys of those who began on that side
Seat = Callable[[Game, Agent | None, int], Agent | None]


def play_game(
    game: Game,
    players: Iterable[Agent | None],
    source: TextIO,
    sink: TextIO,
    seconds: float = HINT_SECONDS,
    seat: Seat = lambda game, player, seat: player,
    save: str | None = None,
) -> Game:
    """Play on from where `game` stands and return it as it was left, over or at `quit`.

    players: who begins on South's side, and on North's; None is a human, whose lines are read from
    `source`. Everything is told on `sink`. seconds: of thinking for a hint; seat: of a loaded game, who
    sat in seat 0 or 1 before, and the seat, returns who sits there now; save: a new file for the game
    however it ends.
    """
    table = _Table(game, list(players), source, sink, seconds, seat)
    table.check_players()
    table.say(f"{format_rules(game.rules)}: {table.who(0)} against {table.who(1)}. Type help for help.")
    try:
        table.play_on()
    except _LeftError as left:
        if table.game.running:
            table.say(f"\n{left} The game stands at {table.position()}.")
    except (KeyboardInterrupt, KalahError):
        table.say(f"\nThe game stands at {table.position()}.")
        raise
    finally:
        if save:
            table.save(save)
    return table.game


class _Table:
    """The game, who sits at it, and what a human's words do."""

    def __init__(
        self,
        game: Game,
        players: list[Agent | None],
        source: TextIO,
        sink: TextIO,
        seconds: float,
        seat: Seat,
    ) -> None:
        self.game, self.players, self.source, self.sink = game, players, source, sink
        self.seconds, self.seat = seconds, seat
        self.analyst: Analyst | None = None
        self.commands: dict[str, Callable[[], None]] = {
            "help": lambda: self.say(help_text(self.game.rules)),
            "board": lambda: self.say(f"{self.board()}\n{self.position()}"),
            "moves": lambda: self.say(" ".join(self.game.moves) or "No move has been made yet."),
            "undo": self.undo,
            "redo": self.redo,
            "hint": self.hint,
            **dict.fromkeys(("quit", "exit", "q"), self.leave),
        }

    def say(self, line: str = "", end: str = "\n") -> None:
        """Tell a line."""
        print(line, file=self.sink, end=end, flush=True)

    def check_players(self) -> None:
        """Raise `KalahError` now where an agent cannot play these rules, not at its first move."""
        for agent in self.players:
            if agent is not None:
                check_plays(agent, self.game.rules)

    def play_on(self) -> None:
        """Play to the end, where a human may still take moves back and save; `_LeftError` before it."""
        while True:
            while self.game.running:
                self.turn()
            self.say(f"\n{text.draw_board(self.game.rules, self.game.state)}")
            self.say(say_result(self.game.rules, self.game.state, [self.who(0), self.who(1)]))
            if None not in self.players:
                return
            self.ask()

    def turn(self) -> None:
        """Let who is to move do so. Ctrl-C while an agent thinks gives a human his last move back."""
        agent = self.players[self.game.mover]
        if agent is None:
            self.ask()
            return
        try:
            action = int(agent.act(self.game.rules, self.game.state[None])[0])
        except KeyboardInterrupt:
            if not any(self.players[ply.player] is None for ply in self.game.plies):
                raise
            self.say(f"\n{agent.spec} has stopped thinking.")
            self.undo()
        else:
            self.play(text.format_move(self.game.rules, action))

    def name(self, player: int) -> str:
        """Return a player's name: that of the game's tag where it fits who plays."""
        agent = self.players[player]
        name = name_of(HUMAN if agent is None else agent.spec, self.game.tags.get(SEATS[player]))
        both = self.game.rules.pie and self.players == [None, None]  # whom a swap would confuse
        return f"{HUMAN} {player + 1}" if name == HUMAN and both else name

    def who(self, side: int) -> str:
        """Return who sits at a side now."""
        return f"{SEATS[side]} ({self.name(self.game.player_at(side))})"

    def board(self) -> str:
        """Return the board, drawn for who is to move."""
        return f"\n{text.draw_board(self.game.rules, self.game.state, self.game.side)}\n"

    def position(self) -> str:
        """Return the position's text."""
        return text.format_position(self.game.rules, self.game.state)

    def play(self, move: str) -> None:
        """Make a move and tell what it did."""
        who = self.who(self.game.side)
        ply = self.game.play(move)
        self.say(say_ply(ply, who))
        if ply.move == "swap":
            self.say(f"Now {self.who(0)}, {self.who(1)}.")

    def ask(self) -> None:
        """Read lines until one makes a move, or changes what there is to be moved."""
        before = self.game, len(self.game.plies)
        if self.game.running:
            legal = ", ".join(text.legal_moves(self.game.rules, self.game.state))
            prompt = f"{SEATS[self.game.side]}, your move ({legal}): "
            self.say(self.board())
        else:
            prompt = "undo, save FILE, load FILE or quit: "
        while (self.game, len(self.game.plies)) == before:
            self.say(prompt, end="")
            line = self.source.readline()
            if not line:
                raise _LeftError("End of input.")
            word, _, rest = line.strip().partition(" ")
            try:
                self._do(word.lower(), rest.strip())
            except KalahError as error:
                said = str(error)
                said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]} ..."
                self.say(f"{said} Type help for help.")

    def _do(self, word: str, rest: str) -> None:
        if word == "save":
            self.save(rest)
        elif word == "load":
            self.load(rest)
        elif word in self.commands:
            if rest:
                raise KalahError(f"{word} stands alone: nothing is known of {rest!r} behind it.")
            self.commands[word]()
        elif _MOVE.fullmatch(word) and not rest:
            self.play(word)
        elif word:
            raise KalahError(f"{f'{word} {rest}'.strip()!r} is no move and no command.")

    def leave(self) -> None:
        """End the game here."""
        raise _LeftError("You left.")

    def undo(self) -> None:
        """Go back to the last decision of a human; `KalahError` if there is none."""
        for ply in range(len(self.game.plies) - 1, -1, -1):
            if self.players[self.game.plies[ply].player] is None:
                self.game.go_to(ply)
                self.say(f"Taken back: {_count(ply)} {'is' if ply == 1 else 'are'} left.")
                return
        raise KalahError("undo: no move of a human has been made yet.")

    def redo(self) -> None:
        """Go on to the next decision of a human that was taken back."""
        self.game.redo()
        while self.game.undone and self.players[self.game.mover] is not None:
            self.game.redo()
        self.say(f"Made again: {_count(len(self.game.plies))} now.")

    def hint(self) -> None:
        """Tell what every move is worth."""
        self.analyst = self.analyst or Analyst(self.game.rules)
        found = self.analyst.analyse(self.game.state, self.seconds)
        for value in found.moves:
            self.say(f"  {value.move:>4}  {say_value(self.game.rules, value)}")

    def save(self, name: str) -> None:
        """Write the game to a new file."""
        tags = {seat: self.name(player) for player, seat in enumerate(SEATS)}
        whole = save_game(self.game, name, tags)
        lost = "" if whole else ", without tags and comments that only a game as text can hold"
        self.say(f"Saved in {name}{lost}.")

    def load(self, name: str) -> None:
        """Go on with the game of a file, of the same rules."""
        game = load_game(name)
        if format_rules(game.rules) != format_rules(self.game.rules):
            raise KalahError(
                f"load: {name} is a game of {format_rules(game.rules)}; begin with --rules "
                f"{format_rules(game.rules)} to play it."
            )
        self.players = [self.seat(game, player, number) for number, player in enumerate(self.players)]
        self.game = game
        self.say(f"Loaded {name}: {_count(len(game.plies))}. {self.who(0)}, {self.who(1)}.")


def _count(moves: int) -> str:
    return f"{moves} move{'' if moves == 1 else 's'}"
