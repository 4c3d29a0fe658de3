"""Listing: what the directory tells, what the files tell, and nothing dropped in silence."""

from __future__ import annotations

import errno
import os

import msgspec
import pytest

from branchline import Session, SessionLibrary
from branchline.clock import iso
from branchline.errors import NotASession
from branchline.library import Listing, SessionRow
from branchline.stores import FilesStore, MemoryStore, ScanResult
from library.kit import CWD, DAY, START, Watched, age, clock, fill, state, talk
from session.kit import assistant, user
from support import CORPUS


def keys(rows):
    return [row.key for row in rows]


# -- shallow ----------------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-01")
def test_a_library_touches_nothing_until_asked_and_a_missing_directory_lists_as_empty(place):
    library = SessionLibrary(place)

    assert list(library.list()) == []
    assert list(library.list(deep=True)) == []
    assert library.latest() is None
    assert library.open("x") is None
    assert library.trash() == []
    assert library.drafts() == []
    assert len(library.forest()) == 0
    assert not place.exists()


@pytest.mark.parity("IND-02")
def test_a_shallow_list_shows_what_the_directory_shows_and_opens_no_file(place):
    fill(place, 3)
    (place / "notes.txt").write_text("not a session")
    store = Watched(place)

    listing = SessionLibrary(store).list()

    assert store.reads == []
    assert [row.modified_ms for row in listing] == [START + 2 * DAY, START + DAY, START]
    newest = listing[0]
    path = place / f"{newest.key}.jsonl"
    assert newest == SessionRow(
        key=newest.key,
        id=newest.key.partition("_")[2],
        path=str(path),
        size=path.stat().st_size,
        modified_ms=START + 2 * DAY,
    )


@pytest.mark.parity("IND-02")
def test_of_files_that_changed_at_the_same_time_the_first_by_key_comes_first(place):
    fill(place, 4)
    for path in place.glob("*.jsonl"):
        age(path, 1)

    assert keys(SessionLibrary(place).list()) == sorted(path.stem for path in place.glob("*.jsonl"))


@pytest.mark.parametrize(
    ("name", "session_id"),
    [
        ("2026-01-01T00-00-00-000Z_0199aa-b", "0199aa-b"),
        ("2026-01-01T00-00-00-000Z_my_own_id", "my_own_id"),
        ("plan", "plan"),
        ("a_b", "a_b"),
    ],
)
def test_before_the_header_is_read_the_id_is_the_one_in_the_file_name(place, name, session_id):
    place.mkdir()
    (place / f"{name}.jsonl").write_bytes(b"")

    assert SessionLibrary(place).list()[0].id == session_id


# -- deep -------------------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-03", "PIG-13")
def test_a_deep_row_says_what_the_session_is(place):
    with talk(place, 0, "first  question\nof all", "second", title="A title") as session:
        fork_point = session.path()[1]
        session.branch(fork_point)
        session.append_message(user("another way"))
        session.append_message(assistant("good"))
        file, session_id, created = session.file, session.id, session.header.timestamp

    (row,) = SessionLibrary(place).list(deep=True)

    assert row.id == session_id
    assert row.path == file
    assert row.title == "A title"
    assert row.cwd == CWD
    assert row.created == created
    assert (row.provider, row.model) == ("anthropic", "claude-sonnet-4-5")
    assert row.first_prompt == "first question of all"
    assert row.messages == 4
    assert row.total_messages == 6
    assert row.parent_session is None
    assert (row.format, row.version) == ("pi", 3)
    assert row.findings == 0
    assert row.problem is None


@pytest.mark.parity("IND-03")
def test_only_messages_of_person_model_and_tools_are_counted(place):
    with talk(place) as session:
        session.append_message({"role": "system", "content": "be brief"})
        result = {
            "role": "toolResult",
            "toolCallId": "1",
            "toolName": "read",
            "content": [],
            "isError": False,
        }
        session.append_message(result)
        session.append_message({"role": "bashExecution", "command": "ls", "output": ""})
        session.append_custom_message("note", "hello")
        session.append_custom("data", {"message": {"role": "user"}})

    (row,) = SessionLibrary(place).list(deep=True)

    assert row.messages == 3
    assert row.total_messages == 5


def test_the_last_activity_is_the_latest_message_of_person_or_model(place):
    with talk(place) as session:
        session.append_message({**user("late"), "timestamp": START + 7 * DAY})
        session.append_message({**assistant("an earlier clock"), "timestamp": START + 5 * DAY})
        session.set_title("does not count")
    age(session.file, 30)

    (row,) = SessionLibrary(place).list(deep=True)

    assert row.last_activity_ms == START + 7 * DAY
    assert row.modified_ms == START + 30 * DAY


