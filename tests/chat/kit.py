"""A chat whose person is a script: real sessions, the offline model, and a front that answers from a list."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from branchline import Session
from branchline.chat import Chat, Picker
from branchline.chat.frontend import SUMMARIZING
from branchline.chat.services import Services
from branchline.conductor import Conductor, Event, MessageAppended, Policy, TextDelta
from branchline.entries import message_text
from branchline.models import OfflineModel, Tool
from branchline.settings import Settings
from branchline.views.cards import Card
from branchline.views.spans import line_text, make_line

T = TypeVar("T")
Answer = str | None | Callable[[Picker], str | None]
NOBODY = "(nobody answers)"


class Script:
    """A front: ``answers`` are given to whatever asks, in order; what is shown is kept."""

    def __init__(self, *answers: Answer) -> None:
        self.answers: deque[Answer] = deque(answers)
        self.lines: list[str] = []
        self.remarks: list[str] = []
        self.problems: list[str] = []
        self.cards: list[Card] = []
        self.given: list[str] = []
        self.written = ""
        self.asked: list[str] = []
        self.events: list[Event] = []
        self.when_heard: Callable[[Event], None] | None = None
        self.on_progress: Callable[[str], None] | None = None
        self.to_read: deque[str] = deque()
        self.can_ask = True

    def line(self, *pieces: Any) -> None:
        self.lines.append(line_text(make_line(*pieces)))

    def text(self, text: str, *, role: str = "plain") -> None:
        self.lines += text.split("\n")

    def notice(self, text: str) -> None:
        self.remarks.append(text)

    def on_event(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, TextDelta):
            self.written += event.text
        if self.when_heard is not None:
            self.when_heard(event)

    def progress(self, words: str, label: str = SUMMARIZING) -> None:
        if self.on_progress is not None:
            self.on_progress(words)

    columns: int | None = None

    def card(self, card: Card) -> None:
        self.cards.append(card)

    def problem(self, words: str) -> None:
        self.problems.append(words)
        self.remarks.append(words)

    def prefill(self, text: str) -> None:
        self.given.append(text)

    async def read(self) -> str | None:
        return self.to_read.popleft() if self.to_read else None

    async def ask(self, question: str) -> str | None:
        self.asked.append(question)
        answer = self.answers.popleft()
        assert answer is None or isinstance(answer, str)
        return answer

    async def pick(self, picker: Picker) -> str | None:
        """An answer is the key of an option, words that find exactly one, or a function of the picker."""
        self.asked.append(picker.question)
        answer = self.answers.popleft()
        if callable(answer):
            return answer(picker)
        if answer is None or any(option.key == answer for option in picker.options):
            return answer
        (found,) = picker.find(answer)
        return found.key

    @contextmanager
    def interruptible(self, stop: Callable[[], object]) -> Iterator[None]:
        yield


class Talk:
    """One chat in one place."""

    def __init__(
        self,
        cwd: Path,
        *answers: Answer,
        session: Session | None = None,
        model: OfflineModel | None = None,
        tools: Sequence[Tool] = (),
        allowed_tools: Sequence[str] = (),
        settings: Settings | None = None,
    ) -> None:
        self.front = Script(*answers)
        self.world = Services(str(cwd), settings or Settings())
        self.conductor = Conductor(
            session or Session.create(cwd),
            model or OfflineModel(),
            tools=tools,
            policy=Policy(retry_delay=0, keep_recent_tokens=0),
            find_model=self.world.models.find_reference,
        )
        self.chat = Chat(self.conductor, self.front, self.world, allowed_tools)

    @property
    def session(self) -> Session:
        return self.conductor.session

    async def say(self, *lines: str) -> Script:
        for line in lines:
            await self.chat.handle(line)
        return self.front

    def words(self) -> list[str]:
        """What is said on the path, as the file has it."""
        file = None if self.session.is_draft else self.session.file
        with self.session if file is None else Session.open(file) as read:
            messages = [item.message for item in read.context().messages]
        return [message_text(message) for message in messages]

    def prompt(self, text: str) -> str:
        """The entry in which the person says this."""
        for event in self.front.events:
            if isinstance(event, MessageAppended) and message_text(event.message) == text:
                return event.entry
        raise LookupError(text)


def drive(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(work())
