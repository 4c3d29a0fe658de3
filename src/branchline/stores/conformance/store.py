"""The contracts of stores: keyed logs, and the optional protocols for drafts, a trash and bulk loading."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from branchline.errors import InvalidId, SessionNotFound
from branchline.stores.protocol import DraftStore, LoadStore, Store, TrashStore

__all__ = ["DraftContract", "LoadContract", "StoreContract", "TrashContract"]

_FIRST = b'{"type":"session","version":3,"id":"one"}\n'
_NEXT = b'{"type":"message","id":"a","parentId":null}\n'
_INVALID_KEYS = (
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "a\\b",
    "/etc/passwd",
    ".hidden",
    " x",
    "x ",
    "a\nb",
    "a\0b",
    "x" * 300,
)


class StoreContract:
    """The contract of :class:`branchline.stores.Store`."""

    def make_store(self) -> Store:
        """Create an empty store."""
        raise NotImplementedError("override this in a subclass to create a new, empty store")

    # -- creating and reading -------------------------------------------------------------------------

    def test_a_new_store_is_empty(self) -> None:
        """An empty store gives empty results, never an error."""
        store = self.make_store()

        assert store.name
        assert store.scan().found == []
        assert store.stat("one") is None

    def test_what_was_created_is_found_and_read(self) -> None:
        """A log is listed with its key and size, and holds the lines that it was created with."""
        store = self.make_store()

        store.create("one", _FIRST + _NEXT).close()

        (found,) = store.scan().found
        assert (found.key, found.size) == ("one", len(_FIRST + _NEXT))
        assert store.stat("one") == found
        assert _content(store, "one") == _FIRST + _NEXT

    def test_what_is_appended_is_read_by_others(self) -> None:
        """All handles of a log see the same lines."""
        store = self.make_store()
        log = store.create("one", _FIRST)

        with log.exclusive() as writer:
            writer.append(_NEXT)
        log.close()

        assert _content(store, "one") == _FIRST + _NEXT
        assert store.scan().found[0].size == len(_FIRST + _NEXT)

    def test_the_log_that_changed_last_comes_first(self) -> None:
        """The newest log comes first; ties are broken by key."""
        store = self.make_store()
        for key in ("b", "a", "c"):
            store.create(key, _FIRST).close()
            time.sleep(0.02)

        log = store.open("a")
        with log.exclusive() as writer:
            writer.append(_NEXT)
        log.close()

        assert [found.key for found in store.scan().found] == ["a", "c", "b"]

    def test_a_key_is_taken_once(self) -> None:
        """Creating a log under a key that is taken fails and leaves the existing log unchanged."""
        store = self.make_store()
        store.create("log", _FIRST).close()

        _raises(FileExistsError, partial(store.create, "log", _NEXT))

        assert _content(store, "log") == _FIRST

    def test_a_key_is_never_a_path(self) -> None:
        """Every method refuses names that could escape the store, and creates nothing."""
        store = self.make_store()
        store.create("one", _FIRST).close()

        for key in _INVALID_KEYS:
            verbs: list[Callable[[], Any]] = [
                partial(store.stat, key),
                partial(_content, store, key),
                partial(store.open, key),
                partial(store.create, key, _FIRST),
                partial(store.rename, key, "two"),
                partial(store.rename, "one", key),
            ]
            for verb in verbs:
                _raises(InvalidId, verb)

        assert [found.key for found in store.scan().found] == ["one"]

    def test_any_other_name_is_a_key(self) -> None:
        """A key may contain spaces, dots and characters of any script."""
        store = self.make_store()
        keys = ["2026-01-01T00-00-00-000Z_0199-ab", "my plan v1.2", "сессия ☃", "a" * 200]

        for key in keys:
            store.create(key, _FIRST).close()

        assert sorted(found.key for found in store.scan().found) == sorted(keys)
        assert all(_content(store, key) == _FIRST for key in keys)

    def test_what_is_not_there_cannot_be_opened(self) -> None:
        """Opening or reading a missing log raises SessionNotFound."""
        store = self.make_store()

        _raises(SessionNotFound, lambda: store.open("one"))
        _raises(SessionNotFound, lambda: _content(store, "one"))

    def test_a_snapshot_never_changes_anything(self) -> None:
        """A snapshot reads any part of the log and does not change its modification time."""
        store = self.make_store()
        store.create("one", _FIRST + _NEXT).close()
        before = store.scan()

        with store.snapshot("one") as read:
            assert read(0, len(_FIRST)) == _FIRST
            assert read(len(_FIRST), 1 << 20) == _NEXT
            assert read(1 << 20, 10) == b""

        assert store.scan() == before

    def test_a_scan_in_pages_finds_everything_once(self) -> None:
        """Each page starts after the last log of the previous one, in the order of a full scan."""
        store = self.make_store()
        for number in range(7):
            store.create(f"log{number}", _FIRST).close()
        whole = store.scan().found

        pages, after = [], None
        while page := store.scan(limit=3, after=after).found:
            pages.append(page)
            after = (page[-1].modified, page[-1].key)

        assert [len(page) for page in pages] == [3, 3, 1]
        assert [stored for page in pages for stored in page] == whole
        assert store.scan(limit=0).found == []

    def test_a_scan_finds_the_keys_that_begin_with_a_prefix(self) -> None:
        """Prefixes are literal: no character in them is a wildcard."""
        store = self.make_store()
        for key in ("a~1", "a~2", "ab", "b~1", "a%5f", "a_"):
            store.create(key, _FIRST).close()

        assert sorted(found.key for found in store.scan(prefix="a~").found) == ["a~1", "a~2"]
        assert [found.key for found in store.scan(prefix="a_").found] == ["a_"]
        assert [found.key for found in store.scan(prefix="a%").found] == ["a%5f"]
        assert len(store.scan(prefix="a", limit=2).found) == 2

    # -- renaming -------------------------------------------------------------------------------------

    def test_a_renamed_log_keeps_its_lines(self) -> None:
        """The lines are the same under the new key, and the old key is free."""
        store = self.make_store()
        store.create("one", _FIRST).close()

        renamed = store.rename("one", "two")

        assert (renamed.key, renamed.size) == ("two", len(_FIRST))
        assert [found.key for found in store.scan().found] == ["two"]
        assert _content(store, "two") == _FIRST
        store.create("one", _NEXT).close()

    def test_renaming_overwrites_nothing(self) -> None:
        """A missing source and an existing target are refused, including the log itself."""
        store = self.make_store()
        store.create("one", _FIRST).close()
        store.create("two", _NEXT).close()

        _raises(SessionNotFound, lambda: store.rename("absent", "three"))
        for target in ("one", "two"):
            message = _raises(FileExistsError, partial(store.rename, "one", target))
            assert target in message

        assert _content(store, "one") == _FIRST
        assert _content(store, "two") == _NEXT

    def test_an_open_log_keeps_appending_after_a_rename(self) -> None:
        """An open handle follows the log, not its name."""
        store = self.make_store()
        log = store.create("one", _FIRST)
        with log.exclusive() as writer:
            writer.append(_NEXT)

        store.rename("one", "two")
        with log.exclusive() as writer:
            writer.append(_NEXT)
        log.close()

        assert _content(store, "two") == _FIRST + _NEXT + _NEXT
        assert [found.key for found in store.scan().found] == ["two"]

    # -- concurrent use -------------------------------------------------------------------------------

    def test_a_log_that_is_being_written_is_in_use(self) -> None:
        """A writer is detected without waiting; missing and idle logs are not in use."""
        store = self.make_store()
        store.create("idle", _FIRST).close()
        log = store.create("busy", _FIRST)

        with log.exclusive():
            assert store.in_use(["idle", "busy", "absent"]) == {"busy"}
        log.close()

        assert store.in_use(["idle", "busy", "absent"]) == set()


class DraftContract(StoreContract):
    """The additional contract of :class:`branchline.stores.DraftStore`."""

    def make_store(self) -> DraftStore:
        raise NotImplementedError("override this in a subclass to create a new, empty store")

    def test_no_listing_shows_a_draft(self) -> None:
        """A draft appears only among the drafts, and can be opened."""
        store = self.make_store()

        store.create("one", _FIRST, draft=True).close()

        assert store.scan().found == []
        assert store.stat("one") is None
        assert [draft.key for draft in store.drafts()] == ["one"]
        assert _content(store, "one") == _FIRST
        store.open("one").close()

    def test_a_published_draft_is_a_log(self) -> None:
        """Publishing keeps the lines and removes the draft."""
        store = self.make_store()
        store.create("one", _FIRST, draft=True).close()

        log = store.publish("one")
        with log.exclusive() as writer:
            writer.append(_NEXT)
        log.close()

        assert [found.key for found in store.scan().found] == ["one"]
        assert store.drafts() == []
        assert _content(store, "one") == _FIRST + _NEXT

    def test_only_a_draft_is_published(self) -> None:
        """Publishing without a draft fails, whether or not there is a log of that key."""
        store = self.make_store()
        store.create("log", _FIRST).close()

        _raises(SessionNotFound, lambda: store.publish("absent"))
        _raises((SessionNotFound, FileExistsError), lambda: store.publish("log"))

        assert _content(store, "log") == _FIRST

    def test_a_draft_can_be_dropped(self) -> None:
        """Dropping returns whether there was a draft, and never touches a log."""
        store = self.make_store()
        store.create("draft", _FIRST, draft=True).close()
        store.create("log", _FIRST).close()

        assert store.drop_draft("draft") is True
        assert store.drop_draft("draft") is False
        assert store.drop_draft("log") is False

        assert store.drafts() == []
        assert store.stat("log") is not None

    def test_a_draft_takes_its_key(self) -> None:
        """A log and a draft never share a key, whichever came first."""
        store = self.make_store()
        store.create("log", _FIRST).close()
        store.create("draft", _FIRST, draft=True).close()

        for key in ("log", "draft"):
            for draft in (False, True):
                _raises(FileExistsError, partial(store.create, key, _NEXT, draft=draft))
        assert "draft" in _raises(FileExistsError, partial(store.rename, "log", "draft"))

        assert _content(store, "log") == _content(store, "draft") == _FIRST

    def test_the_key_of_a_draft_is_never_a_path(self) -> None:
        """Names that could escape the store are refused, and nothing is created."""
        store = self.make_store()

        for key in _INVALID_KEYS:
            _raises(InvalidId, partial(store.create, key, _FIRST, draft=True))
            _raises(InvalidId, partial(store.publish, key))
            _raises(InvalidId, partial(store.drop_draft, key))

        assert store.drafts() == []

    def test_a_draft_that_is_being_written_is_in_use(self) -> None:
        """A writer is detected without waiting."""
        store = self.make_store()
        draft = store.create("draft", _FIRST, draft=True)

        with draft.exclusive():
            assert store.in_use(["draft"]) == {"draft"}
        draft.close()

        assert store.in_use(["draft"]) == set()

    def test_a_draft_is_restored_as_a_draft(self) -> None:
        """The trash records whether an item was a draft."""
        store = self.make_store()
        store.create("one", _FIRST, draft=True).close()
        if not isinstance(store, TrashStore):
            return

        assert store.remove("one") is None
        removed = store.remove("one", draft=True)

        assert removed is not None
        assert removed.draft
        assert store.drafts() == []
        store.restore(removed.token)
        assert [draft.key for draft in store.drafts()] == ["one"]
        assert store.scan().found == []


class TrashContract(StoreContract):
    """The additional contract of :class:`branchline.stores.TrashStore`."""

    def make_store(self) -> TrashStore:
        raise NotImplementedError("override this in a subclass to create a new, empty store")

    def test_what_was_removed_lies_in_the_trash(self) -> None:
        """A removed log is only in the trash, with its key and size."""
        store = self.make_store()
        store.create("one", _FIRST).close()

        removed = store.remove("one")

        assert removed is not None
        assert (removed.key, removed.size, removed.draft) == ("one", len(_FIRST), False)
        assert store.trashed() == [removed]
        assert store.scan().found == []
        assert store.stat("one") is None
        _raises(SessionNotFound, lambda: store.open("one"))

    def test_removing_a_missing_log_returns_none(self) -> None:
        """A missing log is not an error."""
        store = self.make_store()

        assert store.remove("absent") is None

        assert store.trashed() == []

    def test_a_restored_log_is_complete(self) -> None:
        """A restored log has its lines, is listed again and is no longer in the trash."""
        store = self.make_store()
        store.create("one", _FIRST + _NEXT).close()
        removed = store.remove("one")
        assert removed is not None

        restored = store.restore(removed.token)

        assert (restored.key, restored.size) == ("one", len(_FIRST + _NEXT))
        assert _content(store, "one") == _FIRST + _NEXT
        assert store.trashed() == []
        _raises(SessionNotFound, lambda: store.restore(removed.token))

    def test_restoring_overwrites_nothing(self) -> None:
        """Restoring under a taken key fails and changes neither log; it works after a rename."""
        store = self.make_store()
        store.create("one", _FIRST).close()
        removed = store.remove("one")
        assert removed is not None
        store.create("one", _NEXT).close()

        message = _raises(FileExistsError, lambda: store.restore(removed.token))

        assert "one" in message
        assert _content(store, "one") == _NEXT
        assert store.trashed() == [removed]
        store.rename("one", "two")
        store.restore(removed.token)
        assert _content(store, "one") == _FIRST

    def test_the_same_key_can_be_removed_again(self) -> None:
        """The trash keeps both items, last removed first, and restores each."""
        store = self.make_store()
        store.create("one", _FIRST).close()
        earlier = store.remove("one")
        time.sleep(0.002)
        store.create("one", _FIRST + _NEXT).close()
        later = store.remove("one")
        assert earlier is not None
        assert later is not None

        assert store.trashed() == [later, earlier]
        store.restore(earlier.token)

        assert _content(store, "one") == _FIRST
        assert store.trashed() == [later]

    def test_an_open_log_keeps_its_lines_when_removed_and_restored(self) -> None:
        """Lines appended to a removed log are restored with it."""
        store = self.make_store()
        log = store.create("one", _FIRST)

        removed = store.remove("one")
        assert removed is not None
        with log.exclusive() as writer:
            writer.append(_NEXT)
        log.close()
        store.restore(removed.token)

        assert _content(store, "one") == _FIRST + _NEXT

    def test_only_a_key_is_removed_or_restored(self) -> None:
        """Names that could escape the store are refused."""
        store = self.make_store()

        for key in _INVALID_KEYS:
            _raises(InvalidId, partial(store.remove, key))
            _raises(InvalidId, partial(store.restore, key))

        assert store.trashed() == []


class LoadContract(StoreContract):
    """The additional contract of :class:`branchline.stores.LoadStore`."""

    def make_store(self) -> LoadStore:
        raise NotImplementedError("override this in a subclass to create a new, empty store")

    def test_a_loaded_log_has_exactly_the_bytes_it_was_given(self) -> None:
        """Damage is preserved: bytes that are not text, blank lines, a torn last line."""
        store = self.make_store()
        contents = (b"", b"\n", b"\n\n{}\n", b'{"a":1}\r\n\xff\x00\n{"torn', _FIRST * 3)

        for number, content in enumerate(contents):
            pieces = [content[at : at + 5] for at in range(0, len(content), 5)]
            loaded = store.load(f"log{number}", pieces)
            assert (loaded.key, loaded.size) == (f"log{number}", len(content))
            assert store.stat(loaded.key) == loaded

        for number, content in enumerate(contents):
            assert _content(store, f"log{number}") == content

    def test_loading_overwrites_nothing(self) -> None:
        """A taken key is refused, and its log stays unchanged."""
        store = self.make_store()
        store.create("one", _FIRST).close()

        _raises(FileExistsError, lambda: store.load("one", [_NEXT]))
        for key in _INVALID_KEYS:
            _raises(InvalidId, partial(store.load, key, [_FIRST]))

        assert _content(store, "one") == _FIRST

    def test_a_load_that_fails_leaves_nothing(self) -> None:
        """If loading fails, no part of the bytes becomes a log."""
        store = self.make_store()

        def pieces() -> Iterator[bytes]:
            yield _FIRST
            raise KeyError("gone")

        _raises(KeyError, lambda: store.load("one", pieces()))

        assert store.scan().found == []
        assert store.stat("one") is None
        store.create("one", _NEXT).close()


def _content(store: Store, key: str) -> bytes:
    with store.snapshot(key) as read:
        return read(0, 1 << 20)


def _raises(kind: type[Exception] | tuple[type[Exception], ...], action: Callable[[], Any]) -> str:
    """Return the message of the exception that the action must raise."""
    try:
        action()
    except kind as problem:
        return str(problem)
    raise AssertionError(f"expected {kind}, but nothing was raised")
