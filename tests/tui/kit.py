"""What the tests of the app share: a small library of sessions, the app driven by keys, and its screen as text."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from branchline import Session, SessionLibrary
from branchline.clock import FixedClock
from branchline.library.browser_source import LibrarySource
from branchline.library.pins import Pins
from branchline.tui.app import BranchlineApp
from branchline.tui.screens.base import KeyedScreen
from branchline.views.browser.arrangement import Sort
from branchline.views.browser.source import Scope
from branchline.views.browser.state import BrowserState

CWD = "/home/u/shop"
START = 1_767_225_600_000
DAY = 86_400_000
SNAPSHOTS = Path(__file__).parent / "snapshots"
HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x1b]8;;http://x\x07link\x1b]52;c;eA==\x07 [bold]m[/] \u202eevil \u200b\x9b5n end"
Story = Callable[[BranchlineApp, "Pilot[int]"], Awaitable[None]]


def now() -> float:
    """The moment at which all tests look."""
    return (START + 21 * DAY) / 1000


def clock(day: float) -> FixedClock:
    return FixedClock(round(START + day * DAY), seed=round(day * 1000))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def answer(text: str, *blocks: dict[str, Any], cost: float = 0.0125, **more: Any) -> dict[str, Any]:
    usage = {"input": 900, "output": 100, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1000}
    usage["cost"] = {"input": cost, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost}  # type: ignore[assignment]
    content = [*blocks, *([{"type": "text", "text": text}] if text else [])]
    base = {"role": "assistant", "content": content, "provider": "anthropic", "model": "claude-sonnet-4-5"}
    return {**base, "usage": usage, "stopReason": "toolUse" if blocks and not text else "stop", **more}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, name: str, text: str, *, failed: bool = False) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": content,
        "isError": failed,
    }


def talk(directory: Path, day: float, *words: str, title: str | None = None, cwd: str = CWD) -> Session:
    """A session of questions and answers."""
    session = Session.create(cwd, directory=directory, clock=clock(day))
    for text in words:
        session.append_message(user(text))
        session.append_message(answer(f"About that: {text}"))
    if title is not None:
        session.set_title(title)
    return session


def story(directory: Path) -> Path:
    """A session with three branches, a label, tools, thoughts, a picture, a compaction and a summary."""
    session = Session.create(CWD, directory=directory, clock=clock(18))
    session.append_message(user("The checkout test is red since Monday. Can you find out why?"))
    session.append_message(
        answer(
            "",
            {"type": "thinking", "thinking": "First look at the test itself."},
            call("c1", "bash", command="pytest -q tests/test_checkout.py"),
        )
    )
    session.append_message(result("c1", "bash", "1 failed\nE   assert 401 == 200", failed=True))
    session.append_message(answer("", call("c2", "read", path="src/shop/tokens.py", offset=1, limit=40)))
    session.append_message(result("c2", "read", "def expires(now): ..."))
    fork_point = session.append_message(
        answer("The token **expires** at midnight:\n\n```python\nfreeze(clock)\n```\n\n- one\n- two")
    )
    session.append_message(user("Freeze the clock then"))
    frozen = session.append_message(answer("Done: the test passes."))
    session.append_label(frozen, "frozen clock")
    session.branch(fork_point)
    session.append_message(user("Or make the tokens longer?"))
    session.append_message(answer("Longer tokens hide the fault."))
    session.branch_with_summary(fork_point, "Longer tokens were tried and given up.")
    session.append_message(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "This is what I see"},
                {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            ],
        }
    )
    session.append_message(answer("The screenshot shows the same 401."))
    session.set_title("Red checkout test")
    path = session.file
    with session.fork(fork_point) as fork:
        fork.append_message(user("In a fork: rewrite the token module"))
        fork.append_message(answer("Rewritten."))
    session.close()
    assert path is not None
    return Path(path)


def library(directory: Path) -> Path:
    """A directory of sessions: the story and its fork, some short ones, a hostile and an unreadable one."""
    path = story(directory)
    talk(directory, 2, "How do refunds work?", "And in euros?", title="Refunds").close()
    talk(directory, 5, "Add a dark theme").close()
    talk(directory, 9, HOSTILE, title=HOSTILE).close()
    bad = directory / "2026-01-02T00-00-00-000Z_broken.jsonl"
    bad.write_bytes(b"this is not a session\n")
    (directory / "2026-01-03T00-00-00-000Z_x.sync-conflict-20260103-120000-ABCDEFG.jsonl").write_bytes(
        b"{}\n"
    )
    for number, file in enumerate(sorted(directory.glob("*.jsonl"))):
        moment = START / 1000 + number
        os.utime(file, (moment, moment))
    for row in SessionLibrary(directory).list(deep=True).readable:
        assert row.path is not None
        moment = (row.last_activity_ms or 0) / 1000  # written when the last message was said
        os.utime(row.path, (moment, moment))
    return path


def source(directory: Path) -> LibrarySource:
    made = LibrarySource(SessionLibrary(str(directory)))
    made.cwd = CWD
    return made


def state_of(
    directory: Path, *, scope: Scope = "here", words: str = "", sort: Sort = "recent", **more: Any
) -> BrowserState[LibrarySource]:
    """What the browser knows of a directory, nothing read yet."""
    pins = Pins(str(directory / "own" / "pins.json"))
    return BrowserState(
        source(directory), scope, pins, words=words, sort=sort, now=now, home=os.path.expanduser("~"), **more
    )


def app_on(
    directory: Path, *, scope: Scope = "here", words: str = "", sort: Sort = "recent", **options: Any
) -> BranchlineApp:
    return BranchlineApp(state_of(directory, scope=scope, words=words, sort=sort), **options)


_TOLD: list[str] = []
_tell = KeyedScreen.tell


def _listened(shown: KeyedScreen, words: str, *, wrong: bool = False) -> None:
    _TOLD.append(words)
    _tell(shown, words, wrong=wrong)


KeyedScreen.tell = _listened  # type: ignore[method-assign, assignment]


def said(_app: BranchlineApp) -> str:
    """Everything that the screens have told since the app was started."""
    return " ".join(_TOLD)


def drive(app: BranchlineApp, told: Story, size: tuple[int, int] = (80, 24)) -> None:
    """Run the app without a terminal, and let a story press keys."""
    _TOLD.clear()

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            await told(app, pilot)

    asyncio.run(run())


async def settle(pilot: Pilot[int]) -> None:
    """Until nothing is being read and everything is drawn."""
    for _ in range(2):
        await pilot.pause(0.08)
        for worker in list(pilot.app.workers):
            with contextlib.suppress(WorkerCancelled):
                await worker.wait()
        await pilot.pause()


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press keys; ``"=words"`` presses the first letter and pastes the others, which takes one event."""
    for key in keys:
        if key.startswith("=") and len(key) > 1:
            await pilot.press(key[1])
            if key[2:]:
                pilot.app.post_message(events.Paste(key[2:]))
        else:
            await pilot.press(key)
    await settle(pilot)


def screen(app: BranchlineApp) -> str:
    """What a person sees, without colours."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


def same_as_snapshot(app: BranchlineApp, name: str) -> None:
    """Compare the screen with the one that was kept; ``BRANCHLINE_SNAPSHOTS=update`` keeps this one."""
    text = screen(app) + "\n"
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("BRANCHLINE_SNAPSHOTS") == "update":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"there is no snapshot {name}; make it with BRANCHLINE_SNAPSHOTS=update"
    assert text == path.read_text(encoding="utf-8"), f"the screen is not as in {path.name} any more"
