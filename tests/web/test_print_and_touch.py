"""Sessions on paper, on phones and without JavaScript, in the viewer and in single files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from branchline import Session, SessionLibrary
from branchline.actions.export import ExportRequest, export
from web.browser import Browser, Page, chromium
from web.hostile import message, write_session
from web.kit import Running, running

ROWS = 1200
SUMMARY = "what came before, in short. " * 40


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with more rows than a page loads by itself, each with a number of its own, and a compaction."""
    return write_rows(tmp_path_factory.mktemp("sessions") / "long.jsonl", ROWS).parent


def write_rows(path: Path, rows: int) -> Path:
    entries: list[dict[str, Any]] = []
    for number in range(rows // 2):
        entries.append(message("user", f"Prompt z{2 * number}z"))
        entries.append(message("assistant", f"Answer z{2 * number + 1}z"))
    entries.insert(rows // 4, {"type": "compaction", "summary": SUMMARY, "firstKeptEntryId": "e1"})
    return write_session(path, entries)


@pytest.fixture(scope="module")
def viewer(sessions: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with running(SessionLibrary(sessions), writable=True) as started:
            yield started


@pytest.fixture(scope="module")
def single(sessions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Session.open(sessions / "long.jsonl") as session:
        return Path(export(session, tmp_path_factory.mktemp("pages") / "long.html", ExportRequest()).path)


@pytest.fixture(params=["viewer", "single"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """The session, in the viewer and as a single file."""
    if request.param == "single":
        with browser.open(request.getfixturevalue("single")) as page:
            page.page.set_default_timeout(10_000)
            yield page
    else:
        with in_viewer(browser, request.getfixturevalue("viewer")) as page:
            page.goto(page.wait("document.querySelector('.row').href"))
            page.wait("document.documentElement.dataset.ready")
            yield page


@contextmanager
def in_viewer(browser: Browser, viewer: Running, **options: Any) -> Iterator[Page]:
    """The list, in another browser that may see it."""
    cookie = {"name": "branchline", "value": viewer.keys.cookie, "url": viewer.base}
    with browser.open("about:blank", ready=False, **options) as page:
        page.page.set_default_timeout(10_000)
        page.context.add_cookies([cookie])
        page.goto(viewer.base + "/")
        if options.get("java_script_enabled", True):
            page.wait("document.querySelector('.row')")
        yield page


def paper(page: Page, directory: Path) -> list[str]:
    """The texts of the pages that the browser's Print menu makes."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext (poppler) is not installed on this machine")
    page.pdf(path=directory / "page.pdf")
    done = subprocess.run(
        ["pdftotext", "-layout", directory / "page.pdf", "-"], capture_output=True, text=True, check=True
    )
    return done.stdout.split("\f")[:-1]


def numbers(sheets: list[str]) -> list[int]:
    return [int(number) for sheet in sheets for number in re.findall(r"z(\d+)z", sheet)]


NOTE = "entries are on this paper"


def test_paper_that_lacks_entries_says_so_and_has_no_blank_pages(page: Page, tmp_path: Path) -> None:
    sheets = paper(page, tmp_path)

    assert all(sheet.strip() for sheet in sheets)
    found = set(numbers(sheets)) - {0}
    assert len(found) < 100
    assert re.search(rf"Only [\d,]+ of 1,201 {NOTE}", " ".join(sheets))
    assert "Prepare for printing" in " ".join(sheets)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")  # reading goes on
    page.wait(f"document.querySelector('#path').textContent.includes('z{ROWS - 1}z')")
    assert page.nodes() < 2000


@pytest.mark.parametrize(("page", "way"), [("viewer", "button"), ("single", "keyboard")], indirect=["page"])
def test_a_page_that_was_prepared_prints_every_entry_in_order(page: Page, tmp_path: Path, way: str) -> None:
    page.evaluate("void (globalThis.print = () => { globalThis.printed = true; })")
    if way == "button":
        page.click("#print")
    else:
        page.keyboard.press("Control+p")
    page.wait("globalThis.printed", 120)
    sheets = paper(page, tmp_path)

    assert all(sheet.strip() for sheet in sheets)
    assert NOTE not in " ".join(sheets)
    assert "what came before, in short" in " ".join(sheets)
    found = numbers(sheets)
    assert found[found.index(1) - 1 :] == list(range(ROWS))  # the title is the first prompt
    page.wait("document.querySelectorAll('*').length < 2000")
    assert not page.is_visible("#told")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # the browser's menu finds the same afterwards
    assert page.evaluate("document.querySelectorAll('#path > .node:not([data-waits])').length") == ROWS + 1
    assert page.query_selector(".paper-note") is None
    assert page.errors == []


def test_all_of_a_very_long_session_is_put_on_the_page(browser: Browser, tmp_path: Path) -> None:
    with Session.open(write_rows(tmp_path / "long.jsonl", 5200)) as session:
        path = export(session, tmp_path / "long.html", ExportRequest()).path
    with browser.open(Path(path)) as page:
        page.evaluate("void (globalThis.print = () => { globalThis.printed = true; })")
        page.click("#print")
        page.wait("globalThis.printed", 120)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")

        ids = page.evaluate(
            "[...document.querySelectorAll('#path > .node:not([data-waits])')].map((node) => node.dataset.id)"
        )
        assert ids == page.evaluate("branchline.path.map((at) => branchline.tree.ids[at])")
        assert len(ids) == 5201
        assert page.query_selector(".paper-note") is None
        page.click("#told button")
        assert page.nodes() < 2000


def test_preparing_can_be_stopped(page: Page) -> None:
    page.evaluate("void (globalThis.print = () => { globalThis.printed = true; })")
    page.evaluate(
        """(() => {
          const load = branchline.load.bind(branchline);
          branchline.load = async (rows) => { await new Promise((next) => setTimeout(next, 300)); return load(rows); };
        })()"""
    )
    page.click("#print")
    page.click("#told button")
    page.wait_for_timeout(2500)

    assert not page.is_visible("#told")
    assert not page.evaluate("globalThis.printed")
    assert page.nodes() < 2000


def test_a_short_session_is_printed_whole_from_the_menu(browser: Browser, tmp_path: Path) -> None:
    entries = [message("user", f"Prompt z{number}z") for number in range(200)]
    source = write_session(tmp_path / "short.jsonl", [{"type": "session_info", "name": "Short"}, *entries])
    with Session.open(source) as session:
        done = export(session, tmp_path / "short.html", ExportRequest())

    with browser.open(Path(done.path)) as page:
        page.wait("branchline.isWhole()")
        assert numbers(paper(page, tmp_path)) == list(range(200))


# -- touch ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 640], ids=["phone", "1280 at 200 %"])
def test_share_change_print_and_help_are_reached_by_touch(
    browser: Browser, viewer: Running, width: int
) -> None:
    with in_viewer(browser, viewer, has_touch=True, viewport={"width": width, "height": 700}) as page:
        page.goto(page.wait("document.querySelector('.row').href"))
        page.wait("document.documentElement.dataset.ready")
        for button, shown in {"[data-help]": "#help", "#change-button": "#change"}.items():
            page.tap("#menu-button")
            assert page.evaluate(
                "[...document.querySelectorAll('#menu > *')].every((one) => one.offsetHeight >= 44)"
            )
            page.tap(f"#menu {button}")
            assert page.is_visible(shown)
            assert not page.is_visible(f"#menu {button}")
            page.tap(f"{shown} header button")
            assert not page.is_visible(shown)
        page.tap("#menu-button")
        assert page.is_visible("#menu #print")
        page.tap("#menu #share")
        page.wait("document.querySelector('#write')")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("place", ["", "statistics", "s/unknown"])
def test_help_is_inside_the_window_of_a_phone(browser: Browser, viewer: Running, place: str) -> None:
    with in_viewer(browser, viewer, has_touch=True, viewport={"width": 390, "height": 700}) as page:
        page.goto(page.url + place)
        page.tap(".tools [data-help]")

        assert page.is_visible("#help")
        assert page.evaluate("document.querySelector('.tools').getBoundingClientRect().right") <= 390


def test_without_popovers_everything_stays_in_the_bar(browser: Browser, single: Path, tmp_path: Path) -> None:
    """Browsers of before 2024 have neither the element nor the selector."""
    style = "@supports not selector(:popover-open)"
    page_text = single.read_text(encoding="utf-8")

    assert style in page_text
    assert "display: contents !important" in page_text


# -- without JavaScript -----------------------------------------------------------------------------------


def test_every_page_of_the_viewer_says_something_useful_without_javascript(
    browser: Browser, viewer: Running
) -> None:
    with in_viewer(browser, viewer) as page:
        row = page.evaluate("document.querySelector('.row').href").rpartition("/")[2]
    expected = {
        "": "branchline ls --all",
        f"s/{row}": "branchline show long",
        f"s/{row}/share": "branchline share long -o FILE.html",
        "statistics": "Sessions per day",
        f"compare?left={row}:e1&right={row}": "entries are the same in both",
        "s/unknown": "No such session",
    }
    with in_viewer(browser, viewer, java_script_enabled=False) as page:
        for place, text in expected.items():
            page.goto(f"{viewer.base}/{place}")
            shown = page.inner_text("body")
            assert text in shown, place
            assert "…" not in shown, place  # nothing that would go on
            assert not page.is_visible("button:not([aria-label])"), place  # nothing that does nothing


def test_a_long_list_on_paper_says_what_it_lacks(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number in range(150):
        write_session(tmp_path / f"s{number}.jsonl", [message("user", f"z{number}z")])
    with running(SessionLibrary(tmp_path)) as viewer, in_viewer(browser, viewer) as page:
        sheets = paper(page, tmp_path)

        assert all(sheet.strip() for sheet in sheets)
        assert 10 < len(set(numbers(sheets))) < 150
        assert "of 150 sessions are on this paper" in " ".join(sheets)
