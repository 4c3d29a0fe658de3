"""Cards of a conversation as strips of the screen: words as Markdown, thoughts and results folded.

Markdown is rendered by Rich. What it makes of a text is filtered once more, because Markdown can name
characters (``&#27;``) that were not in it; links stay words.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import NamedTuple

from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment
from rich.style import Style
from rich.theme import Theme
from textual.strip import Strip

from branchline.tui.strips import to_strip
from branchline.tui.themes import code_theme
from branchline.views.cards import Card, outcome
from branchline.views.humanize import count, format_size
from branchline.views.spans import Line, Span, StyleRole, make_line
from branchline.views.text import one_line, safe
from branchline.views.tool_views import diff_runs
from branchline.views.wrap import text_lines, wrap_line

__all__ = ["CardLine", "RenderOptions", "card_rows", "foldable"]

_MARKDOWN_MOST = 20_000
"""Characters that are laid out as Markdown; longer texts are shown as they are."""
_FOLDED_MOST = 4_000
_SUMMARY_MOST = 1_000
_LINES_MOST = 400
_OPENED_MOST = 40_000
"""Characters that are broken into lines: nobody waits here for a megabyte, the tree shows it whole."""
_NAMES: dict[str, tuple[str, StyleRole]] = {
    "user": ("you", "user"),
    "assistant": ("assistant", "heading"),
    "custom": ("note", "custom"),
    "system": ("system", "system"),
    "compaction": ("compaction", "summary"),
    "branch": ("branch summary", "summary"),
    "damage": ("damaged", "error"),
    "unknown": ("unknown", "dim"),
}


class RenderOptions(NamedTuple):
    """How strips are made: width, ground, styles of the roles."""

    columns: int
    ground: Style
    styles: Mapping[StyleRole, Style]
    dark: bool


class CardLine(NamedTuple):
    """A line of the screen and the card it belongs to; ``head`` is the line that folds."""

    strip: Strip
    card: int
    head: bool = False


def foldable(card: Card) -> bool:
    """Whether a card has more than is shown at first."""
    if card.kind in ("thinking", "tool", "bash", "compaction", "branch", "unknown", "system", "note"):
        return bool(card.body.strip() or (card.call is not None and card.call.arguments))
    return len(card.body) > _FOLDED_MOST


def card_rows(
    card: Card, number: int, look: RenderOptions, *, opened: bool, selected: bool, first: bool
) -> list[CardLine]:
    """The lines of a card; ``first`` is the first one of its entry, which says who speaks."""
    mark = Span("▌", "active") if selected else Span(" ")
    rows: list[CardLine] = []
    head = _head(card, opened=opened)
    if card.kind in ("thinking", "tool", "bash", "setting", "note"):
        rows.append(CardLine(_strip(make_line(mark, " ", *head), look), number, head=True))
        if opened:
            rows += [
                CardLine(_strip(make_line(mark, "   ", *line), look), number) for line in _inside(card, look)
            ]
    else:
        if first or card.kind != "assistant":
            rows += [
                CardLine(_strip((mark,), look), number),
                CardLine(_strip(make_line(mark, " ", *head), look), number, head=True),
            ]
        rows += [CardLine(strip, number) for strip in _words(card, mark, look, opened=opened)]
    for picture in card.pictures:
        words = f"   ▣ image: {picture.mime_type or 'unknown'}, {format_size(picture.size)} (o opens it)"
        rows.append(CardLine(_strip(make_line(mark, Span(words, "custom")), look), number))
    return rows


def _strip(line: Line, look: RenderOptions) -> Strip:
    return to_strip(line, look.columns, look.styles, look.ground)


def _head(card: Card, *, opened: bool) -> Line:
    """The line that says what a card is."""
    arrow = ("▾ " if opened else "▸ ") if foldable(card) else "  "
    lines = card.body.count("\n") + 1 if card.body.strip() else 0
    size = Span(f"  ({count(lines, 'line')})" if lines and not opened else "", "dim")
    label = Span(f"  [{card.label}]" if card.label else "", "label")
    match card.kind:
        case "thinking":
            return make_line(
                Span(f"{arrow}thinking ", "thinking"),
                Span("" if opened else one_line(card.body[:200]), "thinking"),
                size,
                label,
            )
        case "tool":
            return make_line(
                Span(f"{arrow}⚙ ", "tool"), Span(card.title, "tool"), *outcome(card), size, label
            )
        case "bash":
            return make_line(
                Span(f"{arrow}$ ", "bash"), Span(card.title, "bash"), *outcome(card), size, label
            )
        case "setting" | "note":
            role: StyleRole = "error" if card.error else "setting"
            return make_line(Span(arrow if foldable(card) else "  · ", "dim"), Span(card.title, role), label)
        case _:
            name, role = _NAMES.get(card.kind, (card.kind, "plain"))
            told = card.title if card.title and card.title not in ("User", "Assistant") else name
            when = card.timestamp[11:16] if card.kind == "user" else ""
            return make_line(
                Span(arrow if foldable(card) else "", "dim"),
                Span(told, "error" if card.error else role),
                Span(f"  {when}" if when else "", "time"),
                Span(f"  {' · '.join(card.meta)}" if card.meta else "", "dim"),
                label,
            )


def _inside(card: Card, look: RenderOptions) -> list[Line]:
    """What a folded card holds."""
    room = look.columns - 5
    lines: list[Line] = []
    for section in card.sections():
        if section.title:
            lines.append(make_line(Span(f"{section.title}:", "dim")))
        if section.kind == "diff":
            for part, part_role in diff_runs(section.text[:_MARKDOWN_MOST]):
                lines += text_lines(part, room, part_role)
        else:
            lines += text_lines(section.text[:_MARKDOWN_MOST], room, "dim")
        if (left := len(section.text) - _MARKDOWN_MOST) > 0:
            lines.append(make_line(Span(f"… {left:,} more characters", "dim")))
    if card.meta and card.kind not in ("tool", "bash"):
        lines += wrap_line(make_line(Span(" · ".join(card.meta), "dim")), room)
    role: StyleRole = "error" if card.error else "thinking" if card.kind == "thinking" else "plain"
    if card.body.strip():
        lines += _limited(card.body.strip("\n"), room, role, most=_LINES_MOST)
    return lines


def _words(card: Card, mark: Span, look: RenderOptions, *, opened: bool) -> list[Strip]:
    body = card.body.strip("\n")
    room = look.columns - 3
    if foldable(card) and not opened:
        return [_strip(make_line(mark, " ", *line), look) for line in _beginning(card, body, room)]
    if not body.strip():
        return []
    if (
        card.kind in ("assistant", "compaction", "branch", "custom")
        and len(body) <= _MARKDOWN_MOST
        and not card.error
    ):
        return _markdown(body, mark, look)
    role: StyleRole = "error" if card.error or card.kind == "damage" else "plain"
    return [
        _strip(make_line(mark, " ", *line), look)
        for line in _limited(body, room, role, most=_LINES_MOST * 50)
    ]


def _beginning(card: Card, body: str, room: int) -> list[Line]:
    """As much of a folded card as tells what it is about."""
    if card.kind in ("user", "assistant", "custom"):
        short, role, most = body[:_FOLDED_MOST], "plain", 1000
    else:
        short, role, most = body[:_SUMMARY_MOST], "dim", 3
    lines = text_lines(short, room, role)  # type: ignore[arg-type]
    if len(lines) > most or len(short) < len(body):
        lines = [*lines[:most], make_line(Span(f"… {len(body):,} characters in all; Enter opens", "dim"))]
    return lines


def _limited(body: str, room: int, role: StyleRole, *, most: int) -> list[Line]:
    """A text in lines, so many at most; what is left out is said."""
    lines = text_lines(body[:_OPENED_MOST], room, role)
    left = len(body) - _OPENED_MOST
    if len(lines) > most:
        said = f"… {len(lines) - most:,} more lines"
        said += f" and {left:,} characters" if left > 0 else ""
    elif left > 0:
        said = f"… {left:,} more characters; in the tree (t), Enter shows the whole entry"
    else:
        return lines
    return [*lines[:most], make_line(Span(said, "dim"))]


# -- Markdown ---------------------------------------------------------------------------------------------

_STYLES = {
    "markdown.code": ("#e0a57a", "#9a4f12"),
    "markdown.h1": ("bold #7aa2f7", "bold #2f5fb3"),
    "markdown.h2": ("bold #7aa2f7", "bold #2f5fb3"),
    "markdown.h3": ("bold #7aa2f7", "bold #2f5fb3"),
    "markdown.h4": ("bold", "bold"),
    "markdown.h5": ("bold", "bold"),
    "markdown.h6": ("bold", "bold"),
    "markdown.h7": ("bold", "bold"),
    "markdown.h1.border": ("#3a4055", "#c4c0b4"),
    "markdown.item.bullet": ("#7aa2f7", "#2f5fb3"),
    "markdown.item.number": ("#7aa2f7", "#2f5fb3"),
    "markdown.block_quote": ("#8b92a8", "#666a75"),
    "markdown.hr": ("#3a4055", "#c4c0b4"),
    "markdown.link": ("#7d9fcf", "#2f5fa3"),
    "markdown.link_url": ("#7d9fcf", "#2f5fa3"),
}


def _console(*, dark: bool) -> Console:
    theme = Theme({name: looks[0 if dark else 1] for name, looks in _STYLES.items()})
    return Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", theme=theme, width=80)


def _markdown(body: str, mark: Span, look: RenderOptions) -> list[Strip]:
    console = _console(dark=look.dark)
    columns = max(10, look.columns - 3)
    try:
        made = console.render(
            Markdown(safe(body), hyperlinks=False, code_theme=code_theme(dark=look.dark)),
            console.options.update(width=columns, height=None),
        )
        lines = list(Segment.split_lines(made))
    except Exception:  # noqa: BLE001  whatever a text does to a parser, its words can be shown
        return [_strip(make_line(mark, " ", *line), look) for line in text_lines(body, columns)]
    before = Segment(f"{mark.text} ", look.ground + look.styles[mark.role])
    strips = []
    for line in lines:
        segments = [before]
        for text, style, control in line:
            if control is None:
                plain = None if style is None else style.clear_meta_and_links()
                words = safe(text).replace("\n", " ").replace("\t", " ")
                segments.append(Segment(words, look.ground if plain is None else look.ground + plain))
        strips.append(Strip(segments).adjust_cell_length(look.columns, look.ground))
    return strips
