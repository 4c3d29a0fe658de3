"""Text of a session is data on every screen: it moves nothing, sets nothing, colours nothing and hides nothing."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from branchline import Session
from branchline.tui.app import BranchlineApp
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.entry_detail import DetailSection, detail_passages, pages_of
from tui.kit import CWD, HOSTILE, answer, app_on, call, clock, drive, press, result, said, screen, user

ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
NAMED = "&#27;[31m &#x1b;]52;c;eA==&#7; &#x202e;turned [link](http://evil.example) <b>tag</b>"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A session that tries everything everywhere: prompts, answers, tools, labels, title, long lines, floods."""
    directory = tmp_path / "sessions"
    with Session.create(CWD, directory=directory, clock=clock(1)) as session:
        session.append_message(user(HOSTILE))
        session.append_message(answer(f"{NAMED}\n\n- {NAMED}"))
        session.append_message(user("and again"))
        session.append_message(
            answer(
                f"{HOSTILE}\n\n{NAMED}\n\n# {HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n```\n\n[a]({HOSTILE})",
                {"type": "thinking", "thinking": HOSTILE},
                call("c", HOSTILE, command=HOSTILE),
            )
        )
        session.append_message(result("c", HOSTILE, HOSTILE + "x" * 1_000_000, failed=True))
        session.append_message(user("\u200b" * 20_000 + "e" + "\u0301" * 5_000))
        leaf = session.append_message(answer("y" * 1_000_000))
        session.append_label(leaf, HOSTILE)
        session.branch(session.path()[0])
        session.append_message(answer(HOSTILE))
        session.branch(leaf)
        session.set_title(HOSTILE)
    return directory


def test_no_screen_shows_anything_that_acts_or_hides(hostile: Path) -> None:
    seen: list[str] = []

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        def look() -> None:
            for strip in app.screen._compositor.render_strips():
                for text, style, control in strip:
                    assert control is None
                    assert style is None or style.link is None
                    assert "@click" not in (style.meta if style is not None else {})
                    seen.append(text)

        look()
        await press(pilot, "=red")
        look()
        await press(pilot, "escape", "ctrl+t")
        look()
        await press(pilot, "home", "down")
        look()
        await press(pilot, "ctrl+g")
        look()
        await press(pilot, "escape", "alt+a", "escape", "right", "f8")
        look()
        for key in ("p", "p", "p", "home", "down"):
            await press(pilot, key)
            look()
        assert "turned" in screen(app)
        await press(pilot, "alt+s")
        look()
        await press(pilot, "escape", "f6")
        look()
        await press(pilot, "escape", "escape", "f9")
        look()
        await press(pilot, "escape", "alt+c")
        look()

    drive(app_on(hostile), told)

    text = "".join(seen)
    assert ACTING.search(text) is None
    assert "␛[31mred" in text
    assert "[bold]m[/]" in text  # markup is words
    assert "‹U+202E›" in text


def test_a_megabyte_in_one_message_is_cut_short_and_can_be_read_whole_page_by_page(hostile: Path) -> None:
    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t")
        assert "more characters" in str(app.screen.query_one("#detail").words)  # type: ignore[attr-defined]
        await press(pilot, "enter", *["down"] * 7, "enter")
        assert "The whole entry   page 1 of 25" in screen(app)
        panel = app.screen.query_one(TextPanel)
        await press(pilot, "end")
        assert "page 25 of 25" in screen(app)
        assert panel.scroll_offset.y == panel.max_scroll_y
        await press(pilot, "home", "up")
        assert "page 1 of 25" in screen(app)
        panel.scroll_to(y=panel.max_scroll_y, animate=False)
        await press(pilot, "space")
        assert "page 2 of 25" in screen(app)
        await press(pilot, "up")
        assert "page 1 of 25" in screen(app)

    drive(app_on(hostile), told, (100, 40))


