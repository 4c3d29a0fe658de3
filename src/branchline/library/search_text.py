"""What is said inside a session, as a search looks at it, and which files are not worth reading for it."""

from __future__ import annotations

import re

from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    CustomMessage,
    Entry,
    MessageEntry,
    ModelChange,
    ToolResult,
    blocks_text,
    message_text,
)
from branchline.formats import EntryLog
from branchline.views.query import Query, SearchText
from branchline.views.tool_calls import calls_of

__all__ = ["contents_of", "may_match"]

_TOGETHER = 512
_PLAIN = re.compile(rb"[a-z0-9_.,;:=+@#% -]+")
"""What every program writes into JSON as it is, so that bytes can be searched for it."""


def contents_of(transcript: EntryLog) -> SearchText:
    """Everything said in a session, on all branches. Payloads are read a few hundred at a time."""
    size = len(transcript.tree)
    texts: dict[str, list[str]] = {}
    tools: set[str] = set()
    models: set[str] = set()
    for start in range(0, size, _TOGETHER):
        for entry in transcript.entries(range(start, min(start + _TOGETHER, size))):
            said = _said(entry)
            if said is not None and said[1]:
                texts.setdefault(said[0].lower(), []).append(" ".join(said[1].lower().split()))
            _add_names(entry, tools, models)
    return SearchText(
        texts={role: "\n".join(parts) for role, parts in texts.items()},
        tools=frozenset(tools),
        labels=tuple(label.text.lower() for label in transcript.reading.labels.values()),
        models=frozenset(models),
    )


def may_match(query: Query, data: bytes) -> bool:
    """Whether a file of these bytes may hold what is looked for; a quick look before the long one."""
    lowered = data.lower()
    for term in query.terms:
        if term.kind == "pattern" or term.field not in (None, "tool", "label", "model"):
            continue
        for word in term.text.split():
            wanted = word.encode("utf-8", "surrogatepass")
            if _PLAIN.fullmatch(wanted) and wanted not in lowered:
                return False
    return True


def _said(entry: Entry) -> tuple[str, str] | None:
    match entry:
        case MessageEntry():
            message = entry.message
            role = message.role
            return str(role), message_text(message)
        case CustomMessage():
            return "custom", blocks_text(entry.content)
        case Compaction() | BranchSummary():
            return "summary", entry.summary
        case _:
            return None


def _add_names(entry: Entry, tools: set[str], models: set[str]) -> None:
    tools.update(call.name.lower() for call in calls_of(entry))
    match entry:
        case MessageEntry(message=AssistantMessage() as message) if message.model:
            models.add(f"{message.provider or ''}/{message.model}".lower())
        case MessageEntry(message=ToolResult() as message):
            tools.add(message.tool_name.lower())
        case ModelChange():
            models.add(f"{entry.provider}/{entry.model_id}".lower())
        case _:
            pass
