"""Replacing a file atomically, and publishing a draft."""

import errno
import os
import stat
from pathlib import Path

import pytest

from branchline.errors import LogReplaced, NotSaved, ReadOnly
from branchline.log import SYSTEM, FileLog, System, create_directory, publish_file, replace_file


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"old\n")
    return path


def names(directory) -> set[str]:
    return {
        os.path.relpath(os.path.join(root, name), directory)
        for root, _, files in os.walk(directory)
        for name in files
    }


def test_a_replaced_file_holds_the_new_bytes_and_the_old_ones_stay_as_a_backup(session, tmp_path):
    session.chmod(0o644)
    inode = session.stat().st_ino

    backup = replace_file(session, [b"new\n", b"", b"more\n"])

    assert session.read_bytes() == b"new\nmore\n"
    assert stat.S_IMODE(session.stat().st_mode) == 0o600
    assert os.path.dirname(backup) == str(tmp_path / ".branchline" / "backups")
    assert Path(backup).read_bytes() == b"old\n"
    assert os.stat(backup).st_ino == inode
    assert stat.S_IMODE(os.stat(backup).st_mode) == 0o600
    assert names(tmp_path) == {"s.jsonl", os.path.relpath(backup, tmp_path)}


def test_a_replacement_without_backup_leaves_only_the_new_file(session, tmp_path):
    assert replace_file(session, b"new\n", backup=False) is None

    assert session.read_bytes() == b"new\n"
    assert os.listdir(tmp_path) == ["s.jsonl"]


def test_where_nothing_lies_there_is_nothing_to_back_up(tmp_path):
    assert replace_file(tmp_path / "s.jsonl", b"new\n") is None

    assert (tmp_path / "s.jsonl").read_bytes() == b"new\n"


def test_a_check_sees_the_finished_new_file_and_can_refuse_it(session, tmp_path):
    seen = []

    def refuse(path: str):
        seen.append((Path(path).read_bytes(), stat.S_IMODE(os.stat(path).st_mode), session.read_bytes()))
        raise FileNotFoundError("an id is missing")

    with pytest.raises(FileNotFoundError, match="an id is missing"):
        replace_file(session, b"new\n", check=refuse)

    assert seen == [(b"new\n", 0o600, b"old\n")]
    assert session.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == ["s.jsonl"]


def test_an_error_while_the_new_bytes_are_made_changes_nothing(session, tmp_path):
    def pieces():
        yield b"new\n"
        raise KeyError("broken")

    with pytest.raises(KeyError):
        replace_file(session, pieces())

    assert session.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == ["s.jsonl"]


def test_a_link_keeps_leading_to_the_replaced_file(session, tmp_path):
    link = tmp_path / "links" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(session)

    replace_file(link, b"new\n")

    assert link.is_symlink()
    assert session.read_bytes() == b"new\n"
    assert os.listdir(link.parent) == ["link.jsonl"]


def test_a_log_that_is_open_on_the_old_file_is_told_by_its_next_append(session):
    with FileLog(session) as log:
        with log.exclusive() as writer:
            writer.append(b"{}\n")
            replace_file(session, b"new\n")

        with pytest.raises(LogReplaced), log.exclusive():
            pass


def test_a_very_long_name_is_no_obstacle(tmp_path):
    path = tmp_path / ("ü" * 120 + ".jsonl")
    path.write_bytes(b"old\n{torn")

    with FileLog(path) as log, log.exclusive() as writer:
        writer.append(b"{}\n")
        kept_at = writer.torn.kept_at
    backup = replace_file(path, b"new\n")

    assert Path(kept_at).read_bytes() == b"{torn"
    assert Path(backup).read_bytes() == b"old\n{torn\n{}\n"


class WithoutLinks(System):
    def link(self, source, target):
        raise PermissionError(errno.EPERM, "Operation not permitted", source)


def test_where_hard_links_are_not_supported_the_backup_is_a_copy(session):
    backup = replace_file(session, b"new\n", system=WithoutLinks())

    assert Path(backup).read_bytes() == b"old\n"
    assert os.stat(backup).st_nlink == 1
    assert session.read_bytes() == b"new\n"


