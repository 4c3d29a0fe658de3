"""The egress filter: hostile text, measured and cut."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.views import text
from branchline.views.text import clusters, cut, cut_start, one_line, pad, safe, width

HOSTILE = "\x00\x07\x08\x0b\r\x1b\x7f\x85\x9b\x9d\u00ad\u061c\u200b\u200c\u200d\u200e\u202e\u2028\u2066\u2069\ufe0f\ufeff\U000e0041\ud83d\ude00"
hostile_texts = st.text(
    st.one_of(
        st.sampled_from(HOSTILE + "a[31m👩❤語ا क\n\t"), st.characters(), st.characters(categories=["Cs"])
    )
)

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
WITHOUT_WIDTH = "\u00ad\u034f\u115f\u1160\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;a title\x07", "␛]0;a title␇"),
        ("\x1bPq\x1b\\", "␛Pq␛\\"),
        ("\x9b2J", "‹U+009B›2J"),
        ("\x9d52;c;aGk=\x9c", "‹U+009D›52;c;aGk=‹U+009C›"),
        ("50%\rdone", "50%␍done"),
        ("back\x08\x7f", "back␈␡"),
        ("invoice\u202egnp.exe", "invoice‹U+202E›gnp.exe"),
        ("\u2066a\u2069", "‹U+2066›a‹U+2069›"),
        ("ad\u200bmin", "ad‹U+200B›min"),
        ("\ufeffstart", "‹U+FEFF›start"),
        ("\ud83d alone", "‹U+D83D› alone"),
        ("tag\U000e0041", "tag‹U+E0041›"),
        ("a\u2028b", "a‹U+2028›b"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_becomes_visible(text, shown):
    assert safe(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\n\tlines",
        "ünï ✓ 日本語 한글",
        "e\u0301",
        "👩‍💻 ❤️ 👍🏽",
        "می‌خواهم",
        "क्‍ष",
        "[b]markup[/b]",
        "‹U+202E›",
    ],
)
def test_ordinary_text_of_any_script_stays_as_it_is(text):
    assert safe(text) == text


def test_windows_line_ends_are_newlines():
    assert safe("a\r\nb\r\n") == "a\nb\n"


def test_joiners_where_no_script_needs_them_are_visible():
    assert safe("a\u200db") == "a‹U+200D›b"
    assert safe("ا\u200c\u200cا") == "ا‹U+200C›‹U+200C›ا"
    assert safe("👩\u200d") == "👩‹U+200D›"
    assert safe("x\ufe0f\ufe0f\u200d👩") == "x\ufe0f‹U+FE0F›‹U+200D›👩"


@settings(deadline=None)
@given(hostile_texts)
def test_no_control_character_but_newline_and_tab_comes_through(text):
    shown = safe(text)

    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert not set(shown) & set(BIDI + WITHOUT_WIDTH)
    shown.encode()  # a terminal can write it


@settings(deadline=None)
@given(hostile_texts)
def test_joiners_come_through_only_between_characters_that_join(text):
    shown = safe(text)

    for place, character in enumerate(shown):
        if character in "\u200c\u200d":
            before, after = shown[place - 1 : place], shown[place + 1 : place + 2]
            assert before
            assert after
            assert not (before + after).isascii()
            assert not set(before + after) & set("\u200c\u200d‹›")


@settings(deadline=None)
@given(hostile_texts)
def test_what_passed_once_passes_unchanged(text):
    assert safe(safe(text)) == safe(text)


@settings(deadline=None)
@given(hostile_texts)
def test_one_line_is_one_line(text):
    line = one_line(text)

    assert not set(line) & set("\n\t\r")
    assert line == line.strip()


# -- width ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("한", 2),
        ("👍", 2),
        ("👍🏽", 2),
        ("👩‍💻", 2),
        ("❤️", 2),
        ("ｆ", 2),
        ("1️⃣", 2),
        ("🇩🇪🇫🇷", 4),
        ("👩‍❤️‍💋‍👨", 2),
        ("\u1112\u1161\u11ab", 2),
        ("நி", 2),
        ("↔️", 2),
    ],
)
def test_a_character_is_as_wide_as_a_terminal_draws_it(text, columns):
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("hello", 1, "…"),
        ("hello", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("👩‍💻👩‍💻", 3, "👩‍💻…"),
        ("👩‍💻👩‍💻", 4, "👩‍💻👩‍💻"),
        ("❤️❤️❤️", 4, "❤️…"),
        ("🇩🇪🇫🇷", 3, "🇩🇪…"),
        ("\u1112\u1161\u11ab\u1112\u1161\u11ab", 3, "\u1112\u1161\u11ab…"),
    ],
)
def test_a_cut_takes_no_character_apart(text, columns, shown):
    assert cut(text, columns) == shown


def test_a_cut_without_room_for_its_mark_has_none():
    assert cut("hello", 2, mark="...") == "he"


def test_a_heap_of_marks_on_one_character_is_cut():
    assert cut("z" + "\u0301" * 1_000_000, 10) == "…"
    assert cut("ab" + "\u0301" * 29, 10) == "ab" + "\u0301" * 29


@settings(deadline=None)
@given(hostile_texts, st.integers(-1, 12))
def test_a_cut_fits_and_begins_like_the_text(text, columns):
    line = one_line(text)

    shown = cut(line, columns)

    assert width(shown) <= max(0, columns)
    assert shown == line or line.startswith(shown.removesuffix("…"))


@settings(deadline=None)
@given(hostile_texts, st.integers(-1, 12))
def test_a_cut_of_the_start_fits_and_ends_like_the_text(text, columns):
    line = one_line(text)

    shown = cut_start(line, columns)

    assert width(shown) <= max(0, columns)
    assert shown == line or line.endswith(shown.removeprefix("…"))


def test_what_tells_two_paths_apart_is_kept():
    assert cut_start("~/work/shop/frontend", 12) == "…op/frontend"
    assert cut_start("日本語", 5) == "…本語"
    assert cut_start("日本語", 4) == "…語"


WORDS = "a Z 0 é e\u0301 日 ｆ 한 \u1112\u1161\u11ab 👍 👍🏽 👩‍💻 👨‍👩‍👧 ❤️ ❤ 1️⃣ 🇩🇪 🏳️‍🌈 ↔️ ™ │ … ש\u05b8 ا ก็ か\u3099 ‹ ☰ ⌚"
real_texts = st.lists(st.sampled_from(WORDS.split(" "))).map("".join)


@settings(deadline=None)
@given(real_texts)
def test_width_and_clusters_are_those_of_wcwidth(text):
    """The reference is a library that terminal programs use; we need only the standard library for it."""
    wcwidth = pytest.importorskip("wcwidth")

    assert width(text) == wcwidth.width(text)
    assert [text[start:end] for start, end, _ in clusters(text)] == list(wcwidth.iter_graphemes(text))


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Co", "Cn"])))
def test_no_text_is_wider_than_we_say(text):
    wcwidth = pytest.importorskip("wcwidth")
    line = one_line(text)

    assert width(line) >= wcwidth.width(line)


@settings(deadline=None)
@given(hostile_texts)
def test_clusters_cover_a_line_without_gaps(text):
    line = one_line(text)

    found = list(clusters(line))

    assert "".join(line[start:end] for start, end, _ in found) == line
    assert sum(columns for _, _, columns in found) == width(line)


def test_a_padded_text_is_as_wide_as_asked():
    assert pad("日本", 6) == "日本  "
    assert pad("日本", 6, right=True) == "  日本"
    assert pad("日本", 3) == "日本"


def test_the_quick_ways_of_measuring_know_only_characters_that_stand_alone():
    for code in [*range(0x20, 0xD800), *range(0xE000, 0x11000)]:
        character = chr(code)
        if unicodedata.category(character) != "Cn" and text._compiled(text._UNJOINED).fullmatch(character):
            assert width(character) == text._columns_of(character)
            assert unicodedata.category(character) not in ("Mn", "Me", "Mc", "Cf")


@given(st.text(st.sampled_from("ab│日本語한、 é…カ"), max_size=40))
def test_the_quick_ways_measure_as_the_slow_one_does(line):
    assert width(line) == sum(columns for _, _, columns in clusters(line))


def test_the_fast_class_of_ordinary_characters_is_exactly_what_is_not_suspect() -> None:
    ordinary, suspect = re.compile(text._ORDINARY), re.compile(text._SUSPECT)

    for code in range(0x10000):
        assert bool(ordinary.fullmatch(chr(code))) is not bool(suspect.fullmatch(chr(code))), hex(code)
    assert not ordinary.fullmatch("\U000e0041")
