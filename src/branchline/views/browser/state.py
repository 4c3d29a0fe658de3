"""What the session browser knows and shows, without a screen: rows read so far, choices, marks, costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from branchline.views.browser.arrangement import (
    SORTS,
    Arrangement,
    ListOptions,
    Sort,
    arrange,
    defer_patterns,
    face_of,
)
from branchline.views.browser.search_line import PRESS_TO_SEARCH, search_line
from branchline.views.browser.source import Batch, Scope, Source
from branchline.views.humanize import count
from branchline.views.query import Match, Query, SearchFields, parse_query
from branchline.views.session_lines import (
    NOT_COUNTED,
    SessionColumns,
    header_line,
    screen_columns,
    session_line,
)
from branchline.views.session_row import ListItem, SessionRow, SkippedFile, row_name
from branchline.views.spans import Line, Piece, Span, line_width, make_line, shown_line
from branchline.views.tool_calls import short_path

__all__ = ["Bars", "BrowserState", "Pill", "PinnedNames", "ScopeRows"]


_NOT_FOUND = Match(found=False)


class Pill(NamedTuple):
    """A choice in the bars above the list: how it is shown, and what a click on it chooses."""

    span: Span
    choice: Literal["scope", "sort", "named", "program"] | None = None
    value: str = ""


class PinnedNames(Protocol):
    """The names of pinned sessions; ``ids`` are those that the settings pin for good."""

    problem: str | None
    ids: frozenset[str]

    def __contains__(self, name: object, /) -> bool: ...
    def toggle(self, names: Iterable[str], /) -> bool: ...


class Bars(NamedTuple):
    """The pills above the list; ``programs`` is empty where one line is enough."""

    top: list[Pill]
    programs: list[Pill]


class ScopeRows:
    """What was read of one scope so far, and the batches that are still to come."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self.batches = batches
        self.is_being_read = False
        self.rows: dict[str, SessionRow] = {}
        self.hidden: list[SkippedFile] = []
        self.loaded = 0
        self.total: int | None = None

    @property
    def done(self) -> bool:
        return self.total is not None and self.loaded >= self.total

    def take(self, batch: Batch) -> None:
        """Add what a batch brings."""
        for row in batch.rows:
            self.rows[row_name(row)] = row
        self.hidden += batch.hidden
        self.loaded, self.total = batch.loaded, batch.total

    @property
    def unreadable(self) -> list[SessionRow]:
        return [row for row in self.rows.values() if row.problem is not None]


def _failing(problem: Exception) -> Iterator[Batch]:
    """What was to be read, with the failure that is all there is of it."""
    yield from ()
    raise problem


