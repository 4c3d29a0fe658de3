"""Session history for another agent: list, search, read and, if allowed, fork and convert.

Every text is redacted first and truncated afterwards, so that no part of a secret remains at a cut; what is
found anywhere in a session is replaced wherever else it stands in it. Searches
and names are matched against redacted texts too: what matches, how often and in which order tells nothing of
a secret. Terminal escapes are removed, because agents print tool results. Sessions are found by id or title
in one library, never by path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache

from branchline.actions.convert import ConvertRequest, convert
from branchline.actions.export import ExportRequest, Redactor, redacted_entries, render
from branchline.actions.redactor import SessionSecrets
from branchline.entries import Entry
from branchline.errors import BranchlineError, EntryNotFound, SessionNotFound
from branchline.library import SessionLibrary
from branchline.mcp.answers import (
    LARGEST_ANSWER,
    NOTICE,
    AnswerBudget,
    ConvertAnswer,
    EntryAnswer,
    FoundEntry,
    ListAnswer,
    ListedSession,
    NewSession,
    QuotedCard,
    ReadAnswer,
    SearchAnswer,
    TreeAnswer,
    TreeRow,
)
from branchline.session import Session
from branchline.tree import Filter
from branchline.views.call_results import CallPairs, PathCalls
from branchline.views.cards import Card, cards
from branchline.views.entry_rows import RowTexts
from branchline.views.hits import Hit
from branchline.views.session_row import SessionRow
from branchline.views.text import one_line, safe
from branchline.views.tool_views import json_text

__all__ = ["History"]

_CARD_TEXT = 2_000
"""Maximum characters of one card in a conversation; ``entry`` returns the rest."""
_ROW_TEXT = 160
_SNIPPET = 300
_TITLE = 200
_SEARCH_SECONDS = 10.0


class History:
    """The sessions of one library, as another agent may see them.

    The library is opened for each answer: a server runs for hours, and new agents may appear meanwhile.
    """

    def __init__(self, open_library: Callable[[], SessionLibrary]) -> None:
        self._open_library = open_library
        self._secrets = SessionSecrets()

    def sessions(self, *, limit: int, skip: int) -> ListAnswer:
        """Return the sessions that were used last, after the first ``skip``."""
        library = self._open_library()
        rows = library.list(deep=True, limit=skip + limit + 1)
        listed: list[ListedSession] = []
        budget = AnswerBudget()
        for row in rows[skip : skip + limit]:
            item = _listed(row, self._redactor_of(library, row))
            if not budget.take(item):
                break
            listed.append(item)
        end = skip + len(listed)
        return ListAnswer(notice=NOTICE, sessions=listed, next_skip=end if len(rows) > end else None)

    def search(self, query: str, *, limit: int) -> SearchAnswer:
        """Return the entries that match a query. Raises ValueError for an invalid query."""
        redactor = Redactor(sessions=self._secrets)
        hits = self._open_library().search(
            query, limit=limit, budget=_SEARCH_SECONDS, context=_SNIPPET, redactor=redactor
        )
        budget = AnswerBudget()
        found: list[FoundEntry] = []
        for hit in hits:
            item = _found(hit, redactor)
            if not budget.take(item):
                break
            found.append(item)
        return SearchAnswer(
            notice=NOTICE,
            hits=found,
            total=hits.total,
            remarks=[*(() if hits else (hits.coverage,)), *hits.remarks],
        )

    def read(self, name: str, *, leaf: str | None, last: int, before: str | None) -> ReadAnswer:
        """Return the last entries of the path to ``leaf``, or of the part of it before an entry."""
        with self._opened(name) as session:
            path = session.path(leaf)
            whole = frozenset(map(session.index.position, path))
            if before is not None:
                if before not in path:
                    raise EntryNotFound(f"entry {before} is not on this path of {session.id}")
                path = path[: path.index(before)]
            redactor = self._redactor(session)
            chosen = path[-last:]
            positions = list(map(session.index.position, chosen))
            calls = PathCalls(
                CallPairs(session.transcript),
                positions,
                whole,
                lambda at: redacted_entries(session, [session.index.keys[at]], redactor)[0],
            )
            deck = _quoted(_deck(session, redacted_entries(session, chosen, redactor), calls), redactor)
            budget, kept = AnswerBudget(), len(deck)
            while kept and budget.take(deck[kept - 1]):
                kept -= 1
            if kept:  # an entry is returned completely or left for the next call
                cut = deck[kept - 1].entry
                kept = next((at for at in range(kept, len(deck)) if deck[at].entry != cut), kept)
            first = deck[kept].entry if kept and kept < len(deck) else chosen[0] if chosen else None
            return ReadAnswer(
                notice=NOTICE,
                session=_name(session.id),
                title=_known(session.title, redactor),
                leaf=session.leaf if leaf is None else leaf,
                cards=deck[kept:],
                earlier=None if first is None or first == path[0] else first,
                redacted=_count(redactor),
            )

    def tree(self, name: str, *, kind: Filter, skip: int) -> TreeAnswer:
        """Return the entries of all branches, one line each."""
        with self._opened(name) as session:
            outline = session.outline(kind)
            texts = RowTexts(session.transcript, home=os.path.expanduser("~"))
            index, labels = session.index, session.labels
            budget, redactor = AnswerBudget(), self._redactor(session)
            rows: list[TreeRow] = []
            for number in range(skip, len(outline)):
                row = outline[number]
                label = labels.get(row.key)
                (entry,) = redactor.entries(session.transcript, [row.position])
                item = TreeRow(
                    entry=row.key,
                    parent=index.parent(row.key),
                    depth=row.level,
                    role=_line(index.roles[row.position] or index.types[row.position], redactor),
                    active=row.active,
                    label=_known(label, redactor),
                    text=_line(texts.of(row.position, entry), redactor, length=_ROW_TEXT),
                )
                if not budget.take(item):
                    break
                rows.append(item)
            end = skip + len(rows)
            return TreeAnswer(
                notice=NOTICE,
                session=_name(session.id),
                leaf=session.leaf,
                rows=rows,
                total=len(outline),
                next_skip=end if end < len(outline) else None,
            )

    def entry(self, name: str, entry: str, *, offset: int) -> EntryAnswer:
        """Return one entry in full, from the character ``offset`` on."""
        with self._opened(name) as session:
            position = session.index.position(entry)
            redactor = self._redactor(session)
            label = session.label(entry)
            found = redacted_entries(session, [entry], redactor)
            parts = [part for card in _deck(session, found) for part in _texts(card, redactor) if part]
            text = "\n\n".join(parts)
            piece = AnswerBudget().cut(text[offset:])
            end = offset + len(piece)
            return EntryAnswer(
                notice=NOTICE,
                session=_name(session.id),
                entry=entry,
                parent=session.index.parent(entry),
                children=session.children(entry)[:20],
                role=_line(session.index.roles[position] or session.index.types[position], redactor),
                time=_line(found[0].timestamp, redactor),
                label=_known(label, redactor),
                text=piece,
                offset=offset,
                length=len(text),
                next_offset=end if end < len(text) else None,
                redacted=_count(redactor),
            )

    def document(self, name: str) -> str:
        """Return the path to the leaf as Markdown."""
        with self._opened(name) as session:
            data = render(session, ExportRequest(format="md")).data
        quoted = f"> {NOTICE}\n\n".encode() + data
        if len(quoted) <= LARGEST_ANSWER:
            return quoted.decode()
        rest = "\n\n… (cut; the tool read_session returns the rest)\n"
        return quoted[: LARGEST_ANSWER - len(rest.encode())].decode("utf-8", "ignore") + rest

    def fork(self, name: str, entry: str | None) -> NewSession:
        """Copy the path to an entry into a new session; this one does not change."""
        with self._opened(name) as session, session.fork(entry) as made:
            return NewSession(
                session=_name(made.id),
                parent=_name(session.id),
                entries=len(made),
                agent=_agent(made.format) or "",
            )

    def convert(self, name: str, to: str, entry: str | None, *, lossy: bool) -> ConvertAnswer:
        """Convert a session, or the path to an entry, for another agent. ValueError for an unknown agent."""
        with self._opened(name) as session:
            request = ConvertRequest(
                to=to,
                scope="tree" if entry is None else "path",
                entry=entry,
                install=True,
                every_branch=False,
                lossy=lossy,
            )
            result = convert(session, request)
            (file,) = result.files
            return ConvertAnswer(
                session=_name(file.session),
                parent=_name(session.id),
                agent=result.target,
                entries=file.fidelity.entries,
                lost=[f"{len(note.entries)} × {note.kind}: {note.why}" for note in file.fidelity.lost],
                resume_command=file.resume,
            )

    def _redactor(self, session: Session) -> Redactor:
        """Return a redactor that knows what is secret anywhere in the session."""
        return Redactor(sessions=self._secrets).for_session(session.transcript)

    def _redactor_of(self, library: SessionLibrary, row: SessionRow) -> Redactor:
        try:
            session = library.open(row)
        except (BranchlineError, OSError):
            session = None  # a row about a file that cannot be read
        if session is None:
            return Redactor()
        with session:
            return self._redactor(session)

    @contextmanager
    def _opened(self, name: str) -> Iterator[Session]:
        library = self._open_library()
        session = library.open(library.find(name, redact=_name))
        if session is None:
            raise SessionNotFound(f"session {name!r} was removed")
        with session:
            yield session


def _quoted(cards: list[Card], redactor: Redactor) -> list[QuotedCard]:
    deck = []
    for card in cards:
        title, arguments, text = _texts(card, redactor)
        deck.append(
            QuotedCard(
                entry=card.id,
                kind=card.kind,
                title=one_line(title)[:_TITLE],
                text=text[:_CARD_TEXT],
                arguments=arguments[:_CARD_TEXT],
                time=_line(card.timestamp, redactor),
                label=_known(card.label, redactor),
                failed=card.error,
                truncated=max(len(text), len(arguments)) > _CARD_TEXT,
            )
        )
    return deck


def _deck(session: Session, entries: list[Entry], calls: PathCalls | None = None) -> list[Card]:
    labels = session.transcript.reading.labels
    return cards(entries, labels=labels, home=os.path.expanduser("~"), calls=calls)


def _texts(card: Card, redactor: Redactor) -> tuple[str, str, str]:
    """Return the title, arguments and body of a card, redacted.

    The entries were redacted before, but JSON stored as text is decoded only here, so redact again.
    """
    arguments = "" if card.call is None else json_text(card.call.arguments)
    title, arguments, body = (safe(redactor.text(text)) for text in (card.title, arguments, card.body))
    return title, arguments, body


def _listed(row: SessionRow, redactor: Redactor) -> ListedSession:
    parent = row.parent_session
    return ListedSession(
        id=_name(row.id),
        agent=row.agent or _agent(row.format),
        title=_known(row.title, redactor),
        first_prompt=_known(row.first_prompt, redactor),
        project=_known(row.cwd, redactor),
        changed=_iso(row.active_ms),
        messages=row.messages,
        forked_from=None if parent is None else _line(os.path.basename(parent), redactor),
        problem=_known(row.problem, redactor),
    )


def _found(hit: Hit, redactor: Redactor) -> FoundEntry:
    return FoundEntry(
        session=_name(hit.row.id),
        entry=hit.entry,
        role=_line(hit.role, redactor),
        snippet=hit.snippet.text,
        time=None if hit.ms is None else _iso(hit.ms),
        on_active_path=hit.on_path,
        title=_known(hit.row.title, redactor),
        agent=hit.row.agent or _agent(hit.row.format),
        project=_known(hit.row.cwd, redactor),
    )


@lru_cache(maxsize=10_000)
def _name(text: str) -> str:
    """Return the id that names a session to a client, which finds it by that."""
    return Redactor().text(text)


def _agent(format_: str | None) -> str | None:
    """Return the agent of a stored session, derived from its format; native sessions use pi's format."""
    return "branchline" if format_ == "pi" else format_


def _known(text: str | None, redactor: Redactor) -> str | None:
    return None if text is None else _line(text, redactor)


def _line(text: str, redactor: Redactor, *, length: int = _TITLE) -> str:
    return one_line(redactor.text(text))[:length]


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def _count(redactor: Redactor) -> int:
    return sum(each.count for each in redactor.found() or ())
