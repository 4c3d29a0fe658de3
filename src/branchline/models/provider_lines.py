"""Providers of models as lines: which can be used now, and what each of the others still needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from branchline.models.providers import ProviderStatus
from branchline.views.spans import Line, Span, make_line

__all__ = ["provider_lines"]

_SHOWN = 3


def provider_lines(providers: Iterable[ProviderStatus]) -> Iterator[Line]:
    """One line per provider, those that are ready first."""
    found = sorted(providers, key=lambda one: not one.ready)
    room = max((len(one.name) for one in found), default=0)
    for one in found:
        models = ", ".join(one.models[:_SHOWN]) + (", …" if len(one.models) > _SHOWN else "")
        where = f"  {one.base_url}" if one.base_url else ""
        yield make_line(
            Span(f"{one.name:<{room}}  ", "model" if one.ready else "dim"),
            Span("ready", "good") if one.ready else Span(one.needs or "", "warning"),
            Span(f"{where}  {models}".rstrip() if one.ready else where, "dim"),
        )
