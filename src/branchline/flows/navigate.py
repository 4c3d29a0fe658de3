"""Move to another entry of the same session, optionally summarizing the abandoned branch."""

from __future__ import annotations

import msgspec

from branchline.compaction import (
    BranchCollection,
    branch_budget,
    branch_request,
    branch_summary,
    collect_branch,
    prepare_branch_summary,
)
from branchline.entries import Image
from branchline.errors import SessionMoved
from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.editable_prompt import editable_prompt
from branchline.flows.hook_events import (
    HookSummary,
    SessionBeforeTreeEvent,
    SessionBeforeTreeResult,
    SessionTreeEvent,
)
from branchline.flows.session_protocol import LiveSession, require_writable
from branchline.flows.steps import Cancelled, Choice, Flow, Status, act, ask, choose, notify, summarize
from branchline.tree import ROOT

__all__ = ["NO_SUMMARY", "SUMMARY", "SUMMARY_WITH_INSTRUCTIONS", "NavigateResult", "navigate"]

NO_SUMMARY, SUMMARY, SUMMARY_WITH_INSTRUCTIONS = "no", "summarize", "instructions"
_CHOICES = (
    Choice(key=NO_SUMMARY, label="No summary"),
    Choice(key=SUMMARY, label="Summarize"),
    Choice(key=SUMMARY_WITH_INSTRUCTIONS, label="Summarize with instructions", wants_text=True),
)


