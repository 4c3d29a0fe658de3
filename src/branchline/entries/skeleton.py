"""What a tree needs to know of a line, read without decoding the message in it.

The fast way decodes a handful of fields and skips the rest (which still proves that the line is JSON). The
careful way reads lines that are JSON for somebody, but not for the fast parser. ``salvage`` finds what is
left in lines that are JSON for nobody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Union

import msgspec

from branchline.entries import jsontext

__all__ = [
    "Fragment",
    "MessageSkeleton",
    "Skeleton",
    "careful",
    "decode",
    "decode_lines",
    "from_fields",
    "glued",
    "links",
    "salvage",
]


class MessageSkeleton(msgspec.Struct, gc=False):
    """Any message: what the tree and a listing want to know of it."""

    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    stopReason: str | None = None  # noqa: N815
    timestamp: int | float | None = None

    def is_quiet(self) -> bool:
        """An answer without words for a person (only thoughts or tool calls) that ended well."""
        return self.stopReason in _ENDED_WELL and not _has_words(bytes(self.content))


class Skeleton(msgspec.Struct, gc=False):
    type: str
    id: str
    parentId: str | msgspec.UnsetType | None = msgspec.UNSET  # noqa: N815
    timestamp: str = ""
    message: MessageSkeleton | None = None


# Messages and entries as nearly all files have them. Known types and roles are one shared string each, only
# answers have their content looked into, and all of it happens inside the decoder.


class _Words(msgspec.Struct, tag_field="type", tag="text", gc=False):
    text: str


class _Thoughts(msgspec.Struct, tag_field="type", tag="thinking", gc=False):
    pass


class _Call(msgspec.Struct, tag_field="type", tag="toolCall", gc=False):
    pass


class _Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    content: tuple[_Words | _Thoughts | _Call, ...]
    stopReason: str | None = None  # noqa: N815
    timestamp: int | float | None = None
    role: ClassVar[str] = "assistant"

    def is_quiet(self) -> bool:
        for block in self.content:
            if type(block) is _Words and block.text.strip():
                return False
        return self.stopReason in _ENDED_WELL


_OTHERS = tuple(
    msgspec.defstruct(
        f"_{role}",
        [("timestamp", int | float | None, None)],
        tag_field="role",
        tag=role,
        gc=False,
        namespace={"role": role},
    )
    for role in ("user", "toolResult", "system", "bashExecution", "custom")
)

if TYPE_CHECKING:
    _UsualMessage = MessageSkeleton
else:
    _UsualMessage = Union[(_Answer, *_OTHERS)]


class _UsualSkeleton(Skeleton, gc=False):
    type: Literal[
        "message",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
        "model_change",
        "thinking_level_change",
        "usage",
        "context_edit",
        "leaf",
    ]
    message: _UsualMessage | None = None


_ENDED_WELL = (None, "", "stop", "toolUse")

decode = msgspec.json.Decoder(Skeleton).decode
_decode_usual_lines = msgspec.json.Decoder(_UsualSkeleton).decode_lines
_decode_lines = msgspec.json.Decoder(Skeleton).decode_lines


def decode_lines(data: bytes | memoryview) -> Sequence[Skeleton]:
    """The skeletons of many values, in the order in which they stand."""
    try:
        return _decode_usual_lines(data)
    except msgspec.ValidationError:
        return _decode_lines(data)


def _has_words(content: bytes) -> bool:
    try:
        blocks = jsontext.loads(content)
    except ValueError:
        return True  # nothing is known of it, so it is shown
    if isinstance(blocks, str):
        return bool(blocks.strip())
    return any(
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
