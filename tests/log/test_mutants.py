"""Mutation tests: without one precaution, the proof that depends on it must fail."""

import os
import stat

import pytest

from branchline.log import SYSTEM, System, TornTail
from log.crash import Recorder
from log.faults import Faulty, Unsynced
from log.proofs import prove_crashes, prove_exclusion, prove_failures, prove_foreign_writer, prove_tail


class WithoutSync(Recorder):
    def fsync(self, descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            super().fsync(descriptor)


class WithoutDirectorySync(Recorder):
    def fsync(self, descriptor):
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            super().fsync(descriptor)


class WithoutBackup(Recorder):
    def link(self, source, target):
        if "backups" not in target:
            super().link(source, target)


class WithoutRename(Recorder):
    """Rewrites in place: the old file is emptied and written again."""

    def rename(self, source, target):
        descriptor = self.open(target, os.O_WRONLY)
        self.ftruncate(descriptor, 0)
        with open(source, "rb") as file:
            self.write(descriptor, file.read())
        self.fsync(descriptor)
        self.close(descriptor)
        self.unlink(source)


class ForgetfulRecorder(Recorder):
    """Believes every file to end in a newline."""

    def pread(self, descriptor, size, offset):
        return b"\n" if size == 1 else SYSTEM.pread(descriptor, size, offset)


@pytest.mark.parametrize(
    ("mutant", "complaint"),
    [
        (WithoutSync, "lost|no file"),
        (WithoutDirectorySync, "no file"),
        (WithoutBackup, "not kept"),
        (WithoutRename, "lost"),
        (ForgetfulRecorder, "lost"),
    ],
)
def test_the_crash_proof_notices_a_missing_precaution(quick_path, mutant, complaint):
    with pytest.raises(AssertionError, match=complaint):
        prove_crashes(quick_path, mutant, durability="fsync", records=2)


def test_the_crash_proof_notices_a_publication_that_drops_the_old_name_too_early(quick_path):
    class Hasty(Recorder):
        """Syncs the directories of a publication only at its end."""

        waiting = False

        def link(self, source, target):
            super().link(source, target)
            self.waiting = "backups" not in target

        def unlink(self, path):
            super().unlink(path)
            self.waiting = False

        def fsync(self, descriptor):
            if not self.waiting:
                super().fsync(descriptor)

    with pytest.raises(AssertionError, match="no file"):
        prove_crashes(quick_path, Hasty, durability="fsync", records=2)


def test_the_crash_proof_notices_a_fragment_that_was_not_kept(quick_path, monkeypatch):
    monkeypatch.setattr(
        "branchline.log.appender.keep_fragment",
        lambda path, offset, fragment, system: TornTail(offset, len(fragment), None),
    )

    with pytest.raises(AssertionError, match="not kept"):
        prove_crashes(quick_path, Recorder, durability="fsync", records=2)


def test_the_failure_proof_notices_a_missing_roll_back(tmp_path):
    class WithoutRollBack(Faulty):
        def _real(self, name, *arguments):
            return None if name == "ftruncate" else super()._real(name, *arguments)

    with pytest.raises(AssertionError, match="the file has changed"):
        prove_failures(
            tmp_path, WithoutRollBack, lasting=False, durability="fsync", kinds=["short write then ENOSPC"]
        )


def test_the_failure_proof_notices_a_roll_back_that_gives_up(tmp_path, monkeypatch):
    """Without a memory of the bytes in doubt, what a dead disk left behind stays in the file."""
    monkeypatch.setattr("branchline.log.appender._UncertainTail", lambda start, payload: None)
    monkeypatch.setattr(
        "branchline.log.appender.Appender._roll_back", lambda self: "it may or may not be there"
    )

    with pytest.raises(AssertionError, match="something else than what was saved"):
        prove_failures(tmp_path, Faulty, lasting=True, durability="fsync", kinds=["EIO"])


def test_the_failure_proof_notices_a_short_write_taken_for_a_whole_one(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "branchline.log.appender.write_all",
        lambda system, descriptor, data: system.write(descriptor, data),
    )

    with pytest.raises(AssertionError):
        prove_failures(tmp_path, Faulty, lasting=False, durability="fsync", kinds=["short write"])


def test_the_proof_with_a_foreign_writer_notices_a_missing_append_flag(tmp_path):
    class WithoutAppend(Unsynced):
        def open(self, path, flags, mode=0o777):
            descriptor = SYSTEM.open(path, flags & ~os.O_APPEND, mode)
            if flags & os.O_APPEND:
                os.lseek(descriptor, 0, os.SEEK_END)
            return descriptor

    with pytest.raises(AssertionError):
        prove_foreign_writer(tmp_path, WithoutAppend())


def test_the_proof_of_exclusion_notices_a_missing_lock(tmp_path):
    class WithoutLock(System):
        def flock(self, descriptor, operation):
            pass

    with pytest.raises(AssertionError, match="two writers held the lock at once"):
        prove_exclusion(tmp_path, WithoutLock())


def test_the_tail_proof_notices_a_missing_repair(tmp_path):
    class Forgetful(Unsynced):
        def pread(self, descriptor, size, offset):
            return b"\n" if size == 1 else SYSTEM.pread(descriptor, size, offset)

    with pytest.raises(AssertionError):
        prove_tail(tmp_path, Forgetful())


def test_the_tail_proof_notices_a_torn_line_taken_for_a_complete_one(tmp_path, monkeypatch):
    monkeypatch.setattr("branchline.log.appender.Appender._torn_tail", lambda self, size: None)

    with pytest.raises((AssertionError, AttributeError)):
        prove_tail(tmp_path, Unsynced())
