"""Messages of a thread as native entries.

A message is one entry. Tool results are entries of their own: the last has the id of the message, unless the
message also contains something else, which then follows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from branchline.formats.common.derived_format import is_nothing, is_object, is_string
from branchline.formats.llm.rows import RESULT, Line, PartRow, PayloadRow, TurnRow, decode_payload
from branchline.formats.llm.values import attachment_block, usage_of

__all__ = ["PlannedEntry", "fields_of_entry", "planned_entries"]

PlannedEntry = tuple[str, str, str | None, int]
"""An entry that a message becomes: what its id has behind that of the message, its type and its role, and the
number of the part with the result, or -1. A plain tuple, because each is looked at for each message.
"""
_ROLES = frozenset({"user", "assistant", "system"})


@lru_cache(maxsize=1024)  # most messages are of a few kinds
def planned_entries(role: str, shape: str) -> Sequence[PlannedEntry]:
    """Return the entries that a message of this shape becomes, in their order."""
    results = [number for number, letter in enumerate(shape) if letter == RESULT]
    found: list[PlannedEntry] = [
        (f".{number}" if number < len(results) else "", "message", "toolResult", part)
        for number, part in enumerate(results, 1)
    ]
    if found and (role == "tool" or len(found) == len(shape)):
        return found
    suffix = ".said" if found else ""
    known = role in _ROLES
    return [*found, (suffix, "message" if known else "custom_message", role if known else None, -1)]


def fields_of_entry(line: Line, planned: PlannedEntry, moment: int | None) -> dict[str, Any]:
    """Return the fields of a planned entry, except those that every entry has."""
    _, _, role, result = planned
    if role == "toolResult":
        part = line.parts[result] if result < len(line.parts) else PartRow()  # if a payload is not JSON
        return {"message": {**_result(part, line), "timestamp": moment}}
    content = [block for part in line.parts if (block := _block(part, line)) is not None]
    if role is None:
        return {"customType": line.role or "message", "content": content, "display": True}
    fields: dict[str, Any] = {"role": role, "content": content, "timestamp": moment}
    if role == "assistant":
        if line.turn is not None:
            fields |= _turn_fields(line.turn, line.details)
        has_calls = any(part.type == "tool_call" for part in line.parts)
        fields["stopReason"] = "toolUse" if has_calls else "stop"
    return {"message": fields}


def _turn_fields(turn: TurnRow, details: msgspec.Raw) -> dict[str, Any]:
    usage = usage_of(turn.given, turn.made, bytes(details))
    return {"model": turn.model} if usage is None else {"model": turn.model, "usage": usage}


def _block(part: PartRow, line: Line) -> Any:
    match part.type:
        case "text":
            return {"type": "text", "text": part.text or ""}
        case "reasoning":
            block: dict[str, Any] = {"type": "thinking", "thinking": part.text or ""}
            return {**block, "redacted": True} if _payload(part).redacted else block
        case "tool_call":
            payload = _payload(part)
            given = payload.arguments
            arguments: Any = given if is_object(given) else {} if is_nothing(given) else {"input": given}
            called = payload.tool_call_id or f"call-{payload.name}"
            return {"type": "toolCall", "id": called, "name": payload.name, "arguments": arguments}
        case "attachment":
            wanted = _payload(part).attachment
            return None if wanted is None else _attachment(wanted.id, line)
        case "tool_result":
            return None
        case _:
            return {"type": part.type or "unknown", "text": part.text}


def _result(part: PartRow, line: Line) -> dict[str, Any]:
    payload = _payload(part)
    output: msgspec.Raw | str = payload.output if is_string(payload.output) else ""
    return {
        "role": "toolResult",
        "toolCallId": payload.tool_call_id or f"call-{payload.name}",
        "toolName": payload.name,
        "content": [
            {"type": "text", "text": output},
            *(_attachment(one.id, line) for one in payload.attachments),
        ],
        "isError": payload.exception is not None,
    }


def _payload(part: PartRow) -> PayloadRow:
    found: PayloadRow | None = decode_payload(bytes(part.payload))
    return found or PayloadRow()


def _attachment(name: str, line: Line) -> Any:
    return line.attachments.get(name) or attachment_block((name, None, None, None, None))