def test_without_messages_the_last_activity_is_the_time_in_the_header_and_without_that_the_files(place):
    place.mkdir()
    header = {"type": "session", "version": 3, "id": "a", "timestamp": iso(START), "cwd": "/"}
    for key, fields in [("dated", header), ("undated", {**header, "timestamp": "soon"})]:
        (place / f"{key}.jsonl").write_bytes(msgspec.json.encode(fields) + b"\n")
        age(place / f"{key}.jsonl", 9)

    rows = {row.key: row.last_activity_ms for row in SessionLibrary(place).list(deep=True)}

    assert rows == {"dated": START, "undated": START + 9 * DAY}


def test_deep_rows_are_in_the_order_of_their_last_messages_and_shallow_ones_in_that_of_their_files(place):
    library = fill(place, 3)
    for number, row in enumerate(library.list()):
        age(row.path, number)

    deep, shallow = library.list(deep=True), library.list()

    assert [row.first_prompt for row in deep] == ["question 2", "question 1", "question 0"]
    assert [row.key for row in shallow] == [row.key for row in reversed(deep)]


def test_the_first_prompt_of_a_fork_is_the_first_after_the_fork_point(place):
    with talk(place, 0, "old question") as parent:
        fork = parent.fork()
        untouched = parent.fork()
    fork._clock = untouched._clock = clock(1)
    fork.append_message(user("new question"))
    fork.append_message(assistant("new answer"))
    fork.close()
    untouched.close()

    rows = {row.id: row for row in SessionLibrary(place).list(deep=True)}

    assert rows[fork.id].first_prompt == "new question"
    assert rows[untouched.id].first_prompt == rows[parent.id].first_prompt == "old question"
    assert rows[fork.id].parent_session == parent.file


def test_prompts_without_words_are_passed_over(place):
    with Session.create(CWD, directory=place, clock=clock()) as session:
        session.append_message(
            {"role": "user", "content": [{"type": "image", "data": "AA", "mimeType": "x/y"}]}
        )
        session.append_message(user(" \n\t "))
        session.append_message({"role": "user", "content": "plain words"})
        session.append_message(assistant("yes"))

    (row,) = SessionLibrary(place).list(deep=True)

    assert row.first_prompt == "plain words"


