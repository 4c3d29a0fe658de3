"""Import a session into an agent with the agent's own import command."""

from __future__ import annotations

import os
import tempfile

from branchline import places
from branchline.actions.output_file import write_new
from branchline.entries import Header
from branchline.errors import BranchlineError, NotSaved, NotSupported
from branchline.formats import Format
from branchline.programs import find_program, is_usable_directory, run_quietly
from branchline.stores import database_at

__all__ = ["import_document"]

_SECONDS = 120
_TOLD = 300


def import_document(target: Format, document: bytes, header: Header) -> str:
    """Import a document in the session's directory and return the address of the new session.

    Raises NotSupported if the agent is not installed or the directory cannot be used, NotSaved if the agent
    refuses the document.
    """
    imports = target.imports
    assert imports is not None
    name, *arguments = imports.command
    program = find_program(name)
    words = " ".join(imports.command)
    if program is None:
        raise NotSupported(
            f"{name} is not installed, so nothing can be imported; "
            f"write a file without --install, and import it with `{words} FILE`"
        )
    if not is_usable_directory(header.cwd):
        raise NotSupported(
            f"cannot import into {header.cwd!r}: it is not a directory here; name another one with --cwd"
        )
    with tempfile.TemporaryDirectory(prefix="branchline-") as folder:
        path = os.path.join(folder, f"{header.id}{target.traits.suffix}")
        write_new(path, document)
        done = run_quietly((program, *arguments, path), header.cwd, seconds=_SECONDS)
    if done.code != 0:
        raise NotSaved(f"`{words}` failed: {done.output.strip()[-_TOLD:] or 'no reason given'}")
    return _address(target, header.id)


def _address(target: Format, session_id: str) -> str:
    for root in places.roots_of(target):
        for name in sorted(os.listdir(root)) if os.path.isdir(root) else ():
            try:
                store = database_at(os.path.join(root, name))
                if store is not None and store.format.name == target.name and store.stat(session_id):
                    return store.path_of(session_id)
            except (BranchlineError, OSError):
                continue
    raise NotSaved(f"{target.name} reported success, but session {session_id} is in none of its databases")
