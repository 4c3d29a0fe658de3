"""What a large session costs the viewer: memory of the server and of its index, and time to the first list."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from branchline.programs import own_command

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads memory sizes from /proc")

WORDS = "the harbour light was seen from the northern pier while the tide was still rising " * 20


def linear(path: Path, megabytes: int) -> int:
    """Write a session without branches and return the number of its messages."""
    header = {
        "type": "session",
        "version": 3,
        "id": "large",
        "timestamp": "2026-03-01T00:00:00Z",
        "cwd": "/l",
    }
    count = 0
    with path.open("w") as out:
        out.write(json.dumps(header) + "\n")
        while out.tell() < megabytes * 1_000_000:
            role = "assistant" if count % 2 else "user"
            content = [{"type": "text", "text": f"{count} {WORDS}"}]
            message = {"role": role, "content": content, "timestamp": 1_772_000_000_000 + count}
            entry = {"type": "message", "id": f"e{count}", "parentId": f"e{count - 1}" if count else None}
            out.write(json.dumps(entry | {"timestamp": "2026-03-01T00:00:00Z", "message": message}) + "\n")
            count += 1
    return count


class Server:
    """``branchline web`` in a process of its own, and what it costs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.address = urlsplit(process.stdout.readline().strip())
        answer, _body = self._ask("POST", "/enter", {}, f"key={self.address.fragment}")
        self.headers = {"cookie": (answer.getheader("set-cookie") or "").partition(";")[0]}
        self.root = "/" + self.address.fragment.partition(".")[0]

    def _ask(
        self, method: str, target: str, headers: dict[str, str], body: str | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        with closing(http.client.HTTPConnection(self.address.netloc, timeout=120)) as connection:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return answer, answer.read()

    def get(self, target: str) -> Any:
        answer, body = self._ask("GET", self.root + target, self.headers)
        assert answer.status == 200, body[:200]
        return json.loads(body)

    def complete_list(self) -> Any:
        """The list once the viewer has nothing to do in the background, and the memory of its processes."""
        until = time.monotonic() + 300
        while (found := self.get("/api/sessions"))["waiting"]:
            assert time.monotonic() < until
            time.sleep(0.2)
        return found

    def memory(self) -> float:
        """The most megabytes that the server has used."""
        return memory(self.process.pid)


def memory(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def children(process: int) -> list[int]:
    threads = Path(f"/proc/{process}/task").glob("*/children")
    return [int(number) for path in threads for number in path.read_text().split()]


@contextmanager
def serving(directory: Path, home: Path) -> Iterator[Server]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment |= {"HOME": str(home), "BRANCHLINE_HOME": str(home)}
    command = own_command("web", "--no-open", "--store", str(directory))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        yield Server(process)
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize(
    ("megabytes", "seconds", "bound"),
    [
        pytest.param(120, 10, 110, id="120 MB"),
        pytest.param(1000, 10, 300, id="1 GB", marks=pytest.mark.slow),
    ],
)
def test_a_large_session_is_listed_at_once_and_read_and_indexed_with_little_memory(
    tmp_path: Path, megabytes: int, seconds: float, bound: float
) -> None:
    """A busy machine takes longer than two seconds for the first list, which an idle one does not."""
    sessions, home = tmp_path / "sessions", tmp_path / "home"
    sessions.mkdir()
    home.mkdir()
    messages = linear(sessions / "large.jsonl", megabytes)

    with serving(sessions, home) as server:
        begun = time.monotonic()
        (first,) = server.get("/api/sessions")["rows"]
        assert time.monotonic() - begun < seconds
        assert first["messages"] is None
        indexing = 0.0
        while (found := server.get("/api/sessions"))["waiting"]:
            for process in children(server.process.pid):
                try:
                    indexing = max(indexing, memory(process))
                except (OSError, StopIteration):
                    continue  # it ended
            time.sleep(0.1)

        assert found["rows"][0]["messages"] == messages
        assert found["rows"][0]["id"] == first["id"]
        (hit,) = server.get(f"/api/sessions?q={messages - 1}")["rows"]
        assert hit["id"] == first["id"]
        assert 0 < indexing < bound + 40
        assert server.memory() < bound


def test_the_page_of_a_large_session_takes_little_more_memory(tmp_path: Path) -> None:
    sessions, home = tmp_path / "sessions", tmp_path / "home"
    sessions.mkdir()
    home.mkdir()
    messages = linear(sessions / "large.jsonl", 120)

    with serving(sessions, home) as server:
        (row,) = server.complete_list()["rows"]
        before = server.memory()
        data = f"/api/s/{row['id']}"
        assert len(server.get(f"{data}/skeleton")["skeleton"]["ids"]) == messages
        assert len(server.get(f"{data}/pieces?at=0,{messages - 1}")["pieces"]) == 2
        assert [at for at, _before, _text in server.get(f"{data}/find?q={messages - 1}")["found"]] == [
            messages - 1
        ]
        assert len(server.get(f"{data}/find?q=harbour")["found"]) == 2_000

        assert server.memory() - before < 60
