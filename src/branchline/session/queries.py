"""The read side of a session: identity, tree and context."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from branchline._arguments import require_number
from branchline.clock import Clock
from branchline.context import Context, build_context
from branchline.entries import SIDE_TYPES, Entry, Header
from branchline.errors import Closed
from branchline.formats import EntryLog
from branchline.log import TornTail
from branchline.session.lock import SessionLock, serialized
from branchline.session.nodes import Node, NodeRow, node_rows, nodes_below
from branchline.session.observers import Observers
from branchline.session.writer import SessionWriter
from branchline.stores import Store
from branchline.stores.protocol import id_in_key
from branchline.tree import ROOT, Finding, Tree

if TYPE_CHECKING:
    from branchline.context import UsageTotals
    from branchline.tree import Filter, Outline

__all__ = ["SessionQueries"]


class SessionQueries:
    """The methods of a session that do not write."""

    def __init__(self, writer: SessionWriter, *, clock: Clock, cwd: str | None = None) -> None:
        self._writer = writer
        self._clock = clock
        self._cwd = cwd
        self._leaf = writer.transcript.leaf
        self._closed = False
        self._lock = SessionLock()
        self._observers: Observers | None = None

    # -- what it is -----------------------------------------------------------------------------------

    @property
    def transcript(self) -> EntryLog:
        """The parsed log: tree, spans, findings."""
        return self._writer.transcript

    @property
    def header(self) -> Header:
        header = self.transcript.reading.header
        return Header(id=id_in_key(self._writer.key)) if header is None else header

    @property
    def id(self) -> str:
        """The id in the header, or in the name of a session whose header has none."""
        found = self.header.id
        return found if found.strip() else id_in_key(self._writer.key)

    @property
    def cwd(self) -> str:
        """The working directory of this session."""
        return self.header.cwd if self._cwd is None else self._cwd

    @property
    def format(self) -> str:
        """The name of the format of the log."""
        return self.transcript.format.name

    @property
    def file(self) -> str | None:
        """The file of this session (of a draft: the one it will have); None in memory."""
        return self._writer.path

    @property
    def key(self) -> str:
        """The name of this session in its store."""
        return self._writer.key

    @property
    def store(self) -> Store | None:
        return self._writer.store

    @property
    def is_draft(self) -> bool:
        """Whether this session has no reply yet, so that listings do not show it."""
        return self._writer.draft

    @property
    def title(self) -> str | None:
        return self.transcript.title

    @property
    def parent_session(self) -> str | None:
        """The session that this one was forked from, or that started it as a sub-agent: a path, or an id."""
        writer = self._writer
        started_by = writer.format.home.subagent_of(writer.path or writer.key, self.header)
        return writer.format.traits.parent_of(self.header) or started_by or None

    @property
    def read_only(self) -> str | None:
        """Why nothing may be appended now, or None."""
        return self.transcript.reading.read_only or self._writer.overwriter()

    @property
    @serialized
    def findings(self) -> list[Finding]:
        """Problems found in the file."""
        return self.transcript.findings

    @property
    def foreign_appends(self) -> int:
        """The number of entries by other writers that were read since this session was opened."""
        return self._writer.taken_in

    @property
    def torn_tails(self) -> list[TornTail]:
        """Torn tails that appends of this session closed."""
        return self._writer.torn

    # -- the tree -------------------------------------------------------------------------------------

    @property
    def index(self) -> Tree:
        """The tree as an index: positions, parents, types."""
        return self.transcript.tree

    @property
    def leaf(self) -> str | None:
        """The parent of the next appended entry; None before the first one and after a reset."""
        return self._leaf

    def __len__(self) -> int:
        return len(self.index)

    def __bool__(self) -> bool:
        """Return True, even without entries, so that ``if session`` tests for None."""
        return True

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self.index

    @serialized
    def entry(self, entry_id: str) -> Entry:
        """Return the record of an entry. Raises EntryNotFound if there is none."""
        return self.transcript.entry(self.index.position(entry_id))

    @serialized
    def entries(self, entry_ids: Iterable[str] | None = None) -> list[Entry]:
        """Return the records of these entries (default: all, in file order)."""
        if entry_ids is None:
            return self.transcript.entries(range(len(self.index)))
        return self.transcript.entries(list(map(self.index.position, entry_ids)))

    @serialized
    def raw(self, entry_id: str) -> bytes:
        """Return the line of an entry, byte for byte."""
        return self.transcript.raw(self.index.position(entry_id))

    @serialized
    def raws(self, entry_ids: Iterable[str]) -> list[bytes]:
        """Return the lines of many entries, byte for byte, in few reads."""
        return self.transcript.raws(list(map(self.index.position, entry_ids)))

    @serialized
    def path(self, entry_id: str | None = None, *, limit: int | None = None) -> list[str]:
        """Return the conversation from the root to an entry (default: the leaf), without side records.

        ``limit`` returns only its last entries, without walking to the root.
        """
        if limit is not None:
            require_number("limit", limit, integer=True)
        return self.index.conversation_path(self._leaf if entry_id is None else entry_id, limit)

    def tree(self) -> list[Node]:
        """Return the roots; each node can return its children."""
        return nodes_below(self, None)

    @serialized
    def nodes(self) -> list[NodeRow]:
        """Return all entries as records for display, depth first.

        The subtree with the leaf comes first, then oldest first.
        """
        return list(node_rows(self))

    @serialized
    def children(self, entry_id: str | None) -> list[str]:
        """Return the conversation entries that follow an entry, oldest first; for None, the first ones.

        Side records are skipped; ``index.children`` includes them.
        """
        return self.index.conversation_children(entry_id)

    @serialized
    def newest_descendant(self) -> str | None:
        """Return the newest conversation entry below the leaf; None if there is none.

        The leaf may be above the end of the conversation if the agent does not record its position.
        """
        index = self.index
        newest = index.newest_below(ROOT if self._leaf is None else index.position(self._leaf))
        return None if newest == ROOT else index.keys[newest]

    @property
    @serialized
    def labels(self) -> dict[str, str]:
        """The current labels by entry."""
        labels = self.transcript.reading.labels
        return {key: state.text for key, state in labels.items() if key in self.index}

    @serialized
    def label(self, entry_id: str) -> str | None:
        """Return the label of an entry."""
        self.index.position(entry_id)
        state = self.transcript.reading.labels.get(entry_id)
        return None if state is None else state.text

    @serialized
    def outline(
        self,
        filter: Filter = "default",  # noqa: A002
        *,
        matches: Callable[[int], bool] | None = None,
        folded: Iterable[str] = (),
    ) -> Outline:
        """Return the tree as rows for display."""
        from branchline.tree import Outline  # noqa: PLC0415  an agent draws no trees

        return Outline(
            self.index,
            ROOT if self._leaf is None else self.index.position(self._leaf),
            filter=filter,
            labels=self.labels,
            matches=matches,
            folded={self.index.position(key) for key in folded},
        )

    @serialized
    def context(self, leaf: str | None = None) -> Context:
        """Return the model context at an entry (default: the leaf)."""
        key = self._leaf if leaf is None else leaf
        return build_context(self.transcript, ROOT if key is None else self.index.position(key))

    @serialized
    def usage(self) -> UsageTotals:
        """Return tokens and cost of everything in the file, own and inherited separately."""
        from branchline.context import totals  # noqa: PLC0415  rarely needed

        return totals(self.transcript, inherited_entries=self.inherited_entries)

    @property
    @serialized
    def inherited_entries(self) -> int:
        """The number of entries inherited by the fork: those older than the session itself."""
        return self.transcript.reading.inherited_entries

    @property
    @serialized
    def fork_point(self) -> str | None:
        """The last inherited conversation entry; None if there is none."""
        tree = self.index
        for position in range(self.inherited_entries - 1, -1, -1):
            if tree.types[position] not in SIDE_TYPES and position not in tree.placeholders:
                return tree.keys[position]
        return None

    def _refuse_closed(self) -> NoReturn:
        raise Closed(f"session {self.id} is closed")

    def __repr__(self) -> str:
        return f"<Session {self.id} {len(self.index)} entries at {self._leaf}>"
