"""The details of a session: usage, models, tools, files, errors."""

from __future__ import annotations

import msgspec

from branchline.views.figures import CostFigure, CostState

__all__ = ["SessionDetails"]


class SessionDetails(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Totals of one session. Entries that a fork copied count in the session that they come from."""

    tokens: int | float | None = None
    """None if the agent records none."""
    cost: float | None = None
    """In dollars, recorded or estimated; None if it is unknown or counts elsewhere."""
    cost_state: CostState = "unknown"
    cost_is_partial: bool = False
    """Whether there are also tokens of models without a known price, so that the cost is too low."""
    estimated: bool = False
    """Whether a part of the cost was computed from public prices."""
    models: tuple[str, ...] = ()
    """As ``provider/model``, the most used first."""
    tools: dict[str, int] = {}
    """How often each tool was called, the most used first."""
    files: tuple[str, ...] = ()
    """The files that tool calls name, the most used first."""
    errors: int = 0
    """Failed tool calls and failed answers."""

    @property
    def cost_figure(self) -> CostFigure:
        return CostFigure(self.cost, self.cost_state, self.cost_is_partial)
