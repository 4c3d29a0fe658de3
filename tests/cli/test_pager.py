"""On a terminal long results go through the pager of this person; remarks wait until it has ended."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pager that keeps what it is given and what it was told by its environment."""
    script = tmp_path / "bin" / "keep"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\ncat > {tmp_path}/kept\necho "LESS=$LESS" >> {tmp_path}/kept\necho PAGED\n')
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", str(script))
    monkeypatch.setenv("TERM", "xterm")
    return tmp_path / "kept"


def on_terminal(*arguments: object, **variables: str) -> str:
    """What a terminal shows of a command that has it for everything."""
    here, there = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "branchline", *map(str, arguments)],
        stdin=there,
        stdout=there,
        stderr=there,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    os.close(there)
    printed, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([here], [], [], 0.2)[0]:
            if child.poll() is not None:
                break
            continue
        try:
            piece = os.read(here, 65536)
        except OSError:
            break
        printed += piece
    os.close(here)
    assert child.wait(10) == 0, printed
    return printed.decode().replace("\r\n", "\n")


def test_a_result_is_paged_with_its_colours_and_remarks_follow(pager, talk):
    shown = on_terminal("ls")

    kept = pager.read_text()
    assert "talk" in kept
    assert "\x1b[" in kept
    assert kept.endswith("LESS=FRX\n")
    assert shown.index("PAGED") < shown.index("1 session")
    assert "\x1b[" not in shown


@pytest.mark.parametrize("variables", [{"BRANCHLINE_PAGER": "never"}, {"PAGER": "cat"}, {"TERM": "dumb"}])
def test_nothing_is_paged_where_that_is_not_wanted(pager, talk, variables):
    shown = on_terminal("ls", **variables)

    assert "talk" in shown
    assert not pager.exists()


def test_a_pager_that_is_left_early_ends_the_command_without_a_word(tmp_path, run, talk):
    run("append", talk, "word " * 200_000)

    shown = on_terminal("show", talk, "--full", PAGER="true", TERM="xterm")

    assert shown == ""


def test_raw_lines_are_filtered_on_their_way_into_the_pager(pager, write_session, line):
    path = write_session(line("aa01", None, "user", "PLACE"))
    path.write_bytes(path.read_bytes().replace(b"PLACE", "\u009b5n".encode()))

    on_terminal("show", path, "--raw")

    assert "5n" in pager.read_text()
    assert "\u009b" not in pager.read_text()


def test_what_is_piped_or_written_by_a_command_that_changes_something_is_never_paged(pager, run, talk):
    run("ls")
    on_terminal("append", talk, "hello")

    assert not pager.exists()
