"""The state of the tree screen: filter, folds, search, and the entry under the cursor.

The entry is kept by its position, so that it is found again after any change of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar, cast

from branchline.tree import FILTERS, ROOT, Filter, Jump, Outline
from branchline.views.browser.branch_names import BranchNames
from branchline.views.browser.findings_by_entry import FindingsByEntry
from branchline.views.entry_rows import RowTexts
from branchline.views.outline import entry_role, indentation, outline_line
from branchline.views.session_source import SessionSource
from branchline.views.spans import Line, Span, cut_line, make_line
from branchline.views.text import cut, one_line, width
from branchline.views.tree_search import Search

__all__ = ["TreeCursor"]

_Session = TypeVar("_Session", bound=SessionSource)

_STEP = 3
_HERE = "  ← you are here"
_LONGEST_NAME = 24


class TreeCursor(Generic[_Session]):
    """The rows of a tree and a cursor. ``cursor`` is the row number, -1 without rows."""

    def __init__(self, session: _Session, *, at: str | None = None, home: str = "") -> None:
        self.session = session
        self.home = home
        self.filter: Filter = "default"
        self.words = ""
        self.times = False
        self.folded: set[int] = set()
        self.marked = ROOT
        """The marked entry, one end of a range; ROOT without a mark."""
        self.position = session.index.positions.get(at or session.leaf or "", ROOT)
        self._texts = RowTexts(session.transcript, home=home)
        self._search = Search(session.transcript, session.transcript.reading.labels)
        self.set_session(session)

    def set_session(self, session: _Session) -> None:
        """Show a session that has grown, or another reading of the same file."""
        transcript = session.transcript
        if session is not self.session:
            marked = None if self.marked == ROOT else self.session.index.keys[self.marked]
            self.session = session
            self.marked = session.index.positions.get(marked or "", ROOT)
            self.folded.clear()
            self._texts = RowTexts(transcript, home=self.home)
            self._search = Search(transcript, transcript.reading.labels)
        self._names = BranchNames(session)
        self._damage = FindingsByEntry(session)
        self.leaf = ROOT if session.leaf is None else session.index.position(session.leaf)
        self._arrange()

    def _arrange(self) -> None:
        self.outline = Outline(
            self.session.index,
            self.leaf,
            filter=self.filter,
            labels=self.session.labels,
            matches=self._search.find(self.words),
            folded=self.folded,
        )
        self.cursor = self.outline.nearest(self.position)

    # -- rows -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.outline)

    @property
    def key(self) -> str | None:
        """The id of the entry in the row under the cursor; None without rows.

        It is not that of ``position`` if a filter or a search hides the kept entry.
        """
        return self.session.index.keys[self.outline.positions[self.cursor]] if self.cursor >= 0 else None

    def line(self, index: int, columns: int) -> Line:
        """Return one row, shifted left so that the row under the cursor is readable."""
        row = self.outline[index]
        session = self.session
        shift = 0
        if 0 <= self.cursor < len(self.outline):
            shift = max(0, self.outline[self.cursor].level * _STEP - columns // 2)
        label = session.transcript.reading.labels.get(row.key)
        now = datetime.now().astimezone() if self.times else None
        role = entry_role(session.index, row.position)
        text = self._texts(row.position)
        if role == "error" and (finding := self._damage.of(row.position)):
            text = f"[damaged]: {finding.message}"
        line = make_line(
            " ",  # the cursor of the list
            Span("✓" if row.position == self.marked else " ", "active"),
            Span(indentation(row, self.outline.gutters(index))[shift:], "dim"),
            *outline_line(
                row,
                text,
                role=role,
                label=label,
                now=now,
            ),
            *self._texts.outcome(row.position),
        )
        if row.position == self.leaf:
            return make_line(*cut_line(line, max(1, columns - len(_HERE))), Span(_HERE, "active"))
        if label is None and row.connector and (name := self._names.of(row.position)):
            end = Span(f"  ⋯ [{cut(one_line(name), _LONGEST_NAME)}]", "label")
            return make_line(*cut_line(line, max(1, columns - width(end.text))), end)
        return line

    # -- choosing what is seen ------------------------------------------------------------------------

    def set_filter(self, kind: Filter) -> None:
        """Set the filter, and unfold everything."""
        self.filter = kind
        self.folded.clear()
        self._arrange()

    def prepare_search(self, entries: int) -> bool:
        """Read at most ``entries`` more entries for the search; return whether all have been read."""
        return self._search.collect(entries)

    def search(self, words: str) -> None:
        """Show only entries with all these words, and unfold everything."""
        self.words = words
        self.folded.clear()
        self._arrange()

    def act(self, action: str, page: int = 1) -> None:
        """Run the action of a key: ``fold``, ``turn(-1)``, ``only('all')`` …

        ``page`` is the number of visible rows. ``only`` sets the default filter if its filter is set already.
        """
        name, _, given = action.rstrip(")").partition("(")
        match name:
            case "fold" if self.cursor >= 0:
                self._follow(self.outline.back(self.cursor))
            case "unfold" if self.cursor >= 0:
                self._follow(self.outline.forward(self.cursor))
            case "times":
                self.times = not self.times
            case "filter":
                self.set_filter(FILTERS[(FILTERS.index(self.filter) + int(given)) % len(FILTERS)])
            case "only":
                kind = cast("Filter", given.strip("'"))
                self.set_filter("default" if self.filter == kind else kind)
            case "turn":
                self._to(int(given), self._is_prompt)
            case "branch":
                self._to(int(given), self._is_end)
            case "step" if len(self):
                self.move_to((self.cursor + int(given)) % len(self))
            case "page":
                self.move_to(max(0, min(self.cursor + int(given) * page, len(self) - 1)))
            case "first":
                self.move_to(0)
            case "last":
                self.move_to(len(self) - 1)
            case _:
                pass

    # -- moving ---------------------------------------------------------------------------------------

    def move_to(self, index: int) -> None:
        if 0 <= index < len(self.outline):
            self.cursor = index
            self.position = self.outline.positions[index]

    def _follow(self, jump: Jump) -> None:
        match jump.action:
            case "fold":
                self.folded.add(jump.position)
                self._arrange()
            case "unfold":
                self.folded.discard(jump.position)
                self._arrange()
            case "go":
                self.position = jump.position
                self.cursor = self.outline.nearest(jump.position)

    def _is_prompt(self, index: int) -> bool:
        return self.session.index.roles[self.outline.positions[index]] == "user"

    def _is_end(self, index: int) -> bool:
        """Whether a branch ends here: the next row has a connector, or is a root, and is not deeper."""
        if index + 1 >= len(self.outline):
            return True
        following = self.outline[index + 1]
        return (following.connector or following.root) and following.level <= self.outline[index].level

    def _to(self, by: int, wanted: Callable[[int], bool]) -> None:
        """Go to the next or previous row that is wanted."""
        index = self.cursor + by
        while 0 <= index < len(self.outline):
            if wanted(index):
                self.move_to(index)
                return
            index += by