class NavigateResult(msgspec.Struct, frozen=True, kw_only=True):
    """How navigating ended.

    ``text`` and ``images`` are those of the prompt that was picked, for editing; None and empty for any
    other entry. ``reason`` is why it was cancelled or aborted.
    """

    status: Status
    old_leaf: str | None
    new_leaf: str | None
    text: str | None = None
    images: tuple[Image, ...] = ()
    summary_entry: str | None = None
    from_hook: bool = False
    reason: str = ""


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to treat the abandoned branch, and the label to set."""

    summary: bool
    instructions: str | None
    replace: bool
    label: str | None


def navigate(
    session: LiveSession,
    target: str,
    *,
    summarize: bool | None = False,
    custom_instructions: str | None = None,
    replace_instructions: bool = False,
    label: str | None = None,
    window: int | None = None,
    abort: AbortSignal | None = None,
) -> Flow[NavigateResult]:
    """Go to an entry of this session.

    If the target is a prompt (or a message of an extension), its parent becomes the leaf and its text is
    returned; any other entry becomes the leaf itself. Going to the current leaf does nothing.
    ``summarize=None`` asks the user whether to summarize the abandoned branch. The summary covers the part
    that fits into ``window`` tokens and is appended at the new leaf. ``custom_instructions`` are its focus;
    with ``replace_instructions`` they replace the default instructions. ``label`` labels the summary, or the
    target if there is none.

    Raises EntryNotFound for an unknown target, ReadOnly and NotSupported before any question, NoSummarizer
    and SummaryFailed before the leaf moves, and SessionMoved if the session moved while the questions were
    asked.
    """
    abort = AbortSignal() if abort is None else abort
    session.refresh_log()
    tree, old_leaf = session.index, session.leaf
    position = tree.position(target)
    prompt = editable_prompt(session.entry(target))
    here = tree.nearest_conversation_entry(position if prompt is None else tree.parents[position])
    new_leaf = None if here == ROOT else tree.keys[here]
    if target == old_leaf or (prompt is None and new_leaf == old_leaf):
        return NavigateResult(status="unchanged", old_leaf=old_leaf, new_leaf=old_leaf)
    abandoned = collect_branch(
        session.transcript, ROOT if old_leaf is None else tree.position(old_leaf), position
    )
    options = _Options(
        summary=bool(summarize),
        instructions=custom_instructions,
        replace=replace_instructions,
        label=label,
    )
    _require_supported(session, new_leaf, abandoned, options)
    try:
        if summarize is None and abandoned.entries:
            options = yield from _ask_user(options, abort)
        options, own = yield from _ask_plugins(session, target, old_leaf, abandoned, options, abort)
        _require_supported(session, new_leaf, abandoned, options)
        from_hook = own is not None
        if own is None and options.summary and abandoned.entries:
            own = yield from _summarize_branch(session, abandoned, options, window, abort)
    except (Cancelled, Aborted) as stopped:
        return NavigateResult(
            status=stopped.status, old_leaf=old_leaf, new_leaf=old_leaf, reason=str(stopped)
        )

    def move() -> str | None:
        session.refresh_log()
        if session.leaf != old_leaf:
            raise SessionMoved(
                f"cannot go to {target}: session {session.id} was moved from {old_leaf} to {session.leaf} "
                "while the questions were asked; try again"
            )
        if own is not None:
            made = session.branch_with_summary(
                new_leaf, own.text, details=own.details, usage=own.usage, from_hook=from_hook or None
            )
            if options.label:
                session.append_label(made, options.label)
            return made
        if options.label:  # first: if the label cannot be written, the leaf does not move
            session.append_label(target, options.label)
        if new_leaf is None:
            session.reset()
        else:
            session.branch(new_leaf)
        return None

    summary_entry = yield from act("navigate", move)
    moved = SessionTreeEvent(
        new_leaf=session.leaf, old_leaf=old_leaf, summary_entry=summary_entry, from_hook=from_hook
    )
    yield from notify("session_tree", moved, session)
    return NavigateResult(
        status="done",
        old_leaf=old_leaf,
        new_leaf=moved.new_leaf,
        text=None if prompt is None else prompt.text,
        images=() if prompt is None else prompt.images,
        summary_entry=summary_entry,
        from_hook=from_hook,
    )


def _require_supported(
    session: LiveSession, new_leaf: str | None, abandoned: BranchCollection, options: _Options
) -> None:
    """Raise NotSupported for entries that the file format cannot hold."""
    summary = options.summary and bool(abandoned.entries)
    require_writable(session, "branch_summary" if summary else "reset" if new_leaf is None else "branch")
    if options.label:
        require_writable(session, "label")


def _ask_user(options: _Options, abort: AbortSignal) -> Flow[_Options]:
    """Ask the user whether to summarize."""
    chosen = yield from choose("Summarize the abandoned branch?", _CHOICES, NO_SUMMARY, abort)
    instructions = chosen.text if chosen.key == SUMMARY_WITH_INSTRUCTIONS else options.instructions
    return msgspec.structs.replace(options, summary=chosen.key != NO_SUMMARY, instructions=instructions)


def _ask_plugins(
    session: LiveSession,
    target: str,
    old_leaf: str | None,
    abandoned: BranchCollection,
    options: _Options,
    abort: AbortSignal,
) -> Flow[tuple[_Options, HookSummary | None]]:
    """Return the options as changed by plugins, and the summary that a plugin provided."""
    preparation = SessionBeforeTreeEvent(
        target=target,
        old_leaf=old_leaf,
        common_ancestor=abandoned.common_ancestor,
        entries_to_summarize=abandoned.entries,
        wants_summary=options.summary,
        custom_instructions=options.instructions,
        replace_instructions=options.replace,
        label=options.label,
        abort=abort,
    )
    answer = yield from ask(
        "session_before_tree", preparation, session, SessionBeforeTreeResult, abort, _summary_problem
    )
    if answer is None:
        return options, None
    unset = msgspec.UNSET
    return _Options(
        summary=options.summary,
        instructions=options.instructions
        if answer.custom_instructions is unset
        else answer.custom_instructions,
        replace=options.replace if answer.replace_instructions is unset else answer.replace_instructions,
        label=options.label if answer.label is unset else answer.label,
    ), answer.summary if options.summary else None


def _summary_problem(answer: SessionBeforeTreeResult) -> str | None:
    own = answer.summary
    return None if own is None or own.text.strip() else "returned an empty summary"


def _summarize_branch(
    session: LiveSession,
    abandoned: BranchCollection,
    options: _Options,
    window: int | None,
    abort: AbortSignal,
) -> Flow[HookSummary]:
    preparation = prepare_branch_summary(session.transcript, abandoned, branch_budget(window))
    request = branch_request(preparation, options.instructions, replace=options.replace)
    if request is None:
        return HookSummary(text=branch_summary(preparation), details=preparation.files.details())
    summary = yield from summarize(request, abort)
    return HookSummary(
        text=branch_summary(preparation, summary.text),
        details=preparation.files.details(),
        usage=summary.usage,
    )
