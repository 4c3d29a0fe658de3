"""The files that a path or a session read or changed, with counts of calls and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from branchline.tree import EntrySource
from branchline.views.call_outcomes import changed_lines
from branchline.views.humanize import count
from branchline.views.spans import Line, Span, cut_line, line_width, make_line
from branchline.views.text import cut_start, one_line
from branchline.views.tool_calls import Call, calls_of, short_path
from branchline.views.tool_views import call_files, call_sections, tool_kind

__all__ = ["FileList", "TouchedFile", "files_touched"]


class TouchedFile(NamedTuple):
    """A file, the entries whose calls name it (oldest first), and counts of reads and changes."""

    path: str
    entries: tuple[str, ...]
    reads: int
    changes: int
    added: int
    removed: int


def files_touched(source: EntrySource, positions: Iterable[int]) -> list[TouchedFile]:
    """Return the files that the calls of these entries name; changed files first, then by recency."""
    roles, keys = source.tree.roles, source.tree.keys
    found: dict[str, TouchedFile] = {}
    order: dict[str, int] = {}
    for position in positions:
        if roles[position] != "assistant":
            continue
        for call in calls_of(source.entry(position)):
            for path, changed, added, removed in _touches(call):
                before = found.get(path, TouchedFile(path, (), 0, 0, 0, 0))
                found[path] = TouchedFile(
                    path,
                    (*before.entries, keys[position]),
                    before.reads + (not changed),
                    before.changes + changed,
                    before.added + added,
                    before.removed + removed,
                )
                order[path] = position
    return sorted(found.values(), key=lambda file: (not file.changes, -order[file.path]))


def _touches(call: Call) -> Iterator[tuple[str, bool, int, int]]:
    files = call_files(call)
    if not files:
        return
    changed = tool_kind(call.name) in ("write", "edit")
    added = removed = 0
    if changed:
        added, removed = changed_lines(call.name, call_sections(call))
    for number, path in enumerate(files):
        # The lines of a patch over several files count for the first one.
        yield path, changed, added if number == 0 else 0, removed if number == 0 else 0


class FileList:
    """The files as rows of a list."""

    def __init__(self, files: Sequence[TouchedFile], words: str = "", home: str = "", cwd: str = "") -> None:
        wanted = words.lower().split()
        self.files = [file for file in files if all(word in file.path.lower() for word in wanted)]
        self._home = home
        self._cwd = cwd.rstrip("/") + "/" if cwd else ""

    def __len__(self) -> int:
        return len(self.files)

    def line(self, index: int, columns: int) -> Line:
        """Return the line of a file: its path, its changes, and its calls."""
        file = self.files[index]
        plus, minus = f"+{file.added}" if file.added else "", f"-{file.removed}" if file.removed else ""
        what = count(file.changes, "change") if file.changes else "read"
        calls = count(len(file.entries), "call")
        tail = make_line(
            " " * (7 - len(plus)),
            Span(plus, "added"),
            " " * (7 - len(minus)),
            Span(minus, "removed"),
            Span(f"  {what:>10}  {calls:>9}", "dim"),
        )
        path = file.path.removeprefix(self._cwd) if self._cwd else file.path
        room = max(10, columns - line_width(tail) - 3)
        shown = cut_start(one_line(short_path(path, self._home)), room)
        left = cut_line((Span(f" {shown}", "plain" if file.changes else "tool"),), room + 1)
        return make_line(*left, " " * max(1, columns - line_width(left) - line_width(tail) - 1), *tail)
