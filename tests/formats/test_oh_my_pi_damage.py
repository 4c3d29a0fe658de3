"""However damaged a file of oh-my-pi is and however its bytes arrive, it opens, and says what is wrong."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.clock import FixedClock
from branchline.context import build_context
from branchline.entries import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    Cost,
    Custom,
    CustomMessage,
    Header,
    Label,
    Leaf,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
    Usage,
    UsageEntry,
)
from branchline.errors import NotASession
from branchline.formats import OH_MY_PI, PI, EntryLog, Format
from branchline.formats.common.native_reader import NativeReader
from branchline.formats.oh_my_pi import path_state
from branchline.formats.oh_my_pi.title_slot import clean_title
from formats.oh_my_pi_kit import CREATED, HEADER, NAMES, SAMPLES, answer, message, read, story, user
from readings import facts, in_chunks_of, one_line_at_a_time
from strategies import session_files

MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SMALL = story(
    user("one"),
    {"type": "title_change", "title": "T", "source": "user"},
    answer("two"),
    {"type": "label", "targetId": "e1", "label": "x"},
    {"type": "mode_change", "mode": "plan"},
)


def everything_of(found: EntryLog) -> tuple[Any, ...]:
    """Whatever somebody may ask of a transcript."""
    leaf = found.reading.leaf
    return (
        facts(found),
        found.entries(range(len(found.tree))),
        build_context(found, leaf),
        path_state(found, leaf),
    )


# -- the ways in which bytes arrive -----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_fast_way_and_the_careful_way_read_a_sample_alike(name, monkeypatch):
    fast = facts(read(SAMPLES / f"{name}.jsonl"))

    one_line_at_a_time(monkeypatch)

    assert facts(read(SAMPLES / f"{name}.jsonl")) == fast


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_alike_in_pieces_of_any_size(name, monkeypatch):
    whole = facts(read(SAMPLES / f"{name}.jsonl"))

    for size in (1, 7, 64, 255, 256, 257, 1000, 4096):
        in_chunks_of(monkeypatch, size)
        assert facts(read(SAMPLES / f"{name}.jsonl")) == whole, size


SLOT = story()[:256]


@MANY
@given(session_files(), st.sampled_from([b"", SLOT]))
def test_any_file_is_read_alike_the_fast_and_the_careful_way_and_in_any_pieces(data, slot):
    data = slot + data
    fast = facts(read(data))

    with pytest.MonkeyPatch.context() as patch:
        one_line_at_a_time(patch)
        careful = facts(read(data))
    with pytest.MonkeyPatch.context() as patch:
        in_chunks_of(patch, 100)
        in_pieces = facts(read(data))

    assert careful == fast
    assert in_pieces == fast


@MANY
@given(session_files())
def test_whatever_is_in_a_file_can_be_asked_for_everything(data):
    everything_of(read(SLOT + data))


@pytest.mark.parametrize("name", NAMES)
def test_entries_decoded_together_are_those_decoded_alone(name):
    found = read(SAMPLES / f"{name}.jsonl")
    positions = range(len(found.tree))

    assert found.entries(positions) == [found.entry(position) for position in positions]


# -- damage -----------------------------------------------------------------------------------------------


def test_every_truncation_opens():
    for size in range(len(SMALL)):
        found = read(SMALL[:size])
        everything_of(found)
        if size < len(SMALL) - 1:
            assert found.findings or found.reading.consumed == size


@pytest.mark.parametrize("byte", [b"\x00", b'"', b"}", b"\n", b"\xff", b"9", b" "])
def test_every_single_byte_may_be_another_one(byte):
    for place in range(len(SMALL)):
        data = SMALL[:place] + byte + SMALL[place + 1 :]
        everything_of(read(data))


def test_a_damaged_slot_costs_the_title_and_nothing_else():
    """The header behind it still stands at byte 256, and the file is still known as oh-my-pi's."""
    for place in range(255):
        data = SMALL[:place] + b"\x01" + SMALL[place + 1 :]

        session = Session.in_memory(data=data)

        assert session.transcript.format is OH_MY_PI
        assert session.id == "s"
        assert session.path() == ["e1", "e3", "e5"]
        assert session.read_only is None
        assert session.findings


@pytest.mark.parametrize("pad", ["", " " * 300])
def test_a_slot_of_another_size_is_reported(pad):
    line = json.dumps({"type": "title", "v": 1, "title": "T", "updatedAt": CREATED, "pad": pad}).encode()

    found = read(story(user("hi"), slot=line + b"\n"))

    assert [finding.kind for finding in found.findings] == ["not-an-entry"]
    assert found.reading.title == "T"
    assert found.reading.header is not None


def test_an_unreadable_line_keeps_its_place_in_the_path():
    data = story(user("one"), answer("two"), user("three"))
    damaged = data.replace(b'"role":"assistant"', b'"role":"assist\x00nt"')

    found = read(damaged)

    assert found.tree.path("e3") == ["e1", "e2", "e3"]
    assert found.tree.placeholders == {1}
    assert [finding.kind for finding in found.findings] == ["unreadable"]


