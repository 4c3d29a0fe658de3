"""``repair``: a mended copy beside a damaged file. The damaged file is never touched."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import click

from branchline.cli.files import require_free, write_new
from branchline.cli.findings import read_anything
from branchline.cli.options import command
from branchline.cli.output import Output, remark
from branchline.cli.targets import file_named
from branchline.cli.words import count, size_words
from branchline.errors import NotASession

if TYPE_CHECKING:
    from branchline.cli.mending import Mended

__all__ = ["repair_command"]

_SUFFIX = ".jsonl"


@command(
    "repair",
    examples="""
    branchline repair broken.jsonl               writes broken.repaired.jsonl
    branchline repair broken.jsonl -o mended.jsonl
    """,
)
@click.argument("session", metavar="PATH")
@click.option("-o", "--output", metavar="OUT", help="The new file (default: PATH with .repaired).")
def repair_command(out: Output, session: str, output: str | None) -> None:
    """Write a sound copy of a damaged session.

    The old file stays as it is. Every entry that can be read is in the new file, byte for byte but for
    links that had to be guessed. What cannot be read is kept in a file of its own, .unreadable.txt.
    """
    from branchline.tree import severity

    path = file_named(session)
    stem = path.removesuffix(_SUFFIX)
    target = os.path.abspath(output) if output is not None else f"{stem}.repaired{_SUFFIX}"
    rest = f"{(target if output is not None else path).removesuffix(_SUFFIX)}.unreadable.txt"
    findings = read_anything(path)[1]
    if not any(severity(finding.kind) != "note" for finding in findings):
        if out.json:
            out.result("repair", _fields(path, None, None, None))
        else:
            out.line(f"{path} is not damaged; nothing was written")
        return
    require_free(target)
    require_free(rest)
    mended = _write(path, target, rest)
    if out.json:
        out.result("repair", _fields(path, target, rest if mended.asides else None, mended))
        return
    out.line(f"wrote {target} with all {count(mended.entries, 'readable entry', 'readable entries')}")
    if mended.header_made:
        out.line("  the header is new: the old one could not be read")
    if mended.changes:
        out.line(f"  {count(len(mended.changes), 'entry', 'entries')} with links that had to be guessed")
    if mended.asides:
        size = size_words(sum(len(aside.data) for aside in mended.asides))
        out.line(f"  {count(len(mended.asides), 'piece')} that cannot be used ({size}): {rest}")
    remark(f"{path} is as it was")


def _write(path: str, target: str, rest: str) -> Mended:
    from branchline.cli.mending import mend, require_same
    from branchline.clock import SystemClock
    from branchline.formats import PI, Transcript
    from branchline.log import FileLog

    with FileLog(path) as log:
        old = Transcript(PI, log.read, path)
        if old.reading.header is None and not len(old.tree):
            raise NotASession(f"cannot repair {path}: {old.reading.read_only}")
        key = os.path.basename(path).removesuffix(_SUFFIX)
        mended = mend(old, key=key, spare_id=SystemClock().session_id())

        def complete(new_path: str) -> None:
            with FileLog(new_path) as copy:
                require_same(old, Transcript(PI, copy.read, new_path))

        if mended.asides:
            write_new(rest, _listing(path, mended))
        try:
            write_new(target, mended.data, check=complete)
        except BaseException:
            if mended.asides:
                with contextlib.suppress(OSError):
                    os.unlink(rest)
            raise
    return mended


def _listing(path: str, mended: Mended) -> bytes:
    """What could not be used, each piece under a line that says where it was."""
    name = os.path.basename(path).encode("utf-8", "replace")
    pieces = [b"# What could not be read of " + name + b", piece by piece, byte for byte\n"]
    for aside in mended.asides:
        where = f"\n# line {aside.line}, byte {aside.offset}, {len(aside.data)} bytes: {aside.reason}\n"
        pieces += [where.encode("utf-8", "replace"), aside.data, b"\n"]
    return b"".join(pieces)


def _fields(path: str, target: str | None, rest: str | None, mended: Mended | None) -> dict[str, object]:
    return {
        "path": path,
        "output": target,
        "unreadable": rest,
        "entries": None if mended is None else mended.entries,
        "header_made": mended is not None and mended.header_made,
        "changed": [
            {"entry": change.entry, "line": change.line, "fields": change.fields}
            for change in (mended.changes if mended is not None else ())
        ],
        "aside": [
            {"line": aside.line, "offset": aside.offset, "size": len(aside.data), "reason": aside.reason}
            for aside in (mended.asides if mended is not None else ())
        ],
    }
