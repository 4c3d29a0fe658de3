"""Recovery from failed answers: they leave the context; an overflow gets one compaction and one retry.

The failed answer stays in the tree. For a plain retry the leaf moves back to its parent, so that the new
answer becomes its sibling. Before a compaction a context edit removes it instead, if the format has context
edits: only then can an overlong prompt itself be summarized.
"""

from __future__ import annotations

import msgspec

from branchline.compaction import KEEP_RECENT_TOKENS
from branchline.errors import InvalidArgument
from branchline.flows.abort import AbortSignal
from branchline.flows.compact import compact
from branchline.flows.session_protocol import LiveSession, require_writable
from branchline.flows.steps import AttemptResult, CompactResult, Flow, act, attempt
from branchline.tree import ROOT

__all__ = ["TurnResult", "rewind_failed", "turn"]


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended: the last attempt, how many there were, and the compaction between them."""

    outcome: AttemptResult
    attempts: int = 1
    compacted: CompactResult | None = None


def rewind_failed(session: LiveSession, failed: str | None = None) -> Flow[str | None]:
    """Move the leaf to the parent of a failed answer (default: the leaf) and return the new leaf.

    Raises ValueError if the entry is not an answer; NotSupported in a linear format.
    """
    session.refresh_log()
    failed = session.leaf if failed is None else failed
    if failed is None:
        raise InvalidArgument("nothing to retry: no messages yet")
    tree = session.index
    position = tree.position(failed)
    if tree.roles[position] != "assistant":
        raise InvalidArgument(
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
    """Get an answer from the model; if the context is too long, compact once and retry once.

    Each :class:`~branchline.flows.steps.Attempt` is one request to the model, including its tool calls.
    Compaction errors (NothingToCompact, SummaryFailed …) propagate: by then the failed answer has left the
    context, and its record is in the tree.
    """
    abort = AbortSignal() if abort is None else abort
    first = yield from attempt(1, session, abort)
    if not first.overflow:
        return TurnResult(outcome=first)
    if first.failed is not None:
        yield from _omit(session, first.failed)
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
    second = yield from attempt(2, compacted.session or session, abort, compacted)
    return TurnResult(outcome=second, attempts=2, compacted=compacted)


def _omit(session: LiveSession, failed: str) -> Flow[None]:
    """Remove a failed answer from the context."""
    if "context_edit" in session.transcript.format.traits.unsupported:
        yield from rewind_failed(session, failed)
    else:
        yield from act("omit", lambda: session.append_context_edit(failed, None))
