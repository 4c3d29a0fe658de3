"""Index of an Operator session: the tree, tool results that share a line, and models."""

from __future__ import annotations

from collections.abc import Sequence

from branchline.context import ModelRef
from branchline.formats.log_index import LogIndex
from branchline.formats.operator.inherited_value import InheritedValue
from branchline.formats.operator.records import Result
from branchline.tree import BackwardLinker

__all__ = ["OperatorLogIndex"]


class OperatorLogIndex(LogIndex):
    """Index that also tracks which tool result of a line an entry is."""

    def __init__(self) -> None:
        super().__init__("operator")
        self.linker = BackwardLinker(self.tree)
        self.documented = False
        """Whether the file follows Operator's documentation rather than what Operator writes."""
        self._tools: dict[int, str] = {}  # tool name of each tool result
        self._numbers: dict[int, int] = {}  # index of each result within its line, for results that share one
        self.inner: set[int] = set()
        """Results that are followed by another one in the same line."""
        self.first_parts: dict[str, str] = {}
        """For each line with several results: its id, and the id of its first entry."""
        self.models: InheritedValue[ModelRef] = InheritedValue(self.tree)
        """The selected models: answers do not name theirs."""

    def add_results(self, line_id: str, last: int, tools: Sequence[str]) -> None:
        """Record the results of one line by tool name; ``last`` is the entry of the last one."""
        if len(tools) == 1:
            self._tools[last] = tools[0]
            return
        first = last - len(tools) + 1
        self._tools.update(enumerate(tools, first))
        self._numbers.update(zip(range(first, last + 1), range(len(tools)), strict=True))
        self.inner.update(range(first, last))
        self.first_parts[line_id] = self.tree.keys[first]

    def result(self, position: int) -> Result | None:
        """Return which tool result an entry is."""
        name = self._tools.get(position)
        return None if name is None else Result(self._numbers.get(position, 0), name)
