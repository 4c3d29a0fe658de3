"""``rm``, ``restore`` and ``prune``: into the trash and out of it. Nothing here deletes."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import local_library, resolve_path
from branchline.cli.words import age, count, format_size
from branchline.errors import SessionNotFound
from branchline.formats.suffixes import SUFFIXES, has_suffix, suffix_of, without_suffix

if TYPE_CHECKING:
    from branchline.library import SessionLibrary
    from branchline.stores import TrashItem

__all__ = ["prune_command", "restore_command", "rm_command"]


@command("rm", examples="branchline rm 01a1ddf5\nbranchline restore            brings it back")
@session_argument(many=True)
@directory_option
def rm_command(out: Output, sessions: tuple[str, ...], directory: str | None) -> None:
    """Move sessions to the trash, from where `branchline restore` brings them back."""
    # All names are understood before the first file moves: a typing error removes nothing.
    paths = list(
        dict.fromkeys(_removable(resolve_path(session, directory, ours=True)) for session in sessions)
    )
    removed = [_remove(path) for path in paths]
    if out.json:
        fields = [{"path": path, "key": item.key, "token": item.token} for path, item in removed]
        out.result("rm", {"removed": fields})
        return
    for path, item in removed:
        out.line(f"moved {item.key} to the trash; undo: ", paint("title", _undo(path, item)))


def _removable(path: str) -> str:
    if not os.path.lexists(path):
        raise SessionNotFound(f"cannot remove {path}: there is no such file")
    if not has_suffix(path) or not os.path.isfile(path):
        endings = " or ".join(f"*{suffix}" for suffix in SUFFIXES)
        raise SessionNotFound(f"cannot remove {path}: it is not a session file ({endings})")
    return path


def _remove(path: str) -> tuple[str, TrashItem]:
    from branchline.library import SessionLibrary
    from branchline.stores import FilesStore

    folder, name = os.path.split(path)
    library, key = SessionLibrary(FilesStore(folder, suffix=suffix_of(name))), without_suffix(name)
    if library.remove(key):
        for item in library.trash():
            if item.key == key:
                return path, item
    raise SessionNotFound(f"cannot remove {path}: it is not there any more")


def _undo(path: str, item: TrashItem) -> str:
    """The command that brings a session back, with its directory where that is not one of ours."""
    from branchline import places

    folder = os.path.dirname(path)
    ours = os.path.dirname(folder) == places.sessions_root()
    return f"branchline restore {item.token}" + ("" if ours else f" --dir {shlex.quote(folder)}")


@command(
    "restore",
    examples="""
    branchline restore                            the session removed last
    branchline restore 20261115T064625-1a2b3c4d
    branchline restore --list
    """,
)
@click.argument("name", metavar="[TOKEN|ID]", required=False)
@click.option("--list", "listed", is_flag=True, help="Say what is in the trash.")
@directory_option
def restore_command(out: Output, name: str | None, listed: bool, directory: str | None) -> None:  # noqa: FBT001
    """Bring a session back from the trash: the one removed last, or the one named."""
    if listed:
        if name is not None:
            raise click.UsageError("--list lists everything; it takes no name")
        _list_trash(out, directory)
        return
    library = _holder(name, directory)
    key = library.restore(name)
    path = library.path_of(key)
    if out.json:
        out.result("restore", {"key": key, "path": path})
    else:
        out.line(f"restored {key}: {path}")


def _libraries(directory: str | None) -> list[SessionLibrary]:
    from branchline.library import SessionLibrary

    nearest = local_library(directory)
    if directory is not None:
        from branchline.stores import FilesStore

        return [SessionLibrary(FilesStore(directory, suffix=suffix)) for suffix in SUFFIXES]
    others = [store for store in SessionLibrary.everywhere().stores if store.name != nearest.name]
    return [nearest, *map(SessionLibrary, others)]


def _holder(name: str | None, directory: str | None) -> SessionLibrary:
    """The library in whose trash this is: here, or in that of another working directory."""
    nearest, *others = _libraries(directory)
    if name is None:
        # The one that was removed last; only a directory of another program has more than one kind of files.
        latest = [library for library in (nearest, *others) if directory is not None and library.trash()]
        return max(latest, key=lambda library: library.trash()[0].removed, default=nearest)
    for library in (nearest, *others):
        if any(name in (item.token, item.key) or item.key.endswith("_" + name) for item in library.trash()):
            return library
    raise SessionNotFound(
        f"there is no {name!r} in the trash; `branchline restore --list` says what is there"
    )


def _list_trash(out: Output, directory: str | None) -> None:
    items = [(library, item) for library in _libraries(directory) for item in library.trash()]
    items.sort(key=lambda pair: -pair[1].removed)
    if out.json:
        out.result("restore", {"trash": [_trash_fields(library, item) for library, item in items]})
        return
    for _library, item in items:
        facts = f"  {age(item.removed * 1000):>4}  {format_size(item.size):>10}  "
        out.line(paint("id", item.token), paint("dim", facts), item.key)
    remark(f"{count(len(items), 'session')} in the trash")


def _trash_fields(library: SessionLibrary, item: TrashItem) -> dict[str, Any]:
    return {
        "token": item.token,
        "key": item.key,
        "size": item.size,
        "removed_ms": round(item.removed * 1000),
        "draft": item.draft,
        "directory": library.name,
    }


@command("prune", examples="branchline prune               says what it would do\nbranchline prune --yes")
@click.option("--all", "everywhere", is_flag=True, help="In all working directories.")
@click.option("--yes", is_flag=True, help="Do it.")
@directory_option
def prune_command(out: Output, everywhere: bool, yes: bool, directory: str | None) -> None:  # noqa: FBT001
    """Move sessions in which nobody said anything to the trash. Without --yes, only list them."""
    if everywhere and directory is not None:
        raise click.UsageError("either --all or --dir, not both")
    libraries = _libraries(directory) if everywhere else [local_library(directory)]
    found = [pruned for library in libraries for pruned in library.prune(dry_run=not yes)]
    if out.json:
        import msgspec

        fields = [msgspec.to_builtins(pruned) for pruned in found]
        out.result("prune", {"dry_run": not yes, "sessions": fields})
        return
    for pruned in found:
        row = pruned.row
        done = f"moved to the trash as {pruned.token}" if pruned.removed else "would go to the trash"
        out.line(
            paint("id", row.id),
            paint("time", f"  {age(row.active_ms):>4}  "),
            row.title or "",
            f"  {done}",
        )
    empty = count(len(found), "empty session")
    if not found:
        remark("there are no empty sessions")
    else:
        remark(f"{empty}; `branchline restore` brings them back" if yes else f"{empty}; --yes moves them")
