"""One live session: operations on a log, a tree and a clock.

Opening never writes. An operation writes the log first and updates memory afterwards. Before it appends, it
reads what other writers have appended; its own entry goes below its own leaf. So two writers never conflict:
they branch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from branchline import places
from branchline._arguments import (
    require_choice,
    require_json,
    require_number,
    require_path,
    require_text,
)
from branchline.clock import Clock, SystemClock, iso
from branchline.context.javascript import trim
from branchline.entries import (
    ACTIVITY_ROLES,
    SIDE_TYPES,
    Block,
    BranchSummary,
    Compaction,
    CompactionSummaryMessage,
    Content,
    ContextEdit,
    Custom,
    CustomMessage,
    Entry,
    Header,
    Label,
    Leaf,
    Message,
    MessageEntry,
    ModelChange,
    Replacement,
    SessionInfo,
    Text,
    ThinkingLevelChange,
    ToolResult,
    Usage,
    UsageEntry,
)
from branchline.entries.lenient import block_from_fields
from branchline.errors import (
    EntryNotFound,
    InvalidArgument,
    InvalidId,
    InvalidType,
    ReadOnly,
    SessionMoved,
)
from branchline.log import Durability, Log, MemoryLog
from branchline.log.system import opening
from branchline.session import forks, locator
from branchline.session.forks import ForkAt, ForkDestination, ForkScope
from branchline.session.ids import check_session_id
from branchline.session.lock import serialized
from branchline.session.message_input import (
    checked_usage,
    kept_messages,
    name_tool,
    normalize_message,
    require_messages,
    system_snapshot,
    why_not_block,
)
from branchline.session.new_entry import NewEntry
from branchline.session.observers import Observer, Observers, OnProblem
from branchline.session.queries import SessionQueries
from branchline.session.shortcuts import SessionShortcuts
from branchline.session.writer import SessionWriter
from branchline.stores import (
    DerivedLog,
    MemoryStore,
    Store,
    absolute_path,
    address_in,
    addressed_store,
    check_key,
    open_log,
)
from branchline.stores.files import draft_at, store_at
from branchline.stores.whole_sessions import completed, folder_cwd, whole_log
from branchline.tree import ROOT

__all__ = ["ForkAt", "ForkScope", "OnConflict", "Persist", "Session"]

OnConflict = Literal["branch", "append", "raise"]
RecentBy = Literal["activity", "file"]
"""Which session is the most recent: that with the latest message, or that whose file changed last."""
Persist = Literal["with_reply", "at_once", "always"]
"""When a session becomes a file that listings show: with its first reply, or when it is created.

