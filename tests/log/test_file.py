"""A log in a file: the effects of opening, creating and appending, and what is refused."""

import errno
import os
import socket
import stat
import subprocess
import sys

import pytest

from branchline.errors import LogGone, LogReplaced, LogShrank, NotASession, NotSaved, ReadOnly
from branchline.log import SYSTEM, FileLog, System
from branchline.log.system import describe_oserror

with_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the /proc of Linux")


@pytest.fixture
def umask(request):
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


def mode(path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def append(log: FileLog, data: bytes) -> int:
    with log.exclusive() as writer:
        return writer.append(data)


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"n":0}\n')
    return path


def test_a_new_file_holds_its_first_lines_and_is_appended_to(tmp_path):
    path = tmp_path / "a" / "b" / "s.jsonl"

    with FileLog.create(path, b'{"n":0}\n{"n":1}\n') as log:
        offset = append(log, b'{"n":2}\n')

        assert log.path == log.name == str(path)
        assert log.identity == (path.stat().st_dev, path.stat().st_ino)
    assert offset == 16
    assert path.read_bytes() == b'{"n":0}\n{"n":1}\n{"n":2}\n'


def test_creating_never_touches_what_lies_at_the_path(session, tmp_path):
    link = tmp_path / "link.jsonl"
    link.symlink_to(tmp_path / "nowhere")

    with pytest.raises(FileExistsError):
        FileLog.create(session, b"{}\n")
    with pytest.raises(FileExistsError):
        FileLog.create(link, b"{}\n")

    assert session.read_bytes() == b'{"n":0}\n'
    assert not (tmp_path / "nowhere").exists()


def test_a_file_may_begin_empty(tmp_path):
    with FileLog.create(tmp_path / "s.jsonl", b"") as log, log.exclusive() as writer:
        writer.append(b"{}\n")

    assert (tmp_path / "s.jsonl").read_bytes() == b"{}\n"


@pytest.mark.parametrize("data", [b"{}", b"{}\n{}"])
def test_a_file_is_created_with_whole_lines_only(tmp_path, data):
    with pytest.raises(ValueError, match="whole lines"):
        FileLog.create(tmp_path / "s.jsonl", data)

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("umask", [0, 0o077, 0o777], indirect=True)
def test_everything_that_is_made_is_private_whatever_the_umask(tmp_path, umask):
    path = tmp_path / "a" / "b" / "s.jsonl"

    with FileLog.create(path, b"{}\n") as log:
        append(log, b"{}\n")
    with open(path, "ab") as file:
        file.write(b'{"torn')
    with FileLog(path) as log:
        append(log, b"{}\n")

    made = [os.path.join(root, name) for root, dirs, files in os.walk(tmp_path) for name in dirs + files]
    assert len(made) == 8
    for each in made:
        assert mode(each) == (0o700 if os.path.isdir(each) else 0o600), each


def test_opening_and_reading_leave_a_tree_byte_for_byte_and_time_for_time_as_it_was(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"n":0}\n{"torn')
    os.utime(path, (1, 1))
    os.chmod(path, 0o400)
    os.utime(tmp_path, (1, 1))
    os.chmod(tmp_path, 0o500)

    with FileLog(path) as log:
        log.read(0, log.size())
    os.chmod(tmp_path, 0o700)

    assert os.listdir(tmp_path) == ["s.jsonl"]
    assert path.read_bytes() == b'{"n":0}\n{"torn'
    assert (path.stat().st_mtime, tmp_path.stat().st_mtime) == (1, 1)


def test_the_append_descriptor_is_opened_by_the_first_append_only(session):
    opened = []

    class Watching(System):
        def open(self, path, flags, mode=0o777):
            opened.append((os.path.basename(path), flags & os.O_ACCMODE, bool(flags & os.O_APPEND)))
            return SYSTEM.open(path, flags, mode)

    with FileLog(session, system=Watching()) as log:
        with log.exclusive():
            pass
        before = list(opened)
        append(log, b"{}\n")
        append(log, b"{}\n")

    assert ("s.jsonl", os.O_WRONLY, True) not in before
    assert opened.count(("s.jsonl", os.O_WRONLY, True)) == 1


@with_proc
def test_no_descriptor_is_left_open(session):
    before = os.listdir("/proc/self/fd")

    with FileLog(session) as log:
        append(log, b"{}\n")
    forgotten = FileLog(session)
    append(forgotten, b"{}\n")
    del forgotten

    assert os.listdir("/proc/self/fd") == before


@with_proc
def test_descriptors_are_not_inherited_by_other_programs(session):
    with FileLog(session) as log:
        append(log, b"{}\n")

        names = subprocess.run(
            [sys.executable, "-c", "import os\nfor fd in os.listdir('/proc/self/fd'):\n try: print(os.readlink(f'/proc/self/fd/{fd}'))\n except OSError: pass"],
            check=True, capture_output=True, text=True, close_fds=False,
        ).stdout  # fmt: skip

    assert str(session.parent) not in names


@pytest.mark.parametrize("kind", ["directory", "pipe", "socket", "device"])
def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path, monkeypatch, kind):
    path = tmp_path / "x.jsonl"
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        match kind:
            case "directory":
                path.mkdir()
            case "pipe":
                os.mkfifo(path)
            case "socket":
                listener.bind("x.jsonl")  # by its short name: the address of a socket has 108 bytes
            case "device":
                path.symlink_to("/dev/zero")

        with pytest.raises(NotASession, match=f"x.jsonl: it is a {kind}, not a regular file"):
            FileLog(path)


