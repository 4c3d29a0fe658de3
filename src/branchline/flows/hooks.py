"""The hooks that plugins implement: their arguments and the results that they may return.

This module does not need pluggy: :mod:`branchline.plugins` makes its specifications from
:class:`HookSpecs`, and flows find the implementations through :class:`Hooks`.

An implementation takes either or both of two arguments by name: ``event``, the record that the specification
names, and ``context``, a :class:`~branchline.flows.hook_context.HookContext`. It may be a plain function or a
coroutine function, except ``entry_appended``, which is called during an append and must be plain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from branchline.flows.hook_events import (
    Cancel,
    ChatCommand,
    ChatCommandsEvent,
    EntryAppendedEvent,
    SessionBeforeBranchEvent,
    SessionBeforeCompactEvent,
    SessionBeforeCompactResult,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent,
    SessionBeforeTreeResult,
    SessionBranchEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
    SessionCompactingResult,
    SessionForkEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
)

if TYPE_CHECKING:
    from branchline.flows.hook_context import HookContext

__all__ = ["HOOKS", "NO_HOOKS", "HookSpecs", "Hooks", "Implementation", "PluginProblem"]


class HookSpecs:
    """Every hook, by name."""

    def session_before_tree(
        self, event: SessionBeforeTreeEvent, context: HookContext
    ) -> Cancel | SessionBeforeTreeResult | None:
        """Before the leaf moves: cancel, provide a summary, or change the caller's options."""

    def session_tree(self, event: SessionTreeEvent, context: HookContext) -> None:
        """The leaf has moved."""

    def session_before_branch(self, event: SessionBeforeBranchEvent, context: HookContext) -> Cancel | None:
        """Before a prompt is continued in a new session: cancel."""

    def session_branch(self, event: SessionBranchEvent, context: HookContext) -> None:
        """A prompt is continued in a new session."""

    def session_before_fork(self, event: SessionBeforeForkEvent, context: HookContext) -> Cancel | None:
        """Before a fork: cancel."""

    def session_fork(self, event: SessionForkEvent, context: HookContext) -> None:
        """A fork was made."""

    def session_before_compact(
        self, event: SessionBeforeCompactEvent, context: HookContext
    ) -> Cancel | SessionBeforeCompactResult | None:
        """Before a compaction: cancel, or provide a compaction."""

    def session_compacting(
        self, event: SessionCompactingEvent, context: HookContext
    ) -> Cancel | SessionCompactingResult | None:
        """During a compaction, before the model is called: cancel, or add instructions."""

    def session_compact(self, event: SessionCompactEvent, context: HookContext) -> None:
        """The context was compacted."""

    def session_compact_failed(self, event: SessionCompactFailedEvent, context: HookContext) -> None:
        """The compaction failed; nothing was written."""

    def session_start(self, event: SessionStartEvent, context: HookContext) -> None:
        """A session becomes the current one."""

    def session_before_switch(self, event: SessionBeforeSwitchEvent, context: HookContext) -> Cancel | None:
        """Before the user leaves this session for another one: cancel."""

    def session_switch(self, event: SessionSwitchEvent, context: HookContext) -> None:
        """Another session is the current one."""

    def session_shutdown(self, event: SessionShutdownEvent, context: HookContext) -> None:
        """A session is no longer the current one, or the program ends."""

    def chat_commands(
        self, event: ChatCommandsEvent, context: HookContext
    ) -> ChatCommand | Sequence[ChatCommand] | None:
        """When a chat starts: return the commands that this plugin adds."""

    def entry_appended(self, event: EntryAppendedEvent, context: HookContext) -> None:
        """The session appended an entry. Must be a plain function: it is called during the append."""


HOOKS = tuple(name for name in vars(HookSpecs) if not name.startswith("_"))
"""The names of all hooks."""


class PluginProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A failure of a plugin. Its result is ignored."""

    plugin: str
    hook: str
    message: str


class Implementation(NamedTuple):
    """One plugin's function for a hook, ready to be called with the event and the context."""

    plugin: str
    call: Callable[[Any, Any], Any]


class Hooks(Protocol):
    """Gives flows access to the hook implementations of plugins."""

    def implementations(self, hook: str, /) -> Sequence[Implementation]:
        """Return the functions for a hook, in call order."""
        ...

    def report(self, problem: PluginProblem, /) -> None:
        """Record the failure of a plugin."""
        ...


class _NoHooks:
    def implementations(self, hook: str, /) -> Sequence[Implementation]:
        del hook
        return ()

    def report(self, problem: PluginProblem, /) -> None:
        del problem


NO_HOOKS: Hooks = _NoHooks()
