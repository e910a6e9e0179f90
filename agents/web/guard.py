"""What is refused before anything is read: foreign hosts and pages, large, slow and broken bodies.

A page from elsewhere can make a browser send requests to this machine, under a name of its own that it
lets point here (DNS rebinding); so on loopback only loopback's names are answered, and an `Origin` must
be the server itself. Also the headers that keep the page from loading anything from elsewhere.
"""

import asyncio
import json
from urllib.parse import urlsplit

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_BYTES = 2**17  # of a request's body; a file (`models.MAX_FILE`) fits with every sign escaped
MOST_DROPPED = 2**25  # bytes of a larger one that are read, so that its client sees the answer
BODY_SECONDS = 10.0  # for it to arrive
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class RefusedError(Exception):
    """A request that is not passed on: the status and what to say."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Guard:
    """ASGI middleware; `local`: the server is bound to loopback."""

    def __init__(self, app: ASGIApp, *, local: bool) -> None:
        self.app, self.local = app, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            self._check_names(headers)
            body = await _body(headers, receive)
        except RefusedError as refused:
            await _refuse(answer, refused)
            return
        if body is not None:
            await self.app(scope, _replayed(body, receive), answer)

    def _check_names(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if self.local and _name(f"//{host}") not in LOOPBACK:
            raise RefusedError(403, "this server answers only under the names of this machine: localhost.")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise RefusedError(403, "a page from another place may not use this server.")


def _name(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # `ValueError` where it is no number
        return parts.hostname
    except ValueError:
        return None


async def _body(headers: dict[str, str], receive: Receive) -> bytes | None:
    """Return the whole body, or None if the client has gone."""
    too_large = RefusedError(413, f"the request is too large; at most {MAX_BYTES} bytes.")
    length = headers.get("content-length", "0")
    if len(length) > 12 or (length.isdigit() and int(length) > MOST_DROPPED):
        raise too_large
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                piece = message.get("body", b"")
                size += len(piece)
                if size <= MAX_BYTES:
                    body += piece
                if size > MOST_DROPPED or not message.get("more_body"):
                    break
    except TimeoutError:
        raise RefusedError(408, f"the request did not arrive within {BODY_SECONDS:.0f} s.") from None
    if size > MAX_BYTES:
        raise too_large
    try:
        body.decode()
    except UnicodeDecodeError:
        raise RefusedError(400, "the request is not a text in UTF-8.") from None
    return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _refusal(why: str) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Return the body and the headers of an error, behind which the connection is closed."""
    body = json.dumps({"error": why}).encode()
    length = str(len(body)).encode()
    return body, [
        (b"content-type", b"application/json"),
        (b"connection", b"close"),
        (b"content-length", length),
    ]


async def _refuse(send: Send, refused: RefusedError) -> None:
    body, headers = _refusal(refused.why)
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Patient(H11Protocol):
    """uvicorn's protocol, which also closes connections whose request does not come to an end, and tells
    of requests that are no HTTP as of every other error.
    """

    SECONDS = 10.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look after the connection."""
        super().connection_made(transport)
        self.loop.call_later(self.SECONDS, self._look, None)

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read as HTTP, unless another answer is on its way already."""
        del msg  # uvicorn's words
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body, headers = _refusal(
                "this is not a request in HTTP/1.1, or its head is too long; /docs says what can be asked."
            )
            response = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def shutdown(self) -> None:
        """Let what is asked already be answered; a request that is still arriving is not waited for."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and self.cycle.more_body:
            self.transport.close()

    def _look(self, before: object) -> None:
        # Between two looks an open connection has begun a request, or is answering one, or is of no use:
        # uvicorn itself closes idle ones sooner.
        if self.transport.is_closing():
            return
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is before:
            self.transport.close()
            return
        self.loop.call_later(self.SECONDS, self._look, self.cycle)
