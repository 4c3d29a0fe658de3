"""Extra fields: what another agent's line has no field for, stored beside a message in the same line.

An answer appended to another agent's session may have a signature, a stop reason or detailed costs for which
that agent has no field. Agents ignore unknown fields. So the new line is decoded again, whatever is missing
is stored in one extra field, and branchline's reader restores the message from it. If nothing is missing,
nothing is added.
"""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import Message, UnknownMessage, message_fields, message_from_fields

__all__ = ["FIELD", "extra_fields", "restore_extra_fields", "typed_message"]

FIELD = "branchline"
"""The name of the extra field."""

_DEPTH = 3  # message, its content, a block: deeper values are stored whole


def extra_fields(wanted: Message, found: Message, without: frozenset[str] = frozenset()) -> Any:
    """Return what is missing in ``found``, which was decoded from the line for ``wanted``; {} if nothing.

    ``without`` names fields that are stored elsewhere in the file.
    """
    fields = message_fields(wanted)
    content = fields.get("content")
    if isinstance(content, str):
        fields = {**fields, "content": [{"type": "text", "text": content}]}
    wanted_fields = {name: value for name, value in fields.items() if name not in without}
    return _missing(_plain(wanted_fields), _plain(message_fields(found)), _DEPTH)


def restore_extra_fields(found: Message, rest: Any) -> Message:
    """Return the message with its extra fields. The role is that of the line."""
    if not rest or not isinstance(rest, dict):
        return found
    fields = _plain(message_fields(found))
    return message_from_fields({**_merged(fields, rest, _DEPTH), "role": fields["role"]})


def typed_message(message: Message) -> Message:
    """Return the message as one of our types if it was given as plain fields."""
    return message_from_fields(message.fields) if isinstance(message, UnknownMessage) else message


def _missing(wanted: Any, found: Any, depth: int) -> Any:
    """Return the differences as a tree: objects by key, equally long lists by index, other values whole."""
    if not depth or not isinstance(wanted, dict) or not isinstance(found, dict):
        return wanted
    rest: dict[str, Any] = {}
    for name, value in wanted.items():
        if name in found and found[name] == value:
            continue
        here = found.get(name)
        if isinstance(value, list) and isinstance(here, list) and len(value) == len(here):
            rest[name] = _missing(_numbered(value), _numbered(here), depth - 1)
        else:
            rest[name] = _missing(value, here, depth - 1)
    return rest


def _merged(found: Any, rest: Any, depth: int) -> Any:
    if not depth or not isinstance(rest, dict):
        return rest
    if isinstance(found, list):
        numbers = [int(name) for name in rest if name.isdecimal() and int(name) < len(found)]
        changed = list(found)
        for number in numbers:
            changed[number] = _merged(found[number], rest[str(number)], depth - 1)
        return changed
    if not isinstance(found, dict):
        return rest
    return found | {name: _merged(found.get(name), value, depth - 1) for name, value in rest.items()}


def _numbered(values: list[Any]) -> dict[str, Any]:
    return {str(number): value for number, value in enumerate(values)}


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(fields)
    return plain
