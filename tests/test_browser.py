"""The page of `kalah serve` in a real browser: played, taken back, analysed, shared, on a phone, by keys.

Skipped where there is no Chromium or Playwright. Small boards, sowing switched off but where it is
what is tested. Files: `test_browser_files.py`; the API behind it: `test_web.py`.
"""

import re
from typing import Any

import pytest

pytest.importorskip("playwright", reason="Playwright is not installed (extra dev)")

import pages
from pages import HUMANS, THREE, board, open_game, sow
from playwright.sync_api import Page, expect

pytest_plugins = "pages"

pytestmark = pages.NEEDS_CHROMIUM


def test_a_whole_game_by_mouse(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    expect(page.locator("#said")).to_have_text("South is to move.")
    expect(page.locator(".pit.legal")).to_have_count(3)
    page.locator(".pit.side1").first.click(force=True)  # not his turn: nothing happens
    sow(page, 0, 2)
    expect(page.locator("#said")).to_have_text("South plays 2, moves again. South is to move again.")
    for made in range(2, 40):
        expect(page.locator("#moves li")).to_have_count(made)
        if "over" in page.locator("#said").inner_text():
            break
        page.locator(".pit.legal").first.click()
    expect(page.locator("#said")).to_contain_text("The game is over")
    assert page.locator("#moves li").count() > 4


def test_the_agent_answers_and_captures_are_told(page: Page, url: str):
    open_game(page, url, THREE, "start=<3,0,0,1,0,2,0,4,1> S", "south=human", "north=easy")
    sow(page, 0, 1)
    expect(page.locator("#moves")).to_contain_text("1. S 1 captured 5")
    expect(page.locator("#moves")).to_contain_text("2. N 3")
    expect(page.locator("#said")).to_have_text("North plays 3. The game is over, 7 to 1: South wins.")


def test_undo_redo_and_a_past_move(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    seen = [board(page)]
    for side, pit in ((0, 2), (0, 1), (1, 1)):
        sow(page, side, pit)
        expect(page.locator("#position")).not_to_have_value(seen[-1])
        seen.append(board(page))
    page.click("#undo")
    expect(page.locator("#position")).to_have_value(seen[2])
    page.click("#redo")
    expect(page.locator("#position")).to_have_value(seen[3])
    page.locator("#moves button").nth(1).click()
    expect(page.locator("#position")).to_have_value(seen[1])
    page.locator("#moves button").last.click()
    expect(page.locator("#position")).to_have_value(seen[3])
    assert page.locator("#redo").is_disabled()


def test_undo_goes_back_to_the_human(page: Page, url: str):
    open_game(page, url, THREE, "south=human", "north=easy")
    start = board(page)
    sow(page, 0, 1)
    expect(page.locator("#moves")).to_contain_text("2. N")
    expect(page.locator(".pit.side0.legal").first).to_be_visible()
    page.click("#undo")
    expect(page.locator("#position")).to_have_value(start)


def test_evaluation_marks_what_is_proved(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    page.click("#evaluate")
    expect(page.locator(".worth b.exact")).to_have_count(3)
    expect(page.locator(".worth b.best").first).to_be_visible()
    expect(page.locator("#worth")).to_contain_text("margins in seeds at the end, all proved")
    assert "proved" in (page.locator(".pit.side0").first.get_attribute("aria-label") or "")
    sow(page, 0, 1)
    expect(page.locator(".worth b")).to_have_count(0)


def test_other_rules(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    page.select_option("#preset", "kgp")
    page.fill("#pits", "4")
    page.fill("#seeds", "3")
    page.click("#setup button[type=submit]")
    expect(page.locator(".pit")).to_have_count(8)
    expect(page.locator("#rules-line")).to_have_text("kgp:pits=4,seeds=3")
    page.click("text=How this game is played")
    expect(page.locator("#manual")).to_contain_text("once a store holds more than half")
    page.click("#setup summary")
    page.fill("#rules", "kalah:pits=99")
    page.click("#setup button[type=submit]")
    expect(page.locator("#error")).to_contain_text("pits")
    expect(page.locator(".pit")).to_have_count(8)


def test_swap_and_directions_are_buttons(page: Page, url: str):
    open_game(page, url, "rules=mankalah:pits=3,seeds=2", HUMANS)
    sow(page, 0, 1)
    page.click("#choices button:has-text('Swap')")
    expect(page.locator("#moves")).to_contain_text("swap")
    open_game(page, url, "rules=bao-philos:pits=3", HUMANS)
    expect(page.locator(".pit")).to_have_count(12)
    sow(page, 0, 1)
    expect(page.locator("#choices button")).to_have_count(2)
    page.click("#choices button >> nth=1")
    expect(page.locator("#moves")).to_contain_text("1. S 1-")


@pytest.mark.parametrize("rules", ["kalah", "kalah:pits=12,seeds=3", "bao-philos"])
def test_a_narrow_screen_does_not_scroll_sideways(page: Page, url: str, rules: str):
    page.set_viewport_size({"width": 375, "height": 740})
    open_game(page, url, f"rules={rules}", HUMANS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    boxes = [pit.bounding_box() for pit in page.locator(".pit").all()]
    assert all(box and box["width"] >= 44 and box["height"] >= 40 for box in boxes)
    page.locator(".pit.legal").first.click()
    if rules == "bao-philos":
        page.locator("#choices button").first.click()
    expect(page.locator("#moves li")).not_to_have_count(1)


def test_agent_against_agent(page: Page, url: str):
    open_game(page, url, THREE, "south=easy", "north=random")
    expect(page.locator("#moves li")).to_have_count(1)  # waits
    expect(page.locator("#said")).to_have_text("South is to move. Press Auto or Step.")
    page.click("#step")
    expect(page.locator("#moves li")).to_have_count(2)
    page.wait_for_timeout(300)
    expect(page.locator("#moves li")).to_have_count(2)
    page.click("#auto")
    expect(page.locator("#said")).to_contain_text("The game is over")


def test_positions_and_links(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    page.fill("#position", "<3,1,2,0,3,0,1,0,4> N")
    page.click("#set-position")
    expect(page.locator("#said")).to_have_text("North is to move.")
    sow(page, 1, 1)
    expect(page.locator("#moves li")).to_have_count(2)
    before = board(page)
    page.reload()
    expect(page.locator("#position")).to_have_value(before)
    page.fill("#position", "<3,1> N")
    page.keyboard.press("Enter")
    expect(page.locator("#error")).to_contain_text("numbers")


def test_a_position_is_not_kept_for_other_rules(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    page.fill("#position", "<3,1,2,0,3,0,1,0,4> N")
    page.click("#set-position")
    expect(page.locator("#said")).to_have_text("North is to move.")
    page.fill("#pits", "4")
    page.click("#setup button[type=submit]")
    expect(page.locator("#position")).to_have_value(re.compile("^<4,0,0,"))


def test_why_a_link_cannot_be_opened_stays_on_the_page(page: Page, url: str):
    open_game(page, url, "rules=kalah", "moves=3+6+9", HUMANS)
    expect(page.locator("#error")).to_contain_text("The link cannot be opened: move '9' is illegal")
    expect(page.locator("#said")).to_have_text("South is to move.")
    for part, said in (
        ("%", "“%” is none"),
        ("south=nobody", "agent 'nobody'"),
        ("rules=%", "rules: there is no preset '%'"),
    ):
        open_game(page, url, part)
        expect(page.locator("#error")).to_contain_text(f"The link cannot be opened: {said}")
        expect(page.locator(".pit")).to_have_count(12)
    open_game(page, url, THREE, HUMANS)
    page.evaluate("location.hash = 'x=1'")  # in the page that stands open
    expect(page.locator("#error")).to_contain_text("The link cannot be opened: “x” is none")
    expect(page.locator(".pit")).to_have_count(6)


def test_the_keyboard_alone(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    start = board(page)
    page.keyboard.press("2")
    expect(page.locator("#moves")).to_contain_text("1. S 2")
    page.keyboard.press("u")
    expect(page.locator("#position")).to_have_value(start)
    page.keyboard.press("r")
    expect(page.locator("#position")).not_to_have_value(start)
    page.locator(".pit.side0").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "South pit 3" in (page.evaluate("document.activeElement.getAttribute('aria-label')"))
    page.keyboard.press("Enter")
    expect(page.locator("#moves")).to_contain_text("2. S 3")
    open_game(page, url, "rules=kalah:pits=12,seeds=1", HUMANS)
    page.keyboard.type("11")
    expect(page.locator("#moves")).to_contain_text("1. S 11")


def test_sowing_is_shown_seed_by_seed(page: Page, url: str):
    open_game(page, url, "rules=kalah:pits=3,seeds=3", HUMANS)
    page.select_option("#speed", "220")
    sow(page, 0, 2)
    expect(page.locator(".hand")).to_be_visible()
    counts = page.locator(".pit.side0 .count")
    expect(counts.nth(2)).to_have_text("4")
    assert counts.nth(1).text_content() == "0"
    expect(page.locator("#moves li")).to_have_count(2)
    assert page.locator(".hand").count() == 0
    total = sum(int(text) for text in page.locator(".count").all_text_contents())
    assert total == 18


def test_what_is_no_longer_asked_is_aborted(page: Page, url: str):
    open_game(page, url, THREE, "south=human", "north=easy")
    page.route("**/api/think", lambda route: None)  # an answer that does not come
    sow(page, 0, 1)
    expect(page.locator(".seat.thinks")).to_be_visible()
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/think")):
        page.click("#undo")
    expect(page.locator("#said")).to_have_text("South is to move.")
    expect(page.locator("#error")).to_be_hidden()


@pytest.mark.parametrize("rules", ["kalah:pits=12,seeds=12", "bao-philos", "bao-philos:pits=12"])
def test_evaluations_fit_their_pits(page: Page, url: str, rules: str):
    worth = {"margin": 0, "exact": False, "words": "w"}  # made up: as long as they can be
    badge = "loss" if "bao" in rules else "≈\N{MINUS SIGN}143.5"
    moves = [f"{pit}{way}" for pit in range(1, 25) for way in ("+-" if "bao" in rules else (" ",))]

    def answer(route: Any) -> None:
        legal = [move.strip() for move in moves if int(move[:-1]) <= page.locator(".pit.legal").count()]
        found = {
            "moves": [{**worth, "move": move, "badge": badge} for move in legal],
            "words": "",
            "seconds": 1,
        }
        route.fulfill(json=found)

    page.route("**/api/analysis", answer)
    open_game(page, url, f"rules={rules}", HUMANS)
    page.click("#evaluate")
    page.wait_for_selector(".worth b")
    script = """() => [...document.querySelectorAll(".pit.legal")].flatMap((pit) => {
      const outer = pit.getBoundingClientRect();
      const inner = [...pit.querySelectorAll(".worth b, .count")].map((one) => one.getBoundingClientRect());
      const wide = inner.filter((box) => box.left < outer.left - 3 || box.right > outer.right + 3);
      const over = inner.filter((a, i) => inner.slice(i + 1).some((b) => a.left < b.right - 1
        && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
      const small = parseFloat(getComputedStyle(pit.querySelector(".worth b")).fontSize) < 8;
      return wide.length || over.length || small ? [pit.getAttribute("aria-label")] : [];
    })"""
    for width in (1280, 768, 375):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(script) == []  # the page hears of its new size in a frame


def test_an_agent_that_cannot_play_is_refused_when_it_is_seated(page: Page, url: str):
    open_game(page, url, THREE, HUMANS)
    north = page.locator("[data-place=far]")
    north.locator("select").select_option("other")
    for agent, said in (("nobody", "not offered"), ("onnx:kalah-6x4,sims=2", "cannot play")):
        north.locator("input").fill(agent)
        page.keyboard.press("Enter")
        expect(page.locator("#error")).to_contain_text(said)
    north.locator("input").fill("alphabeta:depth=2")
    page.keyboard.press("Enter")
    expect(page.locator("#error")).to_be_hidden()
    sow(page, 0, 1)
    expect(page.locator("#moves")).to_contain_text("2. N")


def test_a_swap_shows_who_sits_where(page: Page, url: str):
    open_game(page, url, "rules=mankalah:pits=3,seeds=2", HUMANS)
    near, far = page.locator("[data-place=near] .who"), page.locator("[data-place=far] .who")
    expect(near).to_have_text("player 1")
    sow(page, 0, 1)
    page.click("#choices button:has-text('Swap')")
    expect(near).to_have_text("player 2, swapped")
    expect(far).to_have_text("player 1, swapped")
    open_game(page, url, THREE, HUMANS)
    expect(near).to_have_text("")


@pytest.mark.parametrize(
    ("rules", "width"), [("kalah:pits=12", 375), ("bao-philos", 375), ("kalah:pits=3", 1200)]
)
def test_a_position_is_set_up_cell_by_cell(page: Page, url: str, rules: str, width: int):
    page.set_viewport_size({"width": width, "height": 740})
    open_game(page, url, f"rules={rules}", HUMANS)
    page.click("#edit")
    cells = page.locator("#editor-cells input")
    assert all(box and box["width"] >= 30 for box in (cell.bounding_box() for cell in cells.all()))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#editor-clear")
    page.get_by_role("spinbutton", name="South pit 2", exact=True).fill("3")
    page.keyboard.press("Tab")  # on to South's pit 3
    page.keyboard.type("2001")
    page.select_option("#editor-side", "1")
    page.click("#editor-form button[type=submit]")
    expect(page.locator("#editor-said")).to_contain_text("at most 2000")
    page.get_by_role("spinbutton", name="South pit 3", exact=True).fill("0")
    page.get_by_role("spinbutton", name="North pit 1", exact=True).fill("4")
    expect(page.locator("#editor-said")).to_have_text("7 seeds in all.")
    page.keyboard.press("Enter")
    expect(page.locator("#editor")).to_be_hidden()
    expect(page.locator("#said")).to_have_text("North is to move.")
    assert re.fullmatch(r"<[x\d]+,0,0,0,3(,0)+,4(,0)+> N", board(page))
