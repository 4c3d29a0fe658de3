"""A conversation goes from every program into every other, and the account says what became of it."""

from __future__ import annotations

import json
import resource
from itertools import pairwise

import msgspec
import pytest

from branchline.clock import FixedClock
from branchline.context import NO_RESULT
from branchline.context.usage import totals
from branchline.conversion import branch_tips, convert
from branchline.entries import Header, MessageEntry, UnknownMessage
from branchline.errors import NotSupported
from branchline.formats import CLAUDE_CODE, COPILOT, INDUSCODE, OH_MY_PI, OPERATOR, PI, PIGLET, ZOT, detect
from branchline.session import NewEntry, Session
from formats.conversion_kit import (
    APPENDABLE,
    EXPECTED,
    HEADER,
    PROGRAMS,
    TARGETS,
    read,
    said,
    samples,
    written,
)
from interop.conversations import said as items

PICTURE = "iVBORw0KGgoAAAANSUhEUg=="
OWN_VIEW = frozenset({"oh-my-pi"})
"""Programs that leave failed answers and open calls out of what they send, whoever wrote them."""


def changes(made, of):
    """What was approximated or lost, without the ids: kind and reason."""
    return {(change.kind, change.why) for change in getattr(made.fidelity, of)}


def reasons(made, of, kind):
    return [why for found, why in sorted(changes(made, of)) if found == kind]


def times(found):
    """When the messages were said."""
    entries = found.entries(range(len(found.tree)))
    return [entry.message.timestamp for entry in entries if isinstance(entry, MessageEntry)]


@pytest.fixture
def session():
    return Session.in_memory("/home/u/project", id="source", clock=FixedClock(1_800_000_000_000))


def talk(session: Session) -> None:
    """A question, a call with thoughts before it, its result, and an answer."""
    session.append_message("What is in a.py?")
    session.append_message(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I should look.", "thinkingSignature": "c2ln"},
                {"type": "toolCall", "id": "call-1", "name": "read", "arguments": {"path": "a.py"}},
            ],
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": "claude-x",
            "usage": {
                "input": 10,
                "output": 5,
                "cacheRead": 2,
                "cacheWrite": 1,
                "totalTokens": 18,
                "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3},
            },
            "stopReason": "toolUse",
            "timestamp": 1_800_000_000_500,
        }
    )
    session.append_message(
        {
            "role": "toolResult",
            "toolCallId": "call-1",
            "toolName": "read",
            "content": [{"type": "text", "text": "no such file"}],
            "isError": True,
            "timestamp": 1_800_000_000_600,
        }
    )
    session.append_message(
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "It is not there."}],
            "provider": "anthropic",
            "model": "claude-x",
            "stopReason": "stop",
            "timestamp": 1_800_000_000_700,
        }
    )


# -- all pairs over the corpus ----------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_sample_of_a_program_converts_into_a_healthy_file_of_another(program, target):
    for path in samples(program):
        source = read(path.read_bytes(), name=str(path))
        if source.format is TARGETS[target]:
            continue

        made = convert(source, TARGETS[target], HEADER)

        assert sum(made.fidelity.counted().values()) == made.fidelity.entries == len(source.tree), path
        found = written(made.data, TARGETS[target])
        assert {finding.kind for finding in found.findings} <= EXPECTED, path
        assert (
            not made.data or detect(made.data[:65536], "x" + TARGETS[target].traits.suffix) is TARGETS[target]
        )
        assert made.fidelity.damage == len(source.findings)


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in OWN_VIEW])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_model_sees_the_same_conversation_unless_the_account_says_otherwise(program, target):
    for path in samples(program):
        source = read(path.read_bytes(), name=str(path))
        if source.format is TARGETS[target]:
            continue

        made = convert(source, TARGETS[target], HEADER)

        told = [
            change
            for change in (*made.fidelity.approximated, *made.fidelity.lost)
            if change.kind
            in ("answer", "user message", "tool result", "message of another role", "compaction")
            and "joined" not in change.why
            and not change.why.startswith("without ")
        ]
        if not told and not _drops_messages(source) and not _has_summary_messages(source):
            wanted = said(source, target=TARGETS[target])
            assert said(written(made.data, TARGETS[target]), target=TARGETS[target]) == wanted, path


