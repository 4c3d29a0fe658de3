"""The viewer in a real Chromium, by keyboard: list, search, hit, branch, comparison, live following."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest

from branchline import Session

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def answer(text: str) -> dict:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sessions")
    with Session.create(directory, directory=directory) as session:
        session.append_message("Why is the lamp dark?")
        first = session.append_message(answer("The fuse blew."))
        session.append_message("Replace it")
        session.append_message(answer("Replaced with a **brass** fuse."))
        session.branch(first)
        session.append_message("Check the wiring instead")
        session.append_message(answer("A wire was loose."))
        session.set_title("Lamp")
    with Session.create(directory, directory=directory) as session:
        session.append_message('"><img src=x onerror="document.title=1"> <script>document.title=1</script>')
        session.append_message(answer("[link](javascript:document.title=1) <b onclick=x>no</b>"))
        session.set_title("</title><script>document.title=1</script>")
    return directory


@pytest.fixture(scope="module")
def address(library):
    environment = {**os.environ, "XDG_CACHE_HOME": str(library / "cache"), "HOME": str(library)}
    command = [sys.executable, "-m", "branchline", "web", "--no-open", "--dir", str(library)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.fixture(scope="module")
def page(address):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        made = context.new_page()
        made.set_default_timeout(15_000)
        made.problems = []
        made.on("pageerror", lambda problem: made.problems.append(str(problem)))
        made.on("console", lambda said: made.problems.append(said.text) if said.type == "error" else None)
        made.on(
            "request",
            lambda asked: (
                made.problems.append(asked.url)
                if "127.0.0.1" not in asked.url and not asked.url.startswith("data:")
                else None
            ),
        )
        made.goto(address)
        yield made
        browser.close()


@pytest.fixture
def home(page, address):
    page.problems.clear()
    page.goto(address.partition("/enter")[0] + "/")
    page.wait_for_selector(".row")
    yield page
    assert page.problems == []


def test_from_the_list_to_a_hit_on_another_branch_and_back_to_the_current_one(home):
    home.keyboard.press("/")
    home.keyboard.type("brass")
    home.wait_for_selector(".hit mark")
    assert home.text_content(".hit .quiet") == "other branch"

    home.keyboard.press("Enter")
    home.wait_for_selector("html[data-ready=yes]")
    home.wait_for_selector("article:has-text('brass')")
    wiring = home.locator("#path article.user", has_text="Check the wiring")
    assert home.locator("#path article.user", has_text="Replace it").count() == 1
    assert wiring.count() == 0

    home.keyboard.press("Escape")
    home.keyboard.press("ArrowRight")
    wiring.wait_for()

    assert home.locator("#path article.user", has_text="Replace it").count() == 0


def test_two_branches_are_compared_from_the_keyboard(home):
    home.click(".row:has-text('Lamp')")
    home.wait_for_selector("html[data-ready=yes]")
    home.wait_for_selector("a.cmp")

    home.click("a.cmp")
    home.wait_for_selector(".sides")

    sides = home.locator(".side").all_text_contents()
    assert any("Replaced with a brass fuse" in side for side in sides)
    assert any("A wire was loose" in side for side in sides)
    assert "2 entries are the same in both" in home.text_content(".shared")


def test_what_another_program_appends_appears_on_the_page(home, library):
    home.click(".row:has-text('Lamp')")
    home.wait_for_selector("html[data-ready=yes]")
    file = next(path for path in library.glob("*.jsonl") if b'"Lamp"' in path.read_bytes())

    began = time.monotonic()
    with Session.open(file) as session:
        session.append_message("Said while the page is open")
    home.wait_for_selector("#path article:has-text('Said while the page is open')")

    assert time.monotonic() - began < 5


def test_hostile_sessions_are_text(home):
    title = home.title()
    home.click(".row:has-text('script')")
    home.wait_for_selector("html[data-ready=yes]")
    home.wait_for_selector("article.entry")

    assert home.title() != "1"
    assert home.locator("#path script, #path img, #path [onclick], #path [onerror]").count() == 0
    assert home.locator("#path a[href^='javascript']").count() == 0
    assert title == "Sessions · branchline"


def test_the_pages_fit_a_phone(home):
    home.set_viewport_size({"width": 390, "height": 800})
    try:
        for target in ("/", "/statistics"):
            home.goto(home.url.partition("/s/")[0].rstrip("/").partition("/statistics")[0] + target)
            home.wait_for_timeout(200)
            assert home.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), target
    finally:
        home.set_viewport_size({"width": 1280, "height": 800})
