"""Files on the page of `kalah serve`: downloaded, loaded, played on, refused. Else: `test_browser.py`."""

import json
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="Playwright is not installed (extra dev)")

import pages
from pages import HUMANS, SMALL, THREE, open_game, sow
from playwright.sync_api import Page, expect

pytest_plugins = "pages"

pytestmark = pages.NEEDS_CHROMIUM


def test_download_and_load(page: Page, url: str, tmp_path: Path):
    open_game(page, url, THREE, HUMANS)
    sow(page, 0, 2)
    expect(page.locator("#moves li")).to_have_count(2)
    for form, ending in (("text", "txt"), ("json", "jsonl")):
        page.select_option("#format", form)
        with page.expect_download() as found:
            page.click("#download")
        assert found.value.suggested_filename == f"kalah.{ending}"
        path = tmp_path / f"game.{ending}"
        found.value.save_as(path)
        open_game(page, url, SMALL, HUMANS)
        page.set_input_files("#file", path)
        expect(page.locator("#moves")).to_contain_text("1. S 2")
    assert json.loads((tmp_path / "game.jsonl").read_text()) == {
        "rules": "kalah:pits=3,seeds=2",
        "moves": ["2"],
    }
    assert (tmp_path / "game.txt").read_text().startswith('[South "human"]\n[North "human"]\n')
    path.write_text("no game")
    page.set_input_files("#file", path)
    expect(page.locator("#error")).to_contain_text("line 1")


def test_a_game_of_several_in_a_file_is_chosen(page: Page, url: str, tmp_path: Path):
    path = tmp_path / "games.txt"
    games = (('[South "Ann"]', "1. 2,1 *"), ('[South "Eve"]\n[North "Bob"]', "1. 3 1 *"))
    path.write_text("\n\n".join(f'{tags}\n[Rules "{THREE[6:]}"]\n\n{moves}' for tags, moves in games))
    open_game(page, url, SMALL, HUMANS)
    expect(page.locator("#games")).to_be_hidden()
    page.set_input_files("#file", path)
    expect(page.locator("#moves")).to_contain_text("2. S 1")
    assert page.locator("#games option").all_text_contents() == [
        "1. Ann - North, unfinished, 2 moves",
        "2. Eve - Bob, unfinished, 2 moves",
    ]
    page.select_option("#games", "1")
    expect(page.locator("#moves")).to_contain_text("2. N 1")
    expect(page.locator("#shared")).to_have_text("Game 2 of 2 in games.txt: Eve - Bob, unfinished, 2 moves.")
    with page.expect_download() as found:
        page.click("#download")
    found.value.save_as(path)
    assert '[South "Eve"]' in path.read_text()


def test_what_a_file_says_stays_when_it_is_played_on(page: Page, url: str, tmp_path: Path):
    path = tmp_path / "game.txt"
    tags = '[Event "Cup"]\n[South "Ann"]\n[North "Bob"]\n[Rules "kalah:pits=3,seeds=2"]\n'
    path.write_text(f"{tags}\n{{start}} 1. 2, {{free}} 1 {{short}} 1 {{end}} *\n")

    def saved() -> str:
        with page.expect_download() as found:
            page.click("#download")
        return Path(found.value.path()).read_text()

    open_game(page, url, SMALL, "south=human", "north=easy")
    page.set_input_files("#file", path)
    expect(page.locator("#moves li")).to_have_count(4)
    whole = saved()
    assert '[North "Bob"]' in whole  # nobody has played on
    page.locator("#moves button").nth(2).click()
    expect(page.locator("#said")).to_have_text("North is to move. Press Auto or Step.")
    page.click("#redo")
    expect(page.locator("#moves [aria-current]")).to_contain_text("3. N 1")
    assert saved() == whole
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert saved() == whole
    page.locator("#moves button").nth(1).click()
    expect(page.locator("#moves li.undone")).to_have_count(2)
    sow(page, 0, 3)
    expect(page.locator("#moves")).to_contain_text("3. N")
    expect(page.locator(".pit.side0.legal").first).to_be_visible()
    assert "short" not in saved()  # other moves stand there now
    page.click("#undo")
    expect(page.locator("#moves li.undone")).not_to_have_count(0)
    page.reload()
    page.wait_for_selector("body[data-ready]")
    now = saved()
    assert now.startswith('[Event "Cup"]\n[South "Ann"]\n[North "easy"]\n')
    assert "{start} 1. 2 {free} *" in now
    page.click("#setup button[type=submit]")
    expect(page.locator("#moves li")).to_have_count(1)
    assert "Cup" not in saved()


def test_files_that_cannot_be_loaded(page: Page, url: str, tmp_path: Path):
    open_game(page, url, THREE, HUMANS)
    path = tmp_path / "game.txt"
    for content, said in (
        ('[South "Jörg"]\n[Rules "kalah"]\n\n*'.encode("latin-1"), "game.txt is not a text in UTF-8."),
        ('[South "Ann"]\n[Rules "kalah"]\n\n*'.encode("utf-16"), "game.txt is not a text in UTF-8."),
        (b" " * 60_001, "game.txt holds 60,001 bytes; at most 60,000 can be loaded here."),
    ):
        path.write_bytes(content)
        page.set_input_files("#file", path)
        expect(page.locator("#error")).to_contain_text(said)
        page.evaluate("document.getElementById('error').textContent = ''")
    path.write_text('{"rules": "kalah", "moves": ["3"]}\n' * 1700)  # many signs to be escaped on the way
    page.set_input_files("#file", path)
    expect(page.locator("#games option")).to_have_count(1700)
