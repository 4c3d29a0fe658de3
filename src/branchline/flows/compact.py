"""Compaction: summarizes the older part of the context. Nothing is removed from the log."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from branchline.compaction import (
    KEEP_RECENT_TOKENS,
    CompactionPreparation,
    Summary,
    compaction_summary,
    history_request,
    prefix_request,
    prepare_compaction,
    split_by_tokens,
    summary_budget,
    usage_of,
)
from branchline.errors import NothingToCompact, SessionMoved
from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.hook_events import (
    CompactionReason,
    SessionBeforeCompactEvent,
    SessionBeforeCompactResult,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
    SessionCompactingResult,
)
from branchline.flows.session_protocol import LiveSession, require_writable
from branchline.flows.steps import Cancelled, CompactResult, Flow, act, ask, notify, summarize
from branchline.flows.switch import hand_over
from branchline.tree import ROOT

__all__ = ["compact"]


def compact(
    session: LiveSession,
    *,
    custom_instructions: str | None = None,
    reason: CompactionReason = "manual",
    will_retry: bool = False,
    keep_recent_tokens: float = KEEP_RECENT_TOKENS,
    window: int | None = None,
    abort: AbortSignal | None = None,
) -> Flow[CompactResult]:
    """Summarize the context except for about ``keep_recent_tokens`` at the end, which are kept verbatim.

    An earlier summary is updated. If the cut splits a turn, the beginning of that turn is summarized
    separately. The lists of files read and modified are carried over. Text that does not fit into the
    summarizer's context ``window`` is summarized in chunks, each updating the summary of the one before. A
    plugin may cancel, or provide its own compaction.

    A format whose files keep every message (zot) is compacted into a fork, which the result contains; this
    session does not change.

    Raises NothingToCompact if there is nothing to summarize; ReadOnly, and NotSupported for formats without
    compactions, before any question is asked; NoSummarizer and SummaryFailed with nothing written. Plugins
    are notified of failures.
    """
    abort = AbortSignal() if abort is None else abort
    session.refresh_log()
    into_fork = session.transcript.format.traits.compacts_by_fork
    if not into_fork:
        require_writable(session, "compaction")
    leaf = session.leaf
    preparation = None
    if leaf is not None:
        preparation = prepare_compaction(
            session.transcript, session.index.position(leaf), keep_recent_tokens=keep_recent_tokens
        )
    if leaf is None or preparation is None:
        raise NothingToCompact(f"nothing to compact in session {session.id}: {_nothing_reason(session)}")
    made, from_hook = None, False
    job = _Job(session, preparation, custom_instructions, reason, will_retry, abort)
    try:
        own = yield from _plugin_compaction(job)
        from_hook = own is not None
        if own is None:
            focus = yield from _focus(job)
            own = yield from _summarized(preparation, focus, window, abort)
        made = own
        fork, entry = yield from act(
            "compact", lambda: _store(session, leaf, own, into_fork=into_fork, from_hook=from_hook)
        )
    except Cancelled as stopped:
        return CompactResult(status="cancelled", reason=str(stopped))
    except Exception as problem:
        aborted = isinstance(problem, Aborted)
        failed = SessionCompactFailedEvent(
            reason=reason, message=str(problem), aborted=aborted, will_retry=will_retry, from_hook=from_hook
        )
        yield from notify("session_compact_failed", failed, session)
        if aborted:
            return CompactResult(status="aborted", reason=str(problem))
        raise
    if fork is not None:
        yield from hand_over(session, fork, "fork")
    event = SessionCompactEvent(entry=entry, from_hook=from_hook, reason=reason, will_retry=will_retry)
    yield from notify("session_compact", event, session if fork is None else fork)
    return CompactResult(
        status="done",
        session=fork,
        entry=entry,
        summary=made.summary,
        first_kept=made.first_kept,
        tokens_before=made.tokens_before,
        usage=made.usage,
        from_hook=from_hook,
    )


class _Job(NamedTuple):
    session: LiveSession
    preparation: CompactionPreparation
    custom_instructions: str | None
    reason: CompactionReason
    will_retry: bool
    abort: AbortSignal


def _plugin_compaction(job: _Job) -> Flow[SessionBeforeCompactResult | None]:
    """Return the compaction of a plugin with its defaults filled in, or None."""
    preparation = job.preparation
    path = job.session.path()
    request = SessionBeforeCompactEvent(
        preparation=preparation,
        entries=tuple(path),
        custom_instructions=job.custom_instructions,
        reason=job.reason,
        will_retry=job.will_retry,
        abort=job.abort,
    )

    def problem(answer: SessionBeforeCompactResult) -> str | None:
        if not answer.summary.strip():
            return "returned a compaction with an empty summary"
        if answer.first_kept is not None and answer.first_kept not in path:
            return f"keeps entries from {answer.first_kept} on, which is not on the path"
        return None

    own = yield from ask(
        "session_before_compact", request, job.session, SessionBeforeCompactResult, job.abort, problem
    )
    if own is None:
        return None
    return msgspec.structs.replace(
        own,
        first_kept=own.first_kept or preparation.first_kept,
        tokens_before=round(preparation.tokens_before) if own.tokens_before is None else own.tokens_before,
    )


def _summarized(
    preparation: CompactionPreparation, focus: str | None, window: int | None, abort: AbortSignal
) -> Flow[SessionBeforeCompactResult]:
    budget = summary_budget(window)
    summaries: list[Summary] = []
    history = preparation.previous_summary
    for piece in split_by_tokens(preparation.history, budget):
        part = msgspec.structs.replace(preparation, history=piece, previous_summary=history)
        request = history_request(part, focus, budget_tokens=budget)
        assert request is not None
        summaries.append((yield from summarize(request, abort)))
        history = summaries[-1].text
    prefix: list[str] = []
    for piece in split_by_tokens(preparation.prefix, budget):
        part = msgspec.structs.replace(preparation, prefix=piece)
        request = prefix_request(part, focus, budget_tokens=budget)
        assert request is not None
        summaries.append((yield from summarize(request, abort)))
        prefix.append(summaries[-1].text)
    return SessionBeforeCompactResult(
        summary=compaction_summary(preparation, history=history, prefix="\n\n".join(prefix) or None),
        first_kept=preparation.first_kept,
        tokens_before=round(preparation.tokens_before),
        details=preparation.files.details(),
        usage=usage_of(summaries),
    )


def _focus(job: _Job) -> Flow[str | None]:
    """Return the focus of the summary: the caller's instructions and those that a plugin adds."""
    event = SessionCompactingEvent(
        preparation=job.preparation,
        custom_instructions=job.custom_instructions,
        reason=job.reason,
        will_retry=job.will_retry,
        abort=job.abort,
    )

    def problem(answer: SessionCompactingResult) -> str | None:
        return None if answer.instructions.strip() else "returned empty instructions"

    more = yield from ask(
        "session_compacting", event, job.session, SessionCompactingResult, job.abort, problem
    )
    if more is None:
        return job.custom_instructions
    return "\n\n".join(filter(None, (job.custom_instructions, more.instructions)))