def test_a_file_that_turns_into_a_pipe_in_the_moment_of_opening_is_refused_too(session):
    class Swapping(System):
        def open(self, path, flags, mode=0o777):
            os.unlink(path)
            os.mkfifo(path)
            return SYSTEM.open(path, flags, mode)

    with pytest.raises(NotASession, match="it is a pipe"):
        FileLog(session, system=Swapping())


def test_a_missing_file_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        FileLog(tmp_path / "none.jsonl")
    with pytest.raises(FileNotFoundError):
        FileLog(tmp_path / "none.jsonl", writable=True)

    assert os.listdir(tmp_path) == []


def test_a_session_behind_a_link_is_appended_to_and_locked_where_it_really_lies(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "s.jsonl").write_bytes(b"{}\n")
    (tmp_path / "link.jsonl").symlink_to(real / "s.jsonl")

    with (
        FileLog(tmp_path / "link.jsonl", lock_timeout=0) as log,
        FileLog(real / "s.jsonl", lock_timeout=0) as other,
    ):
        append(log, b"{}\n")
        with log.exclusive(), pytest.raises(Exception, match="the lock is held by pid"):
            append(other, b"{}\n")

    assert (real / "s.jsonl").read_bytes() == b"{}\n{}\n"
    assert sorted(os.listdir(tmp_path)) == ["link.jsonl", "real"]
    assert (tmp_path / "link.jsonl").is_symlink()


def test_a_link_put_in_the_place_of_the_file_is_not_followed(session, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"mine\n")
    with FileLog(session) as log:
        session.unlink()
        session.symlink_to(secret)

        with pytest.raises(LogReplaced):
            append(log, b"{}\n")

    assert secret.read_bytes() == b"mine\n"


