"""Going elsewhere in the tree: what is picked, what is given back, what is summed up, what is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.chat import Picker
from branchline.entries import BranchSummary, Compaction
from branchline.settings import Settings
from branchline.views.spans import line_text
from chat.kit import Talk, drive


def test_picking_a_prompt_in_the_tree_gives_it_back_and_stands_before_it(project):
    async def work() -> None:
        talk = Talk(project, "offline: say two", "no")
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two", "/tree")

            assert front.given == ["offline: say two"]
            assert talk.words() == ["offline: say one", "one"]
            assert front.asked == ["Go where?", "Summarize the abandoned branch?"]

            await talk.say("offline: say other")
            assert talk.words() == ["offline: say one", "one", "offline: say other", "other"]

    drive(work)


def test_picking_nothing_in_the_tree_changes_nothing(project):
    async def work() -> None:
        talk = Talk(project, None)
        async with talk.conductor:
            await talk.say("hello")
            before = Path(talk.session.file).read_bytes()

            front = await talk.say("/tree")

            assert Path(talk.session.file).read_bytes() == before
            assert front.remarks[-1] == "nothing selected; position unchanged"

    drive(work)


@pytest.mark.parametrize(
    ("answers", "focus"), [(["summarize"], None), (["instructions", "the names"], "the names")]
)
def test_what_is_left_is_summed_up_if_the_person_wants(project, answers, focus):
    async def work() -> None:
        talk = Talk(project, "hello", *answers)
        progress: list[str] = []
        talk.front.on_progress = progress.append
        async with talk.conductor:
            front = await talk.say("hello", "and now Anna and Bert", "/jump")

            made = talk.session.entry(talk.session.leaf)
            assert isinstance(made, BranchSummary)
            assert progress
            assert front.given == ["hello"]
            assert "summarized" in front.remarks[-1]

    drive(work)


def test_a_summary_can_be_stopped_while_it_is_written_and_nothing_has_moved(project):
    async def work() -> None:
        talk = Talk(project, "hello", "summarize", model=None)
        async with talk.conductor:
            await talk.say("hello", "more")
            before = Path(talk.session.file).read_bytes()
            talk.front.on_progress = lambda words: talk.chat.interrupt()

            front = await talk.say("/tree")

            assert front.remarks[-1].startswith("aborted, position unchanged")
            assert Path(talk.session.file).read_bytes() == before
            assert front.given == []

            talk.front.on_progress = None
            await talk.say("offline: say still here")
            assert talk.words()[-1] == "still here"

    drive(work)


def test_who_names_an_entry_is_not_asked_for_one(project):
    async def work() -> None:
        talk = Talk(project, "no")
        async with talk.conductor:
            front = await talk.say("one", "two", "/tree ~2")

            assert front.asked == ["Summarize the abandoned branch?"]
            assert len(talk.words()) == 2

            await talk.say("/tree nowhere")
            assert front.remarks[-1].startswith("no entry named 'nowhere'")

    drive(work)


def test_undo_goes_back_before_the_last_turn_and_asks_nothing(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two", "/undo")

            assert front.given == ["offline: say two"]
            assert talk.words() == ["offline: say one", "one"]

            await talk.say("/undo", "/undo")
            assert front.given[1:] == ["offline: say one"]
            assert front.remarks[-1] == "nothing to undo: no messages yet"

    drive(work)


def test_retry_gets_another_answer_and_keeps_the_old_one_in_the_tree(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("offline: fail refused 1")
            assert ["/retry sends it again" in remark for remark in front.problems] == [True]

            await talk.say("/retry")

            assert "offline: fail refused 1" in talk.words()[-1]
            prompt = talk.prompt("offline: fail refused 1")
            assert len(talk.session.children(prompt)) == 2

    drive(work)


def test_a_label_names_the_entry_one_stands_on_and_can_be_taken_away(project):
    async def work() -> None:
        talk = Talk(project, "no")
        async with talk.conductor:
            front = await talk.say("/label early", "one", "/label the one", "/label")
            assert front.remarks[0] == "nothing to label: no messages yet"
            assert any("[the one] assistant:" in line for line in front.lines)
            where = talk.session.leaf

            await talk.say("two", "/tree the one")
            assert talk.session.leaf == where

            await talk.say("/label --clear", "/label")
            assert talk.session.labels == {}
            assert front.remarks[-1].startswith("no labels")

    drive(work)


def test_compacting_shows_the_summary_and_keeps_every_entry(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("/compact")
            assert "nothing to compact" in talk.front.remarks[-1]

            front = await talk.say("Anna likes tea", "Bert likes coffee", "/compact drinks")

            assert isinstance(talk.session.entry(talk.session.leaf), Compaction)
            assert front.lines
            assert "tokens" in front.remarks[-1]
            assert talk.prompt("Anna likes tea") in talk.session

    drive(work)


@pytest.mark.parity("OMP-07")
def test_branch_continues_a_prompt_in_a_new_file_up_to_its_parent_and_gives_it_back(project):
    async def work() -> None:
        talk = Talk(project, "offline: say two")
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two")
            old, before = talk.session.file, Path(talk.session.file).read_bytes()

            await talk.say("/branch")

            assert front.given == ["offline: say two"]
            assert talk.session.file != old
            assert talk.session.parent_session == old
            assert talk.words() == ["offline: say one", "one"]
            assert Path(old).read_bytes() == before

    drive(work)


@pytest.mark.parity("OMP-07", part="from the first message")
def test_branch_from_the_first_prompt_is_an_empty_session_linked_to_the_old_one(project):
    async def work() -> None:
        talk = Talk(project, "hello")
        async with talk.conductor:
            front = await talk.say("hello")
            old = talk.session.file

            await talk.say("/branch")

            assert front.given == ["hello"]
            assert talk.session.parent_session == old
            assert not talk.conductor.context().messages

    drive(work)


def test_branch_is_for_prompts(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("hello", "/branch @leaf")

            assert "it is not a prompt" in front.remarks[-1]

    drive(work)


@pytest.mark.parity("ZOT-15")
def test_turns_are_found_by_words_for_jumping_and_for_forking_and_a_fork_that_was_left_is_forgotten(project):
    async def work() -> None:
        talk = Talk(project, None, "grapes", "no", "apples")
        async with talk.conductor:
            front = await talk.say("offline: say apples", "offline: say pears", "offline: say grapes")
            home = talk.session.file

            await talk.say("/fork")  # left
            assert front.asked == ["Fork after which turn?"]
            await talk.say("/jump")

            assert talk.session.file == home
            assert front.given == ["offline: say grapes"]
            assert talk.words()[-1] == "pears"

            await talk.say("/fork")

            assert talk.session.file != home
            assert talk.session.parent_session == home
            assert talk.words() == ["offline: say apples", "apples"]
            assert front.given == ["offline: say grapes"]

    drive(work)


def test_a_fork_at_a_named_entry_holds_the_path_to_it(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("offline: say one", "offline: say two", "/fork ~2")

            assert talk.words() == ["offline: say one", "one"]

    drive(work)


@pytest.mark.parity("ZOT-14")
def test_everything_in_memory_is_on_disk_when_a_tree_or_a_fork_is_shown(project):
    async def work() -> None:
        seen: list[tuple[list[str], str | None]] = []

        def look(picker: object) -> None:
            with Session.open(talk.session.file) as read:
                seen.append((list(read.index.keys), read.leaf))

        talk = Talk(project, look, look, look, look)
        async with talk.conductor:
            await talk.say("hello", "!echo words", "/tree", "/fork", "/branch", "/jump")

            assert seen == [(list(talk.session.index.keys), talk.session.leaf)] * 4

    drive(work)


def test_what_a_fork_made_is_in_the_library(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("hello", "/fork @leaf")

            rows = {row.path for row in SessionLibrary.for_cwd(project).list()}
            assert talk.session.file in rows
            assert len(rows) == 2
            assert os.stat(talk.session.file).st_mode & 0o777 == 0o600

    drive(work)


@pytest.mark.parity("OMP-17", part="the setting")
def test_the_tree_of_a_chat_begins_with_the_filter_of_the_settings(project):
    seen: list[str] = []

    def look(picker: Picker) -> None:
        assert picker.tree is not None
        seen.append(picker.tree.state.filter)

    async def work() -> None:
        talk = Talk(project, look, settings=Settings(filter="user-only"))
        async with talk.conductor:
            await talk.say("hello", "/tree")

    drive(work)

    assert seen == ["user-only"]


@pytest.mark.parity("OMP-18")
@pytest.mark.parametrize(("setting", "shown"), [("tree", True), ("turns", False)])
def test_branch_shows_the_tree_where_double_escape_does(project, setting, shown):
    seen: list[bool] = []

    def look(picker: Picker) -> None:
        seen.append(any("left behind" in line_text(option.line) for option in picker.options))

    async def work() -> None:
        talk = Talk(project, look, settings=Settings(double_escape=setting))
        async with talk.conductor:
            await talk.say("hello")
            first = talk.session.leaf
            await talk.say("left behind")
            talk.session.branch(first)
            await talk.say("/branch")

    drive(work)

    assert seen == [shown]  # only the tree has a prompt that is not on the path
