"""Full-text search over the sessions of a library: entries, found by the index or by reading files.

The index answers for unchanged files. Other files, patterns and texts that the index cannot find (parts of
words) are searched in the files themselves, newest first, within a time limit; the result says what was not
searched.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec

from branchline import places
from branchline.catalog import Catalog, CatalogUnavailable
from branchline.catalog.candidates import (
    Candidate,
    RankedEntry,
    TitleMatch,
    candidates,
    documents_in,
    documents_numbered,
    files_matching,
    is_indexable,
    recency,
    subagent_files,
    title_words,
    titles,
)
from branchline.errors import InvalidArgument
from branchline.library.line_text import column_text, entry_texts, line_texts
from branchline.library.scanner import Scanner, SeenFile
from branchline.library.text_index import index_text, stale_files
from branchline.stores import SkippedFile, snapshot_of
from branchline.views.hits import Hit, HitPlace, Hits, Snippet, find_ranges, make_snippet, matches_all
from branchline.views.query import Query, Term, role_name, unknown_fields
from branchline.views.session_row import SessionRow, row_name
from branchline.views.text import without_escapes

if TYPE_CHECKING:
    from branchline.catalog.documents import Document
    from branchline.context.prices import PriceList
    from branchline.entries import Entry
    from branchline.formats import EntryLog
    from branchline.library.annotations import Annotations
    from branchline.library.regex_worker import RegexWorker

__all__ = ["ChooseSessions", "SearchRedactor", "search"]

_AT_ONCE = 4 << 20
"""Up to this many bytes of new text are indexed before a search; more is searched without the index."""
_PER_SESSION = 3
_LONGEST_LINE = 4 << 20
_LARGEST_FILE = 256 << 20
_ENOUGH = 20
"""A search over redacted texts ends with this many times the hits that are shown."""
_MARKER = re.compile(r"\[redacted:[^\]\n]*\]")
_VEIL = "\ua66e"
"""Stands for a secret when words are looked for: a rare letter, so that no phrase reaches across it."""
_Span = tuple[int, int]
_T = TypeVar("_T")
ChooseSessions = Callable[[list[SessionRow]], Collection[SessionRow]]
"""Receives the sessions with hits, best first, and returns those whose hits are wanted."""


class SearchRedactor(Protocol):
    """Replaces secrets in what a search looks at."""

    def text(self, text: str) -> str: ...

    def for_session(self, transcript: EntryLog) -> SearchRedactor:
        """Return one that also replaces what is secret anywhere in this session."""
        ...

    def entries(self, transcript: EntryLog, positions: Sequence[int]) -> list[Entry]:
        """Return entries of a session with the secrets in their lines replaced."""
        ...


class _Read(NamedTuple):
    """What a search needs of a session that was read."""

    transcript: EntryLog
    documents: list[Document]
    labels: dict[str, str]
    """The text of each labelled entry."""
    branch: str
    """The git branch."""


class _Found(msgspec.Struct, frozen=True):
    """A hit without its snippet."""

    score: float
    row: SessionRow
    entry: str
    role: str
    tool: str
    ms: int | None
    on_path: bool
    places: tuple[HitPlace, ...]
    snippet: Callable[[], Snippet]


def search(
    scanner: Scanner[Any],
    open_catalog: Callable[[], Catalog],
    query: Query,
    *,
    limit: int,
    budget: float,
    context: int,
    prices: PriceList | None = None,
    redactor: SearchRedactor | None = None,
    choose: ChooseSessions | None = None,
) -> Hits:
    """Return the best hits: the first few of each session before the others.

    ``budget`` limits the seconds for reading files. ``choose`` receives all sessions with hits, best first,
    and returns those whose first hits are wanted; ``limit`` does not apply then.
    ``prices`` estimate the cost that agents do not record; queries without ``cost:`` need none. With a
    ``redactor`` the answer depends on nothing that it replaces.
    """
    if query.problem is not None:
        raise InvalidArgument(query.problem)
    run = _Run(
        scanner,
        query,
        limit=limit,
        budget=budget,
        context=context,
        prices=prices,
        redactor=redactor,
        choose=choose,
    )
    if redactor is not None:
        return run.over_redacted()
    try:
        catalog = open_catalog()
    except CatalogUnavailable as problem:
        return run.without_index(str(problem))
    try:
        with catalog:
            return run.with_index(catalog)
    except CatalogUnavailable as problem:
        return run.without_index(str(problem))


class _Run:
    """One search."""

    def __init__(
        self,
        scanner: Scanner[Any],
        query: Query,
        *,
        limit: int,
        budget: float,
        context: int,
        prices: PriceList | None = None,
        redactor: SearchRedactor | None = None,
        choose: ChooseSessions | None = None,
    ) -> None:
        self._choose = choose
        self._ranked: list[RankedEntry] = []
        """What the index found, while the sessions to show are not chosen yet."""
        self._in_file: Mapping[int, int] = {}
        """How many matches each file has in the index."""
        self.scanner = scanner
        self.all_sessions = redactor
        self.redactor = redactor
        """For the session that is being read."""
        self._veiled: dict[str, str] = {}
        self._given_prices = prices
        self.query = query
        self.limit = limit
        self.context = context
        self.started = time.monotonic()
        self.budget = budget
        self.deadline = 0.0
        self.now_ms = round(time.time() * 1000)
        self.words = query.words
        self.pattern = query.pattern
        self.title_words = title_words(query)
        self.column = next((term.text for term in query.terms if term.field == "in"), None)
        self.marked = (*query.words, *(term.text for term in query.terms if term.field == "file"))
        self.found: list[_Found] = []
        self.notes: list[str] = []
        self.searched = 0
        self.ended = ""
        """Why not every session was searched."""
        self.parts_searched: int | None = None
        """In how many sessions parts of words were looked for; None if that was not necessary."""
        self.is_decided = False
        """Whether the index is known to have every match, also inside words."""
        self.catalog: Catalog | None = None
        self.covered: dict[int, Any] = {}
        """The files whose text is in the index, by number."""
        self.rows: dict[int, SessionRow | None] = {}
        self.annotations: Annotations | None = None
        if any(term.field == "tag" for term in query.terms):
            from branchline.library.annotations import annotations_of  # noqa: PLC0415  few searches ask for tags

            self.annotations = annotations_of(scanner)
            self.notes += filter(None, [self.annotations.problem])

    # -- with and without an index --------------------------------------------------------------------

    def without_index(self, reason: str) -> Hits:
        """Read every file, newest first."""
        self.found.clear()
        self._ranked.clear()
        self.catalog = None
        self.notes = [f"the index cannot be used: {reason}"]
        self.searched, self.ended, self.parts_searched = 0, "", None
        files, _hidden = self.scanner.scan()
        self._begin()
        self._read_files(files, which="sessions")
        return self._hits(len(files), at_least=False, total=len(self.found), unindexed=0)

    def over_redacted(self) -> Hits:
        """Read every file, newest first, and decide by what redaction leaves of it.

        The index is not used: which entries match in it, how many, and how well, depends on the secrets.
        """
        files, _hidden = self.scanner.scan()
        self._begin()
        self._read_files(files, enough=_ENOUGH * self.limit, which="sessions")
        return self._hits(len(files), at_least=False, total=len(self.found), unindexed=0)

    def with_index(self, catalog: Catalog) -> Hits:
        self.catalog = catalog
        compared = self.scanner.compare(partial(catalog.states, with_text=True))
        self.covered = compared.unchanged
        left, missing = self._catch_up(catalog, compared.changed)
        self._leave_out_unlisted(catalog)
        allowed = self._allowed(catalog)
        total, at_least, found = 0, False, False
        self._begin()
        is_asked = self.pattern is None and is_indexable(self.query)
        if is_asked:
            total, at_least = self._ask_index(catalog, allowed)
            if not total and self.words:
                total, at_least = self._ask_for_parts(catalog, allowed)
            found = total > 0
            total += self._ask_titles(catalog, allowed)
            self.searched = len(self.covered)
        shown = len(self.found)
        self._read_files(left)
        if not is_asked:
            self._read_covered(catalog, allowed)
        elif not found and shown == len(self.found) and self.words:
            # No entry has these words: what is left to be found are parts of words.
            self.parts_searched = self.searched
            if not self.is_decided:
                ended, searched = self.ended, self.searched
                self.searched -= len(self.covered)
                self._read_covered(catalog, allowed)
                self.parts_searched, self.searched, self.ended = self.searched, searched, ended
        total += len(self.found) - shown
        sessions = len(self.covered) + len(left)
        at_least = at_least or (self.parts_searched is not None and self.parts_searched < sessions)
        return self._hits(sessions, at_least=at_least, total=total, unindexed=missing)

    def _read_covered(self, catalog: Catalog, allowed: set[int] | None) -> None:
        """Search the files whose text is in the index, newest first."""
        inside = [number for number in self.covered if allowed is None or number in allowed]
        self.searched += len(self.covered) - len(inside)
        if self.column is not None:  # a line alone does not tell the column
            self._read_files([self.covered[number] for number in inside], which="sessions")
        else:
            self._read_lines(catalog, inside)

    def _catch_up(self, catalog: Catalog, changed: Sequence[Any]) -> tuple[list[Any], int]:
        """Index changed files if that is quick; return the files left to read and the number not indexed yet.

        Files that the user excluded are left, too.
        """
        known = catalog.files(self._paths(changed))
        stale = stale_files(self.scanner, changed, known, catalog)
        if stale and sum(one.bytes for one in stale) <= _AT_ONCE:
            index_text(self.scanner, stale, catalog)
            known |= catalog.files([self._path(one.file) for one in stale])
            again = stale_files(self.scanner, changed, known, catalog)
            # Files that are still unknown cannot be read.
            stale = [one for one in again if one.known is not None and not one.is_covered(self.scanner)]
        waiting = {self._path(one.file) for one in stale}
        left: list[Any] = []
        fresh: dict[int, Any] = {}
        for file in changed:
            path = self._path(file)
            one = known.get(path)
            if path in waiting:
                left.append(file)
            elif one is not None and one.indexed >= 0:
                fresh[one.id] = file
            elif path and catalog.excludes(path):
                left.append(file)
        self.covered = fresh | self.covered  # newest first
        return left, len(waiting)

    def _begin(self) -> None:
        self.deadline = time.monotonic() + self.budget

    def _path(self, file: Any) -> str:
        return file.path or ""

    def _paths(self, files: Sequence[Any]) -> list[str]:
        return [path for file in files if (path := self._path(file))]

    def _row(self, number: int) -> SessionRow | None:
        """The row of a file whose text is in the index; None where it does not count."""
        if number not in self.rows:
            self._load_rows([number])
        return self.rows[number]

    def _load_rows(self, numbers: Collection[int]) -> None:
        assert self.catalog is not None
        if not numbers:
            return
        records = self.catalog.records(numbers)
        for number in numbers:
            record, file = records.get(number), self.covered[number]
            row = None if record is None else self.scanner.row_of(file, record)
            if row is None or isinstance(row, SkippedFile) or row.path != file.path:
                self.rows[number] = None
            else:
                self.rows[number] = self._annotated(row)

    def _annotated(self, row: SessionRow) -> SessionRow:
        return row if self.annotations is None else self.annotations.applied(row)

    def _leave_out_unlisted(self, catalog: Catalog) -> None:
        """Leave out indexed files that are not listed: of sub-agents, or of other directories."""
        if not self.scanner.restricts:
            return
        if self.scanner.cwd is None:
            unlisted = subagent_files(catalog)
        else:
            self._load_rows(self.covered.keys())
            unlisted = {number for number, row in self.rows.items() if row is None}
        if unlisted:
            self.covered = {number: file for number, file in self.covered.items() if number not in unlisted}

    def _allowed(self, catalog: Catalog) -> set[int] | None:
        """The files that match the terms about whole sessions; None for all."""
        allowed: set[int] | None = None
        for term in self.query.terms:
            if term.field in ("model", "branch", "cost", "tokens", "label") or (
                term.field == "is" and term.text not in ("abandoned", "archived")
            ):
                some = self._files_matching(catalog, term)
                allowed = some if allowed is None else allowed & some
        if allowed is not None:
            allowed &= self.covered.keys()
        if named := [term for term in self.query.terms if _is_about_row(term)]:
            inside = self.covered.keys() if allowed is None else allowed
            self._load_rows(inside)
            rows = ((number, self.rows[number]) for number in inside)
            allowed = {number for number, row in rows if row is not None and _is_named(named, row)}
        return allowed

    def _files_matching(self, catalog: Catalog, term: Term) -> set[int]:
        if term.field not in ("cost", "tokens"):
            return files_matching(catalog, term)
        from branchline.catalog.details import files_allowed  # noqa: PLC0415  few searches ask for figures
        from branchline.catalog.statistics import ScopeFile  # noqa: PLC0415  as above

        scope = [ScopeFile(number, "", "", "", "", number) for number in self.covered]
        return files_allowed(catalog, term, scope, self.prices)

    @property
    def prices(self) -> PriceList:
        from branchline.context.prices import PriceList  # noqa: PLC0415  as above

        return self._given_prices or PriceList()

    # -- the index ------------------------------------------------------------------------------------

    def _ask_index(
        self, catalog: Catalog, allowed: set[int] | None, parts: Mapping[str, Sequence[str]] | None = None
    ) -> tuple[int, bool]:
        """Return the number of hits, and whether there may be more."""
        scope: Collection[int] = self.covered if allowed is None else allowed
        answer = candidates(catalog, self.query, scope, now_ms=self.now_ms, parts=parts)
        if self._choose is not None:
            self._ranked, self._in_file = list(answer.groups), answer.in_file
            return answer.total, answer.at_least
        later: list[RankedEntry] = []
        first = _few_per_session(answer.groups, _file_of, later)
        while some := list(islice(first, self.limit - len(self.found))):
            self._take_all(catalog, some)
        self._take_all(catalog, later[: self.limit - len(self.found)])
        return answer.total, answer.at_least

    def _ask_for_parts(self, catalog: Catalog, allowed: set[int] | None) -> tuple[int, bool]:
        """Look for words of the query inside longer words."""
        from branchline.catalog.vocabulary import terms_holding  # noqa: PLC0415  most searches find words

        words = [term.text for term in self.query.terms if term.field is None and term.kind == "word"]
        parts = terms_holding(catalog, words, seconds=self.budget)
        self.is_decided = parts.is_complete and len(words) == len(self.words)
        return self._ask_index(catalog, allowed, parts.terms) if parts.terms else (0, False)

    def _ask_titles(self, catalog: Catalog, allowed: set[int] | None) -> int:
        """Return the number of titles with all words."""
        scope: Collection[int] = self.covered if allowed is None else allowed
        named = [
            match
            for match in titles(catalog, self.query)
            if match.file in self.covered and match.file in scope
        ]
        latest = named if self._choose else named[: self.limit]  # as they are ranked
        self._load_rows({match.file for match in latest} - self.rows.keys())
        for match in latest:
            self._take_title(match)
        return len(named)

    def _take_all(self, catalog: Catalog, groups: Sequence[RankedEntry]) -> None:
        numbers = [number for one in groups for number in one.documents]
        documents = {one.id: one for one in documents_numbered(catalog, numbers)}
        self._load_rows({one.file for one in documents.values()} & (self.covered.keys() - self.rows.keys()))
        for one in groups:
            self._take(one.score, [documents[number] for number in one.documents if number in documents])

    def _take(self, score: float, group: list[Candidate]) -> None:
        places = []
        for one in group:
            row = self._row(one.file) if one.file in self.covered else None
            if row is not None:
                places.append((one, row))
        if not places:
            return
        first, row = places[0]
        self.found.append(
            _Found(
                score,
                row,
                first.entry,
                first.role,
                first.tool,
                first.ms,
                bool(first.on_path),
                tuple(HitPlace(row=at, entry=one.entry, on_path=bool(one.on_path)) for one, at in places),
                lambda: self._line_snippet(row, first),
            )
        )

    def _take_title(self, one: TitleMatch) -> None:
        row = self._row(one.file)
        if row is not None:
            self._add_title(row, one.leaf, one.title, one.active_ms)

    def _add_title(self, row: SessionRow, leaf: str, title: str, active_ms: int) -> None:
        score = 6.0 * recency(active_ms, self.now_ms)
        self._add(score, row, leaf, "title", "", active_ms, True, lambda: self._snippet(title))

    def _line_snippet(self, row: SessionRow, one: Candidate) -> Snippet:
        """The snippet of an indexed entry, from its line."""
        if row.path is None or row.path.endswith(".zst"):
            return self._entry_snippet(row, one)
        try:
            with snapshot_of(row.path) as read:
                line = read(one.offset, min(one.length, _LONGEST_LINE))
                is_line = not one.offset or read(one.offset - 1, 1) == b"\n"
        except Exception:  # noqa: BLE001  deleted meanwhile
            return Snippet(text="")
        if not line or (row.path.endswith(".jsonl") and not is_line):
            # The session begins in another file, whose bytes are counted first.
            return self._entry_snippet(row, one)
        if not self.marked and row.format is not None:
            # Without words to look for, only the format tells the text of an entry from its metadata.
            from branchline.plugins.formats import format_named  # noqa: PLC0415  few searches have no words

            if texts := list(filter(str.strip, entry_texts(format_named(row.format), line, self.column))):
                return self._snippet(*(text.strip() for text in texts))
        column = self.column if one.role == "assistant" else None
        return self._snippet(*(column and line_texts(line, column)) or line_texts(line))

    def _entry_snippet(self, row: SessionRow, one: Candidate) -> Snippet:
        """The snippet of an entry whose line cannot be read alone."""
        from branchline.catalog.documents import documents_of  # noqa: PLC0415  most searches read no file

        try:
            with self.scanner.read(row) as (_stored, transcript):
                for document in documents_of(transcript, one.position):
                    return self._snippet(document.said, document.tools)
        except Exception:  # noqa: BLE001  deleted meanwhile
            return Snippet(text="")
        return Snippet(text="")

    def _snippet(self, *texts: str) -> Snippet:
        """A snippet of the text with most of the words."""
        best, ranges, most = "", [], -1
        for text in texts:
            found = find_ranges(text, self.marked) if self.marked else []
            kinds = sum(bool(find_ranges(text, [word])) for word in self.marked) if found else 0
            longer = not found and most <= 0 and len(text) > len(best)
            if kinds > most or longer:
                best, ranges, most = text, found, max(kinds, 0)
        return make_snippet(best, ranges, self.context)

    # -- files ----------------------------------------------------------------------------------------

    def _read_lines(self, catalog: Catalog, numbers: Sequence[int]) -> None:
        """Search the lines of indexed files, newest first."""
        if not numbers:
            return
        from branchline.library.regex_worker import RegexTimeout  # noqa: PLC0415  as above

        total = len(numbers)
        with _worker(self.pattern) as worker:
            for done, number in enumerate(numbers):  # the newest first, as they were scanned
                if time.monotonic() > self.deadline:
                    self.ended = f"{self._time_is_up()}: {done:,} of {total:,} sessions were read"
                    break
                try:
                    hits = list(self._lines_of(catalog, number, worker))
                except RegexTimeout:
                    self.ended = "the pattern took too long and was stopped; try a simpler one"
                    break
                self.searched += 1
                if not hits:
                    continue
                row = self._row(number)
                assert row is not None, "a file without a row has no hits"
                for document, texts, span in hits:
                    self._add(
                        recency(document.ms, self.now_ms) * (1.0 if document.on_path else 0.7),
                        row,
                        document.entry,
                        document.role,
                        document.tool,
                        document.ms,
                        bool(document.on_path),
                        partial(self._span_snippet, texts, span),
                    )

    def _lines_of(
        self, catalog: Catalog, number: int, worker: RegexWorker | None
    ) -> Iterator[tuple[Candidate, list[str], _Span | None]]:
        row = self._row(number)
        if row is None:
            return
        documents = documents_in(catalog, number, self.query)
        if worker is not None:
            texts = self._texts_of(row)
            chunk = [(each, texts.get(each.position, "")) for each in documents]
            spans = worker.spans([text for _each, text in chunk])
            for (each, text), span in zip(chunk, spans, strict=True):
                if span is not None:
                    yield each, [text], span
            return
        for each, lines in self._lines_with_words(row, documents):
            said = [text for text in lines if matches_all(text, self.words)]
            if said:
                yield each, said, None

    def _texts_of(self, row: SessionRow) -> dict[int, str]:
        """The text of each entry of a session, by its position, as far as there is time."""
        from branchline.catalog.documents import documents_of  # noqa: PLC0415  most searches read no file

        found: dict[int, str] = {}
        try:
            with self.scanner.read(row) as (_stored, transcript):
                for one in documents_of(transcript):
                    found[one.position] = column_text(one.said, one.tools, self.column)
                    if time.monotonic() > self.deadline:
                        break
        except Exception:  # noqa: BLE001  deleted meanwhile
            return {}
        return found

    def _lines_with_words(
        self, row: SessionRow, documents: Sequence[Candidate]
    ) -> Iterator[tuple[Candidate, list[str]]]:
        """The entries whose lines have the longest word, each with its texts."""
        from branchline.library.search_text import may_hold, needles  # noqa: PLC0415  as above
        from branchline.plugins.formats import format_named  # noqa: PLC0415  as above

        path = row.path or ""
        if path.endswith(".zst"):
            yield from self._all_texts(row, documents)
            return
        if row.size > _LARGEST_FILE or row.format is None:
            return
        try:
            with snapshot_of(path) as read:
                data = read(0, row.size)
        except Exception:  # noqa: BLE001  deleted meanwhile
            return
        if path.endswith(".jsonl") and not all(_begins_line(data, one) for one in documents):
            # The session begins in another file, whose bytes are counted first.
            yield from self._all_texts(row, documents)
            return
        if not may_hold(self.words, data):
            return
        format_ = format_named(row.format)
        whole: dict[int, str] | None = None
        for each in _documents_with(data, documents, needles(max(self.words, key=len))):
            texts = entry_texts(format_, data[each.offset : each.offset + each.length], self.column)
            if len(texts) != 1:  # several entries, or one that only the lines around it explain
                whole = self._texts_of(row) if whole is None else whole
                texts = [whole.get(each.position, "")]
            yield each, texts

    def _all_texts(
        self, row: SessionRow, documents: Sequence[Candidate]
    ) -> Iterator[tuple[Candidate, list[str]]]:
        texts = self._texts_of(row)
        return ((each, [texts.get(each.position, "")]) for each in documents)

    def _span_snippet(self, texts: list[str], span: _Span | None) -> Snippet:
        return self._snippet(*texts) if span is None else make_snippet(texts[0], [span], self.context)

    def _read_files(
        self,
        files: Sequence[Any],
        *,
        enough: int | None = None,
        which: str = "sessions that are not indexed",
    ) -> None:
        """Search files, newest first, until there are ``enough`` hits."""
        if not files:
            return
        from branchline.library.regex_worker import RegexTimeout  # noqa: PLC0415  as above

        read = 0
        with _worker(self.pattern) as worker:
            for file in files:
                if time.monotonic() > self.deadline:
                    self.ended = f"{self._time_is_up()}: {read:,} of {len(files):,} {which} were read"
                    break
                if enough is not None and len(self.found) >= enough:
                    self.ended = (
                        f"the search ended after {len(self.found)} hits: "
                        f"{read:,} of {len(files):,} {which} were read"
                    )
                    break
                try:
                    self._read_file(file, worker)
                except RegexTimeout:
                    self.ended = "the pattern took too long and was stopped; try a simpler one"
                    break
                read += 1
        self.searched += read

    def _time_is_up(self) -> str:
        return f"the search ended after {self.budget:g} s"

    def _read_file(self, file: Any, worker: RegexWorker | None) -> None:
        from branchline.library.search_text import file_may_hold  # noqa: PLC0415  as above

        path = self._path(file)
        if path and not path.endswith(".zst") and worker is None:
            try:
                with snapshot_of(path) as read:
                    if not file_may_hold(self.words, read) and not self._is_titled(file):
                        return
            except Exception:  # noqa: BLE001  deleted or unreadable
                return
        seen: list[_Read] = []

        def see(one: SeenFile) -> None:
            if one.transcript is not None:
                seen.append(self._read_session(one.transcript))

        row = self.scanner.deep_row(file, see)
        if isinstance(row, SkippedFile) or not seen:
            return
        shown = self._annotated(row)
        ((transcript, documents, labels, _branch),) = seen
        row = self._veiled_row(shown)
        if self.redactor is not None:
            title, cwd = (
                None if one is None else self.redactor.text(one) for one in (shown.title, shown.cwd)
            )
            shown = msgspec.structs.replace(shown, title=title, cwd=cwd)
        if not _session_allows(self.query.terms, row, seen[0], self.prices):
            return
        title, leaf = row.title or "", transcript.leaf
        if leaf is not None and self.title_words and all(word in title.lower() for word in self.title_words):
            self._add_title(shown, leaf, shown.title or "", row.active_ms)
        worded = bool(self.words) or worker is not None
        texts = [column_text(one.said, one.tools, self.column) for one in documents]
        spans: Sequence[_Span | None] = [None] * len(texts) if worker is None else worker.spans(texts)
        for document, text, span in zip(documents, texts, spans, strict=True):
            if not _document_allows(self.query.terms, document):
                continue
            if not worded and not _is_labelled(self.query.terms, labels.get(document.entry)):
                continue
            if worker is not None and span is None:
                continue
            if worker is None and not (text.strip() and matches_all(self._marked_out(text), self.words)):
                continue
            self._add(
                recency(document.ms, self.now_ms) * (1.0 if document.on_path else 0.7),
                shown,
                document.entry,
                document.role,
                document.tool_names,
                document.ms,
                document.on_path,
                partial(self._span_snippet, [text], span),
            )

    def _read_session(self, transcript: EntryLog) -> _Read:
        """Return what decides about a session, redacted if this search is."""
        from branchline.catalog.documents import documents_of  # noqa: PLC0415  as above

        reading = transcript.reading
        documents = list(documents_of(transcript))
        if self.all_sessions is not None:
            self.redactor, self._veiled = self.all_sessions.for_session(transcript), {}
        if self.redactor is not None:
            documents = list(self._redacted_documents(transcript, documents))
        labels = {entry: self._veil(label.text) for entry, label in reading.labels.items()}
        return _Read(transcript, documents, labels, self._veil(reading.git_branch or ""))

    # -- redacted -------------------------------------------------------------------------------------

    def _redacted_documents(self, transcript: EntryLog, documents: Sequence[Document]) -> Iterator[Document]:
        """Yield the documents with secrets replaced, without the text of those that cannot match.

        What a query asks for of an entry is in it as it is written, or redaction leaves nothing that answers:
        words and fields match parts of texts, and no part of one reaches across a secret. A pattern may say
        what is *not* there, so it decides about redacted texts alone.
        """
        from branchline.catalog.documents import text_of  # noqa: PLC0415  as above

        assert self.redactor is not None
        for one in documents:
            text = None
            written = column_text(one.said, one.tools, self.column)
            if (
                time.monotonic() <= self.deadline
                and _document_allows(self.query.terms, one)
                and (self.pattern is not None or matches_all(written, self.words))
            ):
                (entry,) = self.redactor.entries(transcript, [one.position])
                text = text_of(entry)
            if text is None:
                # It counts for the terms about whole sessions only.
                yield one._replace(said="", tools="", tool_names="", files=(), model=self._veil(one.model))
                continue
            yield one._replace(
                role=self._veil(text.role),
                said=without_escapes(self.redactor.text(text.said)),
                tools=without_escapes(self.redactor.text(text.tools)),
                tool_names=self._veil(text.tool_names),
                files=tuple(map(self._veil, text.files)),
                model=self._veil(text.model),
            )

    def _veiled_row(self, row: SessionRow) -> SessionRow:
        if self.redactor is None:
            return row
        names = ("title", "cwd", "provider", "model", "agent", "format")
        told = {name: self._veil(getattr(row, name) or "") for name in names}
        return msgspec.structs.replace(row, **told, tags=tuple(map(self._veil, row.tags)))

    def _is_titled(self, file: Any) -> bool:
        """Whether a title that is not in the file may have the words; a search with an index knows them."""
        if self.redactor is None or not self.title_words:
            return False
        row = self.scanner.header_row(file)
        title = "" if isinstance(row, SkippedFile) else (row.title or "").lower()
        return all(word in title for word in self.title_words)

    def _marked_out(self, text: str) -> str:
        return text if self.redactor is None else _MARKER.sub(_VEIL, text)

    def _veil(self, text: str) -> str:
        """The text that a name or a label is compared by."""
        if self.redactor is None or not text:
            return text
        if text not in self._veiled:
            self._veiled[text] = self._marked_out(self.redactor.text(text))
        return self._veiled[text]

    # -- answers --------------------------------------------------------------------------------------

    def _add(
        self,
        score: float,
        row: SessionRow,
        entry: str,
        role: str,
        tool: str,
        ms: int | None,
        on_path: bool,  # noqa: FBT001
        snippet: Callable[[], Snippet],
    ) -> None:
        place = HitPlace(row=row, entry=entry, on_path=on_path)
        for number, other in enumerate(self.found if role != "title" else ()):
            if (other.entry, other.role, other.ms) == (entry, role, ms):
                if all((at.row.path, at.row.key) != (row.path, row.key) for at in other.places):
                    self.found[number] = msgspec.structs.replace(other, places=(*other.places, place))
                return
        self.found.append(_Found(score, row, entry, role, tool, ms, on_path, (place,), snippet))

    def _chosen(self) -> tuple[list[_Found], dict[str, int]]:
        """Return the hits to show, and the number of hits of each session that was chosen."""
        assert self._choose is not None
        counts = Counter(row_name(one.row) for one in self.found)
        score: dict[str, float] = {}
        rows: dict[str, SessionRow] = {}
        for one in self.found:
            name = row_name(one.row)
            score[name] = max(one.score, score.get(name, 0.0))
            rows.setdefault(name, one.row)
        if self._ranked:
            self._load_rows({one.file for one in self._ranked} - self.rows.keys())
        names: dict[int, str] = {}
        for ranked in self._ranked:
            if (row := self.rows[ranked.file]) is not None:
                name = row_name(row)
                if ranked.file not in names:
                    names[ranked.file] = name
                    counts[name] += self._in_file[ranked.file]
                score[name] = max(ranked.score, score.get(name, 0.0))
                rows.setdefault(name, row)
        wanted = {
            row_name(row)
            for row in self._choose(sorted(rows.values(), key=lambda row: -score[row_name(row)]))
        }
        few = _few_per_session((one for one in self._ranked if names.get(one.file) in wanted), _file_of, [])
        if self.catalog is not None:
            self._take_all(self.catalog, list(few))
        chosen = [one for one in self.found if row_name(one.row) in wanted]
        chosen.sort(key=lambda one: -one.score)
        return list(_few_per_session(chosen, _session_of, [])), {name: counts[name] for name in wanted}

    def _hits(self, sessions: int, *, at_least: bool, total: int, unindexed: int) -> Hits:
        self.found.sort(key=lambda one: -one.score)
        counts: dict[str, int] = {}
        if self._choose is not None:
            best, counts = self._chosen()
        else:
            later: list[_Found] = []
            best = list(_few_per_session(self.found, _session_of, later))
            best = (best + later)[: self.limit]
        best.sort(key=lambda one: -one.score)
        hits = [
            Hit(
                row=one.row,
                entry=one.entry,
                role=one.role,
                tool=one.tool.split("\n", 1)[0],
                ms=one.ms,
                on_path=one.on_path,
                places=one.places,
                score=one.score,
                snippet=one.snippet(),
            )
            for one in best
        ]
        if self.ended:
            self.notes.append(self.ended)
        if not hits:
            self.notes += [*_unknown_agents(self.query), *unknown_fields(self.query)]
        return Hits(
            hits,
            total=max(total, len(hits)),
            at_least=at_least or bool(self.ended),
            sessions=sessions,
            searched=self.searched,
            parts_searched=self.parts_searched,
            is_complete=not self.ended,
            unindexed=unindexed,
            notes=self.notes,
            took_ms=(time.monotonic() - self.started) * 1000,
            counts=counts,
        )


class _worker:  # noqa: N801  used like a function
    """A worker for a pattern, or None without a pattern, for a ``with`` block."""

    def __init__(self, pattern: str | None) -> None:
        self._worker = None
        if pattern is not None:
            from branchline.library.regex_worker import RegexWorker  # noqa: PLC0415  as above

            self._worker = RegexWorker(pattern)

    def __enter__(self) -> RegexWorker | None:
        return self._worker

    def __exit__(self, *raised: object) -> None:
        if self._worker is not None:
            self._worker.__exit__(*raised)


def _few_per_session(
    ranked: Iterable[_T], session_of: Callable[[_T], object], later: list[_T]
) -> Iterator[_T]:
    """Yield the first few of each session; the others go to ``later``."""
    taken = Counter[object]()
    for one in ranked:
        session = session_of(one)
        taken[session] += 1
        if taken[session] <= _PER_SESSION:
            yield one
        else:
            later.append(one)


def _file_of(one: RankedEntry) -> int:
    return one.file


def _session_of(one: _Found) -> str:
    return row_name(one.row)


def _begins_line(data: bytes, one: Candidate) -> bool:
    return one.offset == 0 or data[one.offset - 1 : one.offset] == b"\n"


def _documents_with(
    data: bytes, documents: Sequence[Candidate], wanted: Sequence[bytes]
) -> Iterator[Candidate]:
    """Yield the documents whose lines contain one of these byte strings, each once."""
    lowered = data.lower()
    documents = sorted(documents, key=lambda one: one.offset)  # a record may replace an earlier one
    starts = [one.offset for one in documents]
    seen: set[int] = set()
    for needle in wanted:
        at = lowered.find(needle)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            end = at + 1
            while place >= 0 and at < starts[place] + documents[place].length:
                if place not in seen:
                    seen.add(place)
                    yield documents[place]
                end = max(end, starts[place] + documents[place].length)
                if place == 0 or starts[place - 1] != starts[place]:  # one line may be several entries
                    break
                place -= 1
            at = lowered.find(needle, end)


def _unknown_agents(query: Query) -> Iterator[str]:
    for term in query.terms:
        if term.field == "agent" and not any(map(term.names_agent, places.agent_names())):
            try:
                places.known_agent(term.text)
            except ValueError as problem:
                yield str(problem)


def _is_about_row(term: Term) -> bool:
    """Whether a row alone decides a term."""
    return term.field in ("agent", "cwd", "tag") or (term.field == "is" and term.text == "archived")


def _is_named(terms: Sequence[Term], row: SessionRow) -> bool:
    for term in terms:
        match term.field:
            case "agent":
                hit = term.names_agent((row.agent or row.format or "").lower())
            case "cwd":
                hit = term.text in (row.cwd or "").lower()
            case "tag":
                hit = term.text in row.tags
            case _:
                hit = row.archived
        if not hit:
            return False
    return True


def _allows(terms: Sequence[Term], role: str, tool: str, ms: int | None, on_path: bool) -> bool:  # noqa: FBT001
    """Whether an entry matches the terms about entries, except ``file:`` and ``in:``."""
    for term in terms:
        match term.field:
            case "role":
                hit = role.lower() == role_name(term.text)
            case "tool":
                hit = term.text in tool.lower()
            case "after":
                hit = ms is not None and ms >= term.moment_ms
            case "before":
                hit = ms is not None and ms < term.moment_ms
            case "is":
                hit = term.text != "abandoned" or not on_path
            case _:
                hit = True
        if not hit:
            return False
    return True


def _document_allows(terms: Sequence[Term], document: Document) -> bool:
    files = [term.text for term in terms if term.field == "file"]
    return all(any(text in path.lower() for path in document.files) for text in files) and _allows(
        terms, document.role, document.tool_names, document.ms, document.on_path
    )


def _is_labelled(terms: Sequence[Term], label: str | None) -> bool:
    """Whether an entry has the labels of a query without words; with words, a label is one of the session."""
    wanted = [term.text for term in terms if term.field == "label"]
    return not wanted or (label is not None and all(text in label.lower() for text in wanted))


def _figures_allow(term: Term, transcript: EntryLog, prices: PriceList) -> bool:
    """Whether what the session itself spent, without what it has from a fork, matches a term."""
    from branchline.catalog.details import allows  # noqa: PLC0415  as above
    from branchline.context import totals  # noqa: PLC0415  as above
    from branchline.views.figures import cost_of, is_usage_known  # noqa: PLC0415  as above

    start = transcript.reading.inherited_entries
    own = totals(transcript, inherited_entries=start, prices=prices).own
    answers = transcript.tree.roles[start:].count("assistant")
    known = is_usage_known(own, answers)
    copied = not own.models and not answers and "assistant" in transcript.tree.roles[:start]
    tokens = own.total.total_tokens if known else None
    return allows(term, tokens, cost_of(own.total, is_known=known, is_copied=copied))


def _session_allows(terms: Sequence[Term], row: SessionRow, read: _Read, prices: PriceList) -> bool:
    """Whether a session that was read matches the terms about whole sessions."""
    from branchline.catalog.documents import traits_of  # noqa: PLC0415  as above

    documents = read.documents
    for term in terms:
        match term.field:
            case _ if _is_about_row(term):
                hit = _is_named([term], row)
            case "model":
                models = {one.model.lower() for one in documents}
                models.add(f"{row.provider or ''}/{row.model or ''}".lower())
                hit = any(term.text in model for model in models)
            case "branch":
                hit = term.text in read.branch.lower()
            case "label":
                hit = any(term.text in label.lower() for label in read.labels.values())
            case "is":
                hit = term.text in traits_of(read.transcript)
            case "cost" | "tokens":
                hit = _figures_allow(term, read.transcript, prices)
            case _:
                hit = True
        if not hit:
            return False
    return True
