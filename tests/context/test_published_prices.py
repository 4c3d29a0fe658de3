"""Public prices are those of ccusage, for every model that both name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Self

import pytest

from branchline import SessionLibrary
from branchline.context.price_corrections import CORRECTIONS
from branchline.context.prices import CONTEXT_SIZES, PriceList, _published, size_class, tokens_beyond
from support import ROOT

pytest.importorskip("genai_prices")
sys.path.insert(0, str(ROOT / "scripts"))
from compare_ccusage_prices import CASES, MAKERS

SCRIPT = ROOT / "scripts" / "compare_ccusage_prices.py"
RECORDED = json.loads((Path(__file__).parent / "ccusage_prices.json").read_bytes())
"""The prices of ``ccusage --offline`` for each case, as the script recorded them."""
K = 1_000


class _DayOfRecording(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromisoformat(f"{RECORDED['day']}T12:00:00").replace(tzinfo=tz)


@pytest.fixture(autouse=True)
def day_of_recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let genai-prices take the prices of that day: it knows changes that are still to come."""
    monkeypatch.setattr("genai_prices.types.datetime", _DayOfRecording)
    _published.cache_clear()
    yield
    _published.cache_clear()


def price(model: str, *tokens: float) -> float:
    """Return the price of one call: input, output, cache read, cache write, one-hour cache write."""
    given, _, read, write, _ = tokens
    rates = PriceList().rates(model, size=size_class(given + read + write))
    assert rates is not None, model
    return rates.cost(*tokens, beyond=tokens_beyond(*tokens))


@pytest.mark.parametrize(
    ("maker", "model"), [(maker.id, model) for maker in MAKERS for model in RECORDED.get(maker.id, ())]
)
def test_a_model_costs_what_ccusage_says_within_one_percent(maker: str, model: str) -> None:
    cases = next(one for one in MAKERS if one.id == maker).cases(model)
    names = [case.name for case in cases]
    expected = pytest.approx(dict(zip(names, RECORDED[maker][model], strict=True)), rel=0.01)

    for name in (f"{maker}/{model}", f"my-gateway/{maker}/{model}"):
        ours = {
            case.name: price(name, case.input, case.output, case.read, case.write + case.hour, case.hour)
            for case in cases
        }

        assert ours == expected, name


@pytest.mark.parametrize(
    ("maker", "models", "some"),
    [
        ("anthropic", 40, {"claude-opus-4-5-20251101", "claude-sonnet-4-20250514"}),
        ("openai", 115, {"gpt-5", "gpt-5-codex", "gpt-5.4"}),
        ("google", 27, {"gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro-preview"}),
        ("x-ai", 18, {"grok-4", "grok-4-fast-reasoning", "grok-code-fast-1"}),
        ("mistral", 37, {"devstral-2512", "mistral-large-2411", "codestral-latest"}),
        ("deepseek", 16, {"deepseek-chat", "deepseek-reasoner", "deepseek-v4-pro"}),
        ("moonshotai", 10, {"kimi-k2", "kimi-k2-thinking", "kimi-k2.6"}),
        ("zai", 19, {"glm-4.6", "glm-4.7", "glm-5"}),
        ("minimax", 10, {"MiniMax-M2", "MiniMax-M2.1"}),
        ("perplexity", 6, {"sonar", "sonar-pro"}),
        ("cohere", 5, {"command-a-03-2025"}),
        ("meta", 5, {"muse-spark-1.1"}),
        ("aws", 3, {"amazon.nova-pro-v1:0"}),
        ("azure", 4, {"phi-4"}),
    ],
)
def test_the_recorded_prices_cover_the_models_that_people_use(
    maker: str, models: int, some: set[str]
) -> None:
    assert len(RECORDED[maker]) >= models
    assert some <= RECORDED[maker].keys()


def test_models_that_ccusage_guesses_are_not_recorded() -> None:
    assert "o3" not in RECORDED["openai"]
    assert "gemini-2.5-pro-preview-05-06" not in RECORDED["google"]
    assert "grok-3-fast" not in RECORDED["x-ai"]


