"""The documents that ``opencode export`` prints: a session with its messages, as the lines of a database."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_lines import EntryLines
from branchline.formats.common.json_documents import document_in
from branchline.formats.json_values import dict_of, list_of, text_of
from branchline.formats.opencode.database import end_line, header_of, message_line
from branchline.formats.opencode.log_index import NAME
from branchline.formats.opencode.rows import decode_message, decode_part
from branchline.formats.protocol import Content, DocumentFiles

__all__ = ["OpencodeExports"]

_BEGINS = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
_SESSION_KEY = re.compile(rb'"(?:id|sessionID)"\s*:\s*"ses_|"projectID"\s*:\s*"')


class _Message(msgspec.Struct):
    info: msgspec.Raw
    parts: tuple[msgspec.Raw, ...] = ()


class _Export(msgspec.Struct):
    info: dict[str, Any]
    messages: tuple[_Message, ...] = ()


_decode = msgspec.json.Decoder(_Export).decode


class OpencodeExports(DocumentFiles):
    """``opencode export ID > FILE``: a file of any name."""

    def recognizes(self, path: str) -> bool:
        del path
        return False

    def begins(self, head: bytes) -> bool:
        return _BEGINS.match(head) is not None and _SESSION_KEY.search(head) is not None

    def lines(self, content: Content, path: str, companion: Callable[[str], bytes | None]) -> Iterator[bytes]:
        del companion
        export = _export(content.read(0, content.size()), path)
        row = _session_row(export.info)
        yield EntryLines(NAME).header(header_of(row))
        unique, unique_calls = _UniqueIds(), _UniqueIds()
        for message in export.messages:
            info = decode_message(bytes(message.info))
            created = 0 if info is None else info.time.created
            message_id = unique("" if info is None else info.id)
            parts = [_part(bytes(part), unique, unique_calls) for part in message.parts]
            yield message_line(message_id, created, bytes(message.info), parts)
        yield end_line(row)


class _UniqueIds:
    """Gives messages, parts or calls ids of their own: an export that was redacted may have lost theirs."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        self._counts[name] = count = self._counts.get(name, 0) + 1
        return name if count == 1 and name else f"{name}#{count}"


def _part(part: bytes, unique: _UniqueIds, unique_calls: _UniqueIds) -> tuple[str, bytes]:
    row = decode_part(part)
    if row is not None and row.callID and (call := unique_calls(row.callID)) != row.callID:
        part = json_codec.dumps({**json_codec.loads(part), "callID": call})
    return unique("" if row is None else row.id), part


def _export(data: bytes, path: str) -> _Export:
    with contextlib.suppress(ValueError):
        return _decode(data)
    return _lenient_export(document_in(data, path))


def _lenient_export(document: Any) -> _Export:
    """Return what can be used of a document whose values have unexpected types."""
    fields = dict_of(document)
    return _Export(
        dict_of(fields.get("info")),
        tuple(
            _Message(
                msgspec.Raw(json_codec.dumps(message.get("info"))),
                tuple(msgspec.Raw(json_codec.dumps(part)) for part in list_of(message.get("parts"))),
            )
            for message in map(dict_of, list_of(fields.get("messages")))
        ),
    )


def _session_row(info: dict[str, Any]) -> tuple[Any, ...]:
    """Return the row that the table of sessions has for the same session."""
    time = dict_of(info.get("time"))
    revert = dict_of(info.get("revert"))
    metadata = dict_of(info.get("metadata"))
    return (
        text_of(info.get("id")),
        text_of(info.get("parentID")),
        text_of(info.get("directory")),
        text_of(info.get("title")),
        text_of(info.get("version")),
        json_codec.dumps(revert) if revert else None,
        time.get("created"),
        time.get("updated"),
        json_codec.dumps(metadata) if metadata else None,
    )
