"""What a tree needs to know of a line, read without decoding the message in it.

The fast way decodes a handful of fields and skips the rest (which still proves that the line is JSON). The
careful way reads lines that are JSON for somebody, but not for the fast parser. ``salvage`` finds what is
left in lines that are JSON for nobody.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from branchline.entries import jsontext

__all__ = [
    "Fragment",
    "MessageSkeleton",
    "Skeleton",
    "careful",
    "decode",
    "from_fields",
    "glued",
    "is_quiet",
    "links",
    "salvage",
]


class MessageSkeleton(msgspec.Struct, gc=False):
    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    stopReason: str | None = None  # noqa: N815
    timestamp: int | float | None = None


class Skeleton(msgspec.Struct, gc=False):
    type: str
    id: str
    parentId: str | msgspec.UnsetType | None = msgspec.UNSET  # noqa: N815
    timestamp: str = ""
    message: MessageSkeleton | None = None


class _BlockText(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


_TEXT = b'{"type":"text","text":"'
_THINKING = b'{"type":"thinking"'
_BLANK_OR_END = b' "\\'

decode = msgspec.json.Decoder(Skeleton).decode
_block_texts = msgspec.json.Decoder(list[_BlockText]).decode


def is_quiet(message: MessageSkeleton) -> bool:
    """An answer without words for a person (only thoughts or tool calls) that ended well."""
    if message.stopReason not in (None, "", "stop", "toolUse"):
        return False
    content = bytes(message.content)
    if b'"text"' not in content:
        return True
    # The usual answer begins with words, perhaps after thoughts. Braces inside strings are never followed by
    # a bare quote, so the count proves that no other block, which might hold this text, stands before it.
    start = content.find(_TEXT)
    if (
        start > 0
        and content[start + len(_TEXT)] not in _BLANK_OR_END
        and content.count(b'{"', 0, start) == content.count(_THINKING, 0, start)
    ):
        return False
    try:
        return not any(block.type == "text" and block.text.strip() for block in _block_texts(content))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        blocks = jsontext.loads(content)
    except ValueError:
        return False
    if isinstance(blocks, str):
        return not blocks.strip()
    return not any(
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(text := block.get("text"), str)
        and text.strip()
        for block in (blocks if isinstance(blocks, list) else ())
    )


def careful(line: bytes) -> Any:
    """The JSON value of a line that the fast way refused: fields for :func:`from_fields`, or another value.

    ValueError when the line is no JSON at all.
    """
    try:
        return jsontext.loads(line)
    except ValueError as reason:
        if str(reason) == "nested too deeply" and (shallow := _shallow(line)) is not None:
            return shallow
        raise


def from_fields(fields: dict[str, Any]) -> Skeleton:
    """The skeleton of a decoded object whose ``type`` and ``id`` are texts."""
    parent = fields.get("parentId", msgspec.UNSET)
    timestamp = fields.get("timestamp")
    message = fields.get("message")
    skeleton = Skeleton(
        type=fields["type"],
        id=fields["id"],
        parentId=parent if parent is None or isinstance(parent, str) else msgspec.UNSET,
        timestamp=timestamp if isinstance(timestamp, str) else "",
    )
    if isinstance(message, dict):
        role, stop, time = message.get("role"), message.get("stopReason"), message.get("timestamp")
        content = message.get("content")
        skeleton.message = MessageSkeleton(
            role=role if isinstance(role, str) else "",
            stopReason=stop if isinstance(stop, str) else None,
            timestamp=time if isinstance(time, int | float) and not isinstance(time, bool) else None,
            content=msgspec.Raw(jsontext.dumps(content) if isinstance(content, str | list) else b"null"),
        )
    return skeleton


def links(line: bytes) -> dict[str, Any]:
    """Id and parent as a readable line says them; what it does not say is missing."""
    fields = careful(line)
    return {name: fields[name] for name in ("id", "parentId") if name in fields}


# -- lines that are nested too deeply for a recursive parser ----------------------------------------------

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_PLAIN_FIELD = re.compile(rb'\s*:\s*("(?:[^"\\]|\\.)*"|null)', re.DOTALL)


def _shallow(line: bytes) -> dict[str, Any] | None:
    """The texts at the top of an object (and the role of its message), whatever lies below them."""
    fields: dict[str, Any] = {}
    depth = 0
    for token in _TOKEN.finditer(line):
        first = token[0][:1]
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            depth -= 1
            if depth < 0:
                return None
        elif depth <= 2 and (value := _PLAIN_FIELD.match(line, token.end())):
            name = token[0][1:-1].decode("utf-8", "replace")
            if depth == 1:
                fields[name] = jsontext.loads(value[1])
            elif name == "role":
                fields.setdefault("message", {})["role"] = jsontext.loads(value[1])
    if depth or not line.lstrip().startswith(b"{"):
        return None
    return fields


# -- lines that are no JSON -------------------------------------------------------------------------------

_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,200})"')
_PARENT = re.compile(rb'"parentId"\s*:\s*(?:"([^"\\]{0,200})"|null)')
_ENTRY_START = b'{"type":"'


class Fragment(NamedTuple):
    """What an unreadable line still says."""

    id: str
    parent: str | None


def salvage(line: bytes) -> Fragment | None:
    """Id and parent of an unreadable line, when both stand whole in its first 300 bytes."""
    head = line[:300]
    found, parent = _ID.search(head), _PARENT.search(head)
    if found is None or parent is None:
        return None
    return Fragment(
        found[1].decode("utf-8", "replace"),
        None if parent[1] is None else parent[1].decode("utf-8", "replace"),
    )


def glued(line: bytes) -> tuple[int, bytes] | None:
    """The record behind a fragment in the same line: where it starts, and its bytes."""
    start = line.find(_ENTRY_START, 1)
    while start > 0:
        rest = line[start:]
        try:
            value = jsontext.loads(rest)
        except ValueError:
            start = line.find(_ENTRY_START, start + 1)
            continue
        return (start, rest) if isinstance(value, dict) else None
    return None
