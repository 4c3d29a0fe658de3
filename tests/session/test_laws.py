"""Laws for any sequence of operations. `BRANCHLINE_EXAMPLES=20` tries twenty times as many."""

import os

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import readings
from branchline import Session
from branchline.entries import Text, UnknownMessage, message_fields
from session.kit import (
    bytes_of,
    clock,
    facts,
    lines_of,
    new,
    path_of,
    require_same_after_reopening,
    talked,
)
from session.proofs import (
    prove_a_failed_verb_changes_nothing,
    prove_a_fork_shares_its_prefix,
    prove_appending_only_adds,
    prove_refresh_is_reopening,
)
from session.steps import (
    any_step,
    as_pi_does,
    conversation,
    do,
    moves,
    numbers,
    side,
    somewhere,
    steps,
    texts,
)
from support import transcript

MANY = int(os.environ.get("BRANCHLINE_EXAMPLES", "1"))
quick = settings(max_examples=100 * MANY, deadline=None, suppress_health_check=[HealthCheck.too_slow])
pi_kinds = st.sampled_from(["message", "label", "session_info", "usage", "custom", "compaction"])
pi_steps = st.tuples(pi_kinds, numbers)


@pytest.mark.parity("OPR-02", "OPR-04", "PIG-01")
@quick
@given(steps)
def test_appending_never_changes_an_earlier_byte_and_memory_is_always_what_the_file_says(steps):
    with somewhere() as directory:
        prove_appending_only_adds(directory, steps)


@quick
@given(
    st.lists(
        st.tuples(st.sampled_from(["one", "other"]), any_step | st.just(("refresh",)))
        | st.tuples(st.just("pi"), pi_steps),
        max_size=14,
    )
)
def test_refreshing_is_reopening_after_any_turns_of_several_writers(turns):
    with somewhere() as directory:
        prove_refresh_is_reopening(directory, turns)


@quick
@given(
    st.lists(any_step | st.tuples(st.just("pi"), pi_steps), max_size=12),
    st.none() | numbers,
    st.sampled_from(["path", "tree"]),
)
def test_a_fork_shares_its_prefix_byte_for_byte(steps, number, scope):
    with somewhere() as directory:
        session = talked(directory, 1, durability="os")
        for step in steps:
            if step[0] == "pi":
                as_pi_does(session, *step[1])
                session.refresh()
            else:
                do(session, step)
        entry = None if number is None else session.index.keys[number % len(session)]

        made = prove_a_fork_shares_its_prefix(session, entry, scope)
        again = prove_a_fork_shares_its_prefix(made, made.leaf, "path")

        assert again.path() == made.path()


@quick
@given(st.data())
def test_a_fork_inherits_what_was_there_and_owns_what_comes(data):
    with somewhere() as directory:
        session = talked(directory, 1, durability="os")
        for step in data.draw(st.lists(conversation | side, max_size=6)):
            if step[0] != "summary":  # which would begin another branch
                do(session, step)

        made = session.fork()
        own = [do(made, step) for step in data.draw(st.lists(conversation | side | moves, max_size=6))]

        inherited = made.index.keys[: made.inherited_entries]
        assert not set(own) & set(inherited)
        assert made.fork_point == session.leaf
        total = session.usage().all.total
        assert made.usage().inherited.total.cost == pytest.approx(total.cost)
        with Session.open(made.file) as again:
            assert again.inherited_entries == made.inherited_entries


said = {"type": "text", "text": "x"}
contents = [None, "", "x", [], ["x"], [said], (said,), [Text(text="x")], [{"type": "toolCall", "id": "t"}]]
contents += [[{**said, "text": text}] for text in (None, 5, "", " \n", "\ud800")] + [[said, said], [None], 5]
odd_messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "toolResult", "custom", "message", "hookMessage", "x"]),
        "timestamp": st.sampled_from([1, 5, 5.5, 0, -5, 2**53, 10**17, True, None, "x", float("nan")]),
    },
    optional={
        "content": st.sampled_from(contents),
        "stopReason": st.sampled_from([None, "", "stop", "toolUse", "error", 5, ["stop"]]),
    },
)


