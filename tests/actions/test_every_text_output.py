"""No interface writes a secret or a control character into a text file."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from textual.pilot import Pilot

from branchline import AssistantMessage, Session, Text, ToolCall
from branchline.actions.export import ExportRequest, render
from branchline.cli.app import cli
from branchline.tui.app import BranchlineApp
from chat.kit import Talk
from tui.kit import app_on, drive, press

# Put together here, so that no scanner takes it for a real one.
TOKEN = "gh" + "p_" + "Zq7Rt2Lm9Xc4Vb8Nw3Kd6Hf1Js5Gy0PuTeAo"
HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b1m \u202eturned\u2066 \x00\x08\x7f \u200bhidden"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def spiked(world: Path) -> str:
    """A session whose every text holds a token and characters that act on a terminal; its file."""
    words = f"{TOKEN} {HOSTILE}"
    call = ToolCall(
        id="call_1", name=f"bash{HOSTILE}", arguments={"command": f"echo {words}", "token": TOKEN}
    )
    with Session.create(world) as session:
        asked = session.append_message(f"Use {words}")
        session.append_message(AssistantMessage(content=(Text(text=f"Done: {words}"), call)))
        session.append_label(asked, f"label {words}")
        session.set_title(f"About {words}")
        assert session.file is not None
        return session.file


def with_command_line(file: str, output: Path) -> None:
    result = CliRunner().invoke(cli, ["export", file, "-o", str(output)])

    assert result.exit_code == 0, result.output


def with_standard_output(file: str, output: Path) -> None:
    kind = output.suffix.removeprefix(".")
    result = CliRunner().invoke(cli, ["export", file, "--format", kind])

    assert result.exit_code == 0, result.output
    output.write_bytes(result.stdout_bytes)


def with_chat(file: str, output: Path) -> None:
    async def say() -> None:
        talk = Talk(output.parent, session=Session.open(file))
        async with talk.conductor:
            await talk.say(f"/export {output}")

    asyncio.run(say())


def with_browser(file: str, output: Path) -> None:
    async def export(_app: BranchlineApp, pilot: Pilot[int]) -> None:
        await press(pilot, "ctrl+t", "enter", "=export", "enter")
        await press(pilot, "ctrl+u", f"={output}", "enter")

    drive(app_on(Path(file).parent), export)


def with_session_method(file: str, output: Path) -> None:
    with Session.open(file) as session:
        session.export(output)


def with_rendered_bytes(file: str, output: Path) -> None:
    with Session.open(file) as session:
        output.write_bytes(render(session, ExportRequest(), name=output.name).data)


WAYS = [
    with_command_line,
    with_standard_output,
    with_chat,
    with_browser,
    with_session_method,
    with_rendered_bytes,
]


@pytest.mark.parametrize("write", WAYS)
def test_a_document_has_neither_secrets_nor_control_characters(
    write: Callable[[str, Path], None], spiked: str, tmp_path: Path
) -> None:
    output = tmp_path / "out.md"

    write(spiked, output)

    text = output.read_text(encoding="utf-8")
    assert "hidden" in text
    assert TOKEN[4:] not in text.replace("\\", "")
    assert CONTROL.findall(text) == []


@pytest.mark.parametrize("write", WAYS)
def test_a_session_file_has_no_secrets_and_only_escaped_control_characters(
    write: Callable[[str, Path], None], spiked: str, tmp_path: Path
) -> None:
    """The bytes are those of the session, whose JSON escapes every byte that a terminal obeys."""
    output = tmp_path / "out.jsonl"

    write(spiked, output)

    data = output.read_bytes()
    assert TOKEN.encode() not in data
    assert re.findall(rb"[\x00-\x09\x0b-\x1f]", data) == []
    assert all(json.loads(line) for line in data.splitlines())


def test_even_without_redaction_a_document_has_no_control_characters(spiked: str, tmp_path: Path) -> None:
    with Session.open(spiked) as session:
        session.export(tmp_path / "out.md", redact=False)

    text = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert TOKEN in text
    assert CONTROL.findall(text) == []
