"""Work that blocks, done in a worker thread: what every async twin of the library is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["in_thread"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread(function: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs) -> _T:
    """What the function gives, without blocking the event loop meanwhile."""
    import asyncio  # noqa: PLC0415  who never waits should not pay for it

    return await asyncio.to_thread(function, *arguments, **options)
