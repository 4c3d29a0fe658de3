"""A session at a glance: what a person wants to know before opening it."""

from __future__ import annotations

from branchline.context import totals
from branchline.entries import SIDE_TYPES
from branchline.formats import EntryLog
from branchline.library.row_reader import deep_row
from branchline.stores import StoredLog
from branchline.tree import ROOT, Tree
from branchline.views.session_row import Description

__all__ = ["count_branches", "describe"]


def describe(stored: StoredLog, transcript: EntryLog, *, draft: bool = False) -> Description:
    """The description of a session that was read; everything that was spent is added up."""
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
        branches=count_branches(transcript.tree),
        cost=spent.all.total.cost,
        own_cost=spent.own.total.cost,
        tokens=spent.all.total.total_tokens,
    )


def count_branches(tree: Tree) -> int:
    """How many ends the conversation has, side records left out."""
    types, parents, placeholders = tree.types, tree.parents, tree.placeholders
    above: dict[int, int] = {}  # side record -> the conversation entry that it leads up to
    continued: set[int] = set()
    count = 0
    for position, kind in enumerate(types):
        if kind in SIDE_TYPES or position in placeholders:
            continue
        count += 1
        walked = []
        parent = parents[position]
        while (
            parent != ROOT and parent not in above and (types[parent] in SIDE_TYPES or parent in placeholders)
        ):
            walked.append(parent)
            parent = parents[parent]
        parent = above.get(parent, parent)
        above.update(dict.fromkeys(walked, parent))
        continued.add(parent)
    return count - len(continued - {ROOT})
