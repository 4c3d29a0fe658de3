"""Ids are shown as short as they can be and still name one entry."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from branchline.views.short_ids import short_ids


def test_random_ids_are_told_apart_by_eight_signs():
    keys = ["1f0c9a3be44d2a10", "9d0c9a3be44d2a10"]

    assert list(short_ids(keys, keys).values()) == ["1f0c9a3b", "9d0c9a3b"]


def test_ids_that_begin_with_the_time_are_shown_up_to_where_they_differ():
    keys = ["01M7F1QNCCTBAR9NF6KYBXS1VT", "01M7F1QNCHZC309CMEEY9244HS", "01M7F1QNCP9QE477D9M60Y0059"]

    assert list(short_ids(keys, keys).values()) == ["01M7F1QNCC", "01M7F1QNCH", "01M7F1QNCP"]


def test_an_id_that_others_go_on_from_is_shown_whole():
    keys = ["09710175", "09710175.1"]

    assert short_ids(keys, keys) == {"09710175": "09710175", "09710175.1": "09710175."}


@given(st.sets(st.text("ab", min_size=8, max_size=14), min_size=1))
def test_what_is_shown_begins_one_id_only_or_is_one(keys):
    for key, shown in short_ids(keys, keys).items():
        assert key.startswith(shown)
        assert shown == key or [other for other in keys if other.startswith(shown)] == [key]