def test_a_byte_order_mark_and_carriage_returns_are_accepted():
    found = read(b"\xef\xbb\xbf" + SMALL.replace(b"\n", b"\r\n"))

    assert found.reading.header is not None
    assert found.leaf == "e5"
    assert found.reading.title == "T"


@pytest.mark.parametrize("data", [b"", b"\n", b"hello\n", SLOT, SLOT + b"garbage\n"])
def test_a_file_without_header_and_entries_is_no_session_and_stays_untouched(data, tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_bytes(data)

    with pytest.raises(NotASession):
        Session.open(file)

    assert file.read_bytes() == data


def test_a_file_without_header_is_read_and_not_written():
    data = SLOT + SMALL.split(b"\n", 2)[2]

    session = Session.in_memory(data=data)

    assert session.path() == ["e1", "e3", "e5"]
    assert session.read_only is not None


def test_a_newer_version_is_read_and_not_written():
    found = read(story(user("hi"), header={**HEADER, "version": 4}))

    assert found.leaf == "e1"
    assert found.reading.read_only is not None


def test_deep_nesting_and_long_chains_need_no_recursion():
    deep = (
        b'{"type":"future","id":"deep","parentId":"e1","timestamp":"","x":'
        + b"[" * 5000
        + b"]" * 5000
        + b"}\n"
    )
    blob = b'{"type":"message","id":"b","parentId":"e1","timestamp":"","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:0","x":'
    blob += b"[" * 5000 + b"]" * 5000 + b"}]}}\n"

    found = read(story(*[user(str(number)) for number in range(3000)]) + deep + blob)

    assert len(found.tree.path_positions(2999)) == 3000
    everything_of(found)


# -- what is written is read ------------------------------------------------------------------------------

TIMES = st.sampled_from(["2026-12-01T00:00:00.000Z", "2026-12-01T00:00:01.000Z"])
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
USAGES = st.builds(dict, input=st.integers(0, 9), total_tokens=st.integers(0, 9))


@st.composite
def written(draw: st.DrawFn) -> list[Any]:
    """Entries of every kind that the format holds, each hanging from an earlier one or from nothing."""
    from branchline.entries import AssistantMessage, Text, Usage, UserMessage

    made: list[Any] = []
    for number in range(draw(st.integers(1, 8))):
        earlier = [entry.id for entry in made]
        common = {
            "id": f"{number:08x}",
            "parent": draw(st.sampled_from([None, *earlier])),
            "timestamp": draw(TIMES),
        }
        target = draw(st.sampled_from([common["id"], *earlier]))
        usage = draw(st.none() | st.builds(Usage, input=st.integers(0, 9), total_tokens=st.integers(1, 9)))
        text, more = draw(WORDS), draw(WORDS)
        made.append(
            draw(
                st.sampled_from(
                    [
                        MessageEntry(**common, message=UserMessage(content=text, timestamp=number)),
                        MessageEntry(
                            **common,
                            message=AssistantMessage(
                                content=(Text(text=text),), usage=usage, timestamp=number
                            ),
                        ),
                        ModelChange(**common, provider="p", model_id=more),
                        ThinkingLevelChange(**common, thinking_level=text),
                        Compaction(
                            **common, summary=text, first_kept=target, tokens_before=number, usage=usage
                        ),
                        BranchSummary(
                            **common, from_id=common["parent"] or "root", summary=text, usage=usage
                        ),
                        Custom(**common, custom_type=more, data={"x": text}),
                        CustomMessage(**common, custom_type=more, content=text, display=True),
                        Label(**common, target=target, label=text or None),
                        SessionInfo(**common, name=clean_title(text)),
                        UsageEntry(**common, kind=text, provider=more, model="m", usage=usage or Usage()),
                        Leaf(**common, target=common["parent"]),
                    ]
                )
            )
        )
    return made


def with_usage(entry):
    """The entry with the zeros that oh-my-pi needs of an answer."""
    message = getattr(entry, "message", None)
    if not isinstance(message, AssistantMessage) or message.usage is not None:
        return entry
    counted = msgspec.structs.replace(message, usage=Usage(cost=Cost(known=False)))
    return msgspec.structs.replace(entry, message=counted)


@MANY
@given(written())
def test_entries_that_were_written_are_read_as_they_were(entries):
    header = Header(version=3, id="s", timestamp=CREATED, cwd="/x")
    head = OH_MY_PI.writer.encode_header(header)

    data = head + OH_MY_PI.writer.encode(entries, read(head).reading)

    found = read(data)
    assert found.reading.header == header
    assert found.entries(range(len(found.tree))) == [*map(with_usage, entries)]
    assert not [finding for finding in found.findings if finding.kind != "leaf-target"]


@MANY
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "answer", "back", "reset", "label", "name", "model", "sum"]), WORDS
        ),
        max_size=12,
    )
)
@example([("ask", "a"), ("reset", ""), ("label", "x"), ("back", ""), ("name", " ")])
def test_a_session_of_any_verbs_is_the_same_when_it_is_opened_again(verbs):
    head = OH_MY_PI.writer.encode_header(Header(version=3, id="s", timestamp=CREATED, cwd="/x"))
    session = Session.in_memory(data=head, clock=FixedClock(1_800_000_000_000))
    for verb, words in verbs:
        path = session.path()
        if verb == "ask":
            session.append_message(words)
        elif verb == "answer":
            session.append_message({**answer(words)["message"], "timestamp": 1})
        elif verb == "reset":
            session.reset()
        elif verb == "name":
            session.set_title(words)
        elif verb == "model":
            session.append_model_change("p", words)
        elif path and verb == "back":
            session.branch(path[len(path) // 2])
        elif path and verb == "label":
            session.append_label(path[0], words)
        elif path and verb == "sum":
            session.branch_with_summary(path[0], words)

    log = session.transcript.bytes_between(0, None)
    again = Session.in_memory(data=log)

    assert log.startswith(head)
    assert again.path() == session.path()
    assert again.labels == session.labels
    assert again.title == session.title
    assert again.context() == session.context()
    assert not again.findings


# -- speed ------------------------------------------------------------------------------------------------

OWN: list[dict[str, Any]] = [
    {"type": "mode_change", "mode": "plan"},
    {"type": "title_change", "title": "T", "source": "user"},
    {"type": "credential_pin", "provider": "p", "hash": "0" * 64},
    message("developer", content=[{"type": "text", "text": "note"}], timestamp=1),
    {"type": "model_usage", "purpose": "title", "provider": "p", "model": "m", "usage": {"input": 1}},
]
SEALED = {"type": "redactedThinking", "data": "x"}


def long_story(turns: int, *, own: bool) -> bytes:
    """What real sessions hold: much tool output; with ``own`` every fourth line is one of oh-my-pi's own."""
    words = "error alpha branch run delta merge tree gamma function return value build commit " * 20
    entries: list[dict[str, Any]] = []
    for number in range(turns):
        call = {"type": "toolCall", "id": f"c{number}", "name": "bash", "arguments": {"command": words[:80]}}
        output = [{"type": "text", "text": words}]
        blocks = [SEALED, "look", call] if own else ["look", call]
        entries += [
            user("a question"),
            answer(*blocks, stopReason="toolUse", timestamp=1),
            message("toolResult", toolCallId=f"c{number}", toolName="bash", content=output, timestamp=1),
            OWN[number % len(OWN)] if own else user("a remark"),
        ]
    return story(*entries, slot=None if own else b"")


def test_entries_of_its_own_do_not_make_oh_my_pis_files_slow_to_open(monkeypatch):
    """All lines behind slot and header go in together, many at a time."""
    data = long_story(200, own=True)
    alone: list[bytes] = []
    feed_line = NativeReader._feed_line
    monkeypatch.setattr(
        NativeReader,
        "_feed_line",
        lambda reader, line, offset: (alone.append(line), feed_line(reader, line, offset)),
    )

    found = read(data)

    assert len(found.tree) == 800
    assert len(alone) == 2


@pytest.mark.slow
def test_a_file_of_105_megabytes_opens_in_the_time_of_a_native_one():
    def seconds_per_byte(format_: Format, data: bytes, head: int) -> float:
        count = 105_000_000 // (len(data) - head) + 1
        copies = [data[head:].replace(b'"e', b'"x%de' % number) for number in range(count)]
        whole = data[:head] + b"".join(copies)
        took = []
        for _ in range(5):
            began = time.process_time()
            found = EntryLog(format_, lambda offset, size: whole[offset : offset + size])
            took.append(time.process_time() - began)
            assert len(found.tree) == 4000 * count
        return min(took) / len(whole)

    ours = seconds_per_byte(OH_MY_PI, long_story(1000, own=True), len(story()))
    native = seconds_per_byte(PI, long_story(1000, own=False), len(story(slot=b"")))

    assert ours <= 1.5 * native, f"{ours / native:.2f} times as long"


def test_a_session_spelled_with_blanks_between_tokens_keeps_its_title_and_takes_more(tmp_path):
    made = Session.create("/tmp", directory=tmp_path / "made", format="oh-my-pi", title="T")
    with made:
        made.append_message("hello")
        made.append_message({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
    lines = Path(made.file).read_bytes().splitlines()
    path = tmp_path / "spaced.jsonl"
    path.write_bytes(b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in lines))

    with Session.open(path) as session:
        session.append_message("more")

        assert (session.format, session.id, session.title) == ("oh-my-pi", made.id, "T")
        assert [finding.message[:14] for finding in session.findings] == ["the title slot"]
        assert len(session) == 3
