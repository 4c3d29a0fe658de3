"""Message parts as the Gemini API defines them, which several agents store in their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from branchline.entries import Block, Image, Text, Thinking, ToolCall, Usage
from branchline.formats.common.messages import output_and_error, text_or_json, unknown_block
from branchline.formats.json_values import dict_of, optional_text, text_of, whole_number

__all__ = [
    "answer_blocks",
    "blocks_of",
    "prompt_blocks",
    "prompt_words",
    "response_blocks",
    "response_failed",
    "usage_of",
]

_FILES_BEGIN = re.compile(r"\s*--- Content from referenced files ---")
_FILES_END = re.compile(r"\s*--- End of content ---")
_FILES = re.compile(r"\n--- Content from referenced files ---.*\n--- End of content ---\s*\Z", re.DOTALL)


def blocks_of(content: Any) -> tuple[Block, ...]:
    """Return the blocks of content that is text, a part, or a list of parts."""
    return tuple(_block(part) for part in _parts(content))


def prompt_blocks(content: Any) -> tuple[Block, ...]:
    """Return the user's text, without the files that the agent appended to it.

    Images among those files are kept.
    """
    found: list[Block] = []
    in_files = False
    for block in blocks_of(content):
        words = block.text if isinstance(block, Text) else ""
        if not in_files and found and _FILES_BEGIN.match(words):
            in_files = True
        elif in_files and _FILES_END.match(words):
            in_files = False
        elif not isinstance(block, Text):
            found.append(block)
        elif not in_files:  # older releases of Gemini CLI appended the files to the text itself
            found.append(Text(text=_FILES.sub("", words), text_signature=block.text_signature))
    return tuple(found)


def prompt_words(texts: Iterable[str]) -> str:
    """Return the user's own text of a prompt, without appended files."""
    return "".join(block.text for block in prompt_blocks(list(texts)) if isinstance(block, Text)).strip()


def answer_blocks(content: Any) -> tuple[Block, ...]:
    """Return the blocks of an answer, without empty texts."""
    return tuple(block for block in blocks_of(content) if not (isinstance(block, Text) and not block.text))


def response_blocks(response: dict[str, Any]) -> tuple[Block, ...]:
    """Return the content of a ``functionResponse``: its output or error, and its images."""
    body = response.get("response")
    if isinstance(body, dict) and {"output", "error"} <= body.keys():
        body = output_and_error(body["output"], body["error"])
    elif isinstance(body, dict):
        body = next((body[name] for name in ("output", "error", "content") if name in body), body)
    images = [block for block in blocks_of(response.get("parts")) if isinstance(block, Image)]
    if body is None or body == {}:
        return tuple(images)
    return (Text(text=text_or_json(body)), *images)


def response_failed(response: dict[str, Any]) -> bool:
    """Return whether a ``functionResponse`` reports a failed call."""
    body = response.get("response")
    return isinstance(body, dict) and "error" in body and "output" not in body


def usage_of(*, prompt: Any, cached: Any, output: Any, thoughts: Any, total: Any) -> Usage:
    """Return the tokens of one answer; the prompt count includes cached tokens."""
    from_cache = whole_number(cached)
    return Usage(
        input=max(whole_number(prompt) - from_cache, 0),
        output=whole_number(output),
        cache_read=from_cache,
        reasoning=whole_number(thoughts),
        total_tokens=whole_number(total),
    )


def _parts(content: Any) -> Iterator[Any]:
    if isinstance(content, str):
        yield {"text": content}
    elif isinstance(content, list):
        yield from ({"text": item} if isinstance(item, str) else item for item in content)
    elif isinstance(content, dict):
        yield content


def _block(part: Any) -> Block:
    if not isinstance(part, dict):
        return unknown_block(part)
    signature = optional_text(part.get("thoughtSignature"))
    text = part.get("text")
    if isinstance(text, str):
        if part.get("thought") is True:
            return Thinking(thinking=text, thinking_signature=signature)
        return Text(text=text, text_signature=signature)
    call, data = part.get("functionCall"), part.get("inlineData")
    if isinstance(call, dict) and isinstance(name := call.get("name"), str):
        return ToolCall(
            id=text_of(call.get("id")),
            name=name,
            arguments=dict_of(call.get("args")),
            thought_signature=signature,
        )
    if isinstance(data, dict) and isinstance(content := data.get("data"), str):
        kind = data.get("mimeType")
        if not isinstance(kind, str) or kind.startswith("image/"):
            return Image(data=content, mime_type=kind if isinstance(kind, str) else "")
    return unknown_block(part, next((key for key in part if isinstance(key, str)), ""))
