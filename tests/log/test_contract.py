"""File and memory logs pass the contract that ships with the package; a log that breaks it is caught."""

import pytest

from branchline.log import FileLog, MemoryLog
from branchline.log.memory import MemoryWriter
from branchline.stores.conformance import LogContract


class TestFileLog(LogContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.path = tmp_path / "log.jsonl"

    def make_log(self, data: bytes, **options) -> FileLog:
        self.path.write_bytes(data)
        return FileLog(self.path, durability="os", **options)


class TestMemoryLog(LogContract):
    def make_log(self, data: bytes, **options) -> MemoryLog:
        return MemoryLog(data, **options)


class _GlueWriter(MemoryWriter):
    """Appends right behind whatever is there."""

    def append(self, data: bytes) -> int:
        offset = len(self._data)
        self._data += data
        return offset


def test_a_log_that_glues_a_torn_line_to_the_next_record_fails_the_contract(monkeypatch):
    monkeypatch.setattr("branchline.log.memory.MemoryWriter", _GlueWriter)
    contract = TestMemoryLog()

    contract.test_an_append_returns_the_offset_where_its_data_begins()

    for broken in (
        contract.test_a_torn_last_line_is_closed_before_the_next_one_and_reported_once,
        contract.test_a_complete_last_line_without_its_newline_is_kept_as_a_line,
        contract.test_a_writer_cannot_append_after_its_block,
        contract.test_data_that_is_not_whole_lines_is_refused_and_nothing_is_written,
    ):
        with pytest.raises(AssertionError):
            broken()
