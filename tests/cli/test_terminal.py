"""On a terminal: colours unless unwelcome, rows that fit, and no control character but our own."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from branchline.views.text import width

COLOUR = re.compile(r"\x1b\[[0-9;]{1,5}m")
COLUMNS = 60


@pytest.fixture
def terminal(monkeypatch):
    """Run the command with a terminal of 60 columns as its output, and give what it printed there."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)

    def call(*arguments: object) -> str:
        here, there = os.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        child = subprocess.Popen(
            [sys.executable, "-m", "branchline", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=there,
            stderr=subprocess.PIPE,
            env=dict(os.environ),  # readline sets COLUMNS behind the back of os.environ
        )
        os.close(there)
        printed = b""
        while True:
            try:
                piece = os.read(here, 65536)
            except OSError:
                break
            if not piece:
                break
            printed += piece
        os.close(here)
        assert child.stderr is not None
        errors = child.stderr.read()
        child.stderr.close()
        assert child.wait(60) == 0, errors
        assert b"Traceback" not in errors
        return printed.decode().replace("\r\n", "\n")

    return call


def test_rows_have_colours_and_fit(terminal, run, talk) -> None:
    run("append", talk, "a long prompt 日本語 " * 20)

    for command in (
        ["ls"],
        ["tree", talk],
        ["forest"],
        ["tree", talk, "--ids", "--all-times"],
        ["stats"],
        ["stats", "--by", "directory"],
        ["diff", talk, "--side-by-side"],
        ["config"],
    ):
        printed = terminal(*command)
        assert COLOUR.search(printed)
        plain = COLOUR.sub("", printed)
        assert "\x1b" not in plain
        assert all(width(line) <= COLUMNS for line in plain.splitlines())


def test_a_row_deep_in_the_tree_can_still_be_read(terminal, world) -> None:
    """Rows that are indented beyond the terminal are shifted left."""
    from branchline import Session

    with Session.create(world, directory=world, id="deep", persist="at_once", durability="os") as session:
        above = session.append_message("root")
        for number in range(40):
            session.append_message(f"left {number}")
            session.branch(above)
            above = session.append_message(f"deep {number}")

    rows = COLOUR.sub("", terminal("tree", session.file)).splitlines()

    assert {f"deep {number}" for number in range(40)} <= {row.split("user: ")[-1] for row in rows}
    assert all(width(row) <= COLUMNS for row in rows)


@pytest.mark.parametrize(
    ("environment", "options"),
    [({"NO_COLOR": "1"}, []), ({"TERM": "dumb"}, []), ({}, ["--plain"]), ({}, ["--color", "never"])],
)
def test_colours_are_left_out_where_they_are_unwelcome(
    environment, options, terminal, talk, monkeypatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert "\x1b" not in terminal("tree", talk, *options)


def test_colours_can_be_had_in_a_pipe(run, talk, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert COLOUR.search(run("tree", talk, "--color", "always").stdout)
    assert "\x1b" not in run("tree", talk).stdout


def test_plain_output_says_in_words_what_is_drawn_and_is_the_same_in_a_pipe(terminal, run, talk) -> None:
    run("append", talk, "a long prompt " * 20)

    told = terminal("tree", talk, "--plain")

    assert told == run("tree", talk, "--plain").stdout == run("--plain", "tree", talk).stdout
    assert told.isascii()
    lines = told.splitlines()
    (here,) = [line for line in lines if "you are here: " in line]
    assert here.endswith(("a long prompt " * 20).strip()[:200].strip())
    assert [line.strip().split(":")[0] for line in lines if line.strip().startswith("branch")] == [
        "branch 1 of 2, on the path",
        "branch 2 of 2",
    ]
    for words in (("show", talk), ("show", talk, "--full"), ("forest", "--all"), ("stats", "--all")):
        assert not set("│└├─•›▸▾·") & set(run(*words, "--plain").stdout)


def test_two_branches_and_what_a_model_sees_are_plain_words_too(run, talk) -> None:
    diff = run("diff", talk, "--plain").stdout

    assert diff.isascii()
    assert diff.startswith("first: talk Auth refactor at ")
    assert "\n  user\n    first: And the tests?\n    second: Then what?\n" in diff
    assert "\nfirst, " in diff
    assert not any(line.lstrip().startswith(("- ", "+ ", "---", "+++")) for line in diff.splitlines())


def test_a_call_of_a_tool_is_said_in_words(run, write_session) -> None:
    call = '{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}'
    path = write_session(
        '{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z",'
        f'"message":{{"role":"assistant","content":[{call}],"timestamp":1}}}}'
    )

    assert 'calls bash {"command":"ls"}' in run("context", path, "--plain").stdout
    assert '→ bash {"command":"ls"}' in run("context", path).stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_where_a_terminal_has_no_unicode_plots_and_trees_are_drawn_in_ascii(
    terminal, talk, monkeypatch, encoding
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)

    for command in (
        ("stats",),
        ("stats", "--by", "day"),
        ("tree", talk),
        ("diff", talk),
        ("ls",),
        ("forest",),
    ):
        printed = terminal(*command)
        assert printed.isascii()
        assert "?" not in printed.replace("tests?", "").replace("what?", "").replace("start?", "")


def test_options_of_the_output_count_before_the_command_as_well(run, talk) -> None:
    assert run("--json", "tree", talk).stdout == run("tree", talk, "--json").stdout
    assert COLOUR.search(run("--color", "always", "tree", talk).stdout)


def test_words_are_broken_between_lines_and_nothing_is_left_out(terminal, run, talk) -> None:
    text = "some words " * 30 + "https://example.com/" + "x" * 100
    run("append", talk, text)

    printed = COLOUR.sub("", terminal("show", talk, "--last", "1"))

    lines = printed.splitlines()[1:]
    assert " ".join(line.strip() for line in lines) == text
    assert all(width(line) <= COLUMNS for line in lines[:-1])


def test_a_file_name_is_never_cut(terminal, run, data, talk) -> None:
    path = data("name", talk)["file"]

    assert path in COLOUR.sub("", terminal("inspect", talk))


def test_json_is_indented_for_eyes(terminal, talk) -> None:
    assert terminal("name", talk, "--json").startswith('{\n  "schema": "branchline.name/1",\n')


@pytest.mark.parametrize(
    "command", [["show", "--raw"], ["export"], ["export", "--format", "md"], ["show"], ["tree"]]
)
def test_no_raw_bytes_reach_a_terminal(command, terminal, world) -> None:
    evil = "\u202e\u009b31m\u200b"
    line = '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"' + evil + '"}}'
    header = '{"type":"session","version":3,"id":"x","timestamp":"","cwd":""}'
    path = Path(world) / "evil.jsonl"
    path.write_text(f"{header}\n{line}\n", encoding="utf-8")
    name, *options = command

    printed = COLOUR.sub("", terminal(name, path, *options))

    assert not set(printed) & set(evil.replace("31m", ""))
    assert "‹U+202E›" in printed
