"""Move the leaf of a session to another entry, with or without a summary of the branch that is left."""

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
    """The model that writes summaries, as the settings name it. It is loaded when one is wanted."""

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
    """Go to an entry. Without a ``summarizer`` nothing is written about the branch that is left.

    ``focus`` says what the summary should look at, ``window`` how many tokens its writer can read. Nothing
    moves before the summary is there.
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
