"""The shape of a session: index, links, findings, outline, comparison."""

from branchline.tree.backward import BackwardLinker
from branchline.tree.compare import Comparison, compare_paths, compare_sessions
from branchline.tree.findings import Finding, Kind, Severity, severity
from branchline.tree.index import ROOT, Tree
from branchline.tree.links import Linker, Oddity
from branchline.tree.nodes import TreeNode, outline_nodes, walk_nodes
from branchline.tree.outline import FILTERS, Filter, Jump, Outline, OutlineRow
from branchline.tree.source import EntrySource

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
    "Linker",
    "Oddity",
    "Outline",
    "OutlineRow",
    "Severity",
    "Tree",
    "TreeNode",
    "compare_paths",
    "compare_sessions",
    "outline_nodes",
    "severity",
    "walk_nodes",
]