def test_the_installed_ccusage_has_the_same_prices() -> None:
    executable = os.environ.get("BRANCHLINE_TEST_CCUSAGE")
    if not executable or not shutil.which(executable):
        pytest.skip("BRANCHLINE_TEST_CCUSAGE does not name the executable of ccusage 20")

    result = subprocess.run([sys.executable, SCRIPT, executable], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("model", CORRECTIONS)
def test_every_correction_changes_a_price_and_has_a_reason(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    correction = CORRECTIONS[model]
    sizes = (0, len(CONTEXT_SIZES))
    corrected = [PriceList().rates(model, size=size) for size in sizes]
    monkeypatch.delitem(CORRECTIONS, model)
    _published.cache_clear()

    public = [PriceList().rates(model, size=size) for size in sizes]

    rates = corrected[0]
    assert rates is not None
    assert correction.reason
    assert corrected != public
    for kind in ("input", "output", "cache_read", "cache_write"):
        if (rate := getattr(correction, kind)) is not None:
            assert getattr(rates, kind) == pytest.approx(rate / 1e6)
    assert (rates.beyond is None) == (correction.beyond is None)


def test_no_price_depends_on_the_hour() -> None:
    from genai_prices import data
    from genai_prices.types import TimeOfDateConstraint

    hourly = {
        f"{provider.id}/{model.id}"
        for provider in data.providers
        for model in provider.models
        if isinstance(model.prices, list)
        if any(isinstance(price.constraint, TimeOfDateConstraint) for price in model.prices)
    }

    assert hourly
    for model in hourly:
        correction = CORRECTIONS[model]
        assert None not in (correction.input, correction.output, correction.cache_read)


@pytest.mark.parametrize(
    ("recorded", "model"),
    [
        ("google/gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("gemini/gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("google-vertex/gemini-2.0-flash", "google/gemini-2.0-flash"),
        ("google-gemini-cli/gemini-3-pro-preview", "google/gemini-3-pro-preview"),
        ("xai/grok-4.3", "x-ai/grok-4.3"),
        ("anthropic/grok-4.3", "x-ai/grok-4.3"),
        ("xai/grok-4.3-20260401", "x-ai/grok-4.3"),
        ("moonshot/kimi-k2", "moonshotai/kimi-k2"),
        ("kimi/kimi-k2-thinking", "moonshotai/kimi-k2-thinking"),
        ("anthropic/deepseek-chat", "deepseek/deepseek-chat"),
        ("anthropic/deepseek/deepseek-chat", "deepseek/deepseek-chat"),
        ("deepseek/deepseek-v4-pro-1101", "deepseek/deepseek-v4-pro"),
        ("anthropic/glm-4.6", "zai/glm-4.6"),
        ("zai-coding-plan/glm-5.2", "zai/glm-5.2"),
        ("anthropic/MiniMax-M3", "minimax/minimax-m3"),
        ("other/sonar-pro", "perplexity/sonar-pro"),
        ("amazon-bedrock/amazon.nova-pro-v1:0", "aws/amazon.nova-pro-v1:0"),
        ("codestral-2508", "mistral/codestral-2508"),
        ("some/gateway/mistral/codestral-2508", "mistral/codestral-2508"),
    ],
)
def test_a_model_has_its_price_under_the_names_that_agents_record(recorded: str, model: str) -> None:
    rates = PriceList().rates(model)

    assert rates is not None
    assert PriceList().rates(recorded) == rates


def test_a_fee_for_each_request_is_not_part_of_the_price_of_a_token() -> None:
    rates = PriceList().rates("perplexity/sonar-pro")

    assert rates is not None
    assert (rates.input, rates.output) == pytest.approx((3e-6, 15e-6))


def test_cached_input_without_a_rate_costs_a_tenth_except_at_openai() -> None:
    cohere, openai = PriceList().rates("cohere/command-a"), PriceList().rates("openai/gpt-4")

    assert cohere is not None
    assert cohere.cache_read == pytest.approx(cohere.input / 10)
    assert openai is not None
    assert openai.cache_read == pytest.approx(openai.input)


def test_cache_writes_without_a_rate_cost_what_input_costs() -> None:
    rates = PriceList().rates("mistral/mistral-large-latest")

    assert rates is not None
    assert rates.cache_write == rates.cache_write_1h == rates.input


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
    assert price("x-ai/grok-4.3", 0, 0, 200 * K, 0, 0) == pytest.approx(0.025)
    assert price("x-ai/grok-4.3", 0, 0, 201 * K, 0, 0) == pytest.approx(0.0804)


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


@pytest.mark.parametrize("provider", ["ollama", "LMStudio", "my-local-models", "my-gateway/ollama"])
def test_a_local_runtime_has_no_price(provider: str) -> None:
    assert PriceList().rates("gpt-oss-20b") is not None
    assert PriceList().rates(f"{provider}/gpt-oss-20b") is None
