"""A conversation carried from one program's format into another's."""

from branchline.conversion.convert import Converted, branch_ends, convert, native_lines
from branchline.conversion.fidelity import Change, Fidelity

__all__ = ["Change", "Converted", "Fidelity", "branch_ends", "convert", "native_lines"]
