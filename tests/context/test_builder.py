"""Contexts of paths: selected entries, edits, and how little is decoded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.context import Context, ModelRef, build_context, selected_entries
from branchline.entries import (
    AssistantMessage,
    CompactionSummaryMessage,
    CustomContent,
    SystemMessage,
    Text,
    UnknownMessage,
    UserMessage,
    message_fields,
    message_text,
)
from branchline.tree import ROOT
from context.story import (
    MORNING,
    Watched,
    answer,
    at,
    call,
    compaction,
    edit,
    label,
    message,
    result,
    story,
    user,
)
from support import transcript


def texts(context: Context) -> list[str]:
    return [message_text(item.message) for item in context.messages]


def test_before_the_first_entry_the_context_is_empty():
    context = build_context(story(user("hello")), ROOT)

    assert context == Context(messages=[], model=None, thinking_level="off")


def test_every_message_knows_its_entry():
    session = story(user("one"), label("e1"), answer("two"))

    context = build_context(session, at(session))

    assert [(item.entry, message_text(item.message)) for item in context.messages] == [
        ("e1", "one"),
        ("e3", "two"),
    ]
    assert selected_entries(session, at(session)) == ["e1", "e3"]


def test_a_side_record_gives_the_context_of_the_entry_above_it():
    session = story(user("one"), answer("two"), label("e1"))

    assert build_context(session, at(session, "e3")) == build_context(session, at(session, "e2"))


@pytest.mark.parity("OPR-06")
def test_the_model_is_the_one_chosen_or_the_one_that_answered_last():
    change = {"type": "model_change", "provider": "openai", "modelId": "gpt"}
    session = story(user("q"), answer("a"), change, user("q"), answer("b", provider="x", model="y"))

    assert build_context(session, at(session, "e1")).model is None
    assert build_context(session, at(session, "e2")).model == ModelRef(provider="anthropic", id="claude")
    assert build_context(session, at(session, "e4")).model == ModelRef(provider="openai", id="gpt")
    assert build_context(session, at(session, "e5")).model == ModelRef(provider="x", id="y")


def test_an_answer_that_names_no_model_leaves_the_choice_in_force():
    change = {"type": "model_change", "provider": "openai", "modelId": "gpt"}
    session = story(change, user("q"), message("assistant", content=[]))

    assert build_context(session, at(session)).model == ModelRef(provider="openai", id="gpt")


def test_state_before_a_compaction_still_counts():
    session = story(
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        user("q"),
        answer("a"),
        compaction("sum", None),
        user("more"),
    )

    context = build_context(session, at(session))

    assert context.thinking_level == "high"
    assert context.model == ModelRef(provider="anthropic", id="claude")


@pytest.mark.parity("OPR-06")
def test_a_compaction_gives_its_summary_the_kept_tail_and_everything_after_it():
    session = story(user("old"), answer("kept"), user("kept too"), compaction("sum", "e2"), user("new"))

    context = build_context(session, at(session))

    assert texts(context) == ["sum", "kept", "kept too", "new"]
    assert selected_entries(session, at(session)) == ["e4", "e2", "e3", "e5"]
    assert context.messages[0].message == CompactionSummaryMessage(
        summary="sum", tokens_before=100, timestamp=MORNING + 4000
    )


@pytest.mark.parametrize("kept", [None, "e3", "nobody", "e4"])
def test_a_compaction_whose_first_kept_entry_is_not_before_it_keeps_nothing(kept):
    session = story(user("old"), answer("old"), compaction("sum", kept), user("new"))

    assert texts(build_context(session, at(session))) == ["sum", "new"]


def test_a_first_kept_entry_may_be_a_side_record():
    session = story(user("old"), label("e1"), answer("kept"), compaction("sum", "e2"))

    assert texts(build_context(session, at(session))) == ["sum", "kept"]


def test_a_compaction_brings_its_own_system_message_and_drops_kept_ones():
    system = {"role": "system", "content": "be brief", "timestamp": 1}
    session = story(
        message("system", content="old"),
        user("kept"),
        message("system", content="kept, but replaced"),
        compaction("sum", "e2", systemMessage=system),
        message("system", content="newer"),
    )

    assert texts(build_context(session, at(session))) == ["be brief", "sum", "kept", "newer"]


def test_a_tail_that_the_compaction_holds_itself_follows_the_summary():
    """«These messages follow the summary, and nothing before the compaction is kept.»"""
    tail = [{"role": "user", "content": "held"}, {"role": "assistant", "content": []}]
    session = story(user("old"), compaction("sum", "e1", retainedTail=tail), user("new"))

    context = build_context(session, at(session))

    assert texts(context) == ["sum", "held", "", "new"]
    assert [item.entry for item in context.messages] == ["e2", "e2", "e2", "e3"]


def test_an_empty_tail_stays_in_force():
    """A checkpoint of no messages replaces everything before it as well."""
    session = story(user("old"), compaction("sum", "e1", retainedTail=[]), user("new"))

    assert texts(build_context(session, at(session))) == ["sum", "new"]


@pytest.mark.parity("ZOT-12")
def test_blocks_of_every_kind_come_through_unchanged():
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    told = [
        user([{"type": "text", "text": "look", "textSignature": "t"}, picture]),
        answer(
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
            {"type": "thinking", "thinking": "", "thinkingSignature": "ENC", "redacted": True},
            "words",
            {**call("read", path="a.py", deep={"n": [1, 2.5, None]}), "thoughtSignature": "th"},
            {"type": "hologram", "data": [1]},
        ),
        message(
            "toolResult",
            toolCallId="c1",
            toolName="read",
            content=[{"type": "text", "text": "no"}, picture],
            details={"k": [1]},
            isError=True,
        ),
    ]
    session = story(*told)

    shown = [message_fields(item.message) for item in build_context(session, at(session)).messages]

    assert shown == [entry["message"] for entry in told]


def test_an_empty_branch_summary_says_nothing():
    session = story(user("q"), {"type": "branch_summary", "fromId": "root", "summary": ""})

    assert texts(build_context(session, at(session))) == ["q"]


def test_a_custom_message_carries_the_time_of_its_entry():
    session = story({"type": "custom_message", "customType": "note", "content": "n", "display": False})

    (item,) = build_context(session, at(session)).messages

    assert item.message == CustomContent(
        custom_type="note", content="n", display=False, timestamp=MORNING + 1000
    )


def test_a_time_that_cannot_be_read_is_left_out():
    session = story({"type": "custom_message", "customType": "n", "content": "n", "timestamp": "yesterday"})

    (item,) = build_context(session, at(session)).messages

    assert "timestamp" not in message_fields(item.message)


def test_unknown_types_and_roles_take_nothing_with_them():
    session = story(user("one"), {"type": "wibble", "x": 1}, message("oracle", content="?"), answer("two"))

    context = build_context(session, at(session))

    assert selected_entries(session, at(session)) == ["e1", "e2", "e3", "e4"]
    assert [type(item.message) for item in context.messages] == [
        UserMessage,
        UnknownMessage,
        AssistantMessage,
    ]


def test_a_damaged_line_on_the_path_gives_nothing_and_breaks_nothing():
    good = story(user("one"), user("lost"), user("three"))
    lines = b"".join(good.raw(position) + b"\n" for position in range(3)).split(b"\n")
    header = b'{"type":"session","version":3,"id":"s","timestamp":"","cwd":""}'
    torn = lines[1][: lines[1].index(b'"message"')]
    session = transcript(b"\n".join([header, lines[0], torn, lines[2], b""]))

    context = build_context(session, at(session))

    assert texts(context) == ["one", "three"]


def test_a_compaction_with_a_value_too_deep_for_any_parser_counts():
    """What is nested too deeply is left out of the record, and costs nothing else."""
    deep = "[" * 100_000 + "]" * 100_000
    line = (
        '{"type":"compaction","id":"e4","parentId":"e3","timestamp":"","summary":"new","details":'
        + deep
        + "}\n"
    )
    good = story(user("old"), compaction("sum", None), user("more"))
    header = b'{"type":"session","version":3,"id":"s","timestamp":"","cwd":""}\n'
    session = transcript(
        header + b"".join(good.raw(position) + b"\n" for position in range(3)) + line.encode()
    )

    assert texts(build_context(session, at(session))) == ["new"]


# -- edits ------------------------------------------------------------------------------------------------


def test_an_edit_omits_its_target_or_gives_it_other_content():
    session = story(user("one"), answer("two"), edit("e1"), edit("e2", "short"))

    context = build_context(session, at(session))

    (item,) = context.messages
    assert isinstance(item.message, AssistantMessage)
    assert item.message.content == (Text(text="short"),)
    assert item.message.model == "claude"


def test_the_last_edit_of_an_entry_counts():
    session = story(user("one"), edit("e1"), edit("e1", "again"))

    assert texts(build_context(session, at(session))) == ["again"]


def test_a_text_stays_a_text_for_user_and_custom_messages():
    session = story(
        user([{"type": "text", "text": "long"}]),
        {"type": "custom_message", "customType": "n", "content": []},
        edit("e1", "short"),
        edit("e2", "note"),
    )

    contents = [item.message.content for item in build_context(session, at(session)).messages]

    assert contents == ["short", "note"]


def test_content_of_commands_and_summaries_cannot_be_edited_only_omitted():
    session = story(
        message("bashExecution", command="ls", output="a"),
        {"type": "branch_summary", "fromId": "root", "summary": "tried"},
        edit("e1", "x"),
        edit("e2", "x"),
    )
    omitted = story(message("bashExecution", command="ls", output="a"), edit("e1"))

    assert texts(build_context(session, at(session))) == ["ls", "tried"]
    assert texts(build_context(omitted, at(omitted))) == []


def test_omitting_a_compaction_omits_all_that_it_says():
    system = {"role": "system", "content": "be brief"}
    session = story(user("old"), compaction("sum", None, systemMessage=system), edit("e2"), user("new"))

    assert texts(build_context(session, at(session))) == ["new"]


def test_an_edit_before_the_kept_range_does_not_count():
    session = story(user("one"), edit("e3", "never"), user("kept"), compaction("sum", "e3"))
    within = story(user("one"), user("kept"), edit("e2", "changed"), compaction("sum", "e2"))

    assert texts(build_context(session, at(session))) == ["sum", "kept"]
    assert texts(build_context(within, at(within))) == ["sum", "changed"]


def test_an_edit_means_the_nearest_entry_above_it_that_has_the_id():
    """Two entries carry one id: the later one is shown as «e1#2», and the edit was made by who saw that."""
    session = story(user("one"), {**user("other"), "id": "e1"}, edit("e1", "changed"))

    assert texts(build_context(session, at(session))) == ["one", "changed"]