def _drops_messages(source):
    """Whether the program itself leaves messages out of what it sends, or stands before all of them."""
    return source.format is OH_MY_PI or source.leaf is None


def _has_summary_messages(source):
    return "compactionSummary" in source.tree.roles or any(
        b'"compaction":"true"' in source.raw(position) for position in range(len(source.tree))
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_damaged_session_converts_with_what_can_be_read(target):
    data = (
        PI.writer.encode_header(Header(id="s", version=3, timestamp="2026-01-01T00:00:00.000Z", cwd="/"))
        + b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z",'
        b'"message":{"role":"user","content":"still here","timestamp":1767225601000}}\n'
        b'{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","mess\n'
        b'{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z",'
        b'"message":{"role":"user","content":"and here","timestamp":1767225603000}}\n'
    )
    source = read(data, PI)
    if target == "pi":
        source = written(
            convert(source, OPERATOR, HEADER).data + b'{"id":"zz","timestamp":1,"type":"mess\n', OPERATOR
        )

    made = convert(source, TARGETS[target], HEADER)

    assert said(written(made.data, TARGETS[target])) == [
        ("UserMessage", [("words", "still here"), ("words", "and here")])
    ]
    if target != "pi":
        assert ("unreadable line", "its line cannot be read") in changes(made, "lost")
    assert made.fidelity.damage > 0


# -- what goes with a message -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_calls_results_error_flags_thoughts_and_times_arrive_everywhere(session, target):
    talk(session)

    made = convert(session.transcript, TARGETS[target], HEADER)

    found = written(made.data, TARGETS[target])
    assert said(found, target=TARGETS[target]) == said(session.transcript, target=TARGETS[target])
    assert times(found) == times(session.transcript)
    assert not made.fidelity.lost


@pytest.mark.parametrize("target", APPENDABLE)
def test_tokens_cost_and_model_arrive_everywhere(session, target):
    talk(session)
    made = convert(session.transcript, TARGETS[target], HEADER)

    with Session.in_memory(data=made.data) as found:
        spent = found.usage().all.total
        assert (spent.input, spent.output, spent.cache_read, spent.cache_write) == (10, 5, 2, 1)
        assert spent.cost == pytest.approx(0.3)
        model = found.context().model
        assert model is not None
        assert (model.provider, model.id) == ("anthropic", "claude-x")


@pytest.mark.parametrize("target", TARGETS)
def test_pictures_in_questions_and_in_results_arrive_everywhere(session, target):
    picture = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
    session.append_message({"role": "user", "content": [{"type": "text", "text": "look"}, picture]})
    call = {"type": "toolCall", "id": "c", "name": "shot", "arguments": {}}
    session.append_message({"role": "assistant", "content": [call], "stopReason": "toolUse"})
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "shot", "content": [picture]}
    session.append_message({**result, "isError": False})

    made = convert(session.transcript, TARGETS[target], HEADER)

    parts = [part for _, found in said(written(made.data, TARGETS[target])) for part in found]
    assert parts.count(("picture", PICTURE)) == 2


