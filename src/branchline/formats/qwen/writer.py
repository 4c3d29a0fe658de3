"""Encodes entries as records of a session that Qwen Code can resume.

Qwen Code follows the parents of the last record, so one file holds a whole tree and its last record selects
the active branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from branchline.context import labelled_summary
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Content,
    Header,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.formats.derived_ids import uuid4_from
from branchline.formats.linked_writer import LinkedWriter, Placed
from branchline.formats.qwen.log_index import ORIGIN, QwenLogIndex

__all__ = ["CANNOT", "VERSION", "QwenWriter", "header_line"]

VERSION = "0.15.10"
"""The Qwen Code version named in records."""

CANNOT = {
    "reset": "Qwen Code has no empty branch; start a new session instead",
    "label": "Qwen Code has no labels",
    "untitle": "Qwen Code keeps the last title",
    "branch_summary": "Qwen Code does not summarize branches",
    "thinking_level_change": "Qwen Code does not record how hard a model thinks",
    "model_change": "in Qwen Code only answers name a model",
    "context_edit": "Qwen Code has no context edits",
    "custom": "Qwen Code cannot store it",
    "custom_message": "Qwen Code supports only prompts, answers and results",
    "message": "Qwen Code supports only user, assistant and tool messages",
    "usage": "Qwen Code records tokens with answers only",
    "block": "Qwen Code supports only text, images, thinking, tool calls and tool results",
    "half character": "model APIs reject a request with a lone surrogate",
    "empty": "Qwen Code drops messages without content",
    "result": "the call that it answers does not precede it, or has a result already",
    "kept messages": "in Qwen Code a compaction holds the messages that it keeps",
}


def header_line(header: Header) -> bytes:
    """Return the first record of a new file: bookkeeping, which Qwen Code skips."""
    payload = {} if header.parent_session is None else {"from": header.parent_session}
    record = {
        "uuid": uuid4_from(f"{header.id} {ORIGIN}"),
        "parentUuid": None,
        "sessionId": header.id,
        "timestamp": header.timestamp,
        "type": "system",
        "cwd": header.cwd,
        "version": VERSION,
        "subtype": ORIGIN,
        "systemPayload": payload,
    }
    return json_codec.dumps(record) + b"\n"


class QwenWriter(LinkedWriter[QwenLogIndex]):
    """Encodes records for Qwen Code."""

    def write_prompt(self, placed: Placed, message: UserMessage) -> None:
        self._record(placed, "user", message=self._encode_message(message))

    def write_answer(self, placed: Placed, message: AssistantMessage) -> None:
        fields: dict[str, Any] = {
            "model": message.model or "unknown",
            "message": self._encode_message(message),
        }
        if message.usage is not None:
            fields["usageMetadata"] = _usage(message.usage)
        self._record(placed, "assistant", **fields)

    def write_result(self, placed: Placed, message: ToolResult) -> None:
        status = "error" if message.is_error is True else "success"
        display = blocks_text(message.content, "\n")
        about = {"callId": message.tool_call_id, "status": status, "resultDisplay": display}
        self._record(placed, "tool_result", message=self._encode_message(message), toolCallResult=about)

    def write_compaction(self, placed: Placed, entry: Compaction) -> None:
        """Write the history that Qwen Code sends from here on: the summary, then the kept messages."""
        history = list(map(self._encode_message, self.paired(placed, entry.retained_tail or ())))
        has_summary = bool(entry.summary.strip())
        if has_summary:
            history.insert(0, {"role": "user", "parts": [{"text": labelled_summary(entry.summary)}]})
        info: dict[str, Any] = {
            "originalTokenCount": entry.tokens_before or 0,
            "newTokenCount": 0,
            "compressionStatus": 1,
        }
        payload = {
            "info": info,
            "compressedHistory": history,
            **({} if has_summary else {ORIGIN: "no summary"}),
        }
        self._record(placed, "system", subtype="chat_compression", systemPayload=payload)

    def write_title(self, placed: Placed, title: str) -> None:
        payload = {"customTitle": title, "titleSource": "manual"}
        self._record(placed, "system", subtype="custom_title", systemPayload=payload)

    def write_position(self, placed: Placed) -> None:
        # Not a rewind: Qwen Code would show it.
        self._record(placed, "system", subtype=ORIGIN, systemPayload={"leaf": placed.parent})

    def _record(self, placed: Placed, kind: str, **fields: Any) -> None:
        self.line(
            {
                "uuid": placed.id,
                "parentUuid": placed.parent or self._origin(),
                "sessionId": self.session,
                "timestamp": placed.time,
                "type": kind,
                "cwd": self.cwd,
                "version": VERSION,
                **fields,
            }
        )

    def _origin(self) -> str | None:
        """Return the id of the first record of the file, the parent of every root."""
        return self.index.tree.keys[0] if len(self.index.tree) else None

    def _encode_message(self, message: Message) -> dict[str, Any]:
        match message:
            case UserMessage():
                return {"role": "user", "parts": self._parts(message.content)}
            case AssistantMessage():
                return {"role": "model", "parts": self._parts(message.content)}
            case ToolResult():
                return {"role": "user", "parts": self._result_parts(message)}
            case _:
                raise self.refuse("message")

    def _result_parts(self, message: ToolResult) -> list[dict[str, Any]]:
        content = message.content
        blocks: Iterable[Block] = (Text(text=content),) if isinstance(content, str) else content
        images = [self._part(block) for block in blocks if isinstance(block, Image)]
        if not all(isinstance(block, Text | Image) for block in blocks):
            raise self.refuse("block")
        name = "error" if message.is_error is True else "output"
        body = {name: blocks_text(content, "\n")}
        response: dict[str, Any] = {"id": message.tool_call_id, "name": message.tool_name, "response": body}
        if images:  # inside: a part beside it would be a prompt between this result and the next one
            response["parts"] = images
        return [{"functionResponse": response}]

    def _parts(self, content: Content) -> list[dict[str, Any]]:
        blocks: Iterable[Block] = (Text(text=content),) if isinstance(content, str) else content
        parts = [self._part(block) for block in blocks if not _is_empty(block)]
        if not parts:
            raise self.refuse("empty")
        return parts

    def _part(self, block: Block) -> dict[str, Any]:
        match block:
            case Text():
                return {"text": block.text}
            case Thinking():
                return {"text": block.thinking, "thought": True}
            case Image() if block.data and block.mime_type:
                return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}
            case ToolCall():
                return {"functionCall": {"id": block.id, "name": block.name, "args": block.arguments}}
            case _:
                raise self.refuse("block")


def _is_empty(block: Block) -> bool:
    """Return whether a model is shown nothing of a block: an empty text, or encrypted thinking."""
    match block:
        case Text():
            return not block.text.strip()
        case Thinking():
            return not block.thinking
        case _:
            return False


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = usage.input + usage.cache_read + usage.cache_write
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": usage.output,
        "thoughtsTokenCount": usage.reasoning if isinstance(usage.reasoning, int | float) else 0,
        "totalTokenCount": usage.total_tokens or prompt + usage.output,
        "cachedContentTokenCount": usage.cache_read,
    }
