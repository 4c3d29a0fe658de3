"""The only code that writes a session log: lock, catch up with other writers, append, update memory.

A writer owns the log and the transcript of one session. It handles drafts (a session without a reply is not
listed) and upgrades (a file of version 1 or 2 is rewritten, with a backup, before the first append). It does
not interpret entries. The session that owns it lets one thread at a time use it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import cast

from branchline.entries import Entry
from branchline.errors import (
    BranchlineError,
    LogError,
    LogReplaced,
    LogShrank,
    NotSaved,
    ReadOnly,
    SessionNotFound,
)
from branchline.formats import EntryLog, Format
from branchline.formats.protocol import HeadWriter
from branchline.log import (
    CompareAndAppendLog,
    Durability,
    FileLog,
    LinesLog,
    Log,
    MemoryLog,
    RemovableLog,
    TornTail,
    replace_file,
)
from branchline.log.open_files import find_overwriter
from branchline.session.skeletons import open_entry_log
from branchline.stores import AddressedStore, DerivedLog, DraftStore, Store, TrashStore, trash_of

__all__ = ["SessionWriter"]

_TAIL = 1 << 20


class SessionWriter:
    """Reads and appends to one session, wherever it is stored.

    An existing session has a ``log``. A new one has a ``store``, a ``key`` and in ``start`` its first lines:
    its header, or a whole copy that is buffered until it is written.
    """

    def __init__(
        self,
        format: Format,  # noqa: A002
        *,
        log: Log | None = None,
        start: bytes = b"",
        held: bool = False,
        store: Store | None = None,
        key: str = "",
        draft: bool = False,
        durability: Durability = "fsync",
    ) -> None:
        self.format = format
        self.key = key
        self.store = store
        self.draft = draft and isinstance(store, DraftStore)
        self.waits = False
        """Whether closing keeps this draft, whatever it holds."""
        self.temporary = False
        """Whether closing removes the file if nothing was written to it."""
        self.torn: list[TornTail] = []
        self.taken_in = 0  # entries of other writers read since opening
        self.durability: Durability = durability
        self._log = log
        self._conditional = _conditional(log)
        self.buffered = held
        self._size_of_start: int | None = None
        if log is None:
            # Only in memory, so that nothing needs cleaning up if nothing follows.
            self._unwritten = start
            self._size_of_start = len(start)
            self.transcript: EntryLog = EntryLog(format, MemoryLog(start).read, key)
        else:
            self._lock_as_the_program_does(log)
            self.transcript = open_entry_log(format, log)
            self._read_lines_of(log)

    # -- asking ---------------------------------------------------------------------------------------

    @property
    def log(self) -> Log | None:
        """The log; None for a new session before its first entry."""
        return self._log

    @property
    def path(self) -> str | None:
        """The path of the session, which a draft gets with its reply; None in memory."""
        if isinstance(self._log, FileLog | DerivedLog) and not self.draft:
            return self._log.path
        return self.store.path_of(self.key) if isinstance(self.store, AddressedStore) else None

    def catch_up(self) -> int:
        """Read what other writers appended; return how many entries are new."""
        if self._log is None:
            return 0
        before = len(self.transcript.tree)
        if isinstance(self._log, FileLog):
            self._require_same_file(self._log)
        reading = self.transcript.reading
        size = self._log.size()
        if size < reading.consumed:
            raise LogShrank(
                f"cannot continue reading {self._log.name}: the file ends at {size}, "
                f"expected at least {reading.consumed}; open it again"
            )
        if not self.transcript.is_unchanged():
            raise self._rewritten()
        if size == reading.consumed and not reading.unterminated:
            return len(self.transcript.tree) - before
        self.transcript.catch_up()
        count = len(self.transcript.tree) - before
        self.taken_in += count
        return count

    @property
    def publishes_with_message(self) -> bool:
        """Whether this draft is published with its first message, not only with a reply."""
        return self.draft and self.waits and self.format.traits.removes_empty_sessions

    def overwriter(self) -> str | None:
        """Return why an append would be lost: a running program overwrites it. None if unknown."""
        log = self._log
        if not self.format.traits.overwrites_appends or self.draft or not isinstance(log, FileLog):
            return None
        found = find_overwriter(log.path, log.identity)
        if found is None:
            return None
        return (
            f"{found.program} (process {found.pid}) has it open and would overwrite what is appended; "
            "close it there first, or continue in a fork"
        )

    # -- writing --------------------------------------------------------------------------------------

    def append(self, make: Callable[[], list[Entry]]) -> list[str]:
        """Write the entries that ``make`` returns, atomically, after reading the whole log.

        Returns their keys in the tree, which a format without ids assigns. A log that can compare and append
        is first tried without its lock, so ``make`` may be called twice.
        """
        if self._log is None:
            known = len(self.transcript.tree)
            made = make()
            if not made:
                return []
            data = self.format.required_writer().encode(made, self.transcript.reading)
            if self.buffered:
                self.buffer(data)
            else:
                self.create(data)
            return self.transcript.tree.keys[known:]
        if self.draft:
            self._follow()
        transcript = self.transcript
        reading = transcript.reading
        if reading.version < reading.current_version:
            self._upgrade()
            reading = transcript.reading
        keys = None if self._conditional is None else self._append_unlocked(self._conditional, make)
        return self._append_locked(make) if keys is None else keys

    def _append_unlocked(self, log: CompareAndAppendLog, make: Callable[[], list[Entry]]) -> list[str] | None:
        """Append at the known end of the log; return None, with nothing written, if the lock is needed."""
        transcript = self.transcript
        reading = transcript.reading
        if reading.unterminated:
            return None
        try:
            made = make()
        except Exception:  # noqa: BLE001  it may lack entries of other writers; retried under the lock
            return None
        if not made:
            return None
        data = self.format.required_writer().encode(made, reading)
        if log.try_append(reading.consumed, data) is None:
            return None
        known = len(reading.tree)
        transcript.take(data)
        return reading.tree.keys[known:]

    def _append_locked(self, make: Callable[[], list[Entry]]) -> list[str]:
        assert self._log is not None
        transcript = self.transcript
        reading = transcript.reading
        with self._log.exclusive() as writer:
            if self.format.traits.overwrites_appends and (reason := self.overwriter()) is not None:
                raise ReadOnly(f"cannot append to {self._log.name}: {reason}")
            if writer.end != reading.consumed or reading.unterminated:
                self.catch_up()
                reading = transcript.reading
            elif not transcript.is_unchanged():
                raise self._rewritten()
            made = make()
            if not made:
                return []
            data = self.format.required_writer().encode(made, reading)
            offset = writer.append(data)
            if writer.torn is not None:
                self.torn.append(writer.torn)
            if offset == reading.consumed and not reading.unterminated:
                keys = reading.tree.keys
                known = len(keys)
                transcript.take(data)
                return keys[known:]
            try:
                transcript.catch_up()
            except OSError as problem:
                raise LogError(
                    f"the append to {self._log.name} was saved, but cannot be read back ({problem}); "
                    "open it again"
                ) from problem
        return self._keys_between(offset, offset + len(data))

    def buffer(self, lines: bytes) -> None:
        """Buffer complete lines of a new session until :meth:`create` writes them."""
        self._unwritten += lines
        self.transcript.rebind(MemoryLog(self._unwritten).read, self.key)
        self.transcript.take(lines)

    def create(self, lines: bytes = b"") -> None:
        """Write the header, the buffered lines and these lines as a new session, in one write."""
        assert self.store is not None
        content, durability = self._unwritten + lines, self.durability
        if isinstance(self.store, DraftStore):
            self._use(self.store.create(self.key, content, draft=self.draft, durability=durability))
        else:
            self._use(self.store.create(self.key, content, durability=durability))
        self.buffered = False
        if lines:
            self.transcript.take(lines)

    def publish(self) -> None:
        """Publish a draft so that listings show it; an unwritten session skips the draft stage.

        After a failure the draft is unchanged.
        """
        if self.draft and self._log is not None:
            assert isinstance(self.store, DraftStore)
            self._replace_head(self._log)
            try:
                published = self.store.publish(self.key, durability=self.durability)
            except (SessionNotFound, FileExistsError) as problem:
                already = self._published()  # by another process with this draft open
                if already is None and isinstance(problem, SessionNotFound):
                    raise NotSaved(
                        f"cannot save {self.key}: its draft was deleted; nothing was saved"
                    ) from problem
                if already is None:
                    raise
                published = already
            self.draft = False
            self._use(published)
        self.draft = False

    def _replace_head(self, log: Log) -> None:
        """Write a draft again if it has other first lines as a file; no other program reads drafts."""
        writer = self.format.required_writer()
        if not isinstance(writer, HeadWriter) or not isinstance(log, FileLog) or not os.path.exists(log.path):
            return
        head_of = writer.published_head
        self.catch_up()
        if head_of(self.transcript.reading) is None:
            return
        with log.exclusive():
            self.catch_up()
            reading = self.transcript.reading
            if (head := head_of(reading)) is None:
                return
            rest = self.transcript.bytes_between(reading.header_end + 1, None)
            replace_file(log.path, [head, rest], backup=False)
        self._use(FileLog(log.path, durability=self.durability))
        self.transcript.reload()

    def close(self, *, has_message: Callable[[], bool]) -> None:
        """Close the log; remove a draft or temporary file of this writer to which nothing was written.

        Where the agent removes its sessions without messages, one without a message goes too: to the trash,
        unless only its first line was written. ``has_message`` is called again under the lock, after catching
        up with other writers.
        """
        log = self._log
        if log is None:
            return

        def has_first_line_only() -> bool:
            return log.size() == self._size_of_start

        def is_unused() -> bool:
            sweeps = self.format.traits.removes_empty_sessions
            return has_first_line_only() or (sweeps and not has_message())

        try:
            if (self.temporary or (self.draft and not self.waits)) and is_unused():
                # On any error the file is kept, which is safe.
                with contextlib.suppress(BranchlineError, OSError), log.exclusive():
                    self.catch_up()
                    if has_first_line_only():
                        self._delete(log)
                    elif is_unused():
                        assert self.store is not None
                        trash_of(self.store).remove(self.key, draft=self.draft)
        finally:
            log.close()

    def discard_draft(self) -> None:
        """Delete a new session that was not published."""
        if self._log is None:
            return
        self._log.close()
        if isinstance(self.store, DraftStore):
            self.store.drop_draft(self.key)
        elif isinstance(self.store, TrashStore):
            self.store.remove(self.key)

    # -- inside ---------------------------------------------------------------------------------------

    def _delete(self, log: Log) -> None:
        """Delete a session to which nothing was written. The caller holds the lock."""
        if self.draft:
            assert isinstance(self.store, DraftStore)
            self.store.drop_draft(self.key)
        elif isinstance(log, RemovableLog):
            log.unlink()

    def _lock_as_the_program_does(self, log: Log) -> None:
        """Hold the lock that the agent of this session takes around its own writes."""
        if isinstance(log, FileLog) and not self.draft and (lock := self.format.home.lock_file(log.path)):
            log.add_lock(lock)

    def _keys_between(self, start: int, end: int) -> list[str]:
        """Return the keys of the entries whose lines start in this part of the log."""
        reading, keys = self.transcript.reading, []
        position = len(reading.tree) - 1
        while position >= 0 and (offset := reading.span(position).offset) >= start:
            if offset < end:
                keys.append(reading.tree.keys[position])
            position -= 1
        return keys[::-1]

    def _follow(self) -> None:
        """Continue with the session if another process has published this draft.

        The published session has its own lock; holding that of the draft would not exclude other writers.
        """
        published = self._published()
        if published is not None:
            self.draft = False
            self._use(published)

    def _published(self) -> Log | None:
        """Return the log of the published draft; None if it was not published, or if another has its name."""
        assert self.store is not None
        if self.store.stat(self.key) is None:
            return None
        found = self.store.open(self.key, durability=self.durability)
        ours = self._log
        if found is ours or (
            isinstance(found, RemovableLog)
            and isinstance(ours, RemovableLog)
            and found.identity == ours.identity
        ):
            return found
        found.close()
        return None

    def _use(self, log: Log) -> None:
        old, self._log = self._log, log
        self._conditional = _conditional(log)
        self._lock_as_the_program_does(log)
        self.transcript.rebind(log.read, log.name)
        self._read_lines_of(log)
        if old is not None:
            old.close()

    def _read_lines_of(self, log: Log) -> None:
        if isinstance(log, LinesLog):
            self.transcript.read_lines = log.read_lines

    def _upgrade(self) -> None:
        """Upgrade a file of an older version to version 3: written next to it, verified, with a backup."""
        log = self._log
        if isinstance(log, FileLog):
            # A replaced file may already be the upgraded one; that is checked below.
            with contextlib.suppress(LogReplaced), log.exclusive():
                self.catch_up()
                lines = list(self.format.required_writer().upgrade(self.transcript))
                wanted = list(self.transcript.tree.keys)

                def complete(path: str) -> None:
                    with FileLog(path) as copy:
                        found = EntryLog(self.format, copy.read, path).tree.keys
                    if found != wanted:
                        raise ReadOnly(f"cannot upgrade {log.path}: the new file would not hold every entry")

                replace_file(log.path, lines, backup=True, check=complete)
            self._take_up_upgraded(log.path)
        elif log is not None and not isinstance(log, MemoryLog):
            raise ReadOnly(
                f"cannot append to {log.name}: it is of version {self.transcript.reading.version}, and only "
                f"a file is "
                "upgraded; export it to a file, append there, and import that"
            )
        elif log is not None:
            self._use(MemoryLog(b"".join(self.format.required_writer().upgrade(self.transcript)), log.name))
            self.transcript.reload()

    def _take_up_upgraded(self, path: str) -> None:
        """Continue with the upgraded file at this path, whichever process wrote it."""
        opened = FileLog(path, durability=self.durability)
        try:
            found = EntryLog(self.format, opened.read, opened.name)
        except BaseException:
            opened.close()
            raise
        known = self.transcript.tree.keys
        newer = found.reading.version > self.transcript.reading.version
        if not newer or found.tree.keys[: len(known)] != known:
            opened.close()
            raise _replaced(path)
        self._use(opened)
        self.transcript.adopt(found)

    def _rewritten(self) -> LogReplaced:
        """Return the error for a log whose last lines differ from those read."""
        name = self.transcript.name
        return LogReplaced(
            f"cannot continue with {name}: its lines were rewritten while it was open; open it again"
        )

    def _require_same_file(self, log: FileLog) -> None:
        try:
            status = os.stat(log.path)
        except OSError:
            return  # renamed or deleted: the open log is still the session
        if (status.st_dev, status.st_ino) != log.identity:
            if self.transcript.reading.version == self.transcript.reading.current_version:
                raise _replaced(log.path)
            self._take_up_upgraded(log.path)


def _conditional(log: Log | None) -> CompareAndAppendLog | None:
    """Return the log if it can compare and append. Checked on the type: a wrapper may have any attribute."""
    return cast("CompareAndAppendLog", log) if hasattr(type(log), "try_append") else None


def _replaced(path: str) -> LogReplaced:
    return LogReplaced(f"{path} was replaced by another file; open it again")