# -- how much is read -------------------------------------------------------------------------------------


def test_after_a_compaction_only_what_counts_is_decoded():
    turns = [user("q"), answer("a")] * 50
    session = story(*turns, compaction("sum", "e100"), user("new"))
    watched = Watched(session)

    build_context(watched, at(session))

    assert len(watched.decoded) <= 5
    assert set(watched.decoded) == {at(session, key) for key in ("e100", "e101", "e102")}


def test_entries_that_say_nothing_are_not_decoded_and_the_rest_comes_in_one_batch():
    session = story(user("q"), label("e1"), {"type": "custom", "customType": "x"}, answer("a"), user("q"))
    watched = Watched(session)

    build_context(watched, at(session))

    assert max(watched.batches) == 3
    assert at(session, "e2") not in watched.decoded
    assert at(session, "e3") not in watched.decoded


# -- laws -------------------------------------------------------------------------------------------------

ENTRIES = st.lists(
    st.sampled_from(["user", "answer", "result", "label", "level", "edit", "omit"]), min_size=1, max_size=12
)


def entry(kind: str, number: int, target: int) -> dict:
    return {
        "user": user(f"q{number}"),
        "answer": answer(f"a{number}"),
        "result": result(f"r{number}"),
        "label": label("e1"),
        "level": {"type": "thinking_level_change", "thinkingLevel": "high"},
        "edit": edit(f"e{target}", f"changed {number}"),
        "omit": edit(f"e{target}"),
    }[kind]


