"""Conversion of rollout lines to entries."""

from __future__ import annotations

from typing import Any

from branchline.context import milliseconds
from branchline.entries import (
    AssistantMessage,
    Block,
    Compaction,
    Content,
    Custom,
    CustomContent,
    CustomMessage,
    Entry,
    Image,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    UnknownBlock,
    Usage,
    UsageEntry,
    UserMessage,
    blocks_text,
    json_codec,
)
from branchline.formats.codex.log_index import CodexLogIndex
from branchline.formats.codex.replay import TokenTotals
from branchline.formats.codex.rows import ITEMS, is_context, is_image_tag, prompt_text, row_from
from branchline.formats.json_values import list_of, optional_text
from branchline.formats.log_index import entry_fields

__all__ = ["SUMMARY_FIRST", "decode_line", "item_message"]

SUMMARY_FIRST = {"summary": "first"}
"""Details of a compaction whose summary precedes the messages that it keeps."""

_TEXTS = frozenset({"input_text", "output_text", "text", "Text", "summary_text", "reasoning_text"})


def decode_line(line: bytes, index: CodexLogIndex, position: int) -> Entry:
    """Return the entry at a position, from the bytes of its line."""
    tree = index.tree
    time = tree.times[position]
    common = entry_fields(tree, position)
    fields = json_codec.loads(line)
    payload = fields.get("payload")
    payload = (
        payload
        if isinstance(payload, dict)
        else (fields if optional_text(fields.get("type")) in ITEMS else {})
    )
    provider = index.provider_at(position)
    model = index.model_at(position)
    match tree.types[position]:
        case "message" if fields.get("type") == "event_msg":
            event = row_from(fields).payload
            text = "" if event is None else prompt_text(event)
            return MessageEntry(**common, message=_typed(payload, text, time))
        case "message":
            typed = tree.roles[position] == "user"
            message = item_message(
                payload, index.tool_names, milliseconds(time), provider, model, typed=typed
            )
            return MessageEntry(**common, message=message)
        case "custom_message":
            return _context(common, fields, payload)
        case "compaction":
            return _compaction(common, payload, index, position)
        case "model_change":
            return ModelChange(
                **common, provider=provider or "", model_id=optional_text(payload.get("model")) or ""
            )
        case "thinking_level_change":
            return ThinkingLevelChange(**common, thinking_level=optional_text(payload.get("effort")) or "")
        case "usage":
            return UsageEntry(
                **common,
                kind="turn",
                provider=provider,
                model=model,
                usage=_usage(index.spent[position]),
            )
        case "session_info":
            return SessionInfo(**common, name=optional_text(payload.get("title")) or "")
        case "leaf":
            return Leaf(**common, target=common["parent"])
        case _:
            return Custom(**common, custom_type=_name(fields, payload), data=payload or fields)


def _name(fields: dict[str, Any], payload: dict[str, Any]) -> str:
    kind, inner = fields.get("type"), payload.get("type")
    name = kind if isinstance(kind, str) else "foreign"
    return f"{name}/{inner}" if isinstance(inner, str) and inner != kind else name


def _typed(payload: dict[str, Any], text: str, time: str) -> UserMessage:
    """Return a prompt that only an event contains, with its images."""
    images = [_block({"type": "input_image", "image_url": url}) for url in list_of(payload.get("images"))]
    return UserMessage(content=(Text(text=text), *images) if images else text, timestamp=milliseconds(time))


def _context(common: dict[str, Any], fields: dict[str, Any], payload: dict[str, Any]) -> CustomMessage:
    kind = fields.get("type") if fields.get("type") == "inter_agent_communication" else payload.get("type")
    if kind in ("agent_message", "inter_agent_communication"):
        content = payload.get("content", payload.get("message"))
        if isinstance(content, dict):
            content = content.get("content", content.get("text"))
        about = {name: payload[name] for name in ("author", "recipient") if name in payload}
        return CustomMessage(
            **common, custom_type=kind, content=_content(content), display=True, details=about or None
        )
    role = optional_text(payload.get("role")) or "user"
    return CustomMessage(
        **common,
        custom_type="context" if role == "user" else role,
        content=_content(payload.get("content")),
        display=False,
    )


def _compaction(
    common: dict[str, Any], payload: dict[str, Any], reading: CodexLogIndex, position: int
) -> Compaction:
    """Return a compaction with its summary, which Codex stores as the last item of the remaining history.

    If that history has no such item, for example because the summary is encrypted, the summary is empty.
    """
    from branchline.context.model_input import unlabelled_summary  # noqa: PLC0415

    time = milliseconds(reading.tree.times[position])
    if (kept := reading.kept.get(position)) is not None:
        *prompts, summary = kept
        prompt_messages = tuple(UserMessage(content=text, timestamp=time) for text in prompts)
        return Compaction(**common, summary=summary, retained_tail=prompt_messages)
    tail = [
        item_message(
            item if isinstance(item, dict) else {"value": item}, reading.tool_names, time, None, None
        )
        for item in list_of(payload.get("replacement_history"))
    ]
    stored = optional_text(payload.get("message")) or ""
    summary = unlabelled_summary(stored)
    if tail and summary != stored and _says(tail[0], stored):  # as branchline writes it
        return Compaction(**common, summary=summary, retained_tail=tuple(tail[1:]), details=SUMMARY_FIRST)
    if tail and stored and _says(tail[-1], stored):
        return Compaction(**common, summary=stored, retained_tail=tuple(tail[:-1]))
    return Compaction(**common, summary="", retained_tail=tuple(tail))


