"""File stores beyond the contract: modes, unusual names, symlinks, crashes, other programs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from functools import partial

import pytest

from branchline.errors import InvalidId, LogError, LogReplaced, NotASession, SessionNotFound
from branchline.log.open_files import open_files
from branchline.stores import FilesStore

LINE = b'{"type":"session","version":3,"id":"one"}\n'
MORE = b'{"type":"message","id":"a","parentId":null}\n'


@pytest.fixture
def store(tmp_path):
    return FilesStore(tmp_path / "sessions")


def content(store, key):
    with store.snapshot(key) as read:
        return read(0, 1 << 20)


def modes(directory):
    """The mode of everything below a directory, by relative path."""
    return {
        os.path.relpath(os.path.join(folder, name), directory): stat.S_IMODE(
            os.lstat(os.path.join(folder, name)).st_mode
        )
        for folder, folders, files in os.walk(directory)
        for name in folders + files
    }


# -- nothing is touched ---------------------------------------------------------------------------------------


def test_a_store_touches_nothing_until_something_is_written(tmp_path):
    store = FilesStore(tmp_path / "sessions")

    store.scan()
    store.drafts()
    store.trashed()
    store.stat("one")
    store.remove("one")
    store.in_use(["one"])

    assert list(tmp_path.iterdir()) == []


def test_looking_at_a_store_leaves_every_byte_and_time_as_it_was(store):
    store.create("one", LINE).close()
    store.create("two", LINE, draft=True).close()
    store.remove("one")
    store.create("one", LINE).close()
    before = _state(store.directory)

    store.scan()
    store.drafts()
    store.trashed()
    content(store, "one")
    store.in_use(["one", "two"])

    assert _state(store.directory) == before


def _state(directory):
    return {
        os.path.join(folder, name): (os.lstat(path).st_mtime_ns, os.lstat(path).st_size)
        for folder, folders, files in os.walk(directory)
        for name in [*folders, *files]
        for path in [os.path.join(folder, name)]
    }


# -- modes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o177])
def test_files_are_private_whatever_the_umask(tmp_path, umask):
    store = FilesStore(tmp_path / "sessions")
    before = os.umask(umask)
    try:
        store.create("kept", LINE).close()
        store.create("draft", LINE, draft=True).close()
        store.create("removed", LINE).close()
        store.remove("removed")
        log = store.open("kept")
        with log.exclusive() as writer:
            writer.append(MORE)
        log.close()
        store.rename("kept", "renamed")
    finally:
        os.umask(before)

    found = modes(tmp_path)

    assert {mode for path, mode in found.items() if os.path.isdir(tmp_path / path)} == {0o700}
    assert {mode for path, mode in found.items() if os.path.isfile(tmp_path / path)} == {0o600}
    assert sum(path.endswith(("manifest.json", ".lock", ".jsonl")) for path in found) == 5


# -- what lies in the directory ---------------------------------------------------------------------------------


def test_a_compressed_session_is_hidden_with_a_reason_beside_others(store):
    store.create("one", LINE).close()
    with open(os.path.join(store.directory, "two.jsonl.zst"), "wb") as file:
        file.write(b"(\xb5/\xfd")

    scan = store.scan()

    assert [found.key for found in scan.found] == ["one"]
    assert [(item.name, item.reason.split(";")[0]) for item in scan.hidden] == [
        ("two.jsonl.zst", "it is compressed")
    ]


def test_a_directory_of_databases_says_how_to_list_their_sessions(store):
    os.makedirs(store.directory)
    with open(os.path.join(store.directory, "opencode.db"), "wb") as file:
        file.write(b"SQLite format 3\0")

    assert [(item.name, item.reason) for item in store.scan().hidden] == [
        ("opencode.db", "a database; name it in place of the directory to list its sessions")
    ]


def test_what_is_not_a_session_is_hidden_with_a_reason_or_ignored(store):
    store.create("one", LINE).close()
    place = store.directory
    os.mkfifo(os.path.join(place, "pipe.jsonl"))
    os.mkdir(os.path.join(place, "folder.jsonl"))
    os.symlink("nowhere", os.path.join(place, "dangling.jsonl"))
    for name in ("notes.txt", "one.jsonl.bak", "config.json", ".hidden.jsonl", "tab\there.jsonl"):
        with open(os.path.join(place, name), "wb") as file:
            file.write(LINE)

    scan = store.scan()

    assert [found.key for found in scan.found] == ["one"]
    assert {item.name: item.reason for item in scan.hidden} == {
        "pipe.jsonl": "not a regular file",
        "folder.jsonl": "not a regular file",
        "dangling.jsonl": "cannot be read: no such file or directory (ENOENT)",
        ".hidden.jsonl": "its name is not a valid id",
        "tab\there.jsonl": "its name is not a valid id",
    }


def test_a_folder_or_a_pipe_is_never_moved_to_the_trash(store):
    os.makedirs(os.path.join(store.directory, "folder.jsonl"))
    os.mkfifo(os.path.join(store.directory, "pipe.jsonl"))

    assert store.remove("folder") is None
    assert store.remove("pipe") is None

    assert sorted(os.listdir(store.directory)) == ["folder.jsonl", "pipe.jsonl"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plan.sync-conflict-20260101-120000-ABCDEF7.jsonl", "conflict copy of 'plan' made by Syncthing"),
        ("plan (Anna's conflicted copy 2026-01-01).jsonl", "conflict copy of 'plan' made by Dropbox"),
        ("plan (conflicted copy 2026-01-01 120000).jsonl", "conflict copy of 'plan'"),
        ("plan (SFConflict anna@example.org 2026-01-01-12-00-00).jsonl", "made by Seafile"),
        ("plan_conflict-20260101-120000.jsonl", "made by ownCloud"),
        ("plan.Conflict.jsonl", "made by Resilio"),
        ("plan (Case Conflict).jsonl", "conflict copy of 'plan'"),
        (".plan.jsonl.icloud", "placeholder of iCloud for 'plan.jsonl'"),
        ("plan.jsonl.nextcloud", "placeholder of Nextcloud"),
        (".syncthing.plan.jsonl.tmp", "placeholder of Syncthing"),
        ("~syncthing~plan.jsonl.tmp", "placeholder of Syncthing"),
        ("plan.jsonl.!sync", "placeholder of Resilio"),
        ("plan.jsonl.part", "placeholder"),
    ],
)
def test_conflict_copies_and_placeholders_are_called_what_they_are(store, name, words):
    """R12: recognise conflict copies and placeholders, list them as what they are."""
    store.create("plan", LINE).close()
    with open(os.path.join(store.directory, name), "wb") as file:
        file.write(LINE)

    scan = store.scan()

    assert [found.key for found in scan.found] == ["plan"]
    (hidden,) = scan.hidden
    assert hidden.name == name
    assert words in hidden.reason


@pytest.mark.parametrize(
    "key", ["plan 2", "plan (1)", "conflict", "a merge conflict", "plan (conflict of interest)", "a (copy)"]
)
def test_names_that_a_person_may_choose_are_never_taken_for_conflict_copies(store, key):
    store.create(key, LINE).close()

    assert [found.key for found in store.scan().found] == [key]


def test_names_that_are_not_text_are_listed_and_opened(store):
    store.create("one", LINE).close()
    os.link(
        os.path.join(store.directory, "one.jsonl"), os.path.join(os.fsencode(store.directory), b"\xff.jsonl")
    )

    keys = {found.key for found in store.scan().found}

    assert keys == {"one", "\udcff"}
    assert content(store, "\udcff") == LINE
    removed = store.remove("\udcff")
    assert store.restore(removed.token).key == "\udcff"


def test_a_directory_that_may_not_be_read_is_an_error_that_says_so(common_place):
    store = FilesStore(common_place / "sessions")
    store.create("one", LINE).close()
    os.chmod(store.directory, 0)

    with pytest.raises(LogError, match=r"cannot list the sessions in .*sessions: permission denied"):
        store.scan()


def test_a_file_in_the_place_of_the_directory_is_an_error_that_says_so(tmp_path):
    (tmp_path / "sessions").write_bytes(LINE)

    with pytest.raises(LogError, match="not a directory"):
        FilesStore(tmp_path / "sessions").scan()


def test_a_snapshot_never_waits_for_a_pipe(store):
    os.makedirs(store.directory)
    os.mkfifo(os.path.join(store.directory, "pipe.jsonl"))

    with pytest.raises(NotASession, match="not a regular file"):
        content(store, "pipe")


# -- renaming ---------------------------------------------------------------------------------------------------


def test_renaming_to_another_name_of_the_same_file_is_refused_and_loses_nothing(store):
    """Two names of one file look like an unfinished renaming; taking one away would be a guess."""
    store.create("one", LINE).close()
    os.link(store.path_of("one"), store.path_of("two"))

    with pytest.raises(FileExistsError, match="a session 'two' already exists"):
        store.rename("one", "two")

    assert content(store, "one") == content(store, "two") == LINE


def test_a_renamed_session_is_appended_to_by_other_processes_without_a_gap(store, run_python, tmp_path):
    """IND-05: the renamed session still opens, even while someone is appending to it."""
    store.create("name-0", LINE).close()
    script = (
        "import sys\n"
        "from branchline.log import FileLog\n"
        "log = FileLog(sys.argv[1], durability='os')\n"
        "print('ready', flush=True)\n"
        "for number in range(2000):\n"
        "    with log.exclusive() as writer:\n"
        "        writer.append(b'{\"n\":%d}\\n' % number)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, store.path_of("name-0")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"

    renamed = 0
    while child.poll() is None:
        store.rename(f"name-{renamed}", f"name-{renamed + 1}")
        renamed += 1
    child.stdout.close()

    assert child.returncode == 0
    assert renamed > 0
    lines = content(store, f"name-{renamed}").split(b"\n")
    assert [json.loads(line)["n"] for line in lines[1:-1]] == list(range(2000))


def test_a_new_session_under_the_old_name_is_never_mixed_up_with_the_renamed_one(store):
    log = store.create("one", LINE)
    store.rename("one", "two")
    store.create("one", MORE).close()

    with pytest.raises(LogReplaced), log.exclusive() as writer:
        writer.append(MORE)
    log.close()

    assert content(store, "one") == MORE
    assert content(store, "two") == LINE


# -- links ------------------------------------------------------------------------------------------------------


def test_a_session_behind_a_link_is_listed_renamed_removed_and_given_back_as_that_link(store, tmp_path):
    (tmp_path / "elsewhere.jsonl").write_bytes(LINE)
    os.makedirs(store.directory)
    os.symlink("../elsewhere.jsonl", store.path_of("one"))

    assert [found.key for found in store.scan().found] == ["one"]
    store.rename("one", "two")
    removed = store.remove("two")
    assert [item.key for item in store.trashed()] == ["two"]
    store.restore(removed.token)

    assert os.readlink(store.path_of("two")) == "../elsewhere.jsonl"
    assert content(store, "two") == LINE
    assert (tmp_path / "elsewhere.jsonl").read_bytes() == LINE


@pytest.mark.parametrize("kind", ["", "trash", "drafts"])
def test_a_link_in_the_place_of_our_hidden_folder_is_not_followed(store, tmp_path, kind):
    store.create("one", LINE).close()
    (tmp_path / "stolen").mkdir()
    hidden = os.path.join(store.directory, ".branchline")
    if kind:
        os.mkdir(hidden)
    os.symlink(tmp_path / "stolen", os.path.join(hidden, kind) if kind else hidden)

    act = partial(store.create, "two", LINE, draft=True) if kind == "drafts" else partial(store.remove, "one")
    with pytest.raises(LogError, match="a link or not a directory"):
        act()

    assert list((tmp_path / "stolen").iterdir()) == []
    assert content(store, "one") == LINE


@pytest.mark.parametrize("linked", ["file", "folder", "trash", "manifest"])
def test_a_link_planted_in_the_trash_is_neither_listed_nor_restored(store, tmp_path, linked):
    (tmp_path / "secret.jsonl").write_bytes(LINE)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "pw.jsonl").write_bytes(LINE)
    trash = os.path.join(store.directory, ".branchline", "trash")
    token = "20260101T000000-aaaaaaaa"
    os.makedirs(os.path.dirname(trash))
    if linked == "trash":
        (tmp_path / token).mkdir()
        (tmp_path / token / "pw.jsonl").write_bytes(LINE)
        os.symlink(tmp_path, trash)
    elif linked == "folder":
        os.mkdir(trash)
        os.symlink(tmp_path / "private", os.path.join(trash, token))
    else:
        os.makedirs(os.path.join(trash, token))
        os.symlink(tmp_path / "secret.jsonl", os.path.join(trash, token, "pw.jsonl"))
    if linked == "manifest":
        with open(os.path.join(trash, token, "manifest.json"), "w") as file:
            file.write('{"key": "pw", "link": "somewhere else"}')

    assert store.trashed() == []
    with pytest.raises(LogError if linked == "trash" else SessionNotFound):
        store.restore(token)

    assert store.scan().found == []
    assert (tmp_path / "private" / "pw.jsonl").exists()


# -- the trash --------------------------------------------------------------------------------------------------


def test_the_manifest_says_what_was_removed_from_where(store):
    store.create("one", LINE).close()

    removed = store.remove("one")

    place = os.path.join(store.directory, ".branchline", "trash", removed.token)
    with open(os.path.join(place, "manifest.json"), "rb") as file:
        manifest = json.load(file)
    assert manifest == {
        "key": "one",
        "path": store.path_of("one"),
        "removed": removed.removed,
        "size": len(LINE),
        "draft": False,
    }
    assert sorted(os.listdir(place)) == ["manifest.json", "one.jsonl"]


def test_a_restored_session_leaves_nothing_in_the_trash(store):
    store.create("one", LINE).close()
    removed = store.remove("one")

    store.restore(removed.token)

    assert os.listdir(os.path.join(store.directory, ".branchline", "trash")) == []


def test_a_session_keeps_its_time_through_the_trash(store):
    store.create("one", LINE).close()
    os.utime(store.path_of("one"), (1_700_000_000, 1_700_000_000))

    restored = store.restore(store.remove("one").token)

    assert restored.modified == 1_700_000_000


def test_a_crash_before_the_file_moved_leaves_a_manifest_that_nobody_sees(store):
    store.create("one", LINE).close()
    removed = store.remove("one")
    place = os.path.join(store.directory, ".branchline", "trash", removed.token)
    os.rename(os.path.join(place, "one.jsonl"), store.path_of("one"))

    assert store.trashed() == []
    with pytest.raises(SessionNotFound):
        store.restore(removed.token)
    assert store.remove("one") is not None


@pytest.mark.parametrize("again", ["remove", "restore"])
def test_a_crash_while_the_file_had_both_names_is_finished_by_either_verb(store, again):
    store.create("one", LINE).close()
    removed = store.remove("one")
    place = os.path.join(store.directory, ".branchline", "trash", removed.token)
    os.link(os.path.join(place, "one.jsonl"), store.path_of("one"))

    if again == "remove":
        second = store.remove("one")
        assert store.stat("one") is None
        store.restore(second.token)
    else:
        store.restore(removed.token)
    for item in store.trashed():
        store.restore(item.token)

    assert content(store, "one") == LINE
    assert store.trashed() == []


def test_a_bad_manifest_in_the_trash_hides_nothing(store):
    store.create("one", LINE).close()
    removed = store.remove("one")
    trash = os.path.join(store.directory, ".branchline", "trash")
    os.mkdir(os.path.join(trash, "empty"))
    for token, manifest in [
        ("broken", b"{"),
        ("null", b"null"),
        ("path", b'{"key":"../../evil","removed":1}'),
        ("type", b'{"key":1,"removed":1}'),
        ("time", b'{"key":"x","removed":"soon"}'),
    ]:
        os.mkdir(os.path.join(trash, token))
        with open(os.path.join(trash, token, "manifest.json"), "wb") as file:
            file.write(manifest)
        with open(os.path.join(trash, token, "x.jsonl"), "wb") as file:
            file.write(LINE)

    found = {item.token: item.key for item in store.trashed()}
    assert found == {removed.token: "one", **dict.fromkeys(("broken", "null", "path", "type", "time"), "x")}
    with pytest.raises(SessionNotFound):
        store.restore("empty")
    assert store.restore("path").key == "x"
    assert content(store, "x") == LINE
    with pytest.raises(InvalidId):
        store.restore("../trash")
    assert len(os.listdir(trash)) == 6


def test_a_session_that_may_not_be_read_can_be_removed_and_given_back(common_place):
    store = FilesStore(common_place)
    store.create("one", LINE).close()
    os.chmod(store.path_of("one"), 0)

    removed = store.remove("one")
    store.restore(removed.token)

    os.chmod(store.path_of("one"), 0o600)
    assert content(store, "one") == LINE


# -- drafts -----------------------------------------------------------------------------------------------------


def test_a_draft_that_a_crash_left_under_both_names_is_a_session(store):
    store.create("one", LINE, draft=True).close()
    draft = os.path.join(store.directory, ".branchline", "drafts", "one.jsonl")
    os.link(draft, store.path_of("one"))

    assert store.drafts() == []
    assert [found.key for found in store.scan().found] == ["one"]
    store.publish("one").close()
    assert not os.path.exists(draft)


# -- who has it open --------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_a_session_that_another_process_has_open_is_in_use(store):
    store.create("one", LINE).close()
    store.create("two", LINE).close()
    script = "import sys; f = open(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", script, store.path_of("one")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "ready\n"

    used = store.in_use(["one", "two"])
    child.communicate()

    assert used == {"one"}
    assert store.in_use(["one", "two"]) == set()


def test_where_nobody_tells_which_files_are_open_none_is(tmp_path):
    assert list(open_files((".jsonl",), str(tmp_path / "no such place"))) == []


# -- other endings, and what belongs to a file ------------------------------------------------------------------


def test_a_store_knows_how_its_files_end(tmp_path):
    store = FilesStore(tmp_path, suffix=".ndjson")
    store.create("one", LINE).close()
    store.create("draft", LINE, draft=True).close()
    (tmp_path / "other.jsonl").write_bytes(LINE)
    (tmp_path / ".gone.ndjson.icloud").write_bytes(b"")

    scan = store.scan()

    assert {found.key for found in scan.found} == {"one", "other"}
    assert [hidden.name for hidden in scan.hidden] == [".gone.ndjson.icloud"]
    assert store.path_of("one") == str(tmp_path / "one.ndjson")
    assert store.stat("other").path == str(tmp_path / "other.jsonl")
    assert [draft.key for draft in store.drafts()] == ["draft"]
    store.publish("draft").close()
    assert store.rename("draft", "published").path == str(tmp_path / "published.ndjson")
    removed = store.remove("one")
    assert not (tmp_path / "one.ndjson").exists()
    assert store.restore(removed.token).path == str(tmp_path / "one.ndjson")
    assert FilesStore(tmp_path).path_of("one") == str(tmp_path / "one.ndjson")


def folder_of(store, key):
    return store.directory + "/" + key


def with_folder(store, key="one"):
    store.create(key, LINE).close()
    os.makedirs(folder_of(store, key) + "/inner")
    with open(folder_of(store, key) + "/inner/0.bash.log", "w") as file:
        file.write("output")


def test_the_folder_of_a_file_goes_where_the_file_goes(store):
    with_folder(store)

    store.rename("one", "two")
    assert os.listdir(folder_of(store, "two")) == ["inner"]
    assert not os.path.exists(folder_of(store, "one"))

    removed = store.remove("two")
    assert not os.path.exists(folder_of(store, "two"))
    assert sorted(os.listdir(store.directory)) == [".branchline"]

    store.restore(removed.token)
    assert os.listdir(folder_of(store, "two") + "/inner") == ["0.bash.log"]
    assert store.trashed() == []


def test_a_file_does_not_move_where_its_folder_cannot_follow(store):
    with_folder(store)
    os.mkdir(folder_of(store, "two"))

    with pytest.raises(FileExistsError, match="its folder belongs to it"):
        store.rename("one", "two")

    removed = store.remove("one")
    os.mkdir(folder_of(store, "one"))
    with pytest.raises(FileExistsError, match="its folder belongs to it"):
        store.restore(removed.token)
    os.rmdir(folder_of(store, "one"))
    store.restore(removed.token)
    assert os.path.isdir(folder_of(store, "one") + "/inner")


def test_a_link_beside_a_file_is_not_its_folder(store, tmp_path):
    store.create("one", LINE).close()
    os.mkdir(tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", folder_of(store, "one"))

    store.rename("one", "two")

    assert os.path.islink(folder_of(store, "one"))
