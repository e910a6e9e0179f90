"""What goes over the wire, as types: the page and everybody else may rely on it.

Every request carries the whole game, so the server keeps none. Cells are indices into the board:
south's pits, south's store, north's pits, north's store. Made from games in `views.py`.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

MAX_MOVES = 2000  # of a game in one request
MAX_FILE = 60_000  # bytes
MAX_SECONDS = 10.0  # of an analysis; agents are held to as much

Text = Annotated[str, Field(max_length=5000)]
Spec = Annotated[str, Field(max_length=200)]  # of an agent
Move = Annotated[str, Field(max_length=8)]


class Asked(BaseModel):
    """A request: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")


class GameIn(Asked):
    """A game: its rules, its start (none: the usual one), its moves."""

    rules: Text = "kalah"
    start: Text | None = None
    moves: list[Move] = Field(default=[], max_length=MAX_MOVES)


class ThinkIn(Asked):
    """A game, and who chooses its next move: a level or an agent's text; same seed, same move."""

    game: GameIn
    agent: Spec
    seed: int = Field(default=0, ge=0, lt=2**31)


class AgentIn(Asked):
    """An agent that is to play games of these rules."""

    rules: Text
    agent: Spec


class AnalysisIn(Asked):
    """A game whose position is to be analysed, and for how long."""

    game: GameIn
    seconds: float = Field(default=1.0, ge=0.05, le=MAX_SECONDS, allow_inf_nan=False)


class Told(Asked):
    """What a file says of a game: tags such as South and North, comments by the number of moves before."""

    tags: dict[Text, Text] = {}
    comments: dict[int, Text] = {}


class Seats(Asked):
    """Who plays for who began at South's side, and at North's: human, a level or an agent's text."""

    south: Spec
    north: Spec


class SaveIn(Asked):
    """A game to be written down; seats: who plays it on, where it is not left as it was told."""

    game: GameIn
    told: Told = Told()
    seats: Seats | None = None


class BoardIn(Asked):
    """A position set up by hand: seeds by cell, the side to move (0 = South), under the rules of a game."""

    rules: Text
    board: list[Annotated[int, Field(ge=0)]] = Field(max_length=100)
    side: int = Field(ge=0, le=1)


class LoadIn(Asked):
    """A file of games, as text or JSON lines."""

    text: Annotated[str, Field(max_length=MAX_FILE)]


class Problem(BaseModel):
    """What every error answers with."""

    error: str


class Preset(BaseModel):
    """A rule set by name."""

    name: str
    about: str
    source: str
    rows: int
    pits: int
    seeds: int


class Level(BaseModel):
    """A strength by name."""

    name: str
    agent: str
    about: str


class Setup(BaseModel):
    """What may be chosen before a game."""

    version: str
    presets: list[Preset]
    levels: list[Level]
    agents: list[str] = Field(description="forms of agents' texts that are allowed here")
    most_pits: int
    most_seeds: int
    most_bytes: int = Field(description="of a file that is loaded")


class Cell(BaseModel):
    """Where a cell stands on the board as South sees it; rows from above, columns from the left."""

    cell: int
    side: int
    row: int
    column: int
    pit: int | None = Field(description="its number, or none for a store")


class Choice(BaseModel):
    """A legal move: the cell to choose (none for swap), `turn` + or - where the direction is chosen."""

    move: str
    cell: int | None
    turn: str
    words: str


class PlyOut(BaseModel):
    """A move that was made, in words too; player: 0 = who began on South's side."""

    move: str
    side: int
    player: int
    captured: int
    again: bool
    words: str


class StepOut(BaseModel):
    """A part of the last move, to be shown; `sowing.py` says more."""

    kind: str
    picked: list[int]
    path: list[int]
    board: list[int]


class View(BaseModel):
    """A game as it stands."""

    rules: str
    start: str | None
    moves: list[str]
    manual: list[str] = Field(description="how it is played, in sentences")
    rows: int
    pits: int
    stores: bool
    pie: bool = Field(description="the players may change seats")
    cells: list[Cell]
    before: list[int] = Field(description="the board before the last move")
    steps: list[StepOut]
    board: list[int]
    position: str
    side: int = Field(description="that is to move, or moved last: 0 = South")
    mover: int | None = Field(description="the player to move; none when nobody is")
    players: list[int] = Field(description="the players at South and North")
    over: bool
    result: dict[str, Any] | None
    words: str = Field(description="who is to move, or how it ended")
    legal: list[Choice]
    plies: list[PlyOut]


class Thought(BaseModel):
    """An agent's move."""

    move: str
    agent: str
    seconds: float = Field(description="of thinking; the wait for a thread is not counted")


class AgentOut(BaseModel):
    """An agent that can play."""

    agent: str


class Worth(BaseModel):
    """What a move is worth to its mover: seeds of the final margin, or -1 to 1 where only the win counts."""

    move: str
    margin: float
    exact: bool = Field(description="proved, not estimated")
    badge: str = Field(description="as it is shown on a pit, such as ≈+4")
    words: str = Field(description="the same as a sentence goes on, such as: wins by about 4")


class AnalysisOut(BaseModel):
    """The moves of a position, best first."""

    moves: list[Worth]
    words: str = Field(description="what the badges mean")
    seconds: float = Field(description="of thinking; the wait for a thread is not counted")


class Read(BaseModel):
    """A game of a file; words: who played, and how it ended."""

    game: GameIn
    told: Told
    words: str


class Loaded(BaseModel):
    """The games of a file."""

    games: list[Read]


class Saved(BaseModel):
    """A game in both forms of a file: text for people, and a line of JSON (docs/RECORDS.md)."""

    text: str
    record: str


class PositionOut(BaseModel):
    """A position as text."""

    position: str
