"""Framework messages as entries: a canonical form for display, with the original form attached.

A framework message may contain several session messages, such as tool results and text. It becomes several
entries then. The last one has the original form and its id, if any; the others are for display and for other
models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from branchline.entries import UnknownMessage
from branchline.session import NewEntry, Session

__all__ = ["NativeForm", "assistant_message", "native_entries", "native_forms", "new_entries", "tool_result"]

Fields = dict[str, Any]


class NativeForm(msgspec.Struct):
    """The original form of a message."""

    format: str = ""
    v: int = 0
    event: msgspec.Raw = msgspec.Raw(b"")
    message: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct):
    native: NativeForm | None = None


class _Line(msgspec.Struct):
    id: str = ""
    message: _Message | None = None


_decoder = msgspec.json.Decoder(_Line)


def new_entries(messages: Sequence[Fields], native: Fields, **options: Any) -> list[NewEntry]:
    """Return the entries of a message; ``options`` are the id of the last and the parent of the first."""
    made = []
    for number, message in enumerate(messages):
        last = number == len(messages) - 1
        fields = {**message, "native": native} if last else message
        own: Fields = {}
        if number == 0 and "parent" in options:
            own["parent"] = options["parent"]
        if last:
            own["id"] = options.get("id")
        made.append(NewEntry.message(UnknownMessage(role=fields["role"], fields=fields), **own))
    return made


def native_entries(session: Session, path: Sequence[str], form: str) -> Iterator[tuple[str, NativeForm]]:
    """Yield the original forms on a path, each with the id of its entry."""
    for line in session.raws(path):
        try:
            decoded = _decoder.decode(line)
        except msgspec.ValidationError:
            continue
        native = None if decoded.message is None else decoded.message.native
        if native is not None and native.format == form and native.v == 1:
            yield decoded.id, native


def native_forms(session: Session, form: str, *, limit: int | None = None) -> list[NativeForm]:
    """Return the original forms on the active path, oldest first; ``limit`` selects the last ones."""
    if limit is None:
        return [native for _id, native in native_entries(session, session.path(), form)]
    size = 2 * limit + 1
    while True:
        path = session.path(limit=size)
        found = [native for _id, native in native_entries(session, path, form)]
        if len(found) >= limit or len(path) < size:
            return found[len(found) - limit :] if len(found) > limit else found
        size *= 2


def assistant_message(blocks: list[Fields]) -> Fields:
    called = any(block["type"] == "toolCall" for block in blocks)
    return {"role": "assistant", "content": blocks, "stopReason": "toolUse" if called else "stop"}


def tool_result(call: str, name: str, text: str, *, failed: bool = False) -> Fields:
    return {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": failed,
    }
