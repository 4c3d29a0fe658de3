"""Attacks on the real server: requests that no browser sends, and hostile sessions."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from branchline import SessionLibrary
from branchline.views.html import markup
from branchline.views.html import prose as prose_module
from branchline.web import guard, pages, server
from web.browser import Browser, chromium
from web.hostile import VECTORS, hostile_session, message, write_session
from web.kit import Running, running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "sessions"
    directory.mkdir()
    hostile_session(directory / "hostile.jsonl")
    return directory


@pytest.fixture
def viewer(sessions: Path) -> Iterator[Running]:
    with running(SessionLibrary(sessions), writable=True) as started:
        yield started


# -- requests ---------------------------------------------------------------------------------------------


def request(viewer: Running, line: str, *headers: str, cookie: bool = True, host: str = "") -> bytes:
    given = [f"Host: {host or viewer.host}", *headers, "Connection: close"]
    if cookie:
        given.append(f"Cookie: branchline={viewer.keys.cookie}")
    return "\r\n".join([line, *given, "", ""]).encode("latin-1")


def status(answer: bytes) -> int:
    """The code of an answer; 0 if the connection was closed without one."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def test_tricks_with_requests_reach_nothing(viewer: Running) -> None:
    host = viewer.host
    long = "x" * 40_000
    attacks = {
        "rebound name": request(viewer, "GET / HTTP/1.1", host="evil.example"),
        "absolute target": request(viewer, "GET http://evil.example/ HTTP/1.1", host="evil.example"),
        "second host": request(viewer, "GET / HTTP/1.1", "Host: evil.example"),
        "forwarded host": request(viewer, "GET / HTTP/1.1", f"X-Forwarded-Host: {host}", host="evil.example"),
        "forwarded for": request(viewer, "GET / HTTP/1.1", "X-Forwarded-For: 127.0.0.1", cookie=False),
        "no cookie": request(viewer, "GET /api/sessions HTTP/1.1", cookie=False),
        "another site": request(viewer, "GET /api/sessions HTTP/1.1", "Sec-Fetch-Site: cross-site"),
        "method override": request(
            viewer, "POST /api/s/x/title HTTP/1.1", "X-HTTP-Method-Override: GET", "Content-Length: 0"
        ),
        "no origin": request(
            viewer,
            "POST /api/s/x/title HTTP/1.1",
            f"X-Branchline: {viewer.keys.csrf}",
            "Content-Type: application/json",
            "Content-Length: 2",
        )
        + b"{}",
        "upgrade": request(viewer, "GET / HTTP/1.1", "Upgrade: websocket", host="evil.example"),
        "traversal": request(viewer, "GET /static/../../guard.py HTTP/1.1"),
        "encoded traversal": request(viewer, "GET /static/%2e%2e%2fguard.py HTTP/1.1"),
        "null byte": request(viewer, "GET /static/style.css%00.js HTTP/1.1"),
        "long address": request(viewer, f"GET /{long} HTTP/1.1"),
        "long header": request(viewer, "GET / HTTP/1.1", f"X-Long: {long}"),
        "folded header": request(viewer, "GET / HTTP/1.1", "X-A: b\r\n c", host="evil.example"),
        "bare line feeds": b"GET / HTTP/1.1\nHost: evil.example\n\n",
        "two lengths": request(viewer, "POST / HTTP/1.1", "Content-Length: 5", "Content-Length: 6"),
        "length and chunks": request(
            viewer, "POST / HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked"
        ),
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n",
        "old HTTP": b"GET / HTTP/1.0\r\n\r\n",
    }

    for name, attack in attacks.items():
        answer = viewer.raw(attack, seconds=1.0)
        assert status(answer) in (0, 400, 403, 404, 405, 413, 414, 431), (name, answer[:200])
        assert b"hostile" not in answer, name
        assert b"Traceback" not in answer, name
    assert status(viewer.raw(request(viewer, "GET /api/sessions HTTP/1.1"))) == 200


