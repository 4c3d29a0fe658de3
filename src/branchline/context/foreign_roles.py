"""Roles that only some agents write, sent as user messages.

Instructions that an agent adds (``developer``), code that the user ran (``pythonExecution``) and files that
the user mentioned (``fileMention``) belong to the conversation; other roles are internal to their agent.
"""

from __future__ import annotations

from typing import Any

from branchline.context.javascript import number_text
from branchline.entries import Block, Text, UnknownMessage, UserMessage, as_blocks, content_from

__all__ = ["foreign_message"]


def foreign_message(message: UnknownMessage) -> UserMessage | None:
    """Convert a message with another agent's role to a user message; None if the model does not see it."""
    fields = message.fields
    time = fields.get("timestamp")
    timestamp = time if isinstance(time, int | float) and not isinstance(time, bool) else None
    match message.role:
        case "developer":
            content = content_from(fields.get("content"))
            blocks = as_blocks(content)
        case "pythonExecution" if not fields.get("excludeFromContext"):
            blocks = (Text(text=_python_text(fields)),)
        case "fileMention":
            blocks = _file_blocks(fields.get("files"))
        case _:
            blocks = ()
    return UserMessage(content=blocks, timestamp=timestamp) if blocks else None


def _python_text(run: dict[str, Any]) -> str:
    """Text for code that the user ran."""
    output, code = run.get("output"), run.get("exitCode")
    text = f"Ran Python\n```python\n{run.get('code') or ''}\n```\n"
    text += f"```\n{output}\n```" if output else "(no output)"
    if run.get("cancelled") is True:
        text += "\n\n(execution cancelled)"
    elif code and isinstance(code, int | float):
        text += f"\n\nExecution failed with code {number_text(code)}"
    return text


def _file_blocks(files: Any) -> tuple[Block, ...]:
    named = [file for file in (files if isinstance(files, list) else ()) if isinstance(file, dict)]
    if not named:
        return ()
    texts = [
        f'<file path="{file.get("path") or ""}">\n{file.get("content") or "(not included)"}\n</file>'
        for file in named
    ]
    pictures = content_from([file["image"] for file in named if isinstance(file.get("image"), dict)])
    assert not isinstance(pictures, str)
    return (Text(text="\n".join(texts)), *pictures)
