"""Continue in a new session: fork at any entry, or branch at a prompt."""

from __future__ import annotations

import os
from typing import Generic, TypeVar

import msgspec

from branchline.entries import Image
from branchline.errors import InvalidArgument
from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.editable_prompt import editable_prompt
from branchline.flows.hook_events import (
    SessionBeforeBranchEvent,
    SessionBeforeForkEvent,
    SessionBranchEvent,
    SessionForkEvent,
)
from branchline.flows.session_protocol import ForkAt, ForkScope, LiveSession
from branchline.flows.steps import Cancelled, Flow, Status, act, notify, permit
from branchline.flows.switch import hand_over

__all__ = ["ForkResult", "branch_to_new_session", "fork"]

S = TypeVar("S", bound=LiveSession)


class ForkResult(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """The result of a fork: the new session, and the prompt after its end, for editing."""

    status: Status
    session: S | None = None
    text: str | None = None
    images: tuple[Image, ...] = ()
    reason: str = ""


def fork(
    session: S,
    entry: str | None = None,
    *,
    position: ForkAt = "at",
    scope: ForkScope = "path",
    cwd: str | os.PathLike[str] | None = None,
    to: str | None = None,
    switch: bool = False,
    abort: AbortSignal | None = None,
) -> Flow[ForkResult[S]]:
    """Copy the path to an entry (default: the leaf) into a new, linked session in the format ``to``.

    ``position="before"`` leaves the entry itself out and returns its text if it is a prompt.
    ``scope="tree"`` copies all branches and makes the entry the leaf. With ``switch`` the user continues in
    the fork, and plugins are notified that this session ends and the fork starts. This session does not
    change.
    """
    abort = AbortSignal() if abort is None else abort
    session.refresh_log()
    entry = session.leaf if entry is None else entry
    prompt = None
    if entry is not None:
        record = session.entry(entry)
        prompt = editable_prompt(record) if position == "before" else None
    request = SessionBeforeForkEvent(entry=entry, position=position, scope=scope, abort=abort)
    try:
        yield from permit("session_before_fork", request, session, abort)
    except (Cancelled, Aborted) as stopped:
        return ForkResult(status=stopped.status, reason=str(stopped))
    made = yield from act("fork", lambda: session.fork(entry, position=position, scope=scope, cwd=cwd, to=to))
    if switch:
        yield from hand_over(session, made, "fork")
    event = SessionForkEvent(
        entry=entry,
        position=position,
        scope=scope,
        session=made.id,
        file=made.file,
        previous_session=session.id,
        previous_file=session.file,
    )
    yield from notify("session_fork", event, made)
    return ForkResult(
        status="done",
        session=made,
        text=None if prompt is None else prompt.text,
        images=() if prompt is None else prompt.images,
    )


def branch_to_new_session(session: S, entry: str, *, abort: AbortSignal | None = None) -> Flow[ForkResult[S]]:
    """Continue a prompt in a new session: everything before it is copied, and its text is returned.

    At the first prompt, the new session is empty and linked to this one. The user continues there; this
    session does not change. Raises ValueError if the entry is not a prompt.
    """
    abort = AbortSignal() if abort is None else abort
    session.refresh_log()
    prompt = editable_prompt(session.entry(entry), custom=False)
    if prompt is None:
        raise InvalidArgument(
            f"cannot branch at {entry}: it is not a prompt; "
            "pick a user message, or fork at this entry instead"
        )
    try:
        request = SessionBeforeBranchEvent(entry=entry, abort=abort)
        yield from permit("session_before_branch", request, session, abort)
    except (Cancelled, Aborted) as stopped:
        return ForkResult(status=stopped.status, reason=str(stopped))
    made = yield from act("fork", lambda: session.fork(entry, position="before"))
    yield from hand_over(session, made, "branch")
    event = SessionBranchEvent(
        entry=entry,
        session=made.id,
        file=made.file,
        previous_session=session.id,
        previous_file=session.file,
    )
    yield from notify("session_branch", event, made)
    return ForkResult(status="done", session=made, text=prompt.text, images=prompt.images)
