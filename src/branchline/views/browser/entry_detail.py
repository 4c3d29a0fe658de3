"""The details of one entry, for the pane beside the tree and for reading it in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from branchline.entries import AssistantMessage, Compaction, Entry, MessageEntry, ToolResult
from branchline.views.browser.findings_by_entry import FindingsByEntry
from branchline.views.call_results import CallPairs
from branchline.views.cards import Card, cards
from branchline.views.figures import tokens
from branchline.views.humanize import format_size
from branchline.views.session_source import SessionSource
from branchline.views.spans import Line, Span, StyleRole, make_line
from branchline.views.tool_results import result_view
from branchline.views.tool_views import ToolSection, call_line, diff_runs
from branchline.views.wrap import text_lines, wrap_line

__all__ = ["DetailSection", "detail_lines", "detail_passages", "pages_of"]

SHORT = 8_000
"""Characters of a text that the pane shows."""
PAGE = 40_000
"""Characters per page: in the worst case, laying them out takes a quarter of a second."""
_ROLES: dict[str, StyleRole] = {
    "user": "user",
    "tool": "tool",
    "bash": "bash",
    "compaction": "summary",
    "branch": "summary",
    "damage": "error",
    "thinking": "thinking",
    "custom": "custom",
    "setting": "setting",
    "note": "setting",
}


class DetailSection(NamedTuple):
    """A section: a line of spans, or a text in one role."""

    line: Line = ()
    text: str = ""
    role: StyleRole = "plain"
    indent: str = ""

    def lines(self, columns: int) -> list[Line]:
        """Return the section wrapped to a width."""
        if self.text:
            return text_lines(self.text, columns, self.role, indent=self.indent)
        return wrap_line(self.line, columns, indent=len(self.indent))


def detail_lines(session: SessionSource, position: int, columns: int, *, home: str = "") -> list[Line]:
    """Return the lines of an entry: its facts, then all its parts, long ones truncated."""
    passages = detail_passages(session, position, home=home, most=SHORT)
    return [line for passage in passages for line in passage.lines(columns)]


def detail_passages(
    session: SessionSource, position: int, *, home: str = "", most: int | None = None
) -> list[DetailSection]:
    """Return the sections of an entry, not wrapped yet. ``most`` limits each text."""
    entry = session.transcript.entry(position)
    passages = [DetailSection(_facts(session, position, entry), indent="  ")]
    finding = FindingsByEntry(session).of(position)
    if finding is not None:
        words = f"damage: {finding.message} (line {finding.line})"
        passages.append(DetailSection(make_line(Span(words, "error"))))
    deck = cards([entry], labels=session.transcript.reading.labels, home=home, side_records=True)
    for card in deck:
        passages += [DetailSection(), *_card(_with_call(session, position, entry, card, home), most)]
    return passages


def pages_of(passages: Iterable[DetailSection], size: int = PAGE) -> list[list[DetailSection]]:
    """Return sections in pages of about ``size`` characters; long texts are split at line ends."""
    pages: list[list[DetailSection]] = [[]]
    room = size
    for passage in passages:
        start = 0
        while len(passage.text) - start > room:
            end = passage.text.rfind("\n", start, start + room)
            following = end + 1 if end > start else start + room
            part = passage.text[start : end if end > start else following]
            pages[-1].append(passage._replace(text=part))
            pages.append([])
            start, room = following, size
        rest = passage._replace(text=passage.text[start:])
        if rest.text or not passage.text:
            pages[-1].append(rest)
        room -= len(rest.text)
    return pages


def _facts(session: SessionSource, position: int, entry: Entry) -> Line:
    tree = session.index
    time = tree.times[position]
    pieces = [
        Span(tree.roles[position] or tree.types[position], "heading"),
        Span(f"  {entry.id}", "id"),
        Span(f"  {time[:16].replace('T', ' ')}", "time"),
    ]
    label = session.transcript.reading.labels.get(tree.keys[position])
    if label is not None:
        pieces.append(Span(f"  [{label.text}]", "label"))
    match entry:
        case MessageEntry(message=AssistantMessage() as message):
            if message.model:
                pieces.append(Span(f"  {message.provider or ''}/{message.model}", "model"))
            if message.usage is not None and message.usage.total_tokens:
                pieces.append(Span(f"  {tokens(message.usage.total_tokens)} tokens", "number"))
        case Compaction() if entry.tokens_before:
            pieces.append(Span(f"  {tokens(entry.tokens_before)} tokens before", "number"))
        case _:
            pass
    return make_line(*pieces)


def _with_call(session: SessionSource, position: int, entry: Entry, card: Card, home: str) -> Card:
    """Return the card of a result with its call, which is in another entry.

    The result of a call is in another entry too, so the card of a call is not marked as open.
    """
    if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResult):
        call = CallPairs(session.transcript).call_at(position)
        if call is not None:
            facts = result_view(entry.message).facts
            return msgspec.structs.replace(card, title=call_line(call, home), call=call, meta=facts)
    return msgspec.structs.replace(card, open=False)


def _card(card: Card, most: int | None) -> Iterator[DetailSection]:
    role = _ROLES.get(card.kind, "plain")
    if card.kind not in ("user", "assistant") or card.title not in ("User", "Assistant"):
        state = f"  {'✗ ' if card.error else ''}{' · '.join(card.status)}" if card.kind == "tool" else ""
        yield DetailSection(
            make_line(Span(card.title, "heading"), Span(state.rstrip(), "error" if card.error else "dim"))
        )
    if card.meta and card.kind not in ("assistant", "tool"):  # their first line has them
        yield DetailSection(make_line(Span(" · ".join(card.meta), "dim")))
    for section in card.sections():
        if section.title:
            yield DetailSection(make_line(Span(f"  {section.title}:", "dim")))
        yield from _section(section, most)
    if card.body.strip():
        body_role: StyleRole = "error" if card.error else "plain" if role == "user" else role
        yield DetailSection(text=_limited(card.body.strip("\n"), most), role=body_role)
    for picture in card.pictures:
        yield DetailSection(
            make_line(Span(f"[image: {picture.mime_type}, {format_size(picture.size)}]", "custom"))
        )


def _section(section: ToolSection, most: int | None) -> Iterator[DetailSection]:
    text = _limited(section.text, most)
    if section.kind != "diff":
        yield DetailSection(text=text, role="dim", indent="  ")
        return
    for lines, role in diff_runs(text):
        yield DetailSection(text=lines, role=role, indent="  ")


def _limited(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    return f"{text[:most]}\n… {len(text) - most:,} more characters; Enter, then “Read the whole entry”"
