"""piglet's sessions as a format: what they are, how entries are read and written, where the files lie."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from branchline.entries import (
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Damaged,
    Entry,
    Header,
    Label,
    Leaf,
    Message,
    MessageEntry,
    Text,
    Unknown,
    UserMessage,
    content_from,
    entry_from_fields,
    jsontext,
)
from branchline.formats.base import Format, Reading
from branchline.formats.leftovers import FIELD
from branchline.formats.piglet.files import copied_lines, forked_lines
from branchline.formats.piglet.messages import decode_message, plain
from branchline.formats.piglet.reader import PigletReader
from branchline.formats.piglet.reading import PigletReading
from branchline.formats.piglet.rows import readable_messages
from branchline.formats.piglet.writing import CANNOT, Scribe, meta_fields, meta_row
from branchline.formats.golang import time_of
from branchline.formats.transcript import Transcript
from branchline.tree import ROOT

__all__ = ["PIGLET", "PigletFormat"]

_ROW = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"[^"\\]*"\s*,\s*(?:"id"\s*:\s*"[^"\\]*"\s*,\s*)?'
    rb'(?:"parentId"\s*:\s*"[^"\\]*"\s*,\s*)?"ts"\s*:\s*"'
)
_NAME = re.compile(r"[/\\]piglet[/\\]sessions[/\\][0-9a-fA-F-]{36}\.jsonl$")
_EXTENSION = "extension"  # whoever wrote a custom message, where it does not say so


class PigletFormat(Format):
    """Sessions of piglet, as of May 2026, and the older ones without ids."""

    name = "piglet"
    writable = True
    cannot = CANNOT

    # -- reading --------------------------------------------------------------------------------------

    def sniff(self, head: bytes, path: str) -> bool:
        """A line that begins as piglet's; or, where no line tells anything, a place like piglet's."""
        for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            if _ROW.match(line):
                return True
            if line.strip() and _is_object(line):
                return False
        return b'{"type":"' not in head and _NAME.search(path) is not None

    def reader(self, path: str = "") -> PigletReader:
        return PigletReader(path)

    def decode(self, line: bytes, reading: Reading, position: int) -> Entry:
        """The record of an entry; its id and parent are those of the tree."""
        tree = reading.tree
        key, time = tree.keys[position], tree.times[position]
        parent = None if tree.parents[position] == ROOT else tree.keys[tree.parents[position]]
        if position in tree.placeholders:
            return Damaged(id=key, parent=parent, text=line.decode("utf-8", "replace"))
        fields = jsontext.loads(line)
        common = {"id": key, "parent": parent, "timestamp": time}
        data = fields.get("data")
        payload = data if isinstance(data, dict) else {}
        match tree.types[position]:
            case "message":
                message = _message(fields.get("type"), payload, data, time)
                if message is None:
                    return Unknown(type=str(fields.get("type")), fields=fields, **common)
                return MessageEntry(message=message, **common)
            case "compaction":
                return _compaction(fields, common, time)
            case "branch_summary":
                # Its text is for people: what the model of piglet never sees is not the summary of ours.
                rest = _rest(payload)
                known = {name: rest[name] for name in ("usage", "fromHook") if name in rest}
                found = entry_from_fields(
                    {"type": "branch_summary", "id": key, "summary": "", "details": payload, **known}
                )
                assert isinstance(found, BranchSummary)
                return BranchSummary(
                    summary="",
                    from_id=_text(payload.get("fromId")) or None,
                    details=payload,
                    usage=found.usage,
                    from_hook=found.from_hook,
                    **common,
                )
            case "leaf":
                return Leaf(target=parent, **common)
            case "label":
                return Label(target=_text(payload.get("targetId")), label=_text(payload.get("label")), **common)
            case "custom_message":
                return _custom_message(payload, common)
            case "thinking_level_change" | "usage" as kind:
                return entry_from_fields(
                    {**payload, "type": kind, "id": key, "parentId": parent, "timestamp": time}
                )
            case "custom":
                return Custom(custom_type=_text(fields.get("type")), data=data, **common)
            case kind:
                return Unknown(type=kind, fields=fields, **common)

    # -- writing --------------------------------------------------------------------------------------

    def encode(self, entries: Sequence[Entry], reading: Reading) -> bytes:
        assert isinstance(reading, PigletReading)
        return Scribe(reading, self.refuse).write(entries)

    def encode_header(self, header: Header) -> bytes:
        """The meta row of a new session, and the one that names its model if it has one."""
        written = time_of(header.timestamp)
        fields = meta_fields(header)
        rows = meta_row(fields, written)
        if model := (header.metadata or {}).get("model"):
            rows += meta_row(fields | {"model": model}, written)
        return rows

    def fork(self, transcript: Transcript, leaf: int, header: Header) -> bytes:
        return b"".join(forked_lines(transcript, leaf, header))

    def copy(self, transcript: Transcript, header: Header) -> bytes:
        return b"".join(copied_lines(transcript, header))

    # -- places ---------------------------------------------------------------------------------------

    def lock_file(self, path: str) -> str | None:
        """piglet takes an exclusive ``flock`` on this file around every append."""
        return path + ".lock"

    def roots(self, environment: Mapping[str, str], home: str) -> list[str]:
        config = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return [os.path.join(config, "piglet", "sessions")]

    def directory(self, cwd: str, environment: Mapping[str, str], home: str) -> str | None:
        """The one directory for all projects."""
        del cwd
        return self.roots(environment, home)[0]


PIGLET = PigletFormat()


def _message(kind: Any, payload: dict[str, Any], data: Any, time: str) -> Message | None:
    if kind == "custom_message":
        kind, payload = plain("assistant", _text(payload.get("content")), None)
        return decode_message(kind, payload, time)
    return decode_message(_text(kind), data, time)


def _compaction(fields: dict[str, Any], common: dict[str, Any], time: str) -> Entry:
    """What stands for everything before it: whole messages, the first of them a summary if we wrote it."""
    found = [
        message
        for one in readable_messages(fields.get("data"))
        if (message := decode_message(one["type"], one["data"], time)) is not None
    ]
    rest = _rest(fields)
    summary = ""
    if rest.get("summary") is True and found and isinstance(found[0], UserMessage):
        first = found.pop(0)
        assert isinstance(first, UserMessage)
        summary = "".join(block.text for block in first.content if isinstance(block, Text))
    known = {name: rest[name] for name in ("details", "usage", "fromHook", "systemMessage") if name in rest}
    lenient = entry_from_fields({"type": "compaction", "id": "", "summary": "", **known})
    assert isinstance(lenient, Compaction)
    tokens = fields.get("tokensBefore")
    return Compaction(
        summary=summary,
        tokens_before=tokens if isinstance(tokens, int | float) and not isinstance(tokens, bool) else None,
        details=lenient.details,
        usage=lenient.usage,
        from_hook=lenient.from_hook,
        system_message=lenient.system_message,
        retained_tail=tuple(found),
        **common,
    )


def _custom_message(payload: dict[str, Any], common: dict[str, Any]) -> CustomMessage:
    rest = _rest(payload)
    content = rest.get("content", _text(payload.get("content")))
    display = rest.get("display")
    more = {"display": display} if isinstance(display, bool) else {}
    return CustomMessage(
        custom_type=_text(rest.get("customType")) or _EXTENSION,
        content=content_from(content),
        details=rest.get("details"),
        **more,
        **common,
    )


def _rest(fields: dict[str, Any]) -> dict[str, Any]:
    rest = fields.get(FIELD)
    return rest if isinstance(rest, dict) else {}


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(jsontext.loads(line), dict)
    except ValueError:
        return False


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
