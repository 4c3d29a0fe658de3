"""Short descriptions of sessions."""

from __future__ import annotations

from branchline import settings
from branchline.context import totals
from branchline.formats import EntryLog
from branchline.library.row_reader import deep_row
from branchline.stores import StoredLog
from branchline.views.figures import cost_of, is_usage_known
from branchline.views.session_row import Description

__all__ = ["describe"]


def describe(stored: StoredLog, transcript: EntryLog, *, draft: bool = False) -> Description:
    """Describe a session that was read, with its total cost and tokens."""
    row = deep_row(stored, transcript, draft=draft)
    inherited = transcript.reading.inherited_entries
    spent = totals(transcript, inherited_entries=inherited, prices=settings.price_list())
    answers = [place for place, role in enumerate(transcript.tree.roles) if role == "assistant"]
    own_answers = sum(place >= inherited for place in answers)
    known = is_usage_known(spent.all, len(answers))
    copied = bool(answers and not own_answers and not spent.own.models)
    cost = cost_of(spent.all.total, is_known=known)
    own = cost_of(spent.own.total, is_known=is_usage_known(spent.own, own_answers), is_copied=copied)
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
        cost=cost.amount,
        own_cost=own.amount,
        cost_state=cost.state,
        tokens=spent.all.total.total_tokens if known else None,
    )
