"""Methods of a session that call the use cases of :mod:`branchline.actions`.

The use cases are in a higher layer, so each method imports its own when it is called. This module is the one
place of the package that may do so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, cast

from branchline.session.lock import serialized

if TYPE_CHECKING:
    from branchline.actions.check import FileReport
    from branchline.actions.convert import ConvertResult
    from branchline.actions.export import ExportFormat, ExportResult
    from branchline.actions.graft import GraftResult
    from branchline.actions.named_branches import NamedBranch
    from branchline.actions.operations import Operation
    from branchline.session.session import Session

__all__ = ["SessionShortcuts"]

_Path = str | os.PathLike[str]


class SessionShortcuts:
    """Export, convert, check, graft, squash, undo and redo, as methods."""

    @serialized
    def export(
        self,
        path: _Path,
        *,
        format: ExportFormat | None = None,  # noqa: A002
        entry: str | None = None,
        branch: bool = False,
        portable: bool = False,
        redact: bool = True,
        first: str | None = None,
        tools: bool = True,
        thinking: bool = True,
        images: bool = True,
        force: bool = False,
    ) -> ExportResult:
        """Write the session to a new file, as Markdown, HTML or JSONL by its suffix, without secrets.

        See :func:`branchline.actions.export.export`.
        """
        from branchline.actions.export import ExportRequest, export  # noqa: PLC0415

        request = ExportRequest(
            format=format,
            entry=entry,
            branch=branch,
            portable=portable,
            redact=redact,
            first=first,
            tools=tools,
            thinking=thinking,
            images=images,
        )
        return export(cast("Session", self), path, request, force=force)

    @serialized
    def convert(
        self,
        to: str,
        *,
        scope: Literal["tree", "path", "branches"] = "tree",
        entry: str | None = None,
        output: _Path | None = None,
        install: bool = False,
        same_id: bool = False,
        lossy: bool = False,
        cwd: _Path | None = None,
    ) -> ConvertResult:
        """Write the session as a new file of another agent, with a fidelity report.

        See :func:`branchline.actions.convert.convert`.
        """
        from branchline.actions.convert import ConvertRequest, convert  # noqa: PLC0415

        request = ConvertRequest(
            to=to,
            scope=scope,
            entry=entry,
            output=output,
            install=install,
            same_id=same_id,
            lossy=lossy,
            cwd=cwd,
        )
        return convert(cast("Session", self), request)

    def graft(
        self, first: str, last: str | None = None, *, source: Session | None = None, onto: str | None = None
    ) -> GraftResult:
        """Copy a turn, or the entries from ``first`` to ``last``, below ``onto`` (default: the leaf).

        See :func:`branchline.actions.graft.graft`.
        """
        from branchline.actions.graft import graft  # noqa: PLC0415

        return graft(cast("Session", self), first, last, source=source, onto=onto)

    @serialized
    def squash(self, first: str, last: str, summary: str) -> GraftResult:
        """Replace a range of the current path by a summary, on a new branch.

        See :func:`branchline.actions.graft.squash`.
        """
        from branchline.actions.graft import squash  # noqa: PLC0415

        return squash(cast("Session", self), first, last, summary)

    @serialized
    def name_branch(self, name: str, entry: str | None = None) -> NamedBranch:
        """Start a named branch at an entry (default: the leaf) and move there."""
        from branchline.actions.named_branches import name_branch  # noqa: PLC0415

        return name_branch(cast("Session", self), name, entry)

    @serialized
    def named_branches(self) -> list[NamedBranch]:
        """Return the named branches with their tips, most recently changed first."""
        from branchline.actions.named_branches import named_branches  # noqa: PLC0415

        return named_branches(cast("Session", self))

    @serialized
    def operations(self) -> list[Operation]:
        """Return the operations on the session other than messages, in order."""
        from branchline.actions.operations import operations  # noqa: PLC0415

        return operations(cast("Session", self))

    @serialized
    def undo(self) -> Operation:
        """Undo the last operation by appending its inverse. Raises ValueError if there is none."""
        from branchline.actions.operations import undo  # noqa: PLC0415

        return undo(cast("Session", self))

    @serialized
    def redo(self) -> Operation:
        """Redo the operation that was undone last. Raises ValueError if there is none."""
        from branchline.actions.operations import redo  # noqa: PLC0415

        return redo(cast("Session", self))

    @serialized
    def check(self) -> FileReport:
        """Check the session's file for damage, and against its seal. Changes nothing."""
        from branchline.actions.check import check_session  # noqa: PLC0415

        return check_session(cast("Session", self))
