"""A game in the terminal: humans and agents in any seats, one line of input a move.

Reads and writes text streams, so it also works in a pipe and in tests. A human may take moves back, ask
for a hint, save and load. Not here: which agents play (the command `kalah play`), a browser (`web/`), the
game itself (`kalah_env/game.py`).
"""

from collections.abc import Callable, Sequence
from typing import TextIO

from agents.analysis import Analyst, MoveValue
from agents.base import Agent
from agents.saved import load_game, save_game
from kalah_env import text
from kalah_env.errors import KalahError
from kalah_env.game import Game, say_ply, say_result
from kalah_env.rules import Rules, format_rules

HINT_SECONDS = 1.0
_LONGEST = 500  # characters of a complaint
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


def play_game(
    game: Game, players: Sequence[Agent | None], source: TextIO, sink: TextIO, seconds: float = HINT_SECONDS
) -> Game:
    """Play on from where `game` stands and return it as it was left, over or at `quit`.

    players: who begins on South's side, and on North's; None is a human, whose lines are read from
    `source`. Everything is told on `sink`. seconds: of thinking for a hint.
    """
    table = _Table(game, players, source, sink, seconds)
    table.say(f"{format_rules(game.rules)}: {table.who(0)} against {table.who(1)}. Type help for help.")
    try:
        while table.game.running:
            agent = players[table.game.mover]
            if agent is None:
                table.ask()
            else:
                action = int(agent.act(game.rules, table.game.state[None])[0])
                table.play(text.format_move(game.rules, action))
    except _LeftError as left:
        table.say(f"\n{left} The game stands at {table.position()}.")
        return table.game
    except KeyboardInterrupt:
        table.say(f"\nThe game stands at {table.position()}.")
        raise
    table.say()
    table.say(text.draw_board(game.rules, table.game.state))
    table.say(say_result(game.rules, table.game.state, [table.who(0), table.who(1)]))
    return table.game


class _Table:
    """The game, who sits at it, and what a human's words do."""

    def __init__(
        self, game: Game, players: Sequence[Agent | None], source: TextIO, sink: TextIO, seconds: float
    ) -> None:
        self.game, self.players, self.source, self.sink, self.seconds = game, players, source, sink, seconds
        self.analyst: Analyst | None = None
        self.commands: dict[str, Callable[[], None]] = {
            "help": lambda: self.say(help_text(self.game.rules)),
            "board": lambda: self.say(f"{self.board()}\n{self.position()}"),
            "moves": lambda: self.say(" ".join(self.game.moves) or "No move has been made yet."),
            "undo": self.undo,
            "redo": self.redo,
            "hint": self.hint,
        }

    def say(self, line: str = "", end: str = "\n") -> None:
        """Tell a line."""
        print(line, file=self.sink, end=end, flush=True)

    def who(self, side: int) -> str:
        """Return the name of who sits at a side now."""
        agent = self.players[self.game.player_at(side)]
        return f"{text.SIDE_NAMES[side].capitalize()} ({agent.spec if agent else 'human'})"

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
        self.say(self.board())
        while (self.game, len(self.game.plies)) == before:
            legal = ", ".join(text.legal_moves(self.game.rules, self.game.state))
            name = text.SIDE_NAMES[self.game.side].capitalize()
            self.say(f"{name}, your move ({legal}): ", end="")
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
        if word in ("quit", "exit", "q") and not rest:
            raise _LeftError("You left.")
        if word == "save":
            self.save(rest)
        elif word == "load":
            self.load(rest)
        elif word in self.commands:
            if rest:
                raise KalahError(f"{word} stands alone: nothing is known of {rest!r} behind it.")
            self.commands[word]()
        elif word:
            self.play(f"{word} {rest}".strip())

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
            self.say(f"  {value.move:>4}  {say_value(value)}")

    def save(self, name: str) -> None:
        """Write the game to a new file."""
        tags = {
            text.SIDE_NAMES[player].capitalize(): agent.spec if agent else "human"
            for player, agent in enumerate(self.players)
        }
        save_game(self.game, name, tags)
        self.say(f"Saved in {name}.")

    def load(self, name: str) -> None:
        """Go on with the game of a file, of the same rules."""
        game = load_game(name)
        if format_rules(game.rules) != format_rules(self.game.rules):
            raise KalahError(
                f"load: {name} is a game of {format_rules(game.rules)}; begin with --rules "
                f"{format_rules(game.rules)} to play it."
            )
        self.game = game
        self.say(f"Loaded {name}: {_count(len(game.plies))}.")


def _count(moves: int) -> str:
    return f"{moves} move{'' if moves == 1 else 's'}"


def say_value(value: MoveValue) -> str:
    """Return what a move is worth in words: `wins by 4 (proved)`, `loses by about 2.5`."""
    size = f"{abs(value.margin):g}" if value.exact else f"about {abs(value.margin):.1f}"
    if value.exact and value.margin == 0:
        said = "draws"
    elif abs(value.margin) < 0.05:
        said = "is about even"
    else:
        said = f"{'wins' if value.margin > 0 else 'loses'} by {size}"
    return f"{said} (proved)" if value.exact else said
