"""Whatever a person does in a chat, the file is whole: memory and a fresh look at it say the same."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.chat import Picker
from branchline.models import OfflineModel
from chat.kit import Talk
from conductor.kit import require_kept

LINES = st.sampled_from(
    [
        "hello",
        "offline: say one two three",
        "offline: fail network midway",
        "offline: fail refused",
        "offline: cut",
        'offline: call count_words {"text": "a b"}',
        "/tree",
        "/jump",
        "/branch",
        "/fork",
        "/fork ~1",
        "/tree ~3",
        "/undo",
        "/redo",
        "/retry",
        "/again 2",
        "/branch idea",
        "/graft ~1",
        "/squash ~1..@leaf it was said",
        "/diff",
        "/cost",
        "/label here",
        "/label --clear",
        "/compact",
        "/name A title",
        "/new",
        "/resume",
        "/sessions",
        "/session",
        "/thinking high",
        "/model offline:other",
        "!echo words",
        "!!echo secret",
        "/nonsense",
        "/help",
    ]
)


class Random:
    """Answers whatever is asked by the next number."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = iter(numbers)

    def __call__(self, picker: Picker) -> str | None:
        number = next(self._numbers, 0)
        if number % 4 == 3 or not len(picker.options):
            return None
        return picker.options[number % len(picker.options)].key


async def life(project: Path, lines: list[tuple[str, bool]], numbers: list[int]) -> None:
    talk = Talk(project, model=OfflineModel(context_window=2_000))
    answer = Random(numbers)
    talk.front.pick = lambda picker: asyncio.sleep(0, answer(picker))  # type: ignore[method-assign]
    talk.front.ask = lambda question: asyncio.sleep(0, "the names")  # type: ignore[method-assign]
    async with talk.conductor:
        await talk.say("offline: say begun", "hello")
        for line, interrupted in lines:
            seen = 0

            def stop(_event: object, interrupted: bool = interrupted) -> None:
                nonlocal seen
                seen += 1
                if interrupted and seen == 3:
                    talk.chat.interrupt()

            talk.front.when_heard = stop
            talk.front.on_progress = stop
            await talk.say(line)
            if talk.session._writer.log is not None:
                require_kept(talk.conductor)


STEPS = st.lists(st.tuples(LINES, st.booleans()), min_size=3, max_size=20)
NUMBERS = st.lists(st.integers(min_value=0, max_value=40), max_size=30)


def lived(steps: list[tuple[str, bool]], numbers: list[int]) -> None:
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRANCHLINE_HOME", f"{place}/home")
        project = Path(place, "project")
        project.mkdir()
        asyncio.run(life(project, steps, numbers))


@settings(max_examples=120, deadline=None)
@given(STEPS, NUMBERS)
def test_memory_is_what_the_file_says_after_every_line(steps, numbers):
    lived(steps, numbers)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(STEPS, NUMBERS)
def test_memory_is_what_the_file_says_after_every_line_of_many_lives(steps, numbers):
    lived(steps, numbers)
