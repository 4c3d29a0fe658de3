"""Benchmark of the full-screen browser: `python -m bench.terminal` prints the CPU time of each task.

The start is measured with the installed program in a pseudo-terminal, from process start. The other tasks run
here, headless, with the same code. The exit code is 1 if a documented limit is exceeded.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.first_paint import best_paint

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.strip import Strip

SESSIONS = 2_000
ENTRIES = 100_000
MEGABYTES = 100
SIZE = (160, 48)
RUNS = 3
TIME = "2026-01-01T00:00:00.000Z"


def message(number: int, parent: int | None, text: str, role: str) -> str:
    """Return a line of a session file."""
    content = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1767225600000}
    if role == "assistant":
        usage = {"input": 1, "output": 1, "totalTokens": 2, "cost": {"total": 0.001}}
        content |= {"provider": "p", "model": "m", "stopReason": "stop", "usage": usage}
    head = {"type": "message", "id": f"{number:08x}", "parentId": None if parent is None else f"{parent:08x}"}
    return json.dumps({**head, "timestamp": TIME, "message": content}, separators=(",", ":"))


def session(number: int, entries: int, branch_every: int = 0, cwd: str = "/home/u/shop") -> str:
    """Return the text of a session that branches every ``branch_every`` entries."""
    header = {"type": "session", "version": 3, "id": f"s{number}", "timestamp": TIME, "cwd": cwd}
    lines = [json.dumps(header, separators=(",", ":"))]
    for entry in range(entries):
        parent = entry - 1 if entry else None
        if branch_every and entry % branch_every == 0 and entry > 10:
            parent = entry - 10
        role = "assistant" if entry % 2 else "user"
        kind = "answer" if entry % 2 else "question"
        words = f"{kind} {entry} of {number} about the shop, its tokens and tests"
        lines.append(message(entry, parent, words, role))
    return "\n".join(lines) + "\n"


def fill(directory: Path, cwd: str = "/home/u/shop") -> None:
    for number in range(SESSIONS):
        text = session(number, 12, cwd=cwd)
        (directory / f"2026-01-01T00-00-00-000Z_s{number}.jsonl").write_text(text)


def start(home: Path) -> Iterator[tuple[str, float, float]]:
    """Measure from process start to the first rows, then to the full app."""
    from branchline.formats import PI

    cwd = home / "shop"
    cwd.mkdir(parents=True)
    directory = Path(PI.home.directory(str(cwd), {}, str(home)) or "")
    directory.mkdir(parents=True)
    fill(directory, str(cwd))
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {**kept, "HOME": str(home), "TERM": "xterm-256color"}
    command = (sys.executable, "-m", "branchline")
    for what, words, limit in (
        ("first rows", "question 0 of", 0.2),
        ("the app there, with the last turns", "answer 11 of", 0.7),
    ):
        paint = best_paint(RUNS, command, words, cwd=cwd, environment=environment, size=SIZE)
        seconds = paint.wall if paint.cpu is None else paint.cpu
        yield f"{what}, from the start of the process", seconds, limit
        yield "  the same on the wall", paint.wall, math.inf


async def browser(directory: Path) -> list[tuple[str, float, float]]:
    """Measure the first rows on the screen, and the response to a key press in a search."""
    from branchline import SessionLibrary
    from branchline.library.browser_source import LibrarySource
    from branchline.library.pins import Pins
    from branchline.tui.app import BranchlineApp
    from branchline.tui.widgets.row_list import RowList
    from branchline.views.browser.state import BrowserState

    painted: list[float] = []
    draw = RowList.render_line

    def watched(rows: RowList, y: int) -> Strip:
        strip = draw(rows, y)
        if rows.rows is not None and y < len(rows.rows) and y == rows.size.height - 1:
            painted.append(time.process_time())
        return strip

    RowList.render_line = watched  # type: ignore[method-assign, assignment]
    begun = time.process_time()
    source = LibrarySource(SessionLibrary(str(directory)))
    pins = Pins(str(directory / "none" / "pins.json"))
    app = BranchlineApp(BrowserState(source, "here", pins, now=time.time))
    async with app.run_test(size=SIZE) as pilot:
        while not app.browser.state.loaded.done:
            await pilot.pause(0.01)
        await pilot.pause(0.3)
        slowest = 0.0
        for words in ("t", "to", "tok", "token", "question 17", "re:answer.*9"):
            started = time.thread_time()  # costs are computed in another thread meanwhile
            app.browser.state.search(words)
            app.browser.show_everything()
            slowest = max(slowest, time.thread_time() - started)
    RowList.render_line = draw  # type: ignore[method-assign]
    return [
        (f"first screenful of {SESSIONS:,} sessions painted", painted[0] - begun, 0.3),
        (f"a key of a search among {SESSIONS:,} sessions", slowest, 0.03),
    ]


async def tree(path: Path) -> list[tuple[str, float, float]]:
    """Measure opening and scrolling a large tree."""
    from branchline import SessionLibrary
    from branchline.library.browser_source import LibrarySource
    from branchline.library.pins import Pins
    from branchline.session import Session
    from branchline.tui.app import BranchlineApp
    from branchline.tui.screens.tree import TreeScreen
    from branchline.views.browser.state import BrowserState

    empty = path.parent / "empty"
    empty.mkdir()
    source = LibrarySource(SessionLibrary(str(empty)))
    app = BranchlineApp(BrowserState(source, "here", Pins(str(empty / "p.json")), now=time.time))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.2)
        begun = time.process_time()
        opened = Session.open(str(path))
        app.push_screen(TreeScreen(opened))
        await pilot.pause()
        shown = time.process_time() - begun
        screen = app.screen
        assert isinstance(screen, TreeScreen)
        keys = 60
        begun = time.process_time()
        for _ in range(keys // 2):
            await pilot.press("pageup")
        for _ in range(keys // 2):
            await pilot.press("up")
        moved = (time.process_time() - begun) / keys
    return [
        (f"a tree of {ENTRIES:,} entries, opened and drawn", shown, 1.0),
        ("a key in that tree", moved, 0.05),
    ]


async def hit(directory: Path) -> list[tuple[str, float, float]]:
    """Measure opening a hit in a long session that was opened before: from key press to text on screen."""
    from branchline import SessionLibrary
    from branchline.library.browser_source import LibrarySource
    from branchline.library.pins import Pins
    from branchline.tui.app import BranchlineApp
    from branchline.tui.widgets.conversation_view import ConversationView
    from branchline.views.browser.state import BrowserState

    painted: list[float] = []
    draw = ConversationView.render_lines

    def watched(view: ConversationView, crop: Region) -> list[Strip]:
        strips = draw(view, crop)
        if view.conversation is not None:
            painted.append(time.process_time())
        return strips

    ConversationView.render_lines = watched  # type: ignore[method-assign, assignment]
    source = LibrarySource(SessionLibrary(str(directory)))
    app = BranchlineApp(BrowserState(source, "all", Pins(str(directory / "p.json")), now=time.time))
    times = []
    async with app.run_test(size=SIZE) as pilot:
        while not app.browser.state.loaded.done:
            await pilot.pause(0.01)
        await pilot.pause(0.3)
        await app.workers.wait_for_complete()  # writing the index takes CPU time of this process
        row = next(iter(app.browser.state.loaded.rows.values()))
        with source.open(row) as opened:
            place = opened.path()[len(opened.path()) // 2]
        for _ in range(1 + 2 * RUNS):
            painted.clear()
            begun = time.process_time()
            app.open_transcript(row, at=place, words="the")
            while not painted:  # noqa: ASYNC110  painting sends no event
                await asyncio.sleep(0.001)
            times.append(painted[0] - begun)
            await pilot.pause(0.3)
            await pilot.press("escape", "escape")
    ConversationView.render_lines = draw  # type: ignore[method-assign]
    return [(f"a hit in a session of {MEGABYTES} MB, opened and drawn", min(times[1:]), 0.1)]


def results() -> Iterator[tuple[str, float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BRANCHLINE_HOME"] = str(Path(folder) / "own")
        yield from start(Path(folder) / "home")
        directory = Path(folder) / "sessions"
        directory.mkdir()
        fill(directory)
        yield from asyncio.run(browser(directory))
        large = Path(folder) / "large.jsonl"
        large.write_text(session(0, ENTRIES, branch_every=1000))
        yield from asyncio.run(tree(large))
        from bench.generate import branchy

        long = Path(folder) / "long"
        long.mkdir()
        shutil.copy2(branchy(MEGABYTES), long)  # with its time: a recently written file may still grow
        yield from asyncio.run(hit(long))


def main() -> None:
    failed = False
    for name, seconds, limit in results():
        failed = failed or seconds > limit
        mark = "" if seconds <= limit else "   TOO SLOW"
        allowed = "" if math.isinf(limit) else f"   (at most {limit * 1000:.0f} ms)"
        print(f"{name:<66} {seconds * 1000:8.1f} ms{allowed}{mark}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
