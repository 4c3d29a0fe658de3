"""When an answer fails: the attempt leaves the context; an overflow gets one compaction and one retry.

The record of a failed attempt stays in the tree. For a plain retry the leaf moves to before it, so that the
new answer becomes its sibling. Before a compaction it is taken out by context edits instead, where the
format has them: only then can a prompt that is too long itself be summed up.
"""

from __future__ import annotations

import msgspec

from branchline.compaction import KEEP_RECENT_TOKENS
from branchline.flows.abort import AbortSignal
from branchline.flows.compact import CompactResult, compact
from branchline.flows.session_protocol import LiveSession, require_writable
from branchline.flows.steps import AttemptResult, Flow, act, attempt
from branchline.tree import ROOT

__all__ = ["TurnResult", "rewind_failed", "turn"]


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended: the last attempt, how many there were, and the compaction between them."""

    outcome: AttemptResult
    attempts: int = 1
    compacted: CompactResult | None = None


def rewind_failed(session: LiveSession, failed: str | None = None) -> Flow[str | None]:
    """Go back to before a failed answer (default: the leaf), so that it is not sent again; gives the leaf.

    ValueError when the entry is no answer; NotSupported in a format whose files are one line.
    """
    session.refresh_log()
    failed = session.leaf if failed is None else failed
    if failed is None:
        raise ValueError("nothing to retry: no messages yet")
    tree = session.index
    position = tree.position(failed)
    if tree.roles[position] != "assistant":
        raise ValueError(
            f"cannot rewind {failed}: it is a {tree.roles[position] or tree.types[position]}, not an answer"
        )
    here = tree.nearest_conversation_entry(tree.parents[position])
    require_writable(session, "reset" if here == ROOT else "branch")

    def move() -> None:
        if here == ROOT:
            session.reset()
        else:
            session.branch(tree.keys[here])

    yield from act("rewind", move)
    return session.leaf


def turn(
    session: LiveSession,
    *,
    keep_recent_tokens: float = KEEP_RECENT_TOKENS,
    window: int | None = None,
    custom_instructions: str | None = None,
    abort: AbortSignal | None = None,
) -> Flow[TurnResult]:
    """Get an answer from the model; if the context is too long for it, compact once and try once more.

    Each :class:`~branchline.flows.steps.Attempt` is one request to the model with everything that belongs to
    it. Errors of the compaction (NothingToCompact, SummaryFailed …) come out as they are: the attempt that
    failed has left the context by then, and its record is in the tree.
    """
    abort = AbortSignal() if abort is None else abort
    first = yield from attempt(1, session, abort)
    if not first.overflow:
        return TurnResult(outcome=first)
    if first.failed is not None:
        yield from _taken_out(session, first.failed)
    compacted = yield from compact(
        session,
        custom_instructions=custom_instructions,
        reason="overflow",
        will_retry=True,
        keep_recent_tokens=keep_recent_tokens,
        window=window,
        abort=abort,
    )
    if compacted.status != "done" or abort.aborted:
        return TurnResult(outcome=first, compacted=compacted)
    second = yield from attempt(2, compacted.session or session, abort)
    return TurnResult(outcome=second, attempts=2, compacted=compacted)


def _taken_out(session: LiveSession, failed: str) -> Flow[None]:
    """The model sees a failed answer no more."""
    if "context_edit" in session.transcript.format.traits.unsupported:
        yield from rewind_failed(session, failed)
    else:
        yield from act("omit", lambda: session.append_context_edit(failed, None))
