"""Pages measured beside pi's: `python -m bench.html` prints size, CPU, memory and time to usable for each.

Both programs export the same generated sessions as processes of their own; then Chromium opens the pages in
turn, three times each. A page is usable when its script has drawn the conversation: ours says so, pi's has
messages in the document and is loaded. Limits are what the project promises; one that is missed ends with
code 1.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench import generate
from interop.peers import Peer, PeerMissing, pi_150

RUNS = 3
PATIENCE = 120.0
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


class Export(NamedTuple):
    """What an export cost, and how large the page is."""

    cpu: float
    memory: int
    size: int


class Opening(NamedTuple):
    """How long a page took until it was usable, and how many nodes it has then."""

    seconds: float
    nodes: int


def run(command: list[str | os.PathLike[str]], environment: dict[str, str], page: Path) -> Export:
    process = os.posix_spawn(
        command[0],
        [os.fspath(word) for word in command],
        environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
    return Export(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, page.stat().st_size)


def ours(session: Path, page: Path, *options: str) -> Export:
    command: list[str | os.PathLike[str]] = [
        sys.executable,
        "-m",
        "branchline",
        "export",
        session,
        "-o",
        page,
        "--force",
        *options,
    ]
    return run(command, dict(os.environ), page)


def pis(peer: Peer, session: Path, page: Path) -> Export:
    program = peer.module.parents[2] / "dist" / "bundle" / "cli.js"
    return run([peer.node, program, "--export", session, page], peer.environment(), page)


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("chromium is not installed: pages cannot be opened")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


def opened(browser: Any, page: Path, usable: Callable[[Any], bool]) -> Opening | None:
    """Open a page in a fresh context; None if it was not usable in time."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE * 1000)
    start = time.perf_counter()
    try:
        tab.goto(page.as_uri(), wait_until="commit")
        while not usable(tab):
            if time.perf_counter() - start > PATIENCE:
                return None
            time.sleep(0.005)
        seconds = time.perf_counter() - start
        return Opening(seconds, int(tab.evaluate("document.querySelectorAll('*').length")))
    except Exception as problem:  # noqa: BLE001  a tab that crashed or hangs is not usable
        print(f"  {page.name}: {type(problem).__name__}", file=sys.stderr)
        return None
    finally:
        context.close()


def ready(tab: Any) -> bool:
    return bool(tab.evaluate("document.documentElement.dataset.ready === 'yes'"))


def loaded(tab: Any) -> bool:
    """A page without such a sign: loaded, and the conversation is in the document."""
    return bool(
        tab.evaluate(
            "document.readyState === 'complete' && document.querySelectorAll('#messages *').length > 9"
        )
    )


def main() -> int:
    try:
        peer = pi_150()
    except PeerMissing as missing:
        print(f"pi is missing: {missing}")
        return 1
    missed = False
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        folder = Path(place)
        times: dict[int, float] = {}
        for megabytes in (10, 105):
            session = generate.branchy(megabytes)
            mine, redacted, theirs = folder / "mine.html", folder / "redacted.html", folder / "pi.html"
            exports = [(pis(peer, session, theirs), ours(session, mine, "--no-redact")) for _ in range(RUNS)]
            their_export, my_export = (min(each) for each in zip(*exports, strict=True))
            clean = ours(session, redacted)
            openings: dict[str, list[Opening | None]] = {"pi": [], "branchline": []}
            for _ in range(RUNS):
                openings["branchline"].append(opened(browser, mine, ready))
                if megabytes == 10:
                    openings["pi"].append(opened(browser, theirs, loaded))
            mine_open = min(filter(None, openings["branchline"]))
            times[megabytes] = mine_open.seconds
            print(f"\n{megabytes:>3} MB            pi  branchline    redacted")
            every = (their_export, my_export, clean)
            print("page, MB  ", *(f"{each.size / 1e6:11.2f}" for each in every))
            print("CPU, s    ", *(f"{each.cpu:11.2f}" for each in every))
            print("memory, MB", *(f"{each.memory / 1e6:11.0f}" for each in every))
            known = [each for each in openings["pi"] if each is not None]
            their_open = min(known) if known else None
            shown = "–" if their_open is None else f"{their_open.seconds:.2f}"
            print(f"usable, s  {shown:>11} {mine_open.seconds:11.2f}")
            print(f"nodes      {'–' if their_open is None else their_open.nodes:>11} {mine_open.nodes:11}")
            goals = {"DOM nodes ≤ 2,000": mine_open.nodes <= 2_000}
            if megabytes == 10:
                goals["page ≤ 1/4 of pi's"] = my_export.size * 4 <= their_export.size
                goals["usable in ≤ 1/8 of pi's time"] = (
                    their_open is None or mine_open.seconds * 8 <= their_open.seconds
                )
            else:
                goals["usable in ≤ 5 times the time for 10 MB"] = times[105] <= 5 * times[10]
                goals["export with ≤ pi's CPU"] = my_export.cpu <= their_export.cpu
                goals["export with ≤ 1/5 of pi's memory"] = my_export.memory * 5 <= their_export.memory
            for goal, met in goals.items():
                print(f"  {'met   ' if met else 'MISSED'} {goal}")
                missed = missed or not met
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
