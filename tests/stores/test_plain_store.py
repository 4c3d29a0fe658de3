"""A store without drafts and trash is enough for sessions."""

from __future__ import annotations

import pytest

from branchline import AssistantMessage, Session, SessionLibrary, Text
from branchline.errors import NotSupported
from branchline.stores import DraftStore, MemoryStore, TrashStore
from branchline.stores.conformance import StoreContract


class LogsOnly:
    """The eight members of a store, over one in memory."""

    def __init__(self):
        self._logs = MemoryStore("plain")
        self.name = self._logs.name
        for verb in ("scan", "stat", "snapshot", "open", "rename", "in_use"):
            setattr(self, verb, getattr(self._logs, verb))

    def create(self, key, data, *, durability="fsync"):
        return self._logs.create(key, data, durability=durability)


class TestLogsOnly(StoreContract):
    def make_store(self):
        return LogsOnly()


def test_it_has_neither_drafts_nor_a_trash():
    assert not isinstance(LogsOnly(), DraftStore)
    assert not isinstance(LogsOnly(), TrashStore)
    assert isinstance(MemoryStore(), DraftStore)
    assert isinstance(MemoryStore(), TrashStore)


def test_a_session_is_listed_from_its_first_entry_on():
    store = LogsOnly()

    with Session.create("/project", store=store) as session:
        session.append_message("Hello")

        assert not session.is_draft
        assert [found.key for found in store.scan().found] == [session.key]
        path = session.path()
    assert SessionLibrary(store).drafts() == []
    assert SessionLibrary(store).open(session.id).path() == path


def test_a_fork_is_a_log_too():
    store = LogsOnly()
    with Session.create("/project", store=store) as session:
        session.append_message("Hello")
        session.append_message(AssistantMessage(content=(Text(text="Good day"),)))

        with session.fork() as fork:
            assert len(fork) == 2

    assert {row.id for row in SessionLibrary(store).list()} == {session.id, fork.id}


def test_nothing_can_be_removed_from_it():
    store = LogsOnly()
    with Session.create("/project", store=store) as session:
        session.append_message("Hello")
    library = SessionLibrary(store)

    with pytest.raises(NotSupported, match="plain has no trash"):
        library.remove(session.id)

    assert library.trash() == []
    assert [row.id for row in library.list()] == [session.id]
