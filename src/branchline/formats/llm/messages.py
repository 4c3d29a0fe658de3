"""The messages of a thread as native entries: paths in a tree shared by threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from branchline.context import milliseconds
from branchline.formats.common.derived_format import EntryLines, is_nothing, is_object, is_string, one_line
from branchline.formats.common.tables import text_of
from branchline.formats.llm.rows import PayloadRow, decode_payload
from branchline.formats.llm.values import attachment_block
from branchline.formats.protocol import Query

__all__ = ["ThreadMessages", "Turn"]

_CHAIN = """
WITH RECURSIVE chain (hash, parent_hash, role) AS (
    SELECT hash, parent_hash, role FROM messages WHERE hash IN (
        SELECT tip_message_hash FROM turns WHERE thread_id = ?1
        UNION SELECT tip_message_hash FROM threads WHERE id = ?1
    )
    UNION SELECT messages.hash, messages.parent_hash, messages.role
    FROM messages JOIN chain ON messages.hash = chain.parent_hash
)
"""
_MESSAGES = f"{_CHAIN} SELECT hash, parent_hash, role FROM chain"  # noqa: S608  a constant
_PARTS = (
    _CHAIN
    + """
SELECT parts.message_hash, parts.type, parts.text, parts.payload
FROM chain JOIN parts ON parts.message_hash = chain.hash ORDER BY parts.message_hash, parts.position
"""
)
_ATTACHMENT = "SELECT id, type, path, url, content FROM attachments WHERE id = ?"
_FRAGMENT = "SELECT content FROM fragments WHERE id = ?"


class Turn(NamedTuple):
    """One model call: the answer's message and its tokens."""

    id: str
    tip: str
    model: str
    usage: dict[str, Any] | None
    time: str


class _Part(NamedTuple):
    kind: str
    text: str | None
    payload: PayloadRow


class ThreadMessages:
    """Encodes the messages of a thread, parents first."""

    def __init__(self, query: Query, thread_id: str, lines: EntryLines, begun: str) -> None:
        self._query = query
        self._lines = lines
        self._begun = begun
        self._messages = {
            text_of(name): (text_of(parent) or None, text_of(role))
            for name, parent, role in query(_MESSAGES, thread_id)
        }
        self._parts: dict[str, list[_Part]] = {}
        for name, kind, text, payload in query(_PARTS, thread_id):
            decoded = decode_payload(one_line(payload)) if payload else None
            part = _Part(text_of(kind), None if text is None else text_of(text), decoded or PayloadRow())
            self._parts.setdefault(text_of(name), []).append(part)
        self.last_entry: dict[str, str] = {}
        """The last entry of each message."""

    def path_to(self, tip: str, turn: Turn | None) -> Iterator[bytes]:
        """Yield the lines of a message and its ancestors that were not written yet."""
        waiting: list[str] = []
        at: str | None = tip
        while at in self._messages and at not in self.last_entry and at not in waiting:
            waiting.append(at)
            at = self._messages[at][0]
        if not waiting and turn is not None and turn.usage is not None:
            yield self._usage(turn)  # the model repeated an earlier answer
        for name in reversed(waiting):
            parent, role = self._messages[name]
            self._lines.last = self.last_entry.get(parent or "")
            yield from self._entries(name, role, turn, is_tip=name == tip)
            self.last_entry[name] = self._lines.last or name

    def _usage(self, turn: Turn) -> bytes:
        fields = {"kind": "turn", "model": turn.model, "usage": turn.usage}
        parent = self.last_entry.get(turn.tip)
        return self._lines.entry(
            "usage", f"{turn.id}/usage", turn.time, fields, parent=parent, is_side_record=True
        )

    def _entries(self, name: str, role: str, turn: Turn | None, *, is_tip: bool) -> Iterator[bytes]:
        parts = self._parts.get(name, [])
        time = self._begun if turn is None else turn.time
        moment = milliseconds(time)
        results = [part for part in parts if part.kind == "tool_result"]
        for number, part in enumerate(results, 1):
            entry_id = name if number == len(results) else f"{name}.{number}"
            yield self._lines.message(entry_id, time, {**self._result(part), "timestamp": moment})
        if results and (role == "tool" or len(results) == len(parts)):
            return
        entry_id = f"{name}.said" if results else name
        content = [block for part in parts if (block := self._block(part)) is not None]
        if role == "assistant":
            fields: dict[str, Any] = {"role": role, "content": content, "timestamp": moment}
            if turn is not None and is_tip:
                fields["model"] = turn.model
                if turn.usage is not None:
                    fields["usage"] = turn.usage
            has_calls = any(part.kind == "tool_call" for part in parts)
            fields["stopReason"] = "toolUse" if has_calls else "stop"
            yield self._lines.message(entry_id, time, fields)
        elif role in ("user", "system"):
            yield self._lines.message(entry_id, time, {"role": role, "content": content, "timestamp": moment})
        else:
            fields = {"customType": role or "message", "content": content, "display": True}
            yield self._lines.entry("custom_message", entry_id, time, fields)

    def _block(self, part: _Part) -> dict[str, Any] | None:
        match part.kind:
            case "text":
                return {"type": "text", "text": self._text(part)}
            case "reasoning":
                block: dict[str, Any] = {"type": "thinking", "thinking": self._text(part)}
                return {**block, "redacted": True} if part.payload.redacted else block
            case "tool_call":
                given = part.payload.arguments
                arguments: Any = given if is_object(given) else {} if is_nothing(given) else {"input": given}
                called = part.payload.tool_call_id or f"call-{part.payload.name}"
                return {
                    "type": "toolCall",
                    "id": called,
                    "name": part.payload.name,
                    "arguments": arguments,
                }
            case "attachment":
                wanted = part.payload.attachment
                return None if wanted is None else self._attachment(wanted.id)
            case "tool_result":
                return None
            case _:
                return {"type": part.kind or "unknown", "text": part.text}

    def _text(self, part: _Part) -> str:
        """Return the text of a part, including its fragments."""
        if part.text is not None or not part.payload.text_ref:
            return part.text or ""
        return "".join(
            piece.literal if piece.literal is not None else self._fragment(piece.fragment)
            for piece in part.payload.text_ref
        )

    def _fragment(self, number: int | None) -> str:
        return next((text_of(content) for (content,) in self._query(_FRAGMENT, number)), "")

    def _attachment(self, name: str) -> dict[str, Any]:
        row = next(self._query(_ATTACHMENT, name), (name, None, None, None, None))
        return attachment_block(row)

    def _result(self, part: _Part) -> dict[str, Any]:
        payload = part.payload
        output: msgspec.Raw | str = payload.output if is_string(payload.output) else ""
        return {
            "role": "toolResult",
            "toolCallId": payload.tool_call_id or f"call-{payload.name}",
            "toolName": payload.name,
            "content": [
                {"type": "text", "text": output},
                *(self._attachment(one.id) for one in payload.attachments),
            ],
            "isError": payload.exception is not None,
        }
