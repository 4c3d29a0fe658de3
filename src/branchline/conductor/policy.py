"""Automatic behaviour of a conversation: compaction, retries and the tool-call limit."""

from __future__ import annotations

import msgspec

from branchline.compaction import KEEP_RECENT_TOKENS, RESERVE_TOKENS
from branchline.errors import ModelError

__all__ = ["Policy", "WindowBudget"]


class WindowBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The use of a context window: tokens reserved for the answer, and tokens kept by a compaction."""

    window: int
    reserve: int
    keep: int


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Automatic behaviour of a conversation.

    ``context_window`` overrides the window of the model; if neither is known, only an overflow triggers a
    compaction. ``reserve_tokens`` and ``keep_recent_tokens`` shrink with small windows unless they are given.
    ``retries`` limits how often a request is retried after a transient error (network, rate limit): first
    after ``retry_delay`` seconds, then with the delay doubled each time, unless the provider sends a delay.
    If that exceeds ``max_delay``, the request is not retried. ``max_rounds`` limits the rounds of tool calls
    in one turn.
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

    def budget(self, window: int | None) -> WindowBudget | None:
        """Return the token budget for a context window; None if its size is unknown."""
        window = self.context_window or window
        if not window:
            return None
        reserve = min(RESERVE_TOKENS, window // 4) if self.reserve_tokens is None else self.reserve_tokens
        return WindowBudget(window=window, reserve=reserve, keep=self._keep(window - reserve))

    def keep(self, window: int | None) -> int:
        """Return how many tokens a compaction keeps verbatim."""
        budget = self.budget(window)
        return self._keep(KEEP_RECENT_TOKENS * 2) if budget is None else budget.keep

    def delay(self, error: ModelError, attempt: int) -> float | None:
        """Return the seconds to wait after attempt number ``attempt`` failed; None to give up."""
        if not error.retryable or attempt > self.retries:
            return None
        wanted = self.retry_delay * 2 ** (attempt - 1) if error.retry_after is None else error.retry_after
        return wanted if wanted <= self.max_delay else None

    def _keep(self, available: int) -> int:
        if self.keep_recent_tokens is not None:
            return self.keep_recent_tokens
        return max(0, min(KEEP_RECENT_TOKENS, available // 2))
