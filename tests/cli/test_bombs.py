"""Decompression bombs: every command on one ends soon, stays small, and still shows the other sessions.

The commands run as processes of their own. Each may take 20 seconds and 1.5 GB of memory. What counts is
processor time: the time on the clock depends on what else the machine does.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import branchline
from formats.codex_kit import item, meta

zstandard = pytest.importorskip("zstandard", reason="the package zstandard is not installed")

SECONDS, MEMORY = 20, 1_500_000_000
MIB = 1 << 20
HUGE = 20_000_000_000
THREAD = "019f2000-0000-7000-8000-0000000000{:02x}"
PROMPT = "unpack me"
SKIPPABLE = b"\x50\x2a\x4d\x18\0\0\0\0"


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    err: str


class Computer:
    """A home with an ordinary session of Codex and any number of compressed ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path / ".codex" / "sessions" / "2026" / "09" / "02"
        self.folder.mkdir(parents=True)
        self.threads: list[str] = []
        self.ordinary = self.place(head_of(self.next()) + item("assistant", "still here"), ".jsonl")

    def next(self) -> str:
        return THREAD.format(len(self.threads))

    def place(self, data: bytes, ending: str = ".jsonl.zst") -> Path:
        """A rollout with the id that ``next`` told."""
        thread = self.next()
        self.threads.append(thread)
        path = self.folder / f"rollout-2026-09-02T01-00-{len(self.threads):02}-{thread}{ending}"
        path.write_bytes(data)
        return path

    def python(self, *arguments: str | Path, **settings: str) -> Ended:
        """Run Python with these arguments and assert that it kept to both limits."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "BRANCHLINE_HOME": str(self.path / "ours"),
            "PYTHONPATH": str(Path(branchline.__file__).parents[1]),
            **settings,
        }
        out, err = self.path / "out", self.path / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, *map(str, arguments)],
                cwd=self.path,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
        status, used = wait(process, time.monotonic() + 6 * SECONDS)
        took = used.ru_utime + used.ru_stime
        assert took <= SECONDS, f"{arguments} took {took:.1f} s"
        peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        assert peak <= MEMORY, f"{arguments} took {peak / 1e6:.0f} MB"
        return Ended(os.waitstatus_to_exitcode(status), out.read_text(), err.read_text())

    def run(self, *arguments: str | Path, **settings: str) -> Ended:
        return self.python("-m", "branchline", *arguments, **settings)

    def rows(self) -> dict[str, Any]:
        """What ``ls --all`` lists, by the ids of the sessions."""
        ended = self.run("ls", "--all", "--json")
        assert ended.code == 0, ended.err
        return {row["id"]: row for row in json.loads(ended.out)["sessions"]}


def wait(process: subprocess.Popen[bytes], until: float) -> tuple[int, Any]:
    """Wait for a process and say what it used; it is ended when the time is over."""
    while True:
        found, status, used = os.wait4(process.pid, os.WNOHANG)
        if found:
            process.returncode = os.waitstatus_to_exitcode(status)
            return status, used
        if time.monotonic() > until:
            process.send_signal(signal.SIGKILL)
        time.sleep(0.02)


@pytest.fixture
def computer(tmp_path) -> Computer:
    return Computer(tmp_path)


# -- bombs ------------------------------------------------------------------------------------------------


def head_of(thread: str) -> bytes:
    """The first lines of a rollout."""
    return meta(id=thread, session_id=thread, cwd="/home/u/demo") + item("user", PROMPT)


def stuffing(size: int = 32 * MIB) -> bytes:
    """Lines of about this size together, of a kilobyte and more each."""
    line = item("assistant", "all work and no play " * 100)
    return line * (size // len(line))


def frame(data: bytes, *, sized: bool = True) -> bytes:
    return bytes(zstandard.ZstdCompressor(write_content_size=sized).compress(data))


def many_frames(thread: str, *, sized: bool = True) -> bytes:
    lines = stuffing()
    return frame(head_of(thread)) + frame(lines, sized=sized) * (HUGE // len(lines))


def unsized_frames(thread: str) -> bytes:
    return many_frames(thread, sized=False)


def one_frame(thread: str) -> bytes:
    """A frame of 20 GB: a compressed block with the first lines, then blocks that repeat one byte.

    A block header of three bytes holds: is it the last, the kind (0 raw, 1 one repeated byte), the size.
    """
    head = head_of(thread)
    raw = struct.pack("<I", len(head) << 3)[:3] + head
    repeated = struct.pack("<I", 128 * 1024 << 3 | 1 << 1)[:3] + b"\n"
    last = struct.pack("<I", 1)[:3]
    # The magic number, a descriptor that announces nothing, and a window of 8 MiB.
    return b"\x28\xb5\x2f\xfd\x00\x68" + raw + repeated * (HUGE // (128 * 1024)) + last


def one_frame_of_lines(thread: str, size: int = 1 << 30) -> bytes:
    """A frame as an ordinary compressor writes it."""
    lines = stuffing()
    writer = zstandard.ZstdCompressor().compressobj()
    pieces = [writer.compress(head_of(thread))]
    pieces += [writer.compress(lines) for _ in range(size // len(lines))]
    return b"".join([*pieces, writer.flush()])


def one_line(thread: str) -> bytes:
    text = frame(b"a" * (32 * MIB))
    return frame(head_of(thread) + b'{"type":"') + text * 600


def tiny_lines(thread: str) -> bytes:
    return frame(head_of(thread)) + frame(b"{}\n" * (4 * MIB)) * 1000


def tiny_values(thread: str) -> bytes:
    line = b'{"type":"response_item","payload":{"type":"message","role":"user","content":[' + b"[]," * (
        4 * MIB
    )
    return frame(head_of(thread)) + frame(line + b"NaN]}}\n") * 8


def wide_window(thread: str) -> bytes:
    """The largest window that a frame can declare, 3.75 TiB, behind an ordinary one."""
    return frame(head_of(thread)) + b"\x28\xb5\x2f\xfd\x00\xff" + struct.pack("<I", 1)[:3]


def false_size(thread: str) -> bytes:
    """A frame that declares 2**60 bytes and holds a few lines."""
    head = head_of(thread)
    sized = b"\x28\xb5\x2f\xfd\xc0\x58" + struct.pack("<Q", 1 << 60)
    return sized + struct.pack("<I", len(head) << 3 | 1)[:3] + head


def skippable_flood(thread: str) -> bytes:
    return frame(head_of(thread)) + SKIPPABLE * (4 * MIB) + one_frame(thread)


def leading_flood(thread: str) -> bytes:
    return SKIPPABLE * (4 * MIB) + many_frames(thread)


def truncated(thread: str) -> bytes:
    return many_frames(thread)[:-7]


def garbage_between(thread: str) -> bytes:
    return frame(head_of(thread)) + frame(stuffing()) + b"not zstd at all" + many_frames(thread)


OVER = [
    many_frames,
    unsized_frames,
    one_frame,
    one_frame_of_lines,
    one_line,
    tiny_lines,
    tiny_values,
    truncated,
]

COMMANDS = [
    ["show"],
    ["tree"],
    ["inspect", "--json"],
    ["export", "-o", "copy.jsonl"],
    ["export", "-o", "copy.md"],
    ["import"],
    ["convert", "--to", "pi"],
]


# -- listing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "makers", [[many_frames, one_frame], pytest.param(OVER, marks=pytest.mark.slow, id="all")]
)
def test_a_list_shows_what_a_bomb_begins_with_and_why_it_cannot_be_opened(computer, makers):
    for make in makers:
        computer.place(make(computer.next()))

    rows = computer.rows()

    assert rows[computer.threads[0]]["problem"] is None
    assert rows[computer.threads[0]]["messages"] == 2
    for make, thread in zip(makers, computer.threads[1:], strict=True):
        row = rows[thread]
        assert "unpacks to more than" in row["problem"], make
        assert "max_unpacked (2048 MiB)" in row["problem"], make
        assert (row["first_prompt"], row["messages"], row["cwd"]) == (PROMPT, None, "/home/u/demo"), make


def test_damaged_frames_cost_their_own_row_only(computer):
    for make in (wide_window, garbage_between, skippable_flood, false_size, leading_flood):
        computer.place(make(computer.next()))

    rows = computer.rows()

    problems = [row["problem"] for row in sorted(rows.values(), key=lambda row: row["path"])]
    told = ["cannot be unpacked", "cannot be unpacked", "unpacks to more than", "cannot be unpacked"]
    assert problems[0] is None
    assert [words in problem for words, problem in zip(told, problems[1:5], strict=True)] == [True] * 4
    assert len(problems) == 6


def test_the_browser_loads_its_rows_and_forest(computer):
    for make in (many_frames, one_frame):
        computer.place(make(computer.next()))
    loading = (
        "from branchline import SessionLibrary\n"
        "from branchline.library.browser_source import LibrarySource\n"
        "source = LibrarySource.everywhere()\n"
        "rows = [row for batch in source.rows('all') for row in batch.rows]\n"
        "print(*sorted(row.problem is None for row in rows))\n"
        "print(len(source.forest('all')))\n"
    )

    ended = computer.python("-c", loading)

    assert (ended.code, ended.out.splitlines()) == (0, ["False False True", "3"]), ended.err


# -- one file ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [many_frames, one_frame])
def test_every_command_refuses_a_bomb(computer, make):
    bomb = computer.place(make(computer.next()))

    for command in COMMANDS:
        name, *options = command
        ended = computer.run(name, bomb, *options)

        assert ended.code == 1, command
        assert f"cannot open {bomb}: it unpacks to more than" in ended.err, command
        assert not (computer.path / "copy.jsonl").exists()


def test_check_stats_and_forest_go_on_with_the_other_sessions(computer):
    bomb = computer.place(many_frames(computer.next()))
    computer.place(one_frame(computer.next()))

    checked = computer.run("check", bomb, computer.ordinary)
    counted = computer.run("stats", "--all")
    forest = computer.run("forest", "--all")

    assert f"{bomb}: it unpacks to more than" in checked.out
    assert f"{computer.ordinary}: fine" in checked.out
    assert "2 files checked, 1 damaged or irregular" in checked.err
    assert "1 session read" in counted.out + counted.err
    assert "2 unreadable" in counted.out + counted.err
    assert PROMPT in forest.out


def test_a_truncated_file_within_the_limits_opens_up_to_where_it_ends(computer):
    whole = frame(head_of(computer.next())) + frame(item("assistant", "the end " * 1000))
    path = computer.place(whole[:-5])

    ended = computer.run("show", path)

    assert (ended.code, PROMPT in ended.out) == (0, True)


def test_a_rollout_that_begins_in_a_bomb_is_refused(computer):
    """Files that belong together share the limits, so that a chain of them is no way around."""
    base = computer.next()
    bomb = computer.place(many_frames(base))
    named = {"thread_id": base, "end_ordinal_exclusive": 2, "end_byte_offset": 10_000}
    thread = computer.next()
    begun = meta(id=thread, session_id=thread, history_mode="paginated", history_base=named)
    path = computer.place(frame(begun + item("user", "on")))

    ended = computer.run("show", path)

    assert ended.code == 1
    assert f"cannot open {path}: it begins in {bomb}: it unpacks to more than" in ended.err


# -- legitimate files -------------------------------------------------------------------------------------


def noisy_lines(size: int, noise: int) -> bytes:
    """Lines of together ``size`` bytes that compress to about ``noise`` bytes."""
    lines = 300
    text = "x" * (size // lines - 1000)
    return b"".join(item("assistant", os.urandom(noise // lines).hex() + text) for _ in range(lines))


def test_a_rollout_of_300_megabytes_that_compresses_a_hundred_times_opens(computer):
    lines = noisy_lines(300_000_000, 3_000_000)
    data = frame(head_of(computer.next()) + lines)
    assert 95 < len(lines) / len(data) < 105
    path = computer.place(data)

    ended = computer.run("check", path)

    assert (ended.code, ended.out) == (0, f"{path}: fine\n"), ended.err
    row = computer.rows()[computer.threads[1]]
    assert (row["problem"], row["messages"], row["first_prompt"]) == (None, None, PROMPT)


def test_a_file_just_below_the_limits_keeps_to_time_and_memory(computer):
    """32 MiB of content may come from any number of bytes."""
    path = computer.place(frame(head_of(computer.next()) + stuffing(31 * MIB)))

    shown = computer.run("show", path)

    assert (shown.code, PROMPT in shown.out) == (0, True)
    assert computer.rows()[computer.threads[1]]["problem"] is None


def test_raising_the_setting_opens_a_larger_file(computer):
    path = computer.place(frame(head_of(computer.next()) + stuffing(8 * MIB)))

    refused = computer.run("show", path, BRANCHLINE_MAX_UNPACKED="100")
    opened = computer.run("show", path, BRANCHLINE_MAX_UNPACKED="640")

    assert (refused.code, opened.code) == (1, 0)
    assert "raise the setting max_unpacked (100 MiB)" in refused.err


def test_a_line_that_is_too_long_is_named_with_the_limit_for_lines(computer):
    path = computer.place(one_line(computer.next()))

    ended = computer.run("show", path)

    assert ended.code == 1
    assert "32 MiB in one line; a line may have 1/64 of the setting max_unpacked (2048 MiB)" in ended.err


def test_check_of_a_directory_reads_compressed_files(computer):
    damaged = head_of(computer.next()) + b'{"type": broken\n' + item("assistant", "the end")
    path = computer.place(frame(damaged))

    ended = computer.run("check", "--dir", computer.folder)

    assert ended.code == 1
    assert f"{path}: damaged" in ended.out
    assert "2 files checked, 1 damaged" in ended.err
