"""What other packages add: plugins, whose hooks flows call, and formats, whose files are opened like ours."""

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

_LATER = {
    "formats": ("BrokenFormat", "InstalledFormats", "installed_formats"),
    "manager": ("GROUP", "Observable", "Plugin", "Plugins", "hookimpl"),
}


def __getattr__(name: str) -> Any:
    """Load pluggy when a plugin is asked for, not when a file is opened."""
    return _lazy.lazy_attribute(__name__, _LATER, name)
