"""An exported page in a real browser: reading it, and what hostile text cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline.actions.export import ExportRequest, export
from branchline.demo import sessions_directory
from branchline.session import Session
from branchline.views.html import markup
from branchline.views.html import prose as prose_module
from interop import peers
from web.browser import Browser, chromium
from web.forged import PLACES, forged, sealed
from web.hostile import hostile_session, message, write_session


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def exported(source: str | Path, target: Path, **options) -> Path:
    with Session.open(source) as session:
        return Path(export(session, target, ExportRequest(**options), force=True).path)


@pytest.fixture(scope="module")
def branched(folder: Path) -> Path:
    """The demo session with two branches."""
    (source,) = Path(sessions_directory()).glob("2026-03-02*")
    return exported(source, folder / "branched.html")


@pytest.fixture(scope="module")
def long(folder: Path) -> Path:
    """A session of 1,200 entries in several chunks; one of them says something that no other does."""
    entries = []
    for number in range(300):
        key = f"call{number}"
        word = "albatross" if number == 280 else "gull"
        entries.append(message("user", f"Prompt {number}"))
        call = {"type": "toolCall", "id": key, "name": "bash", "arguments": {"command": f"echo {number}"}}
        entries.append({"type": "message", "message": {"role": "assistant", "content": [call]}})
        output = f"{word} {number}\n" * 300
        entries.append(message("toolResult", output, toolCallId=key, toolName="bash"))
        entries.append(message("assistant", f"Answer **{number}**\n\n- one\n- two"))
    return exported(write_session(folder / "long.jsonl", entries), folder / "long.html")


def test_only_visible_rows_are_in_the_document_and_scrolling_shows_each_once(browser, long):
    with browser.open(long) as page:
        seen = page.evaluate(
            """async () => {
              const order = new Map(branchline.path.map((at, index) => [branchline.tree.ids[at], index]));
              const found = new Set(); let most = 0, wrong = 0;
              for (let turn = 0; turn < 900; turn++) {
                const before = scrollY; scrollBy(0, 700);
                await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
                let last = -1; most = Math.max(most, document.querySelectorAll("*").length);
                for (const node of document.querySelectorAll("#path > .node[data-id]")) {
                  const index = order.get(node.dataset.id); if (index <= last) wrong++; last = index; found.add(index);
                }
                if (scrollY === before && scrollY + innerHeight >= document.documentElement.scrollHeight - 2) break;
              }
              return { found: found.size, wrong, most };
            }"""
        )

        assert seen["wrong"] == 0
        assert seen["found"] == 1200
        assert seen["most"] <= 2000
        assert page.requests == [long.as_uri()]
        assert page.errors == []


def test_search_finds_folded_text_in_chunks_that_were_never_opened(browser, long):
    with browser.open(long) as page:
        page.keyboard.press("/")
        page.keyboard.type("albatross")
        page.wait("document.querySelector('#found').textContent === '1 found'")
        page.keyboard.press("Enter")

        page.wait("document.querySelector('.tool[open]')?.textContent.includes('albatross 280')")
        assert page.evaluate("branchline.tree.ids[branchline.path[branchline.here]]") == "e1122"
        assert page.nodes() <= 2000


def test_a_link_to_an_entry_opens_its_branch_and_its_place(browser, branched):
    with browser.open(branched.as_uri()) as page:
        other = page.evaluate(
            "(() => { const { tree, path } = branchline; const at = tree.roots.length && "
            "[...tree.ids.keys()].filter((k) => tree.kinds[k] !== '-' && !path.includes(k)).pop(); return tree.ids[at]; })()"
        )
    with browser.open(f"{branched.as_uri()}#e-{other}") as page:
        page.wait(f"branchline.tree.ids[branchline.path[branchline.here]] === '{other}'")

        box = page.evaluate(f"document.getElementById('e-{other}').getBoundingClientRect().top")
        assert 0 <= box < 800
        assert page.errors == []


def test_branches_are_switched_in_place_by_keyboard_alone(browser, branched):
    with browser.open(branched) as page:
        before = page.evaluate("branchline.path.length")
        page.keyboard.press("]")
        page.wait("branchline.here > 0")
        group = page.wait("document.querySelector('.node.on .fork')?.getAttribute('aria-label')")
        top = page.evaluate("document.querySelector('.node.on .fork').getBoundingClientRect().top")
        page.keyboard.press("ArrowLeft")
        page.wait(f"document.querySelector('.node.on .fork')?.getAttribute('aria-label') !== '{group}'")

        assert page.evaluate("branchline.path.length") != before
        moved = page.evaluate("document.querySelector('.node.on .fork').getBoundingClientRect().top")
        assert abs(moved - top) < 2
        page.keyboard.press("b")
        assert page.evaluate("document.activeElement.getAttribute('role')") == "treeitem"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait("document.querySelector('.node.on')")
        page.keyboard.press("?")
        assert page.evaluate("document.querySelector('#help').open")
        page.keyboard.press("Escape")
        page.keyboard.press("G")
        page.wait("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
        assert page.errors == []


def test_calls_and_thoughts_open_in_place_with_their_whole_text(browser, branched):
    with browser.open(branched) as page:
        assert page.evaluate("document.querySelectorAll('.io').length") == 0
        page.keyboard.press("t")
        page.wait("document.querySelector('.tool[open] .io pre')?.textContent.includes('PORT WREN')")
        page.keyboard.press(".")
        page.wait("document.querySelector('.think[open] .tx')?.textContent.includes('Unknown layout')")

        page.keyboard.press("t")
        page.wait("document.querySelectorAll('.io').length === 0")


def call(key: str) -> dict:
    return {"type": "toolCall", "id": key, "name": "bash", "arguments": {"command": f"run {key}"}}


def test_a_call_shows_the_result_of_the_branch_that_is_read(browser, folder):
    """Two branches have a result each, one has none; results of parallel calls stand with their calls."""
    note = {"type": "custom_message", "customType": "hook", "content": "a note"}
    entries = [
        {"type": "message", "message": {"role": "assistant", "content": [call("x")]}},
        message("toolResult", "of the left", toolCallId="x", toolName="bash"),
        message("assistant", "left"),
        {**note, "parentId": "e1"},
        message("toolResult", "of the right\nbranch", toolCallId="x", toolName="bash"),
        {"type": "message", "message": {"role": "assistant", "content": [call("a")]}},
        {"type": "message", "message": {"role": "assistant", "content": [call("b")]}},
        message("toolResult", "of b", toolCallId="b", toolName="bash"),
        message("toolResult", "of a", toolCallId="a", toolName="bash"),
        {**note, "parentId": "e1"},
    ]
    page_file = exported(write_session(folder / "calls.jsonl", entries), folder / "calls.html")
    calls = """(() => { const found = {};
      for (const tool of document.querySelectorAll(".tool")) {
        const at = tool.querySelector("code").textContent;
        found[at] = (found[at] ?? "") + (tool.querySelector(".out pre")?.textContent ?? tool.querySelector(".st").ariaLabel) + "|";
      }
      return found; })()"""
    with browser.open(page_file) as page:
        page.keyboard.press("t")
        ids = page.evaluate("branchline.tree.ids")
        shown = {}
        for leaf in (2, 8, 9, 2):
            page.evaluate(f"branchline.showPath({leaf}); document.documentElement.dataset.shown = {leaf}")
            page.wait(f"branchline.path[branchline.path.length - 1] === {leaf}")
            page.wait("document.querySelectorAll('#path .node').length === branchline.path.length")
            page.wait_for_timeout(150)
            shown[leaf] = page.evaluate(calls)

        assert shown == {
            2: {"run x": "of the left|"},
            8: {"run x": "of the right\nbranch|", "run a": "of a|", "run b": "of b|"},
            9: {"run x": "no result|"},
        }
        page.evaluate("branchline.showPath(8)")
        for at, row in ((8, 5), (7, 6)):
            page.evaluate(f"branchline.goTo({at}).then(() => document.documentElement.dataset.went = {at})")
            page.wait(f"document.documentElement.dataset.went === '{at}'")
            assert page.evaluate("document.querySelector('.node.on').dataset.id") == ids[row]
            assert page.evaluate(f"document.getElementById('e-{ids[at]}').matches('.tool.flash')")
        assert page.errors == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_in_both_themes(browser, branched, width, scheme):
    with browser.open(branched, viewport={"width": width, "height": 844}, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(251, 250, 247)" if scheme == "light" else "rgb(21, 21, 19)")
        if width == 390:
            page.click("#pane-button")
            sizes = page.evaluate(
                "[...document.querySelectorAll('.ti, .ib')].map((e) => e.offsetHeight).filter(Boolean)"
            )
            assert min(sizes) >= 44


def test_axe_finds_nothing_wrong(browser, branched):
    try:
        script = peers.axe_core().read_text(encoding="utf-8")
    except peers.PeerMissing as missing:
        pytest.skip(str(missing))
    for width, scheme in ((1280, "light"), (390, "dark")):
        viewport = {"width": width, "height": 844}
        with browser.open(branched, viewport=viewport, color_scheme=scheme, bypass_csp=True) as page:
            page.keyboard.press("t")
            page.wait("document.querySelector('.io')")
            page.evaluate(script)

            found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]

            assert [(one["id"], one["impact"], one["nodes"][0]["html"]) for one in found] == []


def test_without_javascript_the_beginning_and_the_text_are_there(browser, branched):
    with browser.open(branched, ready=False, java_script_enabled=False) as page:
        text = page.inner_text("body")

        assert "The harbour office publishes its tide tables" in text
        assert "## Assistant" in text
        assert "SHA-256" in text


def test_printing_has_the_whole_path_and_no_controls(browser, branched):
    with browser.open(branched) as page:
        page.wait("branchline.path.every((at) => branchline.cache.has(at))")
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")

        assert page.evaluate("document.querySelectorAll('#path > .node').length === branchline.path.length")
        assert not page.is_visible(".pane")
        page.evaluate("dispatchEvent(new Event('afterprint'))")


# -- pages that were changed ------------------------------------------------------------------------------

CHECKED = "document.documentElement.dataset.checked"


@pytest.mark.parametrize("page_of", ["branched", "long"])
def test_a_page_says_quietly_that_it_is_unchanged(browser, page_of, request):
    with browser.open(request.getfixturevalue(page_of)) as page:
        assert page.wait(CHECKED, 60) == "unchanged"
        assert page.text_content("#page-check") == "none: the page matches its digest"
        assert page.query_selector(".changed-page") is None
        assert page.errors == []


# The script of a page cannot tell what its own text is, and without one it says nothing.
@pytest.mark.parametrize("place", [place for place in PLACES if place != "script"])
def test_a_page_that_was_changed_says_so(browser, branched, folder, place):
    page_text = branched.read_text(encoding="utf-8")
    words = {"piece": "tide", "skeleton": "tide", "first part": "tide"}.get(place, "")
    path = folder / "changed.html"
    path.write_text(forged(page_text, place, words), encoding="utf-8")

    with browser.open(path) as page:
        assert page.wait(CHECKED, 60) == "changed"
        assert page.is_visible(".changed-page")
        assert "was changed after it was exported" in page.text_content(".changed-page")
        assert "none" not in page.text_content("#page-check")


def test_a_digest_is_no_signature(browser, branched, folder):
    """As the guide says: changing the digest, too, is not noticed, except where the copy of the text differs."""
    page_text = branched.read_text(encoding="utf-8")
    path = folder / "resealed.html"

    path.write_text(sealed(forged(page_text, "piece", "tide")), encoding="utf-8")
    with browser.open(path) as page:
        assert page.wait(CHECKED, 60) == "unchanged"


def test_converted_line_ends_and_extensions_that_append_a_host_are_no_change(browser, branched, folder):
    path = folder / "crlf.html"
    path.write_bytes(branched.read_bytes().replace(b"\n", b"\r\n"))

    with browser.open("about:blank", ready=False) as page:
        page.add_init_script(
            "addEventListener('DOMContentLoaded', () => document.body.append(document.createElement('x-host')))"
        )
        page.goto(path.as_uri())
        assert page.wait(CHECKED, 60) == "unchanged"


def test_a_page_that_ends_early_says_so_and_shows_what_it_has(browser, long, folder):
    text = long.read_text(encoding="utf-8")
    path = folder / "cut.html"
    path.write_text(text[: text.index('id="chunk-1"') + 2000], encoding="utf-8")

    with browser.open(path) as page:
        assert page.wait(CHECKED, 60) == "changed"
        assert "Prompt 3" in page.text_content("#path")


# -- hostile text -----------------------------------------------------------------------------------------


def attempt(page) -> None:
    """Do what a reader may do: open everything, click on everything."""
    page.keyboard.press("t")
    page.keyboard.press(".")
    page.wait_for_timeout(200)
    page.keyboard.press("/")
    page.keyboard.type("pwned")
    page.wait_for_timeout(300)
    page.evaluate("document.querySelectorAll('#pwn').forEach((link) => link.click())")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    page.wait_for_timeout(200)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_timeout(200)


def test_hostile_fields_are_text(browser, folder):
    source = hostile_session(folder / "hostile.jsonl")
    path = exported(source, folder / "hostile.html", redact=False)

    with browser.open(path) as page:
        attempt(page)

        assert page.evaluate("globalThis.pwned") is None
        assert page.title() != "pwned"
        assert page.requests == [path.as_uri()]
        assert page.errors == []


def test_the_policy_alone_stops_hostile_markup(browser, folder, monkeypatch):
    """Without any escaping the same fields are markup, and still nothing runs."""
    monkeypatch.setattr(markup, "_escaped", lambda text: text)
    monkeypatch.setattr(prose_module, "_rendered", markup.Html)
    source = hostile_session(folder / "hostile.jsonl")
    path = exported(source, folder / "unescaped.html", redact=False)

    with browser.open(path, ready=False) as page:
        page.wait_for_timeout(500)
        attempt(page)

        assert page.evaluate("document.querySelectorAll('img').length") > 0  # the hook works: this is markup
        assert page.evaluate("globalThis.pwned") is None
        assert page.title() != "pwned"
        assert page.finished == [path.as_uri()]  # others were tried, and blocked


@pytest.mark.parametrize("navigates", [False, True])
def test_the_policy_alone_does_not_stop_a_navigation(browser, folder, monkeypatch, navigates):
    """A `meta refresh` leads away where the browser has no Navigation API with which the page can refuse it."""
    monkeypatch.setattr(markup, "_escaped", lambda text: text)
    monkeypatch.setattr(prose_module, "_rendered", markup.Html)
    refresh = '<meta http-equiv="refresh" content="0; url=http://evil.invalid/gone">'
    source = write_session(folder / "refresh.jsonl", [message("user", refresh)])
    path = exported(source, folder / "refresh.html", redact=False)

    with browser.open("about:blank", ready=False) as page:
        page.page.route("http://evil.invalid/**", lambda route: route.fulfill(body="elsewhere"))
        if navigates:
            page.add_init_script("delete globalThis.navigation")
        page.goto(path.as_uri(), wait_until="commit")
        page.wait_for_timeout(1500)

        assert (page.url == "http://evil.invalid/gone") == navigates
