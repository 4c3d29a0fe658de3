"""Rollouts of Codex are read as their manifest says: turns, branches, what the model sees, tokens, names."""

from __future__ import annotations

import json
import sys
from collections import Counter

import pytest

from branchline import Session
from branchline.context import ModelRef, build_context, totals
from branchline.entries import (
    AssistantMessage,
    Compaction,
    Custom,
    CustomMessage,
    Leaf,
    MessageEntry,
    ModelChange,
    Text,
    Thinking,
    ThinkingLevelChange,
    ToolCall,
    ToolResult,
    UserMessage,
    json_codec,
    message_text,
)
from branchline.errors import BranchlineError, NotSupported
from branchline.formats import detect
from branchline.formats.codex import CODEX
from branchline.formats.codex.home import read_names
from branchline.formats.codex.rollouts import rollout_name
from formats.codex_kit import (
    ALL,
    EXPECTED,
    NAME,
    SAMPLES,
    THIRD_PARTY,
    THREAD,
    event,
    finder,
    item,
    line,
    meta,
    read,
    turn,
    unpacked,
)
from formats.codex_replay import Rollout, model_history, rollouts_of
from readings import BytesContent
from support import sample

OUTPUTS = ("function_call_output", "custom_tool_call_output")


def home_of(path):
    """The directory that stands for Codex's own, above a file."""
    return next((one.parent for one in path.parents if one.name == "sessions"), path.parent)


RESTARTED = {
    "small.jsonl": {
        "input_tokens": 16341,
        "cached_input_tokens": 3584,
        "output_tokens": 81,
        "total_tokens": 16422,
    }
}
"""Totals of files whose last record begins again at zero: the manifest has the last record alone."""


def check(path, expected):
    found = read(path)
    reading = found.reading
    home = home_of(path)
    rollouts = rollouts_of(found, finder(home))
    history = model_history(rollouts)
    index = home / "session_index.jsonl"
    names = read_names(index.read_bytes()) if index.exists() else {}
    kinds = [finding.kind for finding in found.findings]
    copied = reading.copied
    events = Counter(
        entry.custom_type for entry in found.entries(range(len(found.tree))) if isinstance(entry, Custom)
    )
    rolled_back = [
        json_codec.loads(found.raw(place))["payload"]["num_turns"]
        for place, kind in enumerate(found.tree.types)
        if kind == "leaf"
    ]
    own = found.entries(range(copied, len(found.tree)))
    answers = [
        entry.message
        for entry in own
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage)
    ]
    people = sum(isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage) for entry in own)
    roles = [one.get("role") if one.get("type", "message") == "message" else one["type"] for one in history]
    facts = {
        "unreadableLines": kinds.count("unreadable"),
        "foreignLines": sum(finding.message.startswith("a line in a form") for finding in found.findings),
        "thread": reading.thread or None,
        "cliVersion": reading.meta.get("cli_version"),
        "historyMode": reading.meta.get("history_mode", "legacy"),
        "source": reading.source,
        "turnsStarted": sum(place >= copied for place, _ in reading.turns),
        "turnsAborted": events["event_msg/turn_aborted"],
        "compactions": found.tree.types.count("compaction"),
        "rollbacks": rolled_back,
        "userMessages": sum(place >= copied for place in reading.prompts) or people,
        "assistantMessages": sum(isinstance(one.content[0], Text) for one in answers if one.content),
        "reasoning": sum(isinstance(one.content[0], Thinking) for one in answers if one.content),
        "modelHistory": roles if isinstance(expected["modelHistory"], list) else {"items": len(history)},
        "title": names.get(reading.thread) or reading.title,
    }
    assert facts == {name: expected[name] for name in facts}
    assert reading.forked_from == expected.get("forkedFrom")
    assert (reading.line_of(copied - 1) - 1 if copied else 0) == expected.get("copiedLines", 0)
    if "parentThread" in expected:
        assert reading.parent_thread == expected["parentThread"]
    prefixes = [one.rsplit("_", 1)[-1] for one in expected.get("inheritedFrom", [])]
    assert [one.transcript.reading.rollout for one in rollouts[:-1]] == prefixes
    if "tokens" in expected:
        spent = totals(found, inherited_entries=copied).own.total
        tokens = RESTARTED.get(path.name, expected["tokens"])
        assert [spent.input + spent.cache_read, spent.cache_read, spent.output, spent.total_tokens] == [
            tokens[name] for name in ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
        ]
    if not reading.base:
        assert_the_context_is_the_replayed_history(found, history)


