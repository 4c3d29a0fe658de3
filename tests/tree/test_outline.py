"""The outline of small trees, seen row by row: what is shown, in which order, and how one moves in it."""

from __future__ import annotations

import pytest

from branchline.tree import FILTERS, ROOT, Jump, Outline, Tree


def grow(*lines: str) -> Tree:
    """A tree from lines like ``key parent type/role``; ``-`` is no parent, ``!`` marks a quiet answer."""
    tree = Tree()
    for number, line in enumerate(lines):
        key, parent, *rest = line.split()
        kind, _, role = (rest[0] if rest else "message/user").partition("/")
        tree.add(
            key,
            ROOT if parent == "-" else tree.positions[parent],
            type=kind,
            role=role or None,
            time=f"2026-01-01T00:00:{number:02d}.000Z",
            quiet="!" in rest[1:],
            placeholder=kind == "damaged",
        )
    return tree


def outline(tree: Tree, leaf: str, **options) -> Outline:
    return Outline(tree, tree.positions[leaf], **options)


def keys(rows: Outline) -> list[str]:
    return [row.key for row in rows]


@pytest.fixture
def tree() -> Tree:
    """The example of the description: one question, two ways on, the leaf on the first."""
    return grow(
        "first -",
        "answer first message/assistant",
        "second answer",
        "other second message/assistant",
        "summary answer branch_summary",
        "go summary",
    )


@pytest.mark.parity("OMP-11")
def test_the_branch_with_the_leaf_comes_first_and_is_marked(tree):
    rows = outline(tree, "go")

    assert keys(rows) == ["first", "answer", "summary", "go", "second", "other"]
    assert [row.active for row in rows] == [True, True, True, True, False, False]


def test_indentation_happens_only_at_branches(tree):
    rows = outline(tree, "go")

    assert [row.level for row in rows] == [0, 0, 1, 2, 1, 2]
    assert [row.connector for row in rows] == [False, False, True, False, True, False]
    assert [row.last for row in rows if row.connector] == [False, True]
    assert [rows.gutters(number) for number in range(len(rows))] == [[], [], [], [0], [], []]


def test_several_roots_have_no_connector_and_what_follows_them_is_indented():
    rows = outline(grow("a -", "b a", "c b", "x -", "y x", "z x"), "c")

    assert [(row.key, row.level, row.connector, row.root) for row in rows] == [
        ("a", 0, False, True),
        ("b", 1, False, False),
        ("c", 1, False, False),
        ("x", 0, False, True),
        ("y", 1, True, False),
        ("z", 1, True, False),
    ]


def test_the_root_with_the_leaf_comes_first():
    assert keys(outline(grow("a -", "b -", "c -"), "b")) == ["b", "a", "c"]


@pytest.mark.parity("OMP-01")
def test_siblings_stand_oldest_first_whatever_their_order_in_the_file():
    tree = grow("a -", "late a", "early a", "middle a")
    tree.times[1:] = ["2026-01-01T03:00:00.000Z", "2026-01-01T01:00:00.000Z", "2026-01-01T03:00:00+01:00"]

    assert keys(outline(tree, "a")) == ["a", "early", "middle", "late"]


def test_siblings_without_a_readable_time_keep_their_place():
    tree = grow("a -", "b a", "c a", "d a")
    tree.times[2] = "yesterday"

    assert keys(outline(tree, "a")) == ["a", "b", "c", "d"]


def test_what_a_filter_hides_hands_its_children_up():
    tree = grow("a -", "model a model_change", "b model", "c model", "d a")

    rows = outline(tree, "d")

    assert [(row.key, row.level) for row in rows] == [("a", 0), ("d", 1), ("b", 1), ("c", 1)]


@pytest.mark.parity("OMP-11")
@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("default", "u a r s x d"),
        ("no-tools", "u a s x d"),
        ("user-only", "u"),
        ("labeled-only", "a title"),
        ("all", "u a r model think edit custom label title s x d"),
    ],
)
def test_each_filter_shows_its_types(kind, shown):
    tree = grow(
        "u -",
        "a u message/assistant",
        "quiet a message/assistant !",
        "r quiet message/toolResult",
        "model r model_change",
        "think model thinking_level_change",
        "edit think context_edit",
        "custom edit custom",
        "label custom label",
        "title label session_info",
        "usage title usage",
        "leaf usage leaf",
        "s leaf branch_summary",
        "x s never_heard_of",
        "d x damaged",
    )

    rows = outline(tree, "d", filter=kind, labels={"a": "x", "title": "x", "quiet": "x", "gone": "x"})

    assert keys(rows) == shown.split()


def test_a_quiet_answer_is_shown_while_it_is_the_leaf():
    tree = grow("u -", "quiet u message/assistant !")

    assert keys(outline(tree, "u")) == ["u"]
    assert keys(outline(tree, "quiet")) == ["u", "quiet"]
    assert keys(outline(tree, "quiet", filter="user-only")) == ["u"]


