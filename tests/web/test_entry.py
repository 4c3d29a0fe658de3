"""How browsers get into a viewer, and who does not: other users, other ports, other viewers."""

from __future__ import annotations

import http.client
import http.server
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from branchline import Session, SessionLibrary
from branchline.web.entry import EntryFile, Keys
from web.browser import Browser, Page, chromium
from web.kit import Running, running

NOBODY = 65534


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "sessions"
    with Session.create(tmp_path, directory=directory) as session:
        session.append_message("Why is the lamp dark?")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "The fuse blew."}]})
        session.set_title("Lamp")
    return directory


@pytest.fixture
def viewer(sessions: Path) -> Iterator[Running]:
    with running(SessionLibrary(sessions)) as started:
        yield started


class Listener:
    """Another server of this machine: it keeps what browsers send, and its page loads itself once more."""

    def __init__(self) -> None:
        self.cookies: list[str | None] = []
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.cookies.append(self.headers.get("cookie"))
                again = (
                    "" if "again" in self.path else "<script>location = location.pathname + '?again'</script>"
                )
                body = f"<!doctype html><p id=there>there</p>{again}".encode()
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port


@pytest.fixture
def listener() -> Iterator[Listener]:
    other = Listener()
    thread = threading.Thread(target=other.server.serve_forever)
    thread.start()
    yield other
    other.server.shutdown()
    thread.join()
    other.server.server_close()


def listed(page: Page) -> None:
    page.wait("document.querySelector('.row')")


# -- browsers ---------------------------------------------------------------------------------------------


def test_a_browser_gets_in_at_a_host_of_this_viewer_alone(browser: Browser, viewer: Running) -> None:
    with browser.open(viewer.address, ready=False) as page:
        listed(page)
        (cookie,) = page.context.cookies()

        assert page.url == f"{viewer.base}/"
        assert (cookie["domain"], cookie["httpOnly"], cookie["sameSite"]) == (
            f"{viewer.keys.name}.localhost",
            True,
            "Strict",
        )
        assert page.evaluate("document.cookie") == ""
        assert not [url for url in page.requests if viewer.keys.cookie in url or "." in urlsplit(url).query]
        token = viewer.address.partition(".")[2]
        assert not [url for url in page.requests if token in url.partition("#")[0]]


def test_the_printed_address_opens_the_viewer_again_in_the_browser_that_used_it(
    browser: Browser, viewer: Running
) -> None:
    with browser.open(viewer.address, ready=False) as page, browser.open("about:blank", ready=False) as other:
        listed(page)
        page.goto(viewer.address)
        listed(page)
        other.goto(viewer.address)
        other.wait("document.body?.textContent.includes('It works once')")

        assert "Lamp" not in other.content()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_on_another_port_receives_no_cookie(
    browser: Browser, viewer: Running, listener: Listener, host: str
) -> None:
    with browser.open(viewer.address, ready=False) as page:
        listed(page)
        page.goto(f"http://{host}:{listener.port}/")
        page.wait("location.search === '?again'")

        assert set(listener.cookies) == {None}


def test_a_browser_without_names_below_localhost_gets_in_too(
    browser: Browser, sessions: Path, listener: Listener
) -> None:
    """The viewer is a path there, and the cookie belongs to this path."""
    with (
        browser.another("--host-resolver-rules=MAP *.localhost ~NOTFOUND") as old,
        running(SessionLibrary(sessions), writable=True) as viewer,
        old.open(viewer.address, ready=False) as page,
    ):
        listed(page)
        page.errors.clear()  # the name that was looked for
        path = f"/{viewer.keys.name}/"
        assert page.url == viewer.loopback + path

        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait("document.querySelector('#path article.user')")
        with Session.open(next(sessions.glob("*.jsonl"))) as session:
            session.append_message("Said while the page is open")
        page.wait("document.querySelector('#path').textContent.includes('Said while')")
        page.keyboard.press("x")
        page.wait("document.querySelector('#write')?.disabled === false")
        page.goto(f"{viewer.loopback}{path}statistics")
        page.wait("document.querySelector('.figures')")
        page.page.click(".tabs a")
        listed(page)
        for host in ("127.0.0.1", "localhost"):
            page.goto(f"http://{host}:{listener.port}/")
            page.wait("location.search === '?again'")

        assert page.errors == []
        assert set(listener.cookies) == {None}


@pytest.mark.parametrize("rules", ["", "MAP *.localhost ~NOTFOUND"])
def test_two_viewers_work_side_by_side(browser: Browser, sessions: Path, rules: str) -> None:
    library = SessionLibrary(sessions)
    with (
        browser.another(f"--host-resolver-rules={rules}") as its,
        running(library) as one,
        running(library) as other,
        its.open(one.address, ready=False) as page,
    ):
        listed(page)
        first = page.url
        page.goto(other.address)
        listed(page)
        second = page.url
        for address in (first, second, first):
            page.goto(address)
            listed(page)

        assert first != second


