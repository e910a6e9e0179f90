"""`kalah serve`: the page for playing and analysing in a browser (`agents/web/`)."""

import argparse
import os
import sys
import threading

from kalah_env.errors import KalahError
from train.commands import whole

HELP = "Play and analyse in a browser: a page on this machine, until Ctrl-C. Its API is described at /docs."
HOST, PORT = "127.0.0.1", 8064
EXAMPLE = "kalah serve --port 8064"
_EXTRA = ("fastapi", "pydantic", "starlette", "uvicorn")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--host", metavar="NAME", default=HOST, help=f"name or address to answer at ({HOST})")
    parser.add_argument(
        "--port", type=whole(0, 65535), metavar="N", default=PORT, help=f"0 takes a free one ({PORT})"
    )
    opens = parser.add_mutually_exclusive_group()
    opens.add_argument("--open", action="store_true", help="open the page in a browser (as from a terminal)")
    opens.add_argument("--no-browser", action="store_true", help="open no browser")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    try:
        from agents.web import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise KalahError(
            f'serve: the package {error.name} is not installed: `pip install "kalah-env[serve]"`.'
        ) from None
    listener = server.bind(args.host, args.port)
    address = f"[{args.host}]" if ":" in args.host else args.host
    url = f"http://{address}:{listener.getsockname()[1]}/"

    def ready() -> None:
        print(f"kalah: {url} (Ctrl-C ends it)", flush=True)
        if args.open or (sys.stdout.isatty() and not args.no_browser):
            import webbrowser

            # The page is fetched once the server runs: the socket listens already.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    try:
        busy = server.run(listener, args.host, ready)
    except KeyboardInterrupt:
        busy = True
    print("kalah: stopped.", flush=True)
    if busy:
        os._exit(130)  # nothing is to be kept of what is still thinking, and it would take its time
    return 130
