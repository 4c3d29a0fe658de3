"""File and memory stores pass the contracts that ship with the package."""

from __future__ import annotations

import pytest

from branchline.stores import FilesStore, MemoryStore
from branchline.stores.conformance import DraftContract, LoadContract, TrashContract


class TestFilesStore(DraftContract, TrashContract, LoadContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.directory = tmp_path / "not made yet" / "sessions"

    def make_store(self) -> FilesStore:
        return FilesStore(self.directory)


class TestMemoryStore(DraftContract, TrashContract, LoadContract):
    def make_store(self) -> MemoryStore:
        return MemoryStore()


def test_a_store_that_breaks_the_contract_is_caught():
    """The suite is not a formality: a store whose removal deletes fails it."""

    class Careless(MemoryStore):
        def remove(self, key, *, draft=False):
            found = super().remove(key, draft=draft)
            self._trash.clear()
            return found

    class Contract(TrashContract):
        def make_store(self):
            return Careless()

    with pytest.raises(AssertionError):
        Contract().test_what_was_removed_lies_in_the_trash()


def test_the_suite_needs_no_pytest(run_python):
    """Importing the suite must not import a test runner."""
    code = "import sys, branchline.stores.conformance; print(int('pytest' in sys.modules))"

    assert run_python(code).strip() == "0"
