"""Public prices match those of other tools."""

from __future__ import annotations

import pytest

from branchline.context.prices import PriceList

CCUSAGE = {
    "claude-opus-4-5-20251101": 0.7575,
    "claude-opus-4-1-20250805": 2.2725,
    "claude-opus-4-20250514": 2.2725,
    "claude-sonnet-4-5-20250929": 0.4545,
    "claude-sonnet-4-20250514": 0.4545,
    "claude-3-7-sonnet-20250219": 0.4545,
    "claude-3-5-sonnet-20241022": 0.4545,
    "claude-3-5-haiku-20241022": 0.1212,
    "claude-haiku-4-5-20251001": 0.1515,
    "claude-3-opus-20240229": 2.2725,
    "claude-3-haiku-20240307": 0.0377,
}
"""What ``ccusage daily --offline`` 18.0.11 says for 10,000 tokens of input, 20,000 of output, 30,000 written to
the cache and 40,000 read from it."""


@pytest.mark.parametrize("model", CCUSAGE)
def test_a_model_costs_what_ccusage_says_within_one_percent(model: str) -> None:
    rates = PriceList().rates(f"anthropic/{model}")

    assert rates is not None
    assert rates.cost(10_000, 20_000, 40_000, 30_000) == pytest.approx(CCUSAGE[model], rel=0.01)


@pytest.mark.parametrize("provider", ["my-gateway", "other", "github-copilot"])
def test_a_gateway_costs_what_the_maker_of_the_model_takes(provider: str) -> None:
    prices = PriceList()

    assert prices.rates(f"{provider}/claude-sonnet-4-5") == prices.rates("anthropic/claude-sonnet-4-5")
    assert prices.rates(f"{provider}/one-that-nobody-knows") is None


@pytest.mark.parametrize("provider", ["ollama", "LMStudio", "my-local-models"])
def test_a_local_runtime_has_no_price(provider: str) -> None:
    assert PriceList().rates("gpt-oss-20b") is not None
    assert PriceList().rates(f"{provider}/gpt-oss-20b") is None
