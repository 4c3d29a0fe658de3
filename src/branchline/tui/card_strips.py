"""Cards of a conversation as screen lines: text as Markdown, thinking and results folded.

Rich renders the Markdown. Its output is filtered again, because Markdown can name characters (``&#27;``) that
were not in the text; links stay text.
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
from branchline.views.call_lines import call_row, diff_lines, short_diff
from branchline.views.cards import Card
from branchline.views.humanize import format_size
from branchline.views.spans import Line, Span, StyleRole, line_width, make_line
from branchline.views.text import cut, one_line, safe, width
from branchline.views.wrap import text_lines, wrap_line

__all__ = ["CardLine", "RenderOptions", "card_rows", "foldable"]

_MARKDOWN_MOST = 20_000
"""Characters that are laid out as Markdown; longer texts are shown as they are."""
_FOLDED_MOST = 4_000
_SUMMARY_MOST = 1_000
_LINES_MOST = 400
_OPENED_MOST = 40_000
"""Characters that are wrapped; the tree shows longer texts in full."""
_MEASURE = 80
_MARGIN = 24
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
    """Width, background and role styles of the strips."""

    columns: int
    ground: Style
    styles: Mapping[StyleRole, Style]
    dark: bool

    @property
    def measure(self) -> int:
        """The width of text: longer lines are hard to read."""
        return max(10, min(self.columns - 3, _MEASURE))


class CardLine(NamedTuple):
    """A screen line and its card; ``head`` is the line that folds it."""

    strip: Strip
    card: int
    head: bool = False


def foldable(card: Card) -> bool:
    """Whether a card has more than is shown when it is folded."""
    if card.kind in ("thinking", "tool", "bash", "compaction", "branch", "unknown", "system", "note"):
        return bool(card.body.strip() or (card.call is not None and card.call.arguments))
    return len(card.body) > _FOLDED_MOST


def card_rows(
    card: Card, number: int, look: RenderOptions, *, opened: bool, selected: bool, after: str | None
) -> list[CardLine]:
    """Return the lines of a card; ``after`` is the kind of the previous card in the same part."""
    mark = Span("▌", "active") if selected else Span(" ")
    rows: list[CardLine] = []
    if card.kind in ("user", "assistant", "custom", "system", "compaction", "branch", "damage", "unknown"):
        rows.append(CardLine(_strip((mark,), look), number))
    elif after == "assistant":
        rows.append(CardLine(_strip((), look), number))
    if card.kind in ("thinking", "tool", "bash", "setting", "note"):
        head = _head(card, look, opened=opened)
        rows.append(CardLine(_strip(make_line(mark, " ", *head), look), number, head=True))
        if opened:
            inside = _inside(card, look)
        else:
            diff = short_diff(card)
            inside = diff_lines(diff, look.measure - 4) if diff else []
        rows += [CardLine(_strip(make_line(mark, "     ", *line), look), number) for line in inside]
    elif card.kind in ("user", "assistant"):
        rows += _spoken(card, number, mark, look, opened=opened, first=after is None)
    else:
        head = _head(card, look, opened=opened)
        rows.append(CardLine(_strip(make_line(mark, " ", *head), look), number, head=True))
        rows += [CardLine(strip, number) for strip in _words(card, mark, look, opened=opened)]
    for picture in card.pictures:
        words = f" image: {picture.mime_type or 'unknown'}, {format_size(picture.size)}  (Alt+O opens it)"
        rows.append(CardLine(_strip(make_line(mark, Span(words, "dim")), look), number))
    return rows


def _spoken(
    card: Card, number: int, mark: Span, look: RenderOptions, *, opened: bool, first: bool
) -> list[CardLine]:
    """Return the lines of a prompt or answer: prompts on a tinted background, facts beside the first line."""
    rows: list[CardLine] = []
    if card.title not in ("", "User", "Assistant"):
        title = make_line(mark, " ", Span(card.title, "error" if card.error else "dim"))
        rows.append(CardLine(_strip(title, look), number))
    if card.kind == "user":
        tinted = look._replace(ground=look.ground + look.styles["prompt"], columns=look.measure + 3)
        strips = _words(card, mark, tinted, opened=opened)
        rows += [CardLine(strip.adjust_cell_length(look.columns, look.ground), number) for strip in strips]
    else:
        rows += [CardLine(strip, number) for strip in _words(card, mark, look, opened=opened)]
    if not rows:
        return rows
    rows[0] = rows[0]._replace(head=True)
    if card.label:
        chip = make_line(mark, " ", Span(f"[{card.label}]", "label"))
        rows.append(CardLine(_strip(chip, look), number))
    beside = _margin(card, look, first=first)
    rows += [CardLine(_strip((mark,), look), number) for _ in beside[len(rows) :]]
    for place, facts in enumerate(beside):
        strip = rows[place].strip.crop(0, look.columns - line_width(facts) - 1)
        end = to_strip(facts, line_width(facts) + 1, look.styles, look.ground)
        rows[place] = rows[place]._replace(strip=Strip.join([strip, end]))
    return rows


def _margin(card: Card, look: RenderOptions, *, first: bool) -> list[Line]:
    """Return the margin: time, model and cost; on a narrow screen only the time of a prompt.

    Lines are broken between facts.
    """
    when = card.timestamp[11:16]
    if look.columns - look.measure < _MARGIN:
        timed = card.kind == "user" and look.columns > look.measure + 8
        return [make_line(Span(when, "dim"))] if timed else []
    facts = [when] if card.kind == "user" or first else []
    facts += [fact.rpartition("/")[2] for fact in card.meta[:1]] if card.kind == "assistant" else []
    facts += card.meta[1:2] if card.kind == "assistant" else ()
    room = look.columns - look.measure - 5
    lines: list[str] = []
    for fact in map(one_line, filter(None, facts)):
        if lines and width(lines[-1]) + 2 + width(fact) <= room:
            lines[-1] += f"  {fact}"
        else:
            lines.append(cut(fact, room))
    return [make_line(Span(f"{line:<{room}}", "dim")) for line in lines]


def _strip(line: Line, look: RenderOptions) -> Strip:
    return to_strip(line, look.columns, look.styles, look.ground)


def _head(card: Card, look: RenderOptions, *, opened: bool) -> Line:
    arrow = ("▾ " if opened else "▸ ") if foldable(card) else "  "
    label = Span(f"  [{card.label}]" if card.label else "", "label")
    match card.kind:
        case "thinking":
            return make_line(
                Span(f"{arrow}Thought ", "dim"),
                Span("" if opened else _cut_text(card.body, look.measure - 10), "thinking"),
                label,
            )
        case "tool" | "bash":
            return call_row(card, look.measure, arrow=arrow, words=make_line(label))
        case "setting" | "note":
            role: StyleRole = "error" if card.error else "setting"
            return make_line(Span(arrow, "dim"), Span(card.title, role), label)
        case _:
            name, role = _NAMES.get(card.kind, (card.kind, "plain"))
            told = card.title or name
            return make_line(
                Span(arrow if foldable(card) else "", "dim"),
                Span(told, "error" if card.error else role),
                Span(f"  {', '.join(card.meta)}" if card.meta else "", "dim"),
                label,
            )


def _cut_text(text: str, columns: int) -> str:
    return cut(one_line(text[: 4 * max(1, columns)]), max(1, columns))


def _inside(card: Card, look: RenderOptions) -> list[Line]:
    room = look.measure - 4
    lines: list[Line] = []
    for section in card.sections():
        if section.title:
            lines.append(make_line(Span(f"{section.title}:", "dim")))
        if section.kind == "diff":
            lines += diff_lines(section.text[:_MARKDOWN_MOST], room)
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
    room = look.measure
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
    if card.kind in ("user", "assistant", "custom"):
        short, role, most = body[:_FOLDED_MOST], "plain", 1000
    else:
        short, role, most = body[:_SUMMARY_MOST], "dim", 3
    lines = text_lines(short, room, role)  # type: ignore[arg-type]
    if len(lines) > most or len(short) < len(body):
        lines = [*lines[:most], make_line(Span(f"… {len(body):,} characters in all; Enter opens", "dim"))]
    return lines


def _limited(body: str, room: int, role: StyleRole, *, most: int) -> list[Line]:
    """Return a text as at most ``most`` lines, with a note about the omitted ones."""
    lines = text_lines(body[:_OPENED_MOST], room, role)
    left = len(body) - _OPENED_MOST
    if len(lines) > most:
        said = f"… {len(lines) - most:,} more lines"
        said += f" and {left:,} characters" if left > 0 else ""
    elif left > 0:
        said = f"… {left:,} more characters; in the tree (Ctrl+T), Enter shows the whole entry"
    else:
        return lines
    return [*lines[:most], make_line(Span(said, "dim"))]


# -- Markdown ---------------------------------------------------------------------------------------------

_STYLES = {
    "markdown.code": ("on #2a2a25", "on #eae6dc"),
    **{f"markdown.h{level}": ("bold", "bold") for level in range(1, 8)},
    "markdown.h1.border": ("#3a3934", "#cfccc3"),
    "markdown.item.bullet": ("#9b978d", "#67635a"),
    "markdown.item.number": ("#9b978d", "#67635a"),
    "markdown.block_quote": ("#98948a", "#67635a"),
    "markdown.hr": ("#3a3934", "#cfccc3"),
    "markdown.link": ("#7fbde6", "#155e8a"),
    "markdown.link_url": ("#7fbde6", "#155e8a"),
}


def _console(*, dark: bool) -> Console:
    theme = Theme({name: looks[0 if dark else 1] for name, looks in _STYLES.items()})
    return Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", theme=theme, width=80)


def _markdown(body: str, mark: Span, look: RenderOptions) -> list[Strip]:
    console = _console(dark=look.dark)
    columns = max(10, look.measure)
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
