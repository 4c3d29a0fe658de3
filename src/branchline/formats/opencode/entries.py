"""Messages of opencode, with their parts, as native entries.

An assistant message is one step of the model: its texts, thoughts and calls are one answer, and each finished
call is followed by its result. Messages with several steps, which older versions wrote, are several answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from branchline.entries import json_codec
from branchline.formats.common.derived_format import EntryLines, is_nothing, is_object, is_string
from branchline.formats.json_values import LAST_INSTANT, iso_time
from branchline.formats.opencode.rows import FileRow, MessageRow, PartRow, Tokens

__all__ = ["MessageEntries", "StoredMessage"]

_STOPS = {"stop": "stop", "tool-calls": "toolUse", "length": "length", "content-filter": "error"}
_CLEARED = "[Old tool result content cleared]"
_Raw = msgspec.Raw


class StoredMessage(NamedTuple):
    """A message and its parts, in their order."""

    id: str
    row: MessageRow
    parts: Sequence[tuple[str, PartRow]]

    @property
    def compaction(self) -> PartRow | None:
        """The part that asks for a compaction, if the message does."""
        return next((part for _, part in self.parts if part.type == "compaction"), None)


class MessageEntries:
    """Makes the entries of one message after another."""

    def __init__(self, lines: EntryLines) -> None:
        self._lines = lines
        self.first: dict[str, tuple[str | None, str]] = {}
        """For each message and part with an entry of its own: what that hangs from, and its id."""
        self._asked: PartRow | None = None

    def take(self, message: StoredMessage) -> list[bytes]:
        """The lines of a message."""
        role = message.row.role
        if role == "user":
            self._asked = message.compaction
            if self._asked is not None:
                self._note(message.id, None)
                return []
            return list(self._prompt(message))
        if role == "assistant" and message.row.is_summary and (summary := _summary(message)) is not None:
            return [self._compaction(message, summary)]
        if role == "assistant":
            return self._answers(message)
        self._note(message.id, message.id)
        fields = {
            "customType": role or "message",
            "content": [block for _, part in message.parts if (block := _block(part)) is not None],
            "display": True,
        }
        time = iso_time(message.row.time.created)
        return [self._lines.entry("custom_message", message.id, time, fields)]

    def _note(self, name: str, entry_id: str | None) -> None:
        self.first.setdefault(name, (self._lines.last, entry_id or self._lines.last or name))

    # -- prompts --------------------------------------------------------------------------------------

    def _prompt(self, message: StoredMessage) -> Iterator[bytes]:
        time = iso_time(message.row.time.created)
        said = [
            _prompt_block(part)
            for _, part in message.parts
            if part.type in ("text", "file", "agent", "subtask") and not (part.synthetic or part.ignored)
        ]
        added = [
            (part_id, {"type": "text", "text": part.text})
            for part_id, part in message.parts
            if part.type == "text" and part.synthetic and not part.ignored
        ]
        if said or not added:
            self._note(message.id, message.id)
            content = {"role": "user", "content": said, "timestamp": _ms(message.row.time.created)}
            yield self._lines.message(message.id, time, content)
        if added:
            # Text that opencode adds for the model, such as the content of a file that the prompt names.
            part_id = added[0][0]
            self._note(message.id, part_id)
            fields = {
                "customType": "synthetic",
                "content": [block for _, block in added],
                "display": False,
            }
            yield self._lines.entry("custom_message", part_id, time, fields)

    # -- answers --------------------------------------------------------------------------------------

    def _answers(self, message: StoredMessage) -> list[bytes]:
        self._asked = None
        steps = _steps(message.parts)
        found: list[bytes] = []
        for number, step in enumerate(steps):
            found += self._answer(message, step, is_first=not number, is_last=number == len(steps) - 1)
        return found

    def _answer(
        self, message: StoredMessage, step: Sequence[tuple[str, PartRow]], *, is_first: bool, is_last: bool
    ) -> list[bytes]:
        row, time = message.row, iso_time(message.row.time.created)
        entry_id = message.id if is_first else step[0][0]
        content, calls, finished = [], [], None
        for part_id, part in step:
            kind = part.type
            if kind == "step-finish":
                finished = finished or part
            elif kind != "step-start" and (block := _block(part)) is not None:
                content.append(block)
                if kind == "tool":
                    calls.append((part_id, part))
        fields: dict[str, Any] = {"role": "assistant", "content": content}
        if row.providerID:
            fields["provider"] = row.providerID
        if row.modelID:
            fields["model"] = row.modelID
        if finished is not None and not (is_first and is_last):
            fields["usage"] = _usage(finished.tokens, finished.cost)
        elif is_last:  # of one step, or of several whose tokens are only known together
            fields["usage"] = _usage(row.tokens, row.cost)
        reason = row.finish if is_last else finished and finished.reason
        if is_last and row.error is not None:
            is_abort = row.error.name == "MessageAbortedError" and bool(content)
            fields["stopReason"] = "aborted" if is_abort else "error"
            fields["errorMessage"] = row.error.data.message or row.error.name or "unknown error"
        elif reason is not None or calls:
            fields["stopReason"] = _STOPS.get(reason or "", "toolUse" if calls else "stop")
        fields["timestamp"] = _ms(row.time.created)
        self._note(message.id, entry_id)
        self._note(step[0][0] if step else message.id, entry_id)
        found = [self._lines.message(entry_id, time, fields)]
        for part_id, part in calls:
            found += self.result(part_id, part, time, row)
        return found

    def result(self, part_id: str, part: PartRow, time: str, row: MessageRow) -> list[bytes]:
        """The lines of the result of a call, if it has one."""
        state = part.state
        if state.status not in ("completed", "error"):
            return []  # it runs, or was interrupted
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
            "timestamp": _ms(row.time.created),
        }
        if details:
            fields["details"] = details
        self._note(part_id, part_id)
        found = [self._lines.message(part_id, time, fields)]
        if state.time.compacted:
            replacement = {"content": [{"type": "text", "text": _CLEARED}]}
            edit = {"targetId": part_id, "replacement": replacement}
            found.append(self._lines.entry("context_edit", f"{part_id}/cleared", time, edit))
        return found

    def _compaction(self, message: StoredMessage, summary: str) -> bytes:
        asked, self._asked = self._asked, None
        kept = None if asked is None or asked.tail_start_id is None else self.first.get(asked.tail_start_id)
        fields: dict[str, Any] = {
            "summary": summary,
            "firstKeptEntryId": message.id if kept is None else kept[1],
        }
        if (usage := _usage(message.row.tokens, message.row.cost)) is not None:
            fields["usage"] = usage
        self._note(message.id, message.id)
        return self._lines.entry("compaction", message.id, iso_time(message.row.time.created), fields)


def _steps(parts: Sequence[tuple[str, PartRow]]) -> Sequence[Sequence[tuple[str, PartRow]]]:
    """The parts of each step; a message without any part is one step."""
    if [part.type for _, part in parts].count("step-start") < 2:
        return [parts]
    steps: list[list[tuple[str, PartRow]]] = [[]]
    for part_id, part in parts:
        if part.type == "step-start" and any(one.type != "step-start" for _, one in steps[-1]):
            steps.append([])
        steps[-1].append((part_id, part))
    return steps


def _summary(message: StoredMessage) -> str | None:
    """The text of a summary; None if the compaction failed and has no effect."""
    if message.row.error is not None:
        return None
    texts = [_text(part.text) for _, part in message.parts if part.type == "text" and not part.ignored]
    return "\n\n".join(filter(None, texts)) or None


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


def _ms(created: float) -> int | None:
    return int(created) or None if 0 < created <= LAST_INSTANT else None
