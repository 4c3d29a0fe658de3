"""What Copilot CLI records around a compaction, and what its model sees afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.context import build_context, to_model
from branchline.conversion import convert
from branchline.entries import message_text
from branchline.formats import CLAUDE_CODE, CODEX, COPILOT, OH_MY_PI, PI, QWEN, ZOT, EntryLog
from formats.conversion_kit import HEADER as SESSION
from formats.conversion_kit import written as written_as
from support import CORPUS

COMPACTED = CORPUS / "copilot" / "compacted"
BY_HAND = COMPACTED / "0c0b2207-2222-4a6b-9c3d-000000000011" / "events.jsonl"
AUTOMATIC = COMPACTED / "0c0b2207-2222-4a6b-9c3d-000000000012" / "events.jsonl"
TARGETS = (PI, OH_MY_PI, ZOT, CLAUDE_CODE, CODEX, QWEN, COPILOT)

Event = tuple[str, dict[str, Any]]


def seen(session: Session) -> list[tuple[str, str]]:
    """Roles and texts of what a model sees."""
    return transcript_seen(session.transcript)


def transcript_seen(transcript: EntryLog) -> list[tuple[str, str]]:
    context = build_context(transcript, transcript.tree.nearest_conversation_entry(transcript.reading.leaf))
    return [(message.role, message_text(message)) for message in to_model(context)]


def written(tmp_path: Path, *events: Event) -> Session:
    path = tmp_path / "session-state" / "s" / "events.jsonl"
    path.parent.mkdir(parents=True)
    start = ("session.start", {"sessionId": "s", "version": 1, "context": {"cwd": "/p"}})
    lines = [
        {
            "type": kind,
            "data": data,
            "id": f"e{number}",
            "timestamp": "",
            "parentId": number and f"e{number - 1}",
        }
        for number, (kind, data) in enumerate((start, *events))
    ]
    lines[0]["parentId"] = None
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Session.open(path)


def prompt(text: str) -> Event:
    return "user.message", {"content": text}


def answer(text: str) -> Event:
    return "assistant.message", {"content": text}


def begun(attempt: str = "a") -> Event:
    return "session.compaction_start", {"compactionAttemptId": attempt}


def ended(summary: str = "Sum.", attempt: str = "a", *, success: bool = True) -> Event:
    return (
        "session.compaction_complete",
        {"compactionAttemptId": attempt, "summaryContent": summary, "success": success},
    )


def repeated(session: Session) -> tuple[list[str], list[str]]:
    """The prompts that the summary message repeats, and its lines about omitted ones."""
    text = seen(session)[0][1]
    prompts = [part.partition("</user_message>")[0] for part in text.split("<user_message>")[1:]]
    return prompts, [line for line in text.split("\n") if line.startswith("... ")]


# -- records beside the conversation ----------------------------------------------------------------------


def test_the_chain_of_model_events_that_a_compaction_leaves_is_no_damage():
    with Session.open(BY_HAND) as session:
        assert session.check().findings == ()
        assert session.title == "Count the lines"
        assert [entry.parent for entry in session.entries()].count(None) == 1


def test_a_missing_parent_of_any_other_event_is_damage(tmp_path):
    lines = BY_HAND.read_bytes().splitlines(keepends=True)
    number = next(place for place, line in enumerate(lines) if b'"content":"Stored."' in line)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))

    with Session.open(path) as session:
        assert [finding.kind for finding in session.check().findings] == ["orphan"]


def test_an_unreadable_line_before_model_events_is_bridged_as_before_any_other(tmp_path):
    lines = BY_HAND.read_bytes().splitlines(keepends=True)
    number = next(place for place, line in enumerate(lines) if b"session.compaction_start" in line)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join([*lines[:number], b'{"type":"session.compa\n', *lines[number + 1 :]]))

    with Session.open(path) as session:
        kinds = {finding.kind for finding in session.check().findings}
        assert [entry.parent for entry in session.entries()].count(None) == 1

    assert "orphan" not in kinds


def test_a_session_that_ends_within_a_compaction_stands_at_its_last_message(tmp_path):
    lines = BY_HAND.read_bytes().splitlines(keepends=True)
    number = next(place for place, line in enumerate(lines) if b"model.message" in line)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(lines[:number]))

    with Session.open(path) as session:
        assert seen(session)[-1] == ("assistant", "Elbe.")
        assert session.check().findings == ()


# -- prompts ----------------------------------------------------------------------------------------------


def test_after_a_compaction_the_context_begins_with_all_prompts_of_the_session_and_the_summary():
    with Session.open(BY_HAND) as session:
        first, *others = seen(session)

        assert repeated(session) == (
            ["Count the lines", "Store the facts in facts.txt", "Name a river", "After the compaction one"],
            [],
        )
    assert first[1].index("After the compaction one") < first[1].index("stored facts.txt and went on")
    assert others == [("user", "And now"), ("assistant", "Now this.")]


def test_the_repeated_prompts_are_neither_shown_nor_searched_as_a_part_of_the_summary():
    with Session.open(BY_HAND) as session:
        compactions = [entry for entry in session.entries() if entry.type == "compaction"]
        assert [entry.summary for entry in compactions] == [
            "They counted lines and stored facts.",
            "They counted, stored facts.txt and went on.",
        ]
        assert [entry.first_kept for entry in compactions] == [entry.id for entry in compactions]


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
@pytest.mark.parametrize("path", [BY_HAND, AUTOMATIC], ids=["by hand", "automatic"])
def test_a_model_of_another_agent_receives_the_prompts_and_the_summary(path, target):
    with Session.open(path) as session:
        others = seen(session)[1:]
        prompts = repeated(session)[0]
        made = convert(session.transcript, target, SESSION, leaf=session.transcript.reading.leaf)
    found = transcript_seen(written_as(made.data, target))

    assert prompts
    assert all(prompt in found[0][1] for prompt in prompts)
    assert [said for said in found[1:] if said[1]] == [said for said in others if said[1]]


LIMITS = [
    # what was said, the prompts that the real program repeated, how many it omitted
    ([5000] * 8, [5000] * 5, 3),
    ([100, 30_000, 100, 20_000, 3_000, 100], [100, 100, 20_000, 3_000, 100], 1),
    ([100] * 14, [100] * 14, 0),
    ([108_000, 100, 108_000], [6_000, 24_000], 1),
    ([108_000], [6_000], 0),
    ([100, 24_000], [100, 24_000], 0),
    ([100, 1, 24_000], [100, 24_000], 1),
    ([100, 12_000, 12_000], [100, 12_000, 12_000], 0),
    ([100, 12_001, 12_000], [100, 12_000], 1),
    ([6_000, 24_001], [6_000, 24_000], 0),
]


@pytest.mark.parametrize(("given", "kept", "omitted"), LIMITS)
def test_the_first_prompt_and_the_newest_ones_are_repeated_within_the_limits(given, kept, omitted, tmp_path):
    said = [
        event for number, size in enumerate(given) for event in (prompt(chr(97 + number) * size), answer("."))
    ]

    found, notes = repeated(written(tmp_path, *said, begun(), ended(), prompt("next")))

    assert [len(text.removesuffix("...<truncated>...")) for text in found] == kept
    assert [text.endswith("...<truncated>...") for text in found] == [
        size > most for size, most in zip([given[0], *given[1:][-len(kept) + 1 :]], kept, strict=False)
    ]
    assert "".join(text[0] for text in found) == "".join(sorted(text[0] for text in found))
    assert notes == ([f"... {omitted} messages omitted ..."] if omitted else [])


def test_a_note_about_omitted_prompts_stands_after_the_first(tmp_path):
    said = [prompt(letter * 10_000) for letter in "abcd"]

    text = seen(written(tmp_path, *said, begun(), ended()))[0][1]

    assert text.index("aaa") < text.index("... 1 messages omitted ...") < text.index("ccc")


def test_compact_with_words_is_no_prompt_of_the_list_but_a_word_that_begins_like_it_is(tmp_path):
    said = [prompt(text) for text in ("One", "/compact", "/compact the tests", "/compaction?", "Two")]

    assert repeated(written(tmp_path, *said, begun(), ended()))[0] == ["One", "/compaction?", "Two"]


def test_without_a_prompt_there_is_only_the_summary(tmp_path):
    with written(tmp_path, answer("Hi"), begun(), ended("Only this.")) as session:
        assert [item.message.summary for item in session.context().messages] == ["Only this."]


# -- what is said while a compaction runs -----------------------------------------------------------------


def test_what_was_said_during_an_automatic_compaction_follows_its_summary():
    with Session.open(AUTOMATIC) as session:
        summary, *others = session.context().messages
        roles = [(item.role, message_text(item.message)) for item in others]
        prompts = repeated(session)[0]

    assert "Four long texts were read." in message_text(summary.message)
    assert [text[:18] for text in prompts] == [f"Long text number {number}" for number in range(1, 6)]
    assert roles == [
        ("assistant", ""),
        ("toolResult", "step1"),
        ("assistant", "read 5"),
        ("user", "After"),
        ("assistant", "aa"),
    ]


def test_an_answer_during_a_compaction_is_kept(tmp_path):
    session = written(tmp_path, prompt("Say it"), begun(), answer("Said."), ended(), prompt("Next"))

    assert seen(session)[1:] == [("assistant", "Said."), ("user", "Next")]


def test_a_prompt_during_a_compaction_is_kept_and_not_repeated(tmp_path):
    session = written(tmp_path, prompt("One"), begun(), prompt("Meanwhile"), ended(), answer("Yes."))

    assert repeated(session)[0] == ["One"]
    assert seen(session)[1:] == [("user", "Meanwhile"), ("assistant", "Yes.")]


def test_a_compaction_that_failed_keeps_everything_and_leaves_the_next_one_alone(tmp_path):
    events = [prompt("One"), begun("a"), answer("First."), ended("No.", "a", success=False), prompt("Two")]
    with written(tmp_path / "failed", *events) as failed:
        assert seen(failed) == [("user", "One"), ("assistant", "First."), ("user", "Two")]

    with written(tmp_path / "again", *events, begun("b"), answer("Second."), ended("Yes.", "b")) as again:
        assert repeated(again)[0] == ["One", "Two"]
        assert seen(again)[1:] == [("assistant", "Second.")]


def test_a_compaction_of_another_attempt_keeps_nothing(tmp_path):
    session = written(tmp_path, prompt("One"), begun("a"), answer("First."), ended("Sum.", "b"))

    assert seen(session)[1:] == []


def test_the_context_is_the_same_when_the_end_of_a_compaction_is_appended_later(tmp_path):
    data = AUTOMATIC.read_bytes()
    cut = data.index(b'{"type":"session.compaction_complete"')
    path = tmp_path / "events.jsonl"
    path.write_bytes(data[:cut])
    with Session.open(path) as session, Session.open(AUTOMATIC) as whole:
        with path.open("ab") as file:
            file.write(data[cut:])
        session.refresh()

        assert seen(session) == seen(whole)
