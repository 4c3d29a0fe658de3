"""Tree operations in a chat: they append, they can be taken back, and bad input writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchline import Session
from branchline.actions.operations import operations
from branchline.conductor import TextDelta
from chat.kit import Talk, drive


def test_a_named_branch_grows_and_leads_back(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("offline: say one", "/branch idea", "offline: say two", "/branches")
            assert front.remarks[-1].startswith("the branch 'idea' begins here")
            assert "idea  2 entries, ends at" in front.lines[-1]
            assert "you are here" in front.lines[-1]

            await talk.say("/undo", "/branches idea")
            assert talk.words()[-1] == "two"

    drive(work)


def test_undo_takes_back_operations_first_then_turns_and_redo_restores_them(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two", "/label good", "/name Title")
            end = talk.session.leaf

            await talk.say("/undo", "/undo")
            assert (talk.session.title, talk.session.labels) == (None, {})
            assert talk.session.leaf == end

            await talk.say("/undo")
            assert front.given == ["offline: say two"]
            assert talk.words() == ["offline: say one", "one"]

            await talk.say("/undo")
            assert front.given[1:] == ["offline: say one"]

            await talk.say("/redo", "/redo")
            assert talk.session.leaf == end
            await talk.say("/redo", "/redo")
            assert (talk.session.title, list(talk.session.labels.values())) == ("Title", ["good"])
            await talk.say("/redo")
            assert "nothing to redo" in front.remarks[-1]

    drive(work)


def test_a_graft_copies_a_turn_and_a_squash_replaces_a_range(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two")
            turn = talk.prompt("offline: say two")
            await talk.say("/undo", "offline: say three", f"/graft {turn}")
            assert talk.words()[-2:] == ["offline: say two", "two"]

            await talk.say("/squash @leaf~1..@leaf Two was said.")
            assert "Two was said." in talk.words()[-1]
            await talk.say("/undo")
            assert talk.words()[-1] == "two"
            await talk.say("/squash @leaf~1..@leaf", "/log")  # the offline model writes an extract
            assert "offline: say two" in talk.words()[-1]
            logged = [line for line in front.lines if " squash " in line]
            assert [line.endswith("(undone)") for line in logged] == [False, True]

    drive(work)


def test_a_graft_may_come_from_another_session(project):
    with Session.create(project, persist="always") as other:
        other.append_message("Where from?")
        other.append_message({"role": "assistant", "content": [{"type": "text", "text": "From there."}]})
        name = other.id

    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("offline: say one", f"/graft @leaf~1 --from {name}")

            assert talk.words() == ["offline: say one", "one", "Where from?", "From there."]

    drive(work)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/graft", "which turn?"),
        ("/graft nothing", "no entry named 'nothing'"),
        ("/graft @leaf --onto", "--onto needs a value"),
        ("/graft @leaf --from nowhere", "nowhere"),
        ("/graft 'unclosed", "a quotation mark is not closed"),
        ("/graft @leaf~1 --onto @leaf", "which is a part of it"),
        ("/squash", "which range?"),
        ("/squash @leaf..@leaf~1 words", "comes before"),
        ("/squash @leaf~9 words", "no entry @leaf~9"),
        ("/redo", "nothing to redo"),
        ("/branch @leaf~9", "no entry @leaf~9"),
        ("/branch " + "x" * 200, "1 to 120 characters"),
        ("/branches nothing", "no branch named"),
        ("/diff", "only one branch"),
        ("/diff x y z", "no entry named 'x'"),
        ("/find", "what are you looking for?"),
        ("/again 99", "1 to 9 attempts"),
        ("/again 0", "1 to 9 attempts"),
        ("/attach absent.txt", "no such file"),
        ("/providers nobody", "no provider named"),
        ("/help nothing", "no command /nothing"),
    ],
)
def test_bad_input_gets_a_sentence_and_writes_nothing(project, line, why):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("offline: say one")
            file = Path(talk.session.file)
            before = file.read_bytes()

            await talk.say(line)

            assert why in talk.front.remarks[-1]
            assert file.read_bytes() == before

    drive(work)


def test_half_of_a_tool_exchange_is_not_grafted(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say('offline: call count_words {"text": "a"}')
            entries = len(talk.session)

            await talk.say("/graft @leaf~2..@leaf~2", "/squash @leaf~1..@leaf~1 it counted")

            assert "calls a tool whose result is not in the range" in talk.front.remarks[-2]
            assert "result of a tool call that is not in the range" in talk.front.remarks[-1]
            assert len(talk.session) == entries

    drive(work)


def test_a_comparison_shows_what_differs_and_a_search_leads_to_its_match(project):
    async def work() -> None:
        talk = Talk(project, "1", "no")
        async with talk.conductor:
            front = await talk.say("offline: say marble", "/undo", "offline: say granite", "/diff")
            assert any(line.strip() == "- marble" or "marble" in line for line in front.lines)
            assert any("granite" in line for line in front.lines)

            await talk.say("/find marble role:assistant")
            assert "Go to which of 1 matches?" in front.asked[0]
            assert talk.words()[-1] == "marble"
            await talk.say("/find basalt")
            assert front.remarks[-1].startswith("no matches in")

    drive(work)


def test_a_match_in_another_session_is_opened_there(project):
    with Session.create(project, persist="always") as other:
        other.append_message("Which stone?")
        other.append_message({"role": "assistant", "content": [{"type": "text", "text": "Basalt."}]})
        name = other.id

    async def work() -> None:
        talk = Talk(project, "1")
        async with talk.conductor:
            await talk.say("offline: say one", "/find basalt")

            assert talk.session.id == name
            assert [card.body for card in talk.front.cards] == ["Which stone?", "Basalt."]

    drive(work)


def test_the_log_has_every_operation_with_its_words(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("offline: say one", "/label good", "/name A title", "/undo", "/log")

            assert [operation.verb for operation in operations(talk.session)] == ["label", "title", "undo"]
            assert [line.split()[1] for line in front.lines[-3:]] == ["undo", "title", "label"]
            assert front.lines[-2].endswith("A title  (undone)")

    drive(work)


def test_no_operation_begins_while_the_model_answers(project):
    refused: list[str] = []

    async def work() -> None:
        talk = Talk(project)

        def during(event: object) -> None:
            if isinstance(event, TextDelta) and not refused:
                with pytest.raises(RuntimeError) as problem:
                    talk.conductor.apply("graft", lambda session: session.set_title("written"))
                refused.append(str(problem.value))

        talk.front.when_heard = during
        async with talk.conductor:
            await talk.say("offline: say one")

            assert talk.session.title is None
            assert refused == ["cannot graft while the conversation is running; abort it first"]

    drive(work)
