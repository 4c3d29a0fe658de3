"""``plugins``: installed plugins, their hooks and their problems."""

from __future__ import annotations

import click

from branchline.cli.options import command
from branchline.cli.output import Output, paint, remark

__all__ = ["plugins_command"]


@command(
    "plugins",
    examples="""
    branchline plugins
    branchline plugins --json
    """,
)
def plugins_command(out: Output) -> None:
    """List installed plugins, the hooks that they implement, and their problems.

    Exits with 1 if a plugin cannot be used.
    """
    import msgspec

    from branchline.plugins import Plugins

    plugins = Plugins.load()
    if out.json:
        found = {"plugins": plugins.installed, "problems": plugins.problems}
        out.result("plugins", msgspec.to_builtins(found))
    else:
        for plugin in plugins.installed:
            package = "" if plugin.package is None else f"  {plugin.package} {plugin.version}"
            out.row(paint("title", plugin.name), paint("dim", package), "  ", ", ".join(plugin.hooks))
        if not plugins.installed and not plugins.problems:
            remark("no plugins installed")
        for problem in plugins.problems:
            where = f" ({problem.hook})" if problem.hook else ""
            out.line(paint("error", f"{problem.plugin}{where}: {problem.message}"))
    if plugins.problems:
        click.get_current_context().exit(1)
