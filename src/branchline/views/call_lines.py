"""Tool calls on one line: name, subject, outcome and duration; edits as diffs."""

from __future__ import annotations

from branchline.views.call_outcomes import CallOutcome, call_outcome
from branchline.views.cards import Card
from branchline.views.spans import Line, Span, StyleRole, cut_line, line_width, make_line
from branchline.views.tool_views import diff_runs
from branchline.views.wrap import text_lines

__all__ = ["call_row", "diff_lines", "outcome_of", "short_diff"]

_NAME = 7
_SHORT = 14
"""The longest diff, in lines, that is shown without opening the call."""


def call_row(card: Card, columns: int, *, arrow: str = "", words: Line = ()) -> Line:
    """Return the line of a call for a width; ``words`` follow its subject."""
    name, subject = _named(card)
    end = _ended(card)
    room = max(8, columns - line_width(end) - len(arrow) - 2)
    role: StyleRole = "error" if card.error else "tool"
    left = cut_line(
        make_line(Span(arrow, "dim"), Span(f"{name:<{_NAME}}", "title"), Span(f" {subject}", role), *words),
        room + len(arrow),
    )
    gap = columns - line_width(left) - line_width(end)
    return make_line(*left, " " * max(2, gap), *end)


def _named(card: Card) -> tuple[str, str]:
    if card.kind == "bash":
        return "$", card.title
    name, colon, subject = card.title.partition(": ")
    if colon and " " not in name:
        return name, subject
    name, _, subject = card.title.partition(" ")
    return name, subject


def _ended(card: Card) -> Line:
    """The outcome and the duration. Success has neither a symbol nor a colour."""
    words, duration = outcome_of(card)
    time = Span(f"  {duration:>6}" if duration else "", "dim")
    role: StyleRole = "warning" if card.open else "error" if card.error else "dim"
    return make_line(Span(", ".join(words), role), time)


def outcome_of(card: Card) -> CallOutcome:
    """Return the outcome of a call or of a command."""
    if card.open:
        return CallOutcome(("no result",), "")
    tool = "bash" if card.kind == "bash" else card.title if card.call is None else card.call.name
    return call_outcome(tool, card.sections(), card.body, card.meta, failed=card.error)


def short_diff(card: Card) -> str:
    """Return the diff of an edit if it is short enough to show without opening the call; otherwise empty."""
    if card.kind != "tool" or card.error:
        return ""
    text = "\n".join(section.text for section in card.sections() if section.kind == "diff")
    return text if text and text.count("\n") < _SHORT else ""


def diff_lines(text: str, columns: int) -> list[Line]:
    """Return a diff as lines; added and removed lines are filled to the full width."""
    lines: list[Line] = []
    for part, role in diff_runs(text):
        for line in text_lines(part, columns, role):
            fill = " " * (columns - line_width(line)) if role in ("added", "removed") else ""
            lines.append(make_line(*line, Span(fill, role)))
    return lines
