"""Lines of spans: filtered, measured, cut and filled, whatever is in them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.views.spans import (
    ROLES,
    Span,
    cut_line,
    line_text,
    line_width,
    make_line,
    pad_line,
    shown_line,
)
from branchline.views.text import one_line, safe

texts = st.text(
    st.one_of(st.sampled_from("a日👩\u200d💻\u0301\ufe0f❤🇩🇪\x1b[31m\n\t\u202e"), st.characters()), max_size=12
)
lines = st.lists(st.builds(Span, texts, st.sampled_from(ROLES)), max_size=6)


def test_a_line_is_made_of_words_and_spans_and_leaves_out_what_is_empty():
    line = make_line("one ", "", Span("two", "title"), Span("", "dim"))

    assert line == (Span("one "), Span("two", "title"))
    assert line_text(line) == "one two"


def test_a_line_that_fits_keeps_its_spans():
    line = make_line("id  ", Span("title", "title"))

    assert cut_line(line, 9) == line


def test_a_line_is_cut_inside_the_span_that_does_not_fit():
    line = make_line("id  ", Span("title", "title"), Span("more", "dim"))

    assert cut_line(line, 8) == (Span("id  "), Span("tit", "title"), Span("…", "title"))
    assert cut_line(line, 9) == (Span("id  "), Span("titl", "title"), Span("…", "title"))


def test_a_wide_character_that_does_not_fit_is_left_out_whole():
    assert line_text(cut_line([Span("日本", "title"), "語"], 5)) == "日本…"
    assert line_text(cut_line([Span("日本", "title"), "語"], 4)) == "日…"
    assert cut_line(["日本"], 0) == ()


def test_what_would_act_on_a_terminal_is_visible_in_a_shown_line():
    (span,) = shown_line([Span("a\x1b[31m\n\u202eb", "user")])

    assert span == Span("a␛[31m ‹U+202E›b", "user")


@settings(deadline=None)
@given(lines, st.integers(0, 20))
def test_a_cut_line_fits_and_begins_like_the_line(line, columns):
    shown = line_text(shown_line(line))

    fitting = cut_line(line, columns)

    assert line_width(fitting) <= columns
    text = line_text(fitting)
    assert text == shown or shown.startswith(text.removesuffix("…"))
    assert text == safe(text) or safe(shown) != shown
    assert set(one_line(text)) <= set(shown) | {"…"}


@settings(deadline=None)
@given(lines, st.integers(0, 20))
def test_a_filled_line_is_exactly_as_wide_as_asked(line, columns):
    assert line_width(pad_line(line, columns)) == columns


def test_a_million_marks_cost_no_time_and_no_room():
    fitting = cut_line([Span("z" + "\u0301" * 1_000_000)], 10)

    assert line_text(fitting) == "…"


@pytest.mark.parametrize("flood", ["x", "\u200b", "\u0301", "漢", "\x1b", "\u202e"])
def test_a_megabyte_is_cut_without_being_looked_at(flood):
    long = Span(flood * 1_000_000, "title")
    begun = time.process_time()

    for _ in range(200):
        line = cut_line((long, Span("end")), 80)

    assert time.process_time() - begun < 4
    assert line[-1].text.endswith("…")
    assert line_width(line) <= 80
