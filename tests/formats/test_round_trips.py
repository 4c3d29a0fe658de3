"""What a plain conversion keeps is kept there and back, twice, with and without the same id."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from branchline.actions.convert import TARGETS, ConvertRequest, convert
from branchline.entries import MessageEntry, message_text
from branchline.errors import NotSupported
from branchline.session import Session

ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "a first answer"}]}
CALL = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "I look"},
        {"type": "toolCall", "id": "call_1", "name": "read", "arguments": {"path": "a.txt"}},
    ],
    "stopReason": "toolUse",
}
RESULT = {
    "role": "toolResult",
    "toolCallId": "call_1",
    "toolName": "read",
    "content": [{"type": "text", "text": "what the file says"}],
    "isError": False,
}


def answer(words: str) -> dict[str, object]:
    return {**ANSWER, "content": [{"type": "text", "text": words}]}


def straight(session: Session) -> None:
    for number in (1, 2):
        session.append_message(f"prompt {number}")
        session.append_message(answer(f"answer {number}"))


def branched(session: Session) -> None:
    session.append_message("prompt 1")
    first = session.append_message(answer("answer 1"))
    session.append_message("left")
    session.append_message(answer("left answer"))
    session.branch(first)
    session.append_message("right")
    session.append_message(answer("right answer"))


def with_calls(session: Session) -> None:
    session.append_message("prompt 1")
    session.append_message(CALL)
    session.append_message(RESULT)
    first = session.append_message(answer("answer 1"))
    session.append_label(first, "here")
    session.set_title("A title")
    session.append_message("prompt 2")
    session.append_message(answer("answer 2"))


SESSIONS = (straight, branched, with_calls)


def words(session: Session) -> Counter[str]:
    """The texts of the whole tree, and, marked, those that a model sees."""
    entries = [entry for entry in session.entries() if isinstance(entry, MessageEntry)]
    found = Counter(text for entry in entries if (text := message_text(entry.message)).strip())
    seen = (message_text(item.message) for item in session.context().messages)
    found.update(f"seen: {text}" for text in seen if text.strip())
    return found


def there_and_back(
    session: Session, way: tuple[str, ...], directory: Path, *, same_id_from: int
) -> list[Counter[str]]:
    """What is said after each conversion of a chain, whose later conversions keep the id."""
    found = []
    for number, agent in enumerate(way):
        place = f"{directory}/{number}-{same_id_from}/"
        request = ConvertRequest(to=agent, same_id=number >= same_id_from, output=place)
        try:
            (file, *others) = convert(session, request).files
        except NotSupported as refusal:
            if "UUID" not in str(refusal):  # induscode and opencode name their sessions otherwise
                raise
            (file, *others) = convert(session, ConvertRequest(to=agent, output=place)).files
        session.close()
        session = Session.open(file.path)
        said = words(session)
        for other in others:
            with Session.open(other.path) as branch:
                said |= words(branch)
        found.append(said)
    session.close()
    return found


@pytest.mark.parametrize("made_with", SESSIONS, ids=lambda made_with: made_with.__name__)
@pytest.mark.parametrize("agent", TARGETS)
def test_what_a_plain_conversion_keeps_is_kept_with_the_same_id_there_and_back_twice(
    agent, made_with, tmp_path
):
    """Codex numbers lines, and so do the native ids of a session that came from it."""
    with Session.create("/home/u/project", directory=tmp_path) as session:
        made_with(session)
        file = session.file
    for other in TARGETS:
        way = (agent, other, agent, other, agent)
        place = tmp_path / other
        place.mkdir()

        plain = there_and_back(Session.open(file), way, place, same_id_from=len(way))
        for first in (0, 1):
            same = there_and_back(Session.open(file), way, place, same_id_from=first)

            for step, (kept, again) in enumerate(zip(plain, same, strict=True)):
                assert kept - again == Counter(), (other, first, step)
        seen = {text for text in plain[0] if text.startswith("seen: ")}
        assert all(seen <= set(said) for said in (*plain, *same)), other