class _Stored(NamedTuple):
    fork: LiveSession | None
    entry: str


def _store(
    session: LiveSession, leaf: str, made: SessionBeforeCompactResult, *, into_fork: bool, from_hook: bool
) -> _Stored:
    """Write the compaction, unless the path has changed since the summary was requested."""
    session.refresh_log()
    _require_on_path(session, leaf)
    if into_fork:
        fork = session.fork_compacted(made.summary, made.first_kept, made.tokens_before)
        if made.usage is not None:
            fork.append_usage("compaction", made.usage)
        first_message = fork.index.types.index("message")  # a model change may precede it
        return _Stored(fork, fork.index.keys[first_message])
    entry = session.append_compaction(
        made.summary,
        made.first_kept,
        made.tokens_before,
        details=made.details,
        usage=made.usage,
        from_hook=from_hook or None,
    )
    return _Stored(None, entry)


def _require_on_path(session: LiveSession, leaf: str) -> None:
    """Raise SessionMoved unless only messages were appended below the old leaf."""
    tree = session.index
    position = ROOT if session.leaf is None else tree.position(session.leaf)
    while position != ROOT and tree.keys[position] != leaf:
        if tree.types[position] == "compaction":
            break
        position = tree.parents[position]
    if position == ROOT or tree.keys[position] != leaf:
        raise SessionMoved(
            f"cannot compact session {session.id}: it was moved from {leaf} to {session.leaf} "
            "while the summary was written; nothing was changed, try again"
        )


def _nothing_reason(session: LiveSession) -> str:
    leaf = session.leaf
    if leaf is None:
        return "no messages yet"
    if session.index.types[session.index.position(leaf)] == "compaction":
        return "it was just compacted"
    return "everything fits into the part that is kept verbatim"
