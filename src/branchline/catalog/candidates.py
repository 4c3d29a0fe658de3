"""The documents of the catalog that may answer a query: the newest matches of each session, best first.

A word that is in half of all messages has more matches than a list can show, so only 6,000 are ranked: the
newest of each session, so that a long one does not hide the others. Prompts and answers count more than tool
output, a prompt more than an answer, a recent message more than an old one, and an abandoned branch less than
the active path.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import neg
from typing import Any, NamedTuple

import msgspec

from branchline.catalog.catalog import Catalog
from branchline.catalog.words import expression, has_tokens
from branchline.views.query import Query, Term, role_name

__all__ = [
    "Candidate",
    "Candidates",
    "RankedEntry",
    "TitleMatch",
    "candidates",
    "documents_in",
    "documents_numbered",
    "files_matching",
    "is_indexable",
    "recency",
    "subagent_files",
    "title_words",
    "titles",
]

_RANKED_AT_MOST = 6000
_SECONDS = 0.5
"""Of the processor, for looking through the matches of one query: a busy machine finds the same."""
_AT_ONCE = 8192
_ENOUGH = 60
"""Matches of whole words; with fewer, words that begin with a word of the query are looked for as well."""
_HALF_LIFE = 30 * 86_400_000.0
_COLUMNS = (
    "doc.id, doc.file, doc.entry, doc.position, doc.offset, doc.length, doc.role, doc.tool, doc.ms,"
    " doc.on_path, doc.mark, doc.counted"
)
_RANKED = "doc.id, doc.file, doc.length, doc.role, doc.ms, doc.on_path, doc.mark, doc.counted"
_LEVELS = {"role", "tool", "in", "file", "after", "before"}


class Candidate(msgspec.Struct, frozen=True):
    """A document that matches."""

    id: int
    file: int
    entry: str
    position: int
    offset: int
    length: int
    role: str
    tool: str
    ms: int | None
    on_path: int
    mark: int
    """The same for every copy of the entry."""
    counted: int
    """Whether this is the original of its copies."""


_Row = tuple[int, int, int, str, int | None, int, int, int]
"""What decides the rank of a candidate: reading the rest of 3,000 takes longer than ranking them."""


class RankedEntry(msgspec.Struct, frozen=True):
    """An entry that matches, with its copies in other files."""

    score: float
    file: int
    documents: list[int]
    """The numbers of the documents, the one to show first."""


class Candidates(msgspec.Struct, frozen=True):
    """Matches with their scores, best first, copies of one entry together."""

    groups: Iterator[RankedEntry]
    total: int
    """How many groups there are."""
    at_least: bool
    """Whether there are more."""
    in_file: Mapping[int, int]
    """How many matches each file has, those that were not ranked included."""


def is_indexable(query: Query) -> bool:
    """Return whether the index can find all words of a query."""
    return all(has_tokens(term.text) for term in query.terms if term.field is None) and query.pattern is None


def candidates(
    catalog: Catalog,
    query: Query,
    files: Collection[int],
    *,
    now_ms: int,
    parts: Mapping[str, Sequence[str]] | None = None,
) -> Candidates:
    """Return the matching documents of these files. ``parts`` are searched for instead of some words."""
    with catalog.guarded():
        run = catalog.connection.execute
        conditions, values = _conditions(query)
        runs = _Runs(run, files)
        words = [term for term in query.terms if term.field is None and has_tokens(term.text)]
        if not words:
            where = " AND ".join(conditions)
            found = runs.newest(run(f"SELECT id FROM doc WHERE {where} ORDER BY id DESC", values))
            return _ranked(run, found, frozenset(), found.ids, now_ms)
        column = next((term.text for term in query.terms if term.field == "in"), None)

        def matching(match: str) -> _Matches:
            return runs.newest(_matches(run, match, conditions, values))

        if parts:
            every = matching(_match(words, column, prefix=True, parts=parts))
            said = _said(run, _match(words, "said", prefix=True, parts=parts), every.ids)
            return _ranked(run, every, said, (), now_ms)
        exact = matching(_match(words, column, prefix=False))
        prefix = len(exact.ids) < _ENOUGH
        every = matching(_match(words, column, prefix=True)) if prefix else exact
        said = _said(run, _match(words, "said", prefix=prefix), every.ids)
        return _ranked(run, every, said, exact.ids, now_ms)


def documents_in(catalog: Catalog, file: int, query: Query) -> list[Candidate]:
    """Return the documents of a file that the fields of a query allow, in file order."""
    conditions, values = _conditions(query)
    where = " AND ".join(("doc.file = ?", *conditions))
    with catalog.guarded():
        rows = catalog.connection.execute(
            f"SELECT {_COLUMNS} FROM doc WHERE {where} ORDER BY position",
            (file, *values),
        )
        return [Candidate(*row) for row in rows]


def documents_numbered(catalog: Catalog, numbers: Sequence[int]) -> list[Candidate]:
    """Return the documents with these numbers, in this order, without those that another process dropped."""
    query = f"SELECT {_COLUMNS} FROM doc WHERE id IN ({','.join(map(str, numbers))})"
    with catalog.guarded():
        found = {one.id: one for one in (Candidate(*row) for row in catalog.connection.execute(query))}
    return [found[number] for number in numbers if number in found]


class TitleMatch(msgspec.Struct, frozen=True):
    """A session whose title holds all words of a query."""

    file: int
    leaf: str
    title: str
    active_ms: int


def title_words(query: Query) -> list[str]:
    """Return the words that a title must contain; empty for a query that no title can match."""
    if query.pattern is not None or any(
        term.field in _LEVELS or term.text == "abandoned" for term in query.terms
    ):
        return []
    return [term.text for term in query.terms if term.field is None]


def titles(catalog: Catalog, query: Query) -> list[TitleMatch]:
    """Return the sessions with a matching title, latest first."""
    words = title_words(query)
    if not words:
        return []
    where = " AND ".join(["title_folded IS NOT NULL", *["title_folded LIKE ? ESCAPE '\\'"] * len(words)])
    with catalog.guarded():
        rows = catalog.connection.execute(
            f"SELECT id, leaf, title, active_ms FROM file WHERE {where} AND leaf IS NOT NULL"
            " ORDER BY active_ms DESC LIMIT 500",
            [_like(word) for word in words],
        )
        return [TitleMatch(*row) for row in rows]


def subagent_files(catalog: Catalog) -> set[int]:
    """Return the files of sub-agents."""
    with catalog.guarded():
        return {file for (file,) in catalog.connection.execute("SELECT id FROM file WHERE is_subagent")}


def files_matching(catalog: Catalog, term: Term) -> set[int]:
    """Return the files that a term about whole sessions allows."""
    values: tuple[str | float]
    match term.field:
        case "model":
            query = "SELECT file FROM doc WHERE model LIKE ?1 ESCAPE '\\'"
            query += " UNION SELECT id FROM file WHERE model LIKE ?1 ESCAPE '\\'"
            values = (_like(term.text),)
        case "branch":
            query, values = "SELECT id FROM file WHERE git_branch LIKE ? ESCAPE '\\'", (_like(term.text),)
        case "label":
            query, values = "SELECT file FROM label WHERE text LIKE ? ESCAPE '\\'", (_like(term.text),)
        case "is":
            query, values = "SELECT id FROM file WHERE ' ' || traits || ' ' LIKE ?", (f"% {term.text} %",)
        case _:
            raise ValueError(f"{term.field}: says nothing about whole sessions")
    with catalog.guarded():
        return {file for (file,) in catalog.connection.execute(query, values)}


def _conditions(query: Query) -> tuple[list[str], list[Any]]:
    """Return the conditions on single documents."""
    conditions: list[str] = []
    values: list[Any] = []
    worded = bool(query.words) or query.pattern is not None
    for term in query.terms:
        match term.field:
            case "role":
                conditions.append("lower(doc.role) = ?")
                values.append(role_name(term.text))
            case "tool":
                conditions.append("doc.tool LIKE ? ESCAPE '\\'")
                values.append(_like(term.text))
            case "file":
                conditions.append("doc.id IN (SELECT doc FROM touched WHERE path LIKE ? ESCAPE '\\')")
                values.append(_like(term.text))
            case "after":
                conditions.append("doc.ms >= ?")
                values.append(term.moment_ms)
            case "before":
                conditions.append("doc.ms < ?")
                values.append(term.moment_ms)
            case "is" if term.text == "abandoned":
                conditions.append("NOT doc.on_path")
            case "label" if not worded:
                conditions.append(
                    "EXISTS (SELECT 1 FROM label WHERE label.file = doc.file AND label.entry = doc.entry"
                    " AND label.text LIKE ? ESCAPE '\\')"
                )
                values.append(_like(term.text))
            case "in" if not worded:
                conditions.append(f"doc.{term.text}")
            case _:
                pass
    if not worded:
        conditions.append("(doc.said OR doc.tools)")
    return conditions, values


class _Matches(NamedTuple):
    """The numbers of matching documents, newest first."""

    ids: list[int]
    in_file: dict[int, int]
    """How many there are, by file."""
    is_cut: bool
    """Whether there are more than those in ``ids``."""


class _Runs:
    """The files of documents: those of one file have neighbouring numbers.

    Looking up the file of each match in its document takes ten times as long.
    """

    def __init__(self, run: Any, files: Collection[int]) -> None:
        """``files`` are those whose documents count."""
        found = run("SELECT first, last, file FROM run ORDER BY first").fetchall()
        self._firsts: list[int] = [first for first, _last, _file in found]
        self._lasts: list[int] = [last for _first, last, _file in found]
        self._files: list[int | None] = [file if file in files else None for _first, _last, file in found]

    def newest(self, rows: Any) -> _Matches:
        """Return the newest documents of each file. ``rows`` is a cursor over numbers, highest first."""
        until = time.thread_time() + _SECONDS
        kept: dict[int, list[int]] = {}
        in_file = Counter[int]()
        is_cut = False
        while some := rows.fetchmany(_AT_ONCE):
            ids = [number for (number,) in some]
            at = 0
            while at < len(ids):
                place = bisect_right(self._firsts, ids[at]) - 1
                if place < 0:
                    break  # of files that were dropped, as below
                file, last = self._files[place], self._lasts[place]
                if ids[at] > last:
                    at = bisect_left(ids, -last, at, key=neg)
                    continue
                end = bisect_right(ids, -self._firsts[place], at, key=neg)
                if file is not None:
                    newest = kept.setdefault(file, [])
                    in_file[file] += end - at
                    newest += ids[at : min(end, at + _RANKED_AT_MOST - len(newest))]
                at = end
            if time.thread_time() > until:
                is_cut = True
                break
        most = _share([len(newest) for newest in kept.values()])
        picked = sorted((number for newest in kept.values() for number in newest[:most]), reverse=True)
        return _Matches(picked, in_file, is_cut or len(picked) < in_file.total())


def _share(sizes: list[int]) -> int:
    """Return how many of each file to rank, so that they are not too many together, but one of each."""
    least, most = 1, _RANKED_AT_MOST
    while least < most:
        middle = (least + most + 1) // 2
        if sum(min(size, middle) for size in sizes) <= _RANKED_AT_MOST:
            least = middle
        else:
            most = middle - 1
    return least


def _matches(run: Any, match: str, conditions: list[str], values: list[Any]) -> Any:
    """Return a cursor over the numbers of matching documents, highest first."""
    if not conditions:
        return run("SELECT rowid FROM text WHERE text MATCH ? ORDER BY rowid DESC", (match,))
    where = " AND ".join(conditions)
    return run(
        "SELECT text.rowid FROM text JOIN doc ON doc.id = text.rowid"
        f" WHERE text MATCH ? AND {where} ORDER BY text.rowid DESC",
        (match, *values),
    )


def _match(
    words: list[Term], column: str | None, *, prefix: bool, parts: Mapping[str, Sequence[str]] | None = None
) -> str:
    phrases = [
        f"({' OR '.join(map(expression, terms))})"
        if (terms := (parts or {}).get(term.text))
        else expression(term.text, prefix=prefix and term.kind == "word")
        for term in words
    ]
    both = " AND ".join(phrases)
    return both if column is None else f"{{{column}}} : ({both})"


def _said(run: Any, match: str, ids: Sequence[int]) -> frozenset[int]:
    """Return those that match in a prompt or an answer, not only in tool calls and output."""
    if not ids:
        return frozenset()
    wanted, said = set(ids), set[int]()
    query = "SELECT rowid FROM text WHERE text MATCH ? AND rowid BETWEEN ? AND ?"
    rows = run(query, (match, ids[-1], ids[0]))
    until = time.thread_time() + _SECONDS
    while (some := rows.fetchmany(_AT_ONCE)) and time.thread_time() < until:
        said |= wanted.intersection([number for (number,) in some])
    return frozenset(said)


def _ranked(
    run: Any, matches: _Matches, said: frozenset[int], exact: Iterable[int], now_ms: int
) -> Candidates:
    numbers = ",".join(map(str, matches.ids))
    found: list[_Row] = run(f"SELECT {_RANKED} FROM doc WHERE id IN ({numbers}) ORDER BY id DESC").fetchall()
    whole = set(exact)
    first: dict[int, _Row] = {}
    copies: dict[int, list[_Row]] = {}
    for one in found:
        mark = one[6]
        if mark in first:
            copies.setdefault(mark, [first[mark]]).append(one)
        else:
            first[mark] = one
    for mark, group in copies.items():
        group.sort(key=lambda one: (-one[5], -one[7], one[0]))  # on the path, the original, the oldest
        first[mark] = group[0]
    scored: list[tuple[float, int, int]] = []
    for number, _file, length, role, ms, on_path, mark, _counted in first.values():
        age = 0.0 if ms is None else now_ms - ms
        score = 1.0 if age <= 0.0 else max(0.02, math.exp2(-age / _HALF_LIFE))
        if number in said:
            score *= 4.0
        if number in whole:
            score *= 1.5
        if role == "user":
            score *= 1.5
        if not on_path:
            score *= 0.7
        scored.append((score / (1.0 + 0.2 * math.log1p(length / 4000)), number, mark))
    scored.sort(reverse=True)
    groups = (
        RankedEntry(score, first[mark][1], [one[0] for one in copies.get(mark) or (first[mark],)])
        for score, _number, mark in scored
    )
    return Candidates(groups, len(scored), matches.is_cut, matches.in_file)


def recency(ms: int | None, now_ms: int) -> float:
    """Return the factor by which age lowers a score."""
    age = 0.0 if ms is None else max(0.0, now_ms - ms)
    return max(0.02, math.exp2(-age / _HALF_LIFE))


def _like(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
