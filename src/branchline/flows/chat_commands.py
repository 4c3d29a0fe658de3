"""The commands that plugins add to a chat: found when it begins, run like those that it has itself."""

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
    """A command, and the plugin that has it."""

    plugin: str
    command: ChatCommand


def chat_commands(session: LiveSession, taken: Collection[str]) -> Flow[list[PluginCommand]]:
    """The commands of all plugins. One whose name is taken, or is none, is a problem of its plugin."""
    names = set(taken)

    def refuse(answer: object) -> str | None:
        offered = _listed(answer)
        for command in offered:
            if not isinstance(command, ChatCommand):
                return f"brought a {type(command).__name__}; chat_commands takes ChatCommand records"
            if not _NAME.fullmatch(command.name):
                return f"brought a command with the name {command.name!r}, which nobody can type"
            if command.name in names:
                return f"brought a command /{command.name}, which there is already"
        names.update(command.name for command in offered)
        return None

    event = ChatCommandsEvent(taken=tuple(taken))
    answers = yield Gather(hook="chat_commands", event=event, session=session, refuse=refuse)
    return [PluginCommand(plugin, command) for plugin, answer in answers for command in _listed(answer)]


def run_chat_command(session: LiveSession, offered: PluginCommand, words: str) -> Flow[str | None]:
    """Run a command and return its text for the user. Raises FlowError with the name of its plugin."""
    plugin, command = offered
    try:
        said = yield CallPlugin(call=lambda context: command.run(context, words), session=session)
    except BranchlineError:
        raise
    except Exception as problem:
        reason = str(problem) or type(problem).__name__
        raise FlowError(f"/{command.name} of the plugin {plugin} failed: {reason}") from problem
    if said is None or isinstance(said, str):
        return said
    raise FlowError(
        f"/{command.name} of the plugin {plugin} returned a {type(said).__name__}; it takes a text or nothing"
    )


def _listed(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, list | tuple) else [answer]
