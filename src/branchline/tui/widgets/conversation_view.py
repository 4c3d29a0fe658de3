"""A conversation of any length, laid out on demand; heights of unseen parts are estimates."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from branchline.session import Session
from branchline.tui.card_strips import CardLine, RenderOptions, card_rows, foldable
from branchline.tui.strips import highlight
from branchline.tui.widgets.line_view import LineView
from branchline.views.browser.conversation import Conversation
from branchline.views.browser.height_index import HeightIndex
from branchline.views.cards import Card
from branchline.views.hits import find_ranges, matches_all
from branchline.views.humanize import count
from branchline.views.spans import Span, make_line

__all__ = ["ConversationView"]

_GUESS = 3
_KEPT = 400
"""Parts whose strips are kept."""
_MEASURED_AT_ONCE = 30
_BELOW = 3
"""Lines above the lower edge in which a match is not in view yet."""


class ConversationView(LineView):
    """Shows a conversation. ``selected`` is a part and one of its cards."""

    DEFAULT_CSS = "ConversationView { height: 1fr; }"

    class Selected(Message):
        """Another card is selected."""

    def __init__(self) -> None:
        super().__init__()
        self.conversation: Conversation[Session] | None = None
        self.selected = (0, 0)
        self.opened: set[tuple[str, int]] = set()
        self._revealed: tuple[int, tuple[str, int]] | None = None
        """The part and name of the card that is open because of a match."""
        self.all_open = False
        self._heights = HeightIndex([])
        self._measured: set[int] = set()
        self._rows: dict[int, list[CardLine]] = {}
        self._settling = False
        self._words: tuple[str, ...] = ()

    # -- showing --------------------------------------------------------------------------------------

    def show(self, conversation: Conversation[Session]) -> None:
        """Show another conversation, or a longer one."""
        self.conversation = conversation
        self._forget()

    def _forget(self) -> None:
        self._heights = HeightIndex([_GUESS] * (0 if self.conversation is None else len(self.conversation)))
        self._measured.clear()
        self._rows.clear()
        if len(self._heights) <= _MEASURED_AT_ONCE:
            for part in range(len(self._heights)):
                self._measure(part)
        self._resize()
        self.refresh()

    def mark(self, words: Iterable[str]) -> None:
        wanted = tuple(word for word in words if word)
        if wanted != self._words:
            self._words = wanted
            self.refresh()

    @property
    def at_end(self) -> bool:
        """Whether the last line is in view."""
        return self.scroll_offset.y >= self._heights.total - self.size.height - 1

    @property
    def top_part(self) -> int:
        """The first part in view."""
        return self._heights.at(int(self.scroll_offset.y))[0] if len(self._heights) else 0

    def go_to(self, part: int, card: int = 0) -> None:
        """Select a part and bring it to the top."""
        if not 0 <= part < len(self._heights):
            return
        self._mark(part, card)
        self._fill(part)
        self._scroll(self._heights.start(part))
        self.refresh()
        self.post_message(self.Selected())

    def go_to_match(self, part: int) -> None:
        """Select a part, with its first card that holds the marked words open and the first match in view."""
        conversation, words = self.conversation, self._words
        if conversation is None or not words or not 0 <= part < len(self._heights):
            self.go_to(part)
            return
        deck = conversation.cards(part)
        number = next((place for place, card in enumerate(deck) if matches_all(_text(card), words)), None)
        if number is None:
            self.go_to(part)
            return
        self._reveal(part, number if foldable(deck[number]) else None)
        self.go_to(part, number)
        rows = self._lines(part)
        line = next((at for at, row in enumerate(rows) if find_ranges(row.strip.text, words)), 0)
        if line > self.size.height - _BELOW:
            self._scroll(self._heights.start(part) + line - self.size.height // 3)

    def _reveal(self, part: int, card: int | None) -> None:
        """Open a card for its match, and fold the one that was opened for the match before."""
        if self._revealed is not None:
            before, self._revealed = self._revealed, None
            if before[1] in self.opened and before[0] < len(self._heights):
                self.opened.discard(before[1])
                self._changed(before[0])
        if (
            card is not None
            and not self.all_open
            and (name := self._card_name(part, card)) not in self.opened
        ):
            self.opened.add(name)
            self._revealed = part, name

    def go_to_end(self) -> None:
        part, lines = len(self._heights) - 1, 0
        while part >= 0 and lines < self.size.height:
            lines += self._measure(part)
            part -= 1
        self._resize()
        self._scroll(self._heights.total)
        if len(self._heights):
            self._mark(len(self._heights) - 1, 0)
        self.refresh()

    def _scroll(self, line: float) -> None:
        # Forced: the scroll bar of what has just been laid out may not be there yet.
        self.scroll_to(y=max(0, line), animate=False, immediate=True, force=True)

    def _mark(self, part: int, card: int) -> None:
        """Select a card and redraw both parts that change."""
        self._rows.pop(self.selected[0], None)
        self._rows.pop(part, None)
        self.selected = (part, card)

    def toggle(self, part: int, card: int) -> None:
        name = self._card_name(part, card)
        self.opened ^= {name}
        self._changed(part)

    def toggle_all(self) -> None:
        """Open all folded cards, or fold them again."""
        self.all_open = not self.all_open
        self.opened.clear()
        part = self.top_part
        self._forget()
        self.go_to(part)

    def step(self, by: int) -> None:
        """Select the next foldable card in a direction."""
        conversation = self.conversation
        if conversation is None or not len(conversation):
            return
        part, card = self.selected
        for _ in range(len(conversation) + 1):  # around the end, and back to where we are
            deck = conversation.cards(part)
            numbers = range(card + 1, len(deck)) if by > 0 else range(min(card, len(deck)) - 1, -1, -1)
            for number in numbers:
                if foldable(deck[number]):
                    self._select(part, number)
                    return
            part = (part + by) % len(conversation)
            card = -1 if by > 0 else len(conversation.cards(part))

    def _select(self, part: int, card: int) -> None:
        self._mark(part, card)
        self._measure(part)
        self._resize()
        line = self._heights.start(part) + next(
            (place for place, row in enumerate(self._rows[part]) if row.card == card and row.head), 0
        )
        top = int(self.scroll_offset.y)
        if not top <= line < top + self.size.height:
            self._scroll(line - self.size.height // 3)
        self.refresh()
        self.post_message(self.Selected())

    def _card_name(self, part: int, card: int) -> tuple[str, int]:
        assert self.conversation is not None
        return self.conversation.session.index.keys[self.conversation.parts[part][0]], card

    # -- laying out -----------------------------------------------------------------------------------

    def _look(self) -> RenderOptions:
        return RenderOptions(self.columns, self.rich_style, self.styles_of_roles, self.app.current_theme.dark)

    def _lines(self, part: int) -> list[CardLine]:
        rows = self._rows.get(part)
        if rows is None:
            if len(self._rows) >= _KEPT:
                self._rows.clear()
            rows = self._rows[part] = self._laid(part)
        return rows

    def _laid(self, part: int) -> list[CardLine]:
        assert self.conversation is not None
        look = self._look()
        rows: list[CardLine] = []
        at, ways = self.conversation.way(part)
        if ways > 1:
            words = make_line(
                "  ",
                Span(f"‹ {at}/{ways} ›", "active"),
                Span(f"  {count(ways - 1, 'other branch', 'other branches')} from here", "dim"),
            )
            rows += [CardLine(self.draw((), look.ground), 0), CardLine(self.draw(words, look.ground), 0)]
        deck = self.conversation.cards(part)
        after: str | None = None
        for number, card in enumerate(deck):
            opened = self.all_open ^ (self._card_name(part, number) in self.opened)
            rows += card_rows(
                card, number, look, opened=opened, selected=self.selected == (part, number), after=after
            )
            after = card.kind
        return rows

    def _measure(self, part: int) -> int:
        height = len(self._lines(part))
        self._measured.add(part)
        self._heights[part] = height
        return height

    def _fill(self, part: int) -> None:
        """Measure the parts that a screen shows from this one on."""
        lines = 0
        while part < len(self._heights) and lines < self.size.height:
            lines += self._measure(part)
            part += 1
        self._resize()

    def _resize(self) -> None:
        self.virtual_size = Size(self.columns, self._heights.total)

    def _changed(self, part: int) -> None:
        self._rows.pop(part, None)
        self._measure(part)
        self._resize()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self._settling or not len(self._heights) or self.size.height <= 0:
            return
        self._settling = True
        try:
            part, _line = self._heights.at(int(new_value))
            if part not in self._measured:
                guessed = self._heights[part]
                difference = self._measure(part) - guessed
                self._fill(part)
                if new_value < old_value and difference:
                    # Seen from below: the end of the part stays where it is on the screen.
                    self._scroll(new_value + difference)
            else:
                self._fill(part)
        finally:
            self._settling = False

    def render_line(self, y: int) -> Strip:
        line = int(self.scroll_offset.y) + y
        if not len(self._heights) or line >= self._heights.total:
            words = "  nothing was said here yet" if y == 0 and not len(self._heights) else ""
            return self.draw((Span(words, "dim"),))
        part, offset = self._heights.at(line)
        rows = self._lines(part)
        if offset >= len(rows):
            return self.draw(())
        strip = rows[offset].strip
        if not self._words:
            return strip
        current = part == self.selected[0]
        return highlight(strip, self._words, self.styles_of_roles["found" if current else "match"])

    # -- events ---------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        part, end, selected = self.top_part, self.at_end and self.scroll_offset.y > 0, self.selected
        self._forget()
        if end:
            self.go_to_end()
            self._mark(*selected)
        else:
            self._fill(part)
            self._scroll(self._heights.start(part) if len(self._heights) else 0)

    def theme_changed(self) -> None:
        """Redraw everything with the new theme."""
        self._rows.clear()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        line = int(self.scroll_offset.y) + event.y
        if not len(self._heights) or line >= self._heights.total:
            return
        part, offset = self._heights.at(line)
        rows = self._lines(part)
        if offset < len(rows):
            row = rows[offset]
            self._select(part, row.card)
            if row.head:
                self.toggle(part, row.card)


def _text(card: Card) -> str:
    return "\n".join((card.title, card.body, *(section.text for section in card.sections())))