def change(viewer: Running, *more: str) -> bytes:
    return request(
        viewer,
        "POST /api/s/x/title HTTP/1.1",
        f"Origin: {viewer.base}",
        f"X-Branchline: {viewer.keys.csrf}",
        "Content-Type: application/json",
        *more,
    )


def test_a_body_without_end_is_cut_off(viewer: Running) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"

    answer = viewer.raw(change(viewer, "Transfer-Encoding: chunked"), chunk, chunk)

    assert status(answer) == 413


def test_slow_requests_do_not_wait_for_ever(viewer: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.2)

    headers = viewer.raw(b"GET / HTTP/1.1\r\nHost: 127.0.0.1")
    body = viewer.raw(change(viewer, "Content-Length: 10"), b"{")

    assert headers == b""
    assert status(body) == 408


def connect(viewer: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", viewer.port), timeout=5)


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\n", b"POST /enter HTTP/1.1\r\nContent-Length: 9\r\n"]
)
def test_idle_connections_of_strangers_do_not_close_the_viewer(viewer: Running, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            idle = stack.enter_context(connect(viewer))
            idle.sendall(sent)

        for _ in range(5):
            assert status(viewer.raw(request(viewer, "GET /api/sessions HTTP/1.1"))) == 200


def test_strangers_who_connect_for_ever_do_not_close_the_viewer(viewer: Running) -> None:
    """They also ask, without the cookie, and keep what they got open."""
    stop = threading.Event()
    made: list[socket.socket] = []

    def knock() -> None:
        with ExitStack() as held:
            while not stop.is_set():
                with suppress(OSError):
                    knocking = held.enter_context(connect(viewer))
                    made.append(knocking)
                    knocking.sendall(
                        request(viewer, "GET / HTTP/1.1", cookie=False) if len(made) % 2 else b"GET"
                    )
                time.sleep(0.005)

    thread = threading.Thread(target=knock)
    thread.start()
    try:
        for _ in range(20):
            assert status(viewer.raw(request(viewer, "GET /api/sessions HTTP/1.1"))) == 200
            time.sleep(0.05)
    finally:
        stop.set()
        thread.join()
    assert len(made) > 50


def test_strangers_who_come_at_the_same_moment_displace_nobody_who_asks(viewer: Running) -> None:
    with ExitStack() as stack:
        stack.enter_context(connect(viewer))
        assert status(viewer.raw(request(viewer, "GET /api/sessions HTTP/1.1"))) == 200
        kept = stack.enter_context(connect(viewer))
        kept.sendall(b"GET")
        time.sleep(0.1)
        viewer.keep_busy(1.0)
        time.sleep(0.1)
        asking = stack.enter_context(connect(viewer))
        asking.sendall(request(viewer, "GET /api/sessions HTTP/1.1"))
        for _ in range(150):
            stack.enter_context(connect(viewer))

        assert status(asking.recv(65536)) == 200


def test_who_is_in_keeps_a_connection_that_strangers_cannot_displace(viewer: Running) -> None:
    with ExitStack() as stack:
        kept = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=5)
        stack.callback(kept.close)
        headers = {"Host": viewer.host, "Cookie": f"branchline={viewer.keys.cookie}"}
        kept.request("GET", "/api/sessions", headers=headers)
        assert kept.getresponse().read()
        begun = kept.sock
        for _ in range(100):
            stack.enter_context(connect(viewer))
        kept.request("GET", "/api/sessions", headers=headers)

        assert kept.getresponse().status == 200
        assert kept.sock is begun


def test_a_stranger_is_not_kept_after_the_answer(viewer: Running) -> None:
    asked = request(viewer, "GET / HTTP/1.1", cookie=False).replace(b"Connection: close\r\n", b"")

    answer = viewer.raw(asked, seconds=3)

    assert status(answer) == 403
    assert b"connection: close" in answer.lower()


# -- sessions ---------------------------------------------------------------------------------------------


