"""Encodes entries as events of a session that Copilot CLI can resume, each a child of the previous one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from branchline.entries import (
    AssistantMessage,
    Block,
    Content,
    Header,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.formats.copilot.log_index import CopilotLogIndex
from branchline.formats.derived_ids import uuid4_from
from branchline.formats.linked_writer import LinkedWriter, Placed

__all__ = ["CANNOT", "CopilotWriter", "header_line"]

VERSION = "1.0.102"
"""The Copilot CLI version named in sessions."""

CANNOT = {
    "branch": "a session of Copilot CLI is linear; to continue from an earlier message, fork it",
    "reset": "a session of Copilot CLI is linear; start a new session instead",
    "elsewhere": "a session of Copilot CLI is linear",
    "label": "Copilot CLI has no labels",
    "title": "Copilot CLI keeps titles in another file",
    "untitle": "Copilot CLI keeps the last title",
    "compaction": "how Copilot CLI resumes a compacted session is not known",
    "branch_summary": "Copilot CLI does not summarize branches",
    "thinking_level_change": "Copilot CLI does not record how hard a model thinks",
    "model_change": "in Copilot CLI only answers name a model",
    "context_edit": "Copilot CLI has no context edits",
    "custom": "Copilot CLI cannot store it",
    "custom_message": "Copilot CLI supports only prompts, answers and results",
    "message": "Copilot CLI supports only user, assistant and tool messages",
    "usage": "Copilot CLI records tokens with answers only",
    "block": "Copilot CLI supports only text, images, thinking, tool calls and tool results",
    "half character": "model APIs reject a request with a lone surrogate",
    "empty": "Copilot CLI drops messages without content",
    "result": "the call that it answers does not precede it, or has a result already",
    "kept messages": "how Copilot CLI resumes a compacted session is not known",
}


def header_line(header: Header) -> bytes:
    """Return the first event of a new file."""
    model = (header.metadata or {}).get("model")
    data: dict[str, Any] = {
        "sessionId": header.id,
        "version": 1,
        "producer": "copilot-agent",
        "copilotVersion": VERSION,
        "startTime": header.timestamp,
        "context": {"cwd": header.cwd},
    }
    about = {"from": header.parent_session, "title": (header.metadata or {}).get("title")}
    if origin := {name: value for name, value in about.items() if isinstance(value, str) and value}:
        data["branchline"] = origin
    if isinstance(model, str) and model:
        data["selectedModel"] = model
    event = {
        "type": "session.start",
        "data": data,
        "id": uuid4_from(f"{header.id} start"),
        "timestamp": header.timestamp,
        "parentId": None,
    }
    return json_codec.dumps(event) + b"\n"


class CopilotWriter(LinkedWriter[CopilotLogIndex]):
    """Encodes events for Copilot CLI, each a child of the last line of the file."""

    needs_uuids = True

    def write_prompt(self, placed: Placed, message: UserMessage) -> None:
        text, images = self._prompt(message.content)
        data: dict[str, Any] = {"content": text, "transformedContent": text, "messageId": placed.id}
        if images:
            data["attachments"] = images
        self._event(placed, "user.message", data)

    def write_answer(self, placed: Placed, message: AssistantMessage) -> None:
        content = message.content
        blocks: Iterable[Block] = (Text(text=content),) if isinstance(content, str) else content
        texts, thoughts, requests = [], "", []
        for block in blocks:
            match block:
                case Text():
                    texts += [block.text] if block.text.strip() else []
                case Thinking():
                    thoughts += block.thinking
                case ToolCall():
                    request = {"toolCallId": block.id, "name": block.name, "arguments": block.arguments}
                    requests.append({**request, "type": "function"})
                case _:
                    raise self.refuse("block")
        text = "\n".join(texts)
        if not text and not requests and not thoughts:
            raise self.refuse("empty")
        if message.usage is not None:
            spent = {
                "model": message.model or "unknown",
                "inputTokens": message.usage.input + message.usage.cache_read,
                "outputTokens": message.usage.output,
                "cacheReadTokens": message.usage.cache_read,
                "cacheWriteTokens": message.usage.cache_write,
            }
            self._beside(placed, "session.usage_record", {"usage": spent}, "usage")
        data: dict[str, Any] = {
            "messageId": placed.id,
            "model": message.model or "unknown",
            "content": text,
            "toolRequests": requests,
        }
        if thoughts:
            data["reasoningText"] = thoughts
        self._event(placed, "assistant.message", data)

    def write_result(self, placed: Placed, message: ToolResult) -> None:
        if not isinstance(message.content, str) and not all(isinstance(one, Text) for one in message.content):
            raise self.refuse("block")
        text = blocks_text(message.content, "\n")
        call = {"toolCallId": message.tool_call_id}
        self._beside(placed, "tool.execution_start", {**call, "toolName": message.tool_name}, "start")
        data: dict[str, Any] = {**call, "success": message.is_error is not True, "result": {"content": text}}
        if message.is_error is True:
            data["error"] = {"message": text, "code": "failure"}
        self._event(placed, "tool.execution_complete", data)

    def write_position(self, placed: Placed) -> None:
        """Write nothing: the active path ends with the last event, where all calls have results now."""
        if placed.parent != self.last:
            raise self.refuse("branch")

    def _prompt(self, content: Content) -> tuple[str, list[dict[str, Any]]]:
        blocks: Iterable[Block] = (Text(text=content),) if isinstance(content, str) else content
        texts, images = [], []
        for block in blocks:
            match block:
                case Text():
                    texts += [block.text] if block.text.strip() else []
                case Image() if block.data and block.mime_type:
                    images.append({"type": "blob", "data": block.data, "mimeType": block.mime_type})
                case _:
                    raise self.refuse("block")
        text = "\n".join(texts)
        if not text and not images:
            raise self.refuse("empty")
        return text, images

    def _beside(self, placed: Placed, kind: str, data: dict[str, Any], name: str) -> None:
        """Write an auxiliary event before the main one, as its parent."""
        self._event(placed._replace(id=self.new_id(f"{placed.id}-{name}")), kind, data)

    def _event(self, placed: Placed, kind: str, data: dict[str, Any]) -> None:
        parent = self.last or placed.parent
        event = {"type": kind, "data": data, "id": placed.id, "timestamp": placed.time, "parentId": parent}
        self.line(event)
        self.last = placed.id
