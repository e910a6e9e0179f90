"""A server of ours in a thread and Debian's, or another, Chromium without a window: what browser tests need.

As a program, `python tests/browsing.py docs/browser.png` takes the picture of the README.
"""

import contextlib
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.web.server import Server, bind
from agents.web.thinking import Thinking

# Without these Chromium asks for hosts of its maker.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Return the program's path: `KALAH_CHROMIUM`, else what is installed."""
    named = os.environ.get("KALAH_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextlib.contextmanager
def serving(thinking: Thinking | None = None) -> Iterator[str]:
    """Run a server; yield its address."""
    listener: socket.socket = bind("127.0.0.1", 0)
    server = Server(thinking or Thinking())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextlib.contextmanager
def browsing() -> Iterator[Any]:
    """Start the browser with an empty profile; yield it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        environment: dict[str, str | float | bool] = {**os.environ, "HOME": home}
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=FLAGS, env=environment, headless=True
        )
        yield browser
        browser.close()


def picture(path: Path) -> None:
    """Take the README's picture: a game with its evaluation."""
    Thinking(threads=1).warm()  # compiles, where that is still to be done
    with serving() as url, browsing() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 760})
        page.goto(f"{url}#rules=kalah&moves=3 6 5 1 6 2 4&south=human&north=hard")
        page.wait_for_selector("body[data-ready]")
        page.wait_for_function("document.querySelector('.pit.legal')")
        page.click("#evaluate")
        page.wait_for_selector(".worth b", timeout=120_000)
        page.screenshot(path=str(path))


if __name__ == "__main__":
    picture(Path(sys.argv[1]))