@pytest.mark.parametrize("target", [OPERATOR, ZOT, PIGLET])
def test_a_shell_command_becomes_the_text_that_the_model_saw(session, target):
    session.append_message({"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 0})

    made = convert(session.transcript, target, HEADER)

    assert said(written(made.data, target)) == [("UserMessage", [("words", "Ran `ls`\n```\na.py\n```")])]
    assert reasons(made, "approximated", "shell command") == ["as a user message"]


@pytest.mark.parametrize("target", TARGETS)
def test_what_an_extension_said_is_a_message_of_the_person_where_there_is_nothing_else(session, target):
    session.append_custom_message("notes", "remember the tests")

    made = convert(session.transcript, TARGETS[target], HEADER)

    assert said(written(made.data, TARGETS[target])) == [("UserMessage", [("words", "remember the tests")])]
    assert bool(reasons(made, "approximated", "custom message")) == (
        target in ("zot", "claude-code", "codex", "qwen", "copilot")
    )


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda format_: format_.name)
@pytest.mark.parametrize(
    "text",
    [
        "<local-command-stdout>done</local-command-stdout>",
        "<system-reminder>think</system-reminder>",
        "<bash-input>ls</bash-input>",
        "<environment_context>here</environment_context>",
        "# AGENTS.md instructions",
    ],
)
def test_a_prompt_that_begins_like_the_words_of_a_program_stays_on_the_path(session, target, text):
    """Data that no other format keeps stands between the messages, so that each is written alone."""
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}
    for message in ("Hello", reply, text, "Go on", reply):
        session.append_custom("data")
        session.append_message(message)

    made = convert(session.transcript, target, HEADER)

    assert said(written(made.data, target)) == said(session.transcript, target=target)


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "pi"])
def test_an_edit_of_the_context_is_applied(session, target):
    first = session.append_message("a very long question")
    second = session.append_message("not for the model")
    session.append_context_edit(first, "a short one")
    session.append_context_edit(second, None)

    made = convert(session.transcript, TARGETS[target], HEADER)

    assert said(written(made.data, TARGETS[target])) == [("UserMessage", [("words", "a short one")])]
    assert reasons(made, "approximated", "context edit") == ["applied to the entry that it edits"]


def test_an_edit_on_another_branch_does_not_touch_the_active_one(session):
    first = session.append_message("shared")
    session.append_context_edit(first, "edited there")
    session.branch(first)
    session.append_message("here")

    made = convert(session.transcript, OPERATOR, HEADER)

    assert said(written(made.data, OPERATOR)) == [("UserMessage", [("words", "shared"), ("words", "here")])]
    assert len(reasons(made, "lost", "context edit")) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_compaction_is_in_the_form_of_the_program(session, target):
    session.append_message("first question")
    kept = session.append_message("kept question")
    session.append_compaction("what was said so far", kept, 1234)
    session.append_message("new question")

    made = convert(session.transcript, TARGETS[target], HEADER)

    assert said(written(made.data, TARGETS[target])) == said(session.transcript)
    if target == "zot":
        assert reasons(made, "lost", "user message") == [
            "replaced by a summary; the format has no other compaction"
        ]


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ("pi", "piglet")])
def test_messages_that_a_compaction_holds_are_not_lost(target):
    row = b'{"type":"%s","id":"%s",%s"ts":"2026-01-01T00:00:0%dZ","data":%s}\n'
    data = PIGLET.writer.encode_header(Header(id="s", timestamp="2026-01-01T00:00:00.000Z", cwd="/"))
    data += row % (b"user", b"a", b"", 1, b'{"content":"old"}')
    held = b'[{"type":"user","ts":"2026-01-01T00:00:01Z","data":{"content":"kept words"}}]'
    data += row % (b"compact", b"b", b'"parentId":"a",', 2, held)

    made = convert(read(data, PIGLET), TARGETS[target], HEADER)

    assert said(written(made.data, TARGETS[target])) == [("UserMessage", [("words", "kept words")])]


@pytest.mark.parametrize("target", TARGETS)
def test_the_words_of_a_branch_summary_reach_the_model_everywhere(session, target):
    first = session.append_message("start")
    session.append_message("a dead end")
    session.branch_with_summary(first, "it was a dead end")

    made = convert(session.transcript, TARGETS[target], HEADER)

    assert said(written(made.data, TARGETS[target])) == said(session.transcript)


