"""Files in a chat: those that the user sends, and those that instruct the model."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

import pytest

from branchline.chat.attachments import MAX_IMAGE, load_attachment
from branchline.chat.instructions import find_instructions
from branchline.conductor import MessageAppended
from branchline.entries import Image, Text, UserMessage, message_text
from branchline.library.row_reader import first_prompt_line
from branchline.library.turns import prior_turns
from branchline.models import OfflineModel
from branchline.settings import Settings
from branchline.views.entry_rows import row_text
from branchline.views.file_mentions import with_mentions
from chat.kit import Talk, drive

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def sent(talk: Talk) -> tuple[object, ...]:
    """The blocks of the last prompt."""
    said = [event.message for event in talk.front.events if isinstance(event, MessageAppended)]
    content = [message for message in said if isinstance(message, UserMessage)][-1].content
    assert not isinstance(content, str)
    return content


# -- what the user sends ----------------------------------------------------------------------------------


def test_a_mentioned_file_goes_with_the_prompt_and_comes_back_as_a_mention(project):
    (project / "a b.py").write_text("print(1)\n")
    (project / "picture.txt").write_bytes(PNG)  # what it is, its bytes say

    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say('offline: say seen @"a b.py" and @picture.txt, me@example.org, @nobody')

            prompt, code, image = sent(talk)
            assert isinstance(prompt, Text)
            assert prompt.text.startswith('offline: say seen @"a b.py"')
            assert code == Text(text='<file path="a b.py">\nprint(1)\n</file>')
            assert isinstance(image, Image)
            assert image.mime_type == "image/png"
            assert base64.b64decode(image.data) == PNG
            assert talk.chat.attached == []

            await talk.say("/undo")
            assert talk.front.given == [
                'offline: say seen @"a b.py" and @picture.txt, me@example.org, @nobody'
            ]
            assert [one.about for one in talk.chat.attached] == [f"image/png, {len(PNG)} bytes"]

    drive(work)


def test_a_file_outside_of_the_directory_is_sent_only_after_a_question(project, tmp_path):
    (tmp_path / "key").write_text("secret\n")

    async def work() -> None:
        talk = Talk(project, "no", "yes")
        async with talk.conductor:
            await talk.say("offline: say one @../key")
            assert len(sent(talk)) == 1

            await talk.say("offline: say two @../key")
            assert "secret" in message_text(UserMessage(content=sent(talk)))
            assert len(talk.front.asked) == 2

    drive(work)


def test_what_comes_through_a_pipe_mentions_nothing(project):
    (project / "notes.txt").write_text("words\n")

    async def work() -> None:
        talk = Talk(project)
        talk.front.can_ask = False
        async with talk.conductor:
            await talk.say("offline: say one @notes.txt")

            assert len(sent(talk)) == 1

    drive(work)


def test_attached_files_wait_for_the_next_prompt_and_can_be_taken_away(project):
    (project / "notes.txt").write_text("words\n")

    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say(
                "/attach notes.txt", "/attach --clear", "/attach notes.txt", "offline: say one", "two"
            )

            assert [line for line in talk.front.lines if "notes.txt" in line] == [
                "notes.txt  1 line, 6 bytes"
            ] * 2
            blocks = [event.message.content for event in talk.front.events if _is_prompt(event)]
            assert [len(content) for content in blocks] == [2, 1]

    drive(work)


def _is_prompt(event: object) -> bool:
    return isinstance(event, MessageAppended) and isinstance(event.message, UserMessage)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\0\1\2", "neither UTF-8 text nor"),
        (b"x" * 6_000_000, r"it has 6\.0 MB; a text file may have at most 256\.0 kB"),
        (PNG + b"\0" * MAX_IMAGE, r"an image may have at most 5\.0 MB"),
        (None, "no such file"),
    ],
)
def test_what_cannot_be_attached_is_refused_with_a_reason(project, data, why):
    if data is not None:
        (project / "it").write_bytes(data)

    with pytest.raises(ValueError, match=f"cannot attach it: .*{why}"):
        load_attachment("it", str(project))


def test_pipes_and_directories_are_refused_without_waiting_for_them(project):
    os.mkfifo(project / "it")

    with pytest.raises(ValueError, match="not a regular file"):
        load_attachment("it", str(project))
    with pytest.raises(ValueError, match="it is a directory"):
        load_attachment(".", str(project))


def test_a_text_that_is_not_utf8_is_attached_and_says_so(project):
    (project / "it").write_bytes("Grüße".encode("latin-1"))

    assert "not UTF-8" in load_attachment("it", str(project)).about


def test_a_prompt_whose_file_cannot_be_sent_is_returned_for_editing(project):
    (project / "core").write_bytes(b"\0" * 10)

    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("offline: say one @core", "offline: say two @gone.txt @nobody")

            assert talk.front.given == ["offline: say one @core"]
            assert [remark for remark in talk.front.remarks if "@" in remark] == [
                "@gone.txt is not a file; it is sent as text"
            ]
            assert len([event for event in talk.front.events if _is_prompt(event)]) == 1

    drive(work)


def test_one_file_that_cannot_be_attached_does_not_keep_others_from_it(project):
    (project / "notes.txt").write_text("words\n")

    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("/attach notes.txt gone.txt notes.txt", '/attach "open')

            assert [one.path for one in talk.chat.attached] == ["notes.txt"]
            assert [
                remark for remark in talk.front.remarks if "attach" in remark or "quotation" in remark
            ] == [
                "cannot attach gone.txt: no such file",
                'a quotation mark is not closed: "open',
            ]

    drive(work)


def test_several_attempts_at_a_prompt_take_its_files_along_once(project):
    (project / "notes.txt").write_text("words\n")

    async def work() -> None:
        talk = Talk(project, "1")
        async with talk.conductor:
            await talk.say("/attach notes.txt", "/again 2 offline: say one", "offline: say two")

            assert len(sent(talk)) == 1
            first = next(event.message.content for event in talk.front.events if _is_prompt(event))
            assert len(first) == 2

    drive(work)


def test_rows_and_titles_mention_a_file_instead_of_its_text(project):
    (project / "a b.py").write_text("print(1)\n")

    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("/attach 'a b.py'", "offline: say one")

            session = talk.conductor.session
            assert [turn.preview for turn in prior_turns(session)] == ['offline: say one @"a b.py"']
            assert row_text(session.entries([session.path()[-2]])[0]) == 'user: offline: say one @"a b.py"'
            assert first_prompt_line(session.transcript) == "offline: say one"

    drive(work)


def test_many_unclosed_files_are_read_in_a_moment():
    start = time.process_time()

    with_mentions('<file path="a">' * 100_000 + "</file>")
    with_mentions("</file>" + '<file path="a">' * 100_000)

    assert time.process_time() - start < 2


# -- what instructs it ------------------------------------------------------------------------------------


class Listening(OfflineModel):
    """The offline model, which tells what it was instructed."""

    async def stream(self, request):
        self.system = request.system
        async for event in super().stream(request):
            yield event


def test_instruction_files_from_the_directory_upward_are_loaded_and_shown(project, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "AGENTS.md").write_text("Outer rule.")
    (project / "AGENTS.md").write_text("Inner rule. `rm -rf /`")
    model = Listening()

    async def work() -> None:
        talk = Talk(project, model=model, settings=Settings(system_prompt="Be brief."))
        async with talk.conductor:
            await talk.say("hello")

            shown = [remark for remark in talk.front.remarks if remark.startswith("instructions loaded")]
            assert len(shown) == 2
            assert model.system.startswith("Be brief.\n\nInstructions from")
            assert model.system.index("Outer rule.") < model.system.index("Inner rule.")
            assert talk.conductor.context_tokens >= len(model.system) // 4

    drive(work)


def test_files_that_are_too_large_or_of_another_user_are_not_loaded(project, tmp_path):
    (project / "AGENTS.md").write_text("x" * 70_000)
    (tmp_path / "AGENTS.md").write_text("fine")
    os.mkfifo(project / "RULES.md")

    found = find_instructions(str(project), ("AGENTS.md", "RULES.md"), home=str(tmp_path))

    assert [file.text for file in found.files] == ["fine"]
    assert len(found.problems) == 2
    assert "larger than 64.0 kB" in found.problems[0]
    assert "not a regular file" in found.problems[1]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_loaded(project: Path):
    (project / "AGENTS.md").write_text("evil")
    os.chown(project / "AGENTS.md", 12345, -1)

    found = find_instructions(str(project), ("AGENTS.md",), home=str(project))

    assert found.files == ()
    assert "belongs to another user" in found.problems[0]
