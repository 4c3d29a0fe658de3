"""Benchmark of the web viewer with a session of 105 MB: `python -m bench.viewer`.

The server is a separate process and the browser is Chromium. Measured are the time of requests for 50
adjacent entries anywhere in the session, whether scrolling shows every entry once and in order, the idle CPU
time of the server, the time until an entry appended by another process is on the screen, and that a browser
which was offline misses none. The exit code is 1 if a limit is exceeded.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench import generate
from bench.html import chromium, tell_goals

MEGABYTES = 105
SLICES = 400
APPENDS = 40
IDLE_SECONDS = 30.0

APPEND = """
import sys, time
from branchline import Session
with Session.open(sys.argv[1]) as session:
    for line in sys.stdin:
        begun = time.time()
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": line.strip()}]})
        print(begun, flush=True)
"""
SCROLL_SECONDS = 420.0
SCROLL = """async (seconds) => {
  const { tree, path } = branchline, index = new Map(path.map((at, index) => [tree.ids[at], index]));
  const seen = new Uint8Array(path.length); let wrong = 0, most = 0, steps = 0;
  const until = performance.now() + 1000 * seconds;
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  for (;;) {
    await frame(); await frame();  // the list draws in the frame after the scroll event
    for (let wait = 0; wait < 600 && document.querySelector("#path > [data-waits]"); wait++) await frame();
    let last = -1;
    for (const node of document.querySelectorAll("#path > .node[data-id]")) {
      const at = index.get(node.dataset.id);
      if (at === undefined || at <= last) wrong++;
      last = at; seen[at] = 1;
    }
    most = Math.max(most, document.querySelectorAll("*").length); steps++;
    if (scrollY + innerHeight >= document.documentElement.scrollHeight - 2 && seen[path.length - 1]) break;
    if (performance.now() > until) break;
    scrollBy(0, innerHeight);
  }
  return { rows: path.length, seen: seen.reduce((sum, one) => sum + one, 0), wrong, most, steps };
}"""
WATCH = """() => {
  globalThis.shown = new Map();
  const path = document.querySelector("#path");
  const look = () => {
    for (const [mark] of path.textContent.matchAll(/mark-\\d+-end/g))
      if (!shown.has(mark)) shown.set(mark, Date.now());
  };
  new MutationObserver(look).observe(path, { childList: true, subtree: true, characterData: true });
}"""


class Server:
    """A viewer in a separate process, and a connection to it with the cookie."""

    def __init__(self, directory: Path, cache: Path) -> None:
        command = [sys.executable, "-m", "branchline", "web", "--no-open", "--dir", str(directory)]
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.headers: dict[str, str] = {}

    def connect(self, host: str, cookie: str) -> http.client.HTTPConnection:
        """Connect as the browser does that shows the viewer at this host."""
        self.headers = {"host": host, "cookie": cookie}
        return http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=120)

    def cpu(self) -> float:
        """Return the CPU seconds of all its threads, including ended ones."""
        return time.clock_gettime(~self.process.pid << 3 | 2)  # the CPU clock of another process

    def ask(self, connection: http.client.HTTPConnection, target: str) -> bytes:
        connection.request("GET", target, headers=self.headers)
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{target}: {answer.status} {data[:200]!r}")
        return data


@contextmanager
def serving(directory: Path, cache: Path) -> Iterator[Server]:
    server = Server(directory, cache)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


class Slices(NamedTuple):
    """Milliseconds of each request for 50 entries: latency, and CPU time of the server."""

    answered: list[float]
    worked: list[float]


def slices(server: Server, connection: http.client.HTTPConnection, id_: str, entries: int) -> Slices:
    draw = random.Random(15)
    found = Slices([], [])
    for _ in range(SLICES):
        first = draw.randrange(entries - 50)
        target = f"/api/s/{id_}/pieces?at=" + ",".join(map(str, range(first, first + 50)))
        before, begun = server.cpu(), time.perf_counter()
        server.ask(connection, target)
        found.answered.append(1000 * (time.perf_counter() - begun))
        found.worked.append(1000 * (server.cpu() - before))
    return found


def percentile(values: list[float], share: int) -> float:
    return statistics.quantiles(values, n=100)[share - 1]


def followed(page: Any, file: Path) -> tuple[list[float], list[str]]:
    """Return the milliseconds from each append until it is visible, and the appends that were missed."""
    page.keyboard.press("G")
    page.wait_for_timeout(1000)
    page.evaluate(WATCH)
    writer = subprocess.Popen(
        [sys.executable, "-c", APPEND, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    orders, answers = writer.stdin, writer.stdout
    assert orders is not None
    assert answers is not None

    def append(number: int) -> tuple[str, float]:
        mark = f"mark-{number}-end"
        orders.write(mark + "\n")
        orders.flush()
        return mark, float(answers.readline())

    def seen(mark: str, seconds: float = 10.0) -> float | None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if (moment := page.evaluate("(mark) => shown.get(mark)", mark)) is not None:
                return float(moment)
            page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
            page.wait_for_timeout(10)
        return None

    times: list[float] = []
    for number in range(APPENDS):
        mark, begun = append(number)
        moment = seen(mark)
        times.append(float("inf") if moment is None else moment - 1000 * begun)
    page.context.set_offline(True)
    missed = [append(1000 + number)[0] for number in range(5)]
    page.wait_for_timeout(1500)
    page.context.set_offline(False)
    lost = [mark for mark in missed if seen(mark, 15.0) is None]
    orders.close()
    writer.wait()
    return times, lost


def main() -> int:
    goals: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "sessions" / "long.jsonl"
        file.parent.mkdir()
        shutil.copyfile(generate.linear(MEGABYTES), file)
        with serving(file.parent, folder / "cache") as server, chromium() as browser:
            page = browser.new_context(viewport={"width": 1280, "height": 6000}).new_page()
            page.set_default_timeout(120_000)
            page.goto(server.address)
            page.wait_for_selector(".row")
            cookie = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
            base = page.url.rstrip("/")
            connection = server.connect(urlsplit(base).netloc, cookie)
            id_ = json.loads(server.ask(connection, "/api/sessions"))["rows"][0]["id"]
            entries = len(json.loads(server.ask(connection, f"/api/s/{id_}/skeleton"))["skeleton"]["ids"])
            begun = time.perf_counter()
            page.goto(f"{base}/s/{id_}")
            page.wait_for_selector("html[data-ready]")
            print(
                f"{MEGABYTES} MB, {entries:,} entries: page ready after {time.perf_counter() - begun:.2f} s"
            )

            found = slices(server, connection, id_, entries)
            for name, values in found._asdict().items():
                print(
                    f"50 entries, {name}: p50 {statistics.median(values):.1f} ms, "
                    f"p95 {percentile(values, 95):.1f} ms"
                )
            goals["50 entries anywhere: p95 ≤ 20 ms of the server"] = percentile(found.worked, 95) <= 20

            begun = time.perf_counter()
            scrolled = page.evaluate(SCROLL, SCROLL_SECONDS)
            print(
                f"scrolling: {scrolled['seen']:,} of {scrolled['rows']:,} rows, "
                f"{scrolled['wrong']} out of order, at most {scrolled['most']:,} nodes, "
                f"{scrolled['steps']:,} steps in {time.perf_counter() - begun:.0f} s "
                f"(at most {SCROLL_SECONDS:.0f})"
            )
            goals["scrolling shows every row once and in order"] = (
                scrolled["wrong"] == 0 and scrolled["seen"] == scrolled["rows"] >= 60_000
            )

            time.sleep(2)
            before = server.cpu()
            time.sleep(IDLE_SECONDS)
            idle = 100 * (server.cpu() - before) / IDLE_SECONDS
            print(f"idle: {idle:.2f} % of a CPU in {IDLE_SECONDS:.0f} s")
            goals["idle: ≤ 0.2 % CPU"] = idle <= 0.2

            times, lost = followed(page, file)
            print(
                f"append to visible: p50 {statistics.median(times):.0f} ms, "
                f"p95 {percentile(times, 95):.0f} ms"
            )
            print(f"appended while the browser was offline: {len(lost)} of 5 lost")
            goals["append to visible: p95 ≤ 300 ms"] = percentile(times, 95) <= 300
            goals["reconnecting loses nothing"] = not lost
    return tell_goals(goals)


if __name__ == "__main__":
    raise SystemExit(main())
