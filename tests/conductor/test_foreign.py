"""A conversation continues in a session of another agent, in that agent's format."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from branchline import Session
from branchline.conductor import Conductor, Policy
from branchline.entries import message_text
from branchline.errors import BranchlineError, NotASession, ReadOnly
from branchline.models import COUNT_WORDS, OfflineModel
from conductor.kit import ended, events_of, talk
from support import CORPUS

PROGRAMS = ("pi", "oh-my-pi", "operator", "induscode", "zot", "piglet")
SUFFIXES = (".jsonl", ".ndjson", ".zotsession")
FILES = {
    program: sorted(path for path in (CORPUS / program).rglob("*") if path.suffix in SUFFIXES)
    for program in PROGRAMS
}
SOME = [path for files in FILES.values() for path in files[:: max(1, len(files) // 3)]]
ALL = [path for files in FILES.values() for path in files]


def talked_in(path: Path, tmp_path: Path) -> list[str]:
    """Talk in a copy of a session: an answer, a tool, a failure, an overflow, an answer."""
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    try:
        session = Session.open(copy, durability="os")
    except NotASession as refusal:
        pytest.skip(str(refusal))
    if session.read_only:
        session.close()
        pytest.skip("it can be read only")

    async def work():
        policy = Policy(retries=1, retry_delay=0)
        async with Conductor(session, OfflineModel(), tools=(COUNT_WORDS,), policy=policy) as talking:
            talking.set_thinking("high")
            endings = [
                ended(await events_of(talking.send(prompt))).reason
                for prompt in [
                    "offline: say fine",
                    'count the words of "a b"',
                    "offline: fail network midway\noffline: say one two three",
                    "offline: fail overflow",
                    "offline: say last",
                ]
            ]
            with Session.open(copy) as again:
                assert again.leaf == session.leaf
                assert again.context() == session.context() == talking.context()
                assert message_text(again.context().messages[-1].message) == "last"
                assert again.usage() == talking.usage
            return endings

    return talk(work)


@pytest.mark.parametrize("path", SOME, ids=lambda path: "-".join(path.parts[-2:]))
def test_a_conversation_goes_on_in_the_format_of_the_file(path, tmp_path):
    assert talked_in(path, tmp_path) == ["stop", "stop", "error", "error", "stop"]


@pytest.mark.slow
@pytest.mark.parametrize("path", ALL, ids=lambda path: "-".join(path.parts[-3:]))
def test_a_conversation_goes_on_in_every_file_that_can_be_appended_to(path, tmp_path):
    assert talked_in(path, tmp_path) == ["stop", "stop", "error", "error", "stop"]


@pytest.mark.parametrize("program", ["claude-code", "codex"])
def test_a_session_that_can_only_be_read_refuses_the_prompt_and_can_be_forked(program, tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    path = max((CORPUS / program).rglob("*.jsonl"), key=lambda found: found.stat().st_size)
    before = path.read_bytes()

    async def work():
        async with Conductor(Session.open(path), OfflineModel()) as talking:
            with pytest.raises(ReadOnly):
                await events_of(talking.send("hello"))
            assert not talking.running
            try:
                done = await talking.fork(cwd=tmp_path)
            except BranchlineError as refusal:
                pytest.fail(str(refusal))
            assert done.session is talking.session
            return ended(await events_of(talking.send("hello"))).reason

    assert talk(work) == "stop"
    assert path.read_bytes() == before
