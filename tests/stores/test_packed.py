"""Limits on decompression: each one stops the stream as soon as it is exceeded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branchline.errors import NotSupported, TooLarge
from branchline.stores import Allowance

KIB, MIB = 1 << 10, 1 << 20
LIMIT = 64 * MIB
LINE = b"x" * 1999 + b"\n"


def endless(piece: bytes) -> Iterator[bytes]:
    """The same piece for ever."""
    while True:
        yield piece


def taken(pieces: Iterator[bytes]) -> int:
    """How many bytes come before the refusal, which is raised."""
    return sum(map(len, pieces))


@pytest.mark.parametrize(
    ("piece", "packed", "reason"),
    [
        (LINE * 50, 0, "it unpacks to more than 1 MiB from 0 bytes"),
        (LINE * 50, 10 * KIB, "it unpacks to more than 2 MiB from 10.2 kB"),
        (LINE * 50, 500 * KIB, "it unpacks to more than 16 MiB from 512.0 kB"),
        (LINE * 50, 3 * MIB, "it unpacks to more than 16 MiB from 3.1 MB"),
        (LINE * 50, 5 * MIB, "it unpacks to more than 20 MiB from 5.2 MB"),
        (LINE * 50, 20 * MIB, "it unpacks to more than 64 MiB;"),
        (b"{}\n" * 100, 0, "it unpacks to more than 1,024 lines from 0 bytes"),
        (b"[" * 100 + b"x" * 1900, 0, "it unpacks to more than 16,384 arrays and objects from 0 bytes"),
        (b"x" * 1000, 10 * MIB, "it unpacks to more than 1 MiB in one line;"),
    ],
)
def test_each_limit_is_told_with_the_way_out(piece, packed, reason):
    with pytest.raises(TooLarge) as refused:
        taken(Allowance(LIMIT).check(endless(piece), packed))

    assert reason in str(refused.value)
    assert "the setting max_unpacked (64 MiB)" in str(refused.value)
    assert isinstance(refused.value, NotSupported)


def test_no_more_is_unpacked_than_the_limit_and_one_piece():
    asked = 0

    def counted() -> Iterator[bytes]:
        nonlocal asked
        for piece in endless(LINE):
            asked += len(piece)
            yield piece

    with pytest.raises(TooLarge):
        taken(Allowance(LIMIT).check(counted(), 0))

    assert MIB < asked <= MIB + len(LINE)


def test_content_within_the_limits_passes_unchanged():
    pieces = [LINE * 50] * 10

    assert list(Allowance(LIMIT).check(iter(pieces), 0)) == pieces


def test_files_that_belong_together_share_what_is_allowed():
    allowance = Allowance(LIMIT)
    assert taken(allowance.check(iter([LINE] * 500), 0)) == 1_000_000

    with pytest.raises(TooLarge):
        taken(allowance.check(iter([LINE] * 500), 0))


def test_a_line_ends_where_the_next_piece_ends_it():
    pieces = [b"x" * 1000 + b"\n"] + [b"x" * 1000] * 100 + [b"\n"]

    assert taken(Allowance(LIMIT).check(iter(pieces * 10), MIB)) == 10 * sum(map(len, pieces))
