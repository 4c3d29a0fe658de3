"""What a compaction summarizes and keeps, and when there is nothing to do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.compaction import FileOperations, prepare_compaction, should_compact
from branchline.context import build_context, context_tokens
from branchline.entries import ToolResult, message_text
from branchline.tree import ROOT
from context.story import answer, at, call, compaction, edit, label, message, result, story, usage, user

LONG = "x" * 400  # a hundred tokens


def prepare(session, keep=20000, entry=None):
    return prepare_compaction(session, at(session, entry), keep_recent_tokens=keep)


def texts(messages):
    return [message_text(said) for said in messages]


@pytest.mark.parametrize(("tokens", "expected"), [(83_616, False), (83_617, True)])
def test_a_context_is_compacted_when_too_little_room_is_left_for_an_answer(tokens, expected):
    assert should_compact(tokens, 100_000) is expected


def test_an_empty_session_has_nothing_to_compact():
    assert prepare_compaction(story(), ROOT) is None


def test_a_small_session_has_nothing_to_compact():
    assert prepare(story(user("q"), answer("a"))) is None


def test_a_context_that_was_just_compacted_is_left_alone():
    session = story(user(LONG), answer(LONG), user(LONG), compaction("sum", "e2"))

    assert prepare(session, keep=50) is None


def test_whole_turns_are_summed_up_where_the_budget_allows():
    session = story(user("one"), answer("two"), user(LONG), answer("four"))

    found = prepare(session, keep=90)

    assert found.first_kept == "e3"
    assert texts(found.history) == ["one", "two"]
    assert not found.split_turn
    assert found.previous_summary is None


def test_a_turn_longer_than_the_budget_is_split():
    session = story(user("old"), answer("old"), user("ask"), answer(LONG), answer(LONG))

    found = prepare(session, keep=90)

    assert found.split_turn
    assert found.first_kept == "e5"
    assert texts(found.history) == ["old", "old"]
    assert texts(found.prefix) == ["ask", LONG]


def test_a_result_stays_with_its_call():
    session = story(user("q"), answer(call("read", path="a")), result(LONG), answer("done"))

    found = prepare(session, keep=50)

    assert found.first_kept == "e4"
    assert isinstance(found.prefix[-1], ToolResult)


def test_the_next_compaction_updates_the_summary_of_the_last():
    session = story(user("old"), compaction("first", None), user("new"), answer(LONG), user(LONG))

    found = prepare(session, keep=50)

    assert found.previous_summary == "first"
    assert texts(found.history) == ["new", LONG]


def test_what_the_last_compaction_kept_is_summed_up_this_time():
    session = story(
        user("old"), user("kept"), compaction("first", "e2"), user("new"), answer(LONG), user(LONG)
    )

    assert texts(prepare(session, keep=50).history) == ["kept", "new", LONG]


def test_a_tail_that_a_compaction_holds_itself_is_not_lost():
    tail = [{"role": "user", "content": "held"}]
    session = story(user("old"), compaction("first", None, retainedTail=tail), answer("new"), user(LONG))

    assert texts(prepare(session, keep=50).history) == ["held", "new"]


def test_system_messages_are_never_summed_up():
    session = story(message("system", content="be brief"), user("one"), answer("two"), user(LONG))

    assert texts(prepare(session, keep=50).history) == ["one", "two"]


def test_edits_count_before_anything_is_summed_up():
    session = story(user("secret"), answer("fine"), user(LONG), edit("e1", "…"))

    assert texts(prepare(session, keep=50).history) == ["…", "fine"]


def test_an_input_whose_answer_failed_may_be_summed_up_itself():
    """«The failed attempt is first taken out by context edits»; then the long input stands last."""
    session = story(user("q"), answer("a"), user(LONG), answer("partial"), edit("e4"))

    found = prepare(session, keep=50)

    assert texts(found.history) == ["q", "a"]
    assert texts(found.prefix) == [LONG]
    assert found.first_kept == "e4"


def test_the_first_kept_entry_is_never_a_side_record():
    """A fork leaves labels out; a compaction that named one would keep nothing there."""
    session = story(user("one"), answer("two"), label("e1"), user(LONG), answer("four"))

    found = prepare(session, keep=90)

    assert found.first_kept == "e4"


def test_tokens_before_are_those_of_the_context():
    session = story(user("q"), answer("a", usage=usage(500)), user(LONG))

    assert prepare(session, keep=50).tokens_before == 600


# -- files ------------------------------------------------------------------------------------------------


def test_files_come_from_calls_of_read_write_and_edit():
    session = story(
        user("q"),
        answer(
            call("read", "c1", path="read.py"),
            call("read", "c2", path="edited.py"),
            call("edit", "c3", path="edited.py"),
            call("write", "c4", path="written.py"),
            call("bash", "c5", path="other.py"),
            call("read", "c6", path=7),
        ),
        user(LONG),
    )

    assert prepare(session, keep=50).files == FileOperations(
        read=("read.py",), modified=("edited.py", "written.py")
    )


def test_calls_that_a_tool_made_itself_count_too():
    nested = {"calls": [{"id": "n", "name": "edit", "arguments": {"path": "deep.py"}}, {"id": "m"}, 5]}
    session = story(user("q"), answer(call("code")), result("done", nestedCalls=nested), user(LONG))

    assert prepare(session, keep=50).files.modified == ("deep.py",)


def test_files_of_the_last_compaction_are_carried_on_unless_an_extension_wrote_it():
    details = {"readFiles": ["a.py", "b.py"], "modifiedFiles": ["c.py"]}
    after = (user("q"), answer(call("edit", path="a.py")), user(LONG))
    ours = story(user("old"), compaction("s", None, details=details), *after)
    theirs = story(user("old"), compaction("s", None, details=details, fromHook=True), *after)

    assert prepare(ours, keep=50).files == FileOperations(read=("b.py",), modified=("a.py", "c.py"))
    assert prepare(theirs, keep=50).files == FileOperations(modified=("a.py",))


# -- laws -------------------------------------------------------------------------------------------------

KINDS = st.lists(
    st.sampled_from(["user", "answer", "tool", "label", "level", "omit", "compact"]), max_size=25
)


def entries(kinds):
    told = []
    for number, kind in enumerate(kinds, 1):
        told.append(
            {
                "user": user(f"q{number} " + "x" * (7 * number % 90)),
                "answer": answer(f"a{number} " + "y" * (11 * number % 90)),
                "tool": result(f"r{number}"),
                "label": label("e1"),
                "level": {"type": "thinking_level_change", "thinkingLevel": "low"},
                "omit": edit(f"e{max(1, number - 2)}"),
                "compact": compaction(f"s{number}", f"e{max(1, number - 4)}"),
            }[kind]
        )
    return told


@given(kinds=KINDS, keep=st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_summed_up_and_kept_are_together_what_was_there(kinds, keep):
    """Law: history + prefix + what the new compaction keeps = the context before, each message once."""
    told = entries(kinds)
    session = story(*told)
    found = prepare_compaction(session, at(session), keep_recent_tokens=keep)
    if found is None:
        return
    before = build_context(session, at(session))

    compacted = story(*told, compaction("new", found.first_kept))
    after = build_context(compacted, at(compacted))

    summed_up = [*found.history, *found.prefix]
    kept = [item.message for item in after.messages[1:]]
    types = dict(zip(session.tree.keys, session.tree.types, strict=True))
    there = [item.message for item in before.messages if types[item.entry] != "compaction"]
    assert summed_up + kept == there
    assert found.tokens_before == context_tokens(before).tokens
    assert found.split_turn == bool(found.prefix)
