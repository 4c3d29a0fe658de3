"""Markdown is cut into blocks while it is written, wherever its pieces end, and no word is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from branchline.chat.markdown_stream import MarkdownStream

LINES = st.lists(
    st.sampled_from(
        ["", "words", "# head", "- item", "  more", "1. one", "```", "```py", "~~~", "| a | b |", "> said"]
    ),
    max_size=30,
)


def cut(text: str, pieces: list[str]) -> list[str]:
    blocks = MarkdownStream()
    found: list[str] = []
    for piece in pieces:
        found += blocks.feed(piece)
    last = blocks.finish()
    return [*found, last] if last else found


def words(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


@given(LINES, st.integers(min_value=1, max_value=7))
def test_no_line_is_lost_and_the_pieces_do_not_matter(lines, size):
    text = "\n".join(lines)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]

    found = cut(text, pieces)

    assert found == cut(text, [text])
    assert [line for block in found for line in words(block)] == words(text)


def test_a_block_is_finished_when_another_one_begins():
    blocks = MarkdownStream()

    assert blocks.feed("first\nstill first\n\n") == []
    assert blocks.feed("second\n") == ["first\nstill first"]
    assert blocks.rest == "second\n"


def test_code_stays_whole_with_its_empty_lines():
    text = "```\none\n\ntwo\n```\n\nafter\n"

    assert cut(text, [text]) == ["```\none\n\ntwo\n```", "after"]


def test_a_longer_fence_is_not_closed_by_a_shorter_one():
    text = "````\n```\n\nx\n````\n\nafter\n"

    assert cut(text, [text]) == ["````\n```\n\nx\n````", "after"]


def test_a_list_with_empty_lines_between_stays_whole():
    text = "1. one\n\n2. two\n\n   more of two\n\nafter\n"

    assert cut(text, [text]) == ["1. one\n\n2. two\n\n   more of two", "after"]
