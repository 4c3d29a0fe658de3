"""Extensions from other packages: plugins, whose hooks flows call, and file formats."""

from typing import TYPE_CHECKING, Any

from branchline import _lazy

if TYPE_CHECKING:
    from branchline.plugins.formats import BrokenFormat, InstalledFormats, installed_formats
    from branchline.plugins.manager import GROUP, Observable, Plugin, Plugins, hookimpl

__all__ = [
    "GROUP",
    "BrokenFormat",
    "InstalledFormats",
    "Observable",
    "Plugin",
    "Plugins",
    "hookimpl",
    "installed_formats",
]

_LAZY = {
    "formats": ("BrokenFormat", "InstalledFormats", "installed_formats"),
    "manager": ("GROUP", "Observable", "Plugin", "Plugins", "hookimpl"),
}


def __getattr__(name: str) -> Any:
    """Load pluggy only when plugins are used, not when a file is opened."""
    return _lazy.lazy_attribute(__name__, _LAZY, name)
