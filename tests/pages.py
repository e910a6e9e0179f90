"""What tests of the page share: a plugin of pytest with server, browser and page, and how a game begins.

For test modules that name it in `pytest_plugins`, once they know that Playwright is there.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import browsing, find_chromium, serving
from playwright.sync_api import Page

SMALL = "rules=kalah:pits=2,seeds=2"
THREE = "rules=kalah:pits=3,seeds=2"
HUMANS = "south=human&north=human"
# CI installs and names one, so there the tests run or fail; a user without one still has the others.
NEEDS_CHROMIUM = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium: install one, or name it by KALAH_CHROMIUM"
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as browser:
        yield browser


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    """Yield a page that has asked nobody but our server, and whose scripts have not failed."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, accept_downloads=True)
    context.set_default_timeout(20_000)
    context.add_init_script("if (location.protocol === 'http:') localStorage.speed ??= '0'")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: "//127.0.0.1:" in request.url or wrong.append(request.url))
    yield page
    context.close()
    assert wrong == []


def open_game(page: Page, url: str, *parts: str) -> None:
    page.goto("about:blank")  # else another hash is no other page
    page.goto(f"{url}#{'&'.join(parts)}")
    page.wait_for_selector("body[data-ready]")


def board(page: Page) -> str:
    return page.locator("#position").input_value()


def sow(page: Page, side: int, pit: int) -> None:
    page.locator(f".pit.side{side}").nth(pit - 1).click()