def assert_the_context_is_the_replayed_history(found, history):
    """Both say same text in the same order, whoever is said to have said them.

    Codex replays items. A prompt that stands only in an event is in the context all the same.
    """
    words = []
    for one in history:
        if one.get("type", "message") in ("message", "agent_message"):
            content = one.get("content")
            words.append(
                content if isinstance(content, str) else [p["text"] for p in content if p.get("text")]
            )
    flat = [text for one in words for text in ([one] if isinstance(one, str) else one)]
    events = (
        {
            fields["payload"]["message"]
            for fields in map(json_codec.loads, filter(None, found.bytes_between(0, None).split(b"\n")))
            if isinstance(fields.get("payload"), dict) and fields["payload"].get("type") == "user_message"
        }
        if not any(one.get("role") == "user" for one in history)
        else set()
    )
    said = [
        [block.text for block in item.message.content if isinstance(block, Text)]
        if isinstance(item.message.content, tuple)
        else [item.message.content]
        for item in build_context(found, found.reading.leaf).messages
        if not isinstance(item.message, ToolResult)
        and not (isinstance(item.message, UserMessage) and message_text(item.message) in events)
    ]
    assert [text for one in said for text in one] == flat


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_sample_has_the_turns_history_tokens_and_lineage_that_its_manifest_tells(name):
    check(SAMPLES / name, EXPECTED[name])


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_a_file_from_the_wild_has_what_its_manifest_tells(name):
    check(sample("codex", name), ALL[name])


@pytest.mark.parametrize("name", sorted({*EXPECTED, *THIRD_PARTY}))
def test_every_sample_is_told_from_its_first_bytes(name):
    path = SAMPLES / name if name in EXPECTED else sample("codex", name)

    assert detect(path.read_bytes()[: 1 << 16], str(path)) is CODEX


# -- branches ---------------------------------------------------------------------------------------------


def texts(found, positions):
    return [
        message_text(entry.message) for entry in found.entries(positions) if isinstance(entry, MessageEntry)
    ]


def seen(found):
    return [message_text(one.message) for one in build_context(found, found.reading.leaf).messages]


def test_turns_that_were_rolled_back_are_a_branch_and_the_next_turn_is_its_sibling():
    data = (
        meta()
        + item("user", "<environment_context>")
        + turn("one", "1")
        + turn("two", "2")
        + turn("three", "3")
    )
    data += event("thread_rolled_back", num_turns=2) + turn("four", "4")

    found = read(data)

    assert texts(found, found.tree.path_positions(found.reading.leaf)) == ["one", "1", "four", "4"]
    tips = found.tree.tip_positions()
    assert ["one", "1", "two", "2", "three", "3"] in [
        texts(found, found.tree.path_positions(tip)) for tip in tips
    ]
    assert seen(found) == ["<environment_context>", "one", "1", "four", "4"]
    assert [entry for entry in found.entries(range(len(found.tree))) if isinstance(entry, Leaf)]


def test_a_rollback_of_more_turns_than_there_are_cuts_at_the_first_and_keeps_what_stands_before_it():
    data = meta() + item("developer", "rules") + turn("one", "1") + event("thread_rolled_back", num_turns=9)

    found = read(data)

    assert seen(found) == ["rules"]
    assert model_history([Rollout(found)])[0]["role"] == "developer"


def test_a_rollback_takes_the_context_directly_before_its_turn_along():
    data = meta() + turn("one", "1") + item("user", "<environment_context>") + turn("two", "2")
    data += event("thread_rolled_back", num_turns=1)

    assert seen(read(data)) == ["one", "1"]


@pytest.mark.parametrize("turns", [0, -1, None, "2"])
def test_a_rollback_of_nothing_changes_nothing(turns):
    found = read(meta() + turn("one", "1") + event("thread_rolled_back", num_turns=turns))

    assert seen(found) == ["one", "1"]


def test_a_rollback_over_a_compaction_is_reported():
    old = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "old"}]}]
    data = meta() + turn("one", "1") + line("compacted", {"message": "", "replacement_history": old})
    data += turn("two", "2") + event("thread_rolled_back", num_turns=2)

    found = read(data)

    assert ["over a compaction" in finding.message for finding in found.findings] == [True]
    assert model_history([Rollout(found)]) == []


