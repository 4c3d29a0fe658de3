"""Sessions of Operator: read, and written as Operator writes them."""

from branchline.formats.operator.format import OPERATOR

__all__ = ["OPERATOR", ""]