def test_an_unknown_filter_or_position_is_refused():
    tree = grow("u -")

    with pytest.raises(ValueError, match="unknown filter 'some'"):
        outline(tree, "u", filter="some")
    with pytest.raises(ValueError, match="no position 1"):
        Outline(tree, 1)


def test_a_search_shows_what_it_finds_by_set_or_by_function(tree):
    found = {tree.positions["second"], tree.positions["go"]}

    rows = outline(tree, "go", matches=found)

    assert keys(rows) == ["go", "second"]
    assert keys(outline(tree, "go", matches=found.__contains__)) == ["go", "second"]
    assert all(row.root for row in rows)


def test_without_entries_there_are_no_rows():
    for kind in FILTERS:
        rows = Outline(Tree(), ROOT, filter=kind)
        assert (len(rows), list(rows), rows.nearest(ROOT), rows.index_of(0)) == (0, [], -1, None)


# -- cursor -----------------------------------------------------------------------------------------------


def test_the_cursor_falls_on_the_nearest_shown_ancestor_else_on_the_last_row(tree):
    rows = outline(tree, "go", filter="user-only")

    assert keys(rows) == ["first", "go", "second"]
    assert rows.nearest(tree.positions["go"]) == 1
    assert rows.nearest(tree.positions["other"]) == 2
    assert rows.nearest(tree.positions["summary"]) == 0
    assert rows.nearest(ROOT) == 2
    assert rows.index_of(tree.positions["other"]) is None
    assert rows.index_of(tree.positions["second"]) == 2


# -- folds ------------------------------------------------------------------------------------------------


def test_roots_and_siblings_with_children_can_be_folded(tree):
    rows = outline(tree, "go")

    assert [row.key for row in rows if row.foldable] == ["first", "summary", "second"]


def test_a_fold_hides_what_is_below_and_is_marked(tree):
    rows = outline(tree, "go").with_folds({tree.positions["summary"]})

    assert keys(rows) == ["first", "answer", "summary", "second", "other"]
    assert [row.key for row in rows if row.folded] == ["summary"]
    assert not rows[2].foldable
    assert rows.nearest(tree.positions["go"]) == 2


def test_a_fold_on_what_is_not_shown_hides_nothing(tree):
    rows = outline(tree, "go", filter="user-only", folded={tree.positions["answer"]})

    assert keys(rows) == ["first", "go", "second"]


def test_another_filter_drops_all_folds(tree):
    folded = outline(tree, "go", folded={0})

    assert keys(folded) == ["first"]
    assert keys(folded.with_filter("user-only")) == ["first", "go", "second"]
    assert keys(folded.with_filter("default", {2})) == ["second"]
    assert keys(folded) == ["first"]


def test_back_folds_what_is_open_then_goes_to_the_start_of_the_stretch(tree):
    rows = outline(tree, "go")
    go, summary, first = (tree.positions[key] for key in ("go", "summary", "first"))

    assert rows.back(rows.index_of(go)) == Jump("go", summary)
    assert rows.back(rows.index_of(summary)) == Jump("fold", summary)
    folded = rows.with_folds({summary})
    assert folded.back(folded.index_of(summary)) == Jump("go", first)
    assert folded.back(0) == Jump("fold", first)
    shut = rows.with_folds({first})
    assert shut.back(0) == Jump("go", first)


def test_forward_unfolds_then_goes_past_the_next_branch_or_to_the_end(tree):
    rows = outline(tree, "go")
    go, summary, other = (tree.positions[key] for key in ("go", "summary", "other"))

    assert rows.forward(0) == Jump("go", summary)
    assert rows.forward(rows.index_of(summary)) == Jump("go", go)
    assert rows.forward(rows.index_of(go)) == Jump("go", go)
    assert rows.forward(4) == Jump("go", other)
    assert rows.with_folds({0}).forward(0) == Jump("unfold", 0)


def test_a_jump_passes_hidden_branches_of_one():
    tree = grow("a -", "m a model_change", "b m", "n b custom", "late n", "label b label")

    rows = outline(tree, "late")

    assert [(row.key, row.level) for row in rows] == [("a", 0), ("b", 0), ("late", 0)]
    assert rows.segment_end(0) == 2
    assert rows.segment_start(2) == 0


# -- the sequence -----------------------------------------------------------------------------------------


def test_rows_are_made_when_asked_for_by_number_or_slice(tree):
    rows = outline(tree, "go")

    assert rows[-1] == list(rows)[5]
    assert rows[1:4] == list(rows)[1:4]
    assert rows[::-2] == list(rows)[::-2]
    assert list(rows.positions) == [row.position for row in rows]
    with pytest.raises(IndexError):
        rows[6]
