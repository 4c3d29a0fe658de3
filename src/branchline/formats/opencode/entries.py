"""Messages of opencode, with their parts, as native entries.

An assistant message is one step of the model: its texts, thoughts and calls are one answer, and each finished
call is followed by its result. Messages with several steps, which older versions wrote, are several answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_format import is_nothing, is_object, is_string
from branchline.formats.json_values import LAST_INSTANT
from branchline.formats.opencode.rows import (
    FileRow,
    MessageRow,
    MessageShape,
    PartRow,
    PartShape,
    StoredMessage,
    Tokens,
)

__all__ = ["PlannedEntry", "fields_of_entry", "is_silent", "moment_of", "planned_entries"]
__all__ += ["requested_compaction", "result_fields"]

_STOPS = {"stop": "stop", "tool-calls": "toolUse", "length": "length", "content-filter": "error"}
_ENDED_BADLY = frozenset(reason for reason, stop in _STOPS.items() if stop not in ("stop", "toolUse"))
_FINISHED = ("completed", "error")
_CLEARED = "[Old tool result content cleared]"
_Raw = msgspec.Raw
_Info = MessageRow | MessageShape
_Part = PartRow | PartShape
_PartT = TypeVar("_PartT", PartRow, PartShape)


# -- which entries a message becomes ----------------------------------------------------------------------


PlannedEntry = tuple[str, str, str | None, int, int]
"""One entry that a message becomes: its id, type and role, and its first part and the one behind its last.

An answer has the parts of one step of its message. A plain tuple, because there is one for each entry.
"""


def requested_compaction(info: _Info, parts: Sequence[_PartT]) -> _PartT | None:
    """The part of a prompt that asks for a compaction, if one does; such a prompt is no entry."""
    if info.role != "user":
        return None
    return next((part for part in parts if part.type == "compaction"), None)


def planned_entries(
    message_id: str, info: _Info, ids: Sequence[str], parts: Sequence[_Part]
) -> list[PlannedEntry]:
    """The entries that a message becomes, in their order.

    An answer is followed by the results of its calls. A message with several steps is several answers.
    """
    role, size = info.role, len(parts)
    if role == "user":
        return _planned_prompt(message_id, ids, parts)
    if role != "assistant":
        return [(message_id, "custom_message", None, 0, size)]
    if info.is_summary and _is_summarized(info, parts):
        return [(message_id, "compaction", None, 0, size)]
    found: list[PlannedEntry] = [(message_id, "message", "assistant", 0, size)]
    steps = number = 0
    for part in parts:
        kind = part.type
        if kind == "tool":
            state = part.state
            if state.status in _FINISHED:  # a call without a result runs, or was interrupted
                found.append((ids[number], "message", "toolResult", number, number + 1))
                if state.time.compacted:
                    found.append((f"{ids[number]}/cleared", "context_edit", None, number, number + 1))
        elif kind == "step-start":
            steps += 1
        number += 1  # noqa: SIM113  `enumerate` costs more
    return found if steps < 2 else _divided(found, ids, parts)


def _divided(
    planned: Sequence[PlannedEntry], ids: Sequence[str], parts: Sequence[_Part]
) -> list[PlannedEntry]:
    """The same with one answer for each step, before the results of its calls."""
    (message_id, *_), *others = planned
    types, size = [part.type for part in parts], len(parts)
    starts = [0]
    for number in range(1, size):
        if types[number] == "step-start" and set(types[starts[-1] : number]) != {"step-start"}:
            starts.append(number)
    found: list[PlannedEntry] = []
    for start, end in zip(starts, [*starts[1:], size], strict=True):
        found.append((ids[start] if start else message_id, "message", "assistant", start, end))
        found += [one for one in others if start <= one[3] < end]
    return found


def _planned_prompt(message_id: str, ids: Sequence[str], parts: Sequence[_Part]) -> list[PlannedEntry]:
    size, added = len(parts), ""
    for number, part in enumerate(parts):
        if part.type == "compaction":
            return []
        if part.synthetic and not added and _is_added(part):
            added = ids[number]
    prompt: PlannedEntry = (message_id, "message", "user", 0, size)
    if not added:
        return [prompt]
    found = [prompt] if any(map(_is_said, parts)) else []
    return [*found, (added, "custom_message", None, 0, size)]


def _is_said(part: _Part) -> bool:
    """Whether a part of a prompt is the user's own."""
    return part.type in ("text", "file", "agent", "subtask") and not (part.synthetic or part.ignored)


