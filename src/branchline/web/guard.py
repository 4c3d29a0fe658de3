"""Access control of the viewer: checks of every request, and security headers of every response.

A server on the loopback address is reachable by every user of the machine, from every page open in a
browser, and through DNS rebinding under any name. So the guard checks the Host header first. Every request
except the entry needs the cookie that the entry sets, at an address that only this viewer has (see
``entry``). Requests that change something also need the right origin and a header that other sites cannot
send.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from html import escape
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from branchline.web.entry import Keys, entry_page, entry_policy

__all__ = ["CSP", "Guard"]

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
_LAST = {"connection": "close"}
"""Of answers to whom is not known: such a connection is not kept."""
_log = logging.getLogger(__name__)
_COOKIE = "branchline"
_LONGEST_TARGET = 8192
_LONGEST_HEADERS = 32768
_LONGEST_BODY = 65536
_BODY_SECONDS = 10.0


_ENTRY = "/enter"
_LONGEST_KEY = 1024
_HOW = "Open the address that `branchline web` printed. It works once; "
_AGAIN = "press Enter in the terminal of the viewer for a new one, or start another viewer."


class Guard:
    """ASGI middleware that refuses requests which do not come from a page opened by this run."""

    def __init__(self, app: ASGIApp, *, keys: Keys, port: int) -> None:
        self._app = app
        self._keys = keys
        self._policy = entry_policy(port)
        suffixes = ("", ":80") if port == 80 else (f":{port}",)
        self._roots = {
            f"{name}{suffix}": root
            for name, root in {
                f"{keys.name}.localhost": "",
                **dict.fromkeys(("127.0.0.1", "localhost", "[::1]"), f"/{keys.name}"),
            }.items()
            for suffix in suffixes
        }
        """The path at which the viewer is found, by Host header."""

    def is_known(self, scope: Scope) -> bool:
        """Return whether a request has the cookie of this run."""
        for line in Headers(scope=scope).getlist("cookie"):
            for cookie in line.split(";"):
                name, _, value = cookie.strip().partition("=")
                if name == _COOKIE and hmac.compare_digest(value.encode(), self._keys.cookie.encode()):
                    return True
        return False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] != "http":
            return  # the server closes a connection that is not accepted
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        root = self._roots.get(hosts[0].lower()) if len(hosts) == 1 else None
        refusal: Response | None
        if root is None:
            refusal = _refuse(400, "This server only answers at the address that it printed.")
        elif (too_much := self._too_much(scope)) is not None:
            refusal = too_much
        elif scope["path"] == _ENTRY:
            refusal = await self._entry(scope, _limited(receive, _LONGEST_KEY), root)
        else:
            refusal = self._refusal(scope, headers, root)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        if scope["method"] == "POST":
            receive = _limited(receive, _LONGEST_BODY)
        try:
            await self._app({**scope, "root_path": root}, receive, answer)
        except Exception:  # noqa: BLE001  the page already shows the error
            _log.debug("a request failed", exc_info=True)

    def _too_much(self, scope: Scope) -> Response | None:
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refuse(405, "Only GET, HEAD and POST are answered.")
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > _LONGEST_TARGET:
            return _refuse(414, "The address is too long.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _LONGEST_HEADERS:
            return _refuse(431, "The headers are too long.")
        return None

    def _refusal(self, scope: Scope, headers: Headers, root: str) -> Response | None:
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _refuse(403, "Requests from other pages are refused.")
        begun = scope["path"][: len(root)]
        if not hmac.compare_digest(begun.encode(), root.encode()) or not self.is_known(scope):
            return _refuse(403, _HOW + _AGAIN)
        if scope["method"] == "POST":
            return self._post_refusal(headers)
        return None

    def _post_refusal(self, headers: Headers) -> Response | None:
        if headers.getlist("origin") != [f"http://{headers['host']}"]:
            return _refuse(403, "Changes are accepted from this viewer's own pages only.")
        (given, *more) = headers.getlist("x-branchline") or [""]
        if more or not hmac.compare_digest(given.encode(), self._keys.csrf.encode()):
            return _refuse(403, "The page is from an earlier run; load it again.")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refuse(415, "Changes are sent as JSON.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LONGEST_BODY:
            return _refuse(413, "The request is too large.")
        return None

    async def _entry(self, scope: Scope, receive: Receive, root: str) -> Response:
        """Answer the page that posts a key, or take the key. Both may come from a page of another origin."""
        if scope["method"] != "POST":
            # Any page may see that it is there: the private file and the loopback address look for this host.
            open_ = {"content-security-policy": self._policy, "cross-origin-resource-policy": "cross-origin"}
            return HTMLResponse(entry_page(), headers=_LAST | open_)
        body = b""
        more = True
        try:
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
        except HTTPException as problem:
            return _refuse(problem.status_code, problem.detail)
        key = parse_qs(body.decode("latin-1")).get("key", [""])[0]
        if self._keys.enter(key):
            response = _move_on(root, "Opening the viewer …", 200)
            response.set_cookie(_COOKIE, self._keys.cookie, httponly=True, samesite="strict", path=f"{root}/")
            return response
        if not self._keys.knows_name(key):
            return _refuse(403, _HOW + _AGAIN)
        # The browser that used it has the cookie and gets in again; others read how to get in.
        return _move_on(root, "This address was used already. " + _AGAIN, 403)


def _limited(receive: Receive, most: int) -> Receive:
    """Return a ``receive`` that raises HTTPException for a body that is longer, or takes too long."""
    left = most
    until = asyncio.get_running_loop().time() + _BODY_SECONDS

    async def limited() -> Message:
        nonlocal left
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive") from None
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, "the request is too large")
        return message

    return limited


def _move_on(root: str, sentence: str, status: int) -> HTMLResponse:
    """Return a page that goes on to the viewer.

    A redirect would continue a request of another site, with which browsers do not send the cookie.
    """
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>branchline</title>'
        f'<meta http-equiv="refresh" content="0; url={root}/"></head>'
        f'<body><p>{escape(sentence)}</p><p><a href="{root}/">Open the viewer</a></p></body></html>\n'
    )
    return HTMLResponse(page, status, headers=_LAST)


def _refuse(status: int, sentence: str) -> Response:
    return PlainTextResponse(sentence + "\n", status, headers=_LAST)
