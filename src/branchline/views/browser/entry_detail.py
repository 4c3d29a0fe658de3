"""One entry with everything that is known about it, for the pane beside the tree and for reading whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from branchline.entries import AssistantMessage, Compaction, Entry, MessageEntry, ToolResult
from branchline.views.browser.findings_by_entry import FindingsByEntry
from branchline.views.cards import Card, cards
from branchline.views.humanize import format_size, tokens
from branchline.views.session_source import SessionSource
from branchline.views.spans import Line, Span, StyleRole, make_line
from branchline.views.tool_calls import ToolCallLookup, call_text
from branchline.views.wrap import text_lines, wrap_line

__all__ = ["DetailSection", "detail_lines", "detail_passages", "pages_of"]

SHORT = 8_000
"""Characters of a text that the pane shows; reading it whole shows all."""
PAGE = 40_000
"""Characters that are laid out at once: of the most hostile text as many as take a quarter of a second."""
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
    """A piece of what there is to read: a line of spans, or a text in one role."""

    line: Line = ()
    text: str = ""
    role: StyleRole = "plain"
    indent: str = ""

    def lines(self, columns: int) -> list[Line]:
        """The passage broken to a width."""
        if self.text:
            return text_lines(self.text, columns, self.role, indent=self.indent)
        return wrap_line(self.line, columns, indent=len(self.indent))


def detail_lines(session: SessionSource, position: int, columns: int, *, home: str = "") -> list[Line]:
    """The entry at a position: who and when, then every part of it, long ones cut."""
    passages = detail_passages(session, position, home=home, most=SHORT)
    return [line for passage in passages for line in passage.lines(columns)]


def detail_passages(
    session: SessionSource, position: int, *, home: str = "", most: int | None = None
) -> list[DetailSection]:
    """The same, not yet broken into lines. ``most`` limits each text."""
    entry = session.transcript.entry(position)
    passages = [DetailSection(_facts(session, position, entry), indent="  ")]
    finding = FindingsByEntry(session).of(position)
    if finding is not None:
        words = f"damage: {finding.message} (line {finding.line})"
        passages.append(DetailSection(make_line(Span(words, "error"))))
    if call := _call_of(session, position, entry):
        passages.append(DetailSection(call))
    deck = cards([entry], labels=session.transcript.reading.labels, home=home, side_records=True)
    for card in deck:
        passages += [DetailSection(), *_card(card, most)]
    return passages


def pages_of(passages: Iterable[DetailSection], size: int = PAGE) -> list[list[DetailSection]]:
    """Passages in pages of about so many characters; a long text is parted between its lines if it can be."""
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


def _call_of(session: SessionSource, position: int, entry: Entry) -> Line:
    """The call that a result answers."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, ToolResult):
        return ()
    call = ToolCallLookup(session.transcript).find(position, entry.message.tool_call_id)
    return () if call is None else make_line(Span("answers ", "dim"), Span(call_text(call), "tool"))


def _card(card: Card, most: int | None) -> Iterator[DetailSection]:
    role = _ROLES.get(card.kind, "plain")
    if card.kind not in ("user", "assistant") or card.title not in ("User", "Assistant"):
        state = "  ✗ failed" if card.error else "  (no result)" if card.open else ""
        yield DetailSection(
            make_line(Span(card.title, "heading"), Span(state, "error" if card.error else "dim"))
        )
    if card.meta and card.kind != "assistant":  # an answer has them in its first line
        yield DetailSection(make_line(Span(" · ".join(card.meta), "dim")))
    if card.arguments and card.arguments != "{}":
        yield DetailSection(text=_limited(card.arguments, most), role="dim", indent="  ")
    if card.body.strip():
        body_role: StyleRole = "error" if card.error else "plain" if role == "user" else role
        yield DetailSection(text=_limited(card.body.strip("\n"), most), role=body_role)
    for picture in card.pictures:
        yield DetailSection(
            make_line(Span(f"[image: {picture.mime_type}, {format_size(picture.size)}]", "custom"))
        )


def _limited(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    return f"{text[:most]}\n… {len(text) - most:,} more characters; Enter, then “Read the whole entry”"
