"""``inspect``: everything about the shape of a session. Its JSON is a contract."""

from __future__ import annotations

import os
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from branchline.cli.file_report import read_leniently
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, Piece, paint
from branchline.cli.resolver import resolve_path
from branchline.cli.words import count, format_size, money, time_words, tokens
from branchline.cli.write_access import described
from branchline.errors import NotASession

if TYPE_CHECKING:
    from branchline.context import UsageSum
    from branchline.formats.protocol import LogIndex
    from branchline.session import Session
    from branchline.tree import Finding

__all__ = ["inspect_command"]


@command(
    "inspect",
    examples="""
    branchline inspect @last
    branchline inspect path/to/session.jsonl --json | jq .leaf
    """,
)
@session_argument()
@directory_option
def inspect_command(out: Output, session: str, directory: str | None) -> None:
    """Say what a session is: ids, tree, path, labels, context, usage, findings."""
    from branchline.session import Session

    path = resolve_path(session, directory)
    try:
        live = Session.open(path)
    except NotASession:
        if out.json:
            out.result("inspect", _nothing(path))
        raise
    with live:
        if out.json:
            out.result("inspect", report(live))
        else:
            out.table(_facts(live))


def _path_in_file(session: Session, leaf: int) -> list[str]:
    """The path, with what the program itself takes for a part of it, and without what it does not."""
    from branchline.entries import SIDE_TYPES

    index, format_ = session.index, session.transcript.format
    hidden = (SIDE_TYPES | format_.metadata_types) - format_.path_types
    return [index.keys[place] for place in index.path_positions(leaf) if index.types[place] not in hidden]


def report(session: Session) -> dict[str, Any]:
    """The contract: what other programs and tests read.

    It counts as the file does: entries that share one line of it, as the results in one message of tools do
    in some formats, are one here, under the id that the line has.
    """
    from branchline.formats.integrity import check_log
    from branchline.session.message_input import role_of
    from branchline.tree import ROOT, walk_nodes

    reading, index = session.transcript.reading, session.index
    header = reading.header
    leaf = ROOT if session.leaf is None else index.position(session.leaf)
    context = session.context()
    usage = session.usage()
    helped = _spent_by_helpers(session)
    spent = usage.all.total
    placeholders = index.placeholders
    inner = _inner_entries(reading)
    nodes = list(walk_nodes(index, leaf, session.labels))
    above = {node.id: node.parent for node in nodes if node.id in inner}

    def outer(key: str | None) -> str | None:
        return None if key is None else inner.get(key, key)

    def parent(key: str, found: str | None) -> str | None:
        """The line above that of an entry."""
        while found is not None and inner.get(found) == key:
            found = above[found]
        return outer(found)

    def once(keys: list[str]) -> list[str]:
        """The lines of entries, each once; those of one line follow each other."""
        return [key for key, _ in groupby(inner.get(key, key) for key in keys)]

    path = _path_in_file(session, leaf)
    shared = set(inner.values())
    said = [(inner.get(item.entry, item.entry), role_of(item.message)) for item in context.messages]
    return {
        "format": reading.format,
        "version": None if header is None else header.version,
        "id": None if header is None else header.id,
        "cwd": None if header is None else header.cwd,
        "title": session.title,
        "parent_session": session.parent_session,
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
            "input": spent.input - helped.input,
            "output": spent.output - helped.output,
            "cache_read": spent.cache_read - helped.cache_read,
            "cache_write": spent.cache_write - helped.cache_write,
            "cost": float(spent.cost - helped.cost),
            "inherited_cost": float(usage.inherited.total.cost),
        },
        "findings": _finding_fields(check_log(session.transcript)),
    }


def _spent_by_helpers(session: Session) -> UsageSum:
    """What the helpers spent whose words stand in the same file."""
    from branchline.context import UsageSum, usage_rows

    helpers = sorted(session.transcript.reading.subagent_entries)
    return sum((row.usage for row in usage_rows(session.transcript, helpers)), UsageSum())


def _inner_entries(reading: LogIndex) -> dict[str, str]:
    """For each entry that shares its line with the entry whose id the line has, that id."""
    keys, found = reading.tree.keys, {}
    for _, positions in groupby(range(len(keys)), key=reading.span):
        sharing = [keys[position] for position in positions]
        if len(sharing) > 1:
            name = min(sharing, key=len)
            found.update(dict.fromkeys(sharing, name))
            del found[name]
    return found


def _nothing(path: str) -> dict[str, Any]:
    """The same keys for a file that is no session: nothing but findings."""
    return {
        "format": None,
        "version": None,
        "id": None,
        "cwd": None,
        "title": None,
        "parent_session": None,
        "entries": [],
        "leaf": None,
        "path": [],
        "roots": [],
        "tree": [],
        "labels": {},
        "context": {"model": None, "thinking_level": "off", "messages": []},
        "usage": {
            "input": 0,
            "output": 0,
            "cache_read": 0,
            "cache_write": 0,
            "cost": 0.0,
            "inherited_cost": 0.0,
        },
        "findings": _finding_fields(read_leniently(path)[1]),
    }


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


def _facts(session: Session) -> list[tuple[str, Piece]]:
    """The same for a person, in a dozen lines."""
    from branchline.formats.integrity import check_log
    from branchline.library.description import count_branches
    from branchline.tree import severity

    reading, index, header = session.transcript.reading, session.index, session.header
    context, usage, findings = session.context(), session.usage(), check_log(session.transcript)
    spent, inherited = usage.all.total, usage.inherited.total.cost
    version = "without a header" if reading.header is None else f"version {header.version}"
    rows: list[tuple[str, Piece]] = [
        ("session", paint("title", f"{session.id}  ({reading.format}, {version})"))
    ]
    if session.title:
        rows.append(("title", session.title))
    rows.append(("directory", session.cwd or "(none)"))
    if session.file is not None:
        rows.append(("file", f"{session.file}  ({format_size(os.path.getsize(session.file))})"))
    if header.timestamp:
        rows.append(("begun", time_words(header.timestamp)))
    if session.parent_session:
        rows.append(("forked from", session.parent_session))
    branches = count_branches(index)
    shape = count(len(index) - len(index.placeholders), "entry", "entries")
    rows += [
        ("tree", f"{shape}, {count(branches, 'branch', 'branches')}" if branches > 1 else shape),
        ("path", count(len(session.path()), "entry", "entries")),
        ("leaf", described(session, session.leaf)),
    ]
    if session.labels:
        rows.append(("labels", ", ".join(sorted(session.labels.values()))))
    model = "no model" if context.model is None else context.model.name
    messages = count(len(context.messages), "message")
    rows.append(("context", f"{messages} for {model}, thinking {context.thinking_level}"))
    if spent.total_tokens or spent.cost:
        own = f" ({money(inherited)} of it before the fork)" if inherited else ""
        rows.append(
            ("spent", f"{tokens(spent.input)} in, {tokens(spent.output)} out, {money(spent.cost)}{own}")
        )
    if session.read_only:
        rows.append(("read-only", paint("warning", session.read_only)))
    damaged = any(severity(finding.kind) == "damage" for finding in findings)
    what = f"{count(len(findings), 'finding')}; `branchline check` tells them" if findings else "none"
    rows.append(("findings", paint("error" if damaged else "plain", what)))
    return rows
