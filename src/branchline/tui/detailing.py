"""One entry with everything that is known about it, for the pane beside the tree and for reading whole."""

from __future__ import annotations

from branchline.entries import AssistantMessage, Compaction, Entry, MessageEntry, ToolResult
from branchline.session import Session
from branchline.tree import Finding
from branchline.views.calls import Calls, call_text
from branchline.views.cards import Card, cards
from branchline.views.spans import Line, Role, Span, line_of
from branchline.views.words import size_words, tokens
from branchline.views.wrapping import text_lines, wrap_line

__all__ = ["detail_lines", "reason_at"]

SHORT = 8_000
"""Characters of a text that the pane shows; reading it whole shows all."""
_ROLES: dict[str, Role] = {
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


def detail_lines(
    session: Session, position: int, columns: int, *, home: str = "", most: int | None = SHORT
) -> list[Line]:
    """The entry at a position: who and when, then every part of it. ``most`` limits each text."""
    entry = session.transcript.entry(position)
    lines = wrap_line(_facts(session, position, entry), columns, indent=2)
    finding = reason_at(session, position)
    if finding is not None:
        lines += wrap_line(
            line_of(Span(f"damage: {finding.message} (line {finding.line})", "error")), columns
        )
    if call := _call_of(session, position, entry):
        lines += wrap_line(call, columns)
    deck = cards(
        [entry],
        labels=session.transcript.reading.labels,
        home=home,
        side_records=True,
    )
    for card in deck:
        lines += [(), *_card(card, columns, most)]
    return lines


def reason_at(session: Session, position: int) -> Finding | None:
    """What is wrong with the line of an entry, if anything."""
    span = session.transcript.reading.span(position)
    for finding in session.findings:
        if finding.line and span.offset <= finding.offset < span.offset + max(1, span.size):
            return finding
    return None


def _facts(session: Session, position: int, entry: Entry) -> Line:
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
    return line_of(*pieces)


def _call_of(session: Session, position: int, entry: Entry) -> Line:
    """The call that a result answers."""
    if not isinstance(entry, MessageEntry) or not isinstance(entry.message, ToolResult):
        return ()
    call = Calls(session.transcript).find(position, entry.message.tool_call_id)
    return () if call is None else line_of(Span("answers ", "dim"), Span(call_text(call), "tool"))


def _card(card: Card, columns: int, most: int | None) -> list[Line]:
    role = _ROLES.get(card.kind, "plain")
    lines: list[Line] = []
    if card.kind not in ("user", "assistant") or card.title not in ("User", "Assistant"):
        state = "  ✗ failed" if card.error else "  (no result)" if card.open else ""
        lines += wrap_line(
            line_of(Span(card.title, "heading"), Span(state, "error" if card.error else "dim")), columns
        )
    if card.meta and card.kind != "assistant":  # an answer has them in its first line
        lines += wrap_line(line_of(Span(" · ".join(card.meta), "dim")), columns)
    if card.arguments and card.arguments != "{}":
        lines += text_lines(_limited(card.arguments, most), columns, "dim", indent="  ")
    if card.body.strip():
        body_role: Role = "error" if card.error else "plain" if role == "user" else role
        lines += text_lines(_limited(card.body.strip("\n"), most), columns, body_role)
    for picture in card.pictures:
        lines.append(line_of(Span(f"[picture: {picture.mime_type}, {size_words(picture.size)}]", "custom")))
    return lines


def _limited(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    return f"{text[:most]}\n… {len(text) - most:,} more characters; Enter, then “Read the whole entry”"
