"""Names of a package that are loaded when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["lazy_attribute"]


def lazy_attribute(package: str, modules: Mapping[str, tuple[str, ...]], name: str) -> Any:
    """Return the attribute of this name from the module of a package that has it, and keep it in the package.

    Called by the ``__getattr__`` of the package. No module may have the name of an attribute. Raises
    AttributeError if no module has it.
    """
    import importlib  # noqa: PLC0415

    for module, names in modules.items():
        if name in names:
            found = getattr(importlib.import_module(f"{package}.{module}"), name)
            setattr(sys.modules[package], name, found)
            return found
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
