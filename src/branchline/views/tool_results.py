"""Tool results for display: output, failure and duration.

Agents record these in different places: in fields of the result, or in lines before a command's output.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from branchline.entries import ToolResult, UnknownBlock, blocks_text, json_codec
from branchline.views.humanize import duration
from branchline.views.tool_views import is_shell

__all__ = ["ResultView", "result_view"]

_HEAD = 400
"""Characters in which an agent reports on a command, before its output."""
_EXIT = re.compile(r"^(?:Exit code:|Process exited with code|exit_code:) (-?\d{1,10})\s*$", re.MULTILINE)
_WALL = re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?) ?s(?:econds)?\s*$", re.MULTILINE)
_OUTPUT = re.compile(r"^Output:$", re.MULTILINE)
_MILLISECONDS = ("durationMs", "totalDurationMs", "duration_ms", "elapsedMs", "wallTimeMs")
_SECONDS = ("durationSeconds", "duration_seconds")
_LONGEST = 4_000_000


class ResultView(NamedTuple):
    """A result: its text, whether the tool failed, and short facts (exit code, duration)."""

    text: str
    failed: bool
    facts: tuple[str, ...]


def result_view(result: ToolResult | UnknownBlock) -> ResultView:
    """Return the view of a result: a message, or a block of an answer, if the provider ran the tool."""
    if isinstance(result, UnknownBlock):
        return ResultView(_block_text(result), False, ())
    text = blocks_text(result.content, "\n")
    details = result.details if isinstance(result.details, dict) else {}
    code, seconds = (
        (_number(details, "exitCode", "exit_code"), _seconds(details)) if details else (None, None)
    )
    if is_shell(result.tool_name):
        text, reported = _wrapped(text)
        if reported:
            code = _number(reported, "exit_code") if code is None else code
            seconds = _seconds(reported) if seconds is None else seconds
    facts = []
    if details.get("interrupted") is True:
        facts.append("interrupted")
    if code:
        facts.append(f"exit code {code:g}")
    if seconds is not None:
        facts.append(duration(seconds))
    return ResultView(text, result.is_error is True or bool(code), tuple(facts))


def _block_text(block: UnknownBlock) -> str:
    content = block.fields.get("content")
    lines = []
    for item in content if isinstance(content, list) else [content]:
        match item:
            case {"title": str(title), "url": str(url)}:
                lines.append(f"{title} — {url}")
            case {"error_code": str(code)}:
                lines.append(f"error: {code}")
            case {"text": str(text)}:
                lines.append(text)
            case None:
                pass
            case _:
                lines.append(json_codec.dumps(item).decode("utf-8", "replace"))
    return "\n".join(lines)


def _wrapped(text: str) -> tuple[str, dict[str, Any]]:
    """The output of a command, and the report of the agent on it."""
    if text.startswith("{") and text.rstrip().endswith("}") and len(text) <= _LONGEST:
        try:
            value = json_codec.loads(text.encode("utf-8", "surrogatepass"))
        except ValueError:
            value = None
        match value:
            case {"output": str(output), "metadata": dict(reported)} if len(value) == 2:
                return output, reported
    found: dict[str, Any] = {}
    head = text[:_HEAD]
    if "code" not in head and "Wall time" not in head:
        return text, found
    if output_at := _OUTPUT.search(head):
        head = head[: output_at.start()]
    if exit_code := _EXIT.search(head):
        found["exit_code"] = int(exit_code[1])
    if wall := _WALL.search(head):
        found["duration_seconds"] = float(wall[1])
    return text, found


def _seconds(fields: dict[str, Any]) -> float | None:
    milliseconds = _number(fields, *_MILLISECONDS)
    return _number(fields, *_SECONDS) if milliseconds is None else milliseconds / 1000


def _number(fields: dict[str, Any], *names: str) -> float | None:
    """The first of these fields that is a number in a sensible range."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and -1e15 < value < 1e15:
            return value
    return None