class BrowserState:
    """The rows of a list, arranged by what a person has chosen."""

    def __init__(
        self,
        source: Source[Any],
        scope: Scope,
        pins: PinnedNames,
        *,
        words: str = "",
        sort: Sort = "recent",
        now: Callable[[], float],
        home: str = "",
    ) -> None:
        self.source = source
        self.scope: Scope = scope
        self.pins = pins
        self.now = now
        self.sort: Sort = sort
        self.named_only = False
        self.paths = False
        self.agent: str | None = None
        self.query = Query()
        self.marked: dict[str, SessionRow] = {}
        self.costs: dict[str, float | None] = {}
        self.decided: dict[str, Match] = {}
        self.arranged = Arrangement([], [])
        self.scopes: dict[Scope, ScopeRows] = {}
        self.home = home
        self._faces: dict[str, SearchFields] = {}
        self.search(words)

    @property
    def loaded(self) -> ScopeRows:
        """What was read of the scope that is shown."""
        loaded = self.scopes.get(self.scope)
        if loaded is None:
            loaded = self.scopes[self.scope] = ScopeRows(self.source.rows(self.scope))
        return loaded

    def begin(self) -> bool:
        """Read the first batch here and now; whether there is anything in this scope."""
        loaded = self.loaded
        try:
            loaded.take(next(loaded.batches))
        except Exception as problem:  # noqa: BLE001  formats come from many hands; the list itself says it
            loaded.batches = _failing(problem)
        self.arrange()
        return bool(loaded.rows) or not loaded.done

    @property
    def items(self) -> list[ListItem]:
        return self.arranged.items

    def search_fields(self, row: SessionRow) -> SearchFields:
        """What a search knows of a row, made once."""
        name = row_name(row)
        face = self._faces.get(name)
        if face is None:
            face = self._faces[name] = face_of(row, self.source.agent(row))
        return face

    def agents(self) -> list[str]:
        """The programs whose sessions are here."""
        rows = self.loaded.rows.values()
        return sorted({self.source.agent(row) for row in rows if row.problem is None})

    # -- choosing -------------------------------------------------------------------------------------

    def search(self, words: str) -> None:
        """Look for other words."""
        self.words = words
        self.given_up = ""
        self.query = parse_query(words, now=datetime.fromtimestamp(self.now()).astimezone())
        self.decided = {}

    def next_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        self.decided = {}  # relevance also finds letters in their order

    def next_agent(self) -> None:
        choices: list[str | None] = [None, *self.agents()]
        place = choices.index(self.agent) if self.agent in choices else 0
        self.agent = choices[(place + 1) % len(choices)]

    def clear_choices(self) -> bool:
        """Show everything again; whether anything was chosen."""
        chosen = bool(self.marked or self.agent or self.named_only)
        self.marked.clear()
        self.agent, self.named_only = None, False
        return chosen

    def abort_search(self, why: str) -> None:
        """Search no further, and say why; what was found stays."""
        self.given_up = why
        self.decided.update(
            (row_name(row), _NOT_FOUND)
            for row in self.arranged.undecided
            if row_name(row) not in self.decided
        )

    def toggle_mark(self, row: SessionRow) -> None:
        if self.marked.pop(row_name(row), None) is None:
            self.marked[row_name(row)] = row

    def arrange(self) -> None:
        """Put the rows in order."""
        self.arranged = arrange(
            self.loaded.rows.values(),
            ListOptions(
                sort=self.sort,
                named_only=self.named_only,
                agents=frozenset() if self.agent is None else frozenset({self.agent}),
                query=self.query,
            ),
            agent=self.source.agent,
            faces=self.search_fields,
            pinned=lambda row: row_name(row) in self.pins or row.id in self.pins.ids,
            decided=self.decided,
            search=defer_patterns,
        )

    def place_of(self, name: str) -> int | None:
        """Where a session stands among the rows that are shown."""
        return next((place for place, item in enumerate(self.items) if row_name(item.row) == name), None)

    # -- sessions that change -------------------------------------------------------------------------

    def drop(self, rows: Iterable[SessionRow]) -> None:
        """Forget sessions that are gone."""
        for row in rows:
            self.marked.pop(row_name(row), None)
            for loaded in self.scopes.values():
                loaded.rows.pop(row_name(row), None)

    def replace(self, row: SessionRow, *, back: bool = False) -> None:
        """Take a session as it is now; one that is not in the list only if it is ``back`` from the trash."""
        name = row_name(row)
        self._faces.pop(name, None)
        self.costs.pop(name, None)
        for scope, loaded in self.scopes.items():
            if name in loaded.rows or (back and scope == self.scope):
                loaded.rows[name] = row

    def forget(self) -> None:
        """Read this scope again from the beginning."""
        self.scopes.pop(self.scope, None)
        self._faces.clear()
        self.costs.clear()

    # -- lines ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.items)

    def line(self, index: int, columns: int) -> Line:
        """One row of the list."""
        item = self.items[index]
        name = row_name(item.row)
        return session_line(
            item.row,
            self._columns(columns),
            now=self.now(),
            home=self.home,
            agent=item.agent,
            cost=self.costs.get(name, NOT_COUNTED),
            branch=item.branch,
            marked=name in self.marked,
            pinned=item.pinned,
        )

    def _columns(self, width: int) -> SessionColumns:
        return screen_columns(width, directory=self.scope == "all", path=self.paths)

    def search_line(self, words: str, *, typing: bool = False) -> Line:
        """The words of a search as they are typed, and why the last ones could not be searched for."""
        problem = (self.query.problem or self.given_up) if words else None
        return make_line(
            *search_line(words, PRESS_TO_SEARCH, typing=typing),
            Span(f"   {problem}" if problem else "", "warning"),
        )

    def columns_line(self, width: int) -> Line:
        """The names of the columns."""
        return header_line(self._columns(width))

    def top_pills(self) -> list[Pill]:
        """Where one is: scope, sort, and what else was chosen."""
        scopes: tuple[tuple[Scope, str], ...] = (
            ("here", f" {short_path(self.source.cwd, self.home)} "),
            ("all", " all "),
        )
        here, everywhere = (
            Pill(Span(words, "cursor" if self.scope == scope else "dim"), "scope", scope)
            for scope, words in scopes
        )
        return [
            Pill(Span(" branchline ", "heading")),
            here,
            Pill(Span("│", "dim")),
            everywhere,
            Pill(Span(f"  sort: {self.sort}", "dim"), "sort"),
            Pill(Span("  named" if self.named_only else "", "label"), "named"),
        ]

    def program_pills(self) -> list[Pill]:
        """The programs whose sessions are here, where there are several."""
        agents = self.agents()
        if len(agents) < 2:
            return []
        return [
            Pill(
                Span(
                    f"[{agent}] " if agent == self.agent else f" {agent}  ",
                    "program" if self.agent in (None, agent) else "dim",
                ),
                "program",
                agent,
            )
            for agent in agents
        ]

    def bars(self, width: int) -> Bars:
        """All pills in one line; where they do not fit, the programs have a line of their own."""
        top, programs = self.top_pills(), self.program_pills()
        gap = [Pill(Span("   "))] if programs else []
        together = [*top, *gap, *programs]
        if not programs or line_width(shown_line(pill.span for pill in together)) <= width:
            return Bars(together, [])
        return Bars(top, [*gap, *programs])

    def seen_line(self) -> Line:
        """What was seen, what of it is shown, and what is still going on."""
        loaded = self.loaded
        unreadable = len(loaded.unreadable)
        other = len(loaded.rows) - len(self.items)
        seen = count(len(loaded.rows) + len(loaded.hidden), "session")
        pieces: list[Piece] = [Span(f" {seen} seen · {len(self.items):,} shown", "dim")]
        if other > 0:
            pieces.append(Span(f" · {other:,} filtered out", "dim"))
        if loaded.hidden:
            pieces.append(Span(f" · {len(loaded.hidden):,} hidden", "dim"))
        if unreadable:
            pieces.append(Span(f" · {unreadable:,} unreadable", "warning"))
        if loaded.hidden or unreadable:
            pieces.append(Span(" (! says why)", "dim"))
        if self.marked:
            pieces.append(Span(f" · {len(self.marked)} marked", "label"))
        if not loaded.done:
            pieces.append(Span(f" · reading {loaded.loaded:,}/{loaded.total or 0:,}", "active"))
        elif self.arranged.undecided:
            pieces.append(Span(f" · searching messages, {len(self.arranged.undecided):,} left", "active"))
        return make_line(*pieces)

    def empty_words(self) -> str:
        """What an empty list says."""
        if self.query.problem is not None:
            return f"   {self.query.problem}"
        if not self.loaded.done or self.arranged.undecided:
            return "   reading …"
        if self.query or self.named_only or self.agent:
            return "   no matches; Esc clears the search"
        if self.scope == "here":
            return "   no sessions in this directory yet; Tab shows all sessions"
        return "   no sessions yet"
