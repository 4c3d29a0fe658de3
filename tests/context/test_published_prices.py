"""Public prices are those of ccusage, for every model that both name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from branchline import SessionLibrary
from branchline.context.price_corrections import CORRECTIONS
from branchline.context.prices import CONTEXT_SIZES, PriceList, size_class, tokens_beyond
from support import ROOT

pytest.importorskip("genai_prices")
sys.path.insert(0, str(ROOT / "scripts"))
from compare_ccusage_prices import AGENTS, CASES

SCRIPT = ROOT / "scripts" / "compare_ccusage_prices.py"
RECORDED = json.loads((Path(__file__).parent / "ccusage_prices.json").read_bytes())
"""The prices of ``ccusage --offline`` for each case, as the script recorded them."""
K = 1_000


def price(model: str, *tokens: float) -> float:
    """Return the price of one call: input, output, cache read, cache write, one-hour cache write."""
    given, _, read, write, _ = tokens
    rates = PriceList().rates(model, size=size_class(given + read + write))
    assert rates is not None, model
    return rates.cost(*tokens, beyond=tokens_beyond(*tokens))


@pytest.mark.parametrize(
    ("maker", "model"), [(agent.maker, model) for agent in AGENTS for model in RECORDED[agent.maker]]
)
def test_a_model_costs_what_ccusage_says_within_one_percent(maker: str, model: str) -> None:
    cases = next(agent.cases for agent in AGENTS if agent.maker == maker)

    ours = {
        case.name: price(
            f"{maker}/{model}", case.input, case.output, case.read, case.write + case.hour, case.hour
        )
        for case in cases
    }

    names = (case.name for case in cases)
    assert ours == pytest.approx(dict(zip(names, RECORDED[maker][model], strict=True)), rel=0.01)


def test_the_recorded_prices_cover_the_models_that_people_use() -> None:
    assert len(RECORDED["anthropic"]) >= 40
    assert len(RECORDED["openai"]) >= 115
    assert {"claude-opus-4-5-20251101", "claude-sonnet-4-20250514"} <= RECORDED["anthropic"].keys()
    assert {"gpt-5", "gpt-5-codex", "gpt-5.4"} <= RECORDED["openai"].keys()
    assert "o3" not in RECORDED["openai"], "ccusage guesses its price"


def test_the_installed_ccusage_has_the_same_prices() -> None:
    executable = os.environ.get("BRANCHLINE_TEST_CCUSAGE")
    if not executable or not shutil.which(executable):
        pytest.skip("BRANCHLINE_TEST_CCUSAGE does not name the executable of ccusage 20")

    result = subprocess.run([sys.executable, SCRIPT, executable], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("model", CORRECTIONS)
def test_every_correction_changes_a_price_and_has_a_reason(model: str) -> None:
    correction = CORRECTIONS[model]

    rates = PriceList().rates(model)

    assert rates is not None
    assert correction.reason
    for kind in ("input", "output", "cache_read"):
        if (rate := getattr(correction, kind)) is not None:
            assert getattr(rates, kind) == pytest.approx(rate / 1e6)
    assert (rates.beyond is None) == (correction.beyond is None)


def test_only_the_tokens_above_the_threshold_cost_more_where_ccusage_says_so() -> None:
    model = "anthropic/claude-sonnet-4-5"

    assert price(model, 200 * K, 0, 0, 0, 0) == pytest.approx(0.60)
    assert price(model, 300 * K, 0, 0, 0, 0) == pytest.approx(0.60 + 0.60)
    assert price(model, 150 * K, 0, 150 * K, 0, 0) == pytest.approx(0.45 + 0.045)
    assert price(model, 0, 0, 0, 300 * K, 300 * K) == pytest.approx(1.20 + 1.20)


def test_a_whole_request_costs_more_above_the_size_that_its_model_has() -> None:
    model = "openai/gpt-5.4"

    assert price(model, 272 * K, 0, 0, 0, 0) == pytest.approx(0.68)
    assert price(model, 273 * K, 0, 0, 0, 0) == pytest.approx(1.365)


def test_the_class_of_a_request_counts_the_sizes_that_it_exceeds() -> None:
    assert [size_class(size) for size in CONTEXT_SIZES] == list(range(len(CONTEXT_SIZES)))
    assert [size_class(size + 1) for size in CONTEXT_SIZES] == list(range(1, len(CONTEXT_SIZES) + 1))


def test_a_price_of_ones_own_overrules_corrections_and_long_contexts() -> None:
    prices = PriceList(["anthropic/claude-sonnet-4-5=1:2"])

    rates = prices.rates("anthropic/claude-sonnet-4-5", size=size_class(300 * K))

    assert rates is not None
    assert rates.cost(300 * K, 0, 0, 0, beyond=tokens_beyond(300 * K, 0, 0, 0, 0)) == pytest.approx(0.3)


def test_sums_over_many_calls_price_each_call_by_itself(tmp_path: Path) -> None:
    calls = [(model, case) for model in ("claude-sonnet-4-5", "claude-opus-4-5") for case in CASES]
    lines = []
    for number, (model, case) in enumerate(calls):
        usage = {
            "input_tokens": case.input,
            "output_tokens": case.output,
            "cache_read_input_tokens": case.read,
            "cache_creation_input_tokens": case.write + case.hour,
            "cache_creation": {
                "ephemeral_5m_input_tokens": case.write,
                "ephemeral_1h_input_tokens": case.hour,
            },
        }
        message = {"id": f"m{number}", "role": "assistant", "model": model, "content": [], "usage": usage}
        about = {"sessionId": "s", "cwd": "/p", "version": "2.0.0", "timestamp": "2026-01-05T10:00:00.000Z"}
        links = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
        lines.append({"type": "assistant", "requestId": f"r{number}", "message": message, **about, **links})
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    library = SessionLibrary(tmp_path)

    with library.statistics() as statistics:
        found = {group.name: group.figures.cost for group in statistics.groups("model")}
        total = statistics.total().cost
    (details,) = library.details(library.list()).values()

    expected = {
        f"anthropic/{model}": sum(RECORDED["anthropic"][model])
        for model in ("claude-sonnet-4-5", "claude-opus-4-5")
    }
    assert found == pytest.approx(expected, rel=1e-6)
    assert (total, details.cost) == pytest.approx((sum(expected.values()),) * 2, rel=1e-6)


@pytest.mark.parametrize("provider", ["my-gateway", "other", "github-copilot"])
def test_a_gateway_costs_what_the_maker_of_the_model_takes(provider: str) -> None:
    prices = PriceList()

    assert prices.rates(f"{provider}/claude-sonnet-4-5") == prices.rates("anthropic/claude-sonnet-4-5")
    assert prices.rates(f"{provider}/one-that-nobody-knows") is None


@pytest.mark.parametrize("provider", ["ollama", "LMStudio", "my-local-models"])
def test_a_local_runtime_has_no_price(provider: str) -> None:
    assert PriceList().rates("gpt-oss-20b") is not None
    assert PriceList().rates(f"{provider}/gpt-oss-20b") is None