def visit(viewer: Running, page) -> list[str]:
    """Open every page about the hostile session, unfold and search; the tokens of what ran."""
    page.goto(viewer.address)
    page.wait_for_selector(".row", timeout=10_000)
    row = page.evaluate("fetch('/api/sessions').then((answer) => answer.json())")["rows"][0]["id"]
    ran: list[str] = []
    places = [
        "/",
        "/?q=pwned",
        f"/s/{row}?q=pwned",
        f"/compare?left={row}&right={row}:e2",
        f"/s/{row}/share",
        "/statistics",
        "/s/%3Cscript%3Epwned=1%3C/script%3E",
    ]
    for place in places:
        page.goto(viewer.base + place)
        page.wait_for_timeout(250)
        if "?q" in place and place.startswith("/s/"):
            page.keyboard.press("Escape")
            page.keyboard.press("t")
            page.keyboard.press(".")
            page.wait_for_timeout(300)
        page.evaluate("document.querySelectorAll('#pwn').forEach((link) => link.click?.())")
        if page.evaluate("globalThis.pwned") is not None or page.title() == "pwned":
            ran.append(place)
    return ran


def test_sixty_hostile_fields_are_text_on_every_page(browser: Browser, viewer: Running) -> None:
    with browser.open("about:blank", ready=False) as page:
        ran = visit(viewer, page)

        assert ran == []
        outside = [
            url
            for url in page.requests
            if not url.startswith((viewer.base, viewer.loopback, "about:", "data:"))
        ]
        assert outside == []
        assert [error for error in page.errors if "404" not in error] == []


@pytest.fixture
def unescaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is escaped: every text of a session is markup on every page."""
    monkeypatch.setattr(markup, "_escaped", lambda text: text)
    monkeypatch.setattr(prose_module, "_rendered", markup.Html)
    monkeypatch.setattr(pages, "select_autoescape", lambda **_: False)


@pytest.mark.usefixtures("unescaped")
def test_the_policy_and_the_scripts_stop_sixty_hostile_fields(browser: Browser, sessions: Path) -> None:
    """Without any escaping the same fields are markup on every page, and still nothing runs or leads away."""
    with (
        running(SessionLibrary(sessions)) as viewer,
        browser.open("about:blank", ready=False) as page,
    ):
        ran = visit(viewer, page)
        page.goto(viewer.base + "/")
        row = page.evaluate("fetch('/api/sessions').then((answer) => answer.json())")["rows"][0]["id"]
        page.goto(f"{viewer.base}/compare?left={row}&right={row}:e2")

        assert page.evaluate("document.querySelectorAll('img, iframe, object').length") > 0  # the hook works
        assert ran == []
        assert [url for url in page.finished if "evil.invalid" in url] == []
        assert page.url.startswith(viewer.base)


@pytest.mark.usefixtures("unescaped")
@pytest.mark.parametrize("navigates", [False, True])
def test_the_policy_alone_does_not_stop_a_navigation(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, navigates: bool
) -> None:
    """A `meta refresh` leads away where the browser has no Navigation API with which the page can refuse it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    refresh = '<meta http-equiv="refresh" content="0; url=http://evil.invalid/gone">'
    (tmp_path / "sessions").mkdir()
    write_session(tmp_path / "sessions" / "refresh.jsonl", [message("user", refresh)])
    with (
        running(SessionLibrary(tmp_path / "sessions")) as viewer,
        browser.open("about:blank", ready=False) as page,
    ):
        page.page.route("http://evil.invalid/**", lambda route: route.fulfill(body="elsewhere"))
        page.goto(viewer.address)
        page.wait("document.querySelector('.row')")
        row = page.evaluate("fetch('/api/sessions').then((answer) => answer.json())")["rows"][0]["id"]
        if navigates:
            page.add_init_script("delete globalThis.navigation")
        page.goto(f"{viewer.base}/s/{row}", wait_until="commit")
        page.wait_for_timeout(1500)

        assert (page.url == "http://evil.invalid/gone") == navigates


def test_the_hostile_session_has_sixty_fields(sessions: Path) -> None:
    lines = (sessions / "hostile.jsonl").read_text().splitlines()
    texts = [text for line in lines for text in strings(json.loads(line))]

    assert sum(any(vector in text for vector in VECTORS) for text in texts) >= 60


def strings(value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from strings(item)
