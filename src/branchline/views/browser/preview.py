"""The preview of a conversation beside the list: its end, or the entry of a search hit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from branchline.views.browser.conversation import Conversation, branch_end
from branchline.views.call_lines import call_row, diff_lines, short_diff
from branchline.views.cards import Card
from branchline.views.file_mentions import with_mentions
from branchline.views.hits import find_ranges
from branchline.views.humanize import count
from branchline.views.session_source import SessionSource
from branchline.views.spans import Line, Span, StyleRole, line_text, line_width, make_line, marked_line
from branchline.views.wrap import text_lines

__all__ = ["cards_at", "last_cards", "preview_lines"]

_ENTRIES = 12
_PARTS = 6
_LONGEST = 1500
_FEWEST = 2
"""The least number of lines for which a conversation is shown."""
_MEASURE = 96
"""The width of text: longer lines are hard to read."""
_NAMES = {"compaction": "compacted", "branch": "branch summary", "custom": "note"}


def last_cards(session: SessionSource, home: str = "") -> list[Card]:
    """Return the cards of the last entries, from the call of the first result among them on."""
    conversation = Conversation(session, session.leaf, home=home)
    keys = session.index.keys
    shown = [conversation.part_of(keys[position]) for position in conversation.path[-_ENTRIES:]]
    return conversation.window(
        min((part for part in shown if part is not None), default=0), len(conversation)
    )


def cards_at(session: SessionSource, entry: str, home: str = "") -> list[Card]:
    """Return the cards of an entry and of the next ones on its branch."""
    if entry not in session.index:
        return last_cards(session, home)
    conversation = Conversation(session, branch_end(session, entry), home=home)
    first = conversation.part_of(entry) or 0
    return conversation.window(first, first + _PARTS)


def preview_lines(
    facts: Sequence[Line],
    deck: Sequence[Card],
    columns: int,
    rows: int,
    *,
    words: Sequence[str] = (),
    from_top: bool = False,
) -> list[Line]:
    """Return the facts and as much of the conversation as fits: its end or, ``from_top``, its beginning.

    ``words`` are highlighted, the first occurrence as the current hit.
    """
    room = rows - len(facts) - (1 if rows > _ENTRIES else 0)
    head = [make_line(" ", *fact) for fact in facts] + [()] * (1 if rows > _ENTRIES else 0)
    if room < _FEWEST:
        return head[:rows]
    width = min(columns - 2, _MEASURE)
    shown = deck if from_top else [_shortened(card) for card in deck if "hidden" not in card.meta]
    said = _said(shown, width, spare=from_top or rows > _ENTRIES)
    while said and not line_text(said[0]).strip():
        said.pop(0)
    if words:
        said = _marked(said, words, from_top=from_top)
    said = said[:room] if from_top else said[-room:]
    while said and not line_text(said[0]).strip():
        said.pop(0)
    return [*head, *said]


def _shortened(card: Card) -> Card:
    """Mention the files of a prompt instead of showing their text."""
    return msgspec.structs.replace(card, body=with_mentions(card.body)) if card.kind == "user" else card


def _said(deck: Sequence[Card], width: int, *, spare: bool) -> list[Line]:
    """The cards as lines of this width, after one free column."""
    lines: list[Line] = []
    blank: list[Line] = [()] if spare else []
    for card in deck:
        body = (card.body if len(card.body) <= _LONGEST else card.body[:_LONGEST] + "…").strip()
        match card.kind:
            case "tool" | "bash":
                lines.append(make_line(" ", *call_row(card, width)))
                if diff := short_diff(card):
                    lines += [make_line("   ", *line) for line in diff_lines(diff, width - 2)]
            case "user":
                lines += blank
                for line in text_lines(body, width):
                    fill = " " * (width - line_width(line) + 1)
                    lines.append(make_line(Span(" ", "prompt"), Span(line_text(line) + fill, "prompt")))
            case "assistant":
                role: StyleRole = "error" if card.error else "plain"
                lines += [make_line(" ", *line) for line in text_lines(body, width, role)]
            case "damage":
                # The tree shows its bytes and the reason.
                words = f" {card.title.lower()}, {count(len(card.body), 'character')}"
                lines += [*blank, make_line(Span(words, "error"))]
            case "compaction" | "branch" | "custom":
                lines += [*blank, make_line(Span(f" {_NAMES[card.kind]}", "heading"))]
                lines += [make_line(" ", *line) for line in text_lines(body, width, "summary")]
            case _:
                continue
    return lines


def _marked(lines: list[Line], words: Sequence[str], *, from_top: bool) -> list[Line]:
    first = from_top
    marked: list[Line] = []
    for line in lines:
        spans: list[Span] = []
        for text, role in line:
            ranges = find_ranges(text, words)
            spans += marked_line(text, ranges, role, "found" if first and ranges else "match")
            first = first and not ranges
        marked.append(tuple(spans))
    return marked