def test_results_that_were_never_recorded_are_filled_in_where_a_row_needs_all(session):
    calls = [{"type": "toolCall", "id": name, "name": "x", "arguments": {}} for name in ("one", "two")]
    session.append_message({"role": "assistant", "content": calls, "stopReason": "toolUse"})
    result = {"role": "toolResult", "toolName": "x", "content": [{"type": "text", "text": "done"}]}
    session.append_message({**result, "toolCallId": "two", "isError": False})

    made = convert(session.transcript, ZOT, HEADER)

    assert said(written(made.data, ZOT))[1:] == [
        ("ToolResult", [("result of", 1, False), ("words", "done")]),
        ("ToolResult", [("result of", 0, True), ("words", NO_RESULT)]),
    ]
    assert reasons(made, "approximated", "tool result") == ["with a result for every call"]


@pytest.mark.parametrize("target", [name for name in TARGETS if not TARGETS[name].traits.native_entries])
def test_the_results_of_one_answer_follow_each_other_and_the_note_of_a_hook_between_them_comes_last(
    session, target
):
    """A model accepts nothing between the results of parallel calls."""
    names = ("a", "b")
    calls = [{"type": "toolCall", "id": name, "name": "read", "arguments": {"path": name}} for name in names]
    first, second = (
        {"role": "toolResult", "toolCallId": name, "toolName": "read", "content": f"of {name}"}
        for name in names
    )
    session.append_message("read both")
    session.append_message({"role": "assistant", "content": calls, "model": "m"})
    session.append_message(first)
    session.append_custom("hook", {"seconds": 1})
    session.append_custom_message("hook", "a note")
    session.append_message(second)
    session.append_message("go on")

    made = convert(session.transcript, TARGETS[target], HEADER, leaf=session.transcript.reading.leaf)

    roles, parts = zip(*said(written(made.data, TARGETS[target])), strict=True)
    assert roles == ("UserMessage", "AssistantMessage", "ToolResult", "ToolResult", "UserMessage")
    assert parts[2:] == (
        [("result of", 0, False), ("words", "of a")],
        [("result of", 1, False), ("words", "of b")],
        [("words", "a note"), ("words", "go on")],
    )


def test_a_result_without_its_call_is_told_in_words(session):
    session.append_message("hello")
    result = {"role": "toolResult", "toolName": "x", "content": [{"type": "text", "text": "done"}]}
    session.append_message({**result, "toolCallId": "gone", "isError": True})

    made = convert(session.transcript, ZOT, HEADER)

    words = [("words", "hello"), ("words", "The tool x failed and said:"), ("words", "done")]
    assert said(written(made.data, ZOT)) == [("UserMessage", words)]


def test_pieces_of_one_answer_become_one_answer():
    (path,) = [path for path in samples("codex") if "threads" in str(path)][:1]
    source = read(path.read_bytes(), name=str(path))

    made = convert(source, PI, HEADER)

    roles = [role for role in written(made.data, PI).tree.roles if role is not None]
    assert all(pair != ("assistant", "assistant") for pair in pairwise(roles))


# -- what a session says as a whole -----------------------------------------------------------------------


@pytest.mark.parametrize("target", [name for name in APPENDABLE if name != "zot"])
def test_all_branches_and_the_leaf_arrive_where_there_are_branches(session, target):
    first = session.append_message("start")
    left = session.append_message("left")
    session.branch(first)
    right = session.append_message("right")
    session.append_message("further right")
    session.branch(right)

    found = written(convert(session.transcript, TARGETS[target], HEADER).data, TARGETS[target])

    assert found.leaf == right
    assert found.tree.conversation_children(first) == [left, right]


def test_a_format_without_branches_gets_the_active_one_and_the_account_tells_of_the_others(session):
    first = session.append_message("start")
    session.append_message("left")
    session.branch(first)
    session.append_message("right")

    made = convert(session.transcript, ZOT, HEADER)

    assert said(written(made.data, ZOT)) == [("UserMessage", [("words", "start"), ("words", "right")])]
    assert [why.split(",")[0] for why in reasons(made, "lost", "user message")] == ["not on the active path"]