@pytest.mark.parametrize(
    ("text", "preview"),
    [
        ("a\r\n\tb\u2028c", "a b c"),
        ("  two  blanks  ", "two blanks"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("\n" * 5000 + "late", "late"),
        ("é" * 10_000, "é" * 199 + "…"),
    ],
)
def test_a_preview_is_one_line_of_at_most_two_hundred_characters(place, text, preview):
    talk(place, 0, text).close()

    assert SessionLibrary(place).list(deep=True)[0].first_prompt == preview


@pytest.mark.parity("IND-16")
def test_rows_are_frozen_and_hold_no_payloads(place):
    talk(place, 0, "word " * 10_000).close()

    (row,) = SessionLibrary(place).list(deep=True)

    with pytest.raises(AttributeError):
        row.title = "other"
    assert len(msgspec.json.encode(row)) < 1500


def test_a_row_is_plain_json_with_whole_milliseconds(place):
    talk(place).close()

    fields = msgspec.json.decode(msgspec.json.encode(SessionLibrary(place).list(deep=True)[0]))

    assert isinstance(fields["modified_ms"], int)
    assert isinstance(fields["last_activity_ms"], int)


# -- one bad file is one bad row ----------------------------------------------------------------------------------


@pytest.mark.parity("IND-03")
def test_an_unreadable_file_is_a_marked_row_in_its_place(place):
    library = fill(place, 3)
    middle = library.list()[1]
    with open(middle.path, "wb") as file:
        file.write(b"\x00\x01 nothing of a session \xff")
    age(middle.path, 1)

    listing = library.list(deep=True)

    assert keys(listing) == keys(library.list())
    assert [row.problem is None for row in listing] == [True, False, True]
    assert listing[1].size == 25
    assert "not a session" in listing[1].problem
    assert keys(listing.unreadable) == [middle.key]


@pytest.mark.parity("IND-03")
def test_a_file_that_may_not_be_read_is_a_marked_row(common_place):
    library = fill(common_place, 2)
    os.chmod(library.list()[0].path, 0)

    listing = library.list(deep=True)

    assert [row.problem for row in listing] == ["permission denied (EACCES)", None]
    assert keys(library.list()) == keys(listing)


@pytest.mark.parity("IND-03")
def test_a_file_that_vanishes_while_the_list_is_made_is_a_marked_row(place):
    fill(place, 2)

    class Vanishing(FilesStore):
        def scan(self):
            found = super().scan()
            if os.path.exists(found.found[0].path):
                os.unlink(found.found[0].path)
            return found

    listing = SessionLibrary(Vanishing(place)).list(deep=True)

    assert len(listing) == 2
    (lost,) = listing.unreadable
    assert "no session" in lost.problem


def test_a_disk_that_fails_costs_one_row(place):
    fill(place, 2)

    class Failing(Watched):
        def snapshot(self, key):
            if key == bad:
                raise OSError(errno.EIO, "input/output error")
            return super().snapshot(key)

    bad = SessionLibrary(place).list()[0].key
    listing = SessionLibrary(Failing(place)).list(deep=True)

    assert [row.problem for row in listing] == ["input/output error (EIO)", None]


def test_a_reader_that_stumbles_costs_one_row(place, monkeypatch):
    """Formats come from many hands; a mistake in one of them must not end the listing."""
    library = fill(place, 2)
    bad = library.list()[0].path

    def stumble(head, path, **options):
        if path == bad:
            raise KeyError("oops")
        return detect(head, path, **options)

    from branchline.library import row_reader

    detect = row_reader.detect
    monkeypatch.setattr(row_reader, "detect", stumble)

    assert [row.problem for row in library.list(deep=True)] == ["KeyError: 'oops'", None]


def test_an_empty_file_is_a_marked_row(place):
    place.mkdir()
    (place / "empty.jsonl").write_bytes(b"")

    (row,) = SessionLibrary(place).list(deep=True)

    assert row.problem is not None
    assert (row.key, row.size) == ("empty", 0)


def test_damage_inside_a_session_is_counted_not_hidden(place):
    with talk(place) as session:
        path = session.file
    with open(path, "ab") as file:
        file.write(b'{"type":"message","id":"torn","par')

    (row,) = SessionLibrary(place).list(deep=True)

    assert row.problem is None
    assert row.findings == 2
    assert row.messages == 2


def test_every_strange_file_of_the_corpus_is_a_row(place):
    place.mkdir()
    for source in (CORPUS / "pi" / "edge").glob("*.jsonl"):
        (place / source.name).write_bytes(source.read_bytes())

    listing = SessionLibrary(place).list(deep=True)

    assert sorted(keys(listing)) == sorted(path.stem for path in place.iterdir())
    assert len(listing.readable) > len(listing.unreadable) > 0


# -- nothing is dropped in silence ----------------------------------------------------------------------------------


def test_seen_is_listed_and_hidden_and_unreadable(place):
    library = fill(place, 3)
    (place / "broken.jsonl").write_bytes(b"?")
    (place / "x (conflicted copy 2026-01-01).jsonl").write_bytes(b"?")
    (place / ".x.jsonl.icloud").write_bytes(b"?")
    (place / "folder.jsonl").mkdir()
    os.mkfifo(place / "pipe.jsonl")
    (place / "notes.md").write_text("nothing to do with sessions")
    names = [name for name in os.listdir(place) if ".jsonl" in name]

    listing = library.list(deep=True)

    assert listing.seen == len(names) == 8
    assert listing.seen == len(listing.readable) + len(listing.unreadable) + len(listing.hidden)
    assert len(listing) == len(listing.readable) + len(listing.unreadable) == 4
    assert {item.name for item in listing.hidden} | {f"{row.key}.jsonl" for row in listing} == set(names)
    assert all(item.reason for item in listing.hidden)


def test_a_listing_is_a_sequence():
    rows = [SessionRow(key="a", id="a"), SessionRow(key="b", id="b", problem="torn")]

    listing = Listing(rows, [])

    assert listing[0] == rows[0]
    assert listing[-1:] == (rows[1],)
    assert rows[1] in listing
    assert repr(listing) == "<Listing of 2 sessions, 1 unreadable, 0 hidden>"


def test_a_file_that_is_not_a_store_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(NotASession, match="is not a store"):
        SessionLibrary(tmp_path / "file").list()


def test_looking_changes_no_byte_and_no_time(place):
    library = fill(place, 2)
    talk(place, 5).fork().close()
    before = state(place)

    library.list()
    listing = library.list(deep=True)
    library.latest()
    library.find(listing[0].id)
    library.describe(listing[0].id)
    library.forest()
    library.drafts()
    library.prune()
    library.trash()
    library.path_of(listing[0].id)
    session = library.open(listing[0].id)
    library.tree(session)
    library.prior_turns(session)
    session.close()

    assert state(place) == before


# -- many projects in one directory ----------------------------------------------------------------------------------


@pytest.mark.parity("OPR-13")
@pytest.mark.parametrize("deep", [False, True])
def test_a_directory_of_all_projects_is_listed_by_time_and_filtered_by_the_headers_cwd(place, deep):
    for number, cwd in enumerate(["/home/u/proj", "/home/u/other", "/home/u/proj/", "/home/u/project"]):
        with talk(place, number, cwd=cwd) as session:
            age(session.file, number)

    listing = SessionLibrary(place, cwd="/home/u/proj").list(deep=deep)

    assert [row.cwd for row in listing] == ["/home/u/proj", "/home/u/proj"]
    assert [row.modified_ms for row in listing] == [START + 2 * DAY, START]
    assert [item.reason for item in listing.hidden] == ["another working directory"] * 2
    assert {item.name for item in listing.hidden} | {f"{row.key}.jsonl" for row in listing} == {
        path.name for path in place.glob("*.jsonl")
    }
    assert listing.seen == 4


@pytest.mark.parity("OPR-13")
@pytest.mark.parametrize("deep", [False, True])
def test_a_session_that_says_no_working_directory_is_hidden_from_those_who_ask_for_one(
    place, deep, monkeypatch
):
    place.mkdir()
    (place / "bare.jsonl").write_bytes(b'{"type":"session","version":3,"id":"bare"}\n')
    (place / "headless.jsonl").write_bytes(b'{"type":"message","id":"a","parentId":null}\n')
    monkeypatch.chdir(place)

    listing = SessionLibrary(place, cwd=place).list(deep=deep)

    assert len(listing) == 0
    assert [item.reason for item in listing.hidden] == ["no header, so its working directory is unknown"] * 2


def test_of_sessions_elsewhere_only_the_beginning_is_read(place):
    talk(place, 0, "word " * 50_000, cwd="/elsewhere").close()
    store = Watched(place)

    SessionLibrary(store, cwd=CWD).list(deep=True)

    assert max(offset + size for _, offset, size in store.reads) <= 4096


# -- progress ----------------------------------------------------------------------------------------------------------


def test_progress_is_told_after_each_file_newest_first_with_sorted_rows_now_and_then(place):
    library = fill(place, 25)
    calls = []

    listing = library.list(deep=True, progress=lambda *call: calls.append(call))

    assert [loaded for loaded, _, _ in calls] == list(range(1, 26))
    assert {total for _, total, _ in calls} == {25}
    partial = {loaded: rows for loaded, _, rows in calls if rows is not None}
    assert list(partial) == [1, 10, 20, 25]
    assert keys(partial[1]) == keys(listing)[:1]
    assert keys(partial[10]) == keys(listing)[:10]
    assert keys(partial[25]) == keys(listing)


def test_progress_costs_less_than_reading_however_many_sessions_there_are():
    store = MemoryStore()
    header = b'{"type":"session","version":3,"id":"a"}\n'
    for number in range(3000):
        store.create(f"{number}", header)
    sorted_rows = []

    SessionLibrary(store).list(deep=True, progress=lambda _, __, rows: sorted_rows.append(len(rows or ())))

    assert len([count for count in sorted_rows if count]) < 60
    assert sum(sorted_rows) < 20 * 3000


def test_an_exception_of_progress_ends_the_listing(place):
    library = fill(place, 3)

    def stop(*_call):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.list(deep=True, progress=stop)


# -- other stores --------------------------------------------------------------------------------------------------------


def test_sessions_in_memory_are_listed_like_files():
    store = MemoryStore()
    talk(store, 0, "hello", title="In memory")

    (row,) = SessionLibrary(store).list(deep=True)

    assert (row.title, row.first_prompt, row.messages, row.path) == ("In memory", "hello", 2, None)


def test_a_file_that_grew_since_the_directory_was_read_is_read_whole(place):
    talk(place).close()

    class Behind(FilesStore):
        def scan(self):
            found, hidden = super().scan()
            return ScanResult(
                [msgspec.structs.replace(stored, size=stored.size // 2) for stored in found], hidden
            )

    (row,) = SessionLibrary(Behind(place)).list(deep=True)

    assert (row.messages, row.findings) == (2, 0)


@pytest.mark.parametrize("size", [1 << 10, 300_000, 3_000_000])
def test_files_of_any_size_give_the_same_row(place, size):
    talk(place, 0, "begin", "x" * size, "end").close()

    (row,) = SessionLibrary(place).list(deep=True)

    assert (row.messages, row.first_prompt, row.findings) == (6, "begin", 0)