Closing deletes an ``at_once`` file if nothing was written to it; ``always`` keeps it.
"""

_DAY = 86_400_000
_WORDS = frozenset({"message", "custom_message", "compaction", "branch_summary"})
_SYSTEM_CLOCK = SystemClock()
_Path = str | os.PathLike[str]


class Session(SessionShortcuts, SessionQueries):
    """A conversation as a tree. Made by :meth:`create`, :meth:`open` and the other factories."""

    _on_conflict: OnConflict = "branch"

    @property
    def on_conflict(self) -> OnConflict:
        """What an append does if another writer has continued the conversation.

        ``branch``: stay at this session's own leaf, so that both continuations are in the tree. ``append``:
        continue where the log is now, so that several writers make one line. ``raise``: SessionMoved, and
        nothing is written. The decision is made under the lock, after reading the whole log. Threads that
        share this session are one writer.
        """
        return self._on_conflict

    @on_conflict.setter
    def on_conflict(self, rule: OnConflict) -> None:
        require_choice("on_conflict", rule, OnConflict)
        self._on_conflict = rule

    # -- factories ------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        cwd: _Path | None = None,
        *,
        directory: _Path | None = None,
        store: Store | None = None,
        format: str | None = None,  # noqa: A002
        id: str | None = None,  # noqa: A002
        key: str | None = None,
        parent_session: _Path | None = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        persist: Persist = "with_reply",
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """Create a session for a working directory (default: the current one).

        It is a branchline session, or one in another agent's ``format``. It is stored in ``store``, in
        ``directory``, or where that agent keeps the sessions of the working directory. Nothing is
        written before the first entry, and listings do not show it before the first reply.
        ``persist="at_once"`` writes the header now, and closing deletes the file if nothing was written to
        it; ``persist="always"`` keeps it. Some agents (zot) delete sessions without messages: closing moves
        one to the trash, and in the agent's own directory it is a draft until its first message, and opens by
        its future path.

        ``key`` is its name in the store (default: time and id), and also its id unless ``id`` is given.
        ``metadata`` is stored in the header, if the format supports it.
        """
        require_choice("persist", persist, Persist)
        require_choice("durability", durability, Durability)
        if title is not None:
            require_text("title", title, empty=True)
        if metadata is not None and not isinstance(metadata, dict):
            raise InvalidType(f"metadata is a dict, not {type(metadata).__name__}")
        require_json("metadata", metadata)
        cwd = places.resolve_cwd(cwd)
        format_ = locator.writable_format(format)
        store = locator.store_in(directory, format, cwd) if store is None else store
        timestamp = iso(clock.now())
        if id is not None:
            id = check_session_id(id)  # noqa: A001
        elif key is not None:
            id = check_key(key)  # noqa: A001
        else:
            id = format_.required_writer().session_id(clock.session_id(), timestamp)  # noqa: A001
        in_header = {"title": _clean_title(title)} if title and format_.traits.title_in_header else {}
        header = Header(
            version=3,
            id=id,
            timestamp=timestamp,
            cwd=cwd,
            parent_session=None if parent_session is None else require_path("parent_session", parent_session),
            metadata={**(metadata or {}), **in_header} or None,
        )
        writer = forks.new_writer(format_, header, store, key=key, durability=durability)
        if persist != "with_reply":
            swept = format_.traits.removes_empty_sessions and locator.is_own_folder(format_, store)
            writer.waits = writer.draft = swept
            writer.temporary = persist == "at_once" and not in_header
            writer.create()
        session = cls(writer, clock=clock, cwd=cwd)
        if title and not format_.traits.title_in_header:
            session.set_title(title)
        return session

    @classmethod
    def open(
        cls,
        path: _Path,
        *,
        cwd: _Path | None = None,
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """Open the session in a file, or in a database as ``FILE#ID``. Changes nothing.

        Raises FileMissing, PermissionDenied or IsADirectory (all of them CannotOpen, and the builtin OSError
        of that name) if the file cannot be opened, NotASession if nothing in it is a session, NotSupported if
        it is compressed and the package that decompresses it is not installed, TooLarge (a NotSupported) if
        it unpacks to more than the setting ``max_unpacked`` allows. The future path of a draft opens the
        draft.
        """
        require_choice("durability", durability, Durability)
        address = address_in(require_path("a session", path))
        if address is not None:
            found, key = addressed_store(address), address.session
            return cls._opened(found, key, found.open(key, durability=durability), durability, clock, cwd=cwd)
        if (draft := draft_at(os.fspath(path))) is not None:
            found, key = draft
            log: Log = open_log(found.draft_path(key), durability=durability)
            return cls._opened(found, key, log, durability, clock, draft=True, cwd=cwd)
        log = open_log(absolute_path(path), durability=durability)
        named = log.key if isinstance(log, DerivedLog) else None
        return cls._opened(store_at(log.name), named, log, durability, clock, cwd=cwd)

    @classmethod
    def from_store(
        cls, store: Store, key: str, *, durability: Durability = "fsync", clock: Clock = _SYSTEM_CLOCK
    ) -> Self:
        """Open a session or draft of a store. Raises SessionNotFound if there is none with this key."""
        require_choice("durability", durability, Durability)
        if not callable(getattr(store, "stat", None)):
            raise InvalidType(
                f"this takes a store, not {type(store).__name__}: open_store(address) makes one"
            )
        require_text("a key", key, empty=True)
        draft = store.stat(key) is None
        log = store.open(key, durability=durability)
        return cls._opened(store, key, log, durability, clock, draft=draft)

    @classmethod
    def _opened(
        cls,
        store: Store,
        key: str | None,
        log: Log,
        durability: Durability,
        clock: Clock,
        *,
        draft: bool = False,
        cwd: _Path | None = None,
    ) -> Self:
        """Return the session in a log, which is closed if there is none; every way to open one ends here."""
        try:
            with opening(log.name):
                log, format_ = whole_log(log, store)
                writer = SessionWriter(
                    format_,
                    log=log,
                    store=store,
                    key=format_.traits.stem_of(log.name) if key is None else key,
                    draft=draft,
                    durability=durability,
                )
                where = writer.path or writer.key
                header = completed(writer.transcript, where).reading.header
        except BaseException:
            log.close()
            raise
        writer.waits = draft
        known = folder_cwd(format_, header, where) if cwd is None else places.resolve_cwd(cwd)
        return cls(writer, clock=clock, cwd=known)

    @classmethod
    def continue_recent(
        cls,
        cwd: _Path | None = None,
        *,
        directory: _Path | None = None,
        format: str | None = None,  # noqa: A002
        by: RecentBy = "activity",
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """Open the newest session of a working directory, or create one.

        The newest is that with the latest message, as in lists, or, by ``"file"``, that whose file changed
        last. With a ``format`` it is a session of that agent, in the agent's own location. In a directory
        with the sessions of many projects, only those of ``cwd`` count.
        """
        require_choice("by", by, RecentBy)
        cwd = places.resolve_cwd(cwd)
        store = locator.store_in(directory, format, cwd)
        for found in locator.newest_first(
            store, cwd, format, mixed=directory is not None, by_file=by == "file"
        ):
            session = cls.from_store(store, found.key, durability=durability, clock=clock)
            session._cwd = found.cwd  # noqa: SLF001
            return session
        return cls.create(cwd, store=store, format=format, durability=durability, clock=clock)

    @classmethod
    def in_memory(
        cls,
        cwd: _Path | None = None,
        *,
        format: str | None = None,  # noqa: A002
        id: str | None = None,  # noqa: A002
        data: bytes | None = None,
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """Create a session without a file, or open the one in ``data``, the bytes of a session file.

        Its bytes say the id and the format of the session in ``data``: TypeError if they are given as well.
        """
        if data is not None:
            if id is not None or format is not None:
                raise InvalidType(
                    "in_memory() takes either data or id and format: the bytes of a session say both"
                )
            if not isinstance(data, bytes | bytearray | memoryview):
                raise InvalidType(f"data is the bytes of a session file, not {type(data).__name__}")
            return cls._opened(MemoryStore(), "memory", MemoryLog(data), "fsync", clock, cwd=cwd)
        return cls.create(cwd, store=MemoryStore(), format=format, id=id, persist="at_once", clock=clock)

    @classmethod
    def fork_from(
        cls,
        source: _Path,
        cwd: _Path | None = None,
        *,
        directory: _Path | None = None,
        id: str | None = None,  # noqa: A002
        to: str | None = None,
        lossy: bool = False,
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """Create a session for ``cwd`` with the whole tree of another file, linked to it as its parent.

        It is stored in ``directory``, or with the sessions of ``cwd``. ``to`` and ``lossy`` are as for
        :meth:`fork`.
        """
        with cls.open(source) as origin:
            resolved = places.resolve_cwd(cwd)
            wanted = forks.copied_name(origin.transcript.format, to)
            store = locator.store_in(directory, wanted, resolved)
            place = ForkDestination(resolved, store, id, to, lossy=lossy)
            leaf = forks.fork_position(origin, None, "at")
            plan = forks.plan(origin, leaf, scope="tree", place=place, clock=clock, durability=durability)
            return forks.execute(plan, cls(plan.writer, clock=clock, cwd=plan.cwd))

    # -- appending ------------------------------------------------------------------------------------

    @serialized
    def append_message(self, message: Message | dict[str, Any] | str) -> str:
        """Append a message (a text is a user message) and return the id of its entry.

        A dict has the fields of a stored message. Convert provider messages with
        :func:`~branchline.from_openai` and :func:`~branchline.from_anthropic`, which may return several, and
        pass them to :meth:`append_messages`. Raises ValueError for a message that a model would not see
        correctly.
        """
        stored = self._normalized(message)
        if self._writer.draft and (stored.role == "assistant" or self._writer.publishes_with_message):
            # Before the reply is written: if this fails, nothing was saved and the draft is still there.
            self._require_writable()
            self._writer.publish()
        return self._append(MessageEntry, message=stored)

    @serialized
    def append_messages(self, messages: Iterable[Message | dict[str, Any] | str]) -> list[str]:
        """Append several messages atomically and return the ids of their entries.

        Some formats store all tool results of an answer together, and accept them only this way.
        """
        stored: list[Message] = []
        for message in require_messages(messages):
            stored.append(self._normalized(message, stored))
        if not stored:
            return []
        replies = any(message.role == "assistant" for message in stored)
        if self.is_draft and (replies or self._writer.publishes_with_message):
            self._require_writable()
            self._writer.publish()
        return self._write([NewEntry(kind=MessageEntry, fields={"message": message}) for message in stored])

    @serialized
    def write(self, build: Callable[[Self], Sequence[NewEntry]]) -> list[str]:
        """Append entries of any kind atomically and return their ids.

        ``build`` is called with this session after the whole log was read and while no other writer can
        append, so that it can decide based on the current content. If it raises, nothing is written and the
        exception propagates. It may be called twice if another writer was faster, and must not append
        itself. Raises InvalidId for a taken id, EntryNotFound for an unknown parent.
        """
        if not callable(build):
            raise InvalidType(f"write() takes a function, not {type(build).__name__}")
        self._require_writable()
        if self.is_draft:
            self._writer.publish()
        return self._commit(lambda: self._with_normalized_messages(build(self)))

    @serialized
    def append_model_change(self, provider: str | None, model_id: str) -> str:
        """Record which model answers from here on.

        ``provider`` is None for agents that name none (piglet).
        """
        if provider is not None:
            require_text("provider", provider)
        require_text("model_id", model_id, empty=True)
        return self._append(ModelChange, provider=provider or "", model_id=model_id)

    @serialized
    def append_thinking_level_change(self, level: str) -> str:
        """Record how much the model thinks from here on."""
        require_text("level", level, empty=True)
        return self._append(ThinkingLevelChange, thinking_level=level)

    @serialized
    def append_compaction(
        self,
        summary: str = "",
        first_kept: str | None = None,
        tokens_before: int | None = None,
        *,
        messages: Iterable[Message | dict[str, Any] | str] | None = None,
        details: Any = None,
        usage: Usage | None = None,
        from_hook: bool | None = None,
    ) -> str:
        """Append a summary that replaces everything before ``first_kept`` (None: keep nothing).

        With ``messages`` the entry is a checkpoint: the model sees these messages, after the summary if there
        is one, in place of everything before the entry. An empty list leaves nothing.
        """
        if first_kept is not None and messages is not None:
            raise InvalidArgument(
                "a compaction keeps entries from first_kept on, or holds messages; not both"
            )
        if first_kept is not None:
            self.index.position(first_kept)
        require_text("summary", summary, empty=True)
        if tokens_before is not None:
            require_number("tokens_before", tokens_before)
        usage = checked_usage(usage)
        require_json("details", details)
        context = self.context()
        system = system_snapshot(context)
        tail = None
        if messages is not None:
            tail = tuple(normalize_message(message, self._clock) for message in require_messages(messages))
        elif first_kept is not None and self._writer.format.traits.compaction_embeds_tail:
            tail = kept_messages(self.transcript, context, self.path(), first_kept)

        def build() -> list[NewEntry]:
            if first_kept is not None and self.on_conflict == "append":
                self._require_on_path(first_kept, self._leaf)
            entry_id, timestamp = self._new_id(), self._timestamp()
            fields = {
                "summary": summary,
                "first_kept": entry_id if first_kept is None else None if tail is not None else first_kept,
                "tokens_before": tokens_before,
                "details": details,
                "usage": usage,
                "from_hook": from_hook,
                "system_message": None if system is None else system(timestamp),
                "retained_tail": tail,
            }
            return [NewEntry(kind=Compaction, fields=fields, id=entry_id, timestamp=timestamp)]

        return self._commit(build)[-1]

    @serialized
    def append_custom(self, custom_type: str, data: Any = None) -> str:
        """Append extension data that the model does not see."""
        require_text("custom_type", custom_type, empty=True)
        require_json("data", data)
        return self._append(Custom, custom_type=custom_type, data=data)

    @serialized
    def append_custom_message(
        self,
        custom_type: str,
        content: Content | list[Any],
        *,
        role: str = "user",
        display: bool = True,
        details: Any = None,
    ) -> str:
        """Append a message of an extension.

        The model sees it as a message of this ``role``: ``user`` or ``assistant``.
        """
        if role not in ACTIVITY_ROLES:
            raise InvalidArgument(f"a custom message has the role 'user' or 'assistant', not {role!r}")
        require_text("custom_type", custom_type, empty=True)
        require_json("details", details)
        body = _content(content)
        return self._append(
            CustomMessage, custom_type=custom_type, content=body, role=role, display=display, details=details
        )

    @serialized
    def append_label(self, entry_id: str, label: str | None) -> str:
        """Label an entry; None or an empty text removes the label."""
        self.index.position(entry_id)
        if label is not None:
            require_text("label", label, empty=True)
        return self._append(Label, target=entry_id, label=label)

    @serialized
    def set_title(self, title: str) -> str:
        """Set the title of the session; an empty one removes it."""
        require_text("title", title, empty=True)
        return self._append(SessionInfo, name=_clean_title(title))

    @serialized
    def append_usage(
        self,
        kind: str,
        usage: Usage | dict[str, Any],
        *,
        provider: str | None = None,
        model: str | None = None,
        note: str | None = None,
    ) -> str:
        """Record usage outside of an answer; a dict has the fields of a stored usage."""
        require_text("kind", kind, empty=True)
        usage = checked_usage(usage)
        fields = {"kind": kind, "provider": provider, "model": model, "usage": usage, "note": note}
        return self._write([NewEntry(kind=UsageEntry, fields=fields)])[-1]

    @serialized
    def append_context_edit(self, entry_id: str, replacement: Content | list[Any] | None) -> str:
        """Change what the model sees of an entry on the active path: other content, or (None) nothing."""
        position = self.index.position(entry_id)
        if self._leaf is None or position not in set(
            self.index.path_positions(self.index.position(self._leaf))
        ):
            raise EntryNotFound(f"entry {entry_id} is not on the active path")
        kind, role = self.index.types[position], self.index.roles[position]
        if kind != "custom_message" and role not in ("user", "assistant", "toolResult"):
            raise InvalidArgument(
                f"entry {entry_id} is a {role or kind}, whose content is not sent to the model"
            )
        if replacement is None:
            return self._append(ContextEdit, target=entry_id)
        if not isinstance(replacement, str | list | tuple):
            raise InvalidType("a replacement is None, a string or a list of content blocks")
        content = _content(replacement)
        if isinstance(content, str) and role in ("assistant", "toolResult"):
            content = (Text(text=content),)
        return self._append(ContextEdit, target=entry_id, replacement=Replacement(content=content))

    # -- moving ---------------------------------------------------------------------------------------

    @serialized
    def branch(self, entry_id: str) -> None:
        """Move the leaf to an earlier (or any other) entry; the next append becomes its child.

        The move is recorded in the log, so that reopening restores it.
        """
        self._move_to(self._conversation_at(entry_id))

    @serialized
    def reset(self) -> None:
        """Move before the first entry; the next append starts a new root beside the old ones."""
        self._move_to(None)

    @serialized
    def branch_with_summary(
        self,
        entry_id: str | None,
        summary: str,
        *,
        details: Any = None,
        usage: Usage | None = None,
        from_hook: bool | None = None,
    ) -> str:
        """Move the leaf and append a summary of the abandoned branch there.

        The entry records the old leaf; without a target it records ``root``. Both arguments may be given by
        keyword, in either order.
        """
        require_text("summary", summary, empty=True)
        usage = checked_usage(usage)
        require_json("details", details)
        target = None if entry_id is None else self._conversation_at(entry_id)
        left = "root" if entry_id is None else self._leaf or "root"
        fields = {
            "from_id": left,
            "summary": summary,
            "details": details,
            "usage": usage,
            "from_hook": from_hook,
        }
        return self._write([NewEntry(kind=BranchSummary, fields=fields, parent=target)])[-1]

    @serialized
    def fork(
        self,
        entry_id: str | None = None,
        *,
        position: ForkAt = "at",
        scope: ForkScope = "path",
        cwd: _Path | None = None,
        store: Store | None = None,
        id: str | None = None,  # noqa: A002
        key: str | None = None,
        to: str | None = None,
        lossy: bool = False,
    ) -> Session:
        """Create a session with the path to an entry (default: the leaf), linked to this one.

        ``before`` leaves the entry itself out. ``scope="tree"`` copies the whole tree and moves to the entry.
        The fork is a session of the same agent, next to this one; ``to="branchline"`` makes it a branchline
        session, ``to="pi"`` a pi session. A fork of a read-only session is a branchline session. Raises
        NotSupported if the format cannot hold it: :exc:`DropsMessages` if messages of the path would be
        missing and ``lossy`` is not given. This session does not change. ``key`` is as for :meth:`create`.
        """
        require_choice("position", position, ForkAt)
        require_choice("scope", scope, ForkScope)
        self.refresh_log()
        plan = forks.plan(
            self,
            forks.fork_position(self, entry_id, position),
            scope=scope,
            place=ForkDestination(cwd, store, id, to, key, lossy),
            clock=self._clock,
            durability=self._writer.durability,
        )
        return forks.execute(plan, self._beside(plan))

    @serialized
    def fork_compacted(
        self,
        summary: str,
        first_kept: str | None = None,
        tokens_before: int | None = None,
        *,
        cwd: _Path | None = None,
        store: Store | None = None,
        id: str | None = None,  # noqa: A002
    ) -> Session:
        """Fork with a summary that replaces everything before ``first_kept`` (None: keep nothing).

        This is the only way to compact sessions whose format keeps every message (zot).
        """
        self.refresh_log()
        kept = ROOT if first_kept is None else self.index.position(first_kept)
        leaf = forks.fork_position(self, None, "at")
        place = ForkDestination(cwd, store, id)
        options: dict[str, Any] = {"clock": self._clock, "durability": self._writer.durability}
        if not self._writer.format.traits.compacts_by_fork:
            plan = forks.plan(self, leaf, scope="path", place=place, **options)
            made = self._beside(plan)
            return forks.execute(
                plan, made, then=lambda: made.append_compaction(summary, first_kept, tokens_before)
            )
        now = self._clock.now()
        said = CompactionSummaryMessage(summary=summary, tokens_before=tokens_before, timestamp=now)
        plan = forks.plan_compacted(self, leaf, kept, said, place=place, **options)
        return forks.execute(plan, self._beside(plan))

    @serialized
    def fork_first(self, keep: int = 0) -> Session:
        """Create a session with the first ``keep`` messages of the path, linked to this one; 0 keeps all."""
        require_number("keep", keep, integer=True)
        messages = [key for key in self.path() if self.index.types[self.index.position(key)] == "message"]
        return self.fork(messages[keep - 1] if 0 < keep < len(messages) else None)

    def new_session(self) -> Session:
        """Create a session beside this one: same store, format and working directory, not linked.

        Beside a read-only session it is a branchline session.
        """
        format_ = self._writer.format
        return type(self).create(
            self.cwd or None,
            store=self.store if format_.is_appendable else None,
            format=format_.name if format_.is_appendable else None,
            durability=self._writer.durability,
            clock=self._clock,
        )

    # -- concurrent writers ---------------------------------------------------------------------------

    @serialized
    def refresh(self) -> int:
        """Read what other writers appended and move to the leaf of the file, as if opened again.

        Returns how many entries are new.
        """
        count = self.refresh_log()
        self._leaf = self.transcript.leaf
        return count

    @serialized
    def refresh_log(self) -> int:
        """Read what other writers appended, but keep the leaf of this session."""
        count = self._writer.catch_up()
        self._leaf = self._standing()
        return count

    @serialized
    def subscribe(self, observer: Observer, *, on_problem: OnProblem | None = None) -> Callable[[], None]:
        """Call ``observer`` with the id of every entry appended here; return a function that stops it.

        It is called once the entry is saved and cannot veto, in the thread that appended and after that
        thread has released the session, so it may append. Its exceptions go to ``on_problem`` (default:
        logged) and are never raised.
        """
        if not callable(observer):
            raise InvalidType(f"an observer is a function, not {type(observer).__name__}")
        if self._observers is None:
            self._observers = Observers()
        return self._observers.add(observer, on_problem)

    def close(self) -> None:
        """Close the file.

        A session to which nothing was written leaves no file, unless it was created with
        ``persist="always"``. In zot's format, a session without messages goes to the trash.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                self._writer.close(has_message=lambda: not _WORDS.isdisjoint(self.index.types))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- inside ---------------------------------------------------------------------------------------

    def _normalized(
        self, message: Message | dict[str, Any] | str, together: Sequence[Message] = ()
    ) -> Message:
        """Return the message to store; a result without a tool name gets it from its call."""
        if isinstance(message, (list, tuple)):
            if len(message) != 1:
                raise InvalidArgument(f"these are {len(message)} messages: append_messages() takes them")
            (message,) = message
        stored = normalize_message(message, self._clock, self._writer.format.traits.own_blocks)
        if isinstance(stored, ToolResult) and not stored.tool_name:
            said = [item.message for item in self.context().messages]
            return name_tool(stored, reversed([*said, *together]))
        return stored

    def _append(self, kind: type[Entry], **fields: Any) -> str:
        """Write one entry under the leaf. A side record does not become the leaf."""
        new = (NewEntry(kind=kind, fields=fields),)
        return self._commit(lambda: new)[-1]

    def _write(self, new: Sequence[NewEntry]) -> list[str]:
        """Write entries and return their keys; for one that this format does not store, its assigned id."""
        return self._commit(lambda: new)

    def _commit(self, build: Callable[[], Sequence[NewEntry]]) -> list[str]:
        """Append what ``build`` returns once the whole log was read, in one write, and move the leaf."""
        self._require_writable()
        made: list[Entry] = []
        before = leaf = self._leaf

        def entries() -> list[Entry]:
            nonlocal leaf
            made.clear()  # called again if another writer was faster
            self._leaf = before
            self._leaf = self._settled()
            leaf = self._make(build(), made)
            return made

        try:
            keys = self._writer.append(entries)
        except BaseException:
            self._leaf = before
            raise
        if not made or leaf != made[-1].id:
            self._leaf = leaf
        elif keys:
            self._leaf = keys[-1]  # the key in the tree, where a format makes the ids itself
        if self._observers is not None:
            self._lock.call_later(partial(self._observers.notify, keys))
        return self._keys_of(keys, [entry.id for entry in made])

    def _keys_of(self, keys: list[str], named: list[str]) -> list[str]:
        """Return the keys of the requested entries, even if the format wrote others, more or none."""
        if keys == named:
            return keys
        if not keys or self.index.positions.keys() >= set(named):
            return named
        # Where ids are derived from lines, the model or usage of an answer may be on a line before it.
        spoken = [key for key in keys if self.index.types[self.index.positions[key]] == "message"]
        return spoken if len(spoken) == len(named) else keys[-len(named) :]

    def _make(self, new: Sequence[NewEntry], made: list[Entry]) -> str | None:
        """Make entries below the leaf and return the resulting leaf."""
        taken = self._writer.transcript.tree.positions
        fresh: set[str] = set()
        leaf = self._leaf
        for one in new:
            entry_id, parent = one.id, one.parent
            if entry_id is None:
                entry_id = self._new_id(fresh)
            elif entry_id in taken or entry_id in fresh:
                raise InvalidId(f"cannot append entry {entry_id!r} to session {self.id}: the id is taken")
            fresh.add(entry_id)
            if parent is msgspec.UNSET:
                parent = leaf
            elif parent is not None and parent not in taken and parent not in fresh:
                raise EntryNotFound(f"cannot append to entry {parent!r}: it is not in session {self.id}")
            kind, timestamp = one.kind, one.timestamp
            if timestamp is None:
                timestamp = self._timestamp()
            made.append(kind(id=entry_id, parent=parent, timestamp=timestamp, **one.fields))
            if kind is Leaf:
                leaf = one.fields["target"]
            elif kind.type not in SIDE_TYPES:
                leaf = entry_id
        return leaf

    def _with_normalized_messages(self, new: Sequence[NewEntry]) -> list[NewEntry]:
        said: list[Message] = []
        found = []
        if not isinstance(new, Iterable):
            raise InvalidType(f"write() writes a list of entries, not {type(new).__name__}")
        for one in new:
            if not isinstance(one, NewEntry):
                raise InvalidType(f"write() writes NewEntry objects, not {type(one).__name__}")
            if one.kind is MessageEntry:
                said.append(self._normalized(one.fields["message"], said))
                one = msgspec.structs.replace(one, fields={**one.fields, "message": said[-1]})  # noqa: PLW2901
            else:
                require_json("an entry", one.fields, finite=False)  # it may be a copy of one
            found.append(one)
        return found

    def _new_id(self, fresh: Collection[str] = ()) -> str:
        taken = self._writer.transcript.tree.positions  # looked up here: others may have written since
        entry_id = self._clock.entry_id()
        while entry_id in taken or entry_id in fresh:
            entry_id = self._clock.entry_id()
        return entry_id

    def _settled(self) -> str | None:
        """Return the parent of new entries; called under the lock, after reading the whole log."""
        here = self._standing()
        if self._on_conflict == "branch" or here == (there := self.transcript.leaf):
            return here
        if self._on_conflict == "append":
            return there
        raise SessionMoved(
            f"cannot append to session {self.id}: it was at {here or 'its beginning'} and another writer has "
            f"moved it to {there or 'its beginning'}; refresh() continues from there"
        )

    def _require_on_path(self, entry_id: str, leaf: str | None) -> None:
        if entry_id not in self.index.conversation_path(leaf):
            raise SessionMoved(
                f"cannot compact session {self.id} from {entry_id} on: another writer has moved to another "
                f"branch"
            )

    def _require_writable(self) -> None:
        reading = self._writer.transcript.reading
        if reading.read_only is not None:
            raise ReadOnly(f"cannot append to {self.transcript.name}: {reading.read_only}")

    def _timestamp(self) -> str:
        """Return the time of a new entry.

        In a fork never before the fork, which identifies its own entries.
        """
        now = self._clock.now()
        header = self._writer.transcript.reading.header
        if header is None or header.parent_session is None:
            return iso(now)
        return header.timestamp if iso(now) < header.timestamp < iso(now + _DAY) else iso(now)

    def _conversation_at(self, entry_id: str) -> str | None:
        """Return the entry itself, or its nearest conversation ancestor."""
        position = self.index.nearest_conversation_entry(self.index.position(entry_id))
        return None if position == ROOT else self.index.keys[position]

    def _standing(self) -> str | None:
        """Return the leaf, or its nearest readable ancestor if another writer has damaged its line."""
        leaf = self._leaf
        if leaf is None:
            return None
        tree = self._writer.transcript.tree
        position = tree.positions.get(leaf)
        if position is None:
            return self.transcript.leaf
        if tree.types[position] not in SIDE_TYPES and position not in tree.placeholders:
            return leaf
        found = tree.nearest_conversation_entry(position)
        return None if found == ROOT else tree.keys[found]

    def _move_to(self, target: str | None) -> None:
        """Move the leaf, and record the move unless a reader would resolve the same leaf anyway."""
        self.refresh_log()
        if self.transcript.leaf != target or self.transcript.reading.leaf_ambiguous:
            # The parent of a leaf entry is its target, for readers that do not know leaf entries.
            self._write([NewEntry.move(target)])
        self._leaf = target

    def _beside(self, plan: forks.ForkPlan) -> Self:
        """Return the session of an unwritten copy."""
        return type(self)(plan.writer, clock=self._clock, cwd=plan.cwd)


def _content(value: Any) -> Content:
    """Return a text or blocks, which may be given as JSON objects."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        raise InvalidType(f"content is a text or a list of blocks, not {type(value).__name__}")
    for block in value:
        if (why := why_not_block(block)) is not None:
            raise InvalidArgument(f"cannot append this content: {why}")
        require_json("content", block)
    return tuple(one if isinstance(one, Block) else block_from_fields(one) for one in value)


def _clean_title(title: str) -> str:
    """Return a title as one line without surrounding whitespace."""
    return trim(re.sub(r"[\r\n]+", " ", title))
