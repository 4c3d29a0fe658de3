"""Prices of tokens: rates per model, from genai-prices, our corrections of it and the user's own list.

The data ships with that package; nothing is downloaded. A model in neither list has no price, which differs
from a price of zero.

Some models cost more in long calls, in one of two ways: all tokens of a request above a certain size, or the
tokens of one kind above :data:`FULL_RATE_TOKENS`. Sums over calls therefore keep the size classes of requests
apart, and the tokens beyond that number.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from branchline.context.price_corrections import CORRECTIONS, Correction
from branchline.errors import InvalidArgument

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

__all__ = [
    "CONTEXT_SIZES",
    "FULL_RATE_TOKENS",
    "PriceList",
    "Rates",
    "is_price",
    "parse_price",
    "size_class",
    "tokens_beyond",
]

CONTEXT_SIZES = (100_000, 128_000, 200_000, 256_000, 272_000, 512_000)
"""The request sizes above which some model costs more."""
FULL_RATE_TOKENS = 200_000
"""The tokens of one kind in one call above which some models cost more."""
_MILLION = 1_000_000
_PROBE = 1_000
_LOCAL = ("ollama", "lmstudio", "lm-studio", "llama", "vllm", "mlx", "local")
"""Parts of the names of providers that run models on the user's own machine, at no price."""
_MAKERS = (
    ("glm-", "zai"),
    ("sonar", "perplexity"),
    ("trinity-", "arcee"),
    ("amazon.", "aws"),
    ("phi-", "azure"),
    ("mai-", "github-copilot"),
)
"""Beginnings of model names by which genai-prices finds no maker, or only the Chinese price list of Z.ai."""
_CACHED_PART = 0.1
"""What cached input costs of the price of input where genai-prices has no rate for it, as in ccusage. OpenAI
has no discount for such models."""


class Rates(NamedTuple):
    """US dollars for one token of each kind."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float
    beyond: Rates | None = None
    """The rates of tokens above FULL_RATE_TOKENS in one call; None where they are the same."""

    def cost(
        self,
        input: float,  # noqa: A002
        output: float,
        cache_read: float,
        cache_write: float,
        cache_write_1h: float = 0.0,
        *,
        beyond: Sequence[float] = (),
    ) -> float:
        """Return the price of these tokens; tokens cached for an hour are part of ``cache_write``.

        ``beyond`` are those of them that :func:`tokens_beyond` counts, in the same order.
        """
        cost = (
            input * self.input
            + output * self.output
            + cache_read * self.cache_read
            + max(0.0, cache_write - cache_write_1h) * self.cache_write
            + cache_write_1h * self.cache_write_1h
        )
        if self.beyond is not None and any(beyond):
            cost += self.beyond.cost(*beyond) - self.cost(*beyond)
        return cost


def size_class(context: float) -> int:
    """Return how many of the sizes in CONTEXT_SIZES a request of so many tokens exceeds."""
    return bisect_left(CONTEXT_SIZES, context)


def tokens_beyond(
    input: float,  # noqa: A002
    output: float,
    cache_read: float,
    cache_write: float,
    cache_write_1h: float,
) -> tuple[float, float, float, float, float]:
    """Return the tokens of each kind above FULL_RATE_TOKENS in one call; both cache writes are kinds."""
    kinds = (input, output, cache_read, cache_write - cache_write_1h, cache_write_1h)
    given, spent, read, short, hour = (max(0.0, kind - FULL_RATE_TOKENS) for kind in kinds)
    return given, spent, read, short + hour, hour


class PriceList:
    """Rates by ``provider/model``; the user's own come first.

    ``own`` are texts such as ``acme/one=3:15:0.3:3.75``: dollars for a million tokens of input, output, cache
    read and cache write.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._own = dict(map(parse_price, own))

    def rates(self, model: str, *, size: int = 0) -> Rates | None:
        """Return the rates of a model for requests of a :func:`size_class`; None if unknown."""
        found = self._own.get(model) or self._own.get(model.partition("/")[2])
        return found or _published(model, size)

    def of_call(self, model: str, tokens: Sequence[float]) -> float | None:
        """Return the price of one call; None if it is unknown.

        ``tokens`` are in the order of :class:`Rates`.
        """
        given, spent, read, write, hour = tokens
        size, beyond = size_class(given + read + write), tokens_beyond(given, spent, read, write, hour)
        return self.of_calls(model, tokens, size=size, beyond=beyond)

    def of_calls(
        self, model: str, tokens: Sequence[float], *, size: int, beyond: Sequence[float]
    ) -> float | None:
        """Return the price of calls of one :func:`size_class` together; None if it is unknown."""
        if not any(tokens):
            return None  # only a total was recorded
        rates = self.rates(model.strip("/"), size=size)
        return None if rates is None else rates.cost(*tokens, beyond=beyond)