def test_a_compaction_without_a_history_keeps_the_newest_prompts_and_its_message():
    data = meta() + item("user", "<environment_context>") + turn("o" * 50_000, "1") + turn("n" * 50_000, "2")
    data += line("compacted", {"message": ""}) + turn("next")

    found = read(data)

    assert [text[:25] for text in seen(found)] == ["o" * 25, "n" * 25, "(no summary available)", "next"]
    assert [len(text) for text in seen(found)[:2]] == [30_000, 50_000]
    entry = found.entry(found.tree.types.index("compaction"))
    assert isinstance(entry, Compaction)
    assert (len(entry.retained_tail), entry.summary) == (2, "(no summary available)")


# -- single lines -----------------------------------------------------------------------------------------


def last(data):
    found = read(meta() + data)
    return found.entry(len(found.tree) - 1)


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /p\n</INSTRUCTIONS>",
        "  <environment_context>x",
        "<user_instructions>",
        "<turn_aborted>",
        "<user_shell_command>",
        "<subagent_notification>",
        '<codex_internal_context source="x">',
        "<goal_context>",
        "Warning: Your account was flagged",
    ],
)
def test_context_is_not_the_user(text):
    entry = last(item("user", text))

    assert isinstance(entry, CustomMessage)
    assert entry.display is False


def test_calls_are_tool_calls_and_outputs_their_results():
    data = line(
        "response_item",
        {"type": "function_call", "name": "shell", "arguments": '{"cmd":"ls"}', "call_id": "c"},
    )
    data += line("response_item", {"type": "function_call_output", "call_id": "c", "output": "a.py"})
    found = read(meta() + turn("go") + data)

    messages = [one.message for one in build_context(found, found.reading.leaf).messages]

    assert messages[1].content == (ToolCall(id="c", name="shell", arguments={"cmd": "ls"}),)
    assert isinstance(messages[2], ToolResult)
    assert (messages[2].tool_name, message_text(messages[2])) == ("shell", "a.py")


@pytest.mark.parametrize(
    ("payload", "arguments"),
    [
        (
            {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c"},
            {"input": "*** Begin"},
        ),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}, "call_id": "c"}, {"command": ["ls"]}),
        ({"type": "function_call", "name": "f", "arguments": "{torn", "call_id": "c"}, {"input": "{torn"}),
        ({"type": "function_call", "name": "f", "arguments": None, "call_id": "c"}, {}),
        ({"type": "function_call", "name": "f", "arguments": "[1]", "call_id": "c"}, {"input": "[1]"}),
    ],
)
def test_every_kind_of_call_has_arguments(payload, arguments):
    entry = last(line("response_item", payload))

    assert isinstance(entry, MessageEntry)
    assert entry.message.content[0].arguments == arguments


def test_thoughts_words_and_calls_that_follow_each_other_are_one_answer():
    data = line(
        "response_item",
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gA"},
    )
    data += item("assistant", "Looking.") + line(
        "response_item", {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}
    )
    found = read(meta() + turn("go") + data)

    answer = build_context(found, found.reading.leaf).messages[1].message

    assert [type(block) for block in answer.content] == [Thinking, Text, ToolCall]
    assert answer.content[0].thinking_signature == "gA"


def test_model_and_effort_are_entries_where_they_change():
    settings = {"turn_id": "t", "model": "gpt-5.6", "effort": "medium"}
    data = (
        meta()
        + line("turn_context", settings)
        + turn("one", "1")
        + line("turn_context", {**settings, "turn_id": "u"})
    )
    data += line("turn_context", {**settings, "effort": "high"}) + turn("two", "2")

    found = read(data)

    changes = [
        entry.model_id if isinstance(entry, ModelChange) else entry.thinking_level
        for entry in found.entries(range(len(found.tree)))
        if isinstance(entry, ModelChange | ThinkingLevelChange)
    ]
    assert changes == ["gpt-5.6", "medium", "high"]
    context = build_context(found, found.reading.leaf)
    assert (context.model.provider, context.model.id, context.thinking_level) == ("openai", "gpt-5.6", "high")