@given(kinds=ENTRIES, after=ENTRIES, data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_context_after_a_compaction_is_summary_and_kept_tail_and_rest(kinds, after, data):
    """Law: what is kept is what stood there, word for word, when no edit reaches across the cut."""
    kept = data.draw(st.integers(1, len(kinds)))
    plain = [kind for kind in kinds if kind not in ("edit", "omit")] or ["user"]
    kept = min(kept, len(plain))
    before = [entry(kind, number, 1) for number, kind in enumerate(plain, 1)]
    rest = [entry(kind, number, 1) for number, kind in enumerate(after, 50) if kind not in ("edit", "omit")]
    whole = story(*before, *rest)
    cut = story(*before, compaction("sum", f"e{kept}"), *rest)

    compacted = build_context(cut, at(cut))
    tail = build_context(whole, at(whole)).messages
    tail = [item for item in tail if int(item.entry[1:]) >= kept]

    assert [item.message for item in compacted.messages[1:]] == [item.message for item in tail]
    assert isinstance(compacted.messages[0].message, CompactionSummaryMessage)


@given(kinds=ENTRIES, data=st.data())
@settings(max_examples=150, deadline=None)
def test_edits_never_change_history(kinds, data):
    """Law: after building a context every entry still decodes to what its line says."""
    targets = [data.draw(st.integers(1, len(kinds))) for _ in kinds]
    session = story(
        *(entry(kind, n, target) for n, (kind, target) in enumerate(zip(kinds, targets, strict=True), 1))
    )
    before = [session.entry(position) for position in range(len(session.tree))]

    build_context(session, at(session))

    assert [session.entry(position) for position in range(len(session.tree))] == before


@given(kinds=ENTRIES)
@settings(max_examples=100, deadline=None)
def test_side_records_never_change_a_context(kinds):
    """Law: leaving the labels out of the chain gives the same messages."""
    entries = [entry(kind, number, 1) for number, kind in enumerate(kinds, 1)]
    with_ids = [{**fields, "id": f"x{number}"} for number, fields in enumerate(entries)]
    plain = [fields for fields in with_ids if fields["type"] != "label"]
    one, other = story(*with_ids), story(*plain)

    messages = [item.message for item in build_context(one, at(one)).messages]

    assert messages == [item.message for item in build_context(other, at(other)).messages]


def test_a_system_message_with_null_content_is_an_empty_text():
    session = story(message("system", content=None, sections={"a": "b"}))

    (item,) = build_context(session, at(session)).messages

    assert item.message == SystemMessage(content="", sections={"a": "b"})
