"""Whenever the power fails, what was acknowledged is on the disk, and the next line stands alone.

With durability "os" an acknowledged line may be lost to a power cut, but not what was created, published or
rewritten, and never by being fused with another line.
"""

import pytest

from log.crash import Cut, Data, Name, Promise, Recorder, Sync, states
from log.proofs import prove_crashes


@pytest.mark.parametrize(("durability", "records"), [("fsync", 8), ("os", 4)])
def test_nothing_that_was_promised_is_missing_in_any_state_that_a_power_cut_may_leave(
    quick_path, durability, records
):
    count = prove_crashes(quick_path, Recorder, durability=durability, records=records)

    assert count >= 10_000


def test_the_model_knows_that_a_write_without_a_sync_may_be_absent_partial_or_full_of_zeros():
    events = [Name(0, (("s", 1),)), Sync(0), Data(1, 0, b"old\n"), Sync(1), Data(1, 4, b"new\n")]

    contents = {dict(tree).get("s") for tree, _ in states(events)}

    assert {b"", b"old\n", b"old\nn", b"old\nne", b"old\nnew", b"old\nnew\n", b"old\n\0\0\0\0"} <= contents


def test_the_model_knows_that_a_name_without_a_sync_may_be_absent():
    events = [Name(0, (("a", 1),)), Data(1, 0, b"x"), Sync(1), Name(0, (("b", 1),)), Name(0, (("a", None),))]

    trees = {tuple(dict(tree)) for tree, _ in states(events)}

    assert trees == {(), ("a",), ("b",), ("a", "b")}


def test_the_model_keeps_what_was_synced():
    events = [
        *(Name(0, (("a", 1),)), Data(1, 0, b"xyz"), Cut(1, 1), Sync(1), Sync(0)),
        *(Promise(("a",), ()), Name(0, (("a", None), ("b", 1)))),
    ]

    trees = {tree for tree, promise in states(events) if promise.paths}

    assert trees == {(("a", b"x"),), (("b", b"x"),)}
