"""Changes of the current session: start, switch, resume, shut down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeVar

import msgspec

from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.hook_events import (
    SessionBeforeSwitchEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    ShutdownReason,
    StartReason,
    SwitchReason,
)
from branchline.flows.session_protocol import LiveSession
from branchline.flows.steps import Cancelled, Choice, Flow, Status, act, choose, notify, permit

__all__ = ["SwitchResult", "hand_over", "resume", "shut_down", "start", "switch"]

S = TypeVar("S", bound=LiveSession)


class SwitchResult(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """How a switch ended; ``session`` is the current session, even if it did not change."""

    status: Status
    session: S | None
    reason: str = ""


def start(session: LiveSession, reason: StartReason = "startup") -> Flow[None]:
    """Notify plugins, at program start, that a session is the current one."""
    yield from notify("session_start", SessionStartEvent(reason=reason), session)


def shut_down(session: LiveSession, reason: ShutdownReason = "quit") -> Flow[None]:
    """Notify plugins, at program exit, that a session ends."""
    yield from notify("session_shutdown", SessionShutdownEvent(reason=reason), session)


def switch(
    previous: S | None,
    make: Callable[[], S],
    *,
    reason: SwitchReason,
    target: str | None = None,
    abort: AbortSignal | None = None,
) -> Flow[SwitchResult[S]]:
    """Switch from a session (None at program start) to the one that ``make`` opens or creates.

    ``target`` names it for the plugins: a file or an id. The previous session is not closed.
    """
    abort = AbortSignal() if abort is None else abort
    if previous is not None:
        request = SessionBeforeSwitchEvent(reason=reason, target=target, abort=abort)
        try:
            yield from permit("session_before_switch", request, previous, abort)
        except (Cancelled, Aborted) as stopped:
            return SwitchResult(status=stopped.status, session=previous, reason=str(stopped))
    made = yield from act(reason, make)
    yield from hand_over(previous, made, reason)
    event = SessionSwitchEvent(
        reason=reason,
        previous_session=None if previous is None else previous.id,
        previous_file=None if previous is None else previous.file,
    )
    yield from notify("session_switch", event, made)
    return SwitchResult(status="done", session=made)


def resume(
    previous: S | None,
    sessions: Sequence[Choice],
    *,
    open_session: Callable[[str], S],
    new_session: Callable[[], S],
    abort: AbortSignal | None = None,
) -> Flow[SwitchResult[S]]:
    """Let the user pick a session, identified by the key of its choice, and continue in it.

    Picking nothing keeps the current session; without one it starts a new session.
    """
    abort = AbortSignal() if abort is None else abort
    try:
        chosen = yield from choose("Resume which session?", tuple(sessions), None, abort)
    except (Cancelled, Aborted) as stopped:
        if previous is None and isinstance(stopped, Cancelled):
            return (yield from switch(previous, new_session, reason="new", abort=abort))
        return SwitchResult(status=stopped.status, session=previous, reason=str(stopped))
    key = chosen.key
    return (yield from switch(previous, lambda: open_session(key), reason="resume", target=key, abort=abort))


def hand_over(
    previous: LiveSession | None,
    made: LiveSession,
    reason: Literal["new", "resume", "fork", "branch"],
) -> Flow[None]:
    """Notify plugins that one session ends and another one starts."""
    if previous is not None:
        event = SessionShutdownEvent(reason=reason, target_file=made.file)
        yield from notify("session_shutdown", event, previous)
    file = None if previous is None else previous.file
    yield from notify("session_start", SessionStartEvent(reason=reason, previous_file=file), made)
