"""A session without a reply is a draft: not listed, nothing lost, nothing to clean up."""

import os
import shutil
import stat

import pytest

from branchline import Session
from branchline.entries import Usage
from branchline.errors import NotSaved, SessionNotFound
from branchline.log import SYSTEM
from branchline.stores import FilesStore, MemoryStore
from branchline.stores.sqlite import SqliteStore
from session.kit import (
    CWD,
    assistant,
    bytes_of,
    clock,
    facts,
    new,
    path_of,
    records_of,
    require_same_after_reopening,
    user,
    words,
)
from session.proofs import (
    prove_a_draft_comes_out_whole,
    prove_closing_forgets_nothing_of_others,
    prove_two_hands_on_a_draft,
)


def files_in(place):
    return sorted(path for path in place.rglob("*") if path.is_file() and path.suffix != ".lock")


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parity("OPR-02", "ZOT-09")
def test_a_session_without_an_entry_touches_nothing(place):
    with new(place) as session:
        assert session.leaf is None
        assert session.path() == []
        assert session.tree() == []
        assert not session.labels
        assert session.file is not None
        session.reset()
        session.refresh()

    assert not place.exists()


@pytest.mark.parametrize(
    "write",
    [
        lambda session: session.set_title("Memory of the project"),
        lambda session: session.append_custom("ext:memory:facts", {"k": 1}),
        lambda session: session.append_model_change("anthropic", "claude"),
        lambda session: session.append_thinking_level_change("high"),
        lambda session: session.append_usage("embedding", Usage(input=1, total_tokens=1)),
        lambda session: session.append_label(session.append_custom("ext:todo", 1), "start"),
    ],
    ids=["title", "custom data", "model", "thinking level", "usage", "label"],
)
@pytest.mark.parametrize("persist", ["with_reply", "at_once"])
def test_closing_keeps_what_a_caller_wrote_without_any_message(place, write, persist):
    with new(place, persist=persist) as session:
        write(session)
        data, title, labels = bytes_of(session), session.title, dict(session.labels)

    with Session.open(path_of(session)) as again:
        assert bytes_of(again) == data
        assert (again.title, dict(again.labels)) == (title, labels)
    with Session.from_store(FilesStore(place), session.key) as again:
        assert bytes_of(again) == data
    assert Session.open(path_of(session)).is_draft == (persist == "with_reply")


@pytest.mark.parametrize("program", [None, "pi", "oh-my-pi", "operator", "piglet"])
@pytest.mark.parametrize("persist", ["at_once", "always"])
def test_a_title_given_at_birth_keeps_the_file_in_every_format(place, program, persist):
    with Session.create(CWD, directory=place, format=program, title="Plan", persist=persist) as session:
        pass

    assert Session.open(path_of(session)).title == "Plan"


@pytest.mark.parametrize("store", [FilesStore, lambda place: SqliteStore(f"{place}.db")])
@pytest.mark.parametrize("persist", ["with_reply", "at_once"])
def test_closing_removes_only_a_file_with_nothing_but_its_first_line(place, store, persist):
    kept = store(str(place))
    used, unused = (Session.create(CWD, store=kept, persist=persist) for _ in range(2))
    used.set_title("T")

    used.close()
    unused.close()

    assert [found.key for found in (*kept.scan().found, *kept.drafts())] == [used.key]
    assert kept.trashed() == []


@pytest.mark.parity("ZOT-09")
@pytest.mark.parametrize("store", [FilesStore, MemoryStore, lambda place: SqliteStore(f"{place}.db")])
@pytest.mark.parametrize("persist", ["with_reply", "at_once"])
def test_closing_a_zot_session_that_never_held_a_message_leaves_no_file_but_its_trash(place, store, persist):
    kept = store(str(place))
    with Session.create(CWD, store=kept, format="zot", persist=persist) as session:
        session.set_title("Nothing was said")
        session.append_usage("answer", Usage(input=1, total_tokens=1))

    assert [*kept.scan().found, *kept.drafts()] == []
    [item] = kept.trashed()
    assert item.key == session.key
    kept.restore(item.token)
    assert Session.from_store(kept, session.key).title == "Nothing was said"


@pytest.mark.parametrize(
    "say",
    [
        lambda session: session.append_message("a question"),
        lambda session: session.append_custom_message("ext", "remember this"),
        lambda session: session.branch_with_summary(None, "a summary that was paid for"),
        lambda session: session.append_compaction("a summary"),
    ],
    ids=["message", "custom message", "branch summary", "compaction"],
)
def test_closing_a_session_with_words_in_it_keeps_the_draft(place, say):
    with new(place) as session:
        say(session)
        data = bytes_of(session)

    [draft] = FilesStore(place).drafts()
    assert draft.key == session.key
    assert FilesStore(place).scan().found == []
    with Session.from_store(FilesStore(place), draft.key) as again:
        assert again.is_draft
        assert bytes_of(again) == data


@pytest.mark.parity("OPR-02")
def test_a_draft_that_is_resumed_becomes_a_session_with_its_first_reply(place):
    with new(place) as session:
        session.append_message("are you there?")
    [draft] = FilesStore(place).drafts()

    with Session.from_store(FilesStore(place), draft.key, clock=clock(seed=9)) as again:
        again.append_message(assistant("I am"))

        assert not again.is_draft
        assert words(again) == ["are you there?", "I am"]
        require_same_after_reopening(again)
    assert FilesStore(place).drafts() == []
    assert [found.key for found in FilesStore(place).scan().found] == [draft.key]


