"""Open sessions for writing, and report side effects of a write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from branchline.cli.output import remark
from branchline.cli.resolver import resolve_session

if TYPE_CHECKING:
    from branchline.session import Session
    from branchline.tree import Finding

__all__ = [
    "damage_on_path",
    "described",
    "open_for_writing",
    "position_fields",
]


_BESIDE_THE_PATH = frozenset({"glued", "no-header"})
"""Damage that does not affect the links between entries."""


@contextmanager
def open_for_writing(name: str, directory: str | None) -> Iterator[Session]:
    """Open a session by name, and report afterwards what else happened to its file."""
    with resolve_session(name, directory) as session:
        version = session.transcript.reading.version
        known = len(session.index)
        yield session
        for problem in _line_problems(session, known):
            remark(f"{session.file}: {problem}")
        for torn in session.torn_tails:
            remark(
                f"the last line of {session.file} was unfinished ({torn.size} bytes): it is closed now"
                + (f", a copy is in {torn.kept_at}" if torn.kept_at else "")
            )
        if version < session.transcript.reading.version and session.file is not None:
            kept = os.path.join(os.path.dirname(session.file), ".branchline", "backups")
            remark(
                f"{session.file} was upgraded from version {version} to version 3; the old file is in {kept}"
            )


def _line_problems(session: Session, known: int) -> set[str]:
    """Problems of the session's agent with the lines added after ``known`` entries."""
    limits, reading = session.transcript.format.limits, session.transcript.reading
    if limits is None:
        return set()
    sizes = (reading.span(position).size + 1 for position in range(known, len(session.index)))
    return {problem for size in sizes if (problem := limits.line_problem(size)) is not None}


def damage_on_path(session: Session) -> list[Finding]:
    """Return the damage on the path from the root to the leaf, which the model may be missing."""
    from branchline.tree import ROOT, severity

    if session.leaf is None:
        return []
    index, reading = session.index, session.transcript.reading
    damage = [
        finding
        for finding in session.findings
        if severity(finding.kind) == "damage" and finding.kind not in _BESIDE_THE_PATH
    ]
    if not damage:
        return []
    chain = index.path_positions(index.position(session.leaf))
    lines = {reading.line_of(position) for position in chain if position != ROOT}
    return [finding for finding in damage if finding.line in lines]


def described(session: Session, entry_id: str | None) -> str:
    from branchline.views.operation_lines import entry_words

    return entry_words(session.transcript, entry_id, entry_id or "")


def position_fields(session: Session) -> dict[str, Any]:
    """Return session, file and leaf, the first fields of the JSON of every change."""
    return {"session": session.id, "file": session.file, "leaf": session.leaf}