def parse_price(text: str) -> tuple[str, Rates]:
    """Parse a model and its rates. Raises ValueError if the text is invalid."""
    model, equals, numbers = text.rpartition("=")
    try:
        values = [float(number) / _MILLION for number in numbers.split(":")]
    except ValueError:
        values = []
    if not equals or not model or not 2 <= len(values) <= 4 or min(values) < 0:
        raise InvalidArgument(
            f"{text!r} is not a valid price; write provider/model=input:output:cache_read:cache_write"
        )
    given, spent, *cached = values
    read = cached[0] if cached else given
    write = cached[1] if len(cached) > 1 else given
    return model, Rates(given, spent, read, write, write)


def is_price(text: str) -> bool:
    """Return whether a text is a valid price."""
    try:
        parse_price(text)
    except ValueError:
        return False
    return True


@cache
def _published(model: str, size: int) -> Rates | None:
    try:
        from genai_prices import Usage  # noqa: PLC0415  slow to import, optional
    except ImportError:
        return None
    try:
        found, name = _find(model)
        maker = found.provider.id
        names = (f"{maker}/{name}".lower(), f"{maker}/{found.model.id}".lower())
        correction = next((CORRECTIONS[one] for one in names if one in CORRECTIONS), Correction(""))
        base = _typical(size if correction.beyond is None else 0)

        def price(more: int = 0, **kinds: int) -> float:
            usage = Usage(input_tokens=base + more, **kinds)
            return float(found.model.calc_price(usage, found.provider).total_price)

        alone = price()
        given = (price(_PROBE) - alone) / _PROBE
        spent = (price(output_tokens=_PROBE) - alone) / _PROBE
        read = given + (price(cache_read_tokens=_PROBE) - alone) / _PROBE
        write = given + (price(cache_write_tokens=_PROBE) - alone) / _PROBE
        hour = given + (price(cache_write_tokens=_PROBE, cache_write_1h_tokens=_PROBE) - alone) / _PROBE
    except Exception:  # noqa: BLE001  LookupError for unknown models; other errors mean no price too
        return None
    if maker != "openai" and math.isclose(read, given):
        read = given * _CACHED_PART
    return _corrected(Rates(given, spent, read, write, hour), correction, size)


def _find(model: str) -> tuple[PriceCalculation, str]:
    """Return what a model is to genai-prices, and the name that it was found under. Raises LookupError."""
    from genai_prices import Usage, calc_price  # noqa: PLC0415  slow to import, optional

    for seller, name in _references(model):
        try:
            return calc_price(Usage(input_tokens=_PROBE), model_ref=name, provider_id=seller), name
        except LookupError:
            continue
    raise LookupError(model)


def _references(model: str) -> Iterator[tuple[str | None, str]]:
    """Yield under which seller and name a model may have a price.

    If its provider has none, as a gateway or a name of the user's own, the price of its maker is the best
    estimate.
    """
    provider, slash, rest = model.partition("/")
    if slash:
        yield provider or None, rest
    path, _, name = model.rpartition("/")
    if any(part in path.lower() for part in _LOCAL):
        return
    if "/" in path:
        yield path.rpartition("/")[2], name
    for start, maker in _MAKERS:
        if name.lower().startswith(start):
            yield maker, name
    yield None, name


def _typical(size: int) -> int:
    """Return the size of a typical request of a class."""
    if not size:
        return 4 * _PROBE
    if size == len(CONTEXT_SIZES):
        return 2 * CONTEXT_SIZES[-1]
    return (CONTEXT_SIZES[size - 1] + CONTEXT_SIZES[size]) // 2


def _corrected(rates: Rates, correction: Correction, size: int) -> Rates:
    given, spent, read = correction.input, correction.output, correction.cache_read
    if correction.long is not None and size > CONTEXT_SIZES.index(FULL_RATE_TOKENS):
        given, spent, read = correction.long

    def rate(known: float, new: float | None) -> float:
        return known if new is None else new / _MILLION

    fresh = rate(rates.input, given)
    write, hour = (
        fresh if math.isclose(known, rates.input) else known
        for known in (rates.cache_write, rates.cache_write_1h)
    )
    return Rates(
        input=fresh,
        output=rate(rates.output, spent),
        cache_read=rate(rates.cache_read, read),
        cache_write=rate(write, correction.cache_write),
        cache_write_1h=hour,
        beyond=None if correction.beyond is None else _per_token(*correction.beyond),
    )


def _per_token(*dollars: float) -> Rates:
    given, spent, read, write, hour = (one / _MILLION for one in dollars)
    return Rates(given, spent, read, write, hour)
