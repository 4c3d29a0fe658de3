"""The structure of a session as plain values: the contract of ``inspect --json``."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

from branchline import settings
from branchline.context import UsageTotals, totals
from branchline.entries import SIDE_TYPES
from branchline.errors import BranchlineError
from branchline.formats.integrity import check_log
from branchline.formats.log_index import LogIndex
from branchline.session import Session
from branchline.stores import stored_at
from branchline.tree import ROOT, Finding, walk_nodes
from branchline.views.figures import cost_of

__all__ = ["estimated_usage", "report", "report_without_session"]


def _path_in_file(session: Session, leaf: int) -> list[str]:
    """The path as the agent itself understands it, with and without its kinds of metadata."""
    index, format_ = session.index, session.transcript.format
    hidden = (SIDE_TYPES | format_.traits.metadata_types) - format_.traits.path_types
    return [index.keys[place] for place in index.path_positions(leaf) if index.types[place] not in hidden]


def report(session: Session) -> dict[str, Any]:
    """Return the report that other programs and tests read.

    It counts lines of the file: entries that share a line, such as several tool results in one message, are
    one entry here, with the id of the line. The lines of a session in a database are our own, so its entries
    are counted.
    """
    reading, index = session.transcript.reading, session.index
    header = reading.header
    leaf = ROOT if session.leaf is None else index.position(session.leaf)
    context = session.context()
    usage, spent = session.usage(), estimated_usage(session).all.total
    priced = session.transcript.records_cost
    placeholders = index.placeholders
    inner = {} if session.transcript.format.database is not None else _inner_entries(reading)
    nodes = list(walk_nodes(index, leaf, session.labels))
    above = {node.id: node.parent for node in nodes if node.id in inner}

    def outer(key: str | None) -> str | None:
        return None if key is None else inner.get(key, key)

    def parent(key: str, found: str | None) -> str | None:
        """The parent line of an entry."""
        while found is not None and inner.get(found) == key:
            found = above[found]
        return outer(found)

    def once(keys: list[str]) -> list[str]:
        """The lines of entries, each once; entries of one line are adjacent."""
        return [key for key, _ in groupby(inner.get(key, key) for key in keys)]

    path = _path_in_file(session, leaf)
    shared = set(inner.values())
    said = [(inner.get(item.entry, item.entry), item.message.role) for item in context.messages]
    return {
        "format": reading.format,
        "version": None if header is None else header.version,
        "id": None if header is None else header.id,
        **_file_fields(session.file),
        "created": session.header.timestamp or None,
        "cwd": None
        if header is None or not (header.cwd or session.transcript.format.traits.records_cwd)
        else header.cwd,
        "title": session.title,
        "parent_session": session.header.parent_session or session.parent_session,
        "entries": once([key for position, key in enumerate(index.keys) if position not in placeholders]),
        "leaf": outer(path[-1] if path else None),
        "path": once(path),
        "roots": once(index.roots()),
        "tree": [
            {
                "id": node.id,
                "parent": parent(node.id, node.parent),
                "depth": node.level,
                "type": node.type,
                "role": node.role,
                "label": node.label,
                "active": node.active,
            }
            for node in nodes
            if node.id not in inner
        ],
        "labels": session.labels,
        "context": {
            "model": None
            if context.model is None
            else {"provider": context.model.provider, "id": context.model.id},
            "thinking_level": context.thinking_level,
            "messages": [
                {"entry": entry, "role": role}
                for before, (entry, role) in pairwise([("", ""), *said])
                if entry not in shared or before != (entry, role)
            ],
        },
        "usage": {
            "input": spent.input,
            "output": spent.output,
            "cache_read": spent.cache_read,
            "cache_write": spent.cache_write,
            "cost": cost_of(usage.all.total).amount if priced else None,
            "estimated_cost": float(spent.cost) if spent.estimated else None,
            "inherited_cost": cost_of(usage.inherited.total).amount if priced else None,
        },
        "findings": _finding_fields(check_log(session.transcript)),
    }


def report_without_session(path: str, problem: Exception) -> dict[str, Any]:
    """Return the keys of a report for a file that cannot be opened as a session: only findings are known."""
    from branchline.actions.check import check_file  # noqa: PLC0415  few files are no sessions

    with Session.in_memory() as nothing:
        fields = report(nothing)
    unknown = dict.fromkeys(name for name, value in fields.items() if not isinstance(value, list | dict))
    findings = _finding_fields(list(check_file(path).findings))
    reason = {"line": 0, "offset": 0, "kind": "not-a-session", "message": str(problem)}
    return {
        **fields,
        **unknown,
        **_file_fields(path),
        "usage": dict.fromkeys(fields["usage"]),
        "findings": findings or [reason],
    }


def _file_fields(path: str | None) -> dict[str, Any]:
    """The file of a session and its size in bytes; None if they are unknown."""
    try:
        stored = None if path is None else stored_at(path)
    except BranchlineError:  # part of a file that is no database
        stored = None
    return {"file": path, "size": None if stored is None else stored.size}


def estimated_usage(session: Session) -> UsageTotals:
    """Return tokens and cost of a session, estimated from public prices where its agent records none."""
    return totals(
        session.transcript, inherited_entries=session.inherited_entries, prices=settings.price_list()
    )


def _inner_entries(reading: LogIndex) -> dict[str, str]:
    """Map entries that share a line with another entry to the id of the line."""
    keys, found = reading.tree.keys, {}
    for _, positions in groupby(range(len(keys)), key=reading.span):
        sharing = [keys[position] for position in positions]
        if len(sharing) > 1:
            name = min(sharing, key=len)
            found.update(dict.fromkeys(sharing, name))
            del found[name]
    return found


def _finding_fields(findings: list[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "line": finding.line,
            "offset": finding.offset,
            "kind": finding.kind,
            "message": finding.message,
        }
        for finding in findings
    ]
