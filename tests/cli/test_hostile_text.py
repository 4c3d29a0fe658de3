"""Text of a session is data on every screen: nothing in it reaches a terminal or a pipe as a command."""

from __future__ import annotations

import json
import re
import sys

import pytest
from click.testing import CliRunner

from branchline.cli.app import cli
from branchline.plugins.formats import installed_formats
from support import ROOT

ESCAPES = {
    "colour": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "cursor": "\x1b[2J\x1b[H\x1b[?1049h",
    "c1": "\x9b31m\x9d52;c;ZXZpbA==\x9c\x90q\x9c",
    "carriage return": "visible\rhidden",
    "backspace": "rm -rf\b\b\b\b\b\bls    ",
    "bidi": "user\u202etxt.exe\u202c \u2066x\u2069 \u200f\u061c",
    "zero width": "pass\u200bword\u2060\ufeff",
    "tags": "hi\U000e0041\U000e0042",
    "surrogate": "\ud83d half",
    "nul": "a\x00b",
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
}
EVIL = "".join(ESCAPES.values())
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)


@pytest.fixture
def hostile(world):
    """A session in which everything that can be text is hostile."""

    def common(entry_id, parent):
        return {"id": entry_id, "parentId": parent, "timestamp": EVIL}

    def message(entry_id, parent, **fields):
        return {"type": "message", **common(entry_id, parent), "message": {**fields, "timestamp": 1}}

    text = [{"type": "text", "text": EVIL}]
    call = {"type": "toolCall", "id": "c" + EVIL, "name": EVIL, "arguments": {EVIL: EVIL, "path": EVIL}}
    read = {"type": "toolCall", "id": "r", "name": "read", "arguments": {"path": EVIL}}
    bash = {"type": "toolCall", "id": "b", "name": "bash", "arguments": {"command": EVIL}}
    answer = [{"type": "thinking", "thinking": EVIL}, *text, call, read, bash, {"type": EVIL, "x": EVIL}]
    lines = [
        {
            "type": "session",
            "version": 3,
            "id": "id" + EVIL,
            "timestamp": EVIL,
            "cwd": "/" + EVIL,
            "parentSession": EVIL,
        },
        message(
            "u" + EVIL,
            None,
            role="user",
            content=[*text, {"type": "image", "data": "AAAA", "mimeType": EVIL}],
        ),
        message(
            "a",
            "u" + EVIL,
            role="assistant",
            content=answer,
            provider=EVIL,
            model=EVIL,
            stopReason=EVIL,
            errorMessage=EVIL,
        ),
        message(
            "t", "a", role="toolResult", toolCallId="c" + EVIL, toolName=EVIL, content=text, isError=True
        ),
        message("t2", "t", role="toolResult", toolCallId="r", toolName=EVIL, content=text),
        message(
            "b",
            "t2",
            role="bashExecution",
            command=EVIL,
            output=EVIL,
            exitCode=1,
            fullOutputPath=EVIL,
            truncated=True,
        ),
        message(
            "s",
            "b",
            role="system",
            content=EVIL,
            sections={EVIL: EVIL},
            toolsAdded=[{"name": EVIL, "description": EVIL}],
        ),
        message("o", "s", role=EVIL, content=EVIL),
        message("c", "o", role="custom", customType=EVIL, content=EVIL, display=True),
        {"type": "custom_message", "customType": EVIL, "content": EVIL, "display": True, **common("m", "c")},
        {"type": "model_change", **common("mc", "m"), "provider": EVIL, "modelId": EVIL},
        {"type": "thinking_level_change", **common("tl", "mc"), "thinkingLevel": EVIL},
        {"type": "branch_summary", **common("bs", "tl"), "fromId": EVIL, "summary": EVIL},
        {
            "type": "context_edit",
            **common("ce", "bs"),
            "targetId": "u" + EVIL,
            "replacement": {"content": EVIL},
        },
        {"type": "custom", "customType": EVIL, "data": EVIL, **common("cu", "ce")},
        {"type": EVIL, **common("un", "ce"), "x": EVIL},
        {"type": "label", **common("l", "un"), "targetId": "a", "label": EVIL},
        {"type": "session_info", **common("i", "un"), "name": EVIL},
        {"type": "usage", **common("us", "un"), "kind": EVIL, "provider": EVIL, "model": EVIL, "note": EVIL},
        message("last", "un", role="user", content=text),
    ]
    encoded = [json.dumps(line) for line in lines]
    encoded.insert(
        5,
        '{"type":"message","id":"dm","parentId":"t2",'
        + EVIL.replace("\n", "").encode("utf-8", "replace").decode(),
    )
    path = world / "hostile.jsonl"
    path.write_bytes(("\n".join(encoded) + "\n").encode("utf-8", "replace"))
    return path


