"""The tree of a session: branches, children, labels, path and model, also after reopening."""

import shutil

import pytest

from branchline import Session
from branchline.context import to_model
from branchline.entries import CustomMessage, Leaf, ModelChange
from session.kit import (
    CWD,
    assistant,
    bytes_of,
    clock,
    lines_of,
    new,
    path_of,
    reopened,
    require_same_after_reopening,
    said,
    talked,
    user,
    words,
)
from support import CORPUS


def opened_again(session):
    return Session.open(session.file, clock=clock(seed=5000))


# -- moving ----------------------------------------------------------------------------------------------


@pytest.mark.parity("IND-09", "OPR-05", "OPR-07", "PIG-06")
def test_a_branch_survives_reopening_also_after_further_appends_and_nothing_existing_changes(place):
    session = talked(place, 3)
    before, known = path_of(session).read_bytes(), list(session.index)
    target = session.path()[1]

    session.branch(target)
    with opened_again(session) as again:
        assert again.leaf == target
        assert again.path() == session.path()
    first = session.append_message("another way")
    second = session.append_message(assistant("indeed"))

    assert path_of(session).read_bytes().startswith(before)
    assert session.index.keys[: len(known)] == known
    assert session.index.parent(first) == target
    with opened_again(session) as again:
        assert again.leaf == second
        assert again.path() == [*known[:2], first, second]
        assert words(again) == ["question 1", "answer 1", "another way", "indeed"]


@pytest.mark.parity("OPR-05")
@pytest.mark.parity("IND-11", part="the recorded pointer")
def test_the_leaf_is_the_recorded_pointer_wherever_the_last_line_hangs(place):
    session = talked(place, 3)
    target = session.path()[2]

    session.branch(target)
    session.append_label(session.index.keys[-2], "elsewhere")
    session.set_title("Some title")

    assert [entry.type for entry in session.entries()][-3:] == ["leaf", "label", "session_info"]
    with opened_again(session) as again:
        assert again.leaf == target
    session.reset()
    with opened_again(session) as again:
        assert again.leaf is None


def test_moving_sideways_and_forward_again_is_a_move_like_any_other(place):
    session = talked(place, 2)
    end = session.leaf
    session.branch(session.path()[0])
    other = session.append_message(assistant("a second answer"))

    session.branch(end)
    assert session.path()[-1] == end
    session.branch(other)

    assert session.leaf == other
    assert len(session.children(session.path()[0])) == 2
    require_same_after_reopening(session)


def test_a_move_is_one_small_line_and_a_move_back_is_another(place):
    session = talked(place, 2)
    end, first = session.leaf, session.path()[0]
    before = len(lines_of(path_of(session)))

    session.branch(first)
    session.branch(first)
    session.branch(end)
    session.branch(end)

    assert len(lines_of(path_of(session))) == before + 2
    assert isinstance(session.entries()[-1], Leaf)


@pytest.mark.parity("PIG-07", "OPR-08")
def test_a_branch_with_a_summary_tells_the_model_what_was_left(place):
    session = talked(place, 2)
    left, target = session.leaf, session.path()[1]

    entry = session.branch_with_summary(target, "tried the other way")

    assert session.leaf == entry
    assert session.entry(entry).from_id == left
    assert [message["role"] for message in said(session)] == ["user", "assistant", "branchSummary"]
    assert session.entries()[-1].id == entry  # no leaf entry is needed: the summary says where we are
    with opened_again(session) as again:
        assert again.leaf == entry


# -- asking ----------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-10", "OMP-01", "PIG-08")
def test_a_path_goes_from_a_root_to_the_entry_asked_for_without_side_records(place):
    session = talked(place, 2)
    session.append_custom("beside", 1)
    session.append_message("last")
    path = session.path()

    assert session.path(path[2]) == path[:3]
    assert session.path(session.append_label(path[0], "x")) == path
    assert [entry.id for entry in session.entries(path)] == path
    assert session.entries(path)[1].message.content[0].text == "answer 1"
    session.reset()
    assert session.path() == []
    assert session.path(path[3]) == path[:4]


@pytest.mark.parity("OPR-11", "OMP-01")
def test_the_tree_is_roots_with_children_oldest_first(place):
    session = talked(place, 1)
    question, answer = session.path()
    session.branch(question)
    second = session.append_message(assistant("another answer"))
    session.reset()
    root = session.append_message("a new beginning")

    roots = [node for node in session.tree() if node.entry.type == "message"]

    assert [node.id for node in roots] == [question, root]
    children = [child for child in roots[0].children if child.entry.type == "message"]
    assert [child.id for child in children] == [answer, second]
    assert children[0].parent == question
    assert roots[1].children == []
    assert session.children(question) == [answer, second]
    assert session.children(None) == [question, root]


@pytest.mark.parity("OMP-01")
def test_an_entry_whose_parent_is_missing_is_a_root(place):
    place.mkdir()
    path = shutil.copy(CORPUS / "pi" / "edge" / "orphan.jsonl", place / "orphan.jsonl")

    with Session.open(path) as session:
        [orphan] = [finding for finding in session.findings if finding.kind == "orphan"]
        lost = session.index.keys[orphan.line - 2]
        assert lost in [node.id for node in session.tree()]