def test_a_turn_of_codex_in_a_converted_session_has_the_provider_of_the_session():
    written = line("branchline", {"provider": "anthropic", "model": "opus"})
    settings = line("turn_context", {"turn_id": "t", "model": "opus"})
    data = meta() + written + turn("one", "1") + settings + turn("two", "2")

    found = read(data)

    answers = [place for place, role in enumerate(found.tree.roles) if role == "assistant"]
    models = [CODEX.reader.answer_model(found, place) for place in answers]
    assert models == [ModelRef(provider=name, id="opus") for name in ("anthropic", "openai")]


def test_thoughts_words_and_calls_up_to_the_count_of_tokens_are_one_answer():
    thought = line("response_item", {"type": "reasoning", "summary": []})
    call = line("response_item", {"type": "function_call", "name": "sh", "arguments": "{}", "call_id": "c"})
    output = line("response_item", {"type": "function_call_output", "call_id": "c", "output": "ok"})
    counted = event("token_count", info={"total_token_usage": {"input_tokens": 5, "output_tokens": 1}})
    data = meta() + turn("one") + thought + item("assistant", "I look") + call + output
    data += thought + item("assistant", "done") + counted + item("assistant", "one more")

    found = read(data)

    answers = [place for place, role in enumerate(found.tree.roles) if role == "assistant"]
    begun = [place for place in answers if place not in found.tree.continuations]
    assert len(answers) == 6
    assert [answers.index(place) for place in begun] == [0, 3, 5]


def test_repeated_totals_are_no_new_call():
    total = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 5, "total_tokens": 105}
    data = meta() + turn("one", "1") + event("token_count", info={"total_token_usage": total}) * 2
    data += event("token_count", info=None) + event(
        "token_count", info={"total_token_usage": {**total, "input_tokens": 150}}
    )

    found = read(data)

    assert found.tree.types.count("usage") == 2
    spent = totals(found).all.total
    assert (spent.input, spent.cache_read, spent.output) == (110, 40, 5)


def test_tokens_read_from_and_written_to_the_cache_are_no_further_input():
    total = {
        "input_tokens": 100,
        "cached_input_tokens": 40,
        "cache_write_input_tokens": 60,
        "output_tokens": 10,
    }
    data = meta() + turn("one", "1") + event("token_count", info={"total_token_usage": total})

    spent = totals(read(data)).all.total

    assert (spent.input, spent.cache_read, spent.cache_write, spent.output) == (0, 40, 60, 10)


def test_lines_of_other_shapes_are_kept_and_counted():
    found = read(meta() + b'{"hello":"world"}\n' + turn("one", "1"))

    assert isinstance(found.entry(0), Custom)
    assert [finding.kind for finding in found.findings] == ["unknown"]


def test_only_the_first_meta_owns_the_file():
    found = read(meta() + meta(id="other", cwd="/elsewhere") + turn("one"))

    assert (found.reading.header.id, found.reading.header.cwd) == (THREAD, "/p")


def test_a_mode_that_codex_would_refuse_is_reported_and_read():
    found = read(meta(history_mode="holographic") + turn("one", "1"))

    assert [finding.kind for finding in found.findings] == ["newer-version"]
    assert seen(found) == ["one", "1"]


# -- files together ---------------------------------------------------------------------------------------


def test_a_fork_copied_everything_up_to_the_first_turn_that_its_parent_does_not_have():
    home = SAMPLES / "synthetic/lineage"
    child, parent = (finder(home)(f"019f0000-0000-7000-8000-00000000000{number}") for number in (2, 1))

    contexts = [entry.data for entry in parent.entries(range(len(parent.tree))) if isinstance(entry, Custom)]
    known = {data.get("turn_id") for data in contexts}
    own = next(place for place, name in child.reading.turns if name not in known)
    assert own == child.reading.copied == child.reading.inherited_entries
    assert child.reading.header.parent_session == parent.reading.header.id
    assert parent.reading.inherited_entries == 0


FORK = "019f1000-5000-7000-8000-000000000002"
OLDER, NEWER = (f"019f1000-{time}-7000-8000-000000000003" for time in ("4fff", "5001"))
CONVERTED = "cf12d6e2-0000-4000-8000-000000000004"


