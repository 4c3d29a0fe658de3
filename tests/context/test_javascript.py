"""Lengths and JSON text match JavaScript."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.context.javascript import number_text, stringify, trim, utf16_cut, utf16_length


def values(integers):
    return st.recursive(
        st.one_of(
            st.none(), st.booleans(), integers, st.floats(allow_nan=False, allow_infinity=False), st.text()
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.one_of(st.text(max_size=3), st.integers(0, 20).map(str)), inner, max_size=4),
        ),
        max_leaves=12,
    )


VALUES = values(st.integers())
SAFE = values(st.integers(-(2**53), 2**53))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (-1.5, "-1.5"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1.5e-7, "1.5e-7"),
        (0.000001, "0.000001"),
        (12345678901234567890, "12345678901234567890"),
        (12345678901234567890.0, "12345678901234567000"),
        (2**53, "9007199254740992"),
        (10**400, "Infinity"),
        (5e-324, "5e-324"),
    ],
)
def test_numbers_are_written_as_javascript_writes_them(number, text):
    assert number_text(number) == text


def test_keys_that_are_whole_numbers_come_first():
    assert stringify({"b": 1, "10": 2, "9": 3, "01": 4}) == '{"9":3,"10":2,"b":1,"01":4}'


def test_text_is_escaped_only_where_it_must_be():
    assert stringify('ü\u2028 😀 "\\\x01\n\ud800') == '"ü\u2028 😀 \\"\\\\\\u0001\\n\\ud800"'


def test_what_json_cannot_hold_is_null():
    assert stringify([float("nan"), float("inf"), 10**400]) == "[null,null,null]"


def test_depth_does_not_matter():
    value: list = []
    for _ in range(10_000):
        value = [value]

    assert len(stringify(value)) == 20_002


def test_lengths_count_utf16_units():
    assert [utf16_length(text) for text in ("abc", "ünï", "😀", "\ud800")] == [3, 3, 2, 1]


def test_half_a_character_is_never_cut_off():
    assert utf16_cut("a😀b", 2) == "a"
    assert utf16_cut("a😀b", 3) == "a😀"


@given(value=VALUES)
def test_the_text_is_json_for_the_same_value(value):
    """Law: numbers may lose what a double cannot hold, nothing else changes."""

    def as_doubles(item):
        if isinstance(item, int) and not isinstance(item, bool):
            return float(item)
        if isinstance(item, list):
            return [as_doubles(member) for member in item]
        if isinstance(item, dict):
            return {key: as_doubles(member) for key, member in item.items()}
        return item

    assert as_doubles(json.loads(stringify(value))) == as_doubles(value)


@given(values=st.lists(SAFE, min_size=20, max_size=60))
@settings(max_examples=5, deadline=None)
def test_node_writes_the_same_text(values):
    """The real thing, where it is installed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on this machine")
    script = (
        "const read=require('fs').readFileSync(0,'utf8');"
        "console.log(JSON.stringify(JSON.parse(read).map(v=>[JSON.stringify(v),JSON.stringify(v).length])))"
    )
    done = subprocess.run(
        [node, "-e", script], input=json.dumps(values), capture_output=True, text=True, check=True
    )

    expected = json.loads(done.stdout)

    assert [[stringify(value), utf16_length(stringify(value))] for value in values] == expected


def test_blanks_at_the_ends_of_a_text_are_those_of_javascript():
    assert trim("\ufeff\u00a0 a \ufeffb\u2028\ufeff") == "a \ufeffb"
    assert trim("\x1ca\x85") == "\x1ca\x85"
