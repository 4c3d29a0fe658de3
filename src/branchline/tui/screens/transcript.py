"""The transcript: a conversation with folded thinking and results, which follows a live session."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import chain, islice
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from branchline.entries import SIDE_TYPES
from branchline.session import Session
from branchline.tui.images import open_picture
from branchline.tui.screens.base import ListScreen, bindings
from branchline.tui.screens.dialogs import SelectDialog
from branchline.tui.session_watcher import SessionWatcher
from branchline.tui.widgets.conversation_view import ConversationView
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.views.browser.conversation import Conversation, branch_end, images_of
from branchline.views.browser.entry_menu import MenuItem
from branchline.views.browser.layout import overview_columns
from branchline.views.browser.path_overview import PathOverview
from branchline.views.humanize import count
from branchline.views.spans import Line, Span, make_line
from branchline.views.text import one_line
from branchline.views.tree_search import Search

__all__ = ["TranscriptScreen"]

_LOOK = 0.5


_PLACES = {
    "leaf": "",
    "above": "up to an earlier entry",
    "elsewhere": "not on the active branch",
}
_SLICE = 0.02
"""Seconds that are spent looking for words before keys are listened to again."""
_STEP = 2048


class TranscriptScreen(ListScreen):
    """Shows the path to an entry. Reading another branch changes nothing in the session.

    ``at`` is the end of the path; or ``place`` is the entry to begin at, on its branch, with ``words``
    highlighted.
    """

    table = "transcript"
    BINDINGS: ClassVar[list[BindingType]] = bindings("transcript")
    DEFAULT_CSS = """
    TranscriptScreen #body { height: 1fr; layout: horizontal; }
    TranscriptScreen #overview { border-right: solid $border; }
    """

    def __init__(
        self, session: Session, *, at: str | None = None, place: str | None = None, words: str = ""
    ) -> None:
        super().__init__()
        self._home = os.path.expanduser("~")
        self.living = SessionWatcher(session)
        if place is not None and place not in session.index:
            place = None
        leaf = session.leaf if at is None else at
        if place is not None:
            leaf = branch_end(session, place)
        self._place = place
        self.edit.set(words)
        self.conversation = Conversation(session, leaf, home=self._home)
        self._follows_leaf = leaf == session.leaf
        self._outcome = ""
        self._hunt = 0
        self._overview: PathOverview[Session] | None = None

    @property
    def session(self) -> Session:
        return self.conversation.session

    @property
    def view(self) -> ConversationView:
        return self.query_one(ConversationView)

    def body(self) -> ComposeResult:
        yield LineBar(id="search")
        with Container(id="body"):
            yield RowList(id="overview", centred=True, lit=False)
            yield ConversationView()

    def on_mount(self) -> None:
        self._fit()
        self.view.focus()
        self.call_after_refresh(self._begin)
        self.set_interval(_LOOK, self._look)
        self.watch(self.app, "theme", self.view.theme_changed, init=False)

    def _begin(self) -> None:
        self.view.mark(self.words.split())
        self.view.show(self.conversation)
        part = self.conversation.part_of(self._place)
        if part is None:
            self.view.go_to_end()
        else:
            self.view.go_to_match(part)
        self._show_bars()
        self.call_after_refresh(self._show_overview)

    def on_unmount(self) -> None:
        self.session.close()

    def _show_bars(self) -> None:
        session, conversation = self.session, self.conversation
        where = _PLACES[conversation.place]
        facts = ", ".join(filter(None, (where, count(conversation.messages, "message"))))
        self.show_session_place(session, facts=facts)
        self.show_message()
        self.show_search()
        self.show_hints()

    def own_message(self) -> Line:
        conversation = self.conversation
        here = conversation.messages_until(self.view.selected[0]) if len(conversation) else 0
        live = self._follows_leaf and self.view.at_end
        return make_line(
            Span(f" message {here:,} of {conversation.messages:,}", "dim"),
            Span("   following new entries" if live else "", "dim"),
        )

    def hint_words(self) -> dict[str, str]:
        """Return search keys during a search, and branch keys only where there are branches."""
        words = {} if self.conversation.branches_above(self.view.selected[0]) else {"branch(1)": ""}
        if self.words:
            words |= {"open_part": "next match", "find(-1)": "previous", "back": "clear"}
        return words

    def on_conversation_view_selected(self) -> None:
        self._show_bars()
        self._follow_in_overview()

    def on_resize(self) -> None:
        super().on_resize()
        self._fit()
        self._show_bars()
        self.call_after_refresh(self._show_overview)

    # -- the tree beside it ---------------------------------------------------------------------------

    def _fit(self) -> None:
        """Show the tree if the screen is wide enough for both."""
        columns = overview_columns(self.size.width)
        self.list.display = bool(columns)
        self.list.styles.width = columns

    def _show_overview(self) -> None:
        if not self.list.display:
            return
        if self._overview is None or self._overview.conversation is not self.conversation:
            self._overview = PathOverview(self.conversation)
        self._follow_in_overview()

    def _follow_in_overview(self) -> None:
        """Select the current part in the tree beside the text."""
        rows = self._overview
        if rows is None or not self.list.display:
            return
        before, current = rows.current, rows.read_at(self.conversation.place_of(self.view.selected[0]))
        if self.list.rows is not rows or current != before:
            with self.prevent(RowList.Moved):
                self.list.show(rows, current)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        if self._overview is not None and 0 <= event.index < len(self._overview):
            self._read_branch(self._overview.key(event.index))

    # -- a session that lives -------------------------------------------------------------------------

    def _look(self) -> None:
        before = self.session.leaf
        news = self.living.poll()
        if news.words is not None:
            self.tell(news.words, wrong=True)
        if news.session is None and not news.entries:
            return
        with self.branchline.telling():
            self._follow(before)

    def _follow(self, before: str | None) -> None:
        """Show new entries without moving the reading position."""
        session = self.living.session
        leaf = self.conversation.leaf
        if self._follows_leaf:
            newest = session.transcript.leaf
            leaf = newest if newest is not None and newest in session.index else before
        elif leaf not in session.index:
            leaf = session.leaf
        at_end, part = self.view.at_end, self.view.top_part
        self._show(self._conversation(leaf, session), at_end=at_end, part=part)

    def _conversation(self, leaf: str | None, session: Session | None = None) -> Conversation[Session]:
        session = self.session if session is None else session
        return Conversation(session, leaf, home=self._home, pairs=self.conversation.pairs)

    def _show(self, conversation: Conversation[Session], *, at_end: bool, part: int) -> None:
        self.conversation = conversation
        self.view.show(conversation)
        if at_end:
            self.view.go_to_end()
        else:
            self.view.go_to(min(part, len(conversation) - 1))
        self._show_bars()
        self._show_overview()

    # -- moving ---------------------------------------------------------------------------------------

    def action_scroll(self, by: int) -> None:
        self.view.scroll_relative(y=by, animate=False, immediate=True)
        self._show_bars()

    def action_pages(self, by: int) -> None:
        self.action_scroll(by * max(1, self.view.size.height - 2))

    def action_top(self) -> None:
        self.view.go_to(0)

    def action_end(self) -> None:
        self.view.go_to_end()
        self._show_bars()

    def _to(self, parts: Iterator[int], what: str) -> None:
        part = next(parts, None)
        if part is None:
            self.tell(f"no more {what} in this direction")
        else:
            self.view.go_to(part)

    def action_prompt(self, by: int) -> None:
        self._to(self.conversation.prompts(self.view.selected[0], by), "prompts")

    def action_error(self, by: int) -> None:
        self._to(self.conversation.errors(self.view.selected[0], by), "errors")

    def action_labelled(self, by: int) -> None:
        self._to(self.conversation.labelled(self.view.selected[0], by), "labels")

    def action_select(self, by: int) -> None:
        self.view.step(by)

    def action_open_part(self) -> None:
        if self.words and not self.letters:
            self.action_find(1)
        else:
            self.view.toggle(*self.view.selected)

    def action_fold_all(self) -> None:
        self.view.toggle_all()

    # -- finding --------------------------------------------------------------------------------------

    def search_changed(self) -> None:
        self.view.mark(self.words.split())
        self._outcome = ""
        self._hunt += 1
        if self.words.strip():
            here = self.view.selected[0]
            parts = self.conversation.found(self.words, here - 1, 1)
            around = self.conversation.found(self.words, -1, 1)
            self._look_for(chain(parts, islice(around, max(0, here))), "not on this path; F3 looks on others")
        self.show_search()

    def action_find(self, by: int) -> None:
        if not self.words.strip():
            self.tell("type what you are looking for")
            return
        self._hunt += 1
        parts = self.conversation.found(self.words, self.view.selected[0], by)
        self._look_for(parts, "no more matches on this path", beyond=by > 0)

    def _look_for(self, parts: Iterator[int | None], missed: str, *, beyond: bool = False) -> None:
        """Go to the next match; long conversations are searched in slices."""
        hunt = self._hunt

        def look() -> None:
            if hunt != self._hunt or not self.is_attached:
                return
            end = time.monotonic() + _SLICE
            for part in parts:
                if part is not None:
                    self._outcome = ""
                    self.view.go_to_match(part)
                    return
                if time.monotonic() > end:
                    self.set_timer(0.001, look)
                    return
            if beyond:
                self._look_elsewhere(hunt)
            else:
                self._missed(missed)

        look()

    def _missed(self, words: str) -> None:
        self._outcome = words
        self.show_search()

    def _look_elsewhere(self, hunt: int) -> None:
        """Go to the next match on another branch without changing the session."""
        session = self.session
        search = Search(session.transcript, session.transcript.reading.labels)
        own = set(self.conversation.path)

        def look() -> None:
            if hunt != self._hunt or not self.is_attached:
                return
            if not search.collect(_STEP):
                self.set_timer(0.001, look)
                return
            found = sorted((search.find(self.words) or set()) - own)
            types = session.index.types
            found = [position for position in found if types[position] not in SIDE_TYPES]
            if not found:
                self._missed("no more matches, here or on other branches")
                return
            end = self.conversation.path[-1] if self.conversation.path else -1
            position = next((place for place in found if place > end), found[0])
            self._read_branch(session.index.keys[position])
            self.view.go_to_match(self.view.selected[0])
            self.tell("this match is on another branch")

        look()

    def _read_branch(self, key: str) -> None:
        """Show the branch of an entry, from there on."""
        conversation = self._conversation(branch_end(self.session, key))
        self._follows_leaf = conversation.leaf == self.session.leaf
        self._show(conversation, at_end=False, part=conversation.part_of(key) or 0)

    def search_line(self) -> Line:
        found = self._outcome if self.words.strip() else ""
        return make_line(*super().search_line(), Span(f"   {found}" if found else "", "warning"))

    def search_hint(self) -> str:
        return "type to find" if self.typing else "press / to find"

    def action_branch(self, by: int) -> None:
        key = self.conversation.neighbour(self.view.selected[0], by)
        if key is None:
            self.tell("no other branch at or above this entry")
        else:
            self._read_branch(key)

    def action_files(self) -> None:
        leaf = self.conversation.leaf
        self.branchline.reopen(self.session, lambda session: self.branchline.show_files(session, leaf))

    # -- elsewhere ------------------------------------------------------------------------------------

    def action_switch(self) -> None:
        branches = self.conversation.branches(self.view.selected[0])
        if not branches:
            self.tell("no other branch at or above this entry")
            return
        index = self.session.index
        options = [
            MenuItem(
                index.keys[branch.end],
                ("• " if branch.current else "  ") + one_line(branch.words)[:60],
                count(branch.entries, "entry", "entries"),
            )
            for branch in branches
        ]

        def picked(key: str) -> None:
            conversation = self._conversation(key)  # it may be gone by now
            self._follows_leaf = key == self.session.leaf
            first = next(branch.first for branch in branches if index.keys[branch.end] == key)
            self._show(conversation, at_end=False, part=conversation.part_of(index.keys[first]) or 0)

        self.ask(SelectDialog("Which branch?", options), picked)

    def _position(self) -> int | None:
        part = self.view.selected[0]
        return self.conversation.parts[part][0] if part < len(self.conversation) else None

    def action_tree(self) -> None:
        position = self._position()
        key = None if position is None else self.session.index.keys[position]
        self.branchline.reopen(self.session, lambda session: self.branchline.show_tree(session, key))

    def action_compare(self) -> None:
        leaf = self.session.leaf
        branches = [item for item in self.conversation.branches(self.view.selected[0]) if not item.current]
        if leaf is None or not branches or self.conversation.leaf is None:
            self.tell("no other branch to compare with")
            return
        other = self.session.index.keys[branches[-1].end]
        own = self.conversation.leaf
        self.branchline.reopen(
            self.session, lambda session: self.branchline.show_comparison(session, session, own, other)
        )

    def action_picture(self) -> None:
        part = self.view.selected[0]
        if part >= len(self.conversation):
            return
        pictures = images_of(self.conversation.entries(part))
        if not pictures:
            self.tell("no image in this part")
            return
        for _, data in pictures:
            try:
                path = self.branchline.pictures.save(data)
            except OSError as problem:
                self.tell(f"the image cannot be saved: {problem}", wrong=True)
                return
            if path is None:
                self.tell("not opened: this is not a PNG, JPEG, GIF or WebP image", wrong=True)
            else:
                self.tell(f"opened: {path}" if open_picture(path) else f"saved until you quit: {path}")

    def action_copy(self) -> None:
        part, number = self.view.selected
        if part < len(self.conversation):
            deck = self.conversation.cards(part)
            card = deck[min(number, len(deck) - 1)] if deck else None
            if card is not None and (card.body or card.title):
                self.copy(card.body or card.title, "text")

    def action_back(self) -> None:
        if not self.stop_typing():
            self.app.pop_screen()