@pytest.mark.parametrize("target", ["zot", "copilot"])
def test_a_title_beside_the_path_is_kept_by_a_format_without_branches(session, target):
    """`branchline new --title` writes it before the first message, which does not follow it."""
    session.set_title("Sky")
    first = session.append_message("start")
    session.set_title("Blue sky")
    session.append_message("left")
    session.branch(first)
    session.append_message("right")

    made = convert(session.transcript, TARGETS[target], HEADER)

    found = written(made.data, TARGETS[target])
    assert found.title == "Blue sky"
    assert len(reasons(made, "lost", "title")) == 1  # the former one
    assert reasons(made, "approximated", "title") == ["at the end of the path, without its time"]


def test_each_branch_can_be_a_file_of_its_own(session):
    first = session.append_message("start")
    left = session.append_message("left")
    session.branch(first)
    right = session.append_message("right")

    ends = branch_tips(session.transcript)

    assert [session.index.keys[end] for end in ends] == [left, right]
    words = [said(written(convert(session.transcript, ZOT, HEADER, leaf=end).data, ZOT)) for end in ends]
    assert [parts[-1] for ((_, parts),) in words] == [("words", "left"), ("words", "right")]


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "induscode"])
@pytest.mark.parametrize("whole", [True, False])
def test_title_and_labels_arrive_where_there_is_a_place(session, target, whole):
    named = session.append_message("start")
    session.append_message("on")
    session.append_label(named, "here")
    session.set_title("A good talk")
    leaf = None if whole else session.index.position(session.leaf)

    found = written(convert(session.transcript, TARGETS[target], HEADER, leaf=leaf).data, TARGETS[target])

    assert found.reading.title == "A good talk"
    if target in APPENDABLE and target != "zot":
        assert {key: state.text for key, state in found.reading.labels.items()} == {named: "here"}


@pytest.mark.parametrize("target", TARGETS)
def test_the_new_session_has_an_id_of_its_own_and_names_its_parent(session, target):
    session.append_message("start")

    made = convert(session.transcript, TARGETS[target], HEADER)

    header = written(made.data, TARGETS[target]).reading.header
    assert header is not None
    if target == "induscode":
        assert header.id == INDUSCODE.home.file_key(HEADER)
    else:
        assert (header.id, header.cwd) == (HEADER.id, HEADER.cwd)
        assert header.parent_session == HEADER.parent_session


def test_what_came_from_the_parent_is_not_counted_as_spent_again(session):
    talk(session)

    for target in (PI, ZOT, PIGLET):
        made = convert(session.transcript, target, HEADER)
        with Session.in_memory(data=made.data) as found:
            assert found.usage().all.total.cost == pytest.approx(0.3), target.name
            assert written(made.data, target).reading.inherited_entries == len(found.index), target.name


@pytest.mark.parametrize("target", TARGETS)
def test_an_empty_path_is_an_empty_session(session, target):
    session.append_message("start")

    made = convert(session.transcript, TARGETS[target], HEADER, leaf=-1)

    assert said(written(made.data, TARGETS[target])) == []
    assert made.fidelity.entries == 0


@pytest.mark.parametrize("target", ["pi", "oh-my-pi"])
def test_a_cost_that_nobody_recorded_stays_unknown_and_is_not_nothing(target):
    answer = {"id": "m", "role": "assistant", "model": "claude-opus-4-5", "content": [], "usage": {}}
    answer |= {
        "content": [{"type": "text", "text": "hi"}],
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }
    records = (
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "hello"}},
        {"type": "assistant", "uuid": "a", "parentUuid": "u", "message": answer},
    )
    source = read("".join(json.dumps(one) + "\n" for one in records).encode(), CLAUDE_CODE)

    made = written(convert(source, TARGETS[target], HEADER).data, TARGETS[target])

    assert totals(made).all.total.unpriced == 120
    (usage,) = (
        entry.message.usage
        for entry in made.entries(range(len(made.tree)))
        if isinstance(entry, MessageEntry) and entry.message.role == "assistant"
    )
    assert (usage.cost.total, usage.cost.known) == (0, False)


