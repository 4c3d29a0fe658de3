"""Threads may share one session: appends are in the order of the calls, and readers never fail beside them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from branchline import Session
from branchline.entries import message_text
from branchline.errors import SessionMoved
from branchline.session.session import OnConflict
from branchline.stores import open_store

THREADS, APPENDS = 4, 20


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(params=["memory", "files", "draft", "sqlite"])
def session(request, tmp_path) -> Iterator[Session]:
    match request.param:
        case "memory":
            made = Session.in_memory("/p")
        case "files":
            made = Session.create("/p", directory=tmp_path, persist="at_once", durability="os")
        case "draft":
            made = Session.create("/p", directory=tmp_path, durability="os")
        case _:
            store = open_store(tmp_path / "s.db")
            made = Session.create("/p", store=store, key="k", persist="always", durability="os")
    with made:
        yield made


def together(*work: Callable[[], object]) -> list[BaseException]:
    """Run these at once, and return what they raised."""
    raised: list[BaseException] = []

    def run(one: Callable[[], object]) -> None:
        try:
            one()
        except BaseException as problem:
            raised.append(problem)

    threads = [threading.Thread(target=run, args=(one,), daemon=True) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "the threads wait for each other"
    return raised


def appending(session: Session, name: str, count: int = APPENDS) -> Callable[[], None]:
    def work() -> None:
        for number in range(count):
            role = "assistant" if number % 2 else "user"
            session.append_message({"role": role, "content": f"{name}-{number}"})

    return work


def said(session: Session) -> list[str]:
    return [message_text(entry.message) for entry in session.entries(session.path())]


@pytest.mark.parametrize("rule", ["branch", "append", "raise"])
def test_threads_that_append_make_one_conversation(session: Session, rule: OnConflict):
    session.on_conflict = rule

    raised = together(*(appending(session, str(number)) for number in range(THREADS)))

    assert raised == []
    found = said(session)
    assert len(session) == len(found) == THREADS * APPENDS
    for number in range(THREADS):
        own = [text for text in found if text.startswith(f"{number}-")]
        assert own == [f"{number}-{count}" for count in range(APPENDS)]


def test_what_threads_appended_is_there_when_the_session_is_opened_again(tmp_path):
    with Session.create("/p", directory=tmp_path, persist="at_once") as session:
        together(*(appending(session, str(number), 5) for number in range(THREADS)))
        with Session.open(session.file) as again:
            assert said(again) == said(session)
            assert len(again) == THREADS * 5


READS = {
    "nodes": lambda session: session.nodes(),
    "tree": lambda session: [[below.id for below in node.children] for node in session.tree()],
    "path": lambda session: session.path(),
    "context": lambda session: session.context(),
    "entries": lambda session: session.entries(),
    "raws": lambda session: session.raws(session.path()),
    "labels": lambda session: session.labels,
    "usage": lambda session: session.usage(),
    "children": lambda session: session.children(None),
    "outline": lambda session: session.outline(),
    "newest": lambda session: session.newest_descendant(),
    "operations": lambda session: session.operations(),
}


@pytest.mark.parametrize("name", READS)
def test_reading_never_fails_beside_an_append(session: Session, name: str):
    session.append_messages([f"message {number}" for number in range(50)])
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(60):
                key = session.append_message({"role": "assistant", "content": f"answer {number}"})
                session.append_label(key, str(number))
        finally:
            done.set()

    def read() -> None:
        READS[name](session)
        while not done.is_set():
            READS[name](session)

    assert together(write, read, read) == []
    assert len(session.path()) == 110


def test_moves_and_appends_of_threads_do_not_tear_each_other(session: Session):
    session.append_messages(["a", "b", "c"])
    first = session.path()[0]

    def move() -> None:
        for _ in range(APPENDS):
            session.branch(first)

    raised = together(move, appending(session, "x"), lambda: [session.fork() for _ in range(3)])

    assert raised == []
    assert sum(entry.type == "message" for entry in session.entries()) == 3 + APPENDS
    assert session.leaf == session.transcript.leaf


def test_undo_in_two_threads_undoes_two_operations(session: Session):
    session.append_message("a")
    for number in range(6):
        session.set_title(f"title {number}")

    assert together(*[session.undo] * 4) == []

    assert session.title == "title 1"


def test_another_writer_is_still_noticed(tmp_path):
    with Session.create("/p", directory=tmp_path, persist="at_once") as session:
        session.append_message("a")
        session.on_conflict = "raise"
        with Session.open(session.file) as other:
            other.append_message("b")

        with pytest.raises(SessionMoved):
            session.append_message("c")


def test_observers_of_two_sessions_may_append_to_each_other():
    one, other = Session.in_memory("/p"), Session.in_memory("/p")
    one.subscribe(lambda _key: other.append_message("heard"))
    other.subscribe(lambda _key: one.append_message("heard"))

    assert together(appending(one, "1"), appending(other, "2")) == []

    texts = said(one) + said(other)
    assert sum(text != "heard" for text in map(str, texts) if "-" in text) == 2 * APPENDS


def test_an_observer_may_wait_for_another_thread_that_uses_the_session(session: Session):
    lengths = []

    def observer(_key: str) -> None:
        assert together(lambda: lengths.append(len(session.path()))) == []

    session.subscribe(observer)
    session.append_messages(["a", "b"])
    session.branch(session.path()[0])

    assert lengths == [2, 2, 1]


def test_an_observer_is_called_even_if_the_rest_of_the_operation_fails():
    session = Session.in_memory("/p")
    heard: list[str] = []
    session.subscribe(heard.append)

    class Stop(Exception):
        pass

    def fail(_session: Session) -> list:
        raise Stop

    first = session.append_message("a")
    with pytest.raises(Stop):
        session.write(fail)
    second = session.append_message("b")

    assert heard == [first, second]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_process_that_is_forked_during_an_append_can_append(session: Session):
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            session.append_message("parent")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        for _ in range(8):
            child = os.fork()
            if not child:
                code = 1
                try:
                    import signal

                    signal.alarm(20)  # a deadlock ends the child
                    for number in range(3):
                        session.append_message(f"child {number}")
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        writer.join(30)
    session.refresh()
    assert session.findings == []
