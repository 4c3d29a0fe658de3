"""Hook events and the results that hooks may return, as frozen records.

A hook that runs before an operation receives a request and may return :class:`Cancel`, a result of its own,
or None. A hook that runs after it receives a notification, and its return value is ignored. Events name
entries by id; the context that every hook receives can look them up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from branchline.compaction import CompactionPreparation
from branchline.entries import Usage
from branchline.flows.abort import AbortSignal
from branchline.flows.session_protocol import ForkAt, ForkScope

__all__ = [
    "Cancel",
    "ChatCommand",
    "ChatCommandsEvent",
    "CompactionReason",
    "EntryAppendedEvent",
    "Event",
    "HookSummary",
    "SessionBeforeBranchEvent",
    "SessionBeforeCompactEvent",
    "SessionBeforeCompactResult",
    "SessionBeforeForkEvent",
    "SessionBeforeSwitchEvent",
    "SessionBeforeTreeEvent",
    "SessionBeforeTreeResult",
    "SessionBranchEvent",
    "SessionCompactEvent",
    "SessionCompactFailedEvent",
    "SessionCompactingEvent",
    "SessionCompactingResult",
    "SessionForkEvent",
    "SessionShutdownEvent",
    "SessionStartEvent",
    "SessionSwitchEvent",
    "SessionTreeEvent",
    "ShutdownReason",
    "StartReason",
    "SwitchReason",
]

CompactionReason = Literal["manual", "threshold", "overflow"]
SwitchReason = Literal["new", "resume"]
StartReason = Literal["startup", "new", "resume", "fork", "branch"]
ShutdownReason = Literal["quit", "new", "resume", "fork", "branch"]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of the hook events."""


# -- answers ----------------------------------------------------------------------------------------------


class Cancel(msgspec.Struct, frozen=True):
    """Cancels the operation. The reason is shown to the user."""

    reason: str = ""


class HookSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that a plugin provides; the summarizer is not called."""

    text: str
    details: Any = None
    usage: Usage | None = None


class SessionBeforeTreeResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``session_before_tree``: a summary, or changes to the caller's options.

    The summary is used only if one was requested. Fields that are not set leave the option unchanged.
    """

    summary: HookSummary | None = None
    custom_instructions: str | msgspec.UnsetType | None = msgspec.UNSET
    replace_instructions: bool | msgspec.UnsetType = msgspec.UNSET
    label: str | msgspec.UnsetType | None = msgspec.UNSET


class SessionBeforeCompactResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``session_before_compact``: a compaction made by the plugin.

    ``first_kept`` and ``tokens_before`` default to the values of the preparation.
    """

    summary: str
    first_kept: str | None = None
    tokens_before: int | None = None
    details: Any = None
    usage: Usage | None = None


class SessionCompactingResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``session_compacting``: additional instructions for the summary."""

    instructions: str


class ChatCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that a plugin adds to the chat, as ``/name``.

    ``run`` receives the hook context and the text after the command. It may be a coroutine function. The text
    that it returns is shown to the user.
    """

    name: str
    run: Callable[[Any, str], Any]
    help: str = ""
    arguments: str = ""
    """What may follow the name, for ``/help``: ``[ENTRY]``, ``TEXT``."""


# -- moving in the tree -----------------------------------------------------------------------------------


class SessionBeforeTreeEvent(Event, frozen=True, kw_only=True):
    """``session_before_tree``: the target of the move and the branch that would be abandoned.

    ``entries_to_summarize`` are the entries between the old leaf and the common ancestor, oldest first.
    """

    target: str
    old_leaf: str | None
    common_ancestor: str | None
    entries_to_summarize: tuple[str, ...]
    wants_summary: bool
    custom_instructions: str | None
    replace_instructions: bool
    label: str | None
    abort: AbortSignal


class SessionTreeEvent(Event, frozen=True, kw_only=True):
    """``session_tree``: the leaf has moved. ``from_hook`` means that a plugin provided the summary."""

    new_leaf: str | None
    old_leaf: str | None
    summary_entry: str | None = None
    from_hook: bool = False


# -- other sessions ---------------------------------------------------------------------------------------


class SessionBeforeBranchEvent(Event, frozen=True, kw_only=True):
    """``session_before_branch``: a prompt is about to be continued in a new session."""

    entry: str
    abort: AbortSignal


class SessionBranchEvent(Event, frozen=True, kw_only=True):
    """``session_branch``: the new session exists; the hook context holds the new session."""

    entry: str
    session: str
    file: str | None
    previous_session: str
    previous_file: str | None


class SessionBeforeForkEvent(Event, frozen=True, kw_only=True):
    """``session_before_fork``: ``entry`` is None for a fork of an empty session."""

    entry: str | None
    position: ForkAt
    scope: ForkScope
    abort: AbortSignal


class SessionForkEvent(Event, frozen=True, kw_only=True):
    """``session_fork``: the fork exists; the hook context holds the fork."""

    entry: str | None
    position: ForkAt
    scope: ForkScope
    session: str
    file: str | None
    previous_session: str
    previous_file: str | None


class SessionBeforeSwitchEvent(Event, frozen=True, kw_only=True):
    """``session_before_switch``: the user is about to leave this session for another one."""

    reason: SwitchReason
    target: str | None
    abort: AbortSignal


class SessionSwitchEvent(Event, frozen=True, kw_only=True):
    """``session_switch``: another session is the current one; the hook context holds it."""

    reason: SwitchReason
    previous_session: str | None
    previous_file: str | None


class SessionStartEvent(Event, frozen=True, kw_only=True):
    """``session_start``: a session becomes the current one."""

    reason: StartReason
    previous_file: str | None = None


class SessionShutdownEvent(Event, frozen=True, kw_only=True):
    """``session_shutdown``: a session is no longer the current one, or the program ends."""

    reason: ShutdownReason
    target_file: str | None = None


# -- compaction -------------------------------------------------------------------------------------------


class SessionBeforeCompactEvent(Event, frozen=True, kw_only=True):
    """``session_before_compact``: what would be summarized. ``entries`` is the active path."""

    preparation: CompactionPreparation
    entries: tuple[str, ...]
    custom_instructions: str | None
    reason: CompactionReason
    will_retry: bool
    abort: AbortSignal


class SessionCompactingEvent(Event, frozen=True, kw_only=True):
    """``session_compacting``: the summary is about to be requested; no plugin has provided one."""

    preparation: CompactionPreparation
    custom_instructions: str | None
    reason: CompactionReason
    will_retry: bool
    abort: AbortSignal


class SessionCompactEvent(Event, frozen=True, kw_only=True):
    """``session_compact``: the compaction is in the log.

    In a format that compacts into a fork, ``entry`` is the summary at the start of the fork, and the hook
    context holds the fork.
    """

    entry: str
    from_hook: bool
    reason: CompactionReason
    will_retry: bool


class SessionCompactFailedEvent(Event, frozen=True, kw_only=True):
    """``session_compact_failed``: nothing was written; ``message`` is the reason."""

    reason: CompactionReason
    message: str
    aborted: bool
    will_retry: bool
    from_hook: bool = False


class ChatCommandsEvent(Event, frozen=True, kw_only=True):
    """``chat_commands``: a chat starts. ``taken`` are the names of the existing commands."""

    taken: tuple[str, ...]


class EntryAppendedEvent(Event, frozen=True, kw_only=True):
    """``entry_appended``: this session has appended an entry."""

    entry: str
    type: str
    role: str | None
    parent: str | None