def test_a_draft_comes_out_whole(place):
    prove_a_draft_comes_out_whole(place)


def test_a_session_whose_first_word_is_a_reply_was_never_a_draft(place):
    session = new(place)

    session.append_message(assistant("hello, what can I do?"))

    assert files_in(place) == [path_of(session)]
    assert not (place / ".branchline" / "drafts").exists()
    require_same_after_reopening(session)


def test_at_once_writes_the_header_at_once(place):
    session = new(place, persist="at_once")

    assert [record["type"] for record in records_of(path_of(session))] == ["session"]
    assert not session.is_draft
    session.append_message("a")
    session.close()
    assert path_of(session).exists()


def test_a_session_that_is_kept_always_stays_when_nothing_was_said_in_it(place):
    session = new(place, persist="always")

    session.close()

    assert path_of(session).exists()


@pytest.mark.parity("OPR-02")
def test_each_later_entry_is_one_append_and_nothing_else_is_written(place, monkeypatch):
    session = new(place, durability="os")
    session.append_message("a")
    session.append_message(assistant("b"))
    writes = []
    real = os.write

    def write(descriptor, data):
        writes.append(bytes(data))
        return real(descriptor, data)

    monkeypatch.setattr(SYSTEM, "write", write)

    session.append_message("c")
    session.append_label(session.leaf, "here")

    assert [data.count(b"\n") for data in writes] == [1, 1]
    assert path_of(session).read_bytes().endswith(b"".join(writes))


# -- two hands on one draft ------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [FilesStore, MemoryStore])
def test_a_draft_that_somebody_else_published_goes_on_as_the_session_it_became(place, store):
    prove_two_hands_on_a_draft(store(str(place)))


def test_closing_does_not_forget_what_somebody_else_has_said_in_the_draft(place):
    prove_closing_forgets_nothing_of_others(place)


def test_whoever_is_second_to_publish_finds_it_done(place):
    kept = FilesStore(place)
    session = Session.create(CWD, store=kept, clock=clock())
    session.append_message("a question")
    other = Session.from_store(kept, session.key, clock=clock(seed=100))

    session.append_message(assistant("a reply"))
    other.append_message(assistant("another reply"))

    assert len(records_of(path_of(session))) == 4
    require_same_after_reopening(other)


def test_a_draft_whose_folder_was_deleted_is_not_saved_as_a_file_is_not(place):
    session = Session.create(CWD, directory=place / "gone")
    session.append_message(user("hello"))
    shutil.rmtree(place / "gone")

    for _ in range(2):
        with pytest.raises(NotSaved, match="nothing was saved"):
            session.append_message(assistant("hi"))


def test_a_draft_whose_name_somebody_else_took_says_so_and_loses_nothing(place):
    session = new(place)
    session.append_message("a question")
    path_of(session).write_bytes(b"something else\n")
    before = facts(session)

    with pytest.raises(FileExistsError, match=session.key):
        session.append_message(assistant("a reply"))

    assert path_of(session).read_bytes() == b"something else\n"
    assert session.is_draft
    assert facts(session) == before
    session.append_message("more")
    assert words(session) == ["a question", "more"]
    path_of(session).unlink()
    session.append_message(assistant("a reply"))
    assert words(session) == ["a question", "more", "a reply"]
    require_same_after_reopening(session)


# -- publishing fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["link", "unlink", "fsync", "write"])
def test_whatever_fails_at_the_first_reply_the_question_is_safe_and_the_reply_can_be_given_again(
    place, monkeypatch, failing
):
    session = new(place)
    session.append_message("a question")
    before = facts(session)

    def fail(*_arguments):
        raise OSError(5, os.strerror(5))

    with monkeypatch.context() as patched:
        patched.setattr(SYSTEM, failing, fail)
        patched.setattr(SYSTEM, "fdatasync", fail)
        with pytest.raises(NotSaved):
            session.append_message(assistant("a reply"))
    assert facts(session) == before

    session.append_message(assistant("a reply"))

    assert not session.is_draft
    assert words(session) == ["a question", "a reply"]
    assert FilesStore(place).drafts() == []
    assert len(FilesStore(place).scan().found) == 1
    require_same_after_reopening(session)


class Killed(BaseException):
    """Stands for the death of the process: nothing after it runs."""


@pytest.mark.parametrize("moment", ["link", "unlink"])
def test_a_process_that_dies_while_publishing_leaves_one_session_without_a_loss(place, monkeypatch, moment):
    session = new(place)
    session.append_message(user("a question"))
    data = bytes_of(session)

    def die(*_arguments):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(SYSTEM, moment, die)
        with pytest.raises(Killed):
            session.append_message(assistant("a reply that was never acknowledged"))
    del session

    store = FilesStore(place)
    listed, drafts = store.scan().found, store.drafts()
    assert len(listed) + len(drafts) == 1
    with Session.from_store(store, (listed + drafts)[0].key, clock=clock(seed=7)) as again:
        assert bytes_of(again) == data
        again.append_message(assistant("a reply"))
        assert words(again) == ["a question", "a reply"]
        assert not again.is_draft
    assert len(store.scan().found) == 1
    assert store.drafts() == []


def test_there_is_no_draft_where_there_is_none(place):
    with pytest.raises(SessionNotFound, match="nothing"):
        Session.from_store(FilesStore(place), "nothing")
