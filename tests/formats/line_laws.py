"""Laws that hold for every format of lines, to be asked of one of them with files of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from branchline.context import build_context
from branchline.context.selection import model_of_answer
from branchline.formats import EntryLog, Format
from branchline.formats.integrity import check_log
from branchline.library.description import describe
from branchline.stores import StoredLog
from readings import facts, in_chunks_of

__all__ = [
    "CORRUPTIONS",
    "alike_in_lists",
    "alike_in_pieces",
    "alike_when_grown",
    "alike_with_care",
    "open_all",
    "read_with",
]

CORRUPTIONS = (0x00, 0x0A, 0x22, 0x2C, 0x5C, 0x7D, 0xFF)
"""Bytes that mean something to JSON or to lines, and two that never should be there."""


def read_with(format_: Format, data: bytes, name: str) -> EntryLog:
    return EntryLog(format_, lambda offset, size: data[offset : offset + size], name)


def open_all(format_: Format, data: bytes, name: str) -> EntryLog:
    """Read a file and look at everything in it; whatever is wrong with it, nothing raises."""
    found = read_with(format_, data, name)
    records = found.entries(range(len(found.tree)))
    assert [record.id for record in records] == found.tree.keys
    build_context(found, found.reading.leaf)
    check_log(found)
    return found


def alike_with_care(format_: Format, reader: type[Any], data: bytes, name: str) -> None:
    """The fast way and the careful way read a file alike."""
    fast = facts(read_with(format_, data, name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "takes_rows", lambda *arguments: False)
        careful = facts(read_with(format_, data, name))
    assert careful == fast


def alike_in_pieces(format_: Format, data: bytes, name: str, sizes: Iterable[int]) -> None:
    """A file is read alike however many bytes are read at a time."""
    whole = facts(read_with(format_, data, name))
    for size in sizes:
        with pytest.MonkeyPatch.context() as patch:
            in_chunks_of(patch, size)
            assert facts(read_with(format_, data, name)) == whole, size


def alike_when_grown(format_: Format, data: bytes, name: str, splits: Iterable[int]) -> None:
    """A file that grew while it was open is read like one that was there at once."""
    fresh = facts(read_with(format_, data, name))
    visible = 0
    read: Callable[[int, int], bytes] = lambda offset, size: data[offset : min(offset + size, visible)]  # noqa: E731
    found = EntryLog(format_, read, name)
    for split in [*sorted(splits), len(data)]:
        visible = min(split, len(data))
        found.catch_up()
    assert facts(found) == fresh


def alike_in_lists(format_: Format, data: bytes, name: str) -> None:
    """Any file can be listed and described, with the models that its answers name."""
    found = read_with(format_, data, name)
    assert describe(StoredLog("key", len(data), 0.0, name), found).entries == len(found.tree)
    for position, role in enumerate(found.tree.roles):
        if role == "assistant" and found.tree.types[position] == "message":
            assert found.answer_model(position) == model_of_answer(found, position)