@pytest.mark.parametrize("target", TARGETS)
def test_a_notice_that_a_program_keeps_from_its_model_stays_kept_from_every_model(target):
    events = (
        ("session.start", {"sessionId": "s", "version": 1, "context": {"cwd": "/home/u"}}),
        ("user.message", {"content": "hello"}),
        ("assistant.message", {"messageId": "m", "model": "gpt-5", "content": "hi", "toolRequests": []}),
        ("session.info", {"infoType": "note", "message": "Rewound the conversation"}),
    )
    lines = [
        {"type": kind, "data": data, "id": f"e{number}", "parentId": f"e{number - 1}" if number else None}
        for number, (kind, data) in enumerate(events)
    ]
    source = read("".join(json.dumps(line) + "\n" for line in lines).encode(), COPILOT)

    made = convert(source, TARGETS[target], HEADER)

    assert "Rewound" not in str(said(written(made.data, TARGETS[target])))


@pytest.mark.parametrize("target", TARGETS)
def test_the_native_form_of_a_message_stays_in_a_copy_and_its_loss_is_in_the_report(session, target):
    """`convert` drops it with a note."""
    native = {"format": "openai.responses", "v": 1, "items": [{"role": "user", "content": "hi", "extra": 1}]}
    fields = {"role": "user", "content": [{"type": "text", "text": "hi"}], "native": native}
    (kept,) = session.write(lambda _: [NewEntry.message(UnknownMessage(role="user", fields=fields))])
    session.append_message('a word about "native" code')

    made = convert(session.transcript, TARGETS[target], HEADER)

    if target == "pi":
        assert made.fidelity.is_whole
        assert b'"native":{"format":"openai.responses"' in made.data
    else:
        (note,) = [note for note in made.fidelity.approximated if "native form" in note.why]
        assert note.entries == (kept,)


def test_programs_that_are_only_read_cannot_be_the_target(session):
    session.append_message("start")
    only_read = msgspec.structs.replace(ZOT, writer=None)

    with pytest.raises(NotSupported, match="zot are read-only"):
        convert(session.transcript, only_read, HEADER)


def test_the_account_is_plain_data(session):
    talk(session)
    session.append_label(session.path()[0], "x")

    fields = convert(session.transcript, ZOT, HEADER).fidelity.as_fields()

    assert json.loads(json.dumps(fields)) == fields
    assert fields["counts"] == {"carried": 3, "approximated": 1, "lost": 1}
    assert fields["lost"][0]["kind"] == "label"


@pytest.mark.slow
@pytest.mark.parametrize("target", [name for name in TARGETS if name != "pi"])
def test_a_hundred_megabytes_convert_in_linear_time_and_memory(target):
    line = (
        '{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z",'
        '"message":{"role":"user","content":"%s","timestamp":1767225600000}}\n'
    )
    words = "lorem ipsum " * 80
    lines = [line % (number, f'"{number - 1:08x}"' if number else "null", words) for number in range(90_000)]
    data = PI.writer.encode_header(HEADER) + "".join(lines).encode()
    source = read(data, PI)
    before = resource.getrusage(resource.RUSAGE_SELF)

    made = convert(source, TARGETS[target], HEADER)

    after = resource.getrusage(resource.RUSAGE_SELF)
    assert made.fidelity.is_whole
    assert after.ru_utime - before.ru_utime < 60
    assert (after.ru_maxrss - before.ru_maxrss) * 1024 < 5 * max(len(data), len(made.data))


def called(session: Session, arguments: dict[str, object]) -> str:
    call = {"type": "toolCall", "id": "c", "name": "x", "arguments": arguments}
    return session.append_message({"role": "assistant", "content": [call], "stopReason": "toolUse"})


