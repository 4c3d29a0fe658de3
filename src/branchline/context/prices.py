"""Prices of tokens: rates per model, from genai-prices and the user's own list.

The data ships with that package; nothing is downloaded. A model in neither list has no price, which differs
from a price of zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

__all__ = ["LONG_CONTEXT", "PriceList", "Rates", "is_price", "parse_price"]

LONG_CONTEXT = 200_000
"""The request size above which some models cost more."""
_MILLION = 1_000_000
_PROBE = 1_000
_LOCAL = ("ollama", "lmstudio", "lm-studio", "llama", "vllm", "mlx", "local")
"""Parts of the names of providers that run models on the user's own machine, at no price."""


class Rates(NamedTuple):
    """US dollars for one token of each kind."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float

    def cost(
        self,
        input: float,  # noqa: A002
        output: float,
        cache_read: float,
        cache_write: float,
        cache_write_1h: float = 0.0,
    ) -> float:
        """Return the price of these tokens; tokens cached for an hour are part of ``cache_write``."""
        return (
            input * self.input
            + output * self.output
            + cache_read * self.cache_read
            + max(0.0, cache_write - cache_write_1h) * self.cache_write
            + cache_write_1h * self.cache_write_1h
        )


class PriceList:
    """Rates by ``provider/model``; the user's own come first.

    ``own`` are texts such as ``acme/one=3:15:0.3:3.75``: dollars for a million tokens of input, output, cache
    read and cache write.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._own = dict(map(parse_price, own))

    def rates(self, model: str, *, long: bool = False) -> Rates | None:
        """Return the rates of a model, for normal or very long contexts; None if unknown."""
        found = self._own.get(model) or self._own.get(model.partition("/")[2])
        return found or _published(model, long=long)


def parse_price(text: str) -> tuple[str, Rates]:
    """Parse a model and its rates. Raises ValueError if the text is invalid."""
    model, equals, numbers = text.rpartition("=")
    try:
        values = [float(number) / _MILLION for number in numbers.split(":")]
    except ValueError:
        values = []
    if not equals or not model or not 2 <= len(values) <= 4 or min(values) < 0:
        raise ValueError(
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
def _published(model: str, *, long: bool) -> Rates | None:
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415  slow to import, optional
    except ImportError:
        return None
    provider, slash, name = model.partition("/")
    if not slash:
        provider, name = "", model
    base = LONG_CONTEXT + 100_000 if long else 4 * _PROBE
    seller = provider or None

    def price(**more: int) -> float:
        usage = Usage(input_tokens=base, **more)
        return float(calc_price(usage, model_ref=name, provider_id=seller).total_price)

    try:
        try:
            price()
        except LookupError:
            # A gateway or a name of the user's own: the price of the model's maker is the best estimate.
            if any(part in provider.lower() for part in _LOCAL):
                return None
            seller = None
        alone = price()
        given = alone / base
        spent = (price(output_tokens=_PROBE) - alone) / _PROBE
        read = given + (price(cache_read_tokens=_PROBE) - alone) / _PROBE
        write = given + (price(cache_write_tokens=_PROBE) - alone) / _PROBE
        hour = given + (price(cache_write_tokens=_PROBE, cache_write_1h_tokens=_PROBE) - alone) / _PROBE
    except Exception:  # noqa: BLE001  LookupError for unknown models; other errors mean no price too
        return None
    return Rates(given, spent, read, write, hour)
