"""Opening a long session of zot or piglet costs about what opening a native one costs."""

from __future__ import annotations

import pytest

from formats import big_files


@pytest.mark.slow
def test_a_session_of_105_megabytes_opens_nearly_as_fast_as_a_native_one(tmp_path):
    for make in (big_files.native, big_files.zot, big_files.piglet):
        make(tmp_path / f"{make.__name__}.jsonl")

    seconds, entries = big_files.opening(tmp_path / "native.jsonl")
    zot_seconds, zot_entries = big_files.opening(tmp_path / "zot.jsonl")
    piglet_seconds, _ = big_files.opening(tmp_path / "piglet.jsonl")

    print(f"native {seconds:.3f} s, zot {zot_seconds:.3f} s, piglet {piglet_seconds:.3f} s")
    assert piglet_seconds < 1.5 * seconds
    # zot has a row of its own for what an answer spent, so the same bytes are more entries.
    assert zot_seconds / zot_entries < 1.5 * seconds / entries
