"""Sessions with parts omitted: tool calls and results, thinking, images, or the beginning of a path.

Omitted content is replaced by a stub with its size; entries keep their ids and their place in the tree. The
lines are rewritten for this, so the result always has the native format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from branchline.conversion import convert
from branchline.entries import Header, json_codec
from branchline.errors import EntryNotFound
from branchline.formats.pi import PI
from branchline.session import Session
from branchline.session.forks import fork_position
from branchline.views.humanize import count, decoded_size, format_size

__all__ = ["Omissions", "reduced_lines"]

_BLOCK = 1 << 20


class Omissions(msgspec.Struct, frozen=True, kw_only=True):
    """The parts to omit."""

    tools: bool = False
    thinking: bool = False
    images: bool = False
    branches: bool = False
    """Omit everything but the path to ``last``."""
    first: str | None = None
    """The first entry to keep on the path (default: its root)."""
    last: str | None = None
    """The last entry of the path (default: the leaf)."""


def reduced_lines(session: Session, omit: Omissions) -> Iterator[bytes]:
    """Yield native lines in blocks. Raises EntryNotFound if ``first`` is not on the path."""
    known = session.header
    header = Header(version=3, id=known.id, timestamp=known.timestamp, cwd=known.cwd)
    path = omit.branches or omit.first is not None or omit.last is not None
    leaf = fork_position(session, omit.last, "at") if path else None
    above: set[str] = set()
    if omit.first is not None:
        keys = session.path(omit.last)
        if omit.first not in keys:
            raise EntryNotFound(f"entry {omit.first!r} is not on the exported path")
        above = set(session.index.path(omit.first)) - {omit.first}
    data = convert(session.transcript, PI, header, leaf=leaf).data
    held: list[bytes] = []
    size = 0
    for number, line in enumerate(data.split(b"\n")):
        made = line if number == 0 else _reduced(line, omit, above)
        if made:
            held.append(made + b"\n")
            size += len(made)
        if size >= _BLOCK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def _reduced(line: bytes, omit: Omissions, above: set[str]) -> bytes:
    """Return a line without the omitted parts; empty if nothing is left."""
    if not line.strip():
        return b""
    fields = json_codec.loads(line)
    if not isinstance(fields, dict) or fields.get("id") in above:
        return b""
    if fields.get("parentId") in above:
        fields["parentId"] = None
    if fields.get("type") == "label" and fields.get("targetId") in above:
        return b""
    message = fields.get("message")
    if isinstance(message, dict):
        _reduce_message(message, omit)
    if omit.images and isinstance(fields.get("content"), list):
        fields["content"] = [_without_image(block) for block in fields["content"]]
    if omit.tools:
        fields.pop("details", None)
        if fields.get("type") == "custom":
            fields.pop("data", None)
    return json_codec.dumps(fields)


def _reduce_message(message: dict[str, Any], omit: Omissions) -> None:
    content = message.get("content")
    if omit.tools:
        if message.get("role") == "toolResult":
            size = len(content) if isinstance(content, str) else sum(map(_text_size, content or ()))
            message["content"] = content = [_stub(count(size, "character"))]
            message.pop("details", None)
            message.pop("nestedCalls", None)
        if message.get("role") == "bashExecution":
            message["output"] = f"[omitted: {count(len(str(message.get('output', ''))), 'character')}]"
            message["command"] = "[omitted]"
            message.pop("fullOutputPath", None)
    if not isinstance(content, list):
        return
    blocks = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if omit.thinking and kind == "thinking":
            continue
        if omit.tools and kind == "toolCall":
            blocks.append({**block, "arguments": {}})
        elif omit.tools and kind not in ("text", "thinking", "image"):
            blocks.append(_stub(str(kind)))
        else:
            blocks.append(_without_image(block) if omit.images else block)
    message["content"] = blocks


def _text_size(block: object) -> int:
    text = block.get("text") if isinstance(block, dict) else None
    return len(text) if isinstance(text, str) else 0


def _without_image(block: Any) -> Any:
    if not isinstance(block, dict) or block.get("type") != "image":
        return block
    data = block.get("data")
    size = format_size(decoded_size(data) if isinstance(data, str) else 0)
    return _stub(f"{block.get('mimeType') or 'image'}, {size}")


def _stub(what: str) -> dict[str, str]:
    return {"type": "text", "text": f"[omitted: {what}]"}
