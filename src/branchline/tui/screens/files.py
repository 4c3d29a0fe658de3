"""The files that a branch or a session touched, with the calls that touched them."""

from __future__ import annotations

import os
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from branchline.session import Session
from branchline.tui.screens.base import ListScreen, bindings
from branchline.tui.widgets.line_bar import LineBar
from branchline.tui.widgets.row_list import RowList
from branchline.tui.widgets.text_panel import TextPanel
from branchline.views.browser.entry_detail import detail_lines
from branchline.views.files_touched import FileList, TouchedFile, files_touched
from branchline.views.humanize import count
from branchline.views.spans import Line, Span, make_line

__all__ = ["FilesScreen"]


class FilesScreen(ListScreen):
    """Returns the chosen entry or None. ``at`` is the end of the branch (default: the leaf)."""

    table = "files"
    air_below = "#search"
    always_typing = True
    BINDINGS: ClassVar[list[BindingType]] = bindings("files")
    DEFAULT_CSS = "FilesScreen #detail { height: 50%; border-top: solid $border; padding: 0 1; }"

    def __init__(self, session: Session, *, at: str | None = None) -> None:
        super().__init__()
        self._session = session
        self._at = session.leaf if at is None else at
        self._is_whole = False
        self._all: list[TouchedFile] = []
        self.shown = FileList([])
        self._call = -1
        self._home = os.path.expanduser("~")

    def body(self) -> ComposeResult:
        yield LineBar(id="search")
        yield RowList(empty=" reading …")
        yield TextPanel(id="detail")

    def on_mount(self) -> None:
        self.list.focus()
        self.show_hints()
        self._read()

    def on_unmount(self) -> None:
        self._session.close()

    def _read(self) -> None:
        session = self._session
        self.show_session_place(session, "Files")
        tree = session.index
        path = [] if self._at is None else tree.path_positions(tree.position(self._at))
        positions = range(len(tree)) if self._is_whole else path
        read = partial(files_touched, session.transcript, positions)
        self.read_in_thread(read, self._take, "files", failed="the files cannot be listed")

    def _take(self, files: list[TouchedFile]) -> None:
        self._all = files
        self.list.empty = [make_line(Span(" no file was touched", "dim"))]
        self.search_changed()

    def search_changed(self) -> None:
        self.shown = FileList(self._all, self.words, self._home, self._session.cwd or "")
        self.list.show(self.shown, 0)
        self.show_message()
        self.show_search()

    def own_message(self) -> Line:
        where = "in the whole session" if self._is_whole else "on this branch"
        changed = sum(bool(file.changes) for file in self._all)
        return make_line(Span(f" {count(len(self._all), 'file')} {where}, {changed:,} changed", "dim"))

    @property
    def _file(self) -> TouchedFile | None:
        cursor = self.list.cursor
        return self.shown.files[cursor] if 0 <= cursor < len(self.shown) else None

    def on_row_list_moved(self) -> None:
        self._call = -1
        self._show_call()

    def _show_call(self) -> None:
        """Show the selected call as the tree shows it."""
        file, session = self._file, self._session
        panel = self.query_one("#detail", TextPanel)
        if file is None:
            panel.show(lambda _columns: [])
            return
        key = file.entries[self._call]
        position = session.index.position(key)
        number = self._call % len(file.entries) + 1

        def lines(columns: int) -> list[Line]:
            head = make_line(Span(f"call {number:,} of {len(file.entries):,}", "dim"))
            return [head, *detail_lines(session, position, columns, home=self._home)]

        panel.show(lines)

    def action_step_call(self, by: int) -> None:
        if (file := self._file) is not None:
            self._call = (self._call + by) % len(file.entries)
            self._show_call()

    def action_whole(self) -> None:
        self._is_whole = not self._is_whole
        self._read()

    def action_choose(self) -> None:
        if (file := self._file) is not None:
            self.dismiss(file.entries[self._call])

    def action_copy(self) -> None:
        if (file := self._file) is not None:
            self.copy(file.path, "path")
