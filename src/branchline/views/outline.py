"""The rows of an outline as lines: connectors, marks and labels, and the counter below them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from branchline.formats import LabelState
from branchline.tree import Filter, Outline, OutlineRow, Tree
from branchline.views.spans import Line, Span, StyleRole
from branchline.views.text import one_line
from branchline.views.times import label_time

__all__ = [
    "EMPTY",
    "counter",
    "entry_role",
    "filter_name",
    "indentation",
    "outline_line",
    "plain_marks",
    "window",
]

EMPTY = "  No entries found"
_LONGEST_LABEL = 200
"""The longest label, in characters; no screen is wider."""
_FILTER_NAMES: Mapping[Filter, str] = {
    "default": "",
    "no-tools": " [no-tools]",
    "user-only": " [user]",
    "labeled-only": " [labeled]",
    "all": " [all]",
}


def outline_line(
    row: OutlineRow,
    text: str,
    *,
    role: StyleRole = "plain",
    label: LabelState | None = None,
    now: datetime | None = None,
) -> Line:
    """Return a row without its indentation: marks, label, and the text in its role.

    With ``now``, the label shows when it was set. :func:`entry_role` returns the role of an entry.
    """
    spans = []
    if row.folded and not row.connector:
        spans.append(Span("⊞ ", "dim"))
    if row.active:
        spans.append(Span("• ", "active"))
    if label is not None:
        spans.append(Span(f"[{one_line(label.text[:_LONGEST_LABEL])}] ", "label"))
        if now is not None and (time := label_time(label.time, now)):
            spans.append(Span(f"{time} ", "time"))
    if words := one_line(text):
        spans.append(Span(words, role))
    return tuple(spans)


def plain_marks(outline: Outline, leaf: int) -> list[str]:
    """Return for each row the words for its marks and connectors, for screen readers.

    The first row of a branch says which one of how many it is; the leaf says that it is the leaf.
    """
    words = [["you are here"] if row.position == leaf else [] for row in outline]
    several_roots = sum(row.root for row in outline) > 1
    groups: list[tuple[int, list[int]]] = []  # the siblings that are open, by their level: deepest last

    def close(level: int) -> None:
        while groups and groups[-1][0] >= level:
            _level, rows = groups.pop()
            what = "root" if outline[rows[0]].root else "branch"
            for place, number in enumerate(rows, 1):
                path = ["on the path"] if outline[number].active else []
                words[number][:0] = [f"{what} {place} of {len(rows)}", *path]

    for number, row in enumerate(outline):
        if row.connector or (row.root and several_roots):
            close(row.level + 1)
            if not groups or groups[-1][0] != row.level:
                groups.append((row.level, []))
            groups[-1][1].append(number)
            if row.last and not row.root:
                close(row.level)
    close(0)
    return [f"{', '.join(said)}: " if said else "" for said in words]


_ROLES: Mapping[str | None, StyleRole] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "bash",
    "system": "system",
    "custom": "custom",
}
_TYPES: Mapping[str, StyleRole] = {
    "compaction": "summary",
    "branch_summary": "summary",
    "custom_message": "custom",
    "label": "label",
    "session_info": "title",
    "model_change": "setting",
    "thinking_level_change": "setting",
    "context_edit": "setting",
}


def entry_role(tree: Tree, position: int) -> StyleRole:
    """Return the style role of an entry without reading it; damage is an error."""
    if position in tree.placeholders:
        return "error"
    kind = tree.types[position]
    if kind == "message":
        return _ROLES.get(tree.roles[position], "dim")
    return _TYPES.get(kind, "dim")


def indentation(row: OutlineRow, gutters: Iterable[int]) -> str:
    """Return the indentation of a row: the lines of its ancestors, and its own connector."""
    steps = ["   "] * row.level
    for column in gutters:
        steps[column] = "│  "
    if row.connector:
        corner = "└" if row.last else "├"
        middle = "⊞" if row.folded else "⊟" if row.foldable else "─"
        steps[-1] = f"{corner}{middle} "
    return "".join(steps)


def counter(outline: Outline, cursor: int) -> str:
    """Return the line below the rows: cursor, number of rows, and filter."""
    return f"  ({cursor + 1}/{len(outline)}){filter_name(outline)}"


def filter_name(outline: Outline) -> str:
    """Return the filter in brackets; empty for the usual one."""
    return _FILTER_NAMES[outline.filter]


def window(total: int, cursor: int, height: int) -> range:
    """Return the rows that a list of this height shows, with the cursor in the middle if possible."""
    start = max(0, min(cursor - height // 2, total - height))
    return range(start, min(start + height, total))