COMMANDS = [
    ["inspect"],
    ["show"],
    ["show", "--full"],
    ["show", "--markdown"],
    ["show", "--at", "a"],
    ["tree"],
    ["tree", "--filter", "all", "--ids", "--all-times"],
    ["tree", "--filter", "labeled-only"],
    ["tree", "--search", "half"],
    ["diff", "a"],
    ["diff", "a", "--side-by-side"],
    ["diff", "u"],
    ["context"],
    ["context", "--provider", "anthropic"],
    ["context", "--provider", "openai-chat"],
    ["label", "a"],
    ["name"],
    ["export", "--format", "md"],
    ["append", "x", "--force"],
    ["branch", "a"],
    ["branch", "nope"],
    ["branch", ""],
    ["branch", "root"],
    ["label", "a", EVIL.replace("\x00", "").replace("\ud83d", "")],
    ["name", EVIL.replace("\x00", "").replace("\ud83d", "")],
    ["fork"],
    ["check"],
    ["repair"],
    ["import"],
    ["rm"],
]


@pytest.mark.parametrize("extra", [[], ["--json"], ["--color", "always"]], ids=["plain", "json", "colours"])
@pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda command: " ".join(command)[:30].encode("ascii", "ignore").decode()
)
def test_no_character_of_a_session_acts_on_a_screen(command, extra, hostile) -> None:

    if extra == ["--json"] and ("--markdown" in command or command[0] == "export"):
        return
    name, *rest = command

    result = CliRunner().invoke(cli, [name, str(hostile), *rest, *extra])

    assert result.exit_code in (0, 1), result.output
    assert "internal error in branchline" not in result.stderr, result.stderr
    stdout = result.stdout
    if extra == ["--color", "always"]:
        stdout = re.sub(r"\x1b\[(?:0|[1-37]|[1-3];[1-9]|[1-3];3[1-6]|3[1-6]|94)m", "", stdout)
    for stream in (stdout, result.stderr):
        assert FORBIDDEN.search(stream) is None, stream
    if extra == ["--json"]:
        assert result.stdout.isascii()


@pytest.mark.parametrize(
    "command",
    [
        ["ls"],
        ["ls", "-v"],
        ["ls", "--shallow"],
        ["forest"],
        ["check"],
        ["prune"],
        ["stats"],
        ["stats", "--by", "model"],
        ["stats", "--by", "directory"],
    ],
)
def test_no_character_of_a_session_acts_in_a_list(command, hostile, world, run) -> None:
    (world / f"{ESCAPES['colour']}{ESCAPES['bidi']}.jsonl").write_bytes(b"garbage")
    (world / f"{ESCAPES['link'].replace('/', '')}.jsonl").mkdir()

    result = run(*command, "--dir", world, code=1 if command == ["check"] else 0)

    for stream in (result.stdout, result.stderr):
        assert FORBIDDEN.search(stream) is None


@pytest.mark.parametrize(
    "command",
    [
        ["ls", "--all"],
        ["ls", "--all", "--plain"],
        ["forest", "--all"],
        ["stats", "--all", "--by", "agent"],
        ["show", "t1"],
        ["inspect", "t1"],
        ["resume", "t1"],
        ["plugins"],
    ],
)
def test_a_program_of_another_package_may_be_called_anything(command, run, tmp_path, monkeypatch) -> None:
    """The format of the documentation, installed under a hostile name."""
    page = (ROOT / "docs" / "formats" / "writing-a-format.md").read_text(encoding="utf-8")
    example = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    site = tmp_path / "site"
    about = site / "evil_sessions-1.0.dist-info"
    about.mkdir(parents=True)
    source = example.replace('name="tiny"', f"name={EVIL!r}").replace(
        'format_name = "tiny"', f"format_name = {EVIL!r}"
    )
    (site / "evil_sessions.py").write_text(source)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: evil-sessions\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[branchline.formats]\nevil = evil_sessions:TINY\n")
    folder = tmp_path / "person" / ".tiny"
    folder.mkdir(parents=True)
    (folder / "talk.jsonl").write_text(
        '{"tiny": 1, "session": "t1", "cwd": "/nowhere"}\n{"who": "user", "says": "Hello"}\n'
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "evil_sessions", raising=False)
    installed_formats.cache_clear()

    try:
        result = CliRunner().invoke(cli, command)
    finally:
        installed_formats.cache_clear()

    assert result.exit_code in (0, 1), result.output
    assert "internal error in branchline" not in result.stderr, result.stderr
    for stream in (result.stdout, result.stderr):
        assert FORBIDDEN.search(stream) is None, stream
    if command[0] in ("ls", "forest", "stats"):
        assert "␛[31mred" in result.stdout


def test_what_is_hostile_is_still_shown(run, hostile) -> None:
    shown = run("show", hostile, "--last", "1").stdout

    assert "␛[31mred␛[0m" in shown
    assert "‹U+202E›" in shown


def test_json_gives_every_character_back(data, hostile) -> None:
    cards = data("show", hostile, "--last", "1")["cards"]

    assert cards[0]["body"] == EVIL


def test_raw_lines_are_bytes_for_a_program(run, hostile) -> None:
    """A pipe gets the line as it lies in the file; the terminal form is filtered (see test_terminal)."""
    (raw,) = run("show", hostile, "--last", "1", "--raw").stdout_bytes.splitlines()

    assert raw in hostile.read_bytes().splitlines()
