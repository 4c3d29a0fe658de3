"""A survey says of a session what its transcript says, or leaves it to the transcript."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.entries import (
    AssistantMessage,
    CustomMessage,
    Header,
    MessageEntry,
    ModelChange,
    SessionInfo,
    Text,
    ToolResult,
    UserMessage,
    codec,
)
from branchline.formats import PI, EntryLog, Format
from branchline.library.row_reader import deep_row, read_row
from branchline.stores import StoredLog
from branchline.views.session_row import SessionRow
from strategies import session_files, texts
from support import CORPUS

SAMPLES = sorted((CORPUS / "pi").rglob("*.jsonl"))
MANY = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


moments = st.integers(1, 2_000_000_000_000)
words = texts.map(lambda text: (Text(text=text),))
said = st.one_of(
    st.builds(UserMessage, content=words, timestamp=moments),
    st.builds(ToolResult, tool_call_id=texts, tool_name=texts, content=words, timestamp=moments),
    st.builds(
        AssistantMessage,
        content=words,
        provider=texts,
        model=st.sampled_from(["mind", "memory"]),
        timestamp=moments,
    ),
)


@st.composite
def linear_files(draw: st.DrawFn) -> bytes:
    """A file in good order that never branched, perhaps a fork."""
    parent = draw(st.none() | st.just("/parent.jsonl"))
    header = Header(
        id="s", version=3, timestamp="2026-01-01T00:00:05.000Z", cwd="/project", parent_session=parent
    )
    lines, above = [codec.encode_header(header)], None
    for number in range(draw(st.integers(0, 8))):
        common = {"id": f"{number:08x}", "parent": above, "timestamp": f"2026-01-01T00:00:{number:02}.000Z"}
        above = common["id"]
        entry = draw(
            st.one_of(
                said.map(lambda message, common=common: MessageEntry(**common, message=message)),
                st.builds(
                    SessionInfo, name=texts, **{name: st.just(value) for name, value in common.items()}
                ),
                st.builds(
                    ModelChange,
                    provider=texts,
                    model_id=texts,
                    **{name: st.just(value) for name, value in common.items()},
                ),
                st.builds(
                    CustomMessage,
                    custom_type=texts,
                    content=texts,
                    display=st.booleans(),
                    **{name: st.just(value) for name, value in common.items()},
                ),
            )
        )
        lines.append(codec.encode_entry(entry))
    return b"".join(lines)


def both(data: bytes, format_: Format = PI) -> tuple[SessionRow, SessionRow]:
    """The row by a survey, and by a transcript."""
    stored = StoredLog("key", len(data), 1_700_000_000.0, "/some/where/key.jsonl")

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    found = read_row(read, stored, known=format_)
    assert found.transcript is None
    reader = format_.listing_reader(stored.path or "")
    return found.row, deep_row(stored, EntryLog(format_, read, "key", reader=reader))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_survey_of_a_sample_and_of_any_part_of_it_says_what_its_transcript_says(path: Path) -> None:
    data = path.read_bytes()
    for size in {len(data), *range(0, min(len(data), 20_000), 97)}:
        part = data[:size]
        if PI.survey(part) is not None:
            by_survey, by_transcript = both(part)
            assert by_survey == by_transcript


@MANY
@given(session_files())
def test_a_survey_of_any_file_says_what_its_transcript_says(data: bytes) -> None:
    if PI.survey(data) is not None:
        by_survey, by_transcript = both(data)
        assert by_survey == by_transcript


@MANY
@given(linear_files())
def test_a_session_in_good_order_that_never_branched_is_surveyed(data: bytes) -> None:
    by_survey, by_transcript = both(data)
    assert by_survey == by_transcript


def test_a_session_that_branched_is_left_to_its_transcript(tmp_path: Path) -> None:
    with Session.create("/project", directory=tmp_path, persist="at_once") as session:
        first = session.append_message("one")
        session.append_message("two")
        assert PI.survey(Path(session.file).read_bytes()) is not None
        session.branch(first)
        session.append_message("another two")
    assert PI.survey(Path(session.file).read_bytes()) is None


def test_a_fork_is_surveyed_with_its_own_first_prompt_and_its_title(tmp_path: Path) -> None:
    with Session.create("/project", directory=tmp_path, persist="at_once") as session:
        session.append_message("from before")
        answer = session.append_message(
            {"role": "assistant", "content": [], "provider": "maker", "model": "mind", "stopReason": "stop"}
        )
        with session.fork(answer) as fork:
            fork.append_message("of its own")
            fork.set_title("called so")
            path = Path(fork.file)
    by_survey, by_transcript = both(path.read_bytes())
    assert by_survey == by_transcript
    assert (by_survey.first_prompt, by_survey.title, by_survey.model) == ("of its own", "called so", "mind")
