"""Long lines are broken to the width; nothing is lost but the blank at a break."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from branchline.views.spans import Span, line_text, line_width, make_line
from branchline.views.text import safe, width
from branchline.views.wrap import text_lines, wrap_line

WORDS = st.text(alphabet=st.sampled_from("ab cde f é漢字🙂 \u0301"), max_size=80)


@given(WORDS, st.integers(4, 30))
@example("\u0301 aaaa字", 5)  # what stands before the blank takes no room
def test_every_line_fits_and_all_characters_but_blanks_are_kept_in_order(text: str, columns: int) -> None:
    lines = text_lines(text, columns)

    assert all(width(line_text(line)) <= columns for line in lines)
    assert "".join(map(line_text, lines)).replace(" ", "") == safe(text).replace(" ", "")


@given(st.lists(st.tuples(WORDS, st.sampled_from(["user", "dim"])), max_size=5), st.integers(8, 40))
def test_a_line_of_spans_keeps_its_roles_when_it_is_broken(
    pieces: list[tuple[str, str]], columns: int
) -> None:
    line = make_line(*(Span(text, role) for text, role in pieces))  # type: ignore[arg-type]

    wrapped = wrap_line(line, columns, indent=2)

    assert all(line_width(part) <= columns for part in wrapped)
    seen = [(letter, role) for part in wrapped for text, role in part for letter in text if letter != " "]
    meant = [(letter, role) for text, role in pieces for letter in safe(text) if letter != " "]
    assert [item for item in seen if item[1] != "plain"] == meant


def test_lines_break_between_words() -> None:
    assert [line_text(line) for line in text_lines("one two three four", 9)] == ["one two", "three", "four"]


def test_a_megabyte_in_one_line_is_broken_in_one_pass() -> None:
    assert len(text_lines("x" * 1_000_000, 100)) == 10_000
