"""Sessions in a list, as every interface shows them: frozen records without message payloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import msgspec

__all__ = [
    "ELSEWHERE",
    "OTHER_AGENT",
    "Description",
    "ListItem",
    "Listing",
    "SessionRow",
    "SkippedFile",
    "expires_within",
    "latest_first",
    "row_name",
]

ELSEWHERE = "another working directory"
"""The reason for which a session is hidden that belongs to another project."""
OTHER_AGENT = "another agent"
"""The reason for which a session is hidden where only those of some agents are listed."""


class SkippedFile(NamedTuple):
    """Something that looks like a session and is not listed, and why."""

    name: str
    reason: str


class SessionRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One session in a list.

    Without reading the file only what stands before ``cwd`` is known; the rest is None. ``problem`` says why
    a file could not be read as a session; such a row holds what the directory tells and, of a compressed
    file that is too large or damaged, what its beginning tells. Counts are None where a compressed file is
    too large for a listing to read.
    """

    key: str
    """The name in the store: the file name without its ending."""
    id: str
    """The id in the header; before the header was read, the id in the file name."""
    path: str | None = None
    size: int = 0
    modified_ms: int = 0
    """When the file last changed, in Unix milliseconds: the time that lists are sorted by and show."""
    draft: bool = False
    cwd: str | None = None
    title: str | None = None
    created: str | None = None
    """The time in the header, as it is written there."""
    last_activity_ms: int | None = None
    """The latest message of a person or a model, else the header's time, else ``modified_ms``."""
    messages: int | None = None
    """Messages of person, model and tools on the active path."""
    total_messages: int | None = None
    """Messages of any role, on all branches."""
    first_prompt: str | None = None
    """The first words of the person on one line; in a fork, the first after the fork point."""
    parent_session: str | None = None
    """The session that this one was forked from: a path, or an id."""
    format: str | None = None
    version: int | None = None
    provider: str | None = None
    model: str | None = None
    findings: int | None = None
    problem: str | None = None
    agent: str | None = None
    """The program in whose folders the file lies, where sessions of all programs were looked for."""
    subagent: bool = False
    """Another session started this one as a helper."""
    git_branch: str | None = None
    """The git branch that the session says it is about."""
    branches: int | None = None
    """How many ends the conversation has: 1 without branches, 0 before the first entry."""
    prompts: int | None = None
    """Messages of the person on the active path."""
    tags: tuple[str, ...] = ()
    """The tags that you gave it."""
    note: str | None = None
    """What you wrote about it."""
    archived: bool = False
    """Whether this is our copy of a session that its agent has deleted."""
    expires_ms: int | None = None
    """When its agent deletes it, in Unix milliseconds; None where it keeps sessions."""


class ListItem(NamedTuple):
    """A row in its place; ``branch`` is drawn before it where rows are threaded."""

    row: SessionRow
    agent: str
    branch: str = ""
    pinned: bool = False
    note: str | None = None


def expires_within(row: SessionRow, days: float, *, now: float) -> bool:
    """Whether the agent of a session deletes it within so many days; ``now`` is in Unix seconds."""
    return row.expires_ms is not None and row.expires_ms <= (now + days * 86_400) * 1000


def row_name(row: SessionRow) -> str:
    """What tells a row from every other, in all libraries together."""
    return row.path or row.key


def latest_first(row: SessionRow) -> tuple[int, str]:
    """Sort key of every list: the file that changed last first, ties by key."""
    return (-row.modified_ms, row.key)


class Listing(Sequence[SessionRow]):
    """The sessions of a library, newest first, ties by key.

    Iterating gives every row, those that could not be read (``row.problem``) in their place among the
    others. Nothing is dropped in silence: ``seen`` is ``len(readable) + len(unreadable) + len(hidden)``, and
    ``waiting`` where a listing was ended early; ``len(listing)`` is the first two.
    """

    __slots__ = ("hidden", "notes", "rows", "unscanned")

    def __init__(
        self,
        rows: Iterable[SessionRow] = (),
        hidden: Iterable[SkippedFile] = (),
        waiting: int = 0,
        notes: Iterable[str] = (),
    ) -> None:
        self.rows = tuple(rows)
        """All rows, in order."""
        self.hidden = tuple(hidden)
        """What looked like a session and is not in the list, each with its reason."""
        self.notes = tuple(notes)
        """Sentences about how the list was made, where that was not as usual."""
        self.unscanned = waiting
        """How many files were not looked at, because nobody asked for more rows; 0 in a whole listing."""

    @property
    def readable(self) -> tuple[SessionRow, ...]:
        return tuple(row for row in self.rows if row.problem is None)

    @property
    def unreadable(self) -> tuple[SessionRow, ...]:
        """The rows whose files could not be read as sessions."""
        return tuple(row for row in self.rows if row.problem is not None)

    @property
    def seen(self) -> int:
        """How many names in the store looked like sessions."""
        return len(self.rows) + len(self.hidden) + self.unscanned

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SessionRow]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> SessionRow: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SessionRow, ...]: ...
    def __getitem__(self, index: int | slice) -> SessionRow | tuple[SessionRow, ...]:
        return self.rows[index]

    def __repr__(self) -> str:
        return (
            f"<Listing of {len(self)} sessions, {len(self.unreadable)} unreadable, {len(self.hidden)} hidden>"
        )


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """A session at a glance."""

    row: SessionRow
    started: str | None
    provider: str | None
    model: str | None
    messages: int
    first_prompt: str | None
    title: str | None
    entries: int
    branches: int
    """How many ends the conversation has: 1 without branches, 0 before the first entry."""
    cost: float
    """Everything in the file, what a fork brought along included."""
    own_cost: float
    """What this session spent itself: over the sessions of a library it counts everything once."""
    tokens: int | float
