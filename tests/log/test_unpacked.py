"""The log of unpacked content: read like any other, never appended to."""

from __future__ import annotations

import os
import stat

import pytest

from branchline.errors import LogError, ReadOnly
from branchline.log import DecompressedLog, Spool

CONTENT = b'{"line":1}\n{"line":2}\n'
MIB = 1 << 20


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "log.packed"
    path.write_bytes(b"packed")
    return path


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_offsets_and_sizes_are_those_of_the_content(packed):
    with DecompressedLog(packed, Spool([CONTENT[:5], CONTENT[5:]])) as log:
        assert (log.size(), log.name) == (len(CONTENT), str(packed))
        assert log.read(0, 1000) == CONTENT
        assert log.read(11, 4) == CONTENT[11:15]
        assert log.read(1000, 1) == b""
        with pytest.raises(ValueError, match="cannot read"):
            log.read(-1, 1)


def test_it_cannot_be_appended_to(packed):
    before = packed.read_bytes()

    with DecompressedLog(packed, Spool([CONTENT])) as log, pytest.raises(ReadOnly), log.exclusive():
        pass

    assert packed.read_bytes() == before


def test_large_content_is_in_a_private_file_that_no_directory_shows(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = open_files()

    spool = Spool(bytes([number]) * MIB for number in range(10))

    assert os.listdir(tmp_path) == []
    assert stat.S_IMODE(os.fstat(spool._descriptor).st_mode) == 0o600
    assert (spool.size(), spool.read(3 * MIB - 1, 2)) == (10 * MIB, b"\x02\x03")
    spool.close()
    assert open_files() == before


@pytest.mark.parametrize("in_memory", [10 * MIB, 5 * MIB, MIB], ids=["memory", "both", "file"])
@pytest.mark.parametrize("piece", [100_003, 3 * MIB + 1, 9 * MIB + 7])
def test_any_range_of_large_content_is_read_wherever_it_is_kept(in_memory, piece):
    content = (bytes(range(251)) * (10 * MIB // 251))[: 9 * MIB + 7]

    spool = Spool((content[start : start + piece] for start in range(0, len(content), piece)), in_memory)

    assert spool.size() == len(content)
    for start in (0, 1, 4 * MIB - 1, 4 * MIB, 8 * MIB - 5, len(content) - 1, len(content)):
        for size in (0, 1, 10, 5 * MIB, len(content)):
            assert spool.read(start, size) == content[start : start + size]


def test_content_that_breaks_off_leaves_no_file_open():
    def pieces():
        yield bytes(8 * MIB)
        raise ValueError("no more")

    before = open_files()

    with pytest.raises(ValueError, match="no more"):
        Spool(pieces())

    assert open_files() == before


def test_a_directory_that_cannot_be_written_is_named_as_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))

    with pytest.raises(LogError, match="cannot create a temporary file"):
        Spool([bytes(8 * MIB)])
