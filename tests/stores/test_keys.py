"""Foreign ids as keys: any text, reversible, and without collisions."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.errors import InvalidId
from branchline.stores import check_key, key_for, open_store, parts_of
from branchline.stores.files import FilesStore

PARTS = st.lists(st.text(st.characters(), max_size=30), min_size=1, max_size=4).map(tuple)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PARTS)
def test_every_text_gets_a_valid_key_and_comes_back_from_it(parts):
    key = key_for(*parts)

    assert check_key(key) == key
    assert len(key) <= 200
    if "~~" not in key:
        assert parts_of(key) == parts


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PARTS, PARTS)
def test_different_parts_have_different_keys(one, other):
    assert (key_for(*one) == key_for(*other)) == (one == other)


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        (("0199-ab",), "0199-ab"),
        (("user:42",), "user%3a42"),
        (("a/b",), "a%2fb"),
        (("app", "user", "s 1"), "app~user~s%201"),
        (("a~b",), "a%7eb"),
        (("-x",), "%2dx"),
        ((".hidden",), "%2ehidden"),
        (("",), "%"),
        (("a", ""), "a~%"),
        (("100%",), "100%25"),
    ],
)
def test_plain_ids_are_their_own_keys_and_others_stay_readable(parts, key):
    assert key_for(*parts) == key
    assert parts_of(key) == parts


def test_a_long_id_is_cut_and_ends_in_a_hash_that_no_other_id_has():
    one, other = key_for("x" * 5000), key_for("x" * 5001)

    assert one != other
    assert len(one) == 200
    assert one.startswith("xxx")
    with pytest.raises(InvalidId, match="hash"):
        parts_of(one)


@pytest.mark.parametrize("key", ["a%", "a%3A", "%zz", "%41", "-x", "%ff"])
def test_a_key_that_was_not_made_here_has_no_parts(key):
    with pytest.raises(InvalidId):
        parts_of(key)


def test_a_directory_names_a_store_of_files(tmp_path):
    (tmp_path / "really a directory.db").mkdir()

    assert isinstance(open_store(tmp_path), FilesStore)
    assert isinstance(open_store(f"{tmp_path}/really a directory.db"), FilesStore)
