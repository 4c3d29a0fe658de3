"""Chat commands of plugins: collected when a chat starts, and run like built-in commands."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from branchline.errors import BranchlineError, FlowError
from branchline.flows.hook_events import ChatCommand, ChatCommandsEvent
from branchline.flows.session_protocol import LiveSession
from branchline.flows.steps import CallPlugin, Flow, Gather

__all__ = ["PluginCommand", "chat_commands", "run_chat_command"]

_NAME = re.compile(r"[\w?-]+")


class PluginCommand(NamedTuple):
    """A command and the plugin that provides it."""

    plugin: str
    command: ChatCommand


def chat_commands(session: LiveSession, taken: Collection[str]) -> Flow[list[PluginCommand]]:
    """Collect the commands of all plugins. A duplicate or invalid name is reported as a plugin problem."""
    names = set(taken)

    def refuse(answer: object) -> str | None:
        offered = _as_list(answer)
        for command in offered:
            if not isinstance(command, ChatCommand):
                return f"returned a {type(command).__name__}; chat_commands takes ChatCommand records"
            if not _NAME.fullmatch(command.name):
                return f"returned a command with the name {command.name!r}, which cannot be typed"
            if command.name in names:
                return f"returned a command /{command.name}, which exists already"
        names.update(command.name for command in offered)
        return None

    event = ChatCommandsEvent(taken=tuple(taken))
    answers = yield Gather(hook="chat_commands", event=event, session=session, refuse=refuse)
    return [PluginCommand(plugin, command) for plugin, answer in answers for command in _as_list(answer)]


def run_chat_command(session: LiveSession, offered: PluginCommand, arguments: str) -> Flow[str | None]:
    """Run a command and return its text for the user. Raises FlowError with the name of its plugin."""
    plugin, command = offered
    try:
        text = yield CallPlugin(call=lambda context: command.run(context, arguments), session=session)
    except BranchlineError:
        raise
    except Exception as problem:
        reason = str(problem) or type(problem).__name__
        raise FlowError(f"/{command.name} of the plugin {plugin} failed: {reason}") from problem
    if text is None or isinstance(text, str):
        return text
    raise FlowError(
        f"/{command.name} of the plugin {plugin} returned a {type(text).__name__}; expected a text or None"
    )


def _as_list(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, list | tuple) else [answer]
