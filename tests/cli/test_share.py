"""``share``: what is found is shown first, and a person decides about each of it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from branchline import Session

TOKEN = "gh" + "p_" + "Zq7Rt2Lm9Xc4Vb8Nw3Kd6Hf1Js5Gy0PuTeAo"
OTHER = "gh" + "p_" + "Hf1Js5Gy0PuTeAoZq7Rt2Lm9Xc4Vb8Nw3Kd6"


@pytest.fixture
def spiked(run, talk) -> str:
    run("append", talk, f"the token is {TOKEN}, of Kingfisher")
    run("append", talk, f"and the old one {OTHER}")
    return talk


def lines_of(page: Path) -> str:
    with Session.open(page) as session:
        return session.transcript.bytes_between(0, None).decode()


def test_without_a_terminal_the_findings_are_printed_and_everything_is_masked(run, spiked, world) -> None:
    result = run("share", spiked, "-o", "out.html")

    assert result.stdout.count("github-token") == 2
    assert "the token is ghp_…, of Kingfisher" in result.stdout
    assert not any(part in result.stdout for part in (TOKEN[4:12], TOKEN[-8:], OTHER[4:12], OTHER[-8:]))
    assert "wrote " in result.stdout
    text = lines_of(world / "out.html")
    assert TOKEN not in text
    assert text.count("[redacted:github-token]") == 2


def test_the_context_of_a_finding_has_nothing_of_the_next_one(run, talk) -> None:
    run("append", talk, f"{TOKEN} or {OTHER} or dev@harbour.example")

    result = run("share", talk, "-o", "out.html", "--portable")

    assert "ghp_… or" in result.stdout
    assert not any(part in result.stdout for part in (TOKEN[-8:], OTHER[4:12], OTHER[-8:], "harbour"))


def test_the_page_is_named_after_the_session_and_replaces_nothing(run, data, spiked, world) -> None:
    first = data("share", spiked)
    result = run("share", spiked, code=1)

    assert Path(first["path"]).parent == world
    assert first["redacted"] == [{"kind": "github-token", "count": 2}]
    assert "--force replaces it" in result.stderr


def converse(command: list[str], *answers: tuple[str, str]) -> str:
    """Run a program on a terminal; give each answer once the question before it was asked."""
    here, there = pty.openpty()
    process = subprocess.Popen(command, stdin=there, stdout=there, stderr=there, close_fds=True)
    os.close(there)
    said, waiting, end = "", list(answers), time.monotonic() + 20
    start = 0
    while time.monotonic() < end:
        if waiting and waiting[0][0] in said[start:]:
            start = len(said)
            os.write(here, (waiting.pop(0)[1] + "\r").encode())
        if not select.select([here], [], [], 0.05)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            said += os.read(here, 65536).decode("utf-8", "replace")
        except OSError:
            break
    os.close(here)
    process.wait(timeout=10)
    return said


def test_on_a_terminal_each_finding_is_asked_about(spiked, world) -> None:
    question = "[mkelaq?]"

    said = converse(
        [sys.executable, "-m", "branchline", "share", spiked, "-o", "out.html"],
        (question, "x"),
        (question, "k"),
        (question, "l"),
        ("text to mask", "Kingfisher"),
        (question, "m"),
    )

    assert "1 of 2: github-token" in said
    assert "keep it: it is not a secret" in said
    text = lines_of(world / "out.html")
    kept = [token for token in (TOKEN, OTHER) if token in text]
    assert len(kept) == 1
    assert "Kingfisher" not in text
    assert "[redacted:literal]" in text


def test_stopping_writes_nothing(spiked, world) -> None:
    before = set(os.listdir(world))

    converse([sys.executable, "-m", "branchline", "share", spiked, "-o", "out.html"], ("[mkelaq?]", "q"))

    assert set(os.listdir(world)) == before
