"""The viewer in a real Chromium, by keyboard: from the list to an exported file that can be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchline import Session, SessionLibrary
from branchline.actions.import_ import import_file
from interop import peers
from web.browser import Browser, Page, chromium
from web.kit import Running, running

TOKEN = "gh" + "p_" + "Zq7Rt2Lm9Xc4Vb8Nw3Kd6Hf1Js5Gy0PuTeAo"
OTHER_TOKEN = "gh" + "p_" + "Aw4Ks8Dj2Fh6Gl1Zx5Cv9Bn3Mq7We0RtYuIo"


def answer(text: str) -> dict:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sessions")
    with Session.create(place, directory=place) as session:
        session.append_message("Why is the lamp dark?")
        first = session.append_message(answer("The fuse blew."))
        session.append_message(f"Replace it, the shop's key is {TOKEN}, mine is {OTHER_TOKEN}")
        session.append_message(answer("Replaced with a **brass** fuse, as the harbour master asked."))
        session.branch(first)
        session.append_message("Check the wiring instead")
        session.append_message(
            answer("A wire was loose.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nprint(1)\n```")
        )
        session.set_title("Lamp")
    return place


@pytest.fixture(scope="module")
def printed(directory: Path) -> Iterator[str]:
    """The address that the real program prints."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(directory / "cache"), "HOME": str(directory)}
    command = [sys.executable, "-m", "branchline", "web", "--no-open", "--write", "--dir", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.fixture(scope="module")
def state(browser: Browser, printed: str) -> dict[str, Any]:
    """The address and the cookie of a browser that opened the printed address."""
    with browser.open(printed, ready=False) as page:
        page.wait("document.querySelector('.row')")
        return {"address": page.url, "cookies": page.context.cookies()}


@pytest.fixture
def address(state: dict[str, Any]) -> str:
    return str(state["address"])


@pytest.fixture
def page(browser: Browser, state: dict[str, Any], address: str) -> Iterator[Page]:
    """The list of sessions. Nothing on the pages of a test may fail, or ask another server."""
    with browser.open("about:blank", ready=False, accept_downloads=True) as opened:
        opened.context.add_cookies(state["cookies"])
        opened.goto(address)
        opened.wait("document.querySelector('.row')")
        yield opened
        assert opened.errors == []
        assert [
            url for url in opened.requests if not url.startswith((address, "about:", "data:", "blob:"))
        ] == []


def lamp(page: Page) -> str:
    """Open the transcript, by keyboard."""
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait("document.documentElement.dataset.ready === 'yes'")
    page.wait("document.querySelector('#path article.user')")
    return page.url.partition("#")[0]


def tab_to(page: Page, selector: str) -> None:
    """Press the tab key until this element has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the tab key never reaches {selector}")


def test_from_the_list_to_an_imported_file_by_keyboard_alone(
    page: Page, directory: Path, tmp_path: Path
) -> None:
    page.keyboard.press("/")
    page.keyboard.type("brass")
    page.wait("document.querySelector('.hit mark')")
    assert page.text_content("#tally") == "1 session found"
    assert page.text_content(".hit .quiet") == "other branch"

    page.keyboard.press("Enter")  # the hit, on its own branch
    page.wait(
        "document.querySelector('#path article')?.textContent && document.body.textContent.includes('brass')"
    )
    shown = "[...document.querySelectorAll('#path article.user')].map((one) => one.textContent).join()"
    page.wait(f"{shown}.includes('Replace it') && !{shown}.includes('wiring')")

    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")  # the other branch, in place
    page.wait(f"{shown}.includes('wiring') && !{shown}.includes('Replace it')")

    page.keyboard.press("c")  # both, side by side
    page.wait("document.querySelectorAll('.side').length === 2")
    assert "2 entries are the same in both" in page.text_content(".shared")
    assert "A wire was loose" in page.text_content(".sides")
    assert "brass" in page.text_content(".sides")

    tab_to(page, ".crumbs a")
    page.keyboard.press("Enter")
    page.wait("document.documentElement.dataset.ready === 'yes' && document.querySelector('#path')")
    page.keyboard.press("x")  # review and export
    page.wait("document.querySelectorAll('.finding').length === 2")
    tab_to(page, ".finding")
    page.keyboard.press("m")
    page.keyboard.press("k")
    tab_to(page, "#text")
    page.keyboard.type("harbour master")
    page.keyboard.press("Enter")
    tab_to(page, "#write")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    download.value.save_as(tmp_path / "lamp.html")

    done = import_file(tmp_path / "lamp.html", directory=tmp_path / "copies")
    (original,) = directory.glob("*.jsonl")
    copy = Path(done.path).read_text()
    with Session.open(original) as session, Session.open(done.path) as imported:
        assert imported.index.keys == session.index.keys[: len(imported.index.keys)]
    assert (TOKEN in copy) + (OTHER_TOKEN in copy) == 1
    assert "harbour master" not in copy


def test_what_another_program_appends_appears_and_a_lost_connection_loses_nothing(
    page: Page, directory: Path
) -> None:
    lamp(page)
    (file,) = directory.glob("*.jsonl")

    with Session.open(file) as session:
        session.append_message("Said while the page is open")
    page.wait("document.querySelector('#path').textContent.includes('Said while the page is open')")
    page.context.set_offline(True)
    with Session.open(file) as session:
        session.append_message(answer("Said while the page was offline"))
    page.wait_for_timeout(300)
    page.context.set_offline(False)

    page.wait("document.querySelector('#path').textContent.includes('Said while the page was offline')", 20)
    page.errors[:] = [error for error in page.errors if "ERR_INTERNET_DISCONNECTED" not in error]


def test_a_result_that_arrives_later_joins_its_call(page: Page, directory: Path) -> None:
    """Also if another call and its result stand between."""
    lamp(page)
    (file,) = directory.glob("*.jsonl")
    calls = [
        {"type": "toolCall", "id": f"late-{name}", "name": "bash", "arguments": {"command": f"make {name}"}}
        for name in ("one", "two")
    ]
    lines = """[...document.querySelectorAll('.tool')].filter((tool) => tool.textContent.includes('make '))
      .map((tool) => [tool.querySelector('code').textContent, tool.querySelector('.st').ariaLabel].join())"""

    def result(name: str) -> dict[str, Any]:
        content = [{"type": "text", "text": f"made {name}"}]
        return {"role": "toolResult", "toolCallId": f"late-{name}", "toolName": "bash", "content": content}

    with Session.open(file) as session:
        session.append_messages([{"role": "assistant", "content": [call]} for call in calls])
    page.wait(f"({lines}).join(' ') === 'make one,no result make two,no result'")
    with Session.open(file) as session:
        session.append_message(result("two"))
    page.wait(f"({lines}).join(' ') === 'make one,no result make two,done'")
    with Session.open(file) as session:
        session.append_message(result("one"))
    page.wait(f"({lines}).join(' ') === 'make one,done make two,done'")


def test_an_entry_whose_request_failed_is_asked_for_again(page: Page, directory: Path) -> None:
    lamp(page)
    (file,) = directory.glob("*.jsonl")
    refused: list[str] = []

    def refuse_once(route: Any) -> None:
        if refused:
            route.continue_()
        else:
            refused.append(route.request.url)
            route.abort()

    page.page.route("**/pieces?*", refuse_once)
    with Session.open(file) as session:  # an event brings the HTML of a few new entries itself, not of many
        session.append_messages([*map(str, range(30)), "Said while a request failed"])

    page.wait("branchline.tree.texts.size && [...branchline.tree.texts.values()].includes('29')")
    page.keyboard.press("G")
    page.wait("document.querySelector('#path').textContent.includes('Said while a request failed')")
    assert refused
    page.page.unroute("**/pieces?*")
    page.errors[:] = [error for error in page.errors if "ERR_FAILED" not in error]


def test_label_title_and_tags_are_changed_by_keyboard(page: Page, directory: Path) -> None:
    transcript = lamp(page)
    changes = {
        "#change-session": "Lamp room",
        "#change-tags": "harbour light",
        "#change-label": "the question",
    }

    for field, text in changes.items():
        page.goto(transcript)
        page.wait("document.documentElement.dataset.ready === 'yes' && globalThis.branchline")
        page.keyboard.press("e")
        page.wait("document.querySelector('#change')?.open")
        tab_to(page, field)
        page.keyboard.press("Control+a")
        page.keyboard.type(text)
        page.keyboard.press("Enter")  # the page is loaded again
        page.wait(
            "document.querySelector('#change')?.open === false && document.documentElement.dataset.ready === 'yes'"
        )

    page.wait("document.documentElement.dataset.ready === 'yes' && document.querySelector('#path .chip')")
    assert page.text_content("#path .chip") == "the question"
    assert page.text_content("h1") == "Lamp room"
    assert "#harbour" in page.text_content(".facts")
    (file,) = directory.glob("*.jsonl")
    with Session.open(file) as session:
        assert session.title == "Lamp room"
        assert "the question" in session.labels.values()
        session.set_title("Lamp")


def places(page: Page) -> list[str]:
    """Every page of the viewer."""
    transcript = lamp(page)
    other = page.wait("branchline.tree.ids[3]")
    id_ = transcript.rpartition("/")[2]
    return [
        "",
        "?q=fuse",
        f"s/{id_}",
        f"s/{id_}/share",
        f"compare?left={id_}&right={id_}:{other}",
        "statistics",
        "s/unknown",
    ]


def test_every_page_fits_a_phone_and_axe_finds_nothing_serious(page: Page, address: str) -> None:
    try:
        script = peers.axe_core().read_text(encoding="utf-8")
    except peers.PeerMissing as missing:
        script = ""
        reason = str(missing)
    session = page.context.new_cdp_session(page.page)
    session.send("Page.setBypassCSP", {"enabled": True})  # for axe alone
    found = []
    for place in places(page):
        for width, scheme in ((1280, "light"), (390, "dark")):
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            page.goto(address + place)
            page.wait("document.readyState === 'complete'")
            page.wait("!document.querySelector('#rows') || document.querySelector('.row')")
            page.wait("!document.querySelector('#path') || document.querySelector('#path article')")

            assert page.evaluate("document.documentElement.scrollWidth") <= width, (place, width)
            if script:
                page.evaluate(script)
                # The markup is the same in both sizes; colours and what is visible differ.
                rules = "" if width > 390 else "runOnly: ['color-contrast', 'scrollable-region-focusable'], "
                violations = page.evaluate(f"axe.run({{ {rules}resultTypes: ['violations'] }})")["violations"]
                found += [
                    (place, width, scheme, one["id"], one["nodes"][0]["html"][:200])
                    for one in violations
                    if one["impact"] in ("serious", "critical")
                ]
    page.errors[:] = [error for error in page.errors if "404" not in error]  # the unknown session
    assert found == []
    if not script:
        pytest.skip(reason)


# -- many tabs --------------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A viewer of eight sessions."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number in range(8):
        with Session.create(tmp_path, directory=tmp_path / "sessions") as session:
            session.append_message(f"Question {number}")
            session.append_message(answer(f"Answer {number}"))
    with running(SessionLibrary(tmp_path / "sessions")) as viewer:
        yield viewer


def tabs(page: Page, viewer: Running, *, fresh: str = "") -> list[tuple[Path, Any]]:
    """Open every session in a tab of its own; ``fresh`` is a script that runs before those of the pages."""
    page.wait("document.querySelector('.row')")
    rows = page.evaluate("fetch('/api/sessions').then((answer) => answer.json())")["rows"]
    files = {path.read_text().split("Question ")[1][0]: path for path in session_files(viewer)}
    opened = []
    for row in rows:
        tab = page.context.new_page()
        tab.set_default_timeout(15_000)
        if fresh:
            tab.add_init_script(fresh)
        tab.goto(f"{viewer.base}/s/{row['id']}")
        tab.wait_for_selector("html[data-ready]")
        opened.append((files[row["title"][-1]], tab))
    return opened


def session_files(viewer: Running) -> list[Path]:
    return sorted(Path(viewer.library.list()[0].path or "").parent.glob("*.jsonl"))


def shown(tab: Any, text: str) -> None:
    for _ in range(500):
        if text in (tab.text_content("#path") or ""):
            return
        tab.wait_for_timeout(20)
    raise AssertionError(f"never shown: {text}")


def say(file: Path, text: str) -> None:
    with Session.open(file) as session:
        session.append_message(text)


def test_eight_tabs_show_what_is_appended_and_the_list_still_loads(browser: Browser, many: Running) -> None:
    with browser.open(many.address, ready=False) as page:
        opened = tabs(page, many)
        for number, (file, _tab) in enumerate(opened):
            say(file, f"Appended to {number}")
        for number, (_file, tab) in enumerate(opened):
            shown(tab, f"Appended to {number}")

        page.page.reload(timeout=15_000)
        page.wait("document.querySelector('.row')")
        opened[3][1].close()  # nobody else's stream ends with it
        for number, (file, tab) in enumerate(opened):
            if number != 3:
                say(file, f"Said later to {number}")
                shown(tab, f"Said later to {number}")


def test_two_tabs_of_one_session_show_each_entry_once(browser: Browser, many: Running) -> None:
    with browser.open(many.address, ready=False) as page:
        (file, first), *_ = tabs(page, many)
        say(file, "Before the second tab")
        shown(first, "Before the second tab")
        second = page.context.new_page()
        second.goto(first.url)
        second.wait_for_selector("html[data-ready]")
        for number in range(5):
            say(file, f"Entry {number} of both")
        for tab in (first, second):
            shown(tab, "Entry 4 of both")
            path = tab.text_content("#path")
            assert [path.count(f"Entry {number} of both") for number in range(5)] == [1] * 5


def test_a_broken_connection_loses_nothing(browser: Browser, many: Running) -> None:
    with browser.open(many.address, ready=False) as page:
        opened = tabs(page, many)
        for number, (file, _tab) in enumerate(opened):
            say(file, f"Before {number}")
        many.break_connections()
        for number, (file, _tab) in enumerate(opened):
            say(file, f"While nobody was connected to {number}")
        for number, (_file, tab) in enumerate(opened):
            shown(tab, f"While nobody was connected to {number}")
            assert (tab.text_content("#path") or "").count(f"Before {number}") == 1


HIDE = """
delete globalThis.SharedWorker;
globalThis.hide = (hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
};
globalThis.hide(true);
"""


def test_without_shared_workers_a_hidden_tab_keeps_no_connection_and_catches_up(
    browser: Browser, many: Running
) -> None:
    with browser.open(many.address, ready=False) as page:
        opened = tabs(page, many, fresh=HIDE)
        assert len(opened) == 8
        for number, (file, tab) in enumerate(opened):
            say(file, f"While {number} was hidden")
            tab.evaluate("hide(false)")
            shown(tab, f"While {number} was hidden")
            tab.evaluate("hide(true)")
            say(file, f"Once more hidden {number}")
            tab.evaluate("hide(false)")
            shown(tab, f"Once more hidden {number}")
            tab.evaluate("hide(true)")


# -- a file that vanishes, or is written anew -------------------------------------------------------------


def first_session(page: Page, viewer: Running) -> Path:
    """Open the first session of the list; return its file."""
    page.wait("document.querySelector('.row')")
    title = page.text_content(".row .title")
    page.goto(page.evaluate("document.querySelector('.row').href"))
    page.wait("document.documentElement.dataset.ready")
    return next(path for path in session_files(viewer) if f'"{title}"' in path.read_text())


def test_a_session_whose_file_is_deleted_says_so_at_once_and_when_it_is_loaded_again(
    browser: Browser, many: Running
) -> None:
    with browser.open(many.address, ready=False) as page:
        file = first_session(page, many)
        content, address = file.read_bytes(), page.url
        file.unlink()
        page.wait("document.querySelector('#told').textContent.includes('was deleted or moved')")

        assert page.is_visible("#told")
        assert not page.is_visible("#news")
        assert "Question" in page.text_content("#path")  # what was read stays
        assert str(file.parent) not in page.text_content("#told")
        page.goto(address)
        page.wait("document.querySelector('#path .problem')?.textContent.includes('was deleted or moved')")

        file.write_bytes(content)
        page.goto(address)
        page.wait("document.querySelector('#path')?.textContent.includes('Question')")


def test_a_file_that_comes_back_or_is_written_anew_is_read_again_and_announced(
    browser: Browser, many: Running
) -> None:
    with browser.open(many.address, ready=False) as page:
        file = first_session(page, many)
        content = file.read_bytes()
        other = content.replace(b"Answer", b"Reply, quite another one,")
        rewritten = "document.querySelector('#told')?.textContent.includes('was rewritten')"

        file.unlink()
        page.wait("document.querySelector('#told').textContent.includes('was deleted or moved')")
        file.write_bytes(other)
        page.wait(f"{rewritten} && document.querySelector('#path').textContent.includes('quite another one')")
        page.click("#told button")
        assert not page.is_visible("#told")

        with file.open("r+b") as opened:  # in place, in two steps, and shorter
            opened.truncate(0)
            page.wait_for_timeout(300)
            opened.write(content.rstrip(b"\n").rpartition(b"\n")[0] + b"\n")
        page.wait(
            f"{rewritten} && !document.querySelector('#path').textContent.includes('quite another')", 20
        )
        assert "Question" in page.text_content("#path")
        page.errors[:] = []


# -- small things -----------------------------------------------------------------------------------------


def test_a_list_whose_viewer_ended_says_so_and_goes_on_when_it_is_back(
    browser: Browser, many: Running
) -> None:
    with browser.open(many.address, ready=False) as page:
        page.wait("document.querySelector('.row')")
        page.context.set_offline(True)
        page.click("[data-sort=title]")
        page.wait("!document.querySelector('#problem').hidden")

        assert "The viewer does not answer" in page.text_content("#problem")
        assert "8 sessions" in page.text_content("#tally")
        page.context.set_offline(False)
        page.wait(
            "document.querySelector('#problem').hidden && document.querySelectorAll('.row').length === 8"
        )


def test_s_leads_to_all_sessions_from_every_page(page: Page, address: str) -> None:
    for place in places(page)[2:]:
        page.goto(address + place)
        page.wait("document.readyState === 'complete' && document.querySelector('main')")
        page.wait("!document.querySelector('#path') || document.documentElement.dataset.ready")
        page.keyboard.press("s")
        page.wait("document.querySelector('#rows')")
    page.errors[:] = [error for error in page.errors if "404" not in error]  # the unknown session


def test_a_fork_is_linked(page: Page) -> None:
    lamp(page)
    page.keyboard.press("e")
    page.click("[data-change=fork] button")
    page.wait("document.querySelector('#change-problem a')")

    assert page.evaluate("document.activeElement.matches('#change-problem a')")
    page.keyboard.press("Enter")
    page.wait("document.documentElement.dataset.ready === 'yes' && !document.querySelector('#change')?.open")
    assert "Why is the lamp dark?" in page.text_content("#path")
    page.goto(page.url.rpartition("/s/")[0])


def test_the_focus_is_on_the_result_that_was_opened(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("brass")
    page.wait("document.querySelector('.hit mark')")
    page.keyboard.press("Enter")
    page.wait("document.documentElement.dataset.ready === 'yes' && document.querySelector('#path article')")

    focused = page.wait("document.activeElement.closest('#path') && document.activeElement.textContent")
    assert "brass" in focused
    page.wait("document.querySelector('#find').value === 'brass'")


def test_an_empty_folder_is_not_said_to_be_an_empty_search(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "sessions" / "below").mkdir(parents=True)
    with Session.create(tmp_path, directory=tmp_path / "sessions" / "below") as session:
        session.append_message("Question")
        session.append_message(answer("Answer"))
    with (
        running(SessionLibrary(tmp_path / "sessions")) as viewer,
        browser.open(viewer.address, ready=False) as page,
    ):
        page.wait("document.querySelector('#empty') && !document.querySelector('#empty').hidden")
        assert "No sessions here" in page.text_content("#empty")
        assert "sub-folders" in page.text_content("#empty")
        page.keyboard.press("/")
        page.keyboard.type("words")
        page.wait("document.querySelector('#empty').textContent.includes('Nothing found')")
