"""Signposts: a plugin for branchline that helps a person find their way in a tree of conversations.

- The end of a branch that is left gets the label ``left``, so that the tree shows where to go back to.
- A branch of a few words is summed up by those words themselves; no model is asked.
- A session in which something is labelled ``private`` is not forked.
- How many tokens a compaction stood for is kept in the session, where the model does not see it.
"""

from __future__ import annotations

from branchline.entries import MessageEntry, message_text
from branchline.flows import (
    Cancel,
    HookContext,
    HookSummary,
    SessionBeforeForkEvent,
    SessionBeforeTreeEvent,
    SessionBeforeTreeResult,
    SessionCompactEvent,
    SessionTreeEvent,
)
from branchline.plugins import hookimpl

SHORT = 400
"""Branches with at most so many characters are quoted as they are."""


@hookimpl
def session_before_tree(
    event: SessionBeforeTreeEvent, context: HookContext
) -> SessionBeforeTreeResult | None:
    """Bring the summary of a short branch."""
    if not event.wants_summary:
        return None
    entries = [context.session.entry(entry) for entry in event.entries_to_summarize]
    said = [message_text(entry.message) for entry in entries if isinstance(entry, MessageEntry)]
    quoted = "\n".join(f"> {words}" for words in said if words)
    if not quoted or len(quoted) > SHORT:
        return None  # no opinion: the summarizer is asked
    return SessionBeforeTreeResult(
        summary=HookSummary(text=f"What was said on the branch that was left:\n\n{quoted}")
    )


@hookimpl
def session_tree(event: SessionTreeEvent, context: HookContext) -> None:
    """Put up a signpost at the end of the branch that was left."""
    left = event.old_leaf
    session = context.session
    if left is None or session.index.conversation_children(left) or session.label(left):
        return  # nothing was left, it goes on there, or somebody has named it already
    context.label(left, "left")


@hookimpl
def session_before_fork(event: SessionBeforeForkEvent, context: HookContext) -> Cancel | None:
    """Keep what is private in one place."""
    labels = [context.session.label(entry) for entry in context.session.path(event.entry)]
    return Cancel("something on this path is labelled private") if "private" in labels else None


@hookimpl
async def session_compact(event: SessionCompactEvent, context: HookContext) -> None:
    """Remember what a compaction stood for; a coroutine function, since any hook may be one."""
    entry = context.session.entry(event.entry)
    context.append_custom(
        "signposts.compaction", {"entry": event.entry, "tokens": getattr(entry, "tokens_before", None)}
    )
