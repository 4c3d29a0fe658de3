"""Corrections of public prices: what genai-prices lacks, or has otherwise than ccusage.

ccusage is what people compare with, so its prices decide where both know a model;
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
    cache_write: float | None = None
    long: tuple[float, float, float] | None = None
    """Input, output and cache read: the rates of all tokens of a request above 200,000 tokens."""
    beyond: tuple[float, float, float, float, float] | None = None
    """Input, output, cache read, cache write and one-hour cache write: the rates of the tokens of each kind
    above 200,000 in one call. The others cost the normal rate, whatever the size of the request."""


_SONNET_BEYOND = (6.0, 22.5, 0.6, 7.5, 12.0)

_RATES: dict[str, dict[str, tuple[float, float, float]]] = {
    "genai-prices has a price for each time of the day, ccusage a single one": {
        "deepseek/deepseek-chat": (0.1, 0.425, 0.05),
        "deepseek/deepseek-flash": (0.15, 0.6, 0.003),
        "deepseek/deepseek-reasoner": (0.56, 1.68, 0.07),
        "deepseek/deepseek-v4-flash": (0.14, 0.28, 0.0028),
        "deepseek/deepseek-v4-pro": (0.435, 0.87, 0.003625),
    },
    "ccusage has a price for this version, such as that of a host": {
        "deepseek/deepseek-chat-v3-0324": (0.25, 1.0, 0.025),
        "deepseek/deepseek-r1": (1.35, 5.4, 0.135),
        "deepseek/deepseek-r1-0528": (0.652, 2.57, 0.163),
        "deepseek/deepseek-v3.1-terminus": (0.27, 1.0, 0.216),
        "deepseek/deepseek-v3.2": (0.3, 0.5, 0.075),
        "deepseek/deepseek-v4-flash-0423": (0.19, 0.51, 0.028),
        "deepseek/deepseek-v4-flash-0731": (0.2, 0.4, 0.04),
        "deepseek/deepseek-v4-flash-latest": (0.14, 0.28, 0.028),
        "deepseek/deepseek-v4-pro-0423": (1.32, 3.96, 0.15),
        "deepseek/deepseek-v4-pro-0813": (0.6918, 2.0754, 0.023058),
    },
    "ccusage has another price, such as that of a host": {
        "azure/phi-4-mini-instruct": (0.17, 0.68, 0.085),
        "azure/phi-4-multimodal-instruct": (0.07, 0.11, 0.035),
        "google/gemini-2.0-flash": (0.1, 0.42, 0.01),
        "google/gemini-2.0-flash-lite": (0.052, 0.21, 0.0052),
        "minimax/minimax-01": (0.1394, 1.122, 0.0697),
        "minimax/minimax-m1": (0.1394, 1.3328, 0.0697),
        "mistral/codestral-2508": (0.368, 1.103, 0.037),
        "mistral/ministral-14b-2512": (0.24, 0.24, 0.022),
        "mistral/ministral-3b-2512": (0.123, 0.123, 0.012),
        "mistral/ministral-8b-2512": (0.179, 0.179, 0.017),
        "mistral/voxtral-small-24b-2507": (0.228, 0.513, 0.0228),
        "mistral/voxtral-small-2507": (0.123, 0.368, 0.012),
        "moonshotai/kimi-k2-0905-preview": (0.632, 2.53, 0.0632),
        "moonshotai/kimi-k2-turbo-preview": (0.15, 8.0, 0.015),
        "x-ai/grok-4.20-multi-agent": (2.0, 6.0, 0.2),
    },
    "genai-prices has the price of Google, which is zero": {
        "google/gemma-3": (0.15, 0.3, 0.015),
        "google/gemma-4-26b-a4b-it": (0.12, 0.38, 0.06),
        "google/gemma-4-31b-it": (0.1, 0.3, 0.02),
    },
    "the name means another version in ccusage": {
        "mistral/ministral-8b-latest": (0.1, 0.1, 0.01),
        "mistral/mistral-large-latest": (0.5, 1.5, 0.05),
        "mistral/voxtral-small-latest": (0.1, 0.3, 0.01),
    },
    "ccusage has another rate for cached input": {
        "minimax/minimax-m2.5-highspeed": (0.6, 2.4, 0.06),
        "mistral/magistral-medium": (2.0, 5.0, 2.0),
        "mistral/magistral-medium-latest": (2.0, 5.0, 0.2),
        "mistral/mistral-medium": (0.4, 2.0, 0.4),
        "mistral/mistral-medium-3.5": (1.5, 7.5, 1.5),
        "moonshotai/kimi-k2": (0.57, 2.3, 0.5),
        "moonshotai/kimi-k2-thinking": (0.6, 2.5, 0.3),
        "typesafe/jev-latest": (0.042, 0.0, 0.021),
        "x-ai/grok-4": (3.0, 15.0, 0.75),
        "x-ai/grok-4-0709": (3.0, 15.0, 0.3),
        "x-ai/grok-4-latest": (3.0, 15.0, 0.75),
        "zai/glm-4-32b-0414-128k": (0.1, 0.1, 0.0),
        "zai/glm-4.6v": (0.3, 0.9, 0.03),
        "zai/glm-5.2": (1.4, 4.4, 0.28),
    },
    "genai-prices has the Chinese price only": {
        "zhipuai/glm-4-long": (0.2006, 0.2006, 0.1003),
        "zhipuai/glm-5-turbo": (1.2, 4.0, 0.24),
    },
    "genai-prices has a price for output": {"mistral/mistral-embed": (0.1, 0.0, 0.01)},
}
"""Input, output and cache read, by reason and model."""

CORRECTIONS = {
    model: Correction(reason, *rates) for reason, models in _RATES.items() for model, rates in models.items()
} | {
    "anthropic/claude-sonnet-4-0": Correction(
        "genai-prices has no rates for long contexts", beyond=_SONNET_BEYOND
    ),
    "anthropic/claude-sonnet-4-5": Correction(
        "genai-prices applies the higher rates to the whole call, ccusage to the tokens above 200,000",
        beyond=_SONNET_BEYOND,
    ),
    "moonshotai/kimi-k3": Correction("ccusage has no rate for cache writes", cache_write=3.75),
    "openai/chatgpt-4o-latest": Correction(
        "genai-prices has 15 dollars for output, and none for cached input", output=20.0, cache_read=2.5
    ),
    "openai/gpt-4o-mini-tts": Correction("genai-prices has 12 dollars for output", output=10.0),
    "openai/gpt-4o-search-preview": Correction(
        "genai-prices has no rate for cached input, which is half of that of input", cache_read=1.25
    ),
    "x-ai/grok-4.3": Correction(
        "ccusage has another rate for cached input", 1.25, 2.5, 0.125, long=(2.5, 5.0, 0.4)
    ),
    "x-ai/grok-latest": Correction(
        "the name means another version in ccusage", 2.0, 6.0, 0.5, long=(4.0, 12.0, 1.0)
    ),
}
"""By ``provider/model`` as genai-prices has them, in lower case. The row of a model's id applies to those of
its names that have no row."""
