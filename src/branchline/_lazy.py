"""Names of a package that are loaded when they are first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["lazy_attribute"]


def lazy_attribute(package: str, modules: Mapping[str, tuple[str, ...]], name: str) -> Any:
    """What the module of a package that has this name calls so; AttributeError when none has it.

    A package gives its ``__getattr__`` to this. No module may be called like one of the names.
    """
    import importlib  # noqa: PLC0415

    for module, names in modules.items():
        if name in names:
            return getattr(importlib.import_module(f"{package}.{module}"), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
