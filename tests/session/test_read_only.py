"""Read-only sessions are read like others, never changed, and appends raise with the reason."""

import os
import re
import shutil
import traceback

import pytest

from branchline import Session
from branchline.entries import Usage
from branchline.errors import BranchlineError, PermissionDenied, ReadOnly
from branchline.log import SYSTEM
from branchline.stores import FilesStore, MemoryStore
from session.faults import in_a_child
from session.kit import CWD, assistant, clock, facts, lines_of, new, path_of, snapshot, talked
from support import CORPUS

EDGE = CORPUS / "pi" / "edge"
NOBODY = 65534

APPENDS = {
    "message": lambda session: session.append_message("more"),
    "reply": lambda session: session.append_message(assistant("more")),
    "model": lambda session: session.append_model_change("a", "b"),
    "thinking level": lambda session: session.append_thinking_level_change("high"),
    "compaction": lambda session: session.append_compaction("short"),
    "data": lambda session: session.append_custom("x", 1),
    "custom message": lambda session: session.append_custom_message("x", "y"),
    "label": lambda session: session.append_label(next(iter(session.index)), "x"),
    "title": lambda session: session.set_title("x"),
    "usage": lambda session: session.append_usage("x", Usage()),
    "summary": lambda session: session.branch_with_summary(None, "x"),
    "reset": lambda session: session.reset(),
}


def read_everything(session):
    """Every verb that only reads."""
    facts(session)
    session.path()
    for node in session.tree():
        assert node.children is not None
        assert node.entry is not None
        assert node.parent is None
        repr((node, node.label))
    for name in ("default", "no-tools", "user-only", "labeled-only", "all"):
        session.outline(name)
    session.usage()
    session.refresh()
    session.refresh_log()
    repr(session)
    store = MemoryStore()
    session.fork(store=store)
    session.fork(scope="tree", store=store)


def require_refused(session, reason):
    known = facts(session)
    for name, verb in APPENDS.items():
        with pytest.raises(ReadOnly, match=reason) as refused:
            verb(session)
        assert str(refused.value).startswith("cannot "), name
        assert facts(session) == known


@pytest.mark.parametrize(
    ("name", "reason"),
    [("no-header.jsonl", "it has no header"), ("version-99.jsonl", "version 99, newer than 3")],
)
def test_a_file_that_we_do_not_understand_well_enough_is_read_and_left_alone(place, name, reason):
    place.mkdir()
    shutil.copy(EDGE / name, place / name)
    before = snapshot(place)

    with Session.open(place / name, clock=clock()) as session:
        assert reason in session.read_only
        read_everything(session)
        require_refused(session, reason)

    assert snapshot(place) == before


@pytest.mark.parametrize("path", sorted(EDGE.glob("*.jsonl")), ids=lambda path: path.stem)
def test_reading_changes_neither_bytes_nor_times(place, path):
    place.mkdir()
    copy = shutil.copy(path, place / path.name)
    os.utime(copy, (1_000_000, 1_000_000))
    before = snapshot(place)

    try:
        with Session.open(copy, clock=clock()) as session:
            read_everything(session)
    except BranchlineError:
        assert path.stem in ("empty", "garbage")

    assert snapshot(place) == before


def as_nobody(base, act):
    """Do something as somebody for whom permissions count; where the tests run as such a person, as this one."""
    if os.geteuid() == 0:
        for path in [base, *base.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    notes = base.parent / f"{base.name}-notes"
    notes.write_text("it never began")
    notes.chmod(0o666)

    def run():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            act()
            told = ""
        except BaseException:
            told = traceback.format_exc()
        notes.write_text(told)

    in_a_child(run)
    assert notes.read_text() == ""


@pytest.fixture
def open_place(place):
    """A place whose parents anybody may pass through."""
    os.chmod(place.parent, 0o755)
    return place


def fill(place):
    session = talked(place, 2)
    session.append_label(session.leaf, "here")
    draft = new(place, clock=clock(seed=50))
    draft.append_message("unanswered")
    for name in ("v1.jsonl", "v2.jsonl", "torn-tail.jsonl", "corrupt-middle.jsonl", "version-99.jsonl"):
        shutil.copy(EDGE / name, place / name)
    return session, draft


def test_a_tree_of_files_that_may_only_be_read_stays_as_it_is(open_place):
    place = open_place
    session, draft = fill(place)
    for path in place.rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    place.chmod(0o500)
    store = FilesStore(place)

    def act():
        assert len(store.scan().found) == 6
        assert [found.key for found in store.drafts()] == [draft.key]
        for found in [*store.scan().found, *store.drafts()]:
            with Session.from_store(store, found.key, clock=clock(seed=99)) as each:
                read_everything(each)
                require_refused(each, "permission denied|version 99")
        with Session.continue_recent(CWD, directory=place) as recent:
            assert len(recent) > 0

    before = {name: state[2:] for name, state in snapshot(place).items()}
    as_nobody(place, act)

    assert {name: state[2:] for name, state in snapshot(place).items()} == before
    for path in [place, *place.rglob("*")]:
        path.chmod(0o700)
    session.append_message("the owner goes on")


def test_a_file_that_may_be_written_in_a_directory_that_may_not_is_not_written_without_its_lock(open_place):
    place = open_place
    session = talked(place, 1)
    path = path_of(session)
    shutil.rmtree(place / ".branchline")
    place.chmod(0o500)

    def act():
        with Session.open(path, clock=clock(seed=9)) as each:
            require_refused(each, r"permission denied \(EACCES\) at ")

    before = path.read_bytes()
    as_nobody(place, act)

    assert path.read_bytes() == before
    place.chmod(0o700)


def test_a_new_session_where_nothing_may_be_made_says_so_and_can_be_saved_elsewhere(open_place):
    place = open_place
    place.mkdir(mode=0o500)

    def act():
        session = Session.create(CWD, directory=place / "deeper", clock=clock())
        for verb in (
            lambda: session.append_message("hello"),
            lambda: session.append_message(assistant("hi")),
        ):
            with pytest.raises(ReadOnly, match="permission denied"):
                verb()
            assert len(session) == 0

    as_nobody(place, act)

    assert list(place.iterdir()) == []


def test_a_file_that_may_not_be_read_is_refused_with_its_name(open_place):
    place = open_place
    session = talked(place, 1)
    path = path_of(session)
    path.chmod(0o000)

    def act():
        with pytest.raises(PermissionDenied, match=re.escape(path.name)):
            Session.open(path)
        assert len(Session.continue_recent(CWD, directory=place)) == 0

    as_nobody(place, act)


@pytest.mark.parametrize("number", [13, 1, 30], ids=["EACCES", "EPERM", "EROFS"])
def test_whatever_word_the_system_has_for_may_not_it_is_read_only_here(place, monkeypatch, number):
    session = talked(place, 1)
    before = lines_of(path_of(session))

    def refuse(*_arguments):
        raise OSError(number, os.strerror(number))

    with Session.open(session.file, clock=clock(seed=9)) as again, monkeypatch.context() as patched:
        patched.setattr(SYSTEM, "write", refuse)
        require_refused(again, "nothing was saved")

    assert lines_of(path_of(session)) == before
