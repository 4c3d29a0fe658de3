"""The tree as it is drawn: equal to what the real program draws, for every sample and filter."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from branchline.formats import LabelState
from branchline.session import Session
from branchline.tree import FILTERS, ROOT, Outline, Tree
from branchline.views.browser.tree_cursor import TreeCursor
from branchline.views.entry_rows import RowTexts
from branchline.views.outline import (
    EMPTY,
    counter,
    entry_role,
    indentation,
    outline_line,
    plain_marks,
    window,
)
from branchline.views.spans import Span, line_text
from branchline.views.text import safe
from support import CORPUS, load, transcript

PI = CORPUS / "pi"
VIEWS = sorted(PI.glob("*/views-pi-1.5.0/*.json"))
LEAF_ENTRY = "leaf-ours"
CASES = [
    pytest.param(path, kind, id=f"{path.stem}-{kind}")
    for path in VIEWS
    for kind in FILTERS
    if not (path.stem == LEAF_ENTRY and kind in ("default", "no-tools", "all"))  # pi shows it as an empty row
]


def draw(outline: Outline, text_of, *, cursor: int = -1, labels=None, now=None) -> list[str]:
    """The rows of a screen as text, with the cursor before them as pi draws it."""
    lines = [
        ("› " if number == cursor else "  ")
        + indentation(row, outline.gutters(number))
        + line_text(outline_line(row, text_of(row.position), label=(labels or {}).get(row.key), now=now))
        for number, row in enumerate(outline)
    ]
    return [line.rstrip() for line in lines] or [EMPTY]


def drawn(source, leaf: int, kind: str) -> list[str]:
    labels = source.reading.labels
    outline = Outline(source.tree, leaf, filter=kind, labels=labels)
    cursor = outline.nearest(leaf)
    return [*draw(outline, RowTexts(source), cursor=cursor, labels=labels), counter(outline, cursor)]


@pytest.mark.parity("OMP-11")
@pytest.mark.parametrize(("path", "kind"), CASES)
def test_rows_are_drawn_as_pi_draws_them(path, kind):
    """Three differences are ours: a ``leaf`` entry is no row, an answer that is nothing but an error is called
    one, and a tool that is not known is shown as ``name key=value`` instead of JSON."""
    source = transcript(path.parent.parent / f"{path.stem}.jsonl")
    # pi stands on the last line; we stand where a leaf entry points
    leaf = len(source.tree) - 1 if path.stem == LEAF_ENTRY else source.reading.leaf

    rows = [row.replace("error: ", "assistant: ", 1) for row in drawn(source, leaf, kind)]

    expected = [safe(row) for row in load(path)["tree"][kind]]
    assert rows == [row.replace('[codemode: {"script":"x"}]', "[codemode script=x]") for row in expected]


def test_there_are_eighty_samples():
    assert len(VIEWS) == 80


@pytest.mark.parametrize("kind", ["default", "all"])
def test_a_leaf_entry_is_hidden_and_the_cursor_stands_where_it_points(kind):
    source = transcript(PI / "edge" / f"{LEAF_ENTRY}.jsonl")

    *rows, _counter = drawn(source, source.reading.leaf, kind)

    assert rows == [
        "  • user: first question",
        "› • assistant: first answer",
        "  user: second question",
        "  assistant: second answer",
    ]


# -- details that the samples do not show -----------------------------------------------------------------


@pytest.fixture
def tree() -> Tree:
    tree = Tree()
    for key, parent in (("a", ROOT), ("b", 0), ("c", 1), ("d", 1), ("e", 3)):
        tree.add(key, parent, type="message", role="user", time="2026-01-01T00:00:00.000Z")
    return tree


def text_of(tree: Tree):
    return lambda position: f"user: {tree.keys[position]}"


def test_folded_rows_have_their_mark_in_the_connector_and_roots_before_the_text(tree):
    outline = Outline(tree, 4)

    assert draw(outline.with_folds({3}), text_of(tree)) == [
        "  • user: a",
        "  • user: b",
        "  ├⊞ • user: d",
        "  └─ user: c",
    ]
    assert draw(outline.with_folds({0}), text_of(tree), cursor=0) == ["› ⊞ • user: a"]


def test_labels_stand_before_the_text_with_their_time_when_asked_for(tree):
    labels = {"a": LabelState("start", "2026-01-01T10:20:00.000Z"), "c": LabelState("odd", "never")}
    now = datetime(2026, 1, 3, tzinfo=UTC)
    outline = Outline(tree, 2, labels=labels)

    assert draw(outline, text_of(tree), labels=labels)[0] == "  • [start] user: a"
    timed = draw(outline, text_of(tree), labels=labels, now=now)
    assert (timed[0], timed[2]) == ("  • [start] 1/1 10:20 user: a", "  ├─ • [odd] user: c")


def test_nothing_hostile_reaches_the_terminal(tree):
    labels = {"a": LabelState("\x1b[2J", "")}

    lines = draw(Outline(tree, 2), lambda _: "user: \x1b]0;x\x07\r\n\u202e", labels=labels)

    assert lines[0] == "  • [␛[2J] user: ␛]0;x␇ ‹U+202E›"


def test_a_deep_row_under_the_cursor_is_moved_left_until_it_can_be_read():
    with Session.in_memory() as session:
        last = session.append_message("root")
        for number in range(60):
            session.append_message(f"right {number}")
            session.branch(last)
            last = session.append_message(f"left {number}")
        state = TreeCursor(session)

        lines = [line_text(state.line(number, 80)) for number in range(len(state))]

    assert state.outline[state.cursor].level > 50
    assert lines[state.cursor].endswith("• user: left 59  ← you are here")
    assert lines[0] == "  • user: root"


@pytest.mark.parametrize(
    ("total", "cursor", "rows"),
    [
        (3, 0, range(3)),
        (100, 0, range(10)),
        (100, 50, range(45, 55)),
        (100, 99, range(90, 100)),
        (0, -1, range(0)),
    ],
)
def test_the_row_under_the_cursor_stands_in_the_middle_of_the_list(total, cursor, rows):
    assert window(total, cursor, 10) == rows


def test_a_row_as_spans_says_which_part_each_piece_plays():
    tree = Tree()
    tree.add("a", ROOT, type="message", role="user")
    row = Outline(tree, 0)[0]
    label = LabelState(text="start", time="2026-01-05T09:00:00Z")

    line = outline_line(
        row, "user: hi", role=entry_role(tree, 0), label=label, now=datetime(2026, 1, 5, 12, tzinfo=UTC)
    )

    assert line == (
        Span("• ", "active"),
        Span("[start] ", "label"),
        Span("09:00 ", "time"),
        Span("user: hi", "user"),
    )


def test_the_role_of_an_entry_is_told_without_reading_it():
    source = transcript(CORPUS / "bad" / "bad-line-in-the-middle.jsonl")

    roles = [entry_role(source.tree, position) for position in range(len(source.tree))]

    assert {"user", "assistant", "error"} <= set(roles)


# -- a tree that is heard ---------------------------------------------------------------------------------


def test_words_say_which_branch_of_how_many_begins_and_where_one_stands(tree):
    """Nested branches are counted on their own, also after a branch inside of them has ended."""
    for key, parent in (("f", 3), ("g", 1), ("h", 4)):
        tree.add(key, parent, type="message", role="user", time="2026-01-01T00:00:00.000Z")

    outline = Outline(tree, 4)

    assert [
        f"{'  ' * row.level}{words}{row.key}"
        for row, words in zip(outline, plain_marks(outline, 4), strict=True)
    ] == [
        "a",
        "b",
        "  branch 1 of 3, on the path: d",
        "    branch 1 of 2, on the path, you are here: e",
        "      h",
        "    branch 2 of 2: f",
        "  branch 2 of 3: c",
        "  branch 3 of 3: g",
    ]


def test_several_roots_are_counted(tree):
    tree.add("z", ROOT, type="message", role="user", time="2026-01-01T00:00:00.000Z")

    outline = Outline(tree, 5)

    assert [words for row, words in zip(outline, plain_marks(outline, 5), strict=True) if row.root] == [
        "root 1 of 2, on the path, you are here: ",
        "root 2 of 2: ",
    ]


@pytest.mark.parametrize(("path", "kind"), CASES[::3])
def test_every_connector_is_a_branch_in_words_and_nothing_else_is(path, kind):
    source = transcript(path.parent.parent / f"{path.stem}.jsonl")
    outline = Outline(source.tree, source.reading.leaf, filter=kind, labels=source.reading.labels)

    said = plain_marks(outline, source.reading.leaf)

    assert ["branch" in words for words in said] == [row.connector for row in outline]


def test_a_staircase_of_branches_takes_no_more_than_its_rows():
    tree = Tree()
    tree.add("0", ROOT, type="message", role="user", time="")
    for number in range(1, 40_001):
        tree.add(
            str(number),
            (number - 1) // 2 * 2 - (1 if number > 2 else 0),
            type="message",
            role="user",
            time="",
        )
    outline = Outline(tree, len(tree) - 1)

    before = time.process_time()
    said = plain_marks(outline, len(tree) - 1)

    assert sum("branch 2 of 2" in words for words in said) > 10_000
    assert time.process_time() - before < 3


def test_the_key_of_a_tree_is_that_of_the_row_under_the_cursor_under_any_search_and_filter() -> None:
    session = Session.in_memory("/w")
    for word in ("one", "two", "three"):
        session.append_message(f"say {word}")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": word}]})
    state = TreeCursor(session)
    assert state.key == session.leaf

    for change in (
        lambda: state.search("say two"),
        lambda: state.search("say"),
        lambda: state.act("step(-1)"),
        lambda: state.search(""),
        lambda: state.set_filter("user-only"),
        lambda: state.act("first"),
        lambda: state.search("three"),
    ):
        change()

        shown = [row.key for row in state.outline]
        assert state.key == shown[state.cursor]
        assert session.index.roles[session.index.position(state.key)] == "user" or not state.words
    state.search("nothing like that")
    assert state.key is None
