"""The results as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Unit = Literal["s", "B", "%"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: the numbers of branchline and its peers and, if there is a goal, whether it is met.

    `ratio` is branchline's number divided by the first peer's, or by the baseline in the row's name;
    `wall_ratio` is the same for wall time. `met` is None without a goal or if it could not be checked.
    """

    name: str
    unit: Unit
    ours: float | None
    peers: dict[str, float | None] = field(default_factory=dict)
    ratio: float | None = None
    wall_ratio: float | None = None
    goal: str = ""
    met: bool | None = None
    remark: str = ""


def table(rows: Sequence[Row], peers: Sequence[str]) -> str:
    """Format right-aligned columns; the second peer comes last, because no goal refers to it."""
    first, *others = peers
    head = ["work", "branchline", first, "ratio", "wall", "goal", "met", *others, ""]
    lines = [head] + [
        [
            row.name,
            quantity(row.ours, row.unit),
            quantity(row.peers.get(first), row.unit),
            share_text(row.ratio),
            share_text(row.wall_ratio),
            row.goal,
            {True: "yes", False: "NO", None: "" if not row.goal else "?"}[row.met],
            *(quantity(row.peers.get(name), row.unit) for name in others),
            row.remark,
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    last = len(head) - 1
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index in (0, last) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def as_json(row: Row) -> dict[str, Any]:
    return {
        "work": row.name,
        "unit": {"s": "seconds", "B": "bytes", "%": "share"}[row.unit],
        "branchline": row.ours,
        **row.peers,
        "ratio": row.ratio,
        "wall_ratio": row.wall_ratio,
        "goal": row.goal or None,
        "met": row.met,
        "remark": row.remark or None,
    }


def quantity(value: float | None, unit: Unit) -> str:
    if value is None:
        return "-"
    if unit == "B":
        return f"{value / 1e6:.0f} MB"
    if unit == "%":
        return f"{value:.0%}"
    for limit, factor, name in ((1e-3, 1e6, "µs"), (1, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.{1 if value * factor < 100 else 0}f} {name}"
    return f"{value:.2f} s"


def share_text(ratio: float | None) -> str:
    """Format a ratio: 1/7.2 if branchline needs less, 1.13× if it needs more."""
    if ratio is None or ratio <= 0:
        return ""
    return f"1/{1 / ratio:.1f}" if ratio < 1 else f"{ratio:.2f}×"


def share_goal(share: float | None) -> str:
    if share is None:
        return ""
    return f"≤ 1/{1 / share:g}" if share < 1 else f"≤ {share:g}×"
