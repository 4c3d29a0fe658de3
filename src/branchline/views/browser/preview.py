"""The last turns of a session, for the pane beside the list."""

from __future__ import annotations

from collections.abc import Sequence

from branchline.views.cards import Card, cards, outcome
from branchline.views.humanize import count
from branchline.views.session_source import SessionSource
from branchline.views.spans import Line, Span, StyleRole, make_line
from branchline.views.wrap import text_lines

__all__ = ["last_cards", "preview_lines"]

_ENTRIES = 12
_LONGEST = 1500
_FEWEST = 2
"""Lines of a conversation below which none of it is shown."""
_ROLES: dict[str, tuple[StyleRole, str]] = {
    "user": ("user", "you"),
    "assistant": ("assistant", "assistant"),
    "bash": ("bash", "$"),
    "tool": ("tool", "tool"),
    "compaction": ("summary", "compaction"),
    "branch": ("summary", "branch summary"),
    "custom": ("custom", "note"),
    "damage": ("error", "damaged"),
}


def last_cards(session: SessionSource, home: str = "") -> list[Card]:
    """The cards of the last entries on the path."""
    path = session.path()[-_ENTRIES:]
    return cards(session.entries(path), labels=session.transcript.reading.labels, home=home)


def preview_lines(facts: Sequence[Line], deck: Sequence[Card], columns: int, rows: int) -> list[Line]:
    """Facts, then as much of the end of the conversation as there are rows; results of tools left out."""
    room = rows - len(facts)
    if room < _FEWEST:
        return list(facts)
    said = _said(deck, columns)
    if len(said) > room:
        said = [make_line(Span("…", "dim")), *said[1 - room :]]
    return [*facts, *said]


def _said(deck: Sequence[Card], columns: int) -> list[Line]:
    lines: list[Line] = []
    for card in deck:
        known = _ROLES.get(card.kind)
        if known is None:
            continue
        role, name = known
        if card.kind == "damage":  # its bytes are for the tree, which has the reason as well
            lines += [
                (),
                make_line(Span(f"⚠ {card.title.lower()}, {count(len(card.body), 'character')}", role)),
            ]
            continue
        if card.kind in ("tool", "bash"):
            lines.append(
                make_line(
                    Span("  $ " if card.kind == "bash" else "  ⚙ ", "dim"),
                    Span(card.title, role),
                    *outcome(card),
                )
            )
            continue
        lines += [
            (),
            make_line(
                Span(name, "user" if role == "user" else "heading"),
                Span(f"  [{card.label}]" if card.label else "", "label"),
            ),
        ]
        body = card.body if len(card.body) <= _LONGEST else card.body[:_LONGEST] + "…"
        lines += text_lines(body.strip(), columns, "error" if card.error else "plain")
    return lines
