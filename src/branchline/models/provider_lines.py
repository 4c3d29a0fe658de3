"""Model providers as lines of text: which are ready, and what the others still need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from branchline.models.providers import ProviderStatus
from branchline.views.spans import Line, Span, make_line

__all__ = ["provider_lines"]

_MAX_MODELS = 3


def provider_lines(providers: Iterable[ProviderStatus]) -> Iterator[Line]:
    """Yield one line per provider, ready ones first."""
    found = sorted(providers, key=lambda one: not one.ready)
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        models = ", ".join(one.models[:_MAX_MODELS]) + (", …" if len(one.models) > _MAX_MODELS else "")
        where = f"  {one.base_url}" if one.base_url else ""
        yield make_line(
            Span(f"{one.name:<{width}}  ", "model" if one.ready else "dim"),
            Span("ready", "good") if one.ready else Span(one.needs or "", "warning"),
            Span(f"{where}  {models}".rstrip() if one.ready else where, "dim"),
        )
