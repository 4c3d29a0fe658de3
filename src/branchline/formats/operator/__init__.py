"""Sessions of Operator: read, and written as Operator writes them."""

from branchline.formats.operator.format import OPERATOR, OperatorFormat

__all__ = ["OPERATOR", "OperatorFormat"]