def test_half_a_character_costs_itself_and_neither_calls_nor_pictures(session):
    image = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
    first = called(session, {"text": "half \ud83d"})
    session.append_message(
        {
            "role": "toolResult",
            "toolCallId": "c",
            "toolName": "x",
            "content": [{"type": "text", "text": "half \ud83d"}, image],
            "isError": False,
        }
    )
    session.append_compaction("in short", first)

    made = convert(session.transcript, INDUSCODE, HEADER)

    sign = "with replacement characters for lone surrogates"
    assert reasons(made, "approximated", "answer") == [sign]
    assert reasons(made, "approximated", "tool result") == [sign]
    assert reasons(made, "approximated", "compaction") == [f"it holds the kept messages itself, {sign}"]
    assert made.data.count(PICTURE.encode()) == 2


@pytest.mark.parametrize("target", [OH_MY_PI, PIGLET, INDUSCODE, ZOT], ids=lambda target: target.name)
def test_numbers_that_the_program_rounds_are_in_the_report(session, target):
    called(session, {"exact": 2**53, "deep": [{"long": 2**53 + 1}]})

    made = convert(session.transcript, target, HEADER)

    said_so = f"with whole numbers that {target.name} rounds" in str(made.fidelity.approximated)
    assert said_so == (target in (OH_MY_PI, PIGLET))


@pytest.mark.parametrize("target", [PIGLET, ZOT], ids=lambda target: target.name)
def test_half_characters_that_the_program_does_not_keep_are_in_the_report(session, target):
    session.append_message("half \ud83d")
    session.set_title("half \ud83d")

    made = convert(session.transcript, target, HEADER)

    words = f"with lone surrogates that {target.name} does not keep"
    assert reasons(made, "approximated", "user message") == [words]
    assert any(words in why for why in reasons(made, "approximated", "title"))


def test_piglet_reads_no_system_prompt_in_a_compaction_and_the_report_says_so(session):
    session.append_message({"role": "system", "content": "be kind"})
    session.append_compaction("in short", session.append_message("kept"))

    made = convert(session.transcript, PIGLET, HEADER)

    (why,) = reasons(made, "approximated", "compaction")
    assert why == "it holds the kept messages itself; with a system prompt that piglet does not read"
    with Session.in_memory(data=made.data) as again:
        assert [item.message.__struct_config__.tag for item in again.context().messages] == [
            "compactionSummary",
            "user",
        ]


WHOLE_FILES = [name for name in TARGETS if name not in APPENDABLE]


@pytest.mark.parametrize("target", WHOLE_FILES)
def test_a_branch_begins_at_its_entry_after_a_result_that_was_added(session, target):
    def ask(name):
        call = {"type": "toolCall", "id": name, "name": "read", "arguments": {}}
        return {"role": "assistant", "content": [call], "provider": "x", "model": "m"}

    session.append_message("start")
    session.append_message(ask("no result"))
    session.append_message(ask("a result"))
    words = [{"type": "text", "text": "here"}]
    here = session.append_message(
        {"role": "toolResult", "toolCallId": "a result", "toolName": "read", "content": words}
    )
    session.append_message("one")
    session.branch(here)
    session.append_message("another")
    lines = session.transcript.bytes_between(0, None).splitlines(keepends=True)
    source = read(b"".join(line for line in lines if b'"type":"leaf"' not in line))

    made = convert(source, TARGETS[target], HEADER)

    assert items(written(made.data, TARGETS[target])) == items(source) == items(session.transcript)


@pytest.mark.parametrize("target", ["claude-code", "codex"])
def test_messages_that_a_compaction_keeps_lose_their_thinking_too(session, target):
    thought = {"type": "thinking", "thinking": "hmm"}
    first = session.append_message("first")
    session.append_message({"role": "assistant", "content": [thought], "model": "m"})
    session.append_message("second")
    session.append_compaction("summary", first, 10)
    session.append_message(
        {"role": "assistant", "content": [thought, {"type": "text", "text": "yes"}], "model": "m"}
    )
    session.append_compaction("another summary", first, 10)
    session.append_message("third")

    made = convert(session.transcript, TARGETS[target], HEADER)

    assert b"hmm" not in made.data
    assert items(written(made.data, TARGETS[target])) == items(session.transcript)
