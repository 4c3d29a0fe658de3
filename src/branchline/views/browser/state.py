"""The state of the session browser: rows, choices, marks and hits, and the lines that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from branchline.views.browser.arrangement import (
    SORTS,
    Arrangement,
    Hide,
    ListOptions,
    Shape,
    Sort,
    arrange,
    defer_patterns,
    face_of,
    has_shape,
    project_name,
)
from branchline.views.browser.line_edit import LineEdit
from branchline.views.browser.list_rows import (
    RowLook,
    ScreenColumns,
    detail_lines,
    group_line,
    header_line,
    hit_line,
    row_line,
    screen_columns,
    second_line,
)
from branchline.views.browser.search_line import PRESS_TO_SEARCH, search_line
from branchline.views.browser.source import Batch, Scope, SessionRowSource
from branchline.views.figures import CostFigure, sum_of_costs
from branchline.views.hits import Hit, Hits
from branchline.views.humanize import count
from branchline.views.query import Match, Query, SearchFields, parse_query
from branchline.views.session_row import (
    ELSEWHERE,
    OTHER_AGENT,
    ListItem,
    SessionRow,
    SkippedFile,
    row_name,
)
from branchline.views.spans import Line, Piece, Span, StyleRole, line_width, make_line, shown_line, spread
from branchline.views.text import one_line
from branchline.views.tool_calls import short_path

__all__ = ["BrowserState", "ListLine", "Pill", "PinnedNames", "ScopeRows", "top_bar"]

_Source = TypeVar("_Source", bound=SessionRowSource)
_TYPE = 'type; words, "a phrase", agent:pi, after:2w, file:parse.py'
_TELLING = frozenset({"role", "tool", "label", "file", "in"})
"""Fields whose matches are shown as hits; the others select whole sessions."""
_DAY_MS = 86_400_000
_PERIODS: dict[str, int] = {"any time": 0, "today": 1, "7 days": 7, "30 days": 30}
_SHAPES: dict[Shape | None, str] = {
    None: "any shape",
    "branches": "with branches",
    "fork": "forks",
    "titled": "with a title",
}
_FEW_LINES = 30
_PROGRESS = 12


class Pill(NamedTuple):
    """A choice in the bars above the list: its text, and what a click selects."""

    span: Span
    choice: Literal["agent", "scope", "period", "shape", "screen"] | None = None
    value: str = ""


class ListLine(NamedTuple):
    """A line of the list: a session, or details of it."""

    item: int
    kind: Literal["row", "second", "detail", "hit", "heading"]
    number: int = 0


class PinnedNames(Protocol):
    """The names of pinned sessions; ``ids`` are pinned by the settings."""

    problem: str | None
    ids: frozenset[str]

    def __contains__(self, name: object, /) -> bool: ...
    def toggle(self, names: Iterable[str], /) -> bool: ...


class ScopeRows:
    """The rows of one scope read so far, and the remaining batches."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.batches = batches
        self.is_being_read = False
        self.rows: dict[str, SessionRow] = {}
        self._unchecked: set[str] = set()
        self.hidden: list[SkippedFile] = []
        self.left_out = 0
        """How many files of this scope are hidden: those of other directories and agents are not of it."""
        self.loaded = 0
        self.total: int | None = None

    @property
    def done(self) -> bool:
        return self.total is not None and self.loaded >= self.total

    def take(self, batch: Batch) -> None:
        """Add a batch. At the end, drop provisional rows without a session."""
        names = [row_name(row) for row in batch.rows]
        self.rows.update(zip(names, batch.rows, strict=True))
        if batch.is_provisional:
            self._unchecked.update(names)
        else:
            self._unchecked.difference_update(names)
        self.hidden += batch.hidden
        self.left_out += sum(item.reason not in (ELSEWHERE, OTHER_AGENT) for item in batch.hidden)
        self.loaded, self.total = batch.loaded, batch.total
        if self.done:
            for name in self._unchecked:
                self.rows.pop(name, None)
            self._unchecked.clear()

    @property
    def unreadable(self) -> list[SessionRow]:
        return [row for row in self.rows.values() if row.problem is not None]


