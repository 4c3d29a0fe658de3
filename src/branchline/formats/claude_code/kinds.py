"""The kinds of transcript records, and names that branchline gives to types of its own."""

from __future__ import annotations

__all__ = [
    "ANSWER",
    "ASIDE",
    "BOOKKEEPING",
    "BOUNDARY",
    "CLEARED",
    "COMMAND",
    "ERROR",
    "HUMAN",
    "INTERRUPT",
    "META",
    "MICRO",
    "PROVENANCE",
    "QUEUED",
    "RESULT",
    "RESUMED",
    "SUMMARY",
    "WRAPPER",
]

# Kinds of records. Bookkeeping comes first: everything up to MICRO counts as such.
BOOKKEEPING, BOUNDARY, MICRO = 0, 1, 2
META, COMMAND, WRAPPER, INTERRUPT, SUMMARY, QUEUED = 3, 4, 5, 6, 7, 8
HUMAN, RESULT, ANSWER, ERROR, RESUMED = 9, 10, 11, 12, 13
ASIDE = 14
"""A metadata record that belongs to the session, not to the tree."""

CLEARED = "context_cleared"
"""The type of the entry before a root that continues an earlier conversation with an empty context."""
PROVENANCE = "branchline"
"""The type of the record that branchline writes before a conversation, and a mark in its own records.

In a record it is true or a uuid. A uuid means that the record repeats another one for Claude Code, which
finds a conversation by ``parentUuid`` alone; the tree hides it and links its children to the record named. In
``compactMetadata`` it names the first message that a compaction keeps, and whether there is a summary.
"""