@pytest.mark.parity("OPR-03", "PIG-05", "OMP-01")
@pytest.mark.parity("OMP-10", part="labels as entries, without the screen")
def test_the_last_label_wins_an_empty_one_clears_and_labels_are_entries(place):
    session = talked(place, 2)
    first, second = session.path()[:2]

    session.append_label(first, "one")
    session.append_label(second, "two")
    session.append_label(first, "uno")
    assert session.labels == {first: "uno", second: "two"}
    session.append_label(second, "")
    session.append_label(first, None)
    session.append_label(first, "again")

    assert session.labels == {first: "again"}
    assert session.label(second) is None
    assert [node.label for node in session.tree()] == ["again"]
    assert session.index.types.count("label") == 6
    assert session.leaf == session.path()[-1]
    require_same_after_reopening(session)


def test_a_label_may_sit_on_any_entry(place):
    session = talked(place, 1)
    side = session.append_custom("state", 1)

    label = session.append_label(side, "on data")
    session.append_label(label, "on a label")

    assert session.labels == {side: "on data", label: "on a label"}
    require_same_after_reopening(session)


@pytest.mark.parity("OPR-03")
def test_entries_are_found_by_id_at_once_and_membership_can_be_asked(place):
    session = talked(place, 2)

    assert len(session) == 4
    for key in session.path():
        assert key in session
        assert session.entry(key).id == key
        assert session.raw(key) in bytes_of(session)
    assert "nothing" not in session
    assert None not in session


# -- state -----------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-10", "PIG-12")
def test_a_model_switch_is_recorded_and_survives_resume(place):
    session = talked(place, 1)
    session.append_model_change("openai", "gpt-5")
    session.append_thinking_level_change("high")

    with opened_again(session) as again:
        context = again.context()
        assert (context.model.provider, context.model.id) == ("openai", "gpt-5")
        assert context.thinking_level == "high"
        assert isinstance(again.entries()[-2], ModelChange)
        again.branch(again.path()[1])
        assert again.context().model.id == "claude-sonnet-4-5"
        assert again.context().thinking_level == "off"


@pytest.mark.parity("OPR-17", "PIG-12")
def test_a_title_belongs_to_the_session_and_not_to_its_file_or_to_a_branch(place):
    session = talked(place, 2)
    name = path_of(session).name

    session.set_title("  A title\nof two lines ")
    session.branch(session.path()[0])

    assert session.title == "A title of two lines"
    assert path_of(session).name == name
    with opened_again(session) as again:
        assert again.title == session.title
        again.set_title("")
        assert again.title is None
    session.refresh()
    assert session.title is None


@pytest.mark.parity("PIG-12")
def test_what_a_session_is_can_be_asked_before_and_after_it_has_a_file(place):
    session = new(place)
    asked = (
        session.id,
        session.cwd,
        session.header.timestamp,
        session.parent_session,
        session.file,
        session.key,
    )

    session.append_message("hello")
    session.append_message(assistant("hi"))

    assert asked == (
        session.id,
        session.cwd,
        session.header.timestamp,
        session.parent_session,
        session.file,
        session.key,
    )
    assert session.cwd == CWD
    assert path_of(session).stem == session.key


@pytest.mark.parity("OPR-16", "PIG-03")
def test_data_of_an_extension_is_in_the_tree_and_not_in_the_messages(place):
    session = talked(place, 1)
    before = said(session)

    entry = session.append_custom("acme.state", {"n": 1})

    assert session.entry(entry).custom_type == "acme.state"
    assert session.entry(entry).data == {"n": 1}
    assert session.index.parent(entry) == session.leaf
    assert said(session) == before
    require_same_after_reopening(session)


@pytest.mark.parity("OPR-16", "PIG-04")
def test_an_extension_speaks_to_the_model_as_a_user_or_by_a_message_as_the_assistant(place):
    session = talked(place, 1)

    entry = session.append_custom_message("acme.note", "remember this", display=False)
    session.append_custom_message("acme.note", [{"type": "text", "text": "and this"}])

    assert isinstance(session.entry(entry), CustomMessage)
    assert entry in session.path()
    heard = to_model(session.context())
    assert {message.__struct_config__.tag for message in heard} == {"user", "assistant"}
    assert [message.__struct_config__.tag for message in heard[-2:]] == ["user", "user"]
    assert words(session)[-2:] == ["remember this", "and this"]
    session.append_message({**assistant("I said so"), "customType": "acme.note"})
    assert to_model(session.context())[-1].__struct_config__.tag == "assistant"
    require_same_after_reopening(session)


@pytest.mark.parity("ZOT-14")
def test_everything_in_memory_is_on_disk_before_a_fork_or_a_tree_is_shown(place):
    session = new(place)
    for act in (
        lambda: session.append_message(user("a")),
        lambda: session.append_message(assistant("b")),
        lambda: session.append_label(session.leaf, "x"),
        lambda: session.branch(session.path()[0]),
        lambda: session.append_compaction("short"),
    ):
        act()

        assert [node.id for node in session.tree()] == [node.id for node in reopened(session).tree()]
        assert list(session.outline()) == list(reopened(session).outline())
        assert session.fork().path() == reopened(session).path()