def _failing(problem: Exception) -> Iterator[Batch]:
    """Batches that fail with this problem."""
    yield from ()
    raise problem


def top_bar(here: str, *, demo: bool, width: int) -> list[Pill]:
    """Return the first line of the screen: the tabs, and whether this is the demo."""
    names = ("Sessions", "Statistics")
    tabs = [Pill(Span(name, "cursor" if name == here else "dim"), "screen", name.lower()) for name in names]
    pills = [Pill(Span(" branchline   ", "active")), tabs[0], Pill(Span("   ")), tabs[1]]
    used = sum(len(pill.span.text) for pill in pills)
    badge = " demo " if demo else ""
    return [*pills, Pill(Span(" " * max(1, width - used - len(badge) - 1))), Pill(Span(badge, "prompt"))]


class BrowserState(Generic[_Source]):
    """The rows of a list, arranged by the choices of the user."""

    def __init__(
        self,
        source: _Source,
        scope: Scope,
        pins: PinnedNames,
        *,
        words: str = "",
        sort: Sort = "recent",
        now: Callable[[], float],
        home: str = "",
        hide: Hide = "nothing",
        two_lines: bool = False,
        letters: bool = False,
        demo: bool = False,
    ) -> None:
        self.source = source
        self.scope: Scope = scope
        self.pins = pins
        self.now = now
        self.sort: Sort = sort
        self.hide: Hide = hide
        self.shape: Shape | None = None
        self.period = "any time"
        self.grouped = False
        self.two_lines = two_lines
        self.paths = False
        self.letters = letters
        """Whether single letters act and a search begins with ``/``."""
        self.demo = demo
        """Whether these are the sessions of the demo, which are not continued."""
        self.agent: str | None = None
        self.query = Query()
        self.marked: dict[str, SessionRow] = {}
        self.expanded: set[str] = set()
        self.costs: dict[str, CostFigure] = {}
        """The costs of sessions by :func:`row_name`, as far as they are computed."""
        self.decided: dict[str, Match] = {}
        self.answer: Hits | None = None
        self.hits: dict[str, list[Hit]] = {}
        self.place = 0
        self.arranged = Arrangement([])
        self.scopes: dict[Scope, ScopeRows] = {}
        self.home = home
        self.height = 0
        self.lines: list[ListLine] = []
        self.stops: list[int] = []
        self.places: list[tuple[int, int]] = []
        """All known hits in the order of the list: the item, and the number of its hit."""
        self._faces: dict[str, SearchFields] = {}
        self._agents: tuple[tuple[Scope, int], list[tuple[str, int]]] | None = None
        self.search(words)

    @property
    def loaded(self) -> ScopeRows:
        """The rows of the current scope read so far."""
        loaded = self.scopes.get(self.scope)
        if loaded is None:
            loaded = self.scopes[self.scope] = ScopeRows(self.source.rows(self.scope))
        return loaded

    def begin(self) -> bool:
        """Read the first batch; return whether the scope has sessions."""
        loaded = self.loaded
        try:
            loaded.take(next(loaded.batches))
        except Exception as problem:  # noqa: BLE001  third-party formats may raise anything; the list shows it
            loaded.batches = _failing(problem)
        self.arrange()
        return bool(loaded.rows) or not loaded.done

    @property
    def items(self) -> list[ListItem]:
        return self.arranged.items

    def search_fields(self, row: SessionRow) -> SearchFields:
        """Return the searchable fields of a row, cached."""
        name = row_name(row)
        face = self._faces.get(name)
        if face is None:
            face = self._faces[name] = face_of(row, self.source.agent(row))
        return face

    def agents(self) -> list[tuple[str, int]]:
        """Return the agents of the scope with their number of sessions, most first."""
        rows = self.loaded.rows
        if self._agents is None or self._agents[0] != (self.scope, len(rows)):
            counts = Counter(self.source.agent(row) for row in rows.values() if row.problem is None)
            found = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
            self._agents = (self.scope, len(rows)), found
        return self._agents[1]

    # -- choosing -------------------------------------------------------------------------------------

    def search(self, words: str) -> None:
        """Set the search. Matches in messages arrive later, with :meth:`take_hits`."""
        self.words = words
        self.given_up = ""
        self.query = parse_query(words, now=datetime.fromtimestamp(self.now()).astimezone())
        self.decided = {}
        self.answer = None
        self.hits = {}
        self.place = 0

    def take_hits(self, hits: Hits) -> None:
        self.answer = hits
        self.hits = {}
        for hit in hits:
            self.hits.setdefault(row_name(hit.row), []).append(hit)
        rows = self.loaded.rows
        self.decided = {name: Match(found=name in self.hits) for name in rows}
        for found in self.hits.values():
            found[:] = [hit for hit in found if hit.role != "title"]
        fields = {term.field for term in self.query.terms}
        if not self.query.words and self.query.pattern is None and not fields & _TELLING:
            self.hits = {}
        self.given_up = hits.remarks[0] if hits and hits.remarks else ""

    def next_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]

    def choose(self, choice: str, value: str) -> None:
        """Toggle a filter: an agent, a period, a shape."""
        match choice:
            case "agent":
                self.agent = None if value in ("", self.agent) else value
            case "period":
                self.period = value if value in _PERIODS and value != self.period else "any time"
            case "shape":
                found = next((shape for shape, words in _SHAPES.items() if words == value), None)
                self.shape = None if found == self.shape else found
            case "hide":
                self.hide = "nothing" if self.hide == value else value  # type: ignore[assignment]

    def filter_choices(self) -> list[tuple[str, str, str]]:
        """Return all filters: their kind, their value, and the number of sessions or the key."""
        rows = [row for row in self.loaded.rows.values() if row.problem is None]
        found = [("agent", name, f"{number:,}") for name, number in self.agents()]
        here = short_path(self.source.cwd, self.home)
        found.append(("scope", "all directories" if self.scope == "here" else f"only {here}", "Shift+Tab"))
        for period, days in _PERIODS.items():
            since = self.now() * 1000 - days * _DAY_MS
            number = sum(row.active_ms >= since for row in rows) if days else len(rows)
            found.append(("period", period, f"{number:,}"))
        for shape, words in _SHAPES.items():
            found.append(("shape", words, f"{sum(has_shape(row, shape) for row in rows):,}"))
        empty = sum(row.messages == 0 for row in rows)
        once = sum(row.prompts == 1 and bool(row.messages) for row in rows)
        found.append(("hide", "empty", f"{empty:,}"))
        found.append(("hide", "one-shot", f"{once:,}"))
        return found

    def clear_choices(self) -> bool:
        """Clear all filters and marks; return whether there were any."""
        chosen = bool(self.marked or self.agent or self.shape or self.period != "any time")
        self.marked.clear()
        self.agent, self.shape, self.period = None, None, "any time"
        return chosen

    def toggle_mark(self, row: SessionRow) -> None:
        if self.marked.pop(row_name(row), None) is None:
            self.marked[row_name(row)] = row

    def arrange(self) -> None:
        """Filter and sort the rows, and lay out the lines of the list."""
        days = _PERIODS[self.period]
        self.arranged = arrange(
            self.loaded.rows.values(),
            ListOptions(
                sort=self.sort,
                agents=frozenset() if self.agent is None else frozenset({self.agent}),
                since_ms=round(self.now() * 1000 - days * _DAY_MS) if days else 0,
                shape=self.shape,
                hide=self.hide,
                grouped=self.grouped,
                query=self.query,
            ),
            agent=self.source.agent,
            faces=self.search_fields,
            pinned=lambda row: row_name(row) in self.pins or row.id in self.pins.ids,
            decided=self.decided,
            search=defer_patterns,
        )
        self.lay()

    # -- lines and places -----------------------------------------------------------------------------

    def lay(self) -> None:
        """Lay out the lines of the list for the height of the screen."""
        lines: list[ListLine] = []
        stops: list[int] = []
        self.places = []
        if self.hits:
            self.places = [
                (at, number)
                for at, item in enumerate(self.items)
                for number in range(len(self.hits.get(row_name(item.row), ())))
            ]
        self.place = min(self.place, max(0, len(self.places) - 1))
        group: str | object | None = object()
        for at, item in enumerate(self.items):
            if self.grouped and item.row.cwd != group:
                group = item.row.cwd
                lines.append(ListLine(at, "heading"))
            stops.append(len(lines))
            lines.append(ListLine(at, "row"))
            name = row_name(item.row)
            if self.two_lines or self.paths:
                lines.append(ListLine(at, "second"))
            found = self.hits.get(name)
            if name in self.expanded:
                details = detail_lines(item.row, screen_columns(80), RowLook(self.now(), home=self.home))
                lines += [ListLine(at, "detail", number) for number in range(len(details))]
            if found:
                lines += [ListLine(at, "hit", number) for number in self._shown_hits(at, name)]
        self.lines, self.stops = lines, stops

    def _shown_hits(self, item: int, name: str) -> range:
        """The shown hits of a session: all if it is expanded, otherwise those around the current one."""
        total = len(self.hits[name])
        if name in self.expanded:
            return range(total)
        few = 1 if self.height < _FEW_LINES else 2
        at, number = self.places[self.place] if self.places else (-1, 0)
        first = max(0, min(number, total - few)) if at == item else 0
        return range(first, min(total, first + few))

    def item_at(self, line: int) -> int | None:
        return self.lines[line].item if 0 <= line < len(self.lines) else None

    def line_of(self, item: int) -> int:
        """Return the first line of an item."""
        return self.stops[item] if 0 <= item < len(self.stops) else 0

    def place_of(self, name: str) -> int | None:
        """Return the line of a session; None if it is not shown."""
        found = next((at for at, item in enumerate(self.items) if row_name(item.row) == name), None)
        return None if found is None else self.line_of(found)

    def step_place(self, by: int) -> int | None:
        """Go to the next or previous hit, cyclically, and return its item."""
        if not self.places:
            return None
        self.place = (self.place + by) % len(self.places)
        self.lay()
        return self.places[self.place][0]

    def stand_on(self, item: int) -> None:
        """Move the cursor to an item: its first hit becomes current, unless another of its hits is."""
        if self.places and self.places[self.place][0] != item:
            found = next((at for at, place in enumerate(self.places) if place[0] == item), None)
            if found is not None:
                self.place = found
                self.lay()

    def hit_of(self, item: int | None) -> Hit | None:
        """Return the current hit if it is in this item, otherwise the first hit of the item."""
        if item is None or not 0 <= item < len(self.items):
            return None
        found = self.hits.get(row_name(self.items[item].row))
        if not found:
            return None
        at, number = self.places[self.place] if self.places else (-1, 0)
        return found[number if at == item and number < len(found) else 0]

    def toggle_expanded(self, row: SessionRow) -> None:
        self.expanded ^= {row_name(row)}
        self.lay()

    # -- sessions that change -------------------------------------------------------------------------

    def drop(self, rows: Iterable[SessionRow]) -> None:
        """Remove sessions that no longer exist."""
        for row in rows:
            self.marked.pop(row_name(row), None)
            for loaded in self.scopes.values():
                loaded.rows.pop(row_name(row), None)

    def replace(self, row: SessionRow, *, back: bool = False) -> None:
        """Replace the row of a session; add it if it is ``back`` from the trash."""
        name = row_name(row)
        self._faces.pop(name, None)
        for scope, loaded in self.scopes.items():
            if name in loaded.rows or (back and scope == self.scope):
                loaded.rows[name] = row

    def forget(self) -> None:
        """Forget the rows of this scope, so that it is read again."""
        self.scopes.pop(self.scope, None)
        self._faces.clear()

    # -- what is drawn --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.lines)

    def line(self, index: int, columns: int) -> Line:
        at, kind, number = self.lines[index]
        item = self.items[at]
        row, name = item.row, row_name(item.row)
        widths = self._columns(columns)
        match kind:
            case "second":
                return second_line(row, widths, home=self.home, path=self.paths)
            case "detail":
                details = detail_lines(row, widths, RowLook(self.now(), home=self.home))
                return details[number] if number < len(details) else ()
            case "hit":
                found, shown = self.hits[name], self._shown_hits(at, name)
                more = len(found) - len(shown) if number == shown[-1] else 0
                current = bool(self.places) and self.places[self.place] == (at, number)
                return hit_line(found[number], widths, more=more, current=current)
            case "heading":
                mine = [one.row for one in self.items if one.row.cwd == row.cwd]
                costs = [one for row in mine if (one := self.costs.get(row_name(row))) is not None]
                cost = sum_of_costs(costs) if costs else None
                directory = short_path(row.cwd or "(no directory)", self.home)
                return group_line(project_name(row) or "(no directory)", directory, len(mine), cost, widths)
            case "row":
                return row_line(
                    row,
                    widths,
                    RowLook(
                        self.now(),
                        home=self.home,
                        agent=item.agent,
                        cost=self.costs.get(name),
                        branch=item.branch,
                        indent=2 if self.grouped else 0,
                        marked=name in self.marked,
                        pinned=item.pinned,
                        by_created=self.sort == "created",
                        words=self.query.words,
                    ),
                )

    def _columns(self, width: int) -> ScreenColumns:
        return screen_columns(width, project=not self.grouped)

    def search_line(self, edit: LineEdit, width: int, *, typing: bool = True) -> Line:
        """Return the search line: the query, its problem, and the counts."""
        problem = self.query.problem if edit.text and edit.text == self.words else None
        hint = PRESS_TO_SEARCH if self.letters and not typing else _TYPE
        counts = self.counts_line(width)
        room = width - line_width(counts) - 12
        left = make_line(
            *search_line(edit, hint if room >= len(hint) else "", typing=typing),
            Span(f"   {problem}" if problem else "", "warning"),
        )
        return spread(left, counts if problem is None else (), width)

    def columns_line(self, width: int) -> Line:
        return header_line(self._columns(width), sort=self.sort)

    def pills(self, width: int) -> list[Pill]:
        """Return the filters: on the left agents, as many as fit; on the right scope, period and shape."""
        where = short_path(self.source.cwd, self.home) if self.scope == "here" else "all directories"
        choices: list[tuple[Literal["scope", "period", "shape"], str, bool]] = [
            ("scope", where if len(where) <= 24 else "this directory", self.scope == "here"),
            ("period", self.period, self.period != "any time"),
            ("shape", _SHAPES[self.shape], self.shape is not None),
        ]
        right: list[Pill] = []
        for choice, words, chosen in choices[: 3 if width >= 100 else 1 if width < 60 else 2]:
            right += [
                Pill(Span("   ")),
                Pill(Span(words, "plain" if chosen else "tool"), choice),
                Pill(Span(" ▾", "dim"), choice),
            ]
        agents = self.agents()
        everything = sum(number for _name, number in agents)
        known = [("All", "", everything), *((name, name, number) for name, number in agents)]
        if len(agents) < 2:
            known = known[:1]
        room = width - _pills_width(right) - 3
        left = [Pill(Span(" "))]
        for at, (words, value, number) in enumerate(known):
            role: StyleRole = "cursor" if (self.agent or "") == value else "tool"
            more = f"+{len(known) - at}"
            if (
                _pills_width(left)
                + len(words)
                + len(f"{number:,}")
                + 5
                + (len(more) if at + 1 < len(known) else 0)
                > room
            ):
                left.append(Pill(Span(more, "dim"), "agent", "?"))
                break
            left += [
                Pill(Span(words, role), "agent", value),
                Pill(Span(f" {number:,}", "dim"), "agent", value),
                Pill(Span("   ")),
            ]
        gap = width - _pills_width(left) - _pills_width(right) - 1
        return [*left, Pill(Span(" " * max(0, gap))), *right]

    def counts_line(self, width: int) -> Line:
        """Return the counts: sessions, shown sessions, and the progress of reading."""
        loaded = self.loaded
        if not loaded.done:
            total = loaded.total or 0
            done = _PROGRESS * loaded.loaded // total if total else 0
            return make_line(
                Span(f"{loaded.loaded:,} of {total:,} read ", "tool"),
                Span("━" * done, "active"),
                Span("━" * (_PROGRESS - done), "dim"),
            )
        if self.query:
            return self._found_line()
        told = count(len(loaded.rows), "session")
        if len(self.items) + self.arranged.left_out < len(loaded.rows):
            told = f"{len(self.items):,} of {told}"
        if self.grouped:
            projects = len({item.row.cwd for item in self.items})
            told += f" in {count(projects, 'project')}"
        unreadable = len(loaded.unreadable)
        what = {"empty": "empty", "one-shot": "empty or one-shot"}.get(self.hide, "")
        rest = f", {self.arranged.left_out:,} {what} hidden" if self.arranged.left_out else ""
        rest += f", {loaded.left_out:,} left out" if loaded.left_out else ""
        rest += f", {unreadable:,} unreadable" if unreadable else ""
        if len(told) + len(rest) + 40 > width:
            rest = ""
        return make_line(Span(told, "tool"), Span(rest, "dim"))

    def _found_line(self) -> Line:
        waiting = self.answer is None and self.query.problem is None
        if self.places and self.answer is not None:
            total = max(len(self.places), self.answer.total)
            plus = "+" if self.answer.at_least else ""
            pieces: list[Piece] = [
                Span(f"place {self.place + 1:,} of {total:,}{plus}", "tool"),
                Span(f" in {count(len(self.items), 'session')}", "dim"),
            ]
        else:
            pieces = [Span(f"{len(self.items):,} of {count(len(self.loaded.rows), 'session')}", "tool")]
        return make_line(*pieces, Span(" …" if waiting else "", "active"))

    def message_line(self) -> Line:
        """Return the message below the list: marks, or notes of the search."""
        if self.marked:
            return make_line(
                Span(f" {len(self.marked):,} marked", "title"),
                Span("   F6 compare   Delete trash   Ctrl+O more   Esc unmark", "dim"),
            )
        return make_line(Span(f" {self.given_up}" if self.given_up else "", "dim"))

    def empty_lines(self) -> list[Line]:
        """Return the lines of an empty list: why it is empty, and the keys that change it."""
        if self.query.problem is not None:
            return [make_line(Span(f" {self.query.problem}", "dim"))]
        if not self.loaded.done or (self.query and self.answer is None):
            return [make_line(Span(" reading …", "dim"))]
        filtered = bool(self.agent or self.shape or self.period != "any time")
        if self.query:
            words = one_line(self.words)
            lines = [make_line(Span(" No session matches ", "tool"), Span(words, "title"), Span(".", "tool"))]
            if self.answer is not None:
                said = [self.answer.coverage, *self.answer.remarks]
                if self.answer.unindexed:
                    said.append(f"{count(self.answer.unindexed, 'session')} not indexed yet")
                lines += [make_line(Span(f" {one_line(text)}", "dim")) for text in said]
            keys = [("Esc", "clear the search")]
            if found := self._agents_like(words):
                keys.insert(0, ("type", f"agent:{found[0][0]}, {count(found[0][1], 'session')}"))
        elif filtered:
            lines = [make_line(Span(" No session matches these filters.", "tool"))]
            keys = [("Esc", "clear the filters")]
        else:
            where = " in this directory" if self.scope == "here" else ""
            lines = [make_line(Span(f" No sessions{where} yet.", "tool"))]
            keys = []
        if filtered and self.query:
            keys.append(("Tab", "change the filters"))
        if self.scope == "here":
            keys.append(("Shift+Tab", "search all directories" if self.query else "show all directories"))
        return [*lines, *(make_line(Span(f" {key:<12}", "title"), Span(what, "dim")) for key, what in keys)]

    def _agents_like(self, words: str) -> list[tuple[str, int]]:
        """Return the agents that a search without matches may have meant."""
        return [found for found in self.agents() if len(words) > 1 and found[0].startswith(words.lower())]


def _pills_width(pills: list[Pill]) -> int:
    return line_width(shown_line(pill.span for pill in pills))