def _is_added(part: _Part) -> bool:
    """Whether a part is text that opencode adds for the model, such as the content of a file."""
    return part.type == "text" and part.synthetic and not part.ignored


def _is_summarized(info: _Info, parts: Sequence[_Part]) -> bool:
    """Whether a compaction did not fail; one that did has no effect."""
    return info.error is None and any(
        part.has_text for part in parts if part.type == "text" and not part.ignored
    )


def is_silent(info: MessageShape, parts: Sequence[PartShape], start: int, end: int) -> bool:
    """Whether an answer with these parts has no text and completed normally."""
    is_last = end == len(parts)
    reason = info.finish if is_last else None
    for part in parts if is_last and not start else parts[start:end]:
        kind = part.type
        if kind == "text":
            if (text := part.text) and not text.isspace():
                return False
        elif kind == "step-finish" and not is_last:
            reason = reason or part.reason
    if is_last and info.error is not None:
        return False
    return reason not in _ENDED_BADLY


def _stop_reason(reason: str | None, *, has_calls: bool) -> str:
    return _STOPS.get(reason or "", "toolUse" if has_calls else "stop")


# -- the entries themselves -------------------------------------------------------------------------------


def fields_of_entry(
    message: StoredMessage, planned: PlannedEntry, first_kept: str | None = None
) -> dict[str, Any]:
    """The fields of a planned entry beside those that every entry has; ``first_kept`` is of a compaction."""
    entry_id, kind, role, start, end = planned
    match kind, role:
        case "message", "user":
            said = [_prompt_block(part) for part in message.parts if _is_said(part)]
            return {"message": {"role": "user", "content": said, **_moment(message)}}
        case "message", "assistant":
            return {"message": {**_answer(message, start, end), **_moment(message)}}
        case "message", _:
            part = message.parts[start]
            time = moment_of(part.state.time.end) or moment_of(message.row.time.created)
            return {"message": {**result_fields(part), "timestamp": time}}
        case "compaction", _:
            fields: dict[str, Any] = {
                "summary": _summary(message),
                "firstKeptEntryId": first_kept or entry_id,
            }
            usage = _usage(message.row.tokens, message.row.cost)
            return fields if usage is None else {**fields, "usage": usage}
        case "context_edit", _:
            replacement = {"content": [{"type": "text", "text": _CLEARED}]}
            return {"targetId": message.ids[start], "replacement": replacement}
    if message.row.role == "user":
        added = [{"type": "text", "text": part.text} for part in message.parts if _is_added(part)]
        return {"customType": "synthetic", "content": added, "display": False}
    blocks = [block for part in message.parts if (block := _block(part)) is not None]
    return {"customType": message.row.role or "message", "content": blocks, "display": True}


def _moment(message: StoredMessage) -> dict[str, Any]:
    return {"timestamp": moment_of(message.row.time.created)}


def moment_of(created: float) -> int | None:
    """The time of a message in milliseconds; None if it is not a time."""
    return int(created) or None if 0 < created <= LAST_INSTANT else None


def _answer(message: StoredMessage, start: int, end: int) -> dict[str, Any]:
    row, is_last = message.row, end == len(message.parts)
    content, has_calls, finished = [], False, None
    for part in message.parts[start:end]:
        if part.type == "step-finish":
            finished = finished or part
        elif (block := _block(part)) is not None:
            content.append(block)
            has_calls = has_calls or part.type == "tool"
    fields: dict[str, Any] = {"role": "assistant", "content": content}
    if row.providerID:
        fields["provider"] = row.providerID
    if row.modelID:
        fields["model"] = row.modelID
    if finished is not None and not (start == 0 and is_last):
        fields["usage"] = _usage(finished.tokens, finished.cost)
    elif is_last:  # of one step, or of several whose tokens are only known together
        fields["usage"] = _usage(row.tokens, row.cost)
    reason = row.finish if is_last else None if finished is None else finished.reason
    if is_last and row.error is not None:
        is_abort = row.error.name == "MessageAbortedError" and bool(content)
        fields["stopReason"] = "aborted" if is_abort else "error"
        fields["errorMessage"] = row.error.data.message or row.error.name or "unknown error"
    elif reason is not None or has_calls:
        fields["stopReason"] = _stop_reason(reason, has_calls=has_calls)
    return fields


