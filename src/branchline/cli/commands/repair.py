"""``repair``: a mended copy beside a damaged file. The damaged file is never touched."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import click

from branchline.cli.file_report import transcript_of
from branchline.cli.files import require_new_path, write_new
from branchline.cli.options import command
from branchline.cli.output import Output, remark
from branchline.cli.resolver import resolve_path
from branchline.cli.words import count, format_size
from branchline.errors import NotASession, NotSupported
from branchline.formats.suffixes import suffix_of, without_suffix

if TYPE_CHECKING:
    from branchline.cli.mending import RepairResult
    from branchline.formats import EntryLog
    from branchline.log import FileLog

__all__ = ["repair_command"]


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
    from branchline.log import FileLog

    path = resolve_path(session)
    target = f"{without_suffix(path)}.repaired{suffix_of(path)}"
    target = target if output is None else os.path.abspath(output)
    rest = f"{without_suffix(path if output is None else target)}.unreadable.txt"
    with FileLog(path) as log:
        old, mended = _mended(log, path)
        if not mended.needed:
            if out.json:
                out.result("repair", _fields(path, None, None, mended))
            else:
                out.line(f"there is nothing to mend in {path}; nothing was written")
            return
        _write(old, mended, path, target, rest)
    if out.json:
        out.result("repair", _fields(path, target, rest if mended.asides else None, mended))
        return
    out.line(f"wrote {target} with all {count(mended.entries, 'readable entry', 'readable entries')}")
    if mended.header_made:
        out.line("  the header is new: the old one could not be read")
    if mended.upgraded:
        ours = old.format.name == "pi"
        versions = "the old file is of version 1, the new one of version 3: " if ours else ""
        out.line(f"  {versions}each entry has an id now")
    elif mended.changes:
        out.line(f"  {count(len(mended.changes), 'entry', 'entries')} with links that had to be guessed")
    if mended.asides:
        size = format_size(sum(len(aside.data) for aside in mended.asides))
        out.line(f"  {count(len(mended.asides), 'piece')} that cannot be used ({size}): {rest}")
    remark(f"{path} is as it was; if you do not need it any more, `branchline rm` moves it to the trash")


def _mended(log: FileLog, path: str) -> tuple[EntryLog, RepairResult]:
    """The reading of a damaged file, and the file that is to be written."""
    from branchline.cli.mending import repair_native
    from branchline.clock import SystemClock, iso

    old = transcript_of(log, path)
    if old.reading.header is None and not len(old.tree):
        raise NotASession(f"cannot repair {path}: {old.reading.read_only}")
    if not old.format.writable:
        raise NotSupported(
            f"cannot repair {path}: sessions of {old.format.name} are read here, not written; "
            "`branchline fork` makes one of ours of what can be read"
        )
    key, clock = without_suffix(os.path.basename(path)), SystemClock()
    if old.format.name == "pi":
        return old, repair_native(old, key=key, spare_id=clock.session_id())
    from branchline.cli.mending_others import repair_foreign

    return old, repair_foreign(old, key=key, spare_id=clock.session_id(), now=iso(clock.now()))


def _write(old: EntryLog, mended: RepairResult, path: str, target: str, rest: str) -> None:
    """Write the new file, and beside it what is not in it; both or none."""
    from branchline.cli.mending import require_same
    from branchline.formats import EntryLog
    from branchline.log import FileLog

    def complete(new_path: str) -> None:
        with FileLog(new_path) as copy:
            require_same(old, EntryLog(old.format, copy.read, new_path))

    require_new_path(target)
    if mended.asides:
        write_new(rest, _listing(path, mended))
    try:
        write_new(target, mended.data, check=complete)
    except BaseException:
        if mended.asides:
            with contextlib.suppress(OSError):
                os.unlink(rest)
        raise


def _listing(path: str, mended: RepairResult) -> bytes:
    """What could not be used, each piece under a line that says where it was."""
    name = os.path.basename(path).encode("utf-8", "replace")
    pieces = [b"# What could not be read of " + name + b", piece by piece, byte for byte\n"]
    for aside in mended.asides:
        where = f"\n# line {aside.line}, byte {aside.offset}, {len(aside.data)} bytes: {aside.reason}\n"
        pieces += [where.encode("utf-8", "replace"), aside.data, b"\n"]
    return b"".join(pieces)


def _fields(
    path: str, target: str | None, rest: str | None, mended: RepairResult | None
) -> dict[str, object]:
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
