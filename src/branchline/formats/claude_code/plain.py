"""The records that nearly all of a transcript is made of: prompts, answers, and results one by one."""

from __future__ import annotations

import msgspec

from branchline.formats.claude_code.rows import ANSWER, HUMAN, RESULT, ContentBlock, Row, kind_of, text_of

__all__ = ["CUT_SHORT", "SimpleRow", "fingerprint", "plain_of", "thoughts_of"]

CUT_SHORT = frozenset({"max_tokens", "refusal", "model_context_window_exceeded"})
"""Reasons to stop that a person should see, even where an answer says nothing."""

_NO_WORDS = hash("")


class SimpleRow(msgspec.Struct, gc=False):
    """A prompt, an answer or a single result."""

    kind: int
    mark: int
    quiet: bool = False
    calls: str = ""


def plain_of(row: Row) -> SimpleRow | None:
    """What a record with a message is, if it is one of these."""
    said = row.message
    assert said is not None
    content = said.content
    if row.type == "assistant":
        if row.isApiErrorMessage or said.model == "<synthetic>" or not isinstance(content, tuple):
            return None
        text = calls = ""
        for block in content:
            if block.text:
                text = f"{text}\n{block.text}" if text else block.text
            elif block.id and block.type.endswith("tool_use"):
                calls = f"{calls}\n{block.id}" if calls else block.id
        quiet = (not text or text.isspace()) and said.stop_reason not in CUT_SHORT
        return SimpleRow(ANSWER, fingerprint(text or thoughts_of(content)), quiet, calls)
    if isinstance(content, tuple) and len(content) == 1 and content[0].type == "tool_result":
        return SimpleRow(RESULT, _NO_WORDS, calls=content[0].tool_use_id or "")
    text = text_of(content)
    return SimpleRow(HUMAN, fingerprint(text)) if kind_of(row, text) == HUMAN else None


def fingerprint(text: str) -> int:
    """A number for some words. Of long ones both ends and the length are enough to tell a replay."""
    if len(text) < 1024:
        return hash(text)
    return hash((len(text), text[:256], text[-256:]))


def thoughts_of(content: str | tuple[ContentBlock, ...] | None) -> str:
    """What an answer thinks."""
    if not isinstance(content, tuple):
        return ""
    return "".join([block.thinking for block in content if block.thinking])