def _says(message: Message, text: str) -> bool:
    return isinstance(message, UserMessage) and blocks_text(message.content, "\n") == text


def item_message(
    item: dict[str, Any],
    tool_names: dict[str, str],
    time: int | None,
    provider: str | None,
    model: str | None,
    *,
    typed: bool = False,
) -> Message:
    """Return an item of the model's history as a message; what was typed is no context, whatever it says."""
    kind = optional_text(item.get("type")) or ("message" if "role" in item else "")
    if kind == "message" and (role := optional_text(item.get("role")) or "user") != "assistant":
        content = _content(item.get("content"))
        if role == "user" and (typed or not is_context(blocks_text(content, "\n"))):
            return UserMessage(content=_without_image_tags(content), timestamp=time)
        name = "context" if role == "user" else role
        return CustomContent(custom_type=name, content=content, display=False, timestamp=time)
    if kind == "agent_message":
        return CustomContent(custom_type=kind, content=_content(item.get("content")), timestamp=time)
    if kind in ("function_call_output", "custom_tool_call_output"):
        call = optional_text(item.get("call_id")) or ""
        output, failed = item.get("output"), False
        if isinstance(output, dict):
            failed = output.get("success") is False
            output = output.get("content", json_codec.dumps(output).decode("utf-8", "replace"))
        content = _content(output)
        return ToolResult(
            tool_call_id=call,
            tool_name=tool_names.get(call, ""),
            content=(Text(text=content),) if isinstance(content, str) else content,
            is_error=failed,
            timestamp=time,
        )
    return AssistantMessage(
        content=_blocks(item, kind),
        api="openai-responses",
        provider=provider,
        model=model,
        response_id=optional_text(item.get("id")),
        stop_reason="toolUse" if kind.endswith("_call") else "stop",
        timestamp=time,
    )


def _blocks(item: dict[str, Any], kind: str) -> tuple[Block, ...]:
    """Return the blocks of a model item."""
    match kind:
        case "message":
            content = _content(item.get("content"))
            return (Text(text=content),) if isinstance(content, str) else content
        case "reasoning":
            parts = [*list_of(item.get("summary")), *list_of(item.get("content"))]
            texts = [
                one["text"] for one in parts if isinstance(one, dict) and isinstance(one.get("text"), str)
            ]
            sealed = optional_text(item.get("encrypted_content"))
            return (Thinking(thinking="\n".join(texts), thinking_signature=sealed),)
        case "compaction" if isinstance(item.get("encrypted_content"), str):
            return (Thinking(thinking="", thinking_signature=item["encrypted_content"], redacted=True),)
        case "function_call" | "custom_tool_call" | "local_shell_call" if isinstance(
            item.get("call_id"), str
        ):
            name = optional_text(item.get("name")) or kind.removesuffix("_call")
            return (
                ToolCall(
                    id=item["call_id"],
                    name=name,
                    arguments=_arguments(item),
                    namespace=optional_text(item.get("namespace")),
                ),
            )
        case _:
            return (UnknownBlock(type=kind, fields=item),)


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    given = next(
        (item[name] for name in ("arguments", "parameters", "input", "action") if name in item), None
    )
    if isinstance(given, dict):
        return given
    if isinstance(given, str) and "input" not in item:
        value = json_codec.loads_object(given.encode("utf-8", "surrogatepass"))
        if value is not None:
            return value
    return {} if given is None else {"input": given}


def _content(value: Any) -> Content:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return tuple(map(_block, value))
    return ""


def _without_image_tags(content: Content) -> Content:
    """Return a prompt without the text that Codex puts before and after each image."""
    if isinstance(content, str) or all(isinstance(block, Text) for block in content):
        return content
    return tuple(block for block in content if not (isinstance(block, Text) and is_image_tag(block.text)))


def _block(value: Any) -> Block:
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, dict):
        return UnknownBlock(type="", fields={"value": value})
    kind = value.get("type")
    if isinstance(kind, str) and kind in _TEXTS and isinstance(value.get("text"), str):
        return Text(text=value["text"])
    url = value.get("image_url")
    if kind == "input_image" and isinstance(url, str) and url.startswith("data:") and ";base64," in url:
        about, _, data = url.partition(";base64,")
        return Image(data=data, mime_type=about.removeprefix("data:"))
    return UnknownBlock(type=str(kind or ""), fields=value)


def _usage(spent: TokenTotals) -> Usage:
    """Return the tokens of one call; those read from and written to the cache are counted separately here."""
    return Usage(
        input=max(0, spent.input - spent.cached - spent.cache_write),
        output=spent.output,
        cache_read=spent.cached,
        cache_write=spent.cache_write,
        reasoning=spent.reasoning,
        total_tokens=spent.total,
    )