def test_root_leaves_a_rewritten_file_to_its_owner(session):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(session, 65534, 65534)

    replace_file(session, b"new\n")

    assert (session.stat().st_uid, session.stat().st_gid) == (65534, 65534)


def test_a_file_of_somebody_who_could_not_read_the_new_one_is_not_replaced(session, tmp_path):
    class Foreign(System):
        def stat(self, path):
            found = list(SYSTEM.stat(path))
            found[stat.ST_UID] += 1
            return os.stat_result(found)

        def fchown(self, descriptor, uid, gid):
            raise PermissionError(errno.EPERM, "Operation not permitted")

    with pytest.raises(ReadOnly, match="belongs to another user"):
        replace_file(session, b"new\n", system=Foreign())

    assert session.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == ["s.jsonl"]


def test_a_published_draft_has_its_new_name_and_not_the_old_one(session, tmp_path):
    target = tmp_path / "sessions" / "2026" / "s.jsonl"
    inode = session.stat().st_ino

    publish_file(session, target)

    assert target.read_bytes() == b"old\n"
    assert target.stat().st_ino == inode
    assert not session.exists()
    assert stat.S_IMODE(target.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("system", [System(), WithoutLinks()], ids=["links", "no links"])
def test_publishing_never_overwrites(session, tmp_path, system):
    target = tmp_path / "t.jsonl"
    target.write_bytes(b"other\n")

    with pytest.raises(FileExistsError):
        publish_file(session, target, system=system)

    assert (session.read_bytes(), target.read_bytes()) == (b"old\n", b"other\n")


def test_publishing_a_draft_that_is_not_there_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        publish_file(tmp_path / "none", tmp_path / "t.jsonl")


def test_publishing_again_finishes_what_a_crash_interrupted(session, tmp_path):
    target = tmp_path / "t.jsonl"
    os.link(session, target)

    publish_file(session, target)

    assert names(tmp_path) == {"t.jsonl"}
    assert target.read_bytes() == b"old\n"


@pytest.mark.parametrize("folder", ["", "other"])
def test_where_hard_links_are_not_supported_a_draft_is_renamed(session, tmp_path, folder):
    target = tmp_path / folder / "t.jsonl"

    publish_file(session, target, system=WithoutLinks())

    assert names(tmp_path) == {os.path.join(folder, "t.jsonl")}


def test_a_log_open_on_a_draft_goes_on_after_it_was_published(session, tmp_path):
    with FileLog(session) as log:
        publish_file(session, tmp_path / "t.jsonl")

        with log.exclusive() as writer:
            writer.append(b"{}\n")

    assert (tmp_path / "t.jsonl").read_bytes() == b"old\n{}\n"


def test_a_directory_is_made_with_its_parents_and_those_that_exist_stay_as_they_are(tmp_path):
    tmp_path.chmod(0o755)

    create_directory(tmp_path / "a" / "b")
    create_directory(tmp_path / "a" / "b")

    modes = [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")]
    assert modes == [0o755, 0o700, 0o700]


def test_a_file_in_the_place_of_a_directory_is_reported(session):
    with pytest.raises(NotADirectoryError):
        create_directory(session)
    with pytest.raises(NotADirectoryError):
        create_directory(session / "below")
    with pytest.raises(NotSaved, match="not a directory"):
        FileLog.create(session / "s.jsonl", b"{}\n")


def test_a_directory_that_somebody_else_makes_in_the_same_moment_is_fine(tmp_path):
    class Late(System):
        def mkdir(self, path, mode):
            os.mkdir(path)
            SYSTEM.mkdir(path, mode)

    create_directory(tmp_path / "a", Late())

    assert (tmp_path / "a").is_dir()


def test_a_file_system_that_cannot_sync_directories_is_no_obstacle(tmp_path):
    class Stubborn(System):
        def fsync(self, descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "Invalid argument")
            SYSTEM.fsync(descriptor)

    with FileLog.create(tmp_path / "a" / "s.jsonl", b"{}\n", system=Stubborn()) as log:
        assert log.size() == 3
