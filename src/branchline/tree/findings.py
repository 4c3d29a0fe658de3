"""Findings: damage and irregularities in a file, with location and consequence."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Finding", "Kind", "Severity", "severity"]

Kind = Literal[
    "bom",
    "empty",
    "no-final-newline",
    "encoding",
    "unreadable",
    "glued",
    "not-an-entry",
    "no-header",
    "extra-header",
    "newer-version",
    "v1",
    "no-id",
    "duplicate-id",
    "no-parent-key",
    "orphan",
    "guessed-link",
    "self-parent",
    "cycle",
    "leaf-target",
    "label-target",
    "stale-head",
    "below-head",
    "unknown",
    "bad-value",
    "missing-part",
    "two-writers",
    "duplicate-key",
    "changed",
    "rows",
    "no-checksum",
]
Severity = Literal["note", "warning", "damage"]

_NOTES = frozenset(
    {"bom", "no-final-newline", "v1", "two-writers", "duplicate-key", "below-head", "no-checksum"}
)
_WARNINGS = frozenset(
    {
        "empty",
        "extra-header",
        "newer-version",
        "no-parent-key",
        "leaf-target",
        "label-target",
        "stale-head",
        "unknown",
        "bad-value",
        "missing-part",
        "encoding",
        "not-an-entry",
    }
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """``line`` counts from 1 (0: the whole file); ``offset`` is where it, or the piece of it, starts."""

    kind: Kind
    message: str
    line: int = 0
    offset: int = 0
    size: int = 0


def severity(kind: Kind) -> Severity:
    """The severity of a finding: note, warning or damage."""
    if kind in _NOTES:
        return "note"
    return "warning" if kind in _WARNINGS else "damage"
