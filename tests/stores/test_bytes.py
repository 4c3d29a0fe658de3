"""Every store holds the same bytes of a log after any operations."""

from __future__ import annotations

import contextlib
import tempfile
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline import SessionNotFound
from branchline.stores import MemoryStore, close_store, open_store
from stores.postgres_server import postgres_dsn, with_options

__all__ = ["postgres_dsn"]
KEYS = st.sampled_from(["a", "b", "c~d"])
LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"") + b"\n"), min_size=1).map(
    b"".join
)
STEPS = st.one_of(
    st.tuples(st.just("create"), KEYS, LINES, st.booleans()),
    st.tuples(st.just("load"), KEYS, st.lists(st.binary(max_size=60))),
    st.tuples(st.just("append"), KEYS, LINES),
    st.tuples(st.just("rename"), KEYS, KEYS),
    st.tuples(st.just("remove"), KEYS),
    st.tuples(st.just("restore"), st.integers(0, 3)),
    st.tuples(st.just("publish"), KEYS),
)


def stored_as(stored):
    return stored.key, stored.size


def act(store, step):
    """Do one step; what came of it, in words that do not depend on the store."""
    match step:
        case ("create", key, data, draft):
            store.create(key, data, draft=draft).close()
        case ("load", key, pieces):
            return store.load(key, pieces).size
        case ("append", key, data):
            log = store.open(key)
            try:
                with log.exclusive() as writer:
                    offset = writer.append(data)
                    return offset, writer.end, writer.torn and (writer.torn.offset, writer.torn.size)
            finally:
                log.close()
        case ("rename", key, new):
            return stored_as(store.rename(key, new))
        case ("remove", key):
            found = store.remove(key)
            return found and (found.key, found.size, found.draft)
        case ("restore", number):
            items = store.trashed()
            return stored_as(store.restore(items[number].token)) if number < len(items) else None
        case ("publish", key):
            store.publish(key).close()
    return None


def outcome(store, step):
    try:
        return act(store, step)
    except (FileExistsError, SessionNotFound) as problem:
        return "not a draft" if step[0] == "publish" else type(problem)


def contents(store, places):
    found = {}
    for stored in [*store.scan().found, *store.drafts()]:
        with store.snapshot(stored.key) as read:
            found[stored.key] = (
                [read(min(a, b), abs(a - b)) for a, b in places],
                read(0, 1 << 20),
                stored.size,
            )
    return found


@pytest.mark.parametrize("kind", ["files", "sqlite", "postgres"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_store_has_the_bytes_of_the_plain_one(kind, data, request):
    steps = data.draw(st.lists(STEPS, max_size=12))
    places = data.draw(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=4))
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        model = MemoryStore()
        store = open_store(
            with_options(request.getfixturevalue("postgres_dsn"), store=uuid.uuid4().hex)
            if kind == "postgres"
            else f"{place}/{'s.db' if kind == 'sqlite' else 's'}"
        )
        stack.callback(close_store, store)

        for step in steps:
            assert outcome(store, step) == outcome(model, step), step

        assert contents(store, places) == contents(model, places)


SAMPLES = sorted((Path(__file__).parent.parent / "corpus").rglob("*.jsonl"))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_every_damaged_file_is_imported_and_exported_byte_for_byte(kind, tmp_path, request):
    assert len(SAMPLES) > 20
    store = open_store(
        request.getfixturevalue("postgres_dsn") + f"&store={uuid.uuid4().hex}"
        if kind == "postgres"
        else tmp_path / "s.db"
    )

    for number, sample in enumerate(SAMPLES):
        with sample.open("rb") as file:
            store.load(f"{number}", iter(lambda file=file: file.read(1000), b""))

    for number, sample in enumerate(SAMPLES):
        with store.snapshot(f"{number}") as read:
            assert read(0, 1 << 30) == sample.read_bytes()
    close_store(store)
