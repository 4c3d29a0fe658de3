"""A chat in a session of zot: what needs a branch or a compaction goes on in a fork, and nobody is stuck."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.conductor import ContextCompacted, MessageAppended
from branchline.entries import ToolResult
from branchline.models import OfflineModel
from chat.kit import Talk, drive


@pytest.fixture(autouse=True)
def zot_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))


def zot(project: Path) -> Session:
    return Session.create(project, format="zot")


@pytest.mark.parity("ZOT-19")
@pytest.mark.parametrize(
    ("command", "answers", "given", "kept"),
    [
        ("/tree", ["offline: say two"], ["offline: say two"], 2),
        ("/jump", ["offline: say one"], ["offline: say one"], 0),
        ("/undo", [], ["offline: say two"], 2),
        ("/tree ~2", [], [], 2),
    ],
)
def test_going_back_forks_to_there_and_goes_on(project, command, answers, given, kept):
    async def work() -> None:
        talk = Talk(project, *answers, session=zot(project))
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two")
            source = talk.session
            before = Path(source.file).read_bytes()

            await talk.say(command)

            assert front.asked[1:] == []  # no question about a summary that could not be kept
            assert front.given == given
            assert talk.session.id != source.id
            assert talk.session.format == "zot"
            assert talk.session.id in front.remarks[-1]
            assert "zot sessions have no branches: you continue in the fork" in front.remarks[-1]
            await talk.say("offline: say three")
            said = ["offline: say one", "one", "offline: say two", "two"][:kept]
            assert talk.words() == [*said, "offline: say three", "three"]
            assert Path(source.file).read_bytes() == before

    drive(work)


def test_going_to_where_one_is_makes_no_fork(project):
    async def work() -> None:
        talk = Talk(project, session=zot(project))
        async with talk.conductor:
            front = await talk.say("offline: say one", "/tree @leaf")

            assert front.remarks[-1] == "you are already there"
            assert len(SessionLibrary.everywhere(project).list()) == 1

    drive(work)


@pytest.mark.parity("ZOT-19")
def test_another_answer_is_given_in_a_fork_that_ends_before_the_first(project):
    async def work() -> None:
        talk = Talk(project, session=zot(project))
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two")
            source = talk.session
            before = Path(source.file).read_bytes()

            await talk.say("/retry")

            assert talk.session.id != source.id
            assert talk.words() == ["offline: say one", "one", "offline: say two", "two"]
            assert Path(source.file).read_bytes() == before
            assert "you continue in the fork" in front.remarks[-1]

    drive(work)


@pytest.mark.parametrize(
    "prompt", ["offline: fail network", "offline: fail network midway\noffline: say one two"]
)
def test_a_failed_answer_leaves_no_trace_in_the_file_and_can_be_retried(project, prompt):
    async def work() -> None:
        talk = Talk(project, session=zot(project))
        async with talk.conductor:
            front = await talk.say("offline: say one", prompt)
            assert any("/retry" in remark for remark in front.remarks)
            assert talk.words() == ["offline: say one", "one", prompt]

            await talk.say("/retry", "offline: say after all")

            assert talk.words()[-1] == "after all"

    drive(work)


@pytest.mark.parity("ZOT-19")
def test_a_compaction_goes_on_in_a_fork_that_begins_with_the_summary(project):
    async def work() -> None:
        talk = Talk(project, session=zot(project))
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two")
            source = talk.session
            before = Path(source.file).read_bytes()

            await talk.say("/compact")

            made = talk.session
            assert made.id != source.id
            assert made.format == "zot"
            assert f"compacted into a fork: you continue in session {made.id}" in front.remarks[-2]
            assert not any("fork_compacted" in remark for remark in front.remarks)
            assert Path(source.file).read_bytes() == before
            await talk.say("offline: say three")
            assert talk.words()[-1] == "three"
            assert "offline: say one" not in talk.words()

    drive(work)


@pytest.mark.parity("ZOT-19")
@pytest.mark.parametrize("window", [2_000, 4_000])
def test_a_full_context_is_compacted_into_a_fork_and_the_conversation_goes_on(project, window):
    """Past its limit several times over, every prompt is answered and nothing is lost."""

    async def work() -> None:
        talk = Talk(project, session=zot(project), model=OfflineModel("small", context_window=window))
        async with talk.conductor:
            files = [talk.session.id]
            for number in range(24):
                front = await talk.say(f"{'word ' * 200}\noffline: say answer {number}")
                assert talk.words()[-1] == f"answer {number}", front.remarks[-3:]
                if talk.session.id != files[-1]:
                    files.append(talk.session.id)

            compactions = [event for event in front.events if isinstance(event, ContextCompacted)]
            assert [event.session for event in compactions] == files[1:]
            assert len(files) > 2
            assert len(files) < 20  # not with every prompt
            told = [row.id for row in SessionLibrary.everywhere(project).list()]
            assert set(told) == set(files)
            total = sum(row.row.messages or 0 for row in SessionLibrary.everywhere(project).forest(deep=True))
            assert total >= 48

    drive(work)


def test_a_context_that_the_model_finds_too_long_is_compacted_into_a_fork_and_answered(project):
    async def work() -> None:
        talk = Talk(project, session=zot(project))
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: fail overflow 1\noffline: say two")

            assert talk.words()[-1] == "two"
            assert any("compacted into a fork" in remark for remark in front.remarks)

    drive(work)


@pytest.mark.parity("ZOT-19")
def test_whatever_needs_a_branch_or_a_compaction_goes_on_in_a_fork(project):
    """One conversation, one thing after the other; each leaves the file that it began in as it was."""

    async def work() -> None:
        model = OfflineModel("small", context_window=3_000)
        talk = Talk(project, "say two", "say one", session=zot(project), model=model)
        async with talk.conductor:
            await talk.say("offline: say one")
            for command, then in [
                ("/tree", "offline: say two"),
                ("/jump", "offline: say one"),
                ("/undo", "offline: say one"),
                ("/retry", "offline: say next"),
                ("/compact", "offline: say after the compaction"),
            ]:
                await talk.say("offline: say two")
                source, before = talk.session.id, Path(talk.session.file).read_bytes()
                file = talk.session.file

                await talk.say(command)
                assert talk.session.id != source, command
                assert talk.session.format == "zot"
                assert Path(file).read_bytes() == before

                await talk.say(then)
                assert talk.words()[-1] == then.removeprefix("offline: say "), command
            before_it, number = talk.session.id, 0
            while talk.session.id == before_it:
                number += 1
                await talk.say(f"{'word ' * 300}\noffline: say {number}")
                assert talk.words()[-1] == str(number)
                assert number < 20

    drive(work)


def test_several_calls_of_one_answer_are_answered_together(project):
    """zot has one row for all results of an answer, and they can be part of a fork."""
    calls = [f'offline: call count_words {{"text": "{words}"}}' for words in ("a", "b c", "d e f")]

    async def work() -> None:
        talk = Talk(project, session=zot(project))
        async with talk.conductor:
            front = await talk.say("\n".join(calls), "offline: say fine", "/undo", "offline: say again")

            results = [
                event.message
                for event in front.events
                if isinstance(event, MessageAppended) and isinstance(event.message, ToolResult)
            ]
            assert [result.is_error for result in results] == [False, False, False]
            assert talk.words()[-2:] == ["offline: say again", "again"]
            with Session.open(talk.session.file) as read:
                assert sum(isinstance(item.message, ToolResult) for item in read.context().messages) == 3

    drive(work)


@pytest.mark.parametrize("command", ["/fork --native", "/fork --native @leaf"])
def test_a_fork_can_be_a_native_session_in_which_everything_can_be_done(project, command):
    async def work() -> None:
        talk = Talk(project, "say two", session=zot(project))
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two", "/label here")
            assert "cannot hold this" in front.remarks[-1]
            assert front.remarks[-1].endswith("/fork --native does that and continues there.")

            await talk.say(command, "/label here", "offline: say three")

            assert talk.session.format == "pi"
            assert talk.words() == [
                "offline: say one",
                "one",
                "offline: say two",
                "two",
                "offline: say three",
                "three",
            ]
            assert list(talk.session.labels.values()) == ["here"]

    drive(work)


@pytest.mark.parity("ZOT-22")
@pytest.mark.parametrize("way", ["fork", "tree", "fork_from", "native"])
def test_a_file_that_ends_with_a_model_switch_can_be_forked_and_copied(project, way):
    with zot(project) as source:
        source.append_message("hello")
        source.append_message({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
        source.append_model_change("anthropic", "claude-sonnet-5")
        before = Path(source.file).read_bytes()

        match way:
            case "fork":
                made = source.fork()
            case "tree":
                made = source.fork(scope="tree")
            case "fork_from":
                made = Session.fork_from(source.file, project)
            case _:
                made = source.fork(to="branchline")

        with made, Session.open(made.file) as again:
            assert again.context().model.id == "claude-sonnet-5"
            assert len(again.context().messages) == 2
            made.append_message("more")
            assert again.refresh() >= 1
            assert len(again.context().messages) == 3
        assert Path(source.file).read_bytes() == before
