"""A compressed file is the log of its content: read like any other, never appended to."""

from __future__ import annotations

import os
import zlib

import pytest

from branchline.errors import NotSupported, ReadOnly
from branchline.log import DecompressedLog

CONTENT = b'{"line":1}\n{"line":2}\n'


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "log.packed"
    path.write_bytes(zlib.compress(CONTENT))
    return path


def test_offsets_and_sizes_are_those_of_the_content(packed):
    with DecompressedLog(packed, zlib.decompress) as log:
        assert (log.size(), log.name) == (len(CONTENT), str(packed))
        assert log.read(0, 1000) == CONTENT
        assert log.read(11, 4) == CONTENT[11:15]
        assert log.read(1000, 1) == b""
        with pytest.raises(ValueError, match="cannot read"):
            log.read(-1, 1)


def test_it_cannot_be_appended_to(packed):
    before = packed.read_bytes()

    with DecompressedLog(packed, zlib.decompress) as log, pytest.raises(ReadOnly), log.exclusive():
        pass

    assert packed.read_bytes() == before


def test_what_cannot_be_unpacked_says_which_file_and_holds_nothing_open(packed):
    def refuse(_data):
        raise NotSupported("it needs something")

    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with pytest.raises(NotSupported, match=f"cannot open {packed}: it needs something"):
        DecompressedLog(packed, refuse)

    assert (len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0) == before
