"""The model that writes summaries, opened by the name that the settings have for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from branchline.actions.navigate import SummaryModel
from branchline.compaction import Summary, SummaryRequest
from branchline.conductor.policy import Policy
from branchline.conductor.turn_runner import write_summary
from branchline.flows import Summarizer
from branchline.models import ModelRegistry
from branchline.settings import load

__all__ = ["OpenSummarizer", "open_summarizer"]


class OpenSummarizer(NamedTuple):
    """A summarizer, and how many tokens it can read."""

    write: Summarizer
    window: int | None


@asynccontextmanager
async def open_summarizer(
    model: SummaryModel, told: Callable[[str], Awaitable[None]]
) -> AsyncIterator[OpenSummarizer]:
    """Load the model for the length of a ``with`` block; ``told`` gets its text as it comes."""
    models = ModelRegistry.from_settings(load().settings, base_url=model.base_url)
    writer = await asyncio.to_thread(models.find, model.name)

    async def write(request: SummaryRequest) -> Summary:
        return await write_summary(writer, request, Policy(), told)

    try:
        yield OpenSummarizer(write, writer.context_window)
    finally:
        await writer.aclose()
