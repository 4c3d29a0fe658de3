"""A chat: one conversation, one screen, and what a line that the person wrote does.

A line that begins with ``/`` is a command, one with ``!`` goes to the shell, anything else to the model; a
blank in front lets it go to the model whatever it begins with. Whatever goes wrong is said, and the chat goes
on.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager

from branchline.chat.commands import COMMANDS, Command
from branchline.chat.frontend import Frontend
from branchline.chat.notices import event_notice, others_wrote
from branchline.chat.permissions import ChatPermissions
from branchline.chat.pickers import choice_picker
from branchline.chat.services import Services
from branchline.chat.shell import ShellCommand
from branchline.conductor import Conductor, Event, MessageAppended, SummaryDelta, TurnEnded
from branchline.entries import BashExecution, UserMessage
from branchline.errors import BranchlineError, NotSupported
from branchline.flows import Choose, Chosen, PluginCommand
from branchline.models import COUNT_WORDS, Tool

__all__ = ["Chat"]

_NATIVE_FORMAT = "pi"
_COMMAND = re.compile(r"/([\w?-]*)(?:\s+(.*))?\Z", re.DOTALL)


class Chat:
    """The conversation of one person, until they leave it."""

    def __init__(
        self, conductor: Conductor, front: Frontend, services: Services, allowed_tools: Iterable[str] = ()
    ) -> None:
        self.conductor = conductor
        self._tools = tuple(conductor.tools)
        self.permissions = ChatPermissions(
            front, lambda: self.conductor.session.id, self._tools, allowed_tools
        )
        conductor.permissions = self.permissions
        self.front = front
        self.services = services
        self.left = False
        """Whether the person has said that they want to leave."""
        self.failed = False
        """Whether something that was asked for failed, for example because it could not be saved."""
        self._stop: Callable[[], object] | None = None
        self._talking = False
        self._said = True  # what was sent last is in the session
        self._model_problem: str | None = conductor.model_problem
        self._added: tuple[Command, ...] | None = None  # commands of plugins, once they were asked

    async def run(self) -> None:
        """Read and do what is read, until the person leaves."""
        await self._ask_plugins()
        while not self.left and (line := await self.front.read()) is not None:
            await self.handle(line)

    async def handle(self, line: str) -> None:
        """Do what one line says. Never fails: what goes wrong is said."""
        if not line.strip():
            return
        try:
            self._look()
            if line.startswith("!"):
                await self._shell(line)
            elif (found := _COMMAND.match(line)) is not None:
                await self._command(found[1], (found[2] or "").strip())
            else:
                await self.send(line.strip())
        except BrokenPipeError:
            raise  # nobody sees what would be said
        except NotSupported as problem:
            native = self.conductor.session.format == _NATIVE_FORMAT
            hint = "" if native else " /fork --native does that and continues there."
            self.front.notice(f"{problem}{hint}")
        except (BranchlineError, ValueError, LookupError, OSError, RuntimeError) as problem:
            self.failed = True
            self.front.notice(str(problem) or type(problem).__name__)
        self._say_model_problem()

    def interrupt(self) -> bool:
        """Stop what is going on; whether anything was."""
        if self._stop is None:
            return False
        self._stop()
        return True

    def steer(self, text: str) -> bool:
        """Say something while the model works; whether it takes it. What comes too late is given back."""
        if not self._talking:
            return False
        try:
            self.conductor.steer(text)
        except RuntimeError:  # it has just ended
            return False
        return True

    # -- what commands use ----------------------------------------------------------------------------

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of this chat, those of plugins last."""
        return (*COMMANDS, *(self._added or ()))

    def command(self, name: str) -> Command | None:
        """The command with this name."""
        return next((each for each in self.commands if name in (each.name, *each.aliases)), None)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is offered; the offline model has one to try them with."""
        model = self.conductor.model
        offline = model is not None and model.provider == "offline"
        return (*self._tools, COUNT_WORDS) if offline else self._tools

    async def send(self, prompt: str) -> TurnEnded | None:
        """Say something to the model, and show the answer; what could not be saved is given back."""
        try:
            return await self.show(self.conductor.send(prompt), prompt)
        except (BranchlineError, OSError):
            if not self._said:
                self.front.prefill(prompt)
            raise

    async def show(self, events: AsyncGenerator[Event, None], prompt: str = "") -> TurnEnded | None:
        """Show what the conversation says until it ends."""
        self.conductor.tools = self.tools
        self._said = not prompt
        ended: TurnEnded | None = None
        with self.working(), self._heard():
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, MessageAppended) and isinstance(event.message, UserMessage):
                        self._said = True
                    if isinstance(event, SummaryDelta):
                        self.front.progress(event.text)
                    self.front.on_event(event)
                    if (words := event_notice(event)) is not None:
                        self.front.notice(words)
                    if isinstance(event, TurnEnded):
                        ended = event
        if ended is not None and ended.unsent:
            self.front.prefill("\n".join(ended.unsent))
        if ended is not None and ended.error is not None:
            self.failed = True
        return ended

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """While the model can be steered."""
        self._talking = True
        try:
            yield
        finally:
            self._talking = False

    @contextmanager
    def working(self, stop: Callable[[], object] | None = None) -> Iterator[None]:
        """While something goes on that the person can stop; without ``stop``, what the conductor does."""
        stop = self.conductor.abort if stop is None else stop
        self._stop = stop
        try:
            with self.front.interruptible(stop):
                yield
        finally:
            self._stop = None

    async def choose(self, step: Choose) -> Chosen | None:
        """Let the person answer a question of a flow."""
        key = await self.front.pick(choice_picker(step))
        choice = next((choice for choice in step.choices if choice.key == key), None)
        if choice is None:
            return None
        if not choice.wants_text:
            return Chosen(key=choice.key)
        text = await self.front.ask(f"{choice.label}: which?")
        return None if text is None else Chosen(key=choice.key, text=text)

    def give_back(self, text: str | None) -> None:
        """Give a prompt back for editing, if there is one."""
        if text:
            self.front.prefill(text)

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
        """Take the commands of plugins, once."""
        if self._added is None:
            taken = [known for each in COMMANDS for known in (each.name, *each.aliases)]
            self._added = tuple(map(_added, await self.conductor.plugin_commands(taken)))

    async def _shell(self, line: str) -> None:
        """``!command`` runs it and lets the model know, ``!!command`` runs it for the person alone."""
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
        """Say it when another writer appended. Who cannot read the file any more can still leave it."""
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
    """A command of a plugin as one of the chat."""

    async def run(chat: Chat, words: str) -> None:
        with chat.working():
            said = await chat.conductor.run_plugin_command(offered, words)
        if said:
            chat.front.text(said)

    command = offered.command
    about = f"{command.help} (plugin {offered.plugin})".strip()
    return Command(name=command.name, help=about, arguments=command.arguments or "[WORDS]", run=run)


def _outcome(done: BashExecution) -> str:
    how = "stopped" if done.cancelled else f"exit code {done.exit_code:g}"
    where = ", not shown to the model" if done.exclude_from_context else ""
    return f"{how}{', only the end of its output was kept' if done.truncated is True else ''}{where}"
