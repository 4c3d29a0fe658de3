"""Access control of the viewer: checks of every request, and security headers of every response.

A server on the loopback address is reachable from every page open in a browser, and through DNS rebinding
under any name. So the guard checks the Host header first. Every request except the first needs the cookie
that the one-time address sets. Requests that change something also need the right origin and a header that
other sites cannot send.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CSP", "Guard", "Keys"]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_log = logging.getLogger(__name__)
_COOKIE = "branchline"
_LONGEST_TARGET = 8192
_LONGEST_HEADERS = 32768
_LONGEST_BODY = 65536
_BODY_SECONDS = 10.0


class Keys:
    """The secrets of one run: the one-time token of the address, the cookie, and the CSRF token."""

    def __init__(self) -> None:
        self.token: str | None = secrets.token_urlsafe(32)
        self.cookie = secrets.token_urlsafe(32)
        self.csrf = secrets.token_urlsafe(32)

    def enter(self, token: str) -> bool:
        """Return whether this is the one-time token, and invalidate it."""
        if self.token is None or not hmac.compare_digest(self.token.encode(), token.encode()):
            return False
        self.token = None
        return True


class Guard:
    """ASGI middleware that refuses requests which do not come from a page opened by this run."""

    def __init__(self, app: ASGIApp, *, keys: Keys, port: int) -> None:
        self._app = app
        self._keys = keys
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost", "[::1]"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        if scope["type"] != "http":
            return  # the server closes a connection that is not accepted
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        if scope["path"] == "/enter":
            await self._enter(scope)(scope, receive, answer)
            return
        if scope["method"] != "POST":
            await self._ask(scope, receive, answer)
            return
        left = _LONGEST_BODY

        async def limited() -> Message:
            nonlocal left
            try:
                async with asyncio.timeout(_BODY_SECONDS):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the request took too long to arrive") from None
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, "the request is too large")
            return message

        await self._ask(scope, limited, answer)

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:  # noqa: BLE001  the page already shows the error
            _log.debug("a request failed", exc_info=True)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.getlist("host")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return _refuse(400, "This server only answers at the address that it printed.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refuse(405, "Only GET, HEAD and POST are answered.")
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > _LONGEST_TARGET:
            return _refuse(414, "The address is too long.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _LONGEST_HEADERS:
            return _refuse(431, "The headers are too long.")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _refuse(403, "Requests from other pages are refused.")
        if scope["path"] == "/enter" and scope["method"] == "GET":
            return None
        if not self._is_known(headers):
            return _refuse(
                403,
                "Open the address that `branchline web` printed. It works once; start it again for another.",
            )
        if scope["method"] == "POST":
            return self._post_refusal(headers, host[0])
        return None

    def _post_refusal(self, headers: Headers, host: str) -> Response | None:
        if headers.get("origin") != f"http://{host}":
            return _refuse(403, "Changes are accepted from this viewer's own pages only.")
        if not hmac.compare_digest(headers.get("x-branchline", "").encode(), self._keys.csrf.encode()):
            return _refuse(403, "The page is from an earlier run; load it again.")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refuse(415, "Changes are sent as JSON.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LONGEST_BODY:
            return _refuse(413, "The request is too large.")
        return None

    def _is_known(self, headers: Headers) -> bool:
        for line in headers.getlist("cookie"):
            try:
                cookies = SimpleCookie(line)
            except CookieError:
                continue
            given = cookies.get(_COOKIE)
            if given is not None and hmac.compare_digest(given.value.encode(), self._keys.cookie.encode()):
                return True
        return False

    def _enter(self, scope: Scope) -> Response:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        token = query.get("token", [""])[0]
        if not self._keys.enter(token):
            if self._is_known(Headers(scope=scope)):
                return RedirectResponse("/", 303)
            return _refuse(403, "This address was used already. Start `branchline web` again for a new one.")
        response = RedirectResponse("/", 303)
        response.set_cookie(_COOKIE, self._keys.cookie, httponly=True, samesite="strict", path="/")
        return response


def _refuse(status: int, sentence: str) -> Response:
    return PlainTextResponse(sentence + "\n", status)
