"""HTML exports compared with those of pi and claude-code-log; `python -m bench.html` prints size and time.

The programs export the same generated sessions in turn, as processes of their own; then Chromium opens the
pages in turn. Each is done `RUNS` times; medians are compared, and ranges are printed. A page is usable when
its script has drawn the conversation: ours says so, the others are loaded and have messages in the document.
claude-code-log gets the session as branchline converts it for Claude Code, and is installed from the package
index into a directory that is deleted afterwards. A missed limit ends with code 1.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench import generate
from interop.peers import Peer, PeerMissing, pi_150

RUNS = 5
PATIENCE = 120.0
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


class Export(NamedTuple):
    """The CPU and wall time of an export, and the size of the page."""

    cpu: float
    memory: int
    size: int


class Opening(NamedTuple):
    """The time until a page was usable, and its number of nodes."""

    seconds: float
    nodes: int


Command = list[str | os.PathLike[str]]


def run(command: Command, environment: dict[str, str], page: Path) -> Export:
    process = os.posix_spawn(
        command[0],
        [os.fspath(word) for word in command],
        environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)],
    )
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
    return Export(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, page.stat().st_size)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment like that of an installed program: with bytecode on disk."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def ours(folder: Path, session: Path, page: Path, options: tuple[str, ...] = ()) -> Export:
    command: Command = [
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
    return run(command, environment(folder), page)


def pis(peer: Peer, session: Path, page: Path) -> Export:
    program = peer.module.parents[2] / "dist" / "bundle" / "cli.js"
    return run([peer.node, program, "--export", session, page], peer.environment(), page)


def claude_code_logs(program: Path, folder: Path, session: Path, page: Path) -> Export:
    command: Command = [program, session, "-o", page, "--no-cache"]
    return run(command, {**environment(folder), "HOME": str(folder / "home")}, page)


def claude_code_log(folder: Path) -> Path | None:
    """Install the program into a separate environment; None, with a message, if that fails."""
    place = folder / "claude-code-log"
    make: Command = [sys.executable, "-m", "venv", place]
    fill: Command = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "claude-code-log==1.7.0"]
    for command in (make, fill):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"claude-code-log is missing: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return None
    return place / "bin" / "claude-code-log"


def for_claude_code(folder: Path, session: Path) -> Path:
    """Convert the session for Claude Code."""
    target = folder / "claude-code.jsonl"
    command: Command = [
        sys.executable,
        "-m",
        "branchline",
        "convert",
        session,
        "--to",
        "claude-code",
        "-o",
        target,
    ]
    subprocess.run(command, capture_output=True, check=True)
    return target


def tell_goals(goals: Mapping[str, bool]) -> int:
    """Print which goals were met; return the exit code."""
    print()
    for goal, met in goals.items():
        print(f"{'met   ' if met else 'MISSED'} {goal}")
    return int(not all(goals.values()))


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
    """Open a page in a new browser context; None if it was not usable in time."""
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
    except Exception as problem:  # noqa: BLE001  crashed or hanging tab
        print(f"  {page.name}: {type(problem).__name__}", file=sys.stderr)
        return None
    finally:
        context.close()


def ready(tab: Any) -> bool:
    return bool(tab.evaluate("document.documentElement.dataset.ready === 'yes'"))


def loaded(tab: Any) -> bool:
    """Return whether a page without a signal is loaded, with the conversation in the document."""
    return bool(
        tab.evaluate(
            "document.readyState === 'complete'"
            " && document.querySelectorAll('#messages *, .message *').length > 9"
        )
    )


def middle(values: Iterable[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Format the median, and the range if there is one."""
    if not values:
        return "–"
    return f"{middle(values):{form}} ({min(values):{form}}–{max(values):{form}})"


class Column(NamedTuple):
    """The measurements of one program."""

    exports: list[Export]
    openings: list[Opening]

    def value(self, field: str) -> float:
        return middle([getattr(each, field) for each in self.exports])

    def seconds(self) -> float:
        return middle([each.seconds for each in self.openings])


def measured(
    browser: Any,
    folder: Path,
    exports: Mapping[str, Callable[[Path], Export]],
    unopened: Collection[str] = (),
) -> dict[str, Column]:
    """Run every program in turn, `RUNS` times; a page that was not usable in time is not opened again."""
    columns = {name: Column([], []) for name in exports}
    pages = {name: folder / f"{name}.html" for name in exports}
    for _ in range(RUNS):
        for name, export in exports.items():
            columns[name].exports.append(export(pages[name]))
    hopeless = set(unopened)
    for _ in range(RUNS):
        for name, column in columns.items():
            if name not in hopeless:
                opening = opened(browser, pages[name], ready if "branchline" in name else loaded)
                hopeless |= {name} if opening is None else set()
                column.openings.extend([] if opening is None else [opening])
    return columns


def show(megabytes: int, columns: Mapping[str, Column]) -> None:
    print(f"\n{megabytes} MB" + " " * (8 - len(str(megabytes))) + "".join(f"{name:>26}" for name in columns))
    rows: dict[str, Callable[[Column], str]] = {
        "page, MB": lambda column: f"{column.value('size') / 1e6:.2f}",
        "CPU, s": lambda column: spread([each.cpu for each in column.exports]),
        "memory, MB": lambda column: f"{column.value('memory') / 1e6:.0f}",
        "usable, s": lambda column: spread([each.seconds for each in column.openings]),
        "nodes": lambda column: spread([each.nodes for each in column.openings], ",.0f"),
    }
    for name, text in rows.items():
        print(f"{name:10} " + "".join(f"{text(column):>26}" for column in columns.values()))


def main() -> int:
    try:
        peer = pi_150()
    except PeerMissing as missing:
        print(f"pi is missing: {missing}")
        return 1
    goals: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        folder = Path(place)
        program = claude_code_log(folder)
        usable: dict[int, float] = {}
        for megabytes in (10, 105):
            session = generate.branchy(megabytes)
            exports: dict[str, Callable[[Path], Export]] = {
                "pi": partial(pis, peer, session),
                "branchline": partial(ours, folder, session, options=("--no-redact",)),
                "branchline, redacted": partial(ours, folder, session),
            }
            if program is not None and megabytes == 10:
                converted = for_claude_code(folder, session)
                exports["claude-code-log"] = partial(claude_code_logs, program, folder, converted)
            ours(folder, session, folder / "first.html")
            columns = measured(browser, folder, exports, () if megabytes == 10 else ("pi",))
            show(megabytes, columns)
            mine, theirs = columns["branchline"], columns["pi"]
            usable[megabytes] = mine.seconds()
            goals[f"{megabytes} MB: ≤ 2,000 DOM nodes"] = max(each.nodes for each in mine.openings) <= 2_000
            if megabytes == 10:
                goals["10 MB: page ≤ 1/4 of pi's"] = mine.value("size") * 4 <= theirs.value("size")
                for name in ("pi", "claude-code-log"):
                    if name in columns and columns[name].openings:
                        met = mine.seconds() * 8 <= columns[name].seconds()
                        goals[f"10 MB: usable in ≤ 1/8 of the time of {name}'s page"] = met
            else:
                goals["105 MB: export with ≤ pi's CPU"] = mine.value("cpu") <= theirs.value("cpu")
                goals["105 MB: export with ≤ 1/5 of pi's memory"] = columns["branchline, redacted"].value(
                    "memory"
                ) * 5 <= theirs.value("memory")
        goals["105 MB: usable in ≤ 5 times the time for 10 MB"] = usable[105] <= 5 * usable[10]
    return tell_goals(goals)


if __name__ == "__main__":
    raise SystemExit(main())
