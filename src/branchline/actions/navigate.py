"""Move the leaf of a session to another entry, with or without a summary of the abandoned branch."""

from __future__ import annotations

import msgspec

from branchline.flows import AbortSignal, Hooks, NavigateResult, Summarizer, arun
from branchline.flows import navigate as navigate_flow
from branchline.flows.hooks import NO_HOOKS
from branchline.session import Session

__all__ = ["NO_MODEL", "SummaryModel", "navigate"]

NO_MODEL = (
    "no model configured that could write it, and nothing was written: "
    "`branchline config set model provider/model` sets one; or write the summary yourself"
)


class SummaryModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model for summaries, as named in the settings. It is loaded when it is needed."""

    name: str
    base_url: str | None = None


async def navigate(
    session: Session,
    target: str,
    *,
    summarizer: Summarizer | None = None,
    focus: str = "",
    window: int | None = None,
    hooks: Hooks = NO_HOOKS,
    abort: AbortSignal | None = None,
) -> NavigateResult:
    """Move the leaf to an entry. With a ``summarizer``, the abandoned branch is summarized first.

    ``focus`` is an instruction for the summary, ``window`` the context window of its model in tokens. The
    leaf moves only after the summary is complete.
    """
    flow = navigate_flow(
        session,
        target,
        summarize=summarizer is not None,
        custom_instructions=focus.strip() or None,
        window=window,
        abort=abort,
    )
    return await arun(flow, hooks=hooks, summarizer=summarizer)
