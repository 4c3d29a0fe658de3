"""Conformance suite for formats: derive from :class:`FormatContract` and run it with pytest.

.. code-block:: python

    class TestTiny(FormatContract):
        format = TINY

        def samples(self):
            return {"talk.jsonl": Path("talk.jsonl").read_bytes()}

A sample is the content of one file, by its path, which may matter to a reader. Documents are joined to lines
as :class:`DocumentFiles` says, with the companion files that are among the samples. The suite damages samples
in every way that happens to files and expects that nothing raises and that other lines are not affected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from branchline.context.selection import model_of_answer
from branchline.entries import Entry, Header, MessageEntry, UnknownMessage, message_text
from branchline.errors import NotASession, NotSupported
from branchline.formats.common.json_documents import BytesContent
from branchline.formats.entry_log import EntryLog
from branchline.formats.integrity import check_log
from branchline.formats.protocol import DocumentFiles, Format

__all__ = ["FormatContract"]

_CORRUPTIONS = (0x00, 0x0A, 0x22, 0x2C, 0x5C, 0x7D, 0xFF)
"""Bytes with a meaning in JSON or as line ends, and two that are never valid."""
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**400, 1e300, float("nan"), float("-inf"), "", " ", "x", "\ud800", "a\x00b",
    "a\nb\u2028c", "\x1b]0;x\x07", "../../etc/passwd", "9999-12-31T23:59:59.999-23:59", "5", [], {}, [None],
    [0, 1.5], ["x", ""], [[[]]], [{}, {"type": 5}], {"type": [], "id": {}, "text": 1, "content": {"a": 1}},
)  # fmt: skip
"""The values put into fields."""
_NOT_OURS = (
    b"",
    b"\n\n",
    b"plain text\n",
    b"[1,2,3]\n",
    b'{"a":1}\n',
    b'{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n',
    b'{"type":"event","id":"e1","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}\n',
)
_HEADER = Header(
    id="01990000-0000-4000-8000-000000000001", timestamp="2030-01-01T00:00:00.000Z", cwd="/home/me/project"
)


class FormatContract:
    """What :class:`branchline.formats.Format` promises."""

    format: Format
    """The format under test."""
    places = 60
    """The maximum number of positions damaged in each sample; more take longer."""

    def samples(self) -> Mapping[str, bytes]:
        """Return the content of some session files, and of their companion files, by path."""
        raise NotImplementedError("override this in a subclass to return sample files")

    def sessions(self) -> Mapping[str, bytes]:
        """Return the lines of each sample that is a session, as the reader is given them."""
        samples, documents = self.samples(), self.format.documents
        if documents is None:
            return samples
        known = [path for path in samples if documents.recognizes(path)]
        companions = {other for path in known for other in documents.companions(path)}
        return {
            path: _joined(documents, path, samples) if path in known else data
            for path, data in samples.items()
            if path in known or path not in companions
        }

    # -- whole files ----------------------------------------------------------------------------------

    def test_its_files_are_recognized(self) -> None:
        """A file is recognized by its beginning, even if that ends in the middle of a line."""
        for path, data in self.sessions().items():
            assert self.format.reader.sniff(data[: 1 << 16], path), path
            assert self.format.reader.sniff(data[: max(len(data.split(b"\n", 1)[0]) + 40, 400)], path), path

    def test_files_of_others_are_not(self) -> None:
        """Nothing that merely looks like JSON or like another agent's session is accepted."""
        for head in _NOT_OURS:
            if self.format.traits.native_entries and b'"type":"session"' in head:
                continue
            assert not self.format.reader.sniff(head, "file.jsonl"), head

    def test_every_entry_decodes_and_has_its_place(self) -> None:
        """Ids are unique, parents exist, the leaf exists, and the session has an id."""
        for path, data in self.sessions().items():
            log = self._opened(data, path)
            tree = log.tree

            records = self._records(log)

            assert len(tree), path
            assert len(set(tree.keys)) == len(tree.keys)
            assert all(record.parent is None or record.parent in tree for record in records)
            assert -1 <= log.reading.leaf < len(tree)
            assert log.reading.header is not None
            assert log.reading.header.id, path

    def test_types_and_roles_are_those_of_the_records(self) -> None:
        """The tree and the decoded entry agree about type and role."""
        for path, data in self.sessions().items():
            log = self._opened(data, path)
            for position, record in enumerate(self._records(log)):
                if log.tree.types[position] == "message":
                    assert isinstance(record, MessageEntry), path
                    assert record.message.role == log.tree.roles[position], path

    def test_lists_agree_with_opens(self) -> None:
        """Header and model read from the beginning of a file are those of the whole file."""
        for path, data in self.sessions().items():
            log = self._opened(data, path)
            header = self.format.reader.peek(data, path, whole=True)

            assert header is not None
            assert log.reading.header is not None
            assert header.id == log.reading.header.id
            assert header.cwd == log.reading.header.cwd
            for position, role in enumerate(log.tree.roles):
                if role == "assistant" and log.tree.types[position] == "message":
                    assert log.answer_model(position) == model_of_answer(log, position)

    def test_an_unfinished_document_is_refused_or_read_as_far_as_it_goes(self) -> None:
        """A document that is truncated or damaged anywhere raises nothing but NotASession."""
        samples, documents = self.samples(), self.format.documents
        for path, data in samples.items():
            if documents is None or not documents.recognizes(path):
                continue
            step = max(len(data) // self.places, 1)
            for place in range(0, len(data), step):
                for damaged in (data[:place], data[:place] + b"\0" + data[place + 1 :]):
                    try:
                        lines = _joined(documents, path, {**samples, path: damaged})
                    except NotASession:
                        continue
                    self._records(self._opened(lines, path))

    def test_its_homes_are_absolute_and_open_nothing(self) -> None:
        """Session locations depend only on the environment."""
        roots = self.format.home.roots({}, "/home/me")

        assert roots
        assert all(root.startswith("/") for root in roots)
        assert roots == self.format.home.roots({}, "/home/me")

    # -- files that grow ------------------------------------------------------------------------------

    def test_a_file_that_grew_is_read_like_one_that_was_there_at_once(self) -> None:
        """Reading a file in two steps gives the same result as reading it at once."""
        for path, data in self.sessions().items():
            whole = _shape(self._opened(data, path))
            file = _Growing(data)
            log = EntryLog(self.format, file.read, path)
            for place in [*self._offsets(data), len(data)]:
                file.size = place
                log.catch_up()

            assert _shape(log) == whole, path

    # -- damage ---------------------------------------------------------------------------------------

    def test_a_lost_line_costs_that_line(self) -> None:
        """Other lines are still readable, and the damage is reported."""
        for path, data in self.sessions().items():
            lines = data.split(b"\n")
            numbers = _numbers(self._opened(data, path))
            for index in self._some(len(lines) - 1):
                damaged = b"\n".join([*lines[:index], b'{"half a', *lines[index + 1 :]])

                log = self._opened(damaged, path)

                lost = numbers - _numbers(log)
                assert lost <= {index + 1} or (index == 0 and lost < numbers), (path, index + 1, lost)
                assert log.findings, (path, index + 1)
                self._records(log)

    def test_no_byte_makes_it_fail(self) -> None:
        """With one wrong byte anywhere, everything still opens and decodes."""
        for path, data in self.sessions().items():
            for number, place in enumerate(self._offsets(data)):
                damaged = bytearray(data)
                damaged[min(place, len(data) - 1)] = _CORRUPTIONS[number % len(_CORRUPTIONS)]
                log = self._opened(bytes(damaged), path)
                self._records(log)
                check_log(log)

    def test_no_end_makes_it_fail(self) -> None:
        """A file that ends anywhere opens, and its complete lines are read."""
        for path, data in self.sessions().items():
            for place in self._offsets(data):
                self._records(self._opened(data[:place], path))

    def test_no_value_in_any_field_makes_it_fail(self) -> None:
        """A value of the wrong type costs at most its line."""
        for path, data in self.sessions().items():
            lines = data.split(b"\n")
            for number, (index, line) in enumerate(_with_other_values(lines)):
                if number % max(1, _count_of_fields(lines) // (4 * self.places)):
                    continue
                damaged = b"\n".join([*lines[:index], line, *lines[index + 1 :]])
                log = self._opened(damaged, path)
                self._records(log)
                check_log(log)

    # -- writing --------------------------------------------------------------------------------------

    def test_what_is_written_is_read_back(self) -> None:
        """The messages of a path, written to a new file, read back the same."""
        writer = self.format.writer
        if writer is None:
            return
        for path, data in self.sessions().items():
            log = self._opened(data, path)
            leaf = log.tree.nearest_conversation_entry(log.reading.leaf)
            forked = writer.fork(log, leaf, _HEADER)

            copy = self._opened(forked, self.format.home.file_key(_HEADER) + self.format.traits.suffix)

            there = iter(_messages(copy))
            for role, text in _messages(log):
                assert any(who == role and found.startswith(text) for who, found in there), (path, text)

    def test_a_refusal_writes_nothing(self) -> None:
        """Anything that a format cannot store raises NotSupported before anything is written."""
        writer = self.format.writer
        if writer is None:
            return
        data = writer.encode_header(_HEADER)
        log = self._opened(data, self.format.home.file_key(_HEADER) + self.format.traits.suffix)
        strange = MessageEntry(
            id="strange",
            timestamp=_HEADER.timestamp,
            message=UnknownMessage(role="nobody", fields={"role": "nobody"}),
        )
        try:
            written = writer.encode([strange], log.reading)
        except (NotSupported, ValueError):
            return
        assert written.endswith(b"\n")

    # -- tools ----------------------------------------------------------------------------------------

    def _opened(self, data: bytes, path: str) -> EntryLog:
        return EntryLog(self.format, lambda offset, size: data[offset : offset + size], path)

    def _records(self, log: EntryLog) -> list[Entry]:
        records = log.entries(range(len(log.tree)))
        assert [record.id for record in records] == log.tree.keys
        return records

    def _offsets(self, data: bytes) -> list[int]:
        """Return offsets in a file, in order, including some line ends, which matter most."""
        ends = [place for place, byte in enumerate(data) if byte == 0x0A]
        return sorted({*(round(len(data) * part / self.places) for part in range(self.places)), *ends[:20]})

    def _some(self, count: int) -> range:
        return range(0, count, max(1, count // self.places))


class _Growing:
    """A growing prefix of some data."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = 0

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : min(offset + size, self.size)]


def _shape(log: EntryLog) -> tuple[Any, ...]:
    tree = log.tree
    reading = log.reading
    return (
        list(tree.keys),
        list(tree.parents),
        list(tree.types),
        list(tree.roles),
        log.leaf,
        reading.title,
        reading.header,
        [reading.span(position) for position in range(len(tree))],
    )


def _joined(documents: DocumentFiles, path: str, samples: Mapping[str, bytes]) -> bytes:
    return b"".join(documents.lines(BytesContent(samples[path]), path, samples.get))


def _numbers(log: EntryLog) -> set[int]:
    """Return the numbers of the lines that hold entries."""
    return {log.reading.line_of(position) for position in range(len(log.tree))}


def _messages(log: EntryLog) -> list[tuple[str, str]]:
    """Return role and text of each message on the active path."""
    path = log.tree.path_positions(log.tree.nearest_conversation_entry(log.reading.leaf))
    return [
        (entry.message.role, message_text(entry.message))
        for entry in log.entries(path)
        if isinstance(entry, MessageEntry)
    ]


def _count_of_fields(lines: list[bytes]) -> int:
    return sum(line.count(b'":') for line in lines) * 2 + len(lines)


def _with_other_values(lines: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield lines with another value in one of their fields, or without it."""
    turn = 0
    for index, line in enumerate(lines):
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        for inside, key in list(_places(fields)):
            turn += 1
            kept = inside[key]
            inside[key] = _VALUES[turn % len(_VALUES)]
            yield index, json.dumps(fields).encode()
            if isinstance(inside, dict):
                del inside[key]
                yield index, json.dumps(fields).encode()
            inside[key] = kept


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every field and item of a value, at any depth, as container and key."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        keys = (
            list(found) if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
        )
        for key in keys:
            yield found, key
            waiting.append(found[key])
