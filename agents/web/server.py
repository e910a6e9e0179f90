"""The application of `kalah serve`: the typed API, the page, and how a server of it is run.

Every request carries its whole game and is answered from it, so any number of games and clients share
the server and none is lost by a reload. Moves are answered at once on threads of their own; thinking
waits in `thinking.py`. Needs the extra `serve`.
"""

import socket
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from agents.levels import LEVELS, SAID
from agents.web import models
from agents.web.guard import LOOPBACK, Guard, Patient
from agents.web.manual import about, source
from agents.web.refusals import say_http, say_invalid
from agents.web.thinking import FORMS, PATIENCE, BusyError, EndingError, LateError, Thinking, safe_spec
from agents.web.views import analysis_of, game_of, games_in, position_of, saved, view_of
from kalah_env import __version__
from kalah_env.errors import KalahError
from kalah_env.options import BY_NAME
from kalah_env.presets import PRESETS
from kalah_env.rules import parse_rules, preset_rules

STATIC = Path(__file__).parent / "static"
ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": models.Problem} for code in (400, 403, 413, 422, 503, 504)
}


def create_app(*, local: bool = True, thinking: Thinking | None = None) -> FastAPI:
    """Return the application; `local`: refuse requests under names that are not this machine's."""
    app = FastAPI(title="kalah-env", version=__version__, docs_url=None, redoc_url=None, responses=ERRORS)
    app.state.thinking = thinking or Thinking()
    app.add_middleware(Guard, local=local)
    _add_errors(app)
    _add_games(app)
    _add_thinking(app, app.state.thinking)

    for path, file in (("/", "index.html"), ("/docs", "docs.html")):
        app.add_api_route(path, _page(STATIC / file), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app


def _page(file: Path) -> Callable[[], FileResponse]:
    return lambda: FileResponse(file)


def _add_games(app: FastAPI) -> None:
    @app.get("/api/setup")
    def setup() -> models.Setup:
        """Return what may be chosen before a game."""
        return _setup()

    @app.post("/api/game")
    def game(asked: models.GameIn) -> models.View:
        """Replay a game and return it as it stands: to begin, to move, to take back, to look at the past."""
        return view_of(game_of(asked))

    @app.post("/api/load")
    def load(asked: models.LoadIn) -> models.Loaded:
        """Return the games of a file, each checked to its end."""
        return models.Loaded(games=games_in(asked.text))

    @app.post("/api/save")
    def save(asked: models.SaveIn) -> models.Saved:
        """Return a game as a file holds it: as text and as a line of JSON."""
        return saved(asked)

    @app.post("/api/position")
    def position(asked: models.BoardIn) -> models.PositionOut:
        """Return the text of a position that is given cell by cell, checked."""
        return position_of(asked)


def _add_thinking(app: FastAPI, thinking: Thinking) -> None:
    @app.post("/api/think")
    async def think(asked: models.ThinkIn, request: Request) -> models.Thought:
        """Return an agent's move in a game."""
        safe_spec(asked.agent)  # what cannot be asked need not wait
        chosen = await thinking.run(
            lambda: thinking.choose(game_of(asked.game), asked.agent, asked.seed), request.is_disconnected
        )
        return models.Thought(move=chosen.move, agent=asked.agent, seconds=round(chosen.seconds, 3))

    @app.post("/api/agent")
    async def agent(asked: models.AgentIn, request: Request) -> models.AgentOut:
        """Say whether an agent may be asked here and can play the rules: an error if not."""
        safe_spec(asked.agent)
        rules = parse_rules(asked.rules)
        await thinking.run(lambda: thinking.check(asked.agent, rules), request.is_disconnected)
        return models.AgentOut(agent=asked.agent)

    @app.post("/api/analysis")
    async def analysis(asked: models.AnalysisIn, request: Request) -> models.AnalysisOut:
        """Return what every move is worth: exact where it can be proved in the time, else estimated."""

        def job() -> models.AnalysisOut:
            game = game_of(asked.game)
            return analysis_of(game.rules, thinking.analyse(game, asked.seconds))

        return await thinking.run(job, request.is_disconnected)


@lru_cache(1)
def _setup() -> models.Setup:
    presets = []
    for preset in PRESETS:
        rules = preset_rules(preset.name)
        size = {"rows": rules.rows, "pits": rules.pits, "seeds": rules.seeds}
        presets.append(models.Preset(name=preset.name, about=about(preset), source=source(preset), **size))
    most = {name: max(values) for name in ("pits", "seeds") if (values := BY_NAME[name].values)}
    return models.Setup(
        version=__version__,
        presets=presets,
        levels=[models.Level(name=name, agent=LEVELS[name], about=SAID[name]) for name in LEVELS],
        agents=list(FORMS),
        most_pits=int(most["pits"]),
        most_seeds=int(most["seeds"]),
        most_bytes=models.MAX_FILE,
    )


def _add_errors(app: FastAPI) -> None:
    def add(kind: type[Exception], status: int, say: Callable[[Any], str]) -> None:
        @app.exception_handler(kind)
        async def handle(_: Request, error: Exception) -> JSONResponse:
            headers = {"retry-after": "5"} if status == 503 else None
            return JSONResponse({"error": _clean(say(error))}, status, headers)

    @app.exception_handler(HTTPException)
    async def handle_http(request: Request, error: HTTPException) -> JSONResponse:
        said = say_http(error.status_code, error.detail, request.method, request.url.path, error.headers)
        return JSONResponse({"error": _clean(said)}, error.status_code, error.headers)

    add(KalahError, 400, str)
    add(RequestValidationError, 422, lambda error: say_invalid(error.errors()))
    add(ValidationError, 422, lambda error: say_invalid(error.errors()))
    add(BusyError, 503, lambda _: "too many games are waiting for a move here; try again in a few seconds.")
    add(EndingError, 503, lambda _: "the server is ending.")
    add(
        LateError,
        504,
        lambda _: (
            f"no answer within {PATIENCE:.0f} s. What is new on this machine is compiled first, "
            "which takes minutes once (`kalah warm` does it beforehand); try again."
        ),
    )
    add(Exception, 500, lambda _: "the server has failed at this; its window says more.")


def _clean(text: str) -> str:
    """Return a text that can be sent whatever was asked: a lone surrogate cannot, nor very much of it."""
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= 500 else f"{text[:300]} ... {text[-200:]}"


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; `KalahError` if it cannot."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise KalahError(
            f"serve: {host} port {port} cannot be used ({why}); choose another by --port or --host, "
            "--port 0 takes a free one."
        ) from None
    return listener


class Server(uvicorn.Server):
    """uvicorn's server of the application, which first ends what is thought about: who asked is answered."""

    def __init__(self, thinking: Thinking, *, local: bool = True) -> None:
        app = create_app(local=local, thinking=thinking)
        # Warnings would be of single requests, and their clients are told already.
        config = uvicorn.Config(
            app, http=Patient, ws="none", lifespan="off", log_level="error", timeout_graceful_shutdown=1
        )
        super().__init__(config)
        self.thinking = thinking

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: what is asked and thought about, then the connections."""
        self.thinking.close()
        await super().shutdown(sockets)


def run(listener: socket.socket, host: str, ready: Callable[[], None]) -> bool:
    """Serve until Ctrl-C; say whether something is still being thought about. `ready()` once it answers."""
    thinking = Thinking()
    server = Server(thinking, local=host in LOOPBACK)
    view_of(game_of(models.GameIn(moves=["1"])))  # compiles, so that no click has to wait for it
    thinking.pool.submit(thinking.warm)
    try:
        ready()
        server.run(sockets=[listener])
    finally:
        busy = thinking.close()
        listener.close()
    return busy
