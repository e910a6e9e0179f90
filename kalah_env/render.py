"""The board as a picture: wood, pits, stores, seeds and their counts, who sits where and moves.

`draw` makes a surface from a state, `pixels` an array of it, `Window` shows it. Nothing here knows
a rule or an agent: names and remarks come from `aec.py`. Needs pygame, the extra `render`; drawing
needs no display.
"""

import math
from functools import lru_cache

import numpy as np

from kalah_env import engine
from kalah_env.errors import KalahError
from kalah_env.rules import Rules, side_pits

try:
    import pygame
except ImportError:
    raise KalahError(
        "pictures of the board need pygame; install it with `pip install kalah-env[render]`, "
        "or take render_mode='ansi'."
    ) from None

# Lengths in points of the finished picture; it is drawn FINE times as large and scaled down.
FINE = 2
STRIP = 46  # above and below the board: the players
EDGE = 22  # table left and right of the board
RIM = 30  # board outside the pits; the pits' numbers stand on it
NARROWEST = 356  # width that a player's line needs
STORE = 96  # width of a store with its wood
COUNT = 34  # a line of seed counts
SHOWN_IN_PIT, SHOWN_IN_STORE = 21, 60  # more seeds than these are told by the count only

TABLE = (38, 44, 50)
HOLLOW_DARK, HOLLOW_LIGHT = (58, 33, 18), (128, 80, 44)
LIT, SHADE = (214, 165, 110), (84, 50, 28)  # the two halves of a hollow's rim
INK, PAPER = (52, 29, 14), (255, 246, 226)
QUIET, LOUD = (150, 158, 166), (255, 206, 92)
SEEDS = ((233, 222, 196), (196, 92, 62), (126, 150, 108), (108, 134, 166), (222, 178, 96))

Color = tuple[int, int, int]
Point = tuple[float, float]


