"""Messages of frameworks that are one entry here: the canonical form, with the original beside it.

A framework's message may hold several things that are messages of their own in a session: results of tools,
words. Then it becomes several entries, of which the last one has the original form and, if there is one, its
id; the others are there for people and other models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from branchline.entries import UnknownMessage
from branchline.session import NewEntry, Session

__all__ = ["NativeForm", "native_entries", "native_forms", "new_entries", "tool_result"]

Fields = dict[str, Any]


class NativeForm(msgspec.Struct):
    """The original form of a message."""

    format: str = ""
    v: int = 0
    event: msgspec.Raw = msgspec.Raw(b"")
    message: msgspec.Raw = msgspec.Raw(b"")


class _Said(msgspec.Struct):
    native: NativeForm | None = None


class _Line(msgspec.Struct):
    id: str = ""
    message: _Said | None = None


_decoder = msgspec.json.Decoder(_Line)


def new_entries(messages: Sequence[Fields], native: Fields, **options: Any) -> list[NewEntry]:
    """The entries of a message; ``options`` are the id of the last one and the parent of the first one."""
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
    """The original forms on a path, each with the id of its entry."""
    for line in session.raws(path):
        try:
            said = _decoder.decode(line)
        except msgspec.ValidationError:
            continue
        native = None if said.message is None else said.message.native
        if native is not None and native.format == form and native.v == 1:
            yield said.id, native


def native_forms(session: Session, form: str, *, limit: int | None = None) -> list[NativeForm]:
    """The original forms on the active path, oldest first; with a limit the last ones."""
    if limit is None:
        return [native for _id, native in native_entries(session, session.path(), form)]
    size = 2 * limit + 1
    while True:
        path = session.path(limit=size)
        found = [native for _id, native in native_entries(session, path, form)]
        if len(found) >= limit or len(path) < size:
            return found[len(found) - limit :] if len(found) > limit else found
        size *= 2


def tool_result(call: str, name: str, text: str, *, failed: bool = False) -> Fields:
    """The result of a tool as a message."""
    return {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": failed,
    }
