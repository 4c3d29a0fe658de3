"""The session list of the page: filtered, sorted, with search hits, in windows."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from branchline.library import SessionRow
from branchline.views.browser.arrangement import (
    COLUMNS,
    SHAPES,
    ListOptions,
    arrange,
    face_of,
    project_name,
)
from branchline.views.hits import Hit, Snippet
from branchline.views.session_details import SessionDetails
from branchline.views.session_row import row_name
from branchline.views.text import one_line
from branchline.views.tool_calls import short_path
from branchline.web.viewed import ViewedLibrary

__all__ = ["TableRequest", "session_fields", "session_table"]

_LIVE_SECONDS = 90
_DAY_MS = 86_400_000
_HITS = 2
"""How many hits of a session are shown in the list."""
_SNIPPET = 180
_PROJECTS = 60


class TableRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request of the page: ``offset`` and ``limit`` select a window of the sorted rows."""

    words: str = ""
    agent: str = ""
    project: str = ""
    days: int = 0
    shape: str = ""
    sort: str = "age"
    reverse: bool = False
    offset: int = 0
    limit: int = 100


def session_table(viewed: ViewedLibrary, asked: TableRequest) -> dict[str, Any]:
    """Return rows, their number, and the filter choices. Raises ValueError for an invalid query."""
    arranged: dict[str, Any] = {}

    def chosen(rows: Sequence[SessionRow]) -> list[SessionRow]:
        """Keep what there is to filter by, and return the rows of the window."""
        named = Counter(
            name for row in rows if asked.agent in ("", _agent(row)) and (name := project_name(row))
        )
        items = arrange(
            rows, _options(asked), agent=_agent, faces=lambda row: face_of(row, _agent(row))
        ).items
        arranged.update(
            total=len(items),
            offset=asked.offset,
            agents=Counter(_agent(row) for row in rows).most_common(),
            projects=sorted(name for name, _ in named.most_common(_PROJECTS)),
        )
        return [item.row for item in items[asked.offset : asked.offset + asked.limit]]

    hits: dict[str, list[Hit]] = {}
    counts: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()
    if asked.words.strip():
        window: list[SessionRow] = []

        def choose(rows: Sequence[SessionRow]) -> list[SessionRow]:
            window[:] = chosen(rows)
            return window

        found = viewed.library.search(asked.words, context=_SNIPPET, choose=choose)
        viewed.remember(window)
        for hit in found:
            hits.setdefault(row_name(hit.row), []).append(hit)
        counts = found.counts
        if not (found.unindexed and viewed.work()):  # else the page asks again, until everything was searched
            notes = found.remarks if found.total else (found.coverage, *found.remarks)
    else:
        window = chosen(viewed.rows())
    details = viewed.details(window)
    return {
        **arranged,
        "rows": [
            {
                **session_fields(viewed, row, details.get(name)),
                **(
                    {
                        "hits": [_hit_fields(hit) for hit in group[:_HITS]],
                        "more": counts[name] - len(group[:_HITS]),
                    }
                    if (group := hits.get(name))
                    else {}
                ),
            }
            for row in window
            if (name := row_name(row))
        ],
        "notes": list(map(viewed.sentence, notes)),
        "waiting": viewed.is_working,
        "indexed": viewed.indexed,
    }


def session_fields(
    viewed: ViewedLibrary, row: SessionRow, details: SessionDetails | None = None
) -> dict[str, Any]:
    home = os.path.expanduser("~")
    return {
        "id": viewed.id_of(row),
        "title": one_line(row.title or row.first_prompt or ""),
        "untitled": not (row.title or row.first_prompt),
        "agent": _agent(row),
        "project": project_name(row),
        "cwd": one_line(short_path(row.cwd, home)) if row.cwd else "",
        "git_branch": one_line(row.git_branch or ""),
        "model": one_line(row.model or ""),
        "messages": row.messages,
        "branches": row.branches or 0,
        "cost": "" if details is None else str(details.cost_figure),
        "cost_words": "" if details is None else details.cost_figure.words,
        "modified": row.active_ms,
        "live": time.time() * 1000 - row.active_ms < _LIVE_SECONDS * 1000,
        "findings": row.findings or 0,
        "problem": row.problem and viewed.sentence(row.problem),
        "subagent": row.subagent,
    }


def _hit_fields(hit: Hit) -> dict[str, Any]:
    return {
        "entry": hit.entry,
        "role": hit.role,
        "text": _marked(hit.snippet),
        "on_path": hit.on_path,
        "places": max(1, len(hit.places)),
    }


def _marked(snippet: Snippet) -> list[tuple[str, bool]]:
    """Split a snippet into (text, matches) parts; offsets would differ in JavaScript (UTF-16)."""
    parts: list[tuple[str, bool]] = []
    end = 0
    for start, stop in (*snippet.ranges, (len(snippet.text), len(snippet.text))):
        parts += ((snippet.text[end:start], False), (snippet.text[start:stop], True))
        end = stop
    return [part for part in parts if part[0]]


def _agent(row: SessionRow) -> str:
    return row.agent or row.format or ""


def _options(asked: TableRequest) -> ListOptions:
    """Convert the request to list options. A search keeps its order until a column is chosen."""
    found = bool(asked.words.strip())
    return ListOptions(
        sort=next((name for name in COLUMNS if name == asked.sort), "given" if found else "recent"),
        reverse=asked.reverse,
        agents=frozenset({asked.agent} if asked.agent else ()),
        project=asked.project,
        since_ms=round(time.time() * 1000) - asked.days * _DAY_MS if asked.days else 0,
        shape=next((shape for shape in SHAPES if shape == asked.shape), None),
        hide="nothing" if found else "empty",
    )
