"""Which sessions a list shows, and in which order: filters, search, pins, threads.

Rows arrive while the user types, so the arrangement is computed anew from all rows each time; two thousand
rows take a few milliseconds.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from branchline.views.forest import Forest, build_forest, drawn_branches
from branchline.views.query import Match, Query, Search, SearchFields
from branchline.views.session_row import ListItem, SessionRow, latest_first, row_name
from branchline.views.text import one_line

__all__ = [
    "COLUMNS",
    "SHAPES",
    "SORTS",
    "Arrangement",
    "Column",
    "Hide",
    "ListOptions",
    "Shape",
    "Sort",
    "arrange",
    "by_project",
    "defer_patterns",
    "face_of",
    "has_shape",
    "project_name",
    "threads",
]

Sort = Literal["recent", "created", "threaded", "relevance"]
SORTS: tuple[Sort, ...] = get_args(Sort)
Column = Literal["title", "agent", "project", "branch", "messages"]
"""A column of a table that it is sorted by."""
COLUMNS: tuple[Column, ...] = get_args(Column)
Shape = Literal["branches", "fork", "titled", "damage"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
Hide = Literal["nothing", "empty", "one-shot"]


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The choices of the user; empty ``agents`` means all agents."""

    sort: Sort | Column | Literal["given"] = "recent"
    """``given`` keeps the order of the rows."""
    reverse: bool = False
    agents: frozenset[str] = frozenset()
    project: str = ""
    """Only sessions whose working directory has this name."""
    since_ms: int = 0
    """Only sessions with activity at or after this time."""
    shape: Shape | None = None
    hide: Hide = "nothing"
    """Sessions to hide without a search: those without messages, or also those with one prompt."""
    grouped: bool = False
    """Whether to group sessions by working directory."""
    query: Query = Query()


class Arrangement(NamedTuple):
    """The rows to show."""

    items: list[ListItem]
    left_out: int = 0
    """The number of sessions hidden by ``hide``."""


def defer_patterns(_texts: Sequence[str]) -> None:
    """Do not run patterns here: they may take arbitrarily long."""


def face_of(row: SessionRow, agent: str) -> SearchFields:
    """Return the searchable fields of a row."""
    name = row.title or row.first_prompt or ""
    around = "\n".join((row.first_prompt or "", row.id, row.cwd or "", row.key))
    return SearchFields(
        name=" ".join(name.lower().split()),
        around=" ".join(around.lower().split()),
        cwd=(row.cwd or "").lower(),
        agent=agent.lower(),
        model=f"{row.provider or ''}/{row.model or ''}".lower(),
        active_ms=row.active_ms,
        tags=frozenset(row.tags),
        archived=row.archived,
    )


def arrange(
    rows: Iterable[SessionRow],
    choice: ListOptions,
    *,
    agent: Callable[[SessionRow], str],
    faces: Callable[[SessionRow], SearchFields],
    pinned: Callable[[SessionRow], bool] = lambda _row: False,
    decided: Mapping[str, Match] | None = None,
    search: Search | None = None,
) -> Arrangement:
    """Return the items of a list; ``decided`` has the matches by content, by :func:`row_name`.

    ``search`` runs the pattern of the query, if it has one.
    """
    known: Mapping[str, Match] = {} if decided is None else decided
    query, fuzzy = choice.query, choice.sort == "relevance"
    chosen: list[tuple[float, SessionRow, str]] = []
    left_out = 0
    for row in rows:
        program = agent(row)
        if choice.agents and program not in choice.agents:
            continue
        if choice.project and project_name(row) != choice.project:
            continue
        if not has_shape(row, choice.shape) or (choice.since_ms and row.active_ms < choice.since_ms):
            continue
        if not query:
            if _is_slight(row, choice.hide):
                left_out += 1
            else:
                chosen.append((0.0, row, program))
            continue
        verdict = query.match(faces(row), fuzzy=fuzzy, search=search)
        if verdict.open:
            verdict = known.get(row_name(row), verdict)
        if verdict.found:
            chosen.append((verdict.score, row, program))
    items = _ordered(chosen, choice, agent, pinned)
    return Arrangement(by_project(items) if choice.grouped else items, left_out)


def has_shape(row: SessionRow, shape: Shape | None) -> bool:
    """Return whether a session has branches, is a fork … None stands for any shape."""
    match shape:
        case "branches":
            return (row.branches or 0) > 1
        case "fork":
            return row.parent_session is not None
        case "titled":
            return bool(row.title)
        case "damage":
            return bool(row.findings) or row.problem is not None
        case None:
            return True


def _is_slight(row: SessionRow, hide: Hide) -> bool:
    """Whether ``hide`` applies: the session has no messages, or one prompt and its answer."""
    if hide == "nothing" or row.problem is not None or row.messages is None or row.title or row.draft:
        return False
    if row.messages == 0:
        return True
    return hide == "one-shot" and row.prompts == 1 and (row.branches or 1) == 1


def by_project(items: Sequence[ListItem]) -> list[ListItem]:
    """Group items by working directory, in the order of the first item of each."""
    groups: dict[str | None, list[ListItem]] = {}
    for item in items:
        groups.setdefault(item.row.cwd, []).append(item)
    return [item for group in groups.values() for item in group]


def _ordered(
    chosen: list[tuple[float, SessionRow, str]],
    choice: ListOptions,
    agent: Callable[[SessionRow], str],
    pinned: Callable[[SessionRow], bool],
) -> list[ListItem]:
    if choice.sort == "threaded" and not choice.query:
        return threads(build_forest(row for _score, row, _agent in chosen), agent=agent, pinned=pinned)
    match choice.sort:
        case "given":
            pass
        case "created":
            chosen.sort(key=lambda item: item[1].created or "", reverse=True)
        case "recent":
            chosen.sort(key=lambda item: latest_first(item[1]))
        case "threaded" | "relevance":
            chosen.sort(key=lambda item: (item[0], *latest_first(item[1])))
        case "messages":
            chosen.sort(key=lambda item: -(item[1].messages or 0))
        case column:
            chosen.sort(key=lambda item: _cell(column, item[1], item[2]))
    if choice.reverse:
        chosen.reverse()
    items = [ListItem(row, agent, pinned=pinned(row)) for _score, row, agent in chosen]
    items.sort(key=lambda item: not item.pinned)
    return items


def _cell(column: Literal["title", "agent", "project", "branch"], row: SessionRow, agent: str) -> str:
    match column:
        case "title":
            return (row.title or row.first_prompt or "").lower()
        case "agent":
            return agent
        case "project":
            return project_name(row)
        case "branch":
            return row.git_branch or ""


def project_name(row: SessionRow) -> str:
    """Return the name of the working directory of a session."""
    return one_line(posixpath.basename((row.cwd or "").rstrip("/"))) or (row.cwd or "")


def threads(
    forest: Forest,
    *,
    agent: Callable[[SessionRow], str],
    pinned: Callable[[SessionRow], bool] = lambda _row: False,
) -> list[ListItem]:
    """Return the items of a forest; threads with a pinned session come first."""
    grown: list[list[ListItem]] = []
    for item, branch in zip(forest, drawn_branches(forest), strict=True):
        if item.depth == 0:
            grown.append([])
        grown[-1].append(ListItem(item.row, agent(item.row), branch, pinned(item.row), item.note))
    grown.sort(key=lambda thread: not any(item.pinned for item in thread))
    return [item for thread in grown for item in thread]
