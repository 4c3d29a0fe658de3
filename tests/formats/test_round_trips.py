"""What a plain conversion keeps is kept there and back, twice, with and without the same id."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline.actions.convert import TARGETS as AGENTS
from branchline.actions.convert import ConvertRequest, convert, target_format
from branchline.context import build_context
from branchline.conversion import convert as convert_log
from branchline.conversion.output_buffer import OutputBuffer
from branchline.entries import (
    AssistantMessage,
    Header,
    MessageEntry,
    SystemMessage,
    Text,
    UserMessage,
    message_text,
)
from branchline.errors import BranchlineError
from branchline.formats import OPENCODE, PI, EntryLog, Format
from branchline.session import Session
from formats.conversion_kit import read, rich_sessions

FORMATS = {agent: target_format(agent) for agent in AGENTS if agent != "pi"}  # which is the native format
PAIRS = [pair for pair in itertools.product(FORMATS, FORMATS) if pair != ("opencode", "opencode")]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


# -- sessions ---------------------------------------------------------------------------------------------


def answer(words: str, *calls: str) -> dict[str, object]:
    blocks = [{"type": "toolCall", "id": name, "name": "read", "arguments": {"path": name}} for name in calls]
    stop = "toolUse" if calls else "stop"
    return {"role": "assistant", "content": [{"type": "text", "text": words}, *blocks], "stopReason": stop}


def result(call: str, words: str) -> dict[str, object]:
    content = [{"type": "text", "text": words}]
    return {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": "read",
        "content": content,
        "isError": False,
    }


def turn(session: Session, words: str) -> str:
    session.append_message(f"prompt {words}")
    return session.append_message(answer(f"answer {words}"))


def straight(session: Session) -> Session:
    turn(session, "one")
    turn(session, "two")
    return session


def branched(session: Session) -> Session:
    """Two branches, and the first one is active again."""
    first = turn(session, "one")
    left = turn(session, "left")
    session.branch(first)
    turn(session, "right")
    session.branch(left)
    return session


def worked(session: Session) -> Session:
    """Parallel calls, a picture, a branch within a turn, a label and a title."""
    picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
    session.append_message({"role": "user", "content": [{"type": "text", "text": "look"}, picture]})
    session.append_message(answer("I look", "a", "b"))
    session.append_messages([result("a", "what a says"), result("b", "what b says")])
    done = session.append_message(answer("first attempt"))
    session.branch(session.index.parent(done))
    session.append_label(session.append_message(answer("second attempt")), "here")
    session.set_title("A title")
    turn(session, "two")
    return session


def compacted(session: Session) -> Session:
    turn(session, "one")
    kept = session.append_message("a kept prompt")
    session.append_message(answer("a kept answer"))
    session.append_compaction("in short", kept, 100)
    turn(session, "two")
    return session


def forked(session: Session) -> Session:
    first = turn(session, "one")
    left = turn(session, "left")
    session.branch(first)
    turn(session, "right")
    return session.fork(left)


# -- conversions ------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """What is said after a conversion, and how many messages of the path it reports as dropped."""

    said: Counter[str]
    dropped: int


_numbers = itertools.count(1)


def opened(data: bytes, target: Format, header: Header) -> EntryLog:
    return read(data, target, target.home.file_key(header) + target.traits.suffix)


def new_header(source: EntryLog, target: Format) -> Header:
    number = next(_numbers)
    time = f"2031-01-{number // 3600 % 28 + 1:02}T00:{number // 60 % 60:02}:{number % 60:02}.000Z"
    writer, old = target.required_writer(), source.reading.header
    assert old is not None
    return Header(
        id=writer.session_id(f"0199{number:04x}-0000-7000-8000-{number:012x}", time),
        version=3,
        timestamp=time,
        cwd=old.cwd,
        parent_session=writer.parent_link(old.id, "/home/u/source.jsonl"),
    )


def old_header(source: EntryLog, target: Format) -> Header | None:
    """The header with the id of the source; None if the target names its sessions otherwise."""
    old = source.reading.header
    assert old is not None
    header = Header(id=old.id, version=3, timestamp=old.timestamp, cwd=old.cwd)
    try:
        target.required_writer().encode_header(header)
    except BranchlineError:
        return None
    return header


def converted(source: EntryLog, target: Format, *, same_id: bool) -> tuple[EntryLog, list[EntryLog], int]:
    """The new file, those of the branches that it cannot hold, and the number of dropped messages."""
    old = old_header(source, target) if same_id else None
    made = convert_log(source, target, old or new_header(source, target), exact=same_id)
    others = []
    for leaf in made.branches_left:
        header = new_header(source, target)
        others.append(opened(convert_log(source, target, header, leaf=leaf).data, target, header))
    return opened(made.data, target, made.header), others, len(made.fidelity.dropped)


def words(log: EntryLog) -> Counter[str]:
    """The texts of the whole tree, and, marked, those that a model sees."""
    entries = map(log.entry, range(len(log.tree)))
    found = Counter(
        text
        for entry in entries
        if isinstance(entry, MessageEntry) and (text := message_text(entry.message)).strip()
    )
    leaf = log.tree.nearest_conversation_entry(log.reading.leaf)
    for item in build_context(log, leaf).messages:
        if not isinstance(item.message, SystemMessage) and (text := message_text(item.message)).strip():
            found[f"seen: {text}"] += 1
    return found


def continued(log: EntryLog, number: int, branch: int | None) -> EntryLog:
    """The file as its agent goes on: one more turn, at the leaf or at another answer."""
    target, header = log.format, log.reading.header
    assert header is not None
    if target is OPENCODE.for_import():
        return log
    out = OutputBuffer(target, log.bytes_between(0, None), log.name)
    tree, leaf = out.transcript.tree, out.transcript.leaf
    answers = [tree.keys[at] for at, role in enumerate(tree.roles) if role == "assistant"]
    if branch is not None and answers and not target.traits.splits_answers:
        leaf = answers[branch % len(answers)]
    said = [
        UserMessage(content=f"more {number}", timestamp=1_900_000_000_000 + number),
        AssistantMessage(content=(Text(text=f"reply {number}"),), stop_reason="stop", timestamp=1),
    ]
    for part, message in enumerate(said):
        time = f"2030-03-17T17:46:40.{number * 2 + part:03}Z"
        try:
            made = out.write(
                [MessageEntry(id=f"c{number:06x}{part}", parent=leaf, timestamp=time, message=message)]
            )
        except (BranchlineError, ValueError):
            return log  # no branch begins here
        leaf = out.transcript.tree.keys[made[-1]]
    return read(out.content(), target, log.name)


def there_and_back(
    source: EntryLog, way: tuple[str, ...], *, same_id_from: int, goes_on: bool, branch: int | None = None
) -> Iterator[Step]:
    """Each conversion of a chain; the later ones keep the id. In between, the agents may go on."""
    for number, agent in enumerate(way):
        source, others, dropped = converted(source, FORMATS[agent], same_id=number >= same_id_from)
        if goes_on:
            source = continued(source, number, branch)
        said = words(source)
        for other in others:
            said |= words(other)
        yield Step(said, dropped)


def require_law(source: EntryLog, way: tuple[str, ...], **more: object) -> list[Step]:
    """Assert that the same id costs nothing that was said, and return the steps with new ids."""
    plain = list(there_and_back(source, way, same_id_from=len(way), **more))  # type: ignore[arg-type]
    for first in (0, 1):
        same = list(there_and_back(source, way, same_id_from=first, **more))  # type: ignore[arg-type]
        for number, (kept, again) in enumerate(zip(plain, same, strict=True)):
            assert kept.said - again.said == Counter(), (way, first, number)
            assert again.dropped <= kept.dropped, (way, first, number)
    return plain


def bare(text: str) -> str:
    return "".join(text.removeprefix("seen: ").split())


SHAPES = (straight, branched, worked, compacted, forked)
TRIALS = [
    pytest.param(
        make,
        goes_on,
        id=f"{make.__name__}-{'continued' if goes_on else 'unchanged'}",
        marks=[] if goes_on == (make is worked) else [pytest.mark.slow],
    )
    for make, goes_on in itertools.product(SHAPES, (False, True))
]


@pytest.mark.parametrize(("make", "goes_on"), TRIALS)
@pytest.mark.parametrize("agent", FORMATS)
def test_what_a_plain_conversion_keeps_is_kept_there_and_back_twice(
    agent: str, make: Callable[[Session], Session], goes_on: bool
) -> None:
    with Session.in_memory("/home/u/project") as session:
        source = make(session).transcript
        told = {bare(text) for text in words(source) if text.startswith("seen: ")}
        for other in FORMATS:
            if (agent, other) not in PAIRS:
                continue
            plain = require_law(source, (agent, other, agent, other, agent), goes_on=goes_on)

            for number, step in enumerate(plain):
                seen = "".join(bare(text) for text in step.said if text.startswith("seen: "))
                assert all(text in seen for text in told), (other, number)


some = settings(deadline=None, suppress_health_check=list(HealthCheck))
trees = given(
    data=rich_sessions(),
    pair=st.sampled_from(PAIRS),
    goes_on=st.booleans(),
    branch=st.none() | st.integers(0, 5),
)


def require_law_of_trees(data: bytes, pair: tuple[str, str], *, goes_on: bool, branch: int | None) -> None:
    require_law(read(data, PI), (*pair, *pair, pair[0]), goes_on=goes_on, branch=branch)


@settings(some, max_examples=40)
@trees
def test_random_trees_keep_what_a_plain_conversion_keeps(data, pair, goes_on, branch):
    require_law_of_trees(data, pair, goes_on=goes_on, branch=branch)


@pytest.mark.slow
@settings(some, max_examples=3000)
@trees
def test_many_random_trees_keep_what_a_plain_conversion_keeps(data, pair, goes_on, branch):
    require_law_of_trees(data, pair, goes_on=goes_on, branch=branch)


def test_branches_that_codex_cannot_hold_become_files_with_the_same_id_too(tmp_path):
    """The first file keeps the id; each of the others has an id of its own and names the session."""
    with Session.create("/home/u/project", directory=tmp_path, persist="at_once") as session:
        session.append_message("look")
        session.append_message(answer("I look", "a"))
        read_it = session.append_message(result("a", "what a says"))
        session.append_message(answer("first attempt"))
        session.branch(read_it)
        session.append_message(answer("second attempt"))

        files = convert(session, ConvertRequest(to="codex", same_id=True, output=f"{tmp_path}/out/")).files

        assert [file.session == session.id for file in files] == [True, False]
    said = [file.read_text() for file in sorted((tmp_path / "out").glob("*.jsonl"))]
    assert sorted("first attempt" in text for text in said) == [False, True]
