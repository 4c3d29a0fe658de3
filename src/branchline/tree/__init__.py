"""The shape of a session: index, links, findings, outline, comparison."""

from branchline.tree.findings import Finding, Kind, Severity, severity
from branchline.tree.index import ROOT, Tree
from branchline.tree.links import Linker, Oddity
from branchline.tree.source import EntrySource

__all__ = ["ROOT", "EntrySource", "Finding", "Kind", "Linker", "Oddity", "Severity", "Tree", "severity"]
