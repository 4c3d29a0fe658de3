"""The chat: one conversation in one frontend.

A line that begins with ``/`` is a command and one with ``!`` a shell command; everything else goes to the
model, and so does any line that begins with a space. Errors are reported, and the chat continues.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager

import msgspec

from branchline.chat.attachments import (
    MAX_FILES,
    Attachment,
    described,
    image_attachment,
    load_attachment,
    mentioned,
)
from branchline.chat.commands import COMMANDS, Command
from branchline.chat.frontend import Frontend
from branchline.chat.instructions import Instructions, find_instructions, system_prompt
from branchline.chat.notices import event_notice, event_problem, is_prompt, others_wrote
from branchline.chat.permissions import ChatPermissions
from branchline.chat.pickers import choice_picker, yes_or_no
from branchline.chat.services import Services
from branchline.chat.shell import ShellCommand
from branchline.conductor import Conductor, Event, SummaryDelta, TurnEnded
from branchline.entries import BashExecution, Content, Image, Text
from branchline.errors import BranchlineError, NotSupported
from branchline.flows import Choose, Chosen, PluginCommand
from branchline.models import COUNT_WORDS, Tool
from branchline.views.file_mentions import mentions, with_mentions
from branchline.views.humanize import format_size
from branchline.views.tool_calls import short_path

__all__ = ["Chat"]

_NATIVE_FORMAT = "pi"
_COMMAND = re.compile(r"/([\w?-]*)(?:\s+(.*))?\Z", re.DOTALL)


class Chat:
    """One user's conversation, until they quit."""

    def __init__(
        self, conductor: Conductor, front: Frontend, services: Services, allowed_tools: Iterable[str] = ()
    ) -> None:
        self.conductor = conductor
        self._tools = tuple(conductor.tools)
        self.front = front
        self.services = services
        self.permissions = ChatPermissions(
            front, lambda: self.conductor.session.id, self._tools, allowed_tools
        )
        conductor.permissions = self.permissions
        self.attached: list[Attachment] = []
        """The attachments of the next prompt."""
        self.instructions = Instructions()
        """The instruction files for the directory of the session."""
        self._prepared_for: str | None = None
        self._failure = ""  # why the last prompt was not answered, until the next line
        self.left = False
        """Whether the user has quit."""
        self.failed = False
        """Whether a request failed, for example because it could not be saved."""
        self._stop: Callable[[], object] | None = None
        self._talking = False
        self._said = True  # the last prompt was saved
        self._model_problem: str | None = conductor.model_problem
        self._added: tuple[Command, ...] | None = None  # plugin commands; None before they are loaded

    async def run(self) -> None:
        """Read lines and handle them until the user quits."""
        await self._ask_plugins()
        self.prepare()
        while not self.left and (line := await self.front.read()) is not None:
            await self.handle(line)

    async def handle(self, line: str) -> None:
        """Handle one line. Errors are reported, not raised, except for a closed pipe."""
        if not line.strip():
            if self._failure:
                self.front.text(self._failure, role="error")
                self._failure = ""
            return
        self._failure = ""
        try:
            self._look()
            self.prepare()
            if line.startswith("!"):
                await self._shell(line)
            elif (found := _COMMAND.match(line)) is not None:
                await self._command(found[1], (found[2] or "").strip())
            else:
                await self.send(line.strip())
        except BrokenPipeError:
            raise  # the reader is gone: a message would not be seen
        except NotSupported as problem:
            native = self.conductor.session.format == _NATIVE_FORMAT
            hint = "" if native else " /fork --native does that and continues there."
            self.front.notice(f"{problem}{hint}")
        except (BranchlineError, ValueError, LookupError, OSError, RuntimeError) as problem:
            self.failed = True
            self.front.notice(str(problem) or type(problem).__name__)
        self._say_model_problem()

    def interrupt(self) -> bool:
        """Stop the running operation; return whether there was one."""
        if self._stop is None:
            return False
        self._stop()
        return True

    def steer(self, text: str) -> bool:
        """Send text while the model works; return whether it was accepted. Late text is returned for editing.

        Commands are not for the model: they are refused, and wait for the next prompt.
        """
        if not self._talking or text.startswith("!") or _COMMAND.match(text) is not None:
            return False
        try:
            self.conductor.steer(text)
        except RuntimeError:  # it has just ended
            return False
        return True

    # -- what commands use ----------------------------------------------------------------------------

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of this chat, plugin commands last."""
        return (*COMMANDS, *(self._added or ()))

    def command(self, name: str) -> Command | None:
        """Return the command with this name or alias; None if there is none."""
        return next((each for each in self.commands if name in (each.name, *each.aliases)), None)

    @property
    def directory(self) -> str:
        """The directory of the session: instructions and mentioned files are relative to it."""
        return self.services.directory(self.conductor.session)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are offered to the model; the offline model has an extra one to try."""
        model = self.conductor.model
        offline = model is not None and model.provider == "offline"
        return (*self._tools, COUNT_WORDS) if offline else self._tools

    def prepare(self) -> None:
        """Load the instructions of the directory that the session is in."""
        if (directory := self.directory) == self._prepared_for:
            return
        self._prepared_for = directory
        settings = self.services.settings
        self.instructions = found = find_instructions(directory, settings.instructions)
        for file in found.files:
            path, size = short_path(file.path, os.path.expanduser("~")), format_size(len(file.text.encode()))
            self.front.notice(f"instructions loaded: {path} ({size})")
        for problem in found.problems:
            self.front.notice(f"instructions: {problem}")
        self.conductor.policy = msgspec.structs.replace(
            self.conductor.policy, system_prompt=system_prompt(settings.system_prompt or "", found)
        )
        self.conductor.tools = self.tools

    def attach(self, path: str) -> None:
        """Send a file with the next prompt, once. ValueError says why it cannot be sent."""
        others = [one for one in self.attached if one.path != path]
        if len(others) >= MAX_FILES:
            raise ValueError(f"cannot attach {path}: a prompt takes at most {MAX_FILES} files")
        self.attached[:] = [*others, load_attachment(path, self.directory)]

    async def content(self, prompt: str) -> Content:
        """Return a prompt with its files: attached ones first, then mentioned ones.

        Mentions count only in typed prompts: text in a pipe may have another author.
        """
        if self.front.can_ask:
            for path in mentions(prompt):
                await self._attach_mentioned(path)
        if not self.attached:
            return prompt
        self.front.notice(f"sent with this prompt: {described(self.attached)}")
        return (Text(text=prompt), *(one.block for one in self.attached))

    async def _attach_mentioned(self, path: str) -> None:
        """Attach a file that a prompt mentions; ask first if it is outside the directory."""
        if any(one.path == path for one in self.attached):
            return
        match mentioned(path, self.directory):
            case "none":
                if "/" in path or os.path.splitext(path)[1]:
                    self.front.notice(f"@{path} is not a file; it is sent as text")
            case "outside":
                question = f"Send {path}, which is outside of {self.directory}?"
                if await self.front.pick(yes_or_no(question, "Send the file")) == "yes":
                    self.attach(path)
            case "inside":
                self.attach(path)

    async def send(self, prompt: str) -> TurnEnded | None:
        """Send a prompt and show the answer; a prompt that could not be saved is returned for editing."""
        try:
            content = await self.content(prompt)
        except ValueError:  # a file that cannot be attached
            self.front.prefill(prompt)
            raise
        try:
            return await self.show(self.conductor.send(content), prompt)
        except (BranchlineError, OSError):
            if not self._said:
                self.front.prefill(prompt)
            raise

    async def show(self, events: AsyncGenerator[Event, None], prompt: str = "") -> TurnEnded | None:
        """Show the events of a turn until it ends."""
        self.conductor.tools = self.tools
        self._said = not prompt
        ended: TurnEnded | None = None
        with self.working(), self._heard():
            async with aclosing(events):
                async for event in events:
                    self._said = self._said or is_prompt(event)
                    if isinstance(event, SummaryDelta):
                        self.front.progress(event.text)
                    self.front.on_event(event)
                    self.comment(event)
                    if isinstance(event, TurnEnded):
                        ended = event
        if ended is not None and ended.unsent:
            self.front.prefill("\n".join(ended.unsent))
        if ended is not None and ended.error is not None:
            self.failed = True
        return ended

    def comment(self, event: Event) -> None:
        """Report an event that is not part of the answer. A saved prompt uses up its attachments."""
        if is_prompt(event):
            self.attached.clear()
        if (failure := event_problem(event)) is not None:
            self.front.problem(failure)
            self._failure = failure
        elif (words := event_notice(event)) is not None:
            self.front.notice(words)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Mark the time in which the model can be steered."""
        self._talking = True
        try:
            yield
        finally:
            self._talking = False

    @contextmanager
    def working(self, stop: Callable[[], object] | None = None) -> Iterator[None]:
        """Let the user stop an operation; the default ``stop`` aborts the conductor."""
        stop = self.conductor.abort if stop is None else stop
        self._stop = stop
        try:
            with self.front.interruptible(stop):
                yield
        finally:
            self._stop = None

    async def choose(self, step: Choose) -> Chosen | None:
        """Ask the user a question of a flow."""
        key = await self.front.pick(choice_picker(step))
        choice = next((choice for choice in step.choices if choice.key == key), None)
        if choice is None:
            return None
        if not choice.wants_text:
            return Chosen(key=choice.key)
        text = await self.front.ask(f"{choice.label}: which?")
        return None if text is None else Chosen(key=choice.key, text=text)

    def give_back(self, text: str | None, images: Iterable[Image] = ()) -> None:
        """Return a prompt for editing, with its files and images."""
        self.attached[:] = [image_attachment(image) for image in images]
        if text and (words := with_mentions(text)):
            self.front.prefill(words)
        if self.attached:
            self.front.notice(f"attached again: {described(self.attached)}; /attach --clear removes it")

    # -- inside ---------------------------------------------------------------------------------------

    async def _command(self, name: str, words: str) -> None:
        await self._ask_plugins()
        command = self.command(name)
        if command is None:
            names = [known for each in self.commands for known in (each.name, *each.aliases)]
            close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join('/' + one for one in close)}?" if close else "/help lists all"
            self.front.notice(f"unknown command /{name}; {hint}")
            return
        if words and not command.arguments:
            self.front.notice(f"/{command.name} takes no argument; {words!r} was ignored")
        await command.run(self, words)

    async def _ask_plugins(self) -> None:
        """Load the plugin commands once."""
        if self._added is None:
            taken = [known for each in COMMANDS for known in (each.name, *each.aliases)]
            self._added = tuple(map(_added, await self.conductor.plugin_commands(taken)))

    async def _shell(self, line: str) -> None:
        """Run ``!command`` and show its output to the model, or ``!!command`` without."""
        in_context = not line.startswith("!!")
        text = line.lstrip("!").strip()
        if not text:
            self.front.notice(
                "!COMMAND runs a command and shows the output to the model, !!COMMAND only to you"
            )
            return
        command = ShellCommand(text, self.services.directory(self.conductor.session))
        with self.working(command.stop):
            done = await command.run(lambda words: self.front.text(words, role="bash"), in_context=in_context)
        self.conductor.append_message(done)
        self.front.notice(_outcome(done))

    def _look(self) -> None:
        """Report entries of other writers; an unreadable file is reported too, and the chat continues."""
        try:
            others = self.conductor.poll()
        except (BranchlineError, OSError) as problem:
            self.front.notice(str(problem))
            return
        if others:
            self.front.notice(others_wrote(others))

    def _say_model_problem(self) -> None:
        problem = self.conductor.model_problem
        if problem is not None and problem != self._model_problem:
            self.front.notice(f"the model of this path is unavailable: {problem}")
        self._model_problem = problem


def _added(offered: PluginCommand) -> Command:
    async def run(chat: Chat, words: str) -> None:
        with chat.working():
            said = await chat.conductor.run_plugin_command(offered, words)
        if said:
            chat.front.text(said)

    command = offered.command
    run.__doc__ = f"{command.help} (plugin {offered.plugin})".strip()
    return Command(command.name, run, command.arguments or "[WORDS]")


def _outcome(done: BashExecution) -> str:
    how = "stopped" if done.cancelled else f"exit code {done.exit_code:g}"
    where = ", not shown to the model" if done.exclude_from_context else ""
    return f"{how}{', only the end of its output was kept' if done.truncated is True else ''}{where}"
