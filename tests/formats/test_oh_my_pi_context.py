"""A path of oh-my-pi says to a model what that program would send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from branchline import Session
from branchline.compaction import prepare_compaction
from branchline.context import build_context
from branchline.conversion import convert
from branchline.entries import Compaction, Thinking
from branchline.formats import CLAUDE_CODE, CODEX, COPILOT, PI, QWEN, ZOT, Format
from branchline.formats.oh_my_pi import path_state
from formats.conversion_kit import HEADER as SESSION
from formats.conversion_kit import said as spoken
from formats.conversion_kit import written
from formats.oh_my_pi_kit import SAMPLES, answer, call, message, read, result, role, sample, story, user


def texts(*entries: dict[str, Any]) -> list[str]:
    """The words of each message of the context, or its role where it has none."""
    found = read(story(*entries))
    context = build_context(found, found.reading.leaf)
    return [_words(item.message) for item in context.messages]


def _words(message: Any) -> str:
    content = getattr(message, "content", getattr(message, "summary", ""))
    words = content if isinstance(content, str) else "".join(getattr(block, "text", "") for block in content)
    return words or role(message)


BOUNDARY: dict[str, Any] = {"type": "reset_boundary"}


def compaction(first: str, **fields: Any) -> dict[str, Any]:
    return {"type": "compaction", "summary": "sum", "firstKeptEntryId": first, "tokensBefore": 1, **fields}


# -- history that a compaction holds as text ---------------------------------------------------------------


HISTORY = """¶user:Count the lines of notes.txt
¶call:bash(command=wc -l notes.txt)
<out>7 notes.txt</out>
¶ai:Seven lines.
¶user:And the second line?
¶ai:It says: buy milk."""


def archived(**archive: Any) -> dict[str, Any]:
    return compaction("e2", method="snapcompact", preserveData={"snapcompact": {"frames": [], **archive}})


def test_the_history_that_a_snapcompact_compaction_announces_follows_its_summary():
    found = sample("snapcompact")
    opening, *others = build_context(found, found.reading.leaf).messages
    stored = next(entry for entry in found.entries(range(len(found.tree))) if isinstance(entry, Compaction))

    assert opening.message.summary == f"{stored.summary}\n{HISTORY}"
    assert stored.summary.endswith("HISTORY")
    assert [_words(item.message) for item in others] == [
        "What did I ask first?",
        "For the lines of notes.txt.",
    ]


@pytest.mark.parametrize(
    "target",
    [PI, CLAUDE_CODE, CODEX, COPILOT, QWEN, ZOT],
    ids=["pi", "claude", "codex", "copilot", "qwen", "zot"],
)
def test_the_history_reaches_the_models_of_other_agents(target):
    made = written(convert(sample("snapcompact"), target, SESSION, leaf=9).data, target)

    assert HISTORY in json.dumps(spoken(made), ensure_ascii=False).replace("\\n", "\n")


def test_the_next_summary_is_written_from_the_summary_with_its_history():
    found = sample("snapcompact")

    prepared = prepare_compaction(found, found.reading.leaf, keep_recent_tokens=1)

    assert prepared is not None
    assert HISTORY in (prepared.previous_summary or "")


def test_a_later_compaction_replaces_the_history():
    first = archived(text="¶user:old")

    assert texts(user("a"), first, user("b"), compaction("e3", method="soft"), user("c")) == ["sum", "b", "c"]


def test_what_is_kept_of_the_path_follows_the_history():
    kept = {**archived(text="¶user:a█¶ai:b"), "firstKeptEntryId": "e2"}

    assert texts(user("a"), user("c"), kept, user("d")) == ["sum\n¶user:a\n¶ai:b", "c", "d"]


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        ({"frames": [{}, {}], "text": "all"}, "sum\nall\n[2 pictures of earlier history are not included]"),
        (
            {"frames": [{}], "textHead": "old█", "textTail": "new"},
            "sum\nold\n\n[1 picture of earlier history is not included]\nnew",
        ),
        ({"frames": [{}]}, "sum\n[1 picture of earlier history is not included]"),
        ({"text": ""}, "sum"),
        ({"frames": None, "text": 7}, "sum"),
    ],
)
def test_pictures_of_earlier_history_are_named_in_words(archive, words):
    assert texts(user("a"), archived(**archive))[0] == words


# -- what is read of the path ------------------------------------------------------------------------------


def test_after_a_clear_only_what_follows_counts():
    assert texts(user("a"), answer("b"), BOUNDARY, user("c")) == ["c"]
    assert texts(user("a"), BOUNDARY, user("b"), BOUNDARY, user("c")) == ["c"]
    assert texts(user("a"), BOUNDARY) == []


def test_the_later_one_of_a_clear_and_a_compaction_wins():
    assert texts(user("a"), compaction("e1"), user("b"), BOUNDARY, user("c")) == ["c"]
    assert texts(user("a"), BOUNDARY, user("b"), compaction("e3"), user("c")) == ["sum", "b", "c"]


def test_a_clear_on_another_branch_has_no_effect():
    assert texts(user("a"), BOUNDARY, {**user("b"), "parentId": "e1"}) == ["a", "b"]


def test_the_thinking_level_and_the_models_from_before_a_clear_stay():
    chosen = {"type": "model_change", "model": "openai/gpt-5"}
    level = {"type": "thinking_level_change", "thinkingLevel": "high", "configured": "auto"}
    found = read(story(chosen, level, user("a"), BOUNDARY, user("b")))

    context = build_context(found, found.reading.leaf)

    assert context.model is not None
    assert context.model.id == "gpt-5"
    assert context.thinking_level == "high"
    assert path_state(found, found.reading.leaf).configured_thinking_level == "auto"


@pytest.mark.parametrize(
    ("entries", "model"),
    [
        ([answer("x", provider="p", model="one"), answer("x", provider="p", model="two")], "p/two"),
        (
            [{"type": "model_change", "model": "p/chosen"}, answer("x", provider="p", model="other")],
            "p/chosen",
        ),
        (
            [answer("x", provider="p", model="other"), {"type": "model_change", "model": "p/chosen"}],
            "p/chosen",
        ),
        (
            [
                {"type": "model_change", "model": "p/small", "role": "smol"},
                answer("x", provider="p", model="m"),
            ],
            "p/m",
        ),
        (
            [
                {"type": "model_change", "model": "p/tmp", "role": "fallback"},
                answer("x", provider="p", model="m"),
            ],
            "p/m",
        ),
        (
            [
                {"type": "model_change", "provider": "p", "modelId": "pis"},
                answer("x", provider="p", model="m"),
            ],
            "p/m",
        ),
    ],
)
def test_a_chosen_default_model_stays_whatever_answers_later(entries, model):
    found = read(story(*entries))

    context = build_context(found, found.reading.leaf)

    assert context.model is not None
    assert f"{context.model.provider}/{context.model.id}" == model
    assert path_state(found, found.reading.leaf).models["default"] == model


def test_before_the_first_entry_nothing_is_said_and_nothing_is_chosen():
    found = read(story(user("a")))

    state = path_state(found, -1)

    assert build_context(found, -1).messages == []
    assert (state.thinking_level, state.models, state.mode, state.injected_rules) == ("off", {}, "none", ())


def test_mode_rules_and_service_tier_are_those_of_the_path():
    found = read(
        story(
            {"type": "mode_change", "mode": "plan", "data": {"planFile": "P"}},
            {"type": "ttsr_injection", "injectedRules": ["a", "b"]},
            {"type": "service_tier_change", "serviceTier": {"openai": "priority"}},
            {"type": "ttsr_injection", "injectedRules": ["b", "c"]},
            {"type": "mode_change", "mode": "none", "parentId": "e2"},
        )
    )

    there, here = path_state(found, 3), path_state(found, 4)

    assert (there.mode, there.mode_data) == ("plan", {"planFile": "P"})
    assert there.injected_rules == ("a", "b", "c")
    assert there.service_tier == {"openai": "priority"}
    assert (here.mode, here.injected_rules, here.service_tier) == ("none", ("a", "b"), None)


# -- compactions ------------------------------------------------------------------------------------------

OPENAI = {"openaiRemoteCompaction": {"provider": "openai", "replacementHistory": [{"type": "message"}]}}
ANTHROPIC = {"anthropicCompaction": {"provider": "anthropic", "content": "held"}}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (compaction("e2"), ["sum", "b", "c", "after"]),
        (compaction("e2", preserveData=OPENAI), ["sum", "after"]),
        (compaction("e2", preserveData=OPENAI, providerReplayThroughEntryId="e2"), ["sum", "c", "after"]),
        (compaction("e2", preserveData=OPENAI, providerReplayThroughEntryId="e3"), ["sum", "after"]),
        (compaction("e2", preserveData=OPENAI, providerReplayThroughEntryId="gone"), ["sum", "after"]),
        (
            compaction("e2", preserveData={"openaiRemoteCompaction": {"provider": ""}}),
            ["sum", "b", "c", "after"],
        ),
        (compaction("e2", preserveData=ANTHROPIC), ["sum", "b", "c", "after"]),
        (
            compaction("", preserveData=ANTHROPIC, providerReplayThroughEntryId="e1"),
            ["sum", "b", "c", "after"],
        ),
        (compaction("", providerReplayThroughEntryId="e1"), ["sum", "after"]),
        (compaction("gone"), ["sum", "after"]),
        (compaction("e4"), ["sum", "after"]),
    ],
)
def test_beside_a_compaction_stands_what_the_provider_does_not_hold(fields, said):
    assert texts(user("a"), user("b"), user("c"), fields, user("after")) == said


def test_system_messages_in_a_kept_range_stay_and_a_system_state_of_pi_is_passed_over():
    system = message("system", content="Be brief.", timestamp=1)
    state = {"role": "system", "content": "state", "timestamp": 1}

    assert texts(system, user("a"), compaction("e1", systemMessage=state)) == ["sum", "Be brief.", "a"]


def test_edits_of_pi_have_no_effect():
    edit = {"type": "context_edit", "targetId": "e1", "replacement": None}

    assert texts(user("a"), edit, user("b")) == ["a", "b"]


# -- what is left out -------------------------------------------------------------------------------------


def test_answers_that_were_asked_for_again_or_failed_without_a_word_are_left_out():
    recovered = answer("half", retryRecovery={"attempt": 1})
    empty = answer({"type": "thinking", "thinking": " "}, stopReason="error", errorMessage="overloaded")

    assert texts(user("a"), recovered, empty, answer("b")) == ["a", "b"]


def test_messages_between_the_program_and_itself_are_left_out():
    internal = [
        {"type": "custom_message", "customType": kind, "content": "x", "display": False}
        for kind in ("prewalk-plan", "vibe-mode-context")
    ]
    shown = {"type": "custom_message", "customType": "reminder", "content": "y", "display": False}

    assert texts(user("a"), *internal, shown) == ["a", "y"]


def test_a_call_without_a_result_on_this_path_is_taken_out_with_what_was_sealed():
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"}
    sealed = {"type": "redactedThinking", "data": "x"}
    found = read(
        story(answer(thought, sealed, "words", call("open"), call("closed")), result("closed"), user("b"))
    )

    first = build_context(found, found.reading.leaf).messages[0].message

    assert [getattr(block, "id", None) for block in first.content] == [None, None, "closed"]
    assert first.content[0] == Thinking(thinking="hm")


def test_an_answer_that_was_nothing_but_open_calls_is_left_out():
    assert texts(user("a"), answer(call("open")), user("b")) == ["a", "b"]


def test_a_message_whose_calls_were_all_answered_keeps_its_seals():
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "seal"}
    found = read(story(answer(thought, call("c1")), result("c1")))

    first = build_context(found, found.reading.leaf).messages[0].message

    assert first.content[0].thinking_signature == "seal"


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_a_turn_that_failed_is_left_out_with_the_results_of_its_calls(reason):
    failed = answer("half", call("c1"), stopReason=reason)

    assert texts(user("a"), failed, result("c1"), user("b")) == ["a", "b"]


def test_a_turn_that_was_interrupted_while_thinking_stays():
    note = {
        "type": "custom_message",
        "customType": "interrupted-thinking",
        "content": "note",
        "display": False,
    }

    assert texts(user("a"), answer("half", stopReason="aborted"), note) == ["a", "half", "note"]


def test_many_failures_in_a_row_are_left_out_in_one_pass():
    turns = [
        entry
        for number in range(2000)
        for entry in (answer(call(f"c{number}"), stopReason="error"), result(f"c{number}"))
    ]

    assert texts(user("a"), *turns, user("b")) == ["a", "b"]


def test_the_messages_that_a_token_count_holds_for_are_still_counted_after_leaving_some_out():
    found = read(story(user("a"), answer("half", stopReason="error"), compaction("e1"), user("b")))

    context = build_context(found, found.reading.leaf)

    assert [role(item.message) for item in context.messages] == ["compactionSummary", "user", "user"]
    assert context.measured_from == 2


# -- what other programs are given --------------------------------------------------------------------------


@pytest.mark.parametrize("target", [CLAUDE_CODE, CODEX, QWEN, COPILOT], ids=lambda one: one.name)
def test_a_program_that_continues_the_session_sends_the_same_messages(target: Format):
    source = read(
        story(
            user("a"),
            answer("b", call("c1"), call("c2")),
            result("c1"),
            user("c"),
            answer("failed", stopReason="error"),
            user("d"),
            answer("e", call("c3")),
        )
    )

    made = convert(source, target, SESSION)

    assert spoken(written(made.data, target)) == spoken(source)
    assert [change.why for change in made.fidelity.lost] == ["oh-my-pi does not send it to the model"]
    why = "without what oh-my-pi does not send to the model"
    assert sum(len(change.entries) for change in made.fidelity.approximated if why in change.why) == 2


def test_an_archived_history_comes_back_byte_for_byte_through_a_native_session(tmp_path):
    with Session.open(SAMPLES / "snapcompact.jsonl") as session:
        session.convert("branchline", output=tmp_path / "native.jsonl", same_id=True)
    with Session.open(tmp_path / "native.jsonl") as native:
        native.convert("oh-my-pi", output=tmp_path / "back.jsonl", same_id=True)

    assert (tmp_path / "back.jsonl").read_bytes() == (SAMPLES / "snapcompact.jsonl").read_bytes()
