"""Where parts of different height begin: the same answers as adding up, however heights change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from branchline.views.browser.height_index import HeightIndex


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(1, 30))),
)
def test_starts_and_lines_are_those_of_adding_up_after_any_changes(
    guesses: list[int], changes: list[tuple[int, int]]
) -> None:
    heights, plain = HeightIndex(guesses), list(guesses)

    for part, height in changes:
        heights[part % len(plain)] = height
        plain[part % len(plain)] = height

    assert heights.total == sum(plain)
    assert [heights.start(part) for part in range(len(plain))] == [
        sum(plain[:part]) for part in range(len(plain))
    ]
    lines = [(part, line) for part, height in enumerate(plain) for line in range(height)]
    assert [heights.at(line) for line in range(len(lines))] == lines
    assert heights.at(1 << 30) == lines[-1]
    assert heights.at(-5) == (0, 0)