@pytest.mark.parametrize(
    ("copied", "own", "pause"),
    [
        pytest.param((OLDER, OLDER), NEWER, 1, id="a turn that is younger than the fork"),
        pytest.param((CONVERTED, OLDER), NEWER, 1, id="after turns of a converted session"),
        pytest.param((CONVERTED, CONVERTED), None, 2000, id="a pause, where turns have no time"),
        pytest.param((None, None), None, 8, id="a short pause, where turns have no ids"),
    ],
)
def test_records_that_a_fork_copied_are_stamped_one_after_the_other(copied, own, pause):
    """Codex stamps each copy when it writes it, so their times are not all the same."""
    rows = [line("session_meta", {"id": FORK, "forked_from_id": THREAD, "cwd": "/p"}), meta()]
    for number, (name, text) in enumerate(zip((*copied, own), ("one", "two", "mine"), strict=True), 1):
        total = {"total_token_usage": {"input_tokens": 10 * number, "output_tokens": number}}
        begun = len(rows)
        rows += [event("task_started", turn_id=name)] if name else []
        rows += [item("user", text), event("user_message", message=text)]
        rows += [item("assistant", text), event("token_count", info=total)]
    stamps = [place // 3 + (pause if place >= begun else 0) for place in range(len(rows))]
    data = b"".join(
        json.dumps({**json.loads(row), "timestamp": f"2026-09-02T01:00:0{stamp / 1000:.3f}Z"}).encode()
        + b"\n"
        for stamp, row in zip(stamps, rows, strict=True)
    )

    found = read(data)

    prompts = [place for place, role in enumerate(found.tree.roles) if role == "user"]
    assert len(prompts) == 3
    assert prompts[1] < found.reading.inherited_entries <= prompts[2]
    assert found.reading.title == "mine"
    assert totals(found, inherited_entries=found.reading.copied).own.total.input == 10


@pytest.mark.parametrize(
    ("base", "found"),
    [
        pytest.param("gone", None, id="missing"),
        pytest.param(THREAD, b"", id="refers to itself"),
        pytest.param("old", meta() + turn("one"), id="older format"),
    ],
)
def test_a_beginning_that_cannot_be_used_is_reported_and_the_rest_shown(base, found):
    named = {"thread_id": base, "end_ordinal_exclusive": 3, "end_byte_offset": 100}
    data = meta(history_mode="paginated", history_base=named) + item("user", "on")
    other = None if found is None else BytesContent(found or data)

    joined = CODEX.splitting.assemble(BytesContent(data), NAME, lambda rollout: other)
    alone = read(data)

    assert joined is None
    assert [finding.kind for finding in alone.findings] == ["below-head"]
    assert seen(alone) == ["on"]
    assert alone.reading.header.parent_session == THREAD


def test_names_of_files_tell_thread_and_rollout():
    plain = rollout_name(f"/c/sessions/2026/09/02/{NAME}.zst")
    reverted = rollout_name(
        "rollout-2026-09-02T09-00-00-019f1000-0000-7000-8000-000000000008_019f1000-0000-7000-8000-0000000000b8.jsonl"
    )

    assert (plain.thread, plain.rollout) == (THREAD, THREAD)
    assert (reverted.thread, reverted.rollout) == (
        "019f1000-0000-7000-8000-000000000008",
        "019f1000-0000-7000-8000-0000000000b8",
    )
    assert rollout_name("notes.jsonl") is None


def test_the_last_name_of_a_thread_counts_and_damage_in_the_index_costs_its_line():
    index = b'{"id":"a","thread_name":"one"}\n{torn\n[]\n{"id":"a","thread_name":"two"}\n{"id":5}\n'

    assert read_names(index) == {"a": "two"}


def test_a_compressed_file_that_nobody_unpacked_opens_and_says_so():
    data = (next((SAMPLES / "synthetic/compressed").rglob("*.zst"))).read_bytes()
    found = read(data, NAME)

    assert CODEX.reader.sniff(data, f"{NAME}.zst")
    assert len(found.tree) == 0
    assert "zstd" in found.reading.read_only
    assert found.findings


def test_unpacking_without_the_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)

    with pytest.raises(NotSupported, match="zstandard"):
        unpacked(b"")


def test_damaged_compressed_bytes_are_refused_with_a_reason():
    pytest.importorskip("zstandard", reason="the package zstandard is not installed")

    with pytest.raises(NotSupported, match="cannot be unpacked"):
        unpacked(b"not zstd at all")


# -- the library ------------------------------------------------------------------------------------------


