"""Forks and copies of a session: format, lines, location, and the entries still to be added.

A fork keeps the format of its source, written as the agent would write it; a fork of a read-only session is a
branchline session. A copy is planned, completed in memory, and written in one piece.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from branchline import places
from branchline.clock import Clock, iso
from branchline.context import milliseconds
from branchline.entries import CompactionSummaryMessage, Header, Label, SessionInfo
from branchline.errors import NotSupported
from branchline.formats import PI, EntryLog, Format, LabelState
from branchline.log import Durability
from branchline.session import locator
from branchline.session.ids import check_session_id
from branchline.session.new_entry import NewEntry
from branchline.session.queries import SessionQueries
from branchline.session.writer import SessionWriter
from branchline.stores import DatabaseStore, FilesStore, Store, check_key
from branchline.stores.companion_folders import copy_folder
from branchline.tree import ROOT

if TYPE_CHECKING:
    from branchline.session.session import Session

__all__ = [
    "ForkAt",
    "ForkDestination",
    "ForkPlan",
    "ForkScope",
    "copied_name",
    "execute",
    "fork_position",
    "new_writer",
    "plan",
    "plan_compacted",
    "time_after",
]

ForkAt = Literal["at", "before"]
ForkScope = Literal["path", "tree"]

S = TypeVar("S", bound="Session")

_DAY = 86_400_000


class ForkDestination(NamedTuple):
    """The destination of a new session; None where the caller did not choose."""

    cwd: str | os.PathLike[str] | None = None
    store: Store | None = None
    id: str | None = None
    to: str | None = None
    key: str | None = None
    lossy: bool = False
    """Whether a copy for another agent may lack messages of the path."""


class ForkPlan(NamedTuple):
    """An unwritten copy, and what must be added before it is written."""

    writer: SessionWriter
    cwd: str
    stand: str | None
    """The entry to move to; None if the copy ends there anyway, or for the start of a whole tree."""
    labels: list[tuple[str, LabelState]]
    reset: bool = False
    """Whether to move before the first entry."""
    title: str | None = None
    folder: str | None = None
    """The file whose folder is copied with it."""


def new_writer(
    format_: Format,
    header: Header,
    store: Store,
    *,
    key: str | None = None,
    lines: bytes | None = None,
    durability: Durability = "fsync",
) -> SessionWriter:
    """Return the writer of a new session with its header or all these lines; a draft until published."""
    if isinstance(store, FilesStore) and store.suffix != format_.traits.suffix:
        store = store.with_suffix(format_.traits.suffix)
    return SessionWriter(
        format_,
        start=format_.required_writer().encode_header(header) if lines is None else lines,
        held=lines is not None,
        store=store,
        key=check_key(format_.home.file_key(header) if key is None else key),
        draft=True,
        durability=durability,
    )


def fork_position(source: SessionQueries, entry_id: str | None, position: ForkAt) -> int:
    """Return the last conversation entry that a fork copies; -1 if it copies none."""
    key = source.leaf if entry_id is None else entry_id
    here = ROOT if key is None else source.index.position(key)
    if position == "before" and here != ROOT:
        here = source.index.parents[here]
    return source.index.nearest_conversation_entry(here)


def plan(
    source: SessionQueries,
    leaf: int,
    *,
    scope: ForkScope,
    place: ForkDestination,
    clock: Clock,
    durability: Durability,
) -> ForkPlan:
    """Plan the copy of a path, or of a whole tree with its leaf at an entry. NotSupported if impossible."""
    transcript = source.transcript
    own = transcript.format
    format_, header, store = _target(source, place, clock)
    if not format_.is_appendable:
        return _whole_plan(source, leaf, format_, header, store, place, scope=scope, durability=durability)
    if format_ is own:
        whole = scope == "tree"
        writer = own.required_writer()
        lines = writer.copy(transcript, header) if whole else writer.fork(transcript, leaf, header)
    else:
        lines = _carried(transcript, format_, header, None if scope == "tree" else leaf, place)
    target = new_writer(format_, header, store, key=place.key, lines=lines, durability=durability)
    return ForkPlan(
        writer=target,
        cwd=header.cwd,
        stand=_stand(source, leaf, target, scope),
        labels=_labels(source, target) if scope == "path" else [],
        reset=scope == "tree" and leaf == ROOT,
        title=_title(source, format_, leaf, scope) if target.transcript.reading.title is None else None,
        folder=source.file
        if format_ is own and own.traits.copies_companion_folder and scope == "tree"
        else None,
    )


def _whole_plan(
    source: SessionQueries,
    leaf: int,
    format_: Format,
    header: Header,
    store: Store,
    place: ForkDestination,
    *,
    scope: ForkScope,
    durability: Durability,
) -> ForkPlan:
    """Plan a copy in a format that cannot be appended to: title and position are part of it."""
    if scope == "tree" and leaf != fork_position(source, None, "at"):
        raise NotSupported(
            f"a whole tree for {format_.name} keeps the leaf of its source; branch there first, "
            "or fork only the path"
        )
    lines = _carried(source.transcript, format_, header, None if scope == "tree" else leaf, place)
    target = new_writer(format_, header, store, lines=lines, durability=durability)
    return ForkPlan(writer=target, cwd=header.cwd, stand=None, labels=[])


def plan_compacted(
    source: SessionQueries,
    leaf: int,
    first_kept: int,
    summary: CompactionSummaryMessage,
    *,
    place: ForkDestination,
    clock: Clock,
    durability: Durability,
) -> ForkPlan:
    """Plan a copy of a path that starts with a summary, for formats without compactions."""
    format_, header, store = _target(source, place, clock)
    lines = format_.required_writer().fork_compacted(
        source.transcript, leaf, header, summary=summary, first_kept=first_kept
    )
    target = new_writer(format_, header, store, lines=lines, durability=durability)
    return ForkPlan(writer=target, cwd=header.cwd, stand=None, labels=[])


def execute(plan: ForkPlan, made: S, *, then: Callable[[], object] | None = None) -> S:
    """Write a copy atomically, as a listed file, or leave nothing.

    ``made`` is the session of the plan; ``then`` is called before anything is written.
    """
    if plan.labels:
        labels = [
            NewEntry(kind=Label, fields={"target": key, "label": state.text}, timestamp=state.time)
            for key, state in plan.labels
        ]
        made._write(labels)  # noqa: SLF001
    if plan.stand is not None:
        made.branch(plan.stand)
    elif plan.reset and len(made):
        made.reset()
    if plan.title and len(made):
        made.set_title(plan.title)
    if then is not None:
        then()
    if not len(made):
        plan.writer.buffered = False  # no message yet: the first entry creates the file
        return made
    plan.writer.create()  # as a draft, so that a crash leaves no partial copy in listings
    try:
        plan.writer.publish()
    except BaseException:
        plan.writer.discard_draft()
        raise
    if made.file is not None and not plan.writer.format.is_appendable:
        if isinstance(plan.writer.store, FilesStore):
            plan.writer.store.drop_empty_folders()
        if made.title:
            locator.record_title(plan.writer.format, made.file, made.header, made.title)
    if plan.folder is not None and made.file is not None and isinstance(plan.writer.store, FilesStore):
        copy_folder(plan.folder, made.file)
    return made


def _carried(
    transcript: EntryLog, target: Format, header: Header, leaf: int | None, place: ForkDestination
) -> bytes:
    """Return the copy as a file of another format; the caller sets labels and title of a native one."""
    from branchline.conversion import convert, native_lines, require_messages  # noqa: PLC0415  few forks need it

    if target is PI:
        return b"".join([target.required_writer().encode_header(header), *native_lines(transcript, leaf)])
    made = convert(transcript, target, header, leaf=leaf)
    if not place.lossy:
        require_messages(made, target.name)
    return made.data


def _target(source: SessionQueries, place: ForkDestination, clock: Clock) -> tuple[Format, Header, Store]:
    """Return the format, header and store of a copy."""
    own = source.transcript.format
    name = copied_name(own, place.to)
    format_ = locator.written_format(name)
    cwd = source.cwd if place.cwd is None else places.resolve_cwd(place.cwd)
    store = place.store
    # pi and branchline are two locations for the same format; a fork without a name goes beside its parent.
    if store is None and format_ is own and (place.to is None or own is not PI):
        store = locator.sibling_store(source.store, own, own_cwd=source.cwd, cwd=cwd)
    timestamp = time_after(source.index.times, clock.now())
    if place.id is not None:
        session_id = check_session_id(place.id)
    elif place.key is not None:
        session_id = check_key(place.key)
    else:
        session_id = format_.required_writer().session_id(clock.session_id(), timestamp)
    header = Header(
        version=3,
        id=session_id,
        timestamp=timestamp,
        cwd=cwd,
        parent_session=source.file
        if source.file and isinstance(source.store, FilesStore | DatabaseStore)
        else source.id,
        metadata=places.session_settings(format_) or None,
    )
    return format_, header, locator.store_of(name, header) if store is None else store


def copied_name(own: Format, to: str | None) -> str:
    """Return the name of the agent that owns a copy."""
    if to is not None:
        return to
    return own.name if own.is_appendable and own is not PI else locator.NATIVE


def _stand(source: SessionQueries, leaf: int, target: SessionWriter, scope: ForkScope) -> str | None:
    """Return the leaf of the copy; in a whole tree, the nearest copied entry at or above it.

    None if the format has no leaf moves and the copy ends at the leaf of its source anyway.
    """
    keys = source.index.keys
    if "branch" in target.format.traits.unsupported and leaf == fork_position(source, None, "at"):
        return None
    chain = reversed(source.index.path_positions(leaf)) if scope == "tree" else [leaf] * (leaf != ROOT)
    return next((keys[position] for position in chain if keys[position] in target.transcript.tree), None)


def _title(source: SessionQueries, target: Format, leaf: int, scope: ForkScope) -> str | None:
    """Return the title of a copy: in its own format, the newest that was given on the copied path."""
    tree = source.index
    places = [at for at, kind in enumerate(tree.types) if kind == "session_info"]
    if scope == "tree" or not places or source.transcript.format is not target:
        return source.title
    chain = {ROOT, *tree.path_positions(leaf)}
    given = [at for at in places if tree.nearest_conversation_entry(tree.parents[at]) in chain]
    if not given or leaf == ROOT:
        return None
    entry = source.transcript.entry(given[-1])
    return entry.name if isinstance(entry, SessionInfo) and entry.name else None


def _labels(source: SessionQueries, target: SessionWriter) -> list[tuple[str, LabelState]]:
    """Return the labels of copied entries, unless the format has copied them itself."""
    there = target.transcript
    return [
        (key, state)
        for key, state in source.transcript.reading.labels.items()
        if key in there.tree and there.reading.labels.get(key) != state
    ]


def time_after(times: Iterable[str], now: int) -> str:
    """Return the time of a copy: later than its entries, even if the last one was made at this moment.

    A clock that is ahead by up to a day is accepted.
    """
    believed = iso(now + _DAY)
    newest = max((time for time in times if time < believed), default="")
    return iso(now) if newest < iso(now) else iso((milliseconds(newest) or now) + 1)
