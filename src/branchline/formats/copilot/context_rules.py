"""What a model sees of a Copilot CLI session: after a compaction, the user's prompts precede its summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from branchline.context import ContextRules, milliseconds
from branchline.entries import (
    Compaction,
    CompactionSummaryMessage,
    Message,
    MessageEntry,
    UserMessage,
    blocks_text,
)
from branchline.tree import EntrySource

__all__ = ["RULES"]

_FIRST = 6_000  # characters of the first prompt of the session
_NEWEST = 24_000  # characters of the newest prompts together
_CUT = "...<truncated>..."
_COMPACT = re.compile(r"\s*/compact(?:\s|$)")


def _prompts_and_summary(source: EntrySource, compaction: Compaction) -> tuple[Message, ...]:
    """Return one message: the prompts that Copilot CLI repeats, and the summary."""
    prompts = list(_prompts_before(source, compaction))
    lines = [f"<user_message>{text}</user_message>" for text in _repeated(prompts)]
    if omitted := len(prompts) - len(lines):
        lines.insert(1, f"... {omitted} messages omitted ...")
    if lines:
        lines.insert(0, "The user's messages until then:")
    summary = "\n\n".join(filter(None, (*lines, compaction.summary)))
    time = milliseconds(compaction.timestamp)
    return (
        CompactionSummaryMessage(summary=summary, tokens_before=compaction.tokens_before, timestamp=time),
    )


def _prompts_before(source: EntrySource, compaction: Compaction) -> Iterator[str]:
    """Yield the prompts of the whole session that the compaction does not keep as messages."""
    tree = source.tree
    position = tree.positions.get(compaction.id)
    if position is None:
        return
    path = tree.path_positions(position)
    kept = tree.positions.get(compaction.first_kept or "", position)
    end = path.index(kept) if kept in path else len(path)
    roles = tree.roles
    for entry in source.iter_entries([place for place in path[:end] if roles[place] == "user"]):
        message = entry.message if isinstance(entry, MessageEntry) else None
        if not isinstance(message, UserMessage):
            continue
        text = blocks_text(message.content, "\n").strip()
        if text and not _COMPACT.match(text):
            yield text


def _repeated(prompts: Sequence[str]) -> list[str]:
    """Return the first prompt, and the newest ones that fit; a long one is cut."""
    if not prompts:
        return []
    newest: list[str] = []
    left = _NEWEST
    for prompt in reversed(prompts[1:]):
        if len(prompt) > left:
            if not newest:
                newest.append(_cut(prompt, _NEWEST))
            break
        newest.append(prompt)
        left -= len(prompt)
    return [_cut(prompts[0], _FIRST), *reversed(newest)]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + _CUT


RULES = ContextRules(excluded_types=frozenset({"custom_message"}), opening=_prompts_and_summary)
