"""Odd sessions: a model sees the same conversation after a conversion, or the report says what is different."""

from __future__ import annotations

from branchline.conversion import convert
from branchline.formats import PI
from formats.conversion_kit import HEADER, TARGETS, read
from formats.odd_sessions import ODD_SESSIONS


def test_of_two_results_of_a_call_the_last_one_is_kept():
    made = convert(read(ODD_SESSIONS["a second result"], PI), TARGETS["qwen"], HEADER)

    assert [(note.kind, note.why) for note in made.fidelity.lost] == [
        ("tool result", "a later result of the same call replaces it")
    ]


def test_a_result_of_no_call_costs_the_others_nothing():
    made = convert(read(ODD_SESSIONS["a result of no call among others"], PI), TARGETS["qwen"], HEADER)

    assert [len(note.entries) for note in made.fidelity.approximated if note.kind == "tool result"] == [1]
    assert not made.fidelity.lost
