"""Short descriptions of sessions."""

from __future__ import annotations

from branchline.context import totals
from branchline.formats import EntryLog
from branchline.library.row_reader import deep_row
from branchline.stores import StoredLog
from branchline.views.session_row import Description

__all__ = ["describe"]


def describe(stored: StoredLog, transcript: EntryLog, *, draft: bool = False) -> Description:
    """Describe a session that was read, with its total cost and tokens."""
    row = deep_row(stored, transcript, draft=draft)
    spent = totals(transcript, inherited_entries=transcript.reading.inherited_entries)
    return Description(
        row=row,
        started=row.created,
        provider=row.provider,
        model=row.model,
        messages=row.messages or 0,
        first_prompt=row.first_prompt,
        title=row.title,
        entries=len(transcript.tree),
        branches=row.branches or 0,
        cost=spent.all.total.cost,
        own_cost=spent.own.total.cost,
        tokens=spent.all.total.total_tokens,
    )