def result_fields(part: PartRow) -> dict[str, Any]:
    """The message with the result of a finished call, without its time."""
    state = part.state
    failed = state.status == "error"
    output = state.error if failed else state.output
    content = [{"type": "text", "text": _string(output)}]
    if state.attachments:
        content += [block for file in state.attachments if (block := _image(file)) is not None]
    details = {}
    if not is_nothing(state.title):
        details["title"] = state.title
    if not is_nothing(state.metadata):
        details["metadata"] = state.metadata
    fields: dict[str, Any] = {
        "role": "toolResult",
        "toolCallId": part.callID,
        "toolName": part.tool,
        "content": content,
        "isError": failed,
    }
    return {**fields, "details": details} if details else fields


def _summary(message: StoredMessage) -> str:
    texts = [_text(part.text) for part in message.parts if part.type == "text" and not part.ignored]
    return "\n\n".join(filter(None, texts))


def _block(part: PartRow) -> dict[str, Any] | None:
    """What a part says in an answer; None if it says nothing to the model."""
    match part.type:
        case "text" if not is_nothing(part.text):
            return {"type": "text", "text": _string(part.text)}
        case "reasoning" if not is_nothing(part.text):
            return {"type": "thinking", "thinking": _string(part.text)}
        case "tool":
            given = part.state.input
            arguments: Any = given if is_object(given) else {} if is_nothing(given) else {"input": given}
            return {"type": "toolCall", "id": part.callID, "name": part.tool, "arguments": arguments}
        case "file":
            return _image(FileRow(mime=part.mime, url=part.url))
        case _:
            return None


def _prompt_block(part: PartRow) -> dict[str, Any]:
    if part.type == "text":
        return {"type": "text", "text": _unquoted(part.text)}
    if part.type == "file" and (image := _image(FileRow(mime=part.mime, url=part.url))) is not None:
        return image
    return {"type": part.type, "mime": part.mime, "url": part.url, "text": part.text}


def _unquoted(text: _Raw) -> _Raw | str:
    """A prompt without the quotes that ``opencode run`` puts around one with spaces."""
    raw = bytes(text)
    if raw.startswith(b'"\\"') and raw.endswith(b'\\""') and len(raw) > len(b'"\\"\\""'):
        try:
            inner = msgspec.json.decode(msgspec.json.decode(raw, type=str), type=str)
        except (msgspec.MsgspecError, ValueError):
            return text
        return inner
    return _string(text)


def _string(text: _Raw) -> _Raw | str:
    """JSON that surely is a string."""
    return text if is_string(text) else ""


def _text(text: _Raw) -> str:
    try:
        value = json_codec.loads(bytes(text))
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _image(file: FileRow) -> dict[str, Any] | None:
    """An image whose data is in the URL itself."""
    url = bytes(file.url)
    about, comma, data = url.partition(b";base64,")
    if not comma or not about.startswith(b'"data:image/'):
        return None
    return {"type": "image", "data": _Raw(b'"' + data), "mimeType": about[6:].decode("ascii", "replace")}


def _usage(tokens: Tokens | None, cost: float) -> dict[str, Any] | None:
    if tokens is None:
        return None
    output = tokens.output + tokens.reasoning
    usage: dict[str, Any] = {
        "input": tokens.input,
        "output": output,
        "cacheRead": tokens.cache.read,
        "cacheWrite": tokens.cache.write,
        "totalTokens": tokens.input + output + tokens.cache.read + tokens.cache.write,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost},
    }
    if tokens.reasoning:
        usage["reasoning"] = tokens.reasoning
    return usage
