"""Leaving a branch with a summary that a model writes: nothing moves before the summary is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from branchline.compaction import Summary, SummaryRequest
from branchline.flows import AbortSignal, Hooks, NavigateResult, arun, navigate
from branchline.session import Session

__all__ = ["NO_MODEL", "SummaryModel", "navigate_with_summary"]

NO_MODEL = (
    "no model configured that could write it, and nothing has moved: "
    "`branchline config set model provider/model` sets one; or write the summary yourself"
)


class SummaryModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model that writes summaries, as the settings name it. It is loaded when one is wanted."""

    name: str
    base_url: str | None = None


async def navigate_with_summary(
    session: Session,
    target: str,
    model: SummaryModel,
    *,
    focus: str = "",
    hooks: Hooks,
    abort: AbortSignal,
    told: Callable[[str], Awaitable[None]],
) -> NavigateResult:
    """Go to an entry; the model sums up what is left, and ``told`` gets its words as they come."""
    from branchline.conductor import Policy  # noqa: PLC0415  models are heavy, and few ask for them
    from branchline.conductor.turn_runner import write_summary  # noqa: PLC0415
    from branchline.models import ModelRegistry  # noqa: PLC0415
    from branchline.settings import load  # noqa: PLC0415

    models = ModelRegistry.from_settings(load().settings, base_url=model.base_url)
    writer = await asyncio.to_thread(models.find, model.name)

    async def write(request: SummaryRequest) -> Summary:
        return await write_summary(writer, request, Policy(), told)

    flow = navigate(
        session,
        target,
        summarize=True,
        custom_instructions=focus.strip() or None,
        window=writer.context_window,
        abort=abort,
    )
    try:
        return await arun(flow, hooks=hooks, summarizer=write)
    finally:
        await writer.aclose()
