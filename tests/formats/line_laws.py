"""Laws that hold for every line format, and a suite of them that a format derives from with files of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from branchline.context import build_context
from branchline.context.selection import model_of_answer
from branchline.formats import EntryLog, Format
from branchline.formats.integrity import check_log
from readings import facts, in_chunks_of

__all__ = [
    "CORRUPTIONS",
    "MANY",
    "SEPARATORS",
    "LineLaws",
    "alike_in_lists",
    "alike_in_pieces",
    "alike_when_grown",
    "alike_with_care",
    "open_all",
    "read_with",
]

CORRUPTIONS = (0x00, 0x0A, 0x22, 0x2C, 0x5C, 0x7D, 0xFF)
"""Bytes with a meaning in JSON or as line ends, and two that are never valid."""
SEPARATORS = st.sampled_from([b"\n", b"\n", b"\n", b"\n", b"\r\n", b"", b" "])
MANY = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)


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
        patch.setattr(reader, "_take_chunk", lambda *arguments: False)
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
    """The model that a list shows for an answer is the one that the decoded answer names."""
    opened = read_with(format_, data, name)
    for position, role in enumerate(opened.tree.roles):
        if role == "assistant" and opened.tree.types[position] == "message":
            assert opened.answer_model(position) == model_of_answer(opened, position)


class LineLaws:
    """How a format reads files of any shape, its samples, and damaged ones."""

    format: ClassVar[Format]
    reader: ClassVar[type[Any]]
    name: ClassVar[str]
    """A file name like the agent's."""
    files: ClassVar[st.SearchStrategy[bytes]]
    """Files of any shape."""
    samples: ClassVar[Sequence[Path]] = ()
    unstable_samples: ClassVar[frozenset[str]] = frozenset()
    """Samples whose reading depends on the whole file, so that they cannot be read while they grow."""
    other_lines: ClassVar[int] = 0
    """The number of lines in :meth:`small_file` that are not entries."""

    def small_file(self) -> bytes:
        """Return a short file, which is truncated at every byte."""
        raise NotImplementedError

    def file_to_corrupt(self) -> bytes:
        """Return a short file in which every byte is changed."""
        return self.small_file()

    def check(self, found: EntryLog) -> None:
        """Check more about a file of any shape."""

    def is_stable(self, data: bytes) -> bool:
        """Return whether later lines cannot change how earlier ones are read."""
        del data
        return True

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "sample" in metafunc.fixturenames:
            metafunc.parametrize("sample", self.samples, ids=lambda path: path.stem[-20:])

    @MANY
    @given(st.data())
    def test_any_file_opens_and_everything_in_it_can_be_looked_at(self, data: st.DataObject) -> None:
        self.check(open_all(self.format, data.draw(self.files), self.name))

    @MANY
    @given(st.data())
    def test_any_file_is_read_alike_fast_and_with_care(self, data: st.DataObject) -> None:
        alike_with_care(self.format, self.reader, data.draw(self.files), self.name)

    @MANY
    @given(st.data())
    def test_any_file_has_the_same_row_in_a_list_as_when_it_is_opened(self, data: st.DataObject) -> None:
        alike_in_lists(self.format, data.draw(self.files), self.name)

    @MANY
    @given(st.data(), st.integers(1, 300))
    def test_any_file_is_read_alike_in_pieces_of_any_size(self, data: st.DataObject, size: int) -> None:
        alike_in_pieces(self.format, data.draw(self.files), self.name, [size])

    @MANY
    @given(st.data(), st.lists(st.integers(0, 2000), max_size=4))
    def test_any_file_is_read_alike_when_it_grows(self, data: st.DataObject, splits: list[int]) -> None:
        content = data.draw(self.files)
        assume(self.is_stable(content))

        alike_when_grown(self.format, content, self.name, splits)

    def test_a_sample_is_read_alike_however_its_bytes_arrive(self, sample: Path) -> None:
        data = sample.read_bytes()

        alike_with_care(self.format, self.reader, data, str(sample))
        alike_in_lists(self.format, data, str(sample))
        alike_in_pieces(self.format, data, str(sample), (1, 7, 64, 255, 1000, 4096))
        if sample.stem not in self.unstable_samples:
            alike_when_grown(self.format, data, str(sample), range(0, len(data), 97))

    def test_every_truncation_opens_and_is_reported_unless_it_falls_between_lines(self) -> None:
        data = self.small_file()

        for size in range(len(data)):
            found = open_all(self.format, data[:size], self.name)
            assert len(found.tree) >= data[:size].count(b"\n") - self.other_lines, size
            assert not size or found.findings or data[size - 1 : size] == b"\n", size

    def test_every_corruption_of_one_byte_opens_and_costs_two_entries_at_most(self) -> None:
        data = self.file_to_corrupt()
        entries = len(read_with(self.format, data, self.name).tree)

        for place in range(len(data)):
            for byte in CORRUPTIONS:
                found = open_all(self.format, data[:place] + bytes([byte]) + data[place + 1 :], self.name)
                assert len(found.tree) >= entries - 2, (place, byte)
