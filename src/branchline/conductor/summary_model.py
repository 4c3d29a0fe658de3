"""Summaries by the configured model, for callers without a conductor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from branchline.actions.graft import squash_request
from branchline.actions.summary_model import SummaryModel
from branchline.compaction import Summary, SummaryRequest
from branchline.conductor.policy import Policy
from branchline.conductor.run import summary_text
from branchline.conductor.turn_runner import write_summary
from branchline.flows import AbortSignal
from branchline.models import ModelRegistry
from branchline.session import Session
from branchline.settings import load

__all__ = ["OpenSummarizer", "open_summarizer", "summarize_range"]


class OpenSummarizer(NamedTuple):
    """A summarizer and its context window."""

    write: Callable[[SummaryRequest], Coroutine[Any, Any, Summary]]
    window: int | None


@asynccontextmanager
async def open_summarizer(
    model: SummaryModel, on_delta: Callable[[str], Awaitable[None]]
) -> AsyncIterator[OpenSummarizer]:
    """Load the model and close it on exit; ``on_delta`` receives its text as it arrives."""
    models = ModelRegistry.from_settings(load().settings, base_url=model.base_url)
    writer = await asyncio.to_thread(models.find, model.name)

    async def write(request: SummaryRequest) -> Summary:
        return await write_summary(writer, request, Policy(), on_delta)

    try:
        yield OpenSummarizer(write, writer.context_window)
    finally:
        await writer.aclose()


async def summarize_range(
    session: Session,
    first: str,
    last: str,
    model: SummaryModel,
    on_delta: Callable[[str], Awaitable[None]],
    *,
    focus: str = "",
    abort: AbortSignal | None = None,
) -> str:
    """Summarize a part of the path with the model; nothing is appended.

    Raises ValueError for a range that cannot be squashed, FlowError or ModelError if there is no summary.
    """
    squash_request(session, first, last)  # raises before a model is loaded
    async with open_summarizer(model, on_delta) as summarizer:
        focused = focus.strip() or None
        request = squash_request(session, first, last, focus=focused, window=summarizer.window)
        return await summary_text(abort or AbortSignal(), summarizer.write(request))
