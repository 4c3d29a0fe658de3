"""What the line of another program cannot say about one of our messages, kept beside it in the same line.

An answer that we append to a foreign session may have a signature, a stop reason or the price of its parts,
for which that program has no field. It ignores fields that it does not know; so what is missing after our
line was read back goes into one such field, and a reader that knows it restores the message.
Nothing is added when nothing is missing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import Message, UnknownMessage, message_fields, message_from_fields

__all__ = ["FIELD", "extra_fields", "restore_extra_fields", "typed_message"]

FIELD = "branchline"
"""The name of the field that holds them."""

_DEPTH = 3  # message, its content, a block: deeper values are kept whole


def extra_fields(wanted: Message, found: Message, without: frozenset[str] = frozenset()) -> Any:
    """What is missing in ``found``, which was read from the line written for ``wanted``; {} when nothing is.

    ``without`` names the fields that are stored elsewhere in the file.
    """
    fields = message_fields(wanted)
    content = fields.get("content")
    if isinstance(content, str):
        fields = {**fields, "content": [{"type": "text", "text": content}]}
    wanted_fields = {name: value for name, value in fields.items() if name not in without}
    return _missing(_plain(wanted_fields), _plain(message_fields(found)), _DEPTH)


def restore_extra_fields(found: Message, rest: Any) -> Message:
    """The message with its extra fields. The role is that of the line."""
    if not rest or not isinstance(rest, dict):
        return found
    fields = _plain(message_fields(found))
    return message_from_fields({**_merged(fields, rest, _DEPTH), "role": fields["role"]})


def typed_message(message: Message) -> Message:
    """Return the message as one of our types if it was given as plain fields."""
    return message_from_fields(message.fields) if isinstance(message, UnknownMessage) else message


def _missing(wanted: Any, found: Any, depth: int) -> Any:
    """A tree of what differs: objects by key, lists of one length by number, other values whole."""
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