def test_a_program_gets_in_with_the_printed_key(viewer: Running) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", viewer.port)) as connection:
        connection.request("POST", "/enter", f"key={viewer.keys.key}")
        answer = connection.getresponse()
        cookie = str(answer.headers["set-cookie"]).partition(";")[0]
        answer.read()
        connection.request("GET", f"/{viewer.keys.name}/api/sessions", headers={"cookie": cookie})

        assert json.loads(connection.getresponse().read())["total"] == 1


# -- the private file and the terminal --------------------------------------------------------------------


def test_the_file_that_the_browser_opens_is_private_and_gets_in(browser: Browser, viewer: Running) -> None:
    file = EntryFile(viewer.keys, viewer.port)
    path = Path(file.path)

    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with browser.open(path, ready=False) as page:
        listed(page)
        assert page.url == f"{viewer.base}/"
    file.delete()
    assert not path.parent.exists()


def environment(place: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "XDG_CACHE_HOME": str(place / "cache"),
        "HOME": str(place),
        "TMPDIR": str(place),
        **more,
    }


SPY = """
import glob, http.client, json, os, re, sys, time
place, seconds = sys.argv[1], float(sys.argv[2])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
seen, tried = set(), set()
until = time.monotonic() + seconds
while time.monotonic() < until:
    for file in glob.glob("/proc/[0-9]*/cmdline"):
        if file == f"/proc/{os.getpid()}/cmdline":
            continue
        try:
            line = open(file, "rb").read().decode("utf-8", "replace")
        except OSError:
            continue
        if place in line:
            seen.add(line)
    texts = set(seen)
    for path in {path for line in seen for path in re.findall(r"/[^\\0 #?]+", line)}:
        for near in (path, os.path.dirname(path)):
            try:
                texts.update(map(str, os.listdir(near)) if os.path.isdir(near) else [open(near, errors="replace").read(100_000)])
            except OSError:
                pass
    for key in {key for text in texts for key in re.findall(r"[0-9a-f]{8,}\\.[\\w-]{20,}", text)} - tried:
        tried.add(key)
    time.sleep(0.01)
print(json.dumps([sorted(seen), sorted(tried)]))
"""


def test_another_user_who_reads_the_process_list_gets_no_entry(
    browser: Browser, sessions: Path, tmp_path: Path
) -> None:
    """What is started as the browser keeps its arguments for two seconds, and a spy looks at them and beside them."""
    if os.getuid() != 0:
        pytest.skip("only root can start a program of another user")
    place = tmp_path / "open"
    place.mkdir()
    for directory in (tmp_path, *tmp_path.parents):
        if str(directory) != "/tmp" and str(directory).startswith("/tmp"):
            directory.chmod(0o755)
    started = place / "arguments"
    program = place / "browser"
    program.write_text(
        f'#!/bin/sh\nprintf "%s" "$1" > {started}.new && mv {started}.new {started}\nsleep 2\n'
    )
    program.chmod(0o755)
    spy = subprocess.Popen(
        [sys.executable, "-c", SPY, str(place), "6"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(place),
    )
    command = [sys.executable, "-m", "branchline", "web", "--dir", str(sessions)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(place, BROWSER=f"{program} %s")
    ) as server:
        try:
            output, _ = spy.communicate()
            seen, keys = json.loads(output)
            file = started.read_text()

            assert any(
                file.removeprefix("file://") in line for line in seen
            )  # the spy sees the browser start
            assert keys == []
            with browser.open(file, ready=False) as page:
                listed(page)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(10)
    assert not os.path.exists(file.removeprefix("file://"))


def test_enter_in_the_terminal_makes_another_address(
    browser: Browser, sessions: Path, tmp_path: Path
) -> None:
    """The first one was used by somebody; the second one lets its browser in."""
    command = [sys.executable, "-m", "branchline", "web", "--no-open", "--dir", str(sessions)]
    with terminal(command, environment(tmp_path)) as (keyboard, lines):
        first = lines.address()
        with browser.open(first, ready=False) as page:
            listed(page)
        os.write(keyboard, b"\n")
        second = lines.address()
        assert second != first
        with browser.open(second, ready=False) as page:
            listed(page)


class Lines:
    """What a program writes to its terminal."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.text = ""

    def address(self, seconds: float = 20.0) -> str:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := re.search(r"http://\S+", self.text):
                self.text = self.text[found.end() :]
                return found[0]
            self.text += os.read(self.descriptor, 4096).decode()
        raise AssertionError(self.text)


@contextmanager
def terminal(command: list[str], given: dict[str, str]) -> Iterator[tuple[int, Lines]]:
    """A program with a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=given, start_new_session=True
    ) as program:
        os.close(theirs)
        try:
            yield ours, Lines(ours)
        finally:
            program.terminate()
            os.close(ours)


# -- strangers --------------------------------------------------------------------------------------------


def test_keys_differ_from_run_to_run() -> None:
    one, other = Keys(), Keys()

    assert one.name != other.name
    assert not one.enter(other.key)