def test_a_relative_path_means_the_directory_at_the_time_of_opening(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FileLog("s.jsonl") as log:
        monkeypatch.chdir("/")

        append(log, b"{}\n")

    assert session.read_bytes() == b'{"n":0}\n{}\n'


@with_proc
def test_a_file_renamed_before_or_after_the_first_append_is_appended_to_under_its_new_name(session, tmp_path):
    with FileLog(session) as log:
        session.rename(tmp_path / "b.jsonl")
        append(log, b'{"n":1}\n')
        (tmp_path / "b.jsonl").rename(tmp_path / "c.jsonl")
        append(log, b'{"n":2}\n')

    assert (tmp_path / "c.jsonl").read_bytes() == b'{"n":0}\n{"n":1}\n{"n":2}\n'
    assert not session.exists()


def test_renaming_a_session_keeps_its_lock(session, tmp_path):
    with FileLog(session) as log, log.exclusive():
        session.rename(tmp_path / "b.jsonl")

        with (
            FileLog(tmp_path / "b.jsonl", lock_timeout=0) as other,
            pytest.raises(Exception, match="lock is held"),
        ):
            append(other, b"{}\n")


def test_a_deleted_file_is_gone(session):
    with FileLog(session) as log:
        append(log, b"{}\n")
        session.unlink()

        with pytest.raises(LogGone, match="deleted while open"):
            append(log, b"{}\n")
        assert log.read(0, 8) == b'{"n":0}\n'
    assert not session.exists()


def test_another_file_at_the_path_is_not_appended_to(session, tmp_path):
    with FileLog(session) as log:
        append(log, b"{}\n")
        (tmp_path / "new").write_bytes(b"other\n")
        (tmp_path / "new").rename(session)

        with pytest.raises(LogReplaced, match="the file was replaced"):
            append(log, b"{}\n")

    assert session.read_bytes() == b"other\n"


def test_a_file_that_lost_acknowledged_lines_is_not_appended_to(session):
    with FileLog(session) as log:
        append(log, b'{"n":1}\n')
        os.truncate(session, 8)

        with pytest.raises(LogShrank, match="the file ends at 8, expected at least 16"):
            append(log, b'{"n":2}\n')

    assert session.read_bytes() == b'{"n":0}\n'


def test_a_writer_sees_what_a_program_that_does_not_lock_has_appended(session):
    with FileLog(session) as log:
        append(log, b'{"n":1}\n')
        with open(session, "ab") as foreign:
            foreign.write(b'{"n":2}\n')

        with log.exclusive() as writer:
            end = writer.end
            offset = writer.append(b'{"n":3}\n')

    assert (end, offset) == (24, 24)


def test_the_offset_is_true_even_when_somebody_writes_between_the_look_and_the_append(session):
    with FileLog(session) as log:
        append(log, b'{"n":1}\n')

        with log.exclusive() as writer:
            with open(session, "ab") as foreign:
                foreign.write(b'{"foreign":true}\n')
            offset = writer.append(b'{"n":2}\n')
            end = writer.end

        assert log.read(offset, 8) == b'{"n":2}\n'
        assert end == log.size()


def test_a_log_opened_for_reading_only_has_no_writer(session):
    with FileLog(session, writable=False) as log, pytest.raises(ReadOnly, match="opened for reading only"):
        append(log, b"{}\n")

    assert os.listdir(session.parent) == ["s.jsonl"]


def test_a_closed_log_says_so(session):
    log = FileLog(session)
    log.close()

    for use in (log.size, log.exclusive, lambda: log.read(0, 1)):
        with pytest.raises(ValueError, match="is closed"):
            use()


def test_an_unknown_durability_is_a_mistake_of_the_caller(session):
    with pytest.raises(ValueError, match='"fsync" or "os"'):
        FileLog(session, durability="maybe")


NOBODY = 65534

DENIED = """
import os, sys
from branchline.errors import BranchlineError
from branchline.log import FileLog
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({nobody}); os.setuid({nobody})
try:
    log = FileLog(sys.argv[1], writable={writable})
    with log.exclusive() as writer:
        writer.append(b"{{}}\\n")
except (BranchlineError, OSError) as problem:
    print(type(problem).__name__, problem)
"""


def denied(path, *, writable=None) -> str:
    script = DENIED.format(nobody=NOBODY, writable=writable)
    return subprocess.run(
        [sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def open_tree(tmp_path):
    """A directory that another user can reach."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    for each in (tmp_path, *tmp_path.parents):
        if not stat.S_IMODE(each.stat().st_mode) & 0o001:
            os.chmod(each, stat.S_IMODE(each.stat().st_mode) | 0o011)
    return tmp_path


def test_a_file_that_may_not_be_written_is_read_only(open_tree):
    path = open_tree / "s.jsonl"
    path.write_bytes(b"{}\n")
    path.chmod(0o444)
    open_tree.chmod(0o777)

    said = denied(path)
    said_at_once = denied(path, writable=True)

    assert said.startswith(
        f"ReadOnly cannot append to {path}: permission denied (EACCES) at {path}; nothing was saved"
    )
    assert said_at_once.startswith(f"ReadOnly cannot open {path} for appending")
    assert path.read_bytes() == b"{}\n"


def test_a_directory_that_may_not_be_written_makes_a_log_read_only(open_tree):
    path = open_tree / "s.jsonl"
    path.write_bytes(b"{}\n")
    path.chmod(0o666)
    open_tree.chmod(0o755)

    said = denied(path)

    assert said.startswith(
        f"ReadOnly cannot append to {path}: permission denied (EACCES) at {open_tree}/.branchline"
    )
    assert os.listdir(open_tree) == ["s.jsonl"]


@pytest.mark.parametrize("name", [".branchline", ".branchline/locks"])
def test_a_sidecar_folder_that_is_a_link_is_not_followed(session, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "locks").mkdir()
    if "/" in name:
        (tmp_path / ".branchline").mkdir()
    (tmp_path / name).symlink_to(elsewhere / "locks" if "/" in name else elsewhere)

    with FileLog(session) as log, pytest.raises(NotSaved, match="not a directory"):
        append(log, b"{}\n")

    assert os.listdir(elsewhere) == ["locks"]
    assert os.listdir(elsewhere / "locks") == []
    assert session.read_bytes() == b'{"n":0}\n'


@pytest.mark.parametrize("number", [errno.EROFS, errno.EPERM, errno.EACCES])
def test_a_file_that_the_system_does_not_let_us_write_is_read_only(session, number):
    class Refusing(System):
        def open(self, path, flags, mode=0o777):
            if flags & os.O_APPEND:
                raise OSError(number, os.strerror(number), path)
            return SYSTEM.open(path, flags, mode)

    with (
        FileLog(session, system=Refusing()) as log,
        pytest.raises(ReadOnly, match=f"{errno.errorcode[number]}.* at {session}"),
    ):
        append(log, b"{}\n")


@with_proc
def test_a_pipe_put_in_the_place_of_the_file_does_not_keep_us_waiting(session):
    class Swapping(System):
        def open(self, path, flags, mode=0o777):
            if flags & os.O_APPEND and path == str(session):
                os.rename(session, f"{session}.old")
                os.mkfifo(session)
            return SYSTEM.open(path, flags, mode)

    with FileLog(session, system=Swapping()) as log, pytest.raises((NotSaved, LogReplaced)):
        append(log, b"{}\n")


def test_an_error_without_a_number_is_said_in_its_own_words():
    assert describe_oserror(OSError("strange")) == "strange"


def test_a_log_that_is_still_open_at_exit_is_no_error(tmp_path):
    """A function in another module keeps it: names of its own module are None when it is deleted."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"type":"session","version":3,"id":"1","timestamp":"","cwd":"/"}\n')
    script = (
        "import sys\n"
        "from branchline import Session\n"
        "from branchline.entries import codec\n"
        "session = Session.open(sys.argv[1])\n"
        "codec.keep = lambda: session"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
