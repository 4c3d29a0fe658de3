"""Tool calls on one line: name, subject, outcome and duration; edits as diffs."""

from __future__ import annotations

import re

from branchline.views.cards import Card
from branchline.views.humanize import count
from branchline.views.spans import Line, Span, StyleRole, cut_line, line_width, make_line
from branchline.views.tool_views import diff_runs, tool_kind
from branchline.views.wrap import text_lines

__all__ = ["call_row", "diff_counts", "diff_lines", "short_diff"]

_NAME = 7
_SHORT = 14
"""The longest diff, in lines, that is shown without opening the call."""
_DURATION = re.compile(r"(?:\d+[hm] )?[\d.,]+[hms]")


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
    lasted = [fact for fact in card.meta if _DURATION.fullmatch(fact)]
    facts = [fact for fact in card.meta if fact not in lasted]
    time = Span(f"  {lasted[0]:>6}" if lasted else "", "dim")
    if card.open:
        return make_line(Span("no result", "warning"), time)
    if card.error:
        return make_line(Span(", ".join(facts) or "failed", "error"), time)
    added, removed = diff_counts(card)
    if added or removed:
        facts.append(" ".join(filter(None, (f"+{added}" if added else "", f"-{removed}" if removed else ""))))
    elif card.body.strip():
        facts.append(count(card.body.strip("\n").count("\n") + 1, "line"))
    return make_line(Span(", ".join(facts), "dim"), time)


def diff_counts(card: Card) -> tuple[int, int]:
    """Return how many lines an edit adds and removes; writing a file only adds lines."""
    added = removed = 0
    is_written = card.call is not None and tool_kind(card.call.name) == "write"
    for section in card.sections():
        if section.kind == "diff":
            lines = section.text.split("\n")
            added += sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
            removed += sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
        elif is_written and section.kind == "code" and not section.title:
            added += section.text.rstrip("\n").count("\n") + 1
    return added, removed


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