@pytest.mark.parametrize("flood", ["\u200b", "\x1b[31m", "e\u0301", "日本", "word "])
def test_the_whole_of_an_entry_of_megabytes_is_there_in_a_moment(flood: str, tmp_path: Path) -> None:
    text = flood * (3_000_000 // len(flood))
    with Session.create(CWD, directory=tmp_path, clock=clock(1)) as session:
        leaf = session.append_message(user(text))
        session.append_message(answer("long"))
        begun = time.process_time()

        pages = pages_of(detail_passages(session, session.index.position(leaf)))
        lines = [line for passage in pages[0] for line in passage.lines(80)]

    assert time.process_time() - begun < 1.5  # a quarter of a second; it was twenty
    assert lines
    assert "".join(passage.text for page in pages for passage in page) == text.strip("\n")


@given(st.lists(st.text(st.sampled_from("ab\n"), max_size=60), max_size=5), st.integers(1, 30))
def test_pages_hold_every_letter_in_order_and_none_is_longer_than_asked(texts: list[str], size: int) -> None:
    pages = pages_of([DetailSection(text=text) for text in texts], size)

    parted = "".join(passage.text for page in pages for passage in page)
    assert parted.replace("\n", "") == "".join(texts).replace("\n", "")
    assert all(sum(len(passage.text) for passage in page) <= size for page in pages)


def test_names_of_files_and_programs_are_only_words_on_every_screen(tmp_path: Path) -> None:
    """A file may be called anything, and a format of another package may name its program as it likes."""
    directory = tmp_path / "sessions"
    name = HOSTILE.replace("/", "")
    with Session.create(CWD, directory=directory, clock=clock(1)) as session:
        session.append_message(user("Hello"))
        session.append_message(answer("Hello."))
        path = session.file
    assert path is not None
    (directory / f"{name}.jsonl").write_bytes(Path(path).read_bytes())
    (directory / f"bad {name}.jsonl").write_bytes(b"this is no session\n")
    app = app_on(directory)
    app.source.agent = lambda _row: HOSTILE  # type: ignore[method-assign]
    seen: list[str] = []

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for keys in (
            ("alt+l",),  # the paths
            ("alt+v", "alt+v", "down"),
            ("down",),
            ("tab",),  # the filters
            ("escape", "alt+h"),  # the reasons
            ("escape", "ctrl+s", "ctrl+s", "=hello"),
            ("alt+c",),  # the command
            ("ctrl+o",),  # the actions
            ("escape", "delete"),  # the question
            ("escape", "enter"),
            ("escape", "escape", "escape", "f9"),
            ("escape", "home", "ctrl+t"),
            ("f7",),
            ("escape", "escape", "right"),
            ("escape", "f4"),
            ("escape", "insert", "down", "f6"),
        ):
            await press(pilot, *keys)
            seen.append(screen(app))
            seen.append(said(app))

    drive(app, told, (120, 30))

    assert any("␛[31mred" in text for text in seen)
    assert all(ACTING.search(text.replace("\n", "")) is None for text in seen)


def test_floods_in_titles_labels_directories_and_models_cost_a_moment_and_act_on_nothing(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "sessions"
    floods = (
        "\u200b" * 1_000_000,
        "\x1b]52;c;eA==\x07" * 60_000,
        "e" + "\u0301" * 1_000_000,
        "x" * 1_000_000,
    )
    for number, flood in enumerate(floods, 1):
        with Session.create(CWD + flood[:2000], directory=directory, clock=clock(number)) as session:
            session.append_message(user(flood))
            leaf = session.append_message(answer(flood, model=flood[:5000], provider=flood[:5000]))
            session.append_message(answer("", call("c", flood[:5000], command=flood)))
            session.append_message(result("c", flood[:5000], flood, failed=True))
            session.append_label(leaf, flood)
            session.set_title(flood)
    begun = time.process_time()

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        for keys in (
            ("alt+l", "f8", "=xy", "escape"),
            ("down", "ctrl+t", "=xy", "escape"),
            ("T", "escape", "right", "f8"),
        ):
            await press(pilot, *keys)
            assert ACTING.search(screen(app).replace("\n", "")) is None

    drive(app_on(directory), told, (120, 30))

    assert time.process_time() - begun < 25  # it took minutes when every megabyte was looked at for each line


def test_values_nested_beyond_all_measure_cost_their_own_line_and_nothing_else(tmp_path: Path) -> None:
    directory = tmp_path / "sessions"
    with Session.create(CWD, directory=directory, clock=clock(1)) as session:
        session.append_message(user("before"))
        session.append_message(answer("fine"))
        path = session.file
        leaf = session.leaf
    assert path is not None
    nested = "[" * 20_000 + "]" * 20_000
    call_ = f'{{"type":"toolCall","id":"c","name":"deep","arguments":{{"x":{nested}}}}}'
    message = f'{{"role":"assistant","content":[{call_}],"stopReason":"toolUse"}}'
    line = f'{{"type":"message","id":"feed","parentId":"{leaf}","timestamp":"2026-01-02T00:00:00.000Z","message":{message}}}'
    result_ = (
        '{"role":"toolResult","toolCallId":"c","toolName":"deep","content":[{"type":"text","text":"ok"}]}'
    )
    other = f'{{"type":"message","id":"beef","parentId":"feed","timestamp":"2026-01-02T00:00:00.000Z","message":{result_}}}'
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{line}\n{other}\n")

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t", "alt+a")
        assert "user: before" in screen(app)
        await press(pilot, "end", "up", "enter", *["down"] * 6, "enter", "escape", "escape", "right", "f8")
        assert app.is_running
        assert "before" in screen(app)

    drive(app_on(directory), told)
