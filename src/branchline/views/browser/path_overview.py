"""The tree beside a transcript: the path that is read in the first column, other branches one row each.

Rows are prompts, labelled entries, summaries and the first entries of other branches. Building them needs
only the shape of the tree; the text of a row is read when the row is drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, NamedTuple, TypeVar

from branchline.entries import AssistantMessage, MessageEntry, UserMessage, message_text
from branchline.errors import BranchlineError
from branchline.tree import ROOT
from branchline.views.browser.conversation import Conversation
from branchline.views.cards import CLEARED_TYPES
from branchline.views.entry_rows import RowTexts
from branchline.views.humanize import count
from branchline.views.session_source import SessionSource
from branchline.views.spans import Line, Span, StyleRole, make_line, spread
from branchline.views.text import one_line

__all__ = ["OverviewRow", "PathOverview"]

_Session = TypeVar("_Session", bound=SessionSource)
_SHOWN = CLEARED_TYPES | {"compaction", "branch_summary"}
_SETTINGS = frozenset({"model_change", "thinking_level_change", "context_edit", "label", "session_info"})
_BRANCHES = 6
_NEWEST = 4
"""With more branches than ``_BRANCHES`` at one entry, this many newest are shown and the others counted."""
_LONGEST = 400


class OverviewRow(NamedTuple):
    """An entry of the path, or the first one of a branch that leaves it after the path's ``place``."""

    place: int
    position: int
    branch: bool = False
    older: int = 0
    """The number of branches that this row stands for, instead of an entry."""


class PathOverview(Generic[_Session]):
    """The rows for a conversation. ``current`` is the row of the part that is being read."""

    def __init__(self, conversation: Conversation[_Session]) -> None:
        self.conversation = conversation
        self._session = conversation.session
        self._path = conversation.path
        self._texts = RowTexts(self._session.transcript, home=conversation.home)
        self._sizes: dict[int, int] = {}
        self.current = -1
        self.rows = self._arranged()
        self._on_path = [number for number, row in enumerate(self.rows) if not row.branch]
        self._places = [self.rows[number].place for number in self._on_path]

    def _arranged(self) -> list[OverviewRow]:
        tree = self._session.index
        types, roles = tree.types, tree.roles
        labelled = {
            tree.position(key) for key in self._session.transcript.reading.labels if key in tree.positions
        }
        forks = self.conversation.forks
        rows = self._branches(-1, ROOT) if ROOT in forks else []
        for place, position in enumerate(self._path):
            kind = types[position]
            prompt = roles[position] == "user" and kind == "message"
            if prompt or kind in _SHOWN or position in labelled:
                rows.append(OverviewRow(place, position))
            if position in forks:
                rows += self._branches(place, position)
        return rows

    def _branches(self, place: int, position: int) -> list[OverviewRow]:
        tree, on_path = self._session.index, self.conversation.on_path
        children = map(
            tree.position, self._session.children(None if position == ROOT else tree.keys[position])
        )
        others = [child for child in children if child not in on_path]
        hidden = len(others) - _NEWEST if len(others) > _BRANCHES else 0
        rows = [OverviewRow(place, child, branch=True) for child in others[hidden:]]
        if hidden:
            rows.append(OverviewRow(place, others[hidden - 1], branch=True, older=hidden))
        return rows

    def __len__(self) -> int:
        return len(self.rows)

    def read_at(self, place: int) -> int:
        """Make the row of a place of the path the current one, or the nearest row above it."""
        at = bisect_right(self._places, place) - 1
        self.current = self._on_path[max(0, at)] if self._on_path else -1
        return self.current

    def key(self, index: int) -> str:
        """The entry that a row leads to."""
        return self._session.index.keys[self.rows[index].position]

    def line(self, index: int, columns: int) -> Line:
        """One row; the current one is bold."""
        row = self.rows[index]
        if row.older:
            words = count(row.older, "older branch", "older branches")
            return make_line(" ", Span("┠─▸ ", "active"), Span(f"{words} here", "dim"))
        tree = self._session.index
        kind = tree.types[row.position]
        mark = "◉ " if index == self.current else "╪ " if kind == "compaction" else "● "
        if kind in CLEARED_TYPES:
            mark = "┊ "
        label = self._session.transcript.reading.labels.get(tree.keys[row.position])
        role: StyleRole = "title" if index == self.current else "plain"
        if row.branch or kind != "message":
            role = "dim"
        line = make_line(
            " ",
            Span("┠─▸ " if row.branch else mark, "active"),
            Span(f"[{one_line(label.text)}] " if label is not None else "", "label"),
            Span(self._words(row.position), role),
        )
        if not row.branch:
            return line
        return spread(line, make_line(Span(f"  {self._size(row.position):,}", "dim")), columns)

    def _words(self, position: int) -> str:
        """The text of an entry, or of the first entry below it with text, without the role."""
        tree = self._session.index
        while tree.types[position] in _SETTINGS or position in tree.textless:
            below = tree.child_positions(position)
            if not below:
                break
            position = below[0]
        try:
            entry = self._session.transcript.entry(position)
        except (BranchlineError, OSError, ValueError) as problem:  # the file was changed under us
            return str(problem)
        said = ""
        if isinstance(entry, MessageEntry) and isinstance(entry.message, (UserMessage, AssistantMessage)):
            said = message_text(entry.message)[:_LONGEST]
        if said.strip():
            return one_line(said)
        words = one_line(self._texts.of(position, entry))
        return words[1:].replace("]", "", 1) if words.startswith("[") else words

    def _size(self, position: int) -> int:
        """The number of entries of a branch, including its own branches."""
        size = self._sizes.get(position)
        if size is None:
            tree = self._session.index
            size, waiting = 0, [position]
            while waiting:
                below = waiting.pop()
                size += tree.nearest_conversation_entry(below) == below
                waiting += tree.child_positions(below)
            self._sizes[position] = size
        return size