def test_a_session_opens_and_refuses_everything_that_would_write(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(before := meta() + turn("one", "1"))

    with Session.open(path) as session:
        assert session.title == "one"
        for verb in (
            lambda: session.append_message("x"),
            lambda: session.set_title("t"),
            lambda: session.append_label(session.leaf, "here"),
        ):
            with pytest.raises(BranchlineError, match="read-only"):
                verb()

    assert path.read_bytes() == before


def test_rollouts_lie_in_two_directories_of_codex_home():
    assert CODEX.home.roots({}, "/home/u") == ["/home/u/.codex/sessions", "/home/u/.codex/archived_sessions"]
    assert CODEX.home.roots({"CODEX_HOME": "/c"}, "/home/u")[0] == "/c/sessions"
    assert not CODEX.is_appendable


def test_the_bytes_of_a_line_stay_what_they_are():
    data = meta() + turn("one", "1")
    found = read(data)

    assert json.loads(found.raw(0))["payload"]["type"] == "task_started"
    assert (
        b"\n".join([found.reading.header_line, *(found.raw(place) for place in range(len(found.tree)))])
        + b"\n"
        == data
    )


# -- found in real files ----------------------------------------------------------------------------------

FOUND = SAMPLES / "found"


def test_totals_that_begin_again_after_a_resume_are_added():
    found = read(next(FOUND.glob("*aa.jsonl")))

    spent = [found.entry(place).usage for place, kind in enumerate(found.tree.types) if kind == "usage"]

    assert [(one.input, one.output) for one in spent] == [(1_000_000, 5_000), (30_000, 300)]
    assert totals(found).all.total.input == 1_030_000


def test_a_record_of_the_tokens_of_one_answer_is_an_ordinary_line():
    record = {"response_id": "r", "usage": {"input_tokens": 5, "output_tokens": 1}}
    data = meta() + turn("one", "1") + line("token_usage_record", record) + turn("two", "2")

    found = read(data)

    assert found.findings == []


def said_in(found):
    places = [place for place, kind in enumerate(found.tree.types) if kind == "message"]
    return [(found.tree.roles[place], message_text(found.entry(place).message)) for place in places]


def test_a_prompt_that_stands_only_in_an_event_is_a_prompt():
    found = read(next(FOUND.glob("*ab.jsonl")))

    assert said_in(found) == [
        ("user", "What is two and two?"),
        ("assistant", "Four."),
        ("user", "And three and three?"),
        ("assistant", "Six."),
    ]
    context = build_context(found, found.reading.leaf)
    assert [type(said.message) for said in context.messages] == [UserMessage, AssistantMessage] * 2


@pytest.mark.parametrize("typed", ["look", " look\n", ""])
def test_a_prompt_that_stands_in_an_event_and_in_an_item_is_one_prompt_in_any_order(typed):
    """The item holds more where a picture was pasted."""
    told, held = (
        event("user_message", message=typed),
        item("user", f"<image name=[Image #1]>\n{typed.strip()}"),
    )

    for pair in (told + held, held + told):
        found = read(meta() + pair + item("assistant", "done"))

        assert [role for role, _ in said_in(found)] == ["user", "assistant"]


def test_a_prompt_that_begins_like_context_is_one_prompt():
    """So are reminders of another program in a converted session."""
    text = "<environment_context> is what I ask about"
    found = read(
        meta() + event("user_message", message=text) + item("user", text) + item("assistant", "Yes.")
    )

    context = build_context(found, found.reading.leaf)

    assert said_in(found) == [("user", text), ("assistant", "Yes.")]
    assert [type(said.message) for said in context.messages] == [UserMessage, AssistantMessage]


def test_an_event_that_is_not_repeated_before_the_model_speaks_stays_a_prompt():
    data = meta() + event("user_message", message="again") + item("assistant", "1") + turn("again", "2")

    found = read(data)

    assert [text for _, text in said_in(found)] == ["again", "1", "again", "2"]


def test_pictures_of_a_prompt_that_stands_only_in_an_event_are_kept():
    shown = {"message": "see", "images": ["data:image/png;base64,AAAA"]}

    found = read(meta() + event("user_message", **shown) + item("assistant", "yes"))

    [text, image] = found.entry(0).message.content
    assert (text.text, image.data) == ("see", "AAAA")


def test_neighbours_of_the_same_moment_are_one_prompt_whatever_they_say():
    """As where a tool has replaced the words in a file, each by another placeholder."""
    data = meta() + item("user", "[text 1]") + event("user_message", message="[message 1]")

    found = read(data + item("assistant", "done"))

    assert said_in(found) == [("user", "[text 1]"), ("assistant", "done")]