class _Layout:
    """Where things are, in points, for a number of rows a side and pits a row.

    Each row has its pits' numbers on its owner's side and their seed counts toward the middle.
    """

    def __init__(self, rows: int, pits: int) -> None:
        self.cell = min(100, 1000 // pits)
        self.radius = 0.43 * self.cell
        self.has_stores = rows == 1  # two rows a side bank no seed
        margin = EDGE + 10 + (STORE if self.has_stores else RIM)
        self.width = max(2 * margin + pits * self.cell, NARROWEST)
        self.margin = (self.width - pits * self.cell) // 2
        self.row_height = RIM + self.cell + COUNT
        self.board_height = 2 * rows * self.row_height
        self.height = self.board_height + 2 * STRIP
        self.rows, self.pits = rows, pits

    def pit(self, side: int, i: int) -> Point:
        """Return the middle of pit `i` of `side`; North's side is South's turned by half a circle.

        Each side runs counter-clockwise: one row from its owner's left to right; of two rows the front
        row from right to left, the back row behind it from left to right.
        """
        row, along = divmod(i, self.pits)
        column = along if row == self.rows - 1 else self.pits - 1 - along
        if side:
            column = self.pits - 1 - column
        x = self.margin + (column + 0.5) * self.cell
        y = RIM + self.cell / 2 + (self.rows - 1 - row) * self.row_height
        return x, STRIP + (y if side else self.board_height - y)

    def store(self, side: int) -> pygame.Rect:
        """Return a store's hollow: North's left, South's right, room for the count below."""
        left = EDGE + 20 if side else self.width - EDGE - STORE
        return pygame.Rect(left, STRIP + RIM, STORE - 20, self.board_height - 2 * RIM - COUNT)


def draw(rules: Rules, state: np.ndarray, names: tuple[str, str], remarks: tuple[str, str]) -> pygame.Surface:
    """Return a picture of `state` seen from South; names and remarks are for south, north."""
    layout = _Layout(rules.rows, rules.pits)
    fine = _empty_board(rules.rows, rules.pits).copy()
    half = side_pits(rules) + 1
    for side in (engine.SOUTH, engine.NORTH):
        counts = [int(n) for n in state[side * half : (side + 1) * half]]
        for i, count in enumerate(counts[:-1]):
            spots = _spots(min(count, SHOWN_IN_PIT), SHOWN_IN_PIT, layout.radius, layout.radius)
            _seeds(fine, layout.pit(side, i), spots, i)
        if layout.has_stores:
            store = layout.store(side)
            shown = min(counts[-1], SHOWN_IN_STORE)
            spots = _spots(shown, SHOWN_IN_STORE, store.width / 2, store.height / 2)
            _seeds(fine, store.center, spots, 0)
    picture = pygame.transform.smoothscale(fine, (layout.width, layout.height))
    for side, name in enumerate(names):
        _labels(picture, layout, state[side * half : (side + 1) * half], side, name, remarks[side])
    return picture


def pixels(picture: pygame.Surface) -> np.ndarray:
    """Return a surface as an array (height, width, 3) uint8."""
    return np.ascontiguousarray(pygame.surfarray.array3d(picture).transpose(1, 0, 2))


class Window:
    """A window on the screen that shows pictures of one size."""

    def __init__(self, title: str, size: tuple[int, int]) -> None:
        pygame.display.init()
        pygame.display.set_caption(title)
        self._screen = pygame.display.set_mode(size)
        self._clock = pygame.time.Clock()

    def show(self, picture: pygame.Surface, fps: int) -> None:
        """Show a picture, and wait so that no more than `fps` are shown a second."""
        pygame.event.pump()
        self._screen.blit(picture, (0, 0))
        pygame.display.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Take the window from the screen."""
        pygame.display.quit()


@lru_cache(maxsize=4)
def _empty_board(rows: int, pits: int) -> pygame.Surface:
    """Return the table and the board without seeds, FINE times as large as the picture."""
    layout = _Layout(rows, pits)
    surface = pygame.Surface((layout.width * FINE, layout.height * FINE))
    surface.fill(TABLE)
    size = (layout.width - 2 * EDGE) * FINE, layout.board_height * FINE
    corner = EDGE * FINE, STRIP * FINE
    shadow = pygame.Rect(corner, size).move(0, 5 * FINE)
    pygame.draw.rect(surface, (22, 26, 30), shadow, border_radius=34 * FINE)
    surface.blit(_wood(*size), corner)
    for side in (engine.SOUTH, engine.NORTH):
        for i in range(rows * pits):
            x, y = layout.pit(side, i)
            hollow = pygame.Rect(0, 0, round(2 * layout.radius), round(2 * layout.radius))
            hollow.center = round(x), round(y)
            _hollow(surface, hollow)
        if layout.has_stores:
            _hollow(surface, layout.store(side))
    return surface


def _wood(width: int, height: int) -> pygame.Surface:
    """Return a plank with rounded corners: rings of a trunk cut lengthwise, and fine fibres."""
    x, y = np.meshgrid(np.arange(width) / FINE, np.arange(height) / FINE, indexing="ij")
    bend = 9 * np.sin(x / 170 + 0.6) + 4 * np.sin(x / 61 + y / 90)
    rings = np.sin((y + bend) / 7.5) + 0.6 * np.sin((y + 1.4 * bend) / 2.9)
    noise = np.random.default_rng(1).normal(size=(width // 60 + 2, height))
    fibres = np.repeat(noise, 60, axis=0)[:width]
    shade = 1 + 0.035 * rings + 0.018 * fibres
    color = np.clip(shade[..., None] * np.array((186, 129, 76)), 0, 255).astype(np.uint8)
    plank = pygame.Surface((width, height), pygame.SRCALPHA)
    plank.fill((0, 0, 0, 0))
    pygame.draw.rect(plank, (255, 255, 255), plank.get_rect(), border_radius=34 * FINE)
    grain = pygame.surfarray.make_surface(color)
    plank.blit(grain, (0, 0), special_flags=pygame.BLEND_RGB_MULT)
    bevel = plank.get_rect().inflate(-4 * FINE, -4 * FINE)
    pygame.draw.rect(plank, (222, 170, 112), bevel, width=2 * FINE, border_radius=32 * FINE)
    return plank


def _hollow(surface: pygame.Surface, points: pygame.Rect) -> None:
    """Carve a hollow with round ends: shaded at the upper left, lit at the lower right."""
    rect = pygame.Rect(*(n * FINE for n in points))
    radius = min(rect.size) // 2
    for shift, color in ((3, LIT), (-2, SHADE)):
        edge = rect.inflate(3 * FINE, 3 * FINE).move(shift, shift)
        pygame.draw.rect(surface, color, edge, border_radius=radius + 2 * FINE)
    for step in range(0, radius, 2):
        depth = step / radius
        color = _mix(HOLLOW_DARK, HOLLOW_LIGHT, depth**0.7)
        inner = rect.inflate(-2 * step, -2 * step).move(step // 6, step // 6)
        pygame.draw.rect(surface, color, inner, border_radius=radius - step)


def _mix(a: Color, b: Color, share: float) -> Color:
    red, green, blue = (round(p + (q - p) * share) for p, q in zip(a, b, strict=True))
    return red, green, blue


def _spots(count: int, most: int, half_width: float, half_height: float) -> list[Point]:
    """Return `count` places round (0, 0) as in a sunflower, so that `most` fill an ellipse."""
    golden = math.pi * (3 - math.sqrt(5))
    # A few seeds lie apart, not crowded in the middle.
    reach = 0.78 * math.sqrt(max(count, 6) / most)
    places = []
    for k in range(count):
        away = 0.0 if count == 1 else reach * math.sqrt((k + 0.5) / count)
        angle = golden * k + 0.5
        places.append((away * half_width * math.cos(angle), away * half_height * math.sin(angle)))
    return places


def _seeds(surface: pygame.Surface, middle: Point, spots: list[Point], first: int) -> None:
    """Draw a seed at each spot, as a pebble with a shadow and a gleam."""
    radius = 7 * FINE
    for k, (dx, dy) in enumerate(spots):
        x, y = (middle[0] + dx) * FINE, (middle[1] + dy) * FINE
        color = SEEDS[(first + 3 * k) % len(SEEDS)]
        pygame.draw.circle(surface, (36, 20, 10), (x + 2, y + 4), radius)
        pygame.draw.circle(surface, _mix(color, (30, 16, 8), 0.45), (x, y), radius)
        pygame.draw.circle(surface, color, (x - 1, y - 1), radius - 3)
        pygame.draw.circle(surface, _mix(color, (255, 255, 255), 0.65), (x - 4, y - 4), radius // 4)


def _labels(
    picture: pygame.Surface, layout: _Layout, counts: np.ndarray, side: int, name: str, remark: str
) -> None:
    """Write one side's counts and pit numbers, and its player with the remark in its strip."""
    toward_middle = 1 if side else -1
    for i in range(layout.rows * layout.pits):
        x, y = layout.pit(side, i)
        away = layout.cell / 2 + COUNT / 2
        _write(picture, str(counts[i]), (x, y + toward_middle * (away - 4)), 28, PAPER, INK)
        _write(picture, str(i + 1), (x, y - toward_middle * (layout.cell / 2 + RIM / 2 - 4)), 18, INK)
    if layout.has_stores:
        store = layout.store(side)
        _write(picture, str(counts[-1]), (store.centerx, store.bottom + COUNT / 2 + 3), 34, PAPER, INK)
    y = STRIP / 2 if side else layout.height - STRIP / 2
    color = LOUD if remark else QUIET
    label = f"{'North' if side else 'South'}  {name}"
    rect = _write(picture, label, (EDGE + 30, y), 24, color, left=True)
    if remark:
        pygame.draw.aacircle(picture, LOUD, (EDGE + 14, y), 6)
        _write(picture, remark, (rect.right + 16, y), 24, PAPER, left=True)


def _write(
    picture: pygame.Surface,
    text: str,
    place: Point,
    size: int,
    color: Color,
    outline: Color | None = None,
    left: bool = False,
) -> pygame.Rect:
    """Write text with its middle, or its left edge, at `place`; return where it stands."""
    font = _font(size)
    ink = font.render(text, True, color)
    rect = ink.get_rect(midleft=place) if left else ink.get_rect(center=place)
    if outline:
        dark = font.render(text, True, outline)
        for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1), (1, 2)):
            picture.blit(dark, rect.move(dx, dy))
    picture.blit(ink, rect)
    return rect


@lru_cache(maxsize=16)
def _font(size: int) -> pygame.font.Font:
    pygame.font.init()
    return pygame.font.Font(None, size)
