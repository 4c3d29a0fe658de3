"""Incremental usage totals of a session."""

from __future__ import annotations

from branchline.context import UsageBreakdown, UsageTotals, totals, usage_rows
from branchline.context.prices import PriceList
from branchline.session import Session

__all__ = ["UsageMeter"]


class UsageMeter:
    """The usage totals of one session: computed once, then updated with new entries."""

    def __init__(self, session: Session, prices: PriceList | None = None) -> None:
        self._session = session
        self._prices = prices
        self._tree = session.index
        self._counted = 0
        self._totals = UsageTotals()

    def read(self) -> UsageTotals:
        """Return tokens and cost of all entries, own and inherited separately."""
        session = self._session
        tree = session.index
        if not self._counted or tree is not self._tree:
            self._totals = totals(
                session.transcript, inherited_entries=session.inherited_entries, prices=self._prices
            )
        else:
            for row in usage_rows(session.transcript, range(self._counted, len(tree)), prices=self._prices):
                spent = UsageBreakdown(total=row.usage, models={row.model: row.usage})
                self._totals = UsageTotals(own=self._totals.own + spent, inherited=self._totals.inherited)
        self._tree, self._counted = tree, len(tree)
        return self._totals
