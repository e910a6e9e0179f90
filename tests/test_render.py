"""Text and pictures of the board: who sits where, who is to move, seeds and counts, the window."""

import copy
import sys

import numpy as np
import pygame
import pytest
from pettingzoo.test import render_test

from kalah_env import KalahError, kalah_v0
from kalah_env.render import SHOWN_IN_PIT, STRIP, _Layout
from kalah_env.rules import PRESET_NAMES


@pytest.fixture
def no_screen(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(kalah_v0.raw_env.metadata, "render_fps", 1000)
    yield
    pygame.display.quit()


def rendered(rules, position=None, mode="rgb_array", actions=()):
    env = kalah_v0.env(rules, render_mode=mode)
    env.reset(options={"position": position} if position else None)
    for action in actions:
        env.step(action)
    return env.render()


@pytest.mark.parametrize("preset", PRESET_NAMES)
@pytest.mark.usefixtures("no_screen")
def test_pettingzoo_render_test(preset):
    tests = {
        "ansi": lambda text: "South: player_" in text,
        "rgb_array": lambda image: image.std() > 20,
    }
    render_test(lambda render_mode: kalah_v0.env(preset, render_mode=render_mode), tests)


def test_ansi_shows_the_board_and_who_moves():
    assert rendered("kalah:pits=2", "<2,5,4,1,2,3,1> N", "ansi").splitlines() == [
        "     2   1    North",
        "     1   3",
        " 4          5",
        "     1   2",
        "     1   2    South",
        "North: player_1, to move",
        "South: player_0",
    ]


@pytest.mark.parametrize(
    ("rules", "position", "actions", "lines"),
    [
        ("mankalah", None, [0], ["North: player_1, to move or swap", "South: player_0"]),
        ("mankalah", None, [0, 7], ["North: player_0, to move", "South: player_1"]),
        ("kalah:pits=1", "<1,5,0,1,2> S", [0], ["North: player_1, loses 2:6", "South: player_0, wins 6:2"]),
        ("kalah:pits=1", "<1,1,0,1,2> S", [0], ["North: player_1, draw 2:2", "South: player_0, draw 2:2"]),
        (
            "bao-philos:pits=1",
            "<2x1,0,0,1,3,1,3> S",
            [1],
            ["North: player_1, loses", "South: player_0, wins"],
        ),
        ("kalah:ply_limit=1", None, [0], ["North: player_1, truncated", "South: player_0, truncated"]),
    ],
)
def test_ansi_says_how_things_stand(rules, position, actions, lines):
    assert rendered(rules, position, "ansi", actions).splitlines()[-2:] == lines


def test_ansi_shows_four_rows():
    # North sits opposite, so his ring is turned by half a circle: front pits 1 and 2 face 2 and 1.
    assert rendered("bao-philos:pits=2", "<2x2,0,0,1,2,3,4,5,6,7,8> S", "ansi").splitlines() == [
        "     4   3    North",
        "     8   7",
        "     5   6",
        "     1   2",
        "",
        "     2   1",
        "     2   1",
        "     3   4",
        "     3   4    South",
        "North: player_1",
        "South: player_0, to move",
    ]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("pits", range(1, 13))
def test_pictures_of_every_board_size_with_big_numbers(rows, pits):
    counts = [0] * (2 * rows * pits)
    counts[0], counts[-1] = 999, 1
    if rows == 1:
        picture = rendered(f"kalah:pits={pits}", f"<{pits},500,500,{','.join(map(str, counts))}> S")
    else:
        picture = rendered(f"hus:pits={pits}", f"<2x{pits},0,0,{','.join(map(str, counts))}> S")
    layout = _Layout(rows, pits)
    assert picture.shape == (layout.height, layout.width, 3)
    assert layout.width <= 1280
    ends = [layout.pit(0, i)[0] for i in (0, pits - 1)]
    left, right = min(ends) - layout.radius, max(ends) + layout.radius
    if rows == 1:
        assert layout.store(1).right < left < right < layout.store(0).left
    assert picture.dtype == np.uint8
    # Nothing is cut off: the table's edge is one colour all round.
    border = np.concatenate((picture[0], picture[-1], picture[:, 0], picture[:, -1]))
    assert (border == border[0]).all()


def test_a_pit_of_four_rows_is_drawn_where_its_ring_has_it():
    numbers = {}  # side, pit number: column and row in the picture
    plain = [2] * 12
    before = rendered("bao-philos:pits=3", f"<2x3,0,0,{','.join(map(str, plain))}> S")
    for side in (0, 1):
        for i in range(6):
            counts = plain[:]
            counts[6 * side + i] = 5
            after = rendered("bao-philos:pits=3", f"<2x3,0,0,{','.join(map(str, counts))}> S")
            y, x = np.argwhere((before != after).any(axis=2)).mean(axis=0)
            layout = _Layout(2, 3)
            numbers[side, i + 1] = (
                int((x - layout.margin) // layout.cell),
                int((y - STRIP) // layout.row_height),
            )
    rows = [
        [pit for row in range(4) for pit in numbers if numbers[pit] == (column, row)] for column in range(3)
    ]
    # From top to bottom: north's back and front row, south's front and back row.
    assert rows == [
        [(1, 6), (1, 1), (0, 3), (0, 4)],
        [(1, 5), (1, 2), (0, 2), (0, 5)],
        [(1, 4), (1, 3), (0, 1), (0, 6)],
    ]


def hollow_and_number(seeds):
    """Return the pixels of south's first pit, and those of the wood above it."""
    picture = rendered("kalah:pits=2", f"<2,5,4,{seeds},2,3,1> S")
    layout = _Layout(1, 2)
    x, y = (round(n) for n in layout.pit(0, 0))
    r = round(layout.radius)
    return picture[y - r : y + r, x - r : x + r], picture[y - r - 30 : y - r, x - r : x + r]


def test_seeds_are_drawn_up_to_a_number_and_always_counted():
    few, few_number = hollow_and_number(1)
    more, more_number = hollow_and_number(2)
    assert (few != more).any()
    assert (few_number != more_number).any()
    full, full_number = hollow_and_number(SHOWN_IN_PIT)
    heap, heap_number = hollow_and_number(SHOWN_IN_PIT + 1)
    assert (full == heap).all()
    assert (full_number != heap_number).any()


def test_the_picture_says_who_is_to_move():
    south, north = (rendered("kalah:pits=2", f"<2,5,4,1,2,3,1> {letter}") for letter in "SN")
    differs = (south != north).any(axis=(1, 2))
    assert differs[:STRIP].any()
    assert differs[-STRIP:].any()
    assert not differs[STRIP:-STRIP].any()


def test_the_picture_tells_of_the_swap():
    before = rendered("mankalah", None, actions=[0])
    after = rendered("mankalah", None, actions=[0, 7])
    stayed = rendered("mankalah", "<7,1,0,0,8,8,8,8,8,8,7,7,7,7,7,7,7> N")
    assert (before[:STRIP] != stayed[:STRIP]).any(), "no word that a swap is open"
    assert (after[:STRIP] != stayed[:STRIP]).any(), "no word of the other names"
    assert (after[STRIP:-STRIP] == stayed[STRIP:-STRIP]).all()


@pytest.mark.usefixtures("no_screen")
def test_the_window_follows_the_game_and_closes():
    env = kalah_v0.raw_env("kalah:pits=2", render_mode="human")
    env.reset()
    shown = pygame.display.get_surface()
    assert shown is not None
    before = pygame.surfarray.array3d(shown)
    env.step(0)
    after = pygame.surfarray.array3d(pygame.display.get_surface())
    assert (before != after).any()
    twin = copy.deepcopy(env)
    twin.step(int(np.flatnonzero(twin.last()[0]["action_mask"])[0]))
    twin.close()
    assert not pygame.display.get_init()


def test_an_array_needs_no_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "no such driver")
    pygame.display.quit()
    first, second = rendered("kalah"), rendered("kalah")
    assert (first == second).all()
    assert not pygame.display.get_init()


def test_render_without_a_mode_warns():
    with pytest.warns(UserWarning, match="render_mode"):
        assert rendered("kalah", mode=None) is None


@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_without_pygame_one_sentence_says_what_to_install(monkeypatch, mode):
    monkeypatch.setitem(sys.modules, "pygame", None)
    monkeypatch.delitem(sys.modules, "kalah_env.render")
    monkeypatch.delattr("kalah_env.render")
    with pytest.raises(KalahError, match=r"pip install kalah-env\[render\]"):
        kalah_v0.env(render_mode=mode)
    kalah_v0.env(render_mode="ansi")
