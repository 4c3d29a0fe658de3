"""One live session: verbs over a log, a tree and a clock.

Opening never writes. A verb writes the log first and changes memory after. Whatever others append to the
same session is taken in before our own entry is written, under our own leaf: two writers never conflict,
they branch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from branchline import places
from branchline.clock import Clock, SystemClock, iso
from branchline.context import milliseconds
from branchline.entries import (
    BranchSummary,
    Compaction,
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
    Usage,
    UsageEntry,
)
from branchline.entries.lenient import content_from
from branchline.errors import BranchlineError, EntryNotFound, NotASession, ReadOnly
from branchline.formats import PI, Transcript, detect, peek_header
from branchline.formats.copying import path_lines, tree_lines
from branchline.log import Durability, FileLog, MemoryLog, UnpackedLog
from branchline.session.naming import check_session_id
from branchline.session.observers import Observer, Observers, OnProblem
from branchline.session.pen import Pen
from branchline.session.view import SessionView
from branchline.session.wording import role_of, stored_message, system_snapshot
from branchline.stores import FilesStore, MemoryStore, Store, check_key
from branchline.tree import ROOT

__all__ = ["ForkAt", "ForkScope", "Persist", "Session", "time_after"]

Persist = Literal["with_reply", "at_once"]
"""When a session becomes a file that listings show: with its first reply, or when it is created."""
ForkAt = Literal["at", "before"]
ForkScope = Literal["path", "tree"]

_HEAD = 1 << 16
_DAY = 86_400_000
_WORDS = frozenset({"message", "custom_message", "compaction", "branch_summary"})
_SYSTEM_CLOCK = SystemClock()
_Path = str | os.PathLike[str]


class Session(SessionView):
    """A conversation as a tree. Made by :meth:`create`, :meth:`open` and the other factories."""

    # -- factories ------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        cwd: _Path | None = None,
        *,
        directory: _Path | None = None,
        store: Store | None = None,
        id: str | None = None,  # noqa: A002
        parent_session: str | None = None,
        persist: Persist = "with_reply",
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """A new session for a working directory (default: this one).

        It is kept in ``store``, in ``directory``, or where this person's sessions of that working directory
        lie. Nothing is written before the first entry, and no listing shows it before the first reply;
        ``persist="at_once"`` writes the header now.
        """
        cwd = places.resolve_cwd(cwd)
        if store is None:
            store = FilesStore(places.session_directory(cwd) if directory is None else directory)
        session_id = clock.session_id() if id is None else check_session_id(id)
        header = Header(
            version=3, id=session_id, timestamp=iso(clock.now()), cwd=cwd, parent_session=parent_session
        )
        key = check_key(PI.file_key(header))
        if persist == "at_once":
            log = store.create(key, PI.encode_header(header), durability=durability)
            return cls(Pen(PI, log=log, store=store, key=key, durability=durability), clock=clock)
        pen = Pen(PI, header=header, store=store, key=key, draft=True, durability=durability)
        return cls(pen, clock=clock)

    @classmethod
    def open(
        cls,
        path: _Path,
        *,
        cwd: _Path | None = None,
        for_context: bool = False,
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """The session in a file. Reads it, changes nothing.

        ``for_context`` says that the context will be asked for next, as when a conversation is resumed: the
        messages are then decoded in the same pass, which takes less time and more memory than two.

        FileNotFoundError when there is no such file, NotASession when nothing in it is one. NotSupported when
        it is compressed and what unpacks it is not installed.
        """
        log = FileLog(path, durability=durability)
        try:
            head = log.read(0, _HEAD)
            format_ = detect(head, log.path)
            if format_.is_packed(head):
                log.close()
                log = UnpackedLog(log.path, format_.unpack)
            pen = Pen(format_, log=log, durability=durability, for_context=for_context)
            _require_session(pen.transcript)
        except BaseException:
            log.close()
            raise
        pen.key = format_.key_of(log.path)
        pen.store = FilesStore(os.path.dirname(log.path))
        return cls(pen, clock=clock, cwd=None if cwd is None else places.resolve_cwd(cwd))

    @classmethod
    def from_store(
        cls, store: Store, key: str, *, durability: Durability = "fsync", clock: Clock = _SYSTEM_CLOCK
    ) -> Self:
        """A session or a draft of a store. SessionNotFound when there is none with this key."""
        draft = store.stat(key) is None
        log = store.open(key, durability=durability)
        try:
            format_ = detect(log.read(0, _HEAD), log.name)
            pen = Pen(format_, log=log, store=store, key=key, draft=draft, durability=durability)
            _require_session(pen.transcript)
        except BaseException:
            log.close()
            raise
        return cls(pen, clock=clock)

    @classmethod
    def continue_recent(
        cls,
        cwd: _Path | None = None,
        *,
        directory: _Path | None = None,
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """The newest session of a working directory, or a new one when there is none.

        In a ``directory`` that holds the sessions of many projects only those of ``cwd`` count.
        """
        cwd = places.resolve_cwd(cwd)
        store = FilesStore(places.session_directory(cwd) if directory is None else directory)
        for found in store.scan().found:
            try:
                with store.snapshot(found.key) as read:
                    header = peek_header(read, found.path or found.key)
            except (OSError, BranchlineError):
                continue  # gone or unreadable by now: it is not the one to continue
            if header is not None and (directory is None or places.resolve_cwd(header.cwd) == cwd):
                return cls.from_store(store, found.key, durability=durability, clock=clock)
        return cls.create(cwd, store=store, durability=durability, clock=clock)

    @classmethod
    def in_memory(
        cls,
        cwd: _Path | None = None,
        *,
        id: str | None = None,  # noqa: A002
        data: bytes | None = None,
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """A session without a file; ``data`` is the content of one to begin with."""
        if data is not None:
            log = MemoryLog(data)
            pen = Pen(detect(data[:_HEAD], log.name), log=log, store=MemoryStore(), key="memory")
            _require_session(pen.transcript)
            return cls(pen, clock=clock)
        return cls.create(cwd, store=MemoryStore(), id=id, persist="at_once", clock=clock)

    @classmethod
    def fork_from(
        cls,
        source: _Path,
        cwd: _Path | None = None,
        *,
        directory: _Path | None = None,
        id: str | None = None,  # noqa: A002
        durability: Durability = "fsync",
        clock: Clock = _SYSTEM_CLOCK,
    ) -> Self:
        """A new session for ``cwd`` that holds the whole tree of another file and names it as its parent."""
        with cls.open(source) as origin:
            resolved = places.resolve_cwd(cwd)
            target = places.session_directory(resolved) if directory is None else directory
            made = origin._copy(  # noqa: SLF001
                origin._tree_lines(),  # noqa: SLF001
                cwd=resolved,
                store=FilesStore(target),
                id=id,
                durability=durability,
                clock=clock,
            )
            made._write_copy()  # noqa: SLF001
            return made

    # -- appending ------------------------------------------------------------------------------------

    def append_message(self, message: Message | dict[str, Any] | str) -> str:
        """Append a message (a text is a user's) and return the id of its entry."""
        stored = stored_message(message, self._clock)
        if self.is_draft and role_of(stored) == "assistant":
            # Before the reply is written: whatever fails, "not saved" is true and the draft is still there.
            self._require_writable()
            self._pen.publish()
        return self._append(lambda common: MessageEntry(**common, message=stored))

    def append_model_change(self, provider: str, model_id: str) -> str:
        return self._append(lambda common: ModelChange(**common, provider=provider, model_id=model_id))

    def append_thinking_level_change(self, level: str) -> str:
        return self._append(lambda common: ThinkingLevelChange(**common, thinking_level=level))

    def append_compaction(
        self,
        summary: str,
        first_kept: str | None = None,
        tokens_before: int | None = None,
        *,
        details: Any = None,
        usage: Usage | None = None,
        from_hook: bool | None = None,
    ) -> str:
        """Let a summary stand for everything before ``first_kept`` (None: nothing is kept)."""
        if first_kept is not None:
            self.index.position(first_kept)
        system = system_snapshot(self.context())

        def make(common: dict[str, Any]) -> Entry:
            return Compaction(
                **common,
                summary=summary,
                first_kept=common["id"] if first_kept is None else first_kept,
                tokens_before=tokens_before,
                details=details,
                usage=usage,
                from_hook=from_hook,
                system_message=None if system is None else system(common["timestamp"]),
            )

        return self._append(make)

    def append_custom(self, custom_type: str, data: Any = None) -> str:
        """Keep data of an extension in the session; the model does not see it."""
        return self._append(lambda common: Custom(**common, custom_type=custom_type, data=data), side=True)

    def append_custom_message(
        self, custom_type: str, content: Content | list[Any], *, display: bool = True, details: Any = None
    ) -> str:
        """Say something in the conversation for an extension; the model sees it as a user message."""
        body = content_from(content)
        return self._append(
            lambda common: CustomMessage(
                **common, custom_type=custom_type, content=body, display=display, details=details
            )
        )

    def append_label(self, entry_id: str, label: str | None) -> str:
        """Name an entry; None or an empty text takes the name away."""
        self.index.position(entry_id)
        return self._append(lambda common: Label(**common, target=entry_id, label=label), side=True)

    def set_title(self, title: str) -> str:
        """Give the session a title of its own; empty takes it away."""
        name = re.sub(r"[\r\n]+", " ", title).strip()
        return self._append(lambda common: SessionInfo(**common, name=name), side=True)

    def append_usage(
        self,
        kind: str,
        usage: Usage,
        *,
        provider: str | None = None,
        model: str | None = None,
        note: str | None = None,
    ) -> str:
        """Record tokens that were spent outside an answer."""
        return self._append(
            lambda common: UsageEntry(
                **common, kind=kind, provider=provider, model=model, usage=usage, note=note
            ),
            side=True,
        )

    def append_context_edit(self, entry_id: str, replacement: Content | list[Any] | None) -> str:
        """Change what the model sees of an entry on the active path: other content, or (None) nothing."""
        position = self.index.position(entry_id)
        if self._leaf is None or position not in set(self.index.chain(self.index.position(self._leaf))):
            raise EntryNotFound(f"entry {entry_id} is not on the active path")
        kind, role = self.index.types[position], self.index.roles[position]
        if kind != "custom_message" and role not in ("user", "assistant", "toolResult"):
            raise ValueError(
                f"entry {entry_id} is a {role or kind}, whose content the model does not see as such"
            )
        if replacement is None:
            return self._append(lambda common: ContextEdit(**common, target=entry_id))
        if not isinstance(replacement, str | list | tuple):
            raise ValueError("a replacement is None, a text or a list of content blocks")
        content = content_from(replacement)
        if isinstance(content, str) and role in ("assistant", "toolResult"):
            content = (Text(text=content),)
        return self._append(
            lambda common: ContextEdit(**common, target=entry_id, replacement=Replacement(content=content))
        )

    # -- moving ---------------------------------------------------------------------------------------

    def branch(self, entry_id: str) -> None:
        """Move the leaf to an earlier (or any other) entry; the next append becomes its child.

        Recorded in the log, so that reopening lands here.
        """
        self._move_to(self._conversation_at(entry_id))

    def reset(self) -> None:
        """Move before the first entry; the next append starts a new root beside the old ones."""
        self._move_to(None)

    def branch_with_summary(
        self,
        entry_id: str | None,
        summary: str,
        *,
        details: Any = None,
        usage: Usage | None = None,
        from_hook: bool | None = None,
    ) -> str:
        """Move the leaf and say there, in an entry of its own, what happened on the branch that is left."""
        target = None if entry_id is None else self._conversation_at(entry_id)
        left = self._leaf or "root"
        return self._append(
            lambda common: BranchSummary(
                **{**common, "parent": target},
                from_id=left,
                summary=summary,
                details=details,
                usage=usage,
                from_hook=from_hook,
            )
        )

    def fork(
        self,
        entry_id: str | None = None,
        *,
        position: ForkAt = "at",
        scope: ForkScope = "path",
        cwd: _Path | None = None,
        store: Store | None = None,
        id: str | None = None,  # noqa: A002
    ) -> Session:
        """A new session, linked to this one, that holds the path to an entry (default: the leaf).

        ``before`` leaves the entry itself out. ``scope="tree"`` takes the whole tree and stands on the entry.
        This session does not change.
        """
        self.refresh_log()
        key = self._leaf if entry_id is None else entry_id
        here = ROOT if key is None else self.index.position(key)
        if position == "before" and here != ROOT:
            here = self.index.parents[here]
        here = self.index.conversation(here)
        lines = self._tree_lines() if scope == "tree" else self._path_lines(here)
        made = self._copy(lines, cwd=cwd, store=store, id=id)
        if len(made):
            if scope == "path":
                made._copy_labels(self)  # noqa: SLF001
            made._move_to(None if here == ROOT else self.index.keys[here])  # noqa: SLF001
        made._write_copy()  # noqa: SLF001
        return made

    def fork_first(self, keep: int = 0) -> Session:
        """A new session, linked to this one, with the first ``keep`` messages of the path; 0 keeps all."""
        if keep < 0:
            raise ValueError(f"cannot keep {keep} messages")
        messages = [key for key in self.path() if self.index.types[self.index.position(key)] == "message"]
        return self.fork(messages[keep - 1] if 0 < keep < len(messages) else None)

    def new_session(self) -> Session:
        """A fresh session beside this one: same store, same working directory, not linked."""
        return type(self).create(
            self.cwd, store=self.store, durability=self._pen.durability, clock=self._clock
        )

    # -- living with others ---------------------------------------------------------------------------

    def refresh(self) -> int:
        """Take in what others appended and stand where the file stands, as if opened again.

        Returns how many entries are new.
        """
        count = self.refresh_log()
        self._leaf = self.transcript.leaf
        return count

    def refresh_log(self) -> int:
        """Take in what others appended, but stay where this session stands."""
        count = self._pen.catch_up()
        self._leaf = self._standing()
        return count

    def subscribe(self, observer: Observer, *, on_problem: OnProblem | None = None) -> Callable[[], None]:
        """Call this with the id of every entry that we append, once it is saved; gives back how to stop.

        It cannot veto. What goes wrong in it is given to ``on_problem`` (default: logged), never raised.
        """
        if self._observers is None:
            self._observers = Observers()
        return self._observers.add(observer, on_problem)

    def close(self) -> None:
        """Let go of the file. A draft without words is forgotten; one with a prompt is kept."""
        if not self._closed:
            self._closed = True
            self._pen.close(keep_draft=lambda: not _WORDS.isdisjoint(self.index.types))

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

    def _append(self, make: Callable[[dict[str, Any]], Entry], *, side: bool = False) -> str:
        """Write one entry under the leaf. A side record does not become the leaf."""
        return self._write([make], side=side)[-1]

    def _write(self, makers: Sequence[Callable[[dict[str, Any]], Entry]], *, side: bool) -> list[str]:
        """Write entries and return their keys; of what is no entry in this format, the id it was given."""
        self._require_writable()
        named: list[str] = []

        def make() -> list[Entry]:
            made = self._make(makers, side=side)
            named[:] = [entry.id for entry in made]
            return made

        keys = self._pen.append(make)
        if keys and not side:
            self._leaf = keys[-1]
        if self._observers is not None:
            self._observers.tell(keys)
        return keys or named

    def _make(self, makers: Sequence[Callable[[dict[str, Any]], Entry]], *, side: bool) -> list[Entry]:
        """New entries under the leaf, with ids that nobody has; asked for once the lock is ours."""
        made: list[Entry] = []
        taken = self._pen.transcript.tree.positions  # looked up here: others may have written since
        new_id, fresh = self._clock.entry_id, set[str]()
        parent = self._leaf = self._standing()
        for maker in makers:
            entry_id = new_id()
            while entry_id in taken or entry_id in fresh:
                entry_id = new_id()
            fresh.add(entry_id)
            made.append(maker({"id": entry_id, "parent": parent, "timestamp": self._timestamp()}))
            if not side:
                parent = entry_id
        return made

    def _require_writable(self) -> None:
        if self._closed:
            raise ValueError(f"session {self.id} is closed")
        reading = self._pen.transcript.reading
        if reading.read_only is not None:
            raise ReadOnly(f"cannot append to {self.transcript.name}: {reading.read_only}")

    def _timestamp(self) -> str:
        """The time of a new entry; in a fork never before the fork, which thereby knows its own entries."""
        now = self._clock.now()
        header = self._pen.transcript.reading.header
        if header is None or header.parent_session is None:
            return iso(now)
        return header.timestamp if iso(now) < header.timestamp < iso(now + _DAY) else iso(now)

    def _conversation_at(self, entry_id: str) -> str | None:
        """The entry itself, or the nearest one above it that is part of the conversation."""
        position = self.index.conversation(self.index.position(entry_id))
        return None if position == ROOT else self.index.keys[position]

    def _standing(self) -> str | None:
        """The leaf, unless somebody has damaged its line since: then the nearest entry above it."""
        leaf = self._leaf
        if leaf is None:
            return None
        tree = self._pen.transcript.tree
        position = tree.positions.get(leaf)
        if position is None:
            return self.transcript.leaf
        found = tree.conversation(position)
        return leaf if found == position else None if found == ROOT else tree.keys[found]

    def _move_to(self, target: str | None) -> None:
        """Stand somewhere else, and record it unless a reader would land there anyway."""
        self.refresh_log()
        if self.transcript.leaf != target:
            before = self._leaf
            self._leaf = target  # the leaf entry hangs from its target, for readers that do not know it
            try:
                self._write([lambda common: Leaf(**common, target=target)], side=True)
            except BaseException:
                self._leaf = before
                raise
        self._leaf = target

    def _copy(
        self,
        lines: Iterable[bytes],
        *,
        cwd: _Path | None = None,
        store: Store | None = None,
        id: str | None = None,  # noqa: A002
        durability: Durability | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """A new session that begins with these lines and names this one as its parent, not yet written."""
        clock = clock or self._clock
        cwd = self.cwd if cwd is None else places.resolve_cwd(cwd)
        store = self._home_for(cwd) if store is None else store
        header = Header(
            version=3,
            id=clock.session_id() if id is None else check_session_id(id),
            timestamp=time_after(self.index.times, clock.now()),
            cwd=cwd,
            parent_session=self.file or self.id,
        )
        pen = Pen(
            PI,
            header=header,
            store=store,
            key=check_key(PI.file_key(header)),
            draft=True,
            durability=durability or self._pen.durability,
        )
        if data := b"".join(lines):
            pen.hold(data)
        return type(self)(pen, clock=clock)

    def _write_copy(self) -> None:
        """Write a copy in one piece, and show it in listings if there is a reply in it; or leave nothing."""
        pen = self._pen
        if not pen.held:
            return
        pen.begin()
        if "assistant" in self.index.roles:
            try:
                pen.publish()
            except BaseException:
                pen.discard()
                raise

    def _tree_lines(self) -> Iterable[bytes]:
        return tree_lines(self.transcript) if self._is_native else self._converted_lines(None)

    def _path_lines(self, leaf: int) -> Iterable[bytes]:
        return path_lines(self.transcript, leaf) if self._is_native else self._converted_lines(leaf)

    def _converted_lines(self, leaf: int | None) -> Iterable[bytes]:
        from branchline.formats.conversion import native_lines  # noqa: PLC0415  few sessions are foreign

        return native_lines(self.transcript, leaf)

    @property
    def _is_native(self) -> bool:
        return self._pen.format is PI

    def _home_for(self, cwd: str) -> Store:
        """Where a fork lies: beside its parent, or where a working directory has its native sessions.

        Nothing is put into the folders of another program.
        """
        store = self.store
        if store is not None and self._is_native and (cwd == self.cwd or isinstance(store, MemoryStore)):
            return store
        return FilesStore(places.session_directory(cwd))

    def _copy_labels(self, source: Session) -> None:
        """Set the labels of another session here, with their times, where their entries exist."""
        wanted = [
            (key, state) for key, state in source.transcript.reading.labels.items() if key in self.index
        ]
        makers = [
            lambda common, key=key, state=state: Label(
                **{**common, "timestamp": state.time}, target=key, label=state.text
            )
            for key, state in wanted
        ]
        if makers:
            self._write(makers, side=True)


def time_after(times: Iterable[str], now: int) -> str:
    """The time of a copy: later than the entries in it, also when the last one was made this very moment.

    A clock that runs ahead is believed for a day.
    """
    believed = iso(now + _DAY)
    newest = max((time for time in times if time < believed), default="")
    return iso(now) if newest < iso(now) else iso((milliseconds(newest) or now) + 1)


def _require_session(transcript: Transcript) -> None:
    reading = transcript.reading
    if reading.header is None and not len(reading.tree):
        raise NotASession(f"{transcript.name} is not a session: {reading.read_only}")