@settings(quick, max_examples=300 * MANY)
@given(st.lists(odd_messages, max_size=6))
def test_what_memory_says_of_a_message_that_was_just_written_is_what_its_line_says(given_messages):
    session = Session.in_memory("/p", clock=clock())

    for message in given_messages:
        session.append_message(UnknownMessage(role=message["role"], fields=message))

    written = session.transcript.bytes_between(0, None)
    assert readings.facts(session.transcript) == readings.facts(transcript(written))


@quick
@given(steps)
def test_what_is_written_is_decoded_as_it_was_meant(steps):
    with somewhere() as directory:
        session = new(directory, durability="os")
        for step in steps:
            made = do(session, step)
            if made is None:
                continue
            entry = session.entry(made)
            match step:
                case ("user" | "assistant" | "tool", text):
                    assert message_fields(entry.message)["content"] == [{"type": "text", "text": text}]
                case ("system", text):
                    assert (entry.message.content, entry.message.sections) == (text, {"s": text})
                    assert entry.message.tools_added == ({"name": text},)
                case ("bash", text):
                    assert (entry.message.command, entry.message.exit_code) == (text, 0)
                case ("model", text):
                    assert (entry.provider, entry.model_id) == ("provider", text)
                case ("thinking", text):
                    assert entry.thinking_level == text
                case ("custom message", text):
                    assert (entry.content, entry.display) == (text, True)
                case ("custom", data):
                    assert entry.data == data
                case ("compaction", _, text, details):
                    assert (entry.summary, entry.details, entry.tokens_before) == (text, details, 7)
                case ("summary", _, text):
                    assert entry.summary == text
                case ("label", _, text):
                    assert entry.label == text
                case ("title", _) | ("usage", _) | ("edit", _, _):
                    pass
                case _:
                    raise AssertionError(step)
            encoded = session._writer.format.required_writer().encode([entry], session.transcript.reading)
            assert encoded == session.raw(made) + b"\n"
            assert msgspec.structs.asdict(entry)["id"] == made


@quick
@given(st.lists(st.tuples(numbers, st.none() | texts), max_size=20))
def test_labels_are_the_last_word_on_each_entry(settings_of_labels):
    with somewhere() as directory:
        session = talked(directory, 3, durability="os")
        keys, expected = session.path(), {}
        for number, text in settings_of_labels:
            key = keys[number % len(keys)]
            session.append_label(key, text)
            expected.pop(key, None) if not text else expected.update({key: text})

        assert session.labels == expected
        assert session.leaf == keys[-1]
        assert list(session.fork().labels) == list(expected)


@quick
@given(st.lists(moves, max_size=15))
def test_moving_about_changes_nothing_but_the_place(steps):
    with somewhere() as directory:
        session = talked(directory, 3, durability="os")
        known = session.index.keys[:]
        for step in steps:
            do(session, step)

            conversation_now = [
                k for k in session.index.keys if session.index.types[session.index.position(k)] != "leaf"
            ]
            assert conversation_now == known
            require_same_after_reopening(session)


@settings(quick, max_examples=40 * MANY)
@given(conversation | side | moves)
def test_a_verb_that_could_not_be_saved_has_not_happened(step):
    with somewhere() as directory:
        if step[0] == "branch":
            step = ("branch", 2)  # another place than the leaf, so that there is something to save
        prove_a_failed_verb_changes_nothing(directory, step)


@quick
@given(st.data())
def test_wherever_the_last_line_is_torn_the_next_append_stands_alone(data):
    """«Truncate at every byte of the last record, then append twice.»"""
    with somewhere() as directory:
        session = talked(directory, 1, durability="os")
        step = data.draw(conversation | side)
        do(session, step)
        whole = bytes_of(session)
        last = len(lines_of(whole)[-1]) + 1
        cut = data.draw(st.integers(1, last))
        path = path_of(session)
        session.close()
        path.write_bytes(whole[: len(whole) - cut])
        complete = cut == 1

        with Session.open(path, clock=clock(seed=900), durability="os") as again:
            known = facts(again)
            one = again.append_message("one")
            two = again.append_message("two")

            readable = [
                k for k in again.index.keys if again.index.position(k) not in again.index.placeholders
            ]
            assert len(readable) == (3 if complete else 2) + 2
            assert again.path()[-2:] == [one, two]
            assert again.path()[:-2] == known["path"]
            require_same_after_reopening(again)
        tail = whole[len(whole) - last : len(whole) - cut]
        assert not tail or tail in lines_of(path)
