"""The model that writes summaries, as the settings name it, and what to say without one."""

from __future__ import annotations

import msgspec

__all__ = ["NO_MODEL", "SummaryModel"]

NO_MODEL = (
    "no model configured that could write it, and nothing was written: "
    "`branchline config set model provider/model` sets one; or write the summary yourself"
)


class SummaryModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model for summaries, as named in the settings. It is loaded when it is needed."""

    name: str
    base_url: str | None = None
