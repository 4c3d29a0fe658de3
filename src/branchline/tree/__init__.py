"""The shape of a session: index, links, findings, outline, comparison."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy
from branchline.tree.entry_source import EntrySource
from branchline.tree.findings import Finding, Kind, Severity, severity
from branchline.tree.index import ROOT, Tree, TreeColumns

if TYPE_CHECKING:
    from branchline.tree.backward_linker import BackwardLinker
    from branchline.tree.compare import Comparison, compare_paths, compare_sessions
    from branchline.tree.linker import Linker, LinkFinding
    from branchline.tree.nodes import TreeNode, walk_nodes
    from branchline.tree.outline import FILTERS, Filter, Jump, Outline, OutlineRow

__all__ = [
    "FILTERS",
    "ROOT",
    "BackwardLinker",
    "Comparison",
    "EntrySource",
    "Filter",
    "Finding",
    "Jump",
    "Kind",
    "LinkFinding",
    "Linker",
    "Outline",
    "OutlineRow",
    "Severity",
    "Tree",
    "TreeColumns",
    "TreeNode",
    "compare_paths",
    "compare_sessions",
    "severity",
    "walk_nodes",
]

_LATER = {
    "backward_linker": ("BackwardLinker",),
    "linker": ("Linker", "LinkFinding"),
    "compare": ("Comparison", "compare_paths", "compare_sessions"),
    "nodes": ("TreeNode", "walk_nodes"),
    "outline": ("FILTERS", "Filter", "Jump", "Outline", "OutlineRow"),
}


def __getattr__(name: str) -> Any:
    """Load a name on first access: searches link no entries, and agents neither draw nor compare trees."""
    return _lazy.lazy_attribute(__name__, _LATER, name)
