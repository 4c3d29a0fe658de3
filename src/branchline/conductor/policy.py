"""Automatic behaviour of a conversation: compaction, retries and the tool-call limit."""

from __future__ import annotations

import msgspec

from branchline.compaction import KEEP_RECENT_TOKENS, RESERVE_TOKENS
from branchline.errors import ModelError

__all__ = ["Policy", "WindowBudget"]


class WindowBudget(msgspec.Struct, frozen=True, kw_only=True):
    """How a context window is used: what is left free for the answer, what a compaction keeps verbatim."""

    window: int
    reserve: int
    keep: int


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The habits of a conversation.

    ``context_window`` overrides what the model says; without either, only an overflow leads to a compaction.
    ``reserve_tokens`` and ``keep_recent_tokens`` are made smaller for small windows unless they are given.
    ``retries`` is how often a request that failed in passing (network, rate limit) is sent again, first after
    ``retry_delay`` seconds, then twice as many each time, unless the provider says how long; a provider that
    wants more than ``longest_delay`` is not waited for. ``max_rounds`` is how many times in one turn the
    model may call tools.
    """

    system_prompt: str = ""
    auto_compact: bool = True
    context_window: int | None = None
    reserve_tokens: int | None = None
    keep_recent_tokens: int | None = None
    retries: int = 3
    retry_delay: float = 2.0
    max_delay: float = 60.0
    max_rounds: int = 50
    max_tokens: int | None = None

    def room(self, window: int | None) -> WindowBudget | None:
        """Token budget for a context window; None if its size is unknown."""
        window = self.context_window or window
        if not window:
            return None
        reserve = min(RESERVE_TOKENS, window // 4) if self.reserve_tokens is None else self.reserve_tokens
        return WindowBudget(window=window, reserve=reserve, keep=self._keep(window - reserve))

    def keep(self, window: int | None) -> int:
        """How much a compaction keeps verbatim."""
        room = self.room(window)
        return self._keep(KEEP_RECENT_TOKENS * 2) if room is None else room.keep

    def delay(self, error: ModelError, attempt: int) -> float | None:
        """How long to wait after the attempt with this number failed; None when waiting is of no use."""
        if not error.retryable or attempt > self.retries:
            return None
        wanted = self.retry_delay * 2 ** (attempt - 1) if error.retry_after is None else error.retry_after
        return wanted if wanted <= self.max_delay else None

    def _keep(self, available: int) -> int:
        if self.keep_recent_tokens is not None:
            return self.keep_recent_tokens
        return max(0, min(KEEP_RECENT_TOKENS, available // 2))
