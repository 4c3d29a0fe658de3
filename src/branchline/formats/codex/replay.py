"""The rules of Codex's replay: where a rollback cuts, what a compaction keeps, what a turn spent."""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub
from typing import NamedTuple

from branchline.formats.codex.rows import CONTEXT, Info

__all__ = ["NO_SUMMARY", "TokenTotals", "difference", "keep_prompts", "rollback_position", "totals_from"]

NO_SUMMARY = "(no summary available)"
_KEPT = 80_000  # characters of prompts that an old compaction keeps: about 20 000 tokens


class TokenTotals(NamedTuple):
    """Running token totals."""

    input: int | float = 0
    cached: int | float = 0
    cache_write: int | float = 0
    output: int | float = 0
    reasoning: int | float = 0
    total: int | float = 0


def keep_prompts(prompts: Sequence[str]) -> list[str]:
    """Return the newest prompts that fit, in order; the oldest of them is truncated."""
    left = _KEPT
    kept: list[str] = []
    for prompt in reversed(prompts):
        if left <= 0:
            break
        kept.append(prompt[:left])
        left -= len(prompt)
    return kept[::-1]


def rollback_position(turn_places: Sequence[int], classes: Sequence[int], turns: int) -> int | None:
    """Return where in the history a rollback cuts; None if it removes nothing."""
    if not turns or not turn_places:
        return None
    cut = turn_places[max(len(turn_places) - turns, 0)]
    while cut > turn_places[0] and classes[cut - 1] == CONTEXT:
        cut -= 1
    return cut


def totals_from(info: Info | None) -> TokenTotals | None:
    """Return the running totals in a token count; None if it has none."""
    found = None if info is None else info.total_token_usage
    if found is None:
        return None
    return TokenTotals(
        found.input_tokens or 0,
        found.cached_input_tokens or 0,
        found.cache_write_input_tokens or 0,
        found.output_tokens or 0,
        found.reasoning_output_tokens or 0,
        found.total_tokens or 0,
    )


def difference(totals: TokenTotals, before: TokenTotals) -> TokenTotals:
    """Return the tokens spent since ``before``. Totals that fell were reset, as after a resume."""
    spent = TokenTotals(*map(sub, totals, before))
    return totals if min(spent) < 0 else spent
