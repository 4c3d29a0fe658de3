"""Whoever opens a store closes it, and what is closed stays closed."""

from __future__ import annotations

import sys
import threading

import pytest

from branchline import Session, SessionLibrary
from branchline.errors import BranchlineError, Closed, StoreClosed
from branchline.stores import open_store


@pytest.fixture(params=["files", "sqlite"])
def where(request, tmp_path):
    return tmp_path / ("s" if request.param == "files" else "s.db")


def test_a_library_does_not_close_the_store_that_it_was_given(where):
    store = open_store(where)
    session = Session.create("/p", store=store, key="k", persist="always")

    with SessionLibrary(store) as library:
        assert [row.key for row in library.list().readable] == ["k"]
    session.append_message("after")

    assert store.stat("k") is not None
    with SessionLibrary(store) as again:
        assert len(again.get("k")) == 1


def test_nothing_is_restored_in_a_closed_store(tmp_path):
    store = open_store(tmp_path / "s.db")
    Session.create("/p", store=store, key="k", persist="always").close()
    token = store.remove("k").token
    store.close()

    for name in (token, "k"):
        with pytest.raises(StoreClosed):
            store.restore(name)


def test_threads_that_share_a_store_do_not_notice_when_libraries_over_it_are_closed(where):
    store = open_store(where)
    problems, stop = [], threading.Event()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def converse(number):
        try:
            with Session.create(
                "/p", store=store, key=f"c{number}", persist="always", durability="os"
            ) as one:
                for count in range(40):
                    one.append_message(f"{number}.{count}")
        except Exception as problem:
            problems.append(problem)

    def close():
        while not stop.is_set():
            with SessionLibrary(store) as library:
                library.list(limit=1)

    threads = [threading.Thread(target=converse, args=(number,)) for number in range(4)]
    closer = threading.Thread(target=close)
    closer.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    stop.set()
    closer.join(60)
    sys.setswitchinterval(before)

    assert problems == []
    assert [len(Session.from_store(store, f"c{number}")) for number in range(4)] == [40] * 4


def test_an_append_to_a_store_that_is_being_closed_is_saved_or_refused(tmp_path):
    """Never both, and never an error of the system."""
    for round_number in range(10):
        store = open_store(tmp_path / f"{round_number}.db")
        said, refused = {}, []

        def converse(number, store=store, said=said, refused=refused):
            session = Session.create("/p", store=store, key=f"c{number}", persist="always", durability="os")
            said[number] = 0
            problem: BaseException | None = None
            try:
                while True:
                    session.append_message("x")
                    said[number] += 1
            except BaseException as raised:  # whatever it is, the test shows it
                problem = raised
            refused.append(problem)

        threads = [threading.Thread(target=converse, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        while len(said) < 3 or min(said.values()) < 3:
            pass
        store.close()
        for thread in threads:
            thread.join(60)

        assert [type(problem) for problem in refused] == [StoreClosed] * 3
        again = open_store(tmp_path / f"{round_number}.db")
        found = {number: len(Session.from_store(again, f"c{number}")) for number in range(3)}
        assert found == said
        again.close()


def test_a_closed_store_refuses_to_be_used(tmp_path):
    store = open_store(tmp_path / "s.db")
    session = Session.create("/p", store=store, key="k", persist="always")
    session.append_message("a")
    store.close()
    store.close()

    for use in (
        lambda: session.append_message("b"),
        session.context,
        lambda: store.stat("k"),
        store.scan,
        store.drafts,
        lambda: store.open("k"),
        lambda: store.create("other", b""),
        lambda: store.remove("k"),
        lambda: store.in_use(["k"]),
    ):
        with pytest.raises(StoreClosed):
            use()
    with SessionLibrary(tmp_path / "s.db") as library:
        assert len(library.get("k")) == 1


USES = {
    "append_message": lambda session: session.append_message("b"),
    "append_messages": lambda session: session.append_messages(["b"]),
    "append_label": lambda session: session.append_label("x", "y"),
    "set_title": lambda session: session.set_title("t"),
    "branch": lambda session: session.branch("x"),
    "reset": lambda session: session.reset(),
    "write": lambda session: session.write(lambda _session: []),
    "fork": lambda session: session.fork(),
    "refresh": lambda session: session.refresh(),
    "path": lambda session: session.path(),
    "context": lambda session: session.context(),
    "entries": lambda session: session.entries(),
    "entry": lambda session: session.entry("x"),
    "raw": lambda session: session.raw("x"),
    "tree": lambda session: session.tree(),
    "nodes": lambda session: session.nodes(),
    "children": lambda session: session.children(None),
    "labels": lambda session: session.labels,
    "usage": lambda session: session.usage(),
    "outline": lambda session: session.outline(),
    "undo": lambda session: session.undo(),
    "operations": lambda session: session.operations(),
    "export": lambda session: session.export("/nowhere/x.md"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["memory", "files", "sqlite"])
def test_a_closed_session_refuses_to_be_read_and_written_alike(tmp_path, kind, use):
    match kind:
        case "memory":
            session = Session.in_memory("/p")
        case "files":
            session = Session.create("/p", directory=tmp_path, persist="always")
        case _:
            session = SessionLibrary(tmp_path / "s.db").get_or_create("k")
    session.append_message("a")
    session.close()
    session.close()

    with pytest.raises(Closed, match="is closed") as refused:
        USES[use](session)

    assert isinstance(refused.value, BranchlineError)
    assert isinstance(refused.value, ValueError)
    assert session.id in repr(session)  # what it is can still be said


LIBRARY_USES = {
    "list": lambda library: library.list(),
    "iter_rows": lambda library: library.iter_rows(),
    "find": lambda library: library.find("k"),
    "open": lambda library: library.open("k"),
    "get": lambda library: library.get("k"),
    "get_or_create": lambda library: library.get_or_create("new"),
    "remove": lambda library: library.remove("k"),
    "set_title": lambda library: library.set_title("k", "t"),
    "search": lambda library: library.search("x"),
    "forest": lambda library: library.forest(),
    "drafts": lambda library: library.drafts(),
    "trash": lambda library: library.trash(),
    "restore": lambda library: library.restore(),
    "prune": lambda library: library.prune(),
    "stores": lambda library: library.stores,
}


@pytest.mark.parametrize("use", LIBRARY_USES)
def test_a_closed_library_refuses_to_be_used(where, use):
    library = SessionLibrary(where)
    library.get_or_create("k").close()
    library.close()
    library.close()

    with pytest.raises(Closed, match="is closed"):
        LIBRARY_USES[use](library)

    assert str(where) in repr(library)


def test_the_sessions_of_a_closed_library_of_a_database_refuse_to_go_on(tmp_path):
    library = SessionLibrary(tmp_path / "s.db")
    session = library.get_or_create("k")
    session.append_message("a")
    library.close()

    with pytest.raises(StoreClosed):
        session.append_message("b")

    with SessionLibrary(tmp_path / "s.db") as again:
        assert len(again.get("k")) == 1
