"""Several answers to one prompt: each a branch, shown together, one of them picked."""

from __future__ import annotations

import pytest

from branchline.conductor import TextDelta
from branchline.conversion import branch_tips
from branchline.views.attempt_columns import AnswerColumn, attempt_lines
from branchline.views.spans import line_text, line_width
from chat.kit import Talk, drive


def test_attempts_are_branches_and_the_picked_one_goes_on(project):
    async def work() -> None:
        talk = Talk(project, "2")
        async with talk.conductor:
            await talk.say("offline: say one", "/again 2")

            assert talk.front.asked == ["Continue with which answer?"]
            tips = sorted(branch_tips(talk.session.transcript))
            assert len(tips) == 3
            keys = talk.session.index.keys
            assert talk.session.leaf == keys[tips[1]]
            assert talk.words() == ["offline: say one", "one"]
            assert "continuing with answer 2" in talk.front.remarks[-1]

            await talk.say("/undo")
            assert talk.session.leaf == keys[tips[2]]

    drive(work)


def test_attempts_at_a_new_prompt_call_tools_each(project):
    async def work() -> None:
        talk = Talk(project, None)
        async with talk.conductor:
            await talk.say('/again 2 offline: call count_words {"text": "a b"}')

            tips = sorted(branch_tips(talk.session.transcript))
            assert len(tips) == 2
            roles = talk.session.index.roles
            assert roles.count("user") == 1
            assert roles.count("toolResult") == 2
            assert talk.session.leaf == talk.session.index.keys[tips[-1]]  # Escape stays with the last one

    drive(work)


def test_every_attempt_begins_at_the_prompt_also_where_the_first_answer_called_tools(project):
    async def work() -> None:
        talk = Talk(project, "1")
        async with talk.conductor:
            await talk.say('offline: call count_words {"text": "a b"}', "/again 2")

            tree = talk.session.index
            assert tree.roles.count("user") == 1
            assert tree.roles.count("toolResult") == 3
            prompt = talk.session.path()[tree.roles.index("user")]
            assert len(talk.session.children(prompt)) == 3

    drive(work)


def test_stopping_an_attempt_keeps_what_came_and_makes_no_more(project):
    async def work() -> None:
        talk = Talk(project, "1")

        def stop(words: str) -> None:
            talk.chat.interrupt()

        async with talk.conductor:
            await talk.say("offline: slow 0.01\noffline: say one two three")
            talk.front.on_progress = stop
            await talk.say("/again 5")

            assert len(branch_tips(talk.session.transcript)) == 2
            assert not [event for event in talk.front.events if isinstance(event, TextDelta)][20:]

    drive(work)


@pytest.mark.parametrize("columns", [40, 80, 107, 108, 160])
def test_answers_stand_beside_each_other_where_there_is_room(columns):
    attempts = [
        AnswerColumn(heading=str(number), facts="12 tokens", text=f"answer {number} " + "word " * 30)
        for number in (1, 2, 3)
    ]

    lines = list(attempt_lines(attempts, columns))

    assert all(line_width(line) <= columns for line in lines)
    beside = [line_text(line) for line in lines if line_text(line).count("answer") == 3]
    assert bool(beside) == (columns >= 108)
    assert "".join(map(line_text, lines)).count("word") == 90


def test_hostile_answers_are_filtered_and_cut():
    attempts = [AnswerColumn(heading="1", text="\x1b]0;x\x07\n" * 100), AnswerColumn(heading="2", text="")]

    lines = [line_text(line) for line in attempt_lines(attempts, 120)]

    assert len(lines) < 50
    assert not any("\x1b" in line or "\x07" in line for line in lines)
