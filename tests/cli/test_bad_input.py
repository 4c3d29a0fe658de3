"""Every bad input gives the promised exit code and one sentence; nothing is lost or changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support import CORPUS

EDGE = CORPUS / "pi" / "edge"

COMMANDS = [
    "append",
    "branch",
    "check",
    "context",
    "export",
    "forest",
    "fork",
    "import",
    "inspect",
    "label",
    "ls",
    "name",
    "new",
    "prune",
    "repair",
    "restore",
    "rm",
    "show",
    "tree",
]
READ = [
    ["inspect"],
    ["inspect", "--json"],
    ["show"],
    ["show", "--json"],
    ["show", "--markdown"],
    ["show", "--full"],
    ["show", "--raw"],
    ["tree"],
    ["tree", "--filter", "all"],
    ["tree", "--json"],
    ["tree", "--search", "x"],
    ["context"],
    ["context", "--json"],
    ["context", "--provider", "anthropic"],
    ["context", "--provider", "openai-chat"],
    ["context", "--provider", "openai-responses"],
    ["label", "@leaf"],
    ["name"],
    ["export"],
    ["export", "--branch"],
    ["export", "--format", "md"],
]
"""Commands that read one session; the file goes second."""


def deep(depth: int) -> str:
    nested = "[" * depth + "]" * depth
    return (
        '{"type":"message","id":"deep","parentId":"a","timestamp":"","message":{"role":"user","content":'
        + nested
        + "}}"
    )


def entry(entry_id: str, parent: str | None, text: object = "words") -> str:
    message = {"role": "user", "content": text, "timestamp": 1}
    return json.dumps(
        {
            "type": "message",
            "id": entry_id,
            "parentId": parent,
            "timestamp": "2026-01-05T09:00:00.000Z",
            "message": message,
        }
    )


HEADER = json.dumps(
    {"type": "session", "version": 3, "id": "bad", "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/x"}
)
A, B = entry("a", None), entry("b", "a")

READABLE = {
    "header missing": f"{A}\n{B}\n",
    "header damaged": f"{HEADER[:30]}\n{A}\n{B}\n",
    "header of another kind": f'{{"type":"session","id":7}}\n{A}\n',
    "bom": f"\ufeff{HEADER}\n{A}\n",
    "crlf": f"{HEADER}\r\n{A}\r\n{B}\r\n",
    "invalid utf-8": HEADER.encode()
    + b"\n"
    + A.replace("words", "w\udcff").encode("utf-8", "surrogateescape")
    + b"\n",
    "raw invalid utf-8": HEADER.encode() + b"\n" + A.encode().replace(b"words", b"\xff\xfe\x80") + b"\n",
    "nul block": HEADER.encode() + b"\n" + A.encode() + b"\n" + b"\0" * 4096 + b"\n" + B.encode() + b"\n",
    "torn tail": f"{HEADER}\n{A}\n{B[:70]}",
    "bad line in the middle": f"{HEADER}\n{A}\n{B[:70]}\n{entry('c', 'b')}\n",
    "non-object json": f'{HEADER}\nnull\n[]\n5\n"x"\n{{}}\n{A}\n',
    "lone surrogates": HEADER + "\n" + A.replace("words", "\\ud83d \\udc00") + "\n",
    "nan": HEADER + "\n" + A.replace('"timestamp": 1', '"timestamp": NaN, "x": [Infinity, 1e400]') + "\n",
    "nan in usage": HEADER
    + "\n"
    + A.replace('"user"', '"assistant"').replace(
        '"timestamp": 1', '"usage": {"input": NaN, "cost": {"total": 1e999}}'
    )
    + "\n",
    "long number": HEADER + "\n" + A.replace('"timestamp": 1', '"timestamp": ' + "9" * 5000) + "\n",
    "deep nesting": f"{HEADER}\n{A}\n{deep(10_000)}\n",
    "nesting at the limit": "\n".join(
        [HEADER, A, *(deep(depth) for depth in (200, 480, 900, 960, 990, 1000))]
    )
    + "\n",
    "missing parent": f"{HEADER}\n{A}\n{entry('c', 'gone')}\n",
    "self parent": f"{HEADER}\n{entry('a', 'a')}\n",
    "cycle": f"{HEADER}\n{entry('a', 'b')}\n{entry('b', 'a')}\n",
    "repeated id": f"{HEADER}\n{A}\n{A}\n{entry('a', 'a')}\n",
    "unknown version": HEADER.replace("3", "99", 1) + f"\n{A}\n",
    "odd version": HEADER.replace("3", '"three"', 1) + f"\n{A}\n",
    "wrong types": f'{HEADER}\n{{"type":"message","id":"a","parentId":5,"timestamp":{{}},"message":[1]}}\n{{"type":"label","id":"l","parentId":"a","targetId":[],"label":{{}}}}\n{{"type":"compaction","id":"c","parentId":"a","summary":5}}\n',
    "hostile ids": f"{HEADER}\n{entry('../../x', None)}\n{entry(chr(27) + '[31m', '../../x')}\n{entry('', chr(27) + '[31m')}\n",
    "huge line": f"{HEADER}\n{entry('a', None, 'x' * 3_000_000)}\n",
}
UNREADABLE = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "garbage": b"this is\nnot a session\n",
    "nul bytes": b"\0" * 10_000,
    "other json": b'{"v":4,"kind":"header"}\n{"a":1}\n',
    "binary": bytes(range(256)) * 50,
    "deep nothing": b"[" * 100_000,
}


@pytest.mark.parametrize("name", READABLE)
def test_a_session_that_is_damaged_is_read_as_far_as_it_can_be(name, run, world) -> None:
    path = world / "bad.jsonl"
    content = READABLE[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()

    for command, *options in READ:
        result = run(command, path, *options)
        if "--json" in options or "--provider" in options:
            json.loads(result.stdout, parse_constant=refuse)

    assert path.read_bytes() == before
    assert [item.name for item in world.iterdir()] == ["bad.jsonl"]


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_is_no_session_is_a_bad_file(name, run, world) -> None:
    path = world / "bad.jsonl"
    path.write_bytes(UNREADABLE[name])

    for command, *options in [
        *READ,
        ["append", "words"],
        ["branch", "root"],
        ["fork"],
        ["repair"],
        ["import"],
    ]:
        result = run(command, path, *options, code=1)
        assert result.stderr.startswith("branchline: ")
        assert result.stderr.count("\n") == 1
        assert result.stdout == "" or (command, *options) == ("inspect", "--json")

    assert path.read_bytes() == UNREADABLE[name]
    assert [item.name for item in world.iterdir()] == ["bad.jsonl"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["directory", "fifo"])
def test_what_is_no_file_is_a_bad_file_and_nobody_waits_for_it(make, run, world) -> None:
    make(world / "x.jsonl")

    for command, *options in [
        *READ,
        ["append", "words"],
        ["fork"],
        ["repair"],
        ["import"],
        ["rm"],
        ["check"],
    ]:
        result = run(command, "x.jsonl", *options, code=1)
        assert "Traceback" not in result.stderr
    assert "1 hidden" in run("ls", "--dir", ".").stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_bad_file(run, world) -> None:
    (world / "x.jsonl").write_bytes((EDGE / "labels.jsonl").read_bytes())
    (world / "x.jsonl").chmod(0)

    for command, *options in READ:
        assert "permission denied" in run(command, "x.jsonl", *options, code=1).stderr


@pytest.mark.parametrize(
    "name", ["../../x", "../../x.jsonl", "/nowhere/x.jsonl", "..", "/", "nope", "@first", "a\nb", "\x1b[31m"]
)
def test_a_session_that_is_not_there_is_told_so(name, run, tmp_path) -> None:
    for command, *options in [*READ, ["append", "words"], ["branch", "x"], ["rm"], ["fork"]]:
        result = run(command, name, *options, code=1)
        assert "\x1b" not in result.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["show"],
        ["show", "x", "--nonsense"],
        ["show", "x", "--last", "many"],
        ["tree", "x", "--filter", "none"],
        ["context", "x", "--provider", "none"],
        ["append"],
        ["branch", "x"],
        ["label", "x"],
        ["export", "x", "--format", "doc"],
        ["new", "--cwd", "/nowhere/at/all"],
        ["fork", "x", "--cwd", "/nowhere/at/all"],
        ["ls", "-n", "-1"],
        ["ls", "extra"],
        ["rm"],
        ["repair"],
        ["import"],
        ["ls", "--color", "pink"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_told_with_a_way_to_help(arguments, run, tmp_path) -> None:
    result = run(*arguments, code=2)

    assert result.stdout == ""
    assert result.stderr.startswith("branchline")
    assert "--help`" in result.stderr
    assert not (tmp_path / "home").exists()


def test_a_mistyped_command_gets_a_suggestion(run) -> None:
    assert "did you mean 'append'?" in run("apend", code=2).stderr
    assert "lists all" in run("xyzzy", code=2).stderr


@pytest.mark.parametrize(
    "name",
    COMMANDS,
)
def test_every_command_explains_itself_with_examples(name, run) -> None:
    result = run(name, "--help")

    assert result.stdout.startswith(f"Usage: branchline {name} ")
    assert f"Examples:\n  branchline {name}" in result.stdout.replace("  id=$(branchline", "  branchline")
    assert "--json" in result.stdout


def test_the_help_names_every_command(run) -> None:
    shown = run("--help").stdout

    for name in COMMANDS:
        assert f"\n  {name} " in shown
    assert run("-h").stdout == shown


def test_a_directory_that_takes_no_files_is_told(run, world, monkeypatch, talk) -> None:
    (world / "file").write_bytes(b"x")

    for arguments in (
        ["new", "--dir", "file/below"],
        ["export", talk, "-o", "file/below.jsonl"],
        ["import", EDGE / "labels.jsonl", "--dir", "file/below"],
    ):
        assert run(*arguments, code=1).stderr.startswith("branchline: ")


def test_corpus_of_bad_files(run) -> None:
    """Whatever lies in the corpus of bad files is checked, shown and inspected without a traceback."""
    for path in sorted(Path(CORPUS / "bad").rglob("*.jsonl")):
        before = path.read_bytes()
        for command in ("check", "inspect", "show", "tree", "context"):
            from click.testing import CliRunner

            from branchline.cli.app import cli

            result = CliRunner().invoke(cli, [command, str(path)])
            assert result.exit_code in (0, 1), (path, command, result.output)
            assert "internal error in branchline" not in result.stderr
        assert path.read_bytes() == before
