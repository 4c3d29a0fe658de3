"""Corrections of public prices: what genai-prices lacks, or has otherwise than ccusage.

ccusage is what people compare with, so its prices decide where both name a model;
``scripts/compare_ccusage_prices.py`` finds the differences. Each row has its reason, and a row that a new
release of genai-prices makes needless is deleted.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CORRECTIONS", "Correction"]


class Correction(NamedTuple):
    """Rates of one model in dollars per million tokens; None keeps the rate of genai-prices."""

    reason: str
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    beyond: tuple[float, float, float, float, float] | None = None
    """Input, output, cache read, cache write and one-hour cache write: the rates of the tokens of each kind
    above 200,000 in one call. The others cost the normal rate, whatever the size of the request."""


_SONNET_BEYOND = (6.0, 22.5, 0.6, 7.5, 12.0)

CORRECTIONS = {
    "anthropic/claude-sonnet-4-0": Correction(
        "genai-prices has no rates for long contexts", beyond=_SONNET_BEYOND
    ),
    "anthropic/claude-sonnet-4-5": Correction(
        "genai-prices applies the higher rates to the whole call, ccusage to the tokens above 200,000",
        beyond=_SONNET_BEYOND,
    ),
    "openai/chatgpt-4o-latest": Correction(
        "genai-prices has 15 dollars for output, and none for cached input", output=20.0, cache_read=2.5
    ),
    "openai/gpt-4o-mini-tts": Correction("genai-prices has 12 dollars for output", output=10.0),
    "openai/gpt-4o-search-preview": Correction(
        "genai-prices has no rate for cached input, which is half of that of input", cache_read=1.25
    ),
}
"""By the ``provider/model`` of genai-prices, under which it finds every alias and dated name."""
