"""A search hit on one line: session, entry, role, age, and the text with its matches highlighted."""

from __future__ import annotations

from branchline.views.hits import Hit, snippet_line
from branchline.views.humanize import age
from branchline.views.spans import Line, Span, StyleRole, make_line
from branchline.views.text import one_line, pad

__all__ = ["hit_line"]

_ROLES: dict[str, StyleRole] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "bash",
    "summary": "summary",
    "custom": "custom",
    "title": "title",
}
_NAMES = {"toolResult": "result", "bashExecution": "bash", "assistant": "answer"}
_ID, _ENTRY, _ROLE, _AGE = 13, 12, 8, 4


def hit_line(hit: Hit, *, now: float, whole_ids: bool = False) -> Line:
    """Return the line of a hit; ids are shortened unless ``whole_ids`` is set."""
    session, entry = one_line(hit.row.id), one_line(hit.entry)
    if not whole_ids:
        session, entry = session[:_ID], entry[:_ENTRY]
    name = hit.tool if hit.role == "toolResult" and hit.tool else _NAMES.get(hit.role, hit.role)
    marks = "" if hit.on_path else "(branch) "
    if len(hit.places) > 1:
        marks += f"({len(hit.places)} sessions) "
    return make_line(
        Span(pad(session, _ID) + "  ", "id"),
        Span(pad(entry, _ENTRY) + "  ", "id"),
        Span(pad(one_line(name)[:_ROLE], _ROLE) + "  ", _ROLES.get(hit.role, "plain")),
        Span(pad("" if hit.ms is None else age(hit.ms, now), _AGE) + "  ", "time"),
        Span(marks, "dim"),
        *snippet_line(hit.snippet),
    )
