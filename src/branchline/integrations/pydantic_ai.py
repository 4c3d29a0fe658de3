"""Conversation store for pydantic-ai (extra ``pydantic-ai``)::

    from branchline.integrations.pydantic_ai import BranchlineConversations
    store = BranchlineConversations("app.db")                  # or a directory, or postgresql://…
    conversation = await store.load("c1") or Conversation(conversation_id="c1")
    result = await agent.run("hello", conversation=conversation)
    await store.save(result, scope="user-7")

A conversation is a session, and each message is an entry with pydantic-ai's id, so that ids are valid in
every interface. A save is one atomic write, conditional on the expected revision. A fork holds its own copy
of the path, with the same ids. Deleting moves the session to the trash of its store; forks are not affected.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec

from branchline._version import install_extra

try:
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import (
        BinaryContent,
        ModelMessage,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
except ImportError as problem:  # pragma: no cover  a test replaces the module
    raise ImportError(f"the store for pydantic-ai needs it: {install_extra('pydantic-ai')}") from problem

from branchline.entries import Custom, UnknownMessage
from branchline.errors import EntryNotFound, SessionNotFound
from branchline.integrations.event_messages import assistant_message, native_entries, new_entries, tool_result
from branchline.integrations.threads import LibraryAdapter, Worker
from branchline.library import SessionLibrary
from branchline.session import NewEntry, Session
from branchline.stores import Store, key_for, trash_of

__all__ = ["BranchlineConversations"]

_FORMAT = "pydantic-ai.message"
_RECORD = "pydantic-ai.record"
_TAIL = 1 << 16
"""Bytes at the end of a log that are searched for its record without opening it."""
_MAX_OPEN = 64
"""Number of sessions kept open."""
_MAX_CACHED_ENTRIES = 100_000
"""Number of entries whose conversation is cached."""

_MESSAGE: TypeAdapter[ModelMessage] = TypeAdapter(ModelMessage)
_RECORDS = TypeAdapter(ConversationRecord)

Fields = dict[str, Any]


class BranchlineConversations(ConversationStore, LibraryAdapter):
    """The conversations of one store. Tasks and processes may share it."""

    def __init__(self, where: str | os.PathLike[str] | Store | SessionLibrary) -> None:
        self._open_library(where)
        self._worker = Worker()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._keys_by_entry: OrderedDict[str, str] = OrderedDict()
        self._listed: dict[str, tuple[tuple[int, float], ConversationRecord | None]] = {}

    # -- pydantic-ai's interface ------------------------------------------------------------------------

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await self._worker.run(lambda: self._record(key_for(conversation_id)))

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        return await self._worker.run(lambda: self._records(scope, limit))

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        await self._worker.run(lambda: self._write(record, new_entries, expected_revision))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await self._worker.run(lambda: self._delete(conversation_id, expected_revision))

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        def read() -> ConversationEntry:
            session = self._holder(entry_id)
            return _entries(session, session.path(entry_id))[-1]

        return await self._worker.run(read)

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to ``head_id``, in one read."""
        if head_id is None or limit == 0:
            return []

        def read() -> list[ConversationEntry]:
            session = self._holder(head_id)
            if limit is None:
                return _entries(session, session.path(head_id))
            size = 2 * limit + 1  # a message with several tool results is several entries
            while True:
                path = session.path(head_id, limit=size)
                found = _entries(session, path)
                # One more than needed: the parent of the first entry may not have been read.
                if len(found) > limit or len(path) < size:
                    return found[-limit:]
                size *= 2

        return await self._worker.run(read)

    # -- life -------------------------------------------------------------------------------------------

    async def close(self) -> None:
        await self._worker.run(self._close)

    def _close_sessions(self) -> None:
        while self._sessions:
            self._sessions.popitem()[1].close()

    # -- inside, in a thread ----------------------------------------------------------------------------

    def _write(
        self, record: ConversationRecord, new_entries: Sequence[ConversationEntry], expected: str | None
    ) -> None:
        key = key_for(record.conversation_id)
        made = [entry for new in new_entries for entry in _written(new)]
        named = {new.id for new in new_entries}
        session = self._opened(key) or self._created(record)

        def build(current: Session) -> list[NewEntry]:
            stored = _newest_record(current)
            if (None if stored is None else stored.revision) != expected:
                raise ConversationConflict(record.conversation_id)
            head = record.head_id
            copied: list[NewEntry] = []
            if head is not None and head not in named and head not in current:
                copied = self._copied(record, head)
            about = NewEntry.custom(_RECORD, msgspec.Raw(_RECORDS.dump_json(record)))
            last_written = new_entries[-1].id if new_entries else current.leaf
            return [*copied, *made, *([NewEntry.move(head)] if head != last_written else []), about]

        session.write(build)
        self._remember(key, [*named, *filter(None, (record.head_id,)), *record.branches])

    def _created(self, record: ConversationRecord) -> Session:
        """Create the session of a new conversation; a fork is linked to its parent."""
        key = key_for(record.conversation_id)
        if record.forked_from is None:
            session = self._library.get_or_create(record.conversation_id)
        else:
            try:
                session = Session.create(
                    store=self._store, key=key, parent_session=key_for(record.forked_from), persist="always"
                )
            except FileExistsError:
                session = self._library.get_or_create(record.conversation_id)
        return self._keep(key, session)

    def _copied(self, record: ConversationRecord, head: str) -> list[NewEntry]:
        """Copy the path to an entry of the parent conversation, with the same ids."""
        source = None if record.forked_from is None else self._opened(key_for(record.forked_from))
        if source is None or head not in source:
            raise ConversationConflict(record.conversation_id)
        path = source.path(head)
        copied = []
        parent: str | None = None
        for key, line in zip(path, source.raws(path), strict=True):
            message = msgspec.json.decode(line).get("message")
            if message is not None:
                copy = UnknownMessage(role=message["role"], fields=message)
                copied.append(NewEntry.message(copy, id=key, parent=parent))
                parent = key
        return copied

    def _delete(self, conversation_id: str, expected: str) -> None:
        session = self._opened(key_for(conversation_id))
        if session is None:
            raise ConversationConflict(conversation_id)

        def build(current: Session) -> list[NewEntry]:
            stored = _newest_record(current)
            if stored is None or stored.revision != expected:
                raise ConversationConflict(conversation_id)
            return [NewEntry.custom(_RECORD, None)]

        session.write(build)
        self._sessions.pop(session.key).close()
        trash_of(self._store).remove(session.key)

    def _records(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        found: list[ConversationRecord] = []
        for log in self._store.scan().found:
            stamp = (log.size, log.modified)
            known = self._listed.get(log.key)
            if known is None or known[0] != stamp:
                known = self._listed[log.key] = (stamp, self._tail_record(log.key, log.size))
            record = known[1]
            if record is not None and scope in (None, record.scope):
                found.append(record)
        found.sort(key=lambda record: record.updated_at, reverse=True)
        return [_copy(record) for record in (found if limit is None else found[:limit])]

    def _tail_record(self, key: str, size: int) -> ConversationRecord | None:
        """Return the record of a session, usually the last line of its log."""
        try:
            with self._store.snapshot(key) as read:
                start = max(0, size - _TAIL)
                lines = read(start, size - start).splitlines()
            entry = msgspec.json.decode(lines[-1]) if lines else {}
        except (SessionNotFound, msgspec.DecodeError):
            entry = {}
        if isinstance(entry, dict) and entry.get("customType") == _RECORD:
            return None if entry.get("data") is None else _RECORDS.validate_python(entry["data"])
        session = self._opened(key)
        return None if session is None else _newest_record(session)

    def _record(self, key: str) -> ConversationRecord | None:
        session = self._opened(key)
        record = None if session is None else _newest_record(session)
        if record is not None:
            self._remember(key, [*filter(None, (record.head_id,)), *record.branches])
        return record

    def _opened(self, key: str) -> Session | None:
        """Return the refreshed session of a key; None if there is none."""
        session = self._sessions.get(key)
        if session is None:
            if self._store.stat(key) is None:
                return None
            try:
                return self._keep(key, Session.from_store(self._store, key))
            except SessionNotFound:
                return None
        if self._store.stat(key) is None:  # deleted by another process
            self._sessions.pop(key).close()
            return None
        session.refresh()
        self._sessions.move_to_end(key)
        return session

    def _keep(self, key: str, session: Session) -> Session:
        session.on_conflict = "append"
        self._sessions[key] = session
        while len(self._sessions) > _MAX_OPEN:
            self._sessions.popitem(last=False)[1].close()
        return session

    def _remember(self, key: str, entries: Sequence[str]) -> None:
        for entry in entries:
            self._keys_by_entry[entry] = key
            self._keys_by_entry.move_to_end(entry)
        while len(self._keys_by_entry) > _MAX_CACHED_ENTRIES:
            self._keys_by_entry.popitem(last=False)

    def _holder(self, entry: str) -> Session:
        """Return the session that holds an entry. Raises LookupError if none does."""
        known = self._keys_by_entry.get(entry)
        keys = [log.key for log in self._store.scan().found] if known is None else [known]
        for key in keys:
            session = self._opened(key)
            if session is not None and entry in session:
                self._remember(key, [entry])
                return session
        if known is not None:  # deleted, but a fork may have it
            del self._keys_by_entry[entry]
            return self._holder(entry)
        raise EntryNotFound(f"no conversation of {self._library.name} holds the entry {entry!r}")


def _newest_record(session: Session) -> ConversationRecord | None:
    types = session.index.types
    for position in range(len(types) - 1, -1, -1):
        if types[position] == "custom":
            entry = session.transcript.entry(position)
            if isinstance(entry, Custom) and entry.custom_type == _RECORD:
                return None if entry.data is None else _RECORDS.validate_python(entry.data)
    return None


def _copy(record: ConversationRecord) -> ConversationRecord:
    return _RECORDS.validate_json(_RECORDS.dump_json(record))


# -- messages ---------------------------------------------------------------------------------------------


def _entries(session: Session, path: list[str]) -> list[ConversationEntry]:
    """Return the entries on a path written by pydantic-ai, each with its predecessor."""
    found: list[ConversationEntry] = []
    parent: str | None = None
    for key, native in native_entries(session, path, _FORMAT):
        message = _MESSAGE.validate_json(bytes(native.message))
        found.append(ConversationEntry(id=key, parent_id=parent, message=message))
        parent = key
    return found


def _written(entry: ConversationEntry) -> list[NewEntry]:
    """Convert a message to entries; the last one has its id and original form."""
    native = {"format": _FORMAT, "v": 1, "message": msgspec.Raw(_MESSAGE.dump_json(entry.message))}
    return new_entries(_messages(entry.message), native, id=entry.id, parent=entry.parent_id)


def _messages(message: ModelMessage) -> list[Fields]:
    """Convert a message to messages for display and for other models."""
    if isinstance(message, ModelResponse):
        return [_answer(message)]
    requests = [found for part in message.parts if (found := _request(part)) is not None]
    return requests or [{"role": "user", "content": ""}]


def _request(part: Any) -> Fields | None:
    match part:
        case SystemPromptPart():
            return {"role": "developer", "content": part.content}
        case UserPromptPart():
            if isinstance(part.content, str):
                return {"role": "user", "content": part.content}
            return {"role": "user", "content": [_block(item) for item in part.content]}
        case ToolReturnPart():
            failed = part.outcome != "success"
            return tool_result(part.tool_call_id, part.tool_name, part.model_response_str(), failed=failed)
        case RetryPromptPart() if part.tool_name is not None:
            return tool_result(part.tool_call_id, part.tool_name, part.model_response(), failed=True)
        case RetryPromptPart():
            return {"role": "user", "content": part.model_response()}
        case _:
            return None


def _block(item: Any) -> Fields:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if isinstance(item, BinaryContent) and item.media_type.startswith("image/"):
        return {"type": "image", "data": item.base64, "mimeType": item.media_type}
    return {"type": "text", "text": f"[{getattr(item, 'media_type', None) or type(item).__name__}]"}


def _answer(message: ModelResponse) -> Fields:
    blocks: list[Fields] = []
    for part in message.parts:
        match part:
            case TextPart():
                blocks.append({"type": "text", "text": part.content})
            case ThinkingPart():
                blocks.append({"type": "thinking", "thinking": part.content})
            case ToolCallPart():
                arguments = part.args_as_dict()
                blocks.append(
                    {
                        "type": "toolCall",
                        "id": part.tool_call_id,
                        "name": part.tool_name,
                        "arguments": arguments,
                    }
                )
            case _:
                pass  # hosted tools and files are only in the original form
    usage = message.usage
    spent = {
        "input": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
        "output": usage.output_tokens,
        "cacheRead": usage.cache_read_tokens,
        "cacheWrite": usage.cache_write_tokens,
        "totalTokens": usage.total_tokens,
    }
    names = {"provider": message.provider_name, "model": message.model_name}
    return {**assistant_message(blocks), **names, "usage": spent}
