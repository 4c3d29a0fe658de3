"""A path of a session in the formats of training, evaluation and tracing tools.

Each module has one function from a :class:`~branchline.views.trajectories.turns.Trajectory` to JSON values,
and reads nothing. A trajectory is the whole history of a path: a compaction hides nothing in it.
"""

from __future__ import annotations

from branchline.views.trajectories.atif import atif
from branchline.views.trajectories.chat_lines import openai_line
from branchline.views.trajectories.otel import otel
from branchline.views.trajectories.turns import Trajectory, TrajectoryTurn, trajectory_of

__all__ = [
    "Trajectory",
    "TrajectoryTurn",
    "atif",
    "openai_line",
    "otel",
    "trajectory_of",
]
