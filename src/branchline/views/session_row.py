"""Sessions in a list, as every interface shows them: frozen records without message payloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import msgspec

from branchline.views.figures import CostState

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
"""The reason for hiding a session of another project."""
OTHER_AGENT = "another agent"
"""The reason for hiding a session if only some agents are listed."""


class SkippedFile(NamedTuple):
    """A file that looks like a session but is not listed, and why."""

    name: str
    reason: str


class SessionRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One session in a list.

    Without reading the file only the fields before ``cwd`` are known; the others are None. ``problem`` says
    why a file could not be read as a session; such a row has what the directory tells and, for a compressed
    file that is too large or damaged, what its beginning tells. Counts are None if a compressed file is too
    large for a listing to read.
    """

    key: str
    """The name in the store: the file name without its extension."""
    id: str
    """The id in the header; the id in the file name if the header was not read."""
    path: str | None = None
    size: int = 0
    modified_ms: int = 0
    """When the file last changed, in Unix milliseconds."""
    draft: bool = False
    cwd: str | None = None
    title: str | None = None
    created: str | None = None
    """The time in the header, verbatim."""
    last_activity_ms: int | None = None
    """The time of the latest message of user or model, else of the header, else ``modified_ms``.

    A time after the last change of the file is that of a wrong clock: ``modified_ms`` counts then, and no
    time that is still to come. Operator's sessions have ``modified_ms``.
    """
    used_ms: int | None = None
    """When it was used last: the last activity, or the time at which it was made, if that is later."""
    messages: int | None = None
    """The number of messages of user, model and tools on the active path."""
    total_messages: int | None = None
    """The number of messages of any role, on all branches."""
    first_prompt: str | None = None
    """The first prompt on one line; in a fork, the first after the fork point."""
    parent_session: str | None = None
    """The session that this one was forked from: a path or an id."""
    format: str | None = None
    version: int | None = None
    provider: str | None = None
    model: str | None = None
    findings: int | None = None
    problem: str | None = None
    agent: str | None = None
    """The agent in whose folders the file is, if the library covers all agents."""
    subagent: bool = False
    """Whether another session started this one as a sub-agent."""
    git_branch: str | None = None
    """The git branch that the session records."""
    branches: int | None = None
    """The number of branches: 1 without forks, 0 before the first entry."""
    prompts: int | None = None
    """The number of prompts on the active path."""
    tags: tuple[str, ...] = ()
    """The tags of the user."""
    note: str | None = None
    """The note of the user."""
    archived: bool = False
    """Whether this is an archived copy of a session that its agent has deleted."""
    expires_ms: int | None = None
    """When its agent deletes it, in Unix milliseconds; None if it does not."""

    @property
    def active_ms(self) -> int:
        """The time that lists sort by and show: the last use, or that of the file if it was not read."""
        return self.modified_ms if self.used_ms is None else self.used_ms


class ListItem(msgspec.Struct, frozen=True):
    """A row of a list; ``branch`` has its connectors if rows are threaded."""

    row: SessionRow
    agent: str
    branch: str = ""
    pinned: bool = False
    note: str | None = None


def expires_within(row: SessionRow, days: float, *, now: float) -> bool:
    """Return whether the agent deletes a session within so many days; ``now`` is in Unix seconds."""
    return row.expires_ms is not None and row.expires_ms <= (now + days * 86_400) * 1000


def row_name(row: SessionRow) -> str:
    """Return the unique name of a row across all libraries."""
    return row.path or row.key


def latest_first(row: SessionRow) -> tuple[int, str]:
    """Sort key of every list: the session that was used last first, ties by key."""
    return (-row.active_ms, row.key)


class Listing(Sequence[SessionRow]):
    """The sessions of a library, newest first, ties by key.

    Iterating yields every row, including unreadable ones (``row.problem``). Every file is counted: ``seen``
    is ``len(readable) + len(unreadable) + len(hidden) + unscanned``, and ``len(listing)`` is the first two.
    """

    __slots__ = ("hidden", "notes", "rows", "shallow", "unscanned")

    def __init__(
        self,
        rows: Iterable[SessionRow] = (),
        hidden: Iterable[SkippedFile] = (),
        waiting: int = 0,
        notes: Iterable[str] = (),
        shallow: int = 0,
    ) -> None:
        self.rows = tuple(rows)
        """All rows, in order."""
        self.hidden = tuple(hidden)
        """Files that look like sessions but are not listed, with reasons."""
        self.notes = tuple(notes)
        """Sentences about problems while listing."""
        self.unscanned = waiting
        """The number of files that were not read because of a limit; 0 in a complete listing."""
        self.shallow = shallow
        """The number of rows that tell only what the beginning of the file tells, because time was short."""

    @property
    def readable(self) -> tuple[SessionRow, ...]:
        return tuple(row for row in self.rows if row.problem is None)

    @property
    def unreadable(self) -> tuple[SessionRow, ...]:
        """The rows whose files could not be read as sessions."""
        return tuple(row for row in self.rows if row.problem is not None)

    @property
    def seen(self) -> int:
        """The number of files that look like sessions."""
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
    """A short description of a session."""

    row: SessionRow
    started: str | None
    provider: str | None
    model: str | None
    messages: int
    first_prompt: str | None
    title: str | None
    entries: int
    branches: int
    """The number of branches: 1 without forks, 0 before the first entry."""
    cost: float | None
    """The cost of everything in the file, including entries copied by a fork; None if it is unknown."""
    own_cost: float | None
    """The cost of this session itself: summed over a library, everything counts once."""
    cost_state: CostState
    """Whether the cost was recorded by the agent or estimated from public prices."""
    tokens: int | float | None
    """None if the agent records none."""
