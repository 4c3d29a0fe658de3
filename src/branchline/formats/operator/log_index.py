"""What reading an Operator session tells beside the tree: tool results that share a line, and models."""

from __future__ import annotations

from collections.abc import Sequence

from branchline.context import ModelRef
from branchline.formats.log_index import LogIndex
from branchline.formats.operator.inherited_value import InheritedValue
from branchline.formats.operator.records import Result
from branchline.tree import BackwardLinker

__all__ = ["OperatorLogIndex"]


class OperatorLogIndex(LogIndex):
    """An index that also knows which tool result of a line an entry stands for."""

    def __init__(self) -> None:
        super().__init__("operator")
        self.linker = BackwardLinker(self.tree)
        self.documented = False
        """Whether the file has the form that Operator's documentation describes, not the one it writes."""
        self._tools: dict[int, str] = {}  # for each tool result, the name of the tool
        self._numbers: dict[int, int] = {}  # for each result that shares its line, which of them it is
        self.inner: set[int] = set()
        """Results that another one of the same line follows."""
        self.first_parts: dict[str, str] = {}
        """For the id of a line with several results, its first entry."""
        self.models: InheritedValue[ModelRef] = InheritedValue(self.tree)
        """The models that were chosen: no answer names its own."""

    def add_results(self, line_id: str, last: int, tools: Sequence[str]) -> None:
        """Record the results of one line, by the names of their tools; ``last`` is the entry of the last."""
        if len(tools) == 1:
            self._tools[last] = tools[0]
            return
        first = last - len(tools) + 1
        self._tools.update(enumerate(tools, first))
        self._numbers.update(zip(range(first, last + 1), range(len(tools)), strict=True))
        self.inner.update(range(first, last))
        self.first_parts[line_id] = self.tree.keys[first]

    def result(self, position: int) -> Result | None:
        """Which tool result an entry stands for."""
        name = self._tools.get(position)
        return None if name is None else Result(self._numbers.get(position, 0), name)
