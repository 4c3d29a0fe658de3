"""Convert sessions from one agent's format to another's."""

from branchline.conversion.convert import Converted, branch_tips, convert, native_lines, require_messages
from branchline.conversion.fidelity import Fidelity, FidelityNote

__all__ = [
    "Converted",
    "Fidelity",
    "FidelityNote",
    "branch_tips",
    "convert",
    "native_lines",
    "require_messages",
]
