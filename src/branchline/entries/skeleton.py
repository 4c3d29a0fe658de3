"""The fields of a line that a tree needs, read without decoding its message.

The fast path decodes a few fields and skips the rest, which still validates the line as JSON. The lenient
path reads JSON that msgspec refuses. ``salvage`` finds the ids in lines that are not JSON.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union

import msgspec

from branchline.entries import json_codec
from branchline.entries.records import CONVERSATION_TYPES, SIDE_TYPES

__all__ = [
    "NO_MESSAGE",
    "MessageSkeleton",
    "SalvagedIds",
    "Skeleton",
    "decode_any",
    "decode_lines",
    "from_fields",
    "links",
    "salvage",
]


class MessageSkeleton(msgspec.Struct, gc=False):
    """The fields of a message that the tree and listings need."""

    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    stopReason: str | None = None  # noqa: N815
    timestamp: int | float | None = None

    def is_quiet(self) -> bool:
        """Whether it is an answer without text (only thoughts or tool calls) that completed normally."""
        return self.stopReason in _ENDED_WELL and not _has_words(bytes(self.content))


class _DecodedMessage(MessageSkeleton, gc=False):
    """A message that was decoded whole, so that its content need not be kept."""

    words: bool = False

    def is_quiet(self) -> bool:
        return self.stopReason in _ENDED_WELL and not self.words


class _Nobody(msgspec.Struct, frozen=True, gc=False):
    """The message of an entry without one, so that every entry has a role."""

    role: ClassVar[None] = None


NO_MESSAGE = _Nobody()


class Skeleton(msgspec.Struct, gc=False):
    type: str
    id: str
    parentId: str | msgspec.UnsetType | None = msgspec.UNSET  # noqa: N815
    timestamp: str = ""
    if TYPE_CHECKING:
        message: MessageSkeleton | None = None
    else:
        message: MessageSkeleton | None = NO_MESSAGE


# Messages and entries as in nearly all files. The record type gives type and role, only
# answers have their content looked into, and all of it happens inside the decoder.


_UsualStop = Literal["stop", "toolUse", "length", "error", "aborted", "deferred"]


class _Words(msgspec.Struct, tag_field="type", tag="text", gc=False):
    text: str


class _Thoughts(msgspec.Struct, tag_field="type", tag="thinking", gc=False):
    pass


class _Call(msgspec.Struct, tag_field="type", tag="toolCall", gc=False):
    pass


class _Answer(msgspec.Struct, tag_field="role", tag="assistant", gc=False):
    content: list[_Words | _Thoughts | _Call]
    stopReason: _UsualStop | None = None  # noqa: N815
    timestamp: int | float | None = None
    role: ClassVar[str] = "assistant"

    def is_quiet(self) -> bool:
        for block in self.content:
            if type(block) is _Words and (text := block.text) and not text.isspace():
                return False
        return self.stopReason in _ENDED_WELL


def _tagged(field: str, tag: str, *fields: Any, **told: Any) -> Any:
    """A record whose ``field`` is always ``tag``."""
    return msgspec.defstruct(
        f"_{tag}", fields, tag_field=field, tag=tag, kw_only=True, gc=False, namespace={field: tag, **told}
    )


_TIME = ("timestamp", int | float | None, None)
_USER = _tagged("role", "user", _TIME)
_OTHERS = [_tagged("role", role) for role in ("toolResult", "system", "bashExecution", "custom")]
_LINKS_AND_TIME = (
    ("id", str),
    ("parentId", str | msgspec.UnsetType | None, msgspec.UNSET),
    ("timestamp", str, ""),
)
_SILENT = tuple(
    _tagged("type", kind, *_LINKS_AND_TIME, message=NO_MESSAGE)
    for kind in sorted((SIDE_TYPES | CONVERSATION_TYPES) - {"message"})
)


def _decoder(*messages: Any) -> msgspec.json.Decoder[Skeleton]:
    message = _tagged("type", "message", *_LINKS_AND_TIME, ("message", Union[(*messages,)]))
    return msgspec.json.Decoder(Union[(message, *_SILENT)])


_ENDED_WELL = ("toolUse", "stop", None, "")


@json_codec.build_once
def _any() -> msgspec.json.Decoder[Skeleton]:
    """Made when something is read, as the other decoder: many commands know where files are and read none."""
    return msgspec.json.Decoder(Skeleton)


@json_codec.build_once
def _usual() -> msgspec.json.Decoder[Skeleton]:
    return _decoder(_Answer, _USER, *_OTHERS)


def decode_lines(data: bytes | memoryview) -> Sequence[Skeleton]:
    """The skeletons of many values, in order."""
    try:
        return _usual().decode_lines(data)
    except msgspec.ValidationError:
        return decode_any(data)


def decode_any(data: bytes | memoryview) -> Sequence[Skeleton]:
    """As :func:`decode_lines`, for unknown types, roles or blocks."""
    return _any().decode_lines(data)


def _has_words(content: bytes) -> bool:
    try:
        return _words_in(json_codec.loads(content))
    except ValueError:
        return True  # nothing is known of it, so it is shown


def _words_in(content: Any) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    blocks = content if isinstance(content, list) else ()
    return any(isinstance(block, dict) and _is_words(block) for block in blocks)


def _is_words(block: dict[str, Any]) -> bool:
    if block.get("type") != "text":
        return False
    text = block.get("text")
    return isinstance(text, str) and bool(text) and not text.isspace()


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
        skeleton.message = _DecodedMessage(
            role=role if isinstance(role, str) else "",
            stopReason=stop if isinstance(stop, str) else None,
            timestamp=time if isinstance(time, int | float) and not isinstance(time, bool) else None,
            words=_words_in(message.get("content")),
        )
    return skeleton


def links(line: bytes) -> dict[str, Any]:
    """Id and parent as a readable line says them; what it does not say is missing."""
    fields = json_codec.loads(line)
    return {name: fields[name] for name in ("id", "parentId") if name in fields}


# -- lines that are not JSON ------------------------------------------------------------------------------

_ID = rb'"id"\s*:\s*"([^"\\]{1,200})"'
_PARENT = rb'"parentId"\s*:\s*(?:"([^"\\]{0,200})"|null)'


_CUSTOM = b'{"type":"custom'
_LINKS = rb'"id":"[^"\\]{1,200}","parentId":(?:"[^"\\]{0,200}"|null),"timestamp":'


class SalvagedIds(msgspec.Struct, frozen=True):
    """The ids in an unreadable line."""

    id: str
    parent: str | None


def salvage(line: bytes) -> SalvagedIds | None:
    """Id and parent of an unreadable line, if both are complete in its first 300 bytes.

    Custom data precedes the id of its entry and may hold ids of its own.
    """
    head = line[:300]
    if head.startswith(_CUSTOM):
        links = re.search(_LINKS, head)
        head = b"" if links is None else links[0]
    found, parent = re.search(_ID, head), re.search(_PARENT, head)
    if found is None or parent is None:
        return None
    return SalvagedIds(
        found[1].decode("utf-8", "replace"),
        None if parent[1] is None else parent[1].decode("utf-8", "replace"),
    )
