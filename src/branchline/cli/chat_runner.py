"""Run a chat: its screen, model, signals and exit code."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import click
import msgspec

from branchline._version import install_extra
from branchline.chat import Chat
from branchline.chat.frontend import Frontend
from branchline.chat.recent_turns import show_recent_turns
from branchline.chat.services import Services
from branchline.chat.session_commands import say_where
from branchline.chat.startup import StartOptions, start_session
from branchline.cli.failures import usage_errors
from branchline.cli.line_frontend import LineFrontend
from branchline.cli.output import Output, remark
from branchline.cli.write_access import position_fields
from branchline.conductor import Conductor, Policy, TurnEnded
from branchline.entries import MessageEntry, message_text
from branchline.errors import ModelError
from branchline.models import DEFAULT_MODEL, Model, Tool, mcp_tools, model_name
from branchline.models.providers import COMPATIBLE
from branchline.places import resolve_cwd
from branchline.plugins import Plugins
from branchline.session import Session
from branchline.settings import Settings, load, price_list

__all__ = ["ChatOptions", "run_chat"]

_FAILED, _INTERRUPTED = 1, 130
_OFFLINE = (
    "no model configured: using the offline model, which only echoes; "
    "`branchline models` lists the models you can use, --model or the setting model chooses one"
)


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    beginning: StartOptions
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    servers: str | None = None
    """A file with MCP servers, in addition to those of the settings."""
    mcp: bool = True
    """Whether to start the MCP servers of the settings."""
    system_prompt: str | None = None
    instructions: tuple[str, ...] | None = None
    """Instruction files, in place of those of the settings."""
    attached: tuple[str, ...] = ()
    """Files to attach to the first prompt."""
    allowed_tools: tuple[str, ...] = ()
    """MCP tools allowed without a question, in addition to those of the settings."""
    title: str | None = None
    cwd: str | None = None
    prompt: str | None = None


class _Screen(Frontend, Protocol):
    """A frontend that can be interrupted while it is idle."""

    @property
    def interrupted(self) -> bool: ...
    def interrupt(self) -> None: ...
    def bind(self, chat: Chat) -> None: ...


def run_chat(out: Output, wishes: ChatOptions) -> int:
    """Run a chat, or send one prompt; return the exit code."""
    return asyncio.run(_Running(out, wishes).run())


class _Running:
    """One run of the command."""

    def __init__(self, out: Output, wishes: ChatOptions) -> None:
        self._out = out
        self._wishes = wishes
        self._world = Services(
            resolve_cwd(wishes.cwd),
            _settings(out.settings, wishes),
            base_url=wishes.base_url,
            api_key_env=wishes.api_key_env,
        )
        self._chat: Chat | None = None
        self._front: _Screen = self._screen()
        self._ended_by: signal.Signals | None = None

    async def run(self) -> int:
        task = asyncio.current_task()
        assert task is not None

        def end(number: signal.Signals) -> None:
            self._ended_by = number
            task.cancel()

        with _signals(self._interrupt, end):
            try:
                return await self._talk()
            except asyncio.CancelledError:
                if self._ended_by is None:
                    raise
                return 128 + self._ended_by

    def _interrupt(self) -> None:
        if self._chat is None or not self._chat.interrupt():
            self._front.interrupt()

    async def _talk(self) -> int:
        file = self._wishes.servers
        servers = self._out.settings.mcp_servers if self._wishes.mcp else {}
        if file is None and not servers:
            return await self._talk_with(())
        async with mcp_tools(config=file, servers=servers, on_problem=self._front.notice) as tools:
            return await self._talk_with(tools)

    async def _talk_with(self, tools: Sequence[Tool]) -> int:
        wishes = self._wishes
        session = await start_session(wishes.beginning, self._front, self._world)
        conductor = self._conductor(session, tools)
        async with conductor:
            if wishes.title is not None:
                conductor.set_title(wishes.title)
            settings = self._out.settings
            own = (f"{name}.{tool}" for name, server in settings.mcp_servers.items() for tool in server.allow)
            allowed = (*settings.allow_tools, *own, *wishes.allowed_tools)
            self._chat = chat = Chat(conductor, self._front, self._world, allowed)
            self._front.bind(chat)
            for path in wishes.attached:
                _attach(chat, path)
            if wishes.prompt is not None:
                chat.prepare()
                return self._told(conductor, await chat.send(wishes.prompt))
            if session.leaf is not None:
                say_where(chat)
                if self._front.can_ask:
                    show_recent_turns(self._front, session)
            await chat.run()
        if self._front.interrupted:
            return _INTERRUPTED
        # With prompts from a pipe, only the exit code reports a failure.
        return _FAILED if chat.failed and not sys.stdin.isatty() else 0

    # -- what is needed -------------------------------------------------------------------------------

    def _screen(self) -> _Screen:
        out = self._out
        if self._wishes.prompt is not None:
            return LineFrontend(out, answers=not out.json)
        if not (out.interactive and sys.stdin.isatty() and os.environ.get("TERM", "") != "dumb"):
            return LineFrontend(out)
        if missing := [name for name in ("prompt_toolkit", "rich") if importlib.util.find_spec(name) is None]:
            remark(f"{' and '.join(missing)} not installed; using plain input ({install_extra('chat')})")
            return LineFrontend(out)
        from branchline.cli.terminal_frontend import TerminalFrontend

        return TerminalFrontend(out, keep_history=self._wishes.beginning.save)

    def _conductor(self, session: Session, tools: Sequence[Tool]) -> Conductor:
        settings = load()
        sources, chosen = settings.sources, settings.settings
        policy = Policy(
            # None lets the policy choose by the size of the context window.
            keep_recent_tokens=None
            if sources["keep_recent_tokens"] == "default"
            else chosen.keep_recent_tokens,
            reserve_tokens=None if sources["reserve_tokens"] == "default" else chosen.reserve_tokens,
        )
        hooks = Plugins.load(on_problem=lambda problem: remark(f"plugin {problem.plugin}: {problem.message}"))
        return Conductor(
            session,
            self._model(session),
            tools=tools,
            hooks=hooks,
            policy=policy,
            find_model=self._world.models.find_reference,
            prices=price_list(chosen),
        )

    def _model(self, session: Session) -> Model:
        """The model of the options, else of the session, else of the settings."""
        wishes = self._wishes
        if wishes.model is not None:
            if wishes.base_url is not None and self._world.models.has_own_server(wishes.model):
                raise click.UsageError(
                    f"{wishes.model} has a server of its own, not {wishes.base_url}; "
                    f"omit --base-url, or use {COMPATIBLE}:{wishes.model} for a model of that server"
                )
            return self._world.models.find(wishes.model)
        if wishes.base_url is not None or wishes.api_key_env is not None:
            self._front.notice(
                "--base-url and --api-key-env apply to models of that server; choose one with --model"
            )
        used = session.context().model
        if used is not None:
            try:
                return self._world.models.find_reference(used)
            except ModelError as problem:
                self._front.notice(f"this session's model is unavailable: {problem}")
        model = self._world.models.find(self._out.settings.model or DEFAULT_MODEL)
        if model.provider == "offline" and self._out.settings.model is None:
            self._front.notice(_OFFLINE)
        elif used is not None:
            self._front.notice(f"{model_name(model)} answers")
        return model

    # -- one answer -----------------------------------------------------------------------------------

    def _told(self, conductor: Conductor, ended: TurnEnded | None) -> int:
        assert ended is not None
        session = conductor.session
        if self._out.json:
            entry = None if ended.entry is None else session.entry(ended.entry)
            fields = {
                "answer": message_text(entry.message) if isinstance(entry, MessageEntry) else None,
                "ending": ended.reason,
                "error": None if ended.error is None else str(ended.error),
                "model": model_name(conductor.required_model()),
                "usage": msgspec.to_builtins(ended.usage),
            }
            self._out.result("chat", {**position_fields(session), **fields})
        if ended.reason == "aborted":
            return _INTERRUPTED
        return _FAILED if ended.error is not None else 0


def _settings(settings: Settings, wishes: ChatOptions) -> Settings:
    """The settings, overridden by the command line."""
    given = {
        "system_prompt": wishes.system_prompt,
        "instructions": wishes.instructions,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(settings, **chosen)


def _attach(chat: Chat, path: str) -> None:
    with usage_errors():
        chat.attach(path if os.path.samefile(chat.directory, ".") else os.path.abspath(path))


@contextmanager
def _signals(interrupt: Callable[[], None], end: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Handle signals: Ctrl-C interrupts; SIGTERM and SIGHUP end the chat after saving."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, number)
    except (RuntimeError, NotImplementedError):
        yield  # not in the main thread: no signals
        return
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
