"""Privacy: files are 0600, directories 0700, whatever the umask; an id never escapes its directory."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from branchline import Session
from branchline.errors import InvalidId
from branchline.stores import FilesStore, MemoryStore
from session.kit import CWD, assistant, clock, lines_of, path_of, talked
from support import CORPUS


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request):
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def modes_below(directory):
    found = {}
    for path in [directory, *directory.rglob("*")]:
        status = os.lstat(path)
        kind = "directory" if stat.S_ISDIR(status.st_mode) else "file"
        found.setdefault((kind, stat.S_IMODE(status.st_mode)), []).append(str(path.relative_to(directory)))
    return found


def test_session_draft_sidecars_and_backups_are_for_their_owner_alone(umask):
    with tempfile.TemporaryDirectory() as base:
        os.chmod(base, 0o700)
        place = Path(base) / "deep" / "sessions"
        draft = Session.create(CWD, directory=place, clock=clock())
        draft.append_message("a draft")
        draft.append_message("with a lock")
        session = talked(place, 1, clock=clock(seed=50))
        session.append_message("and a lock")
        with open(session.file, "ab") as file:
            file.write(b'{"torn')
        session.append_message("behind a torn tail")
        session.fork()
        old = place / "old.jsonl"
        descriptor = os.open(old, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, (CORPUS / "pi" / "edge" / "v1.jsonl").read_bytes())
        os.close(descriptor)
        os.chmod(old, 0o644)
        with Session.open(old, clock=clock()) as upgraded:
            upgraded.append_message("more")

        found = modes_below(place)

        assert set(found) == {("directory", 0o700), ("file", 0o600)}, found
        names = " ".join(name for names in found.values() for name in names)
        for part in ("drafts/", "locks/", "torn/", "backups/", "old.jsonl"):
            assert part in names
        assert stat.S_IMODE(os.stat(Path(base) / "deep").st_mode) == 0o700
        for each in (draft, session):
            each.close()


@pytest.mark.parity("IND-04", part="an id is a bare name")
@pytest.mark.parametrize(
    "bad",
    ["../../x", "..", ".", "", "a/b", "/etc/passwd", "a\\b", ".hidden", "a\nb", "a\x00b", "x" * 300, " a"],
)
def test_an_id_is_a_bare_name_everywhere(place, bad):
    outside = place.parent / "x.jsonl"
    outside.write_bytes((CORPUS / "pi" / "edge" / "labels.jsonl").read_bytes())
    files, memory = FilesStore(place), MemoryStore()
    source = talked(place, 1)

    for attempt in (
        lambda: Session.from_store(files, bad),
        lambda: Session.from_store(memory, bad),
        lambda: Session.create(CWD, directory=place, id=bad),
        lambda: Session.in_memory(CWD, id=bad),
        lambda: source.fork(id=bad),
        lambda: Session.fork_from(source.file, CWD, directory=place, id=bad),
    ):
        with pytest.raises(InvalidId):
            attempt()

    assert sorted(path.name for path in place.glob("*.jsonl")) == [path_of(source).name]
    assert outside.read_bytes() == (CORPUS / "pi" / "edge" / "labels.jsonl").read_bytes()


def test_ids_inside_a_file_are_never_used_as_paths(place):
    """A hostile file may call itself and its entries anything."""
    place.mkdir()
    hostile = place / "hostile.jsonl"
    lines = [
        b'{"type":"session","version":3,"id":"../../evil","timestamp":"../../evil","cwd":"/x","parentSession":"../../p"}',
        b'{"type":"message","id":"../../entry","parentId":null,"timestamp":"../../t","message":{"role":"user","content":"x"}}',
    ]
    hostile.write_bytes(b"\n".join(lines) + b"\n")
    everything = {path for path in place.parent.rglob("*") if not path.is_relative_to(place)}

    with Session.open(hostile, clock=clock()) as session:
        assert session.id == "../../evil"
        session.append_label("../../entry", "../../label")
        session.append_message(assistant("fine"))
        made = session.fork()
        made.append_message(assistant("also fine"))
        new = session.new_session()
        new.append_message(assistant("here too"))

    assert path_of(made).parent == place
    assert path_of(new).is_relative_to(place)
    assert {path for path in place.parent.rglob("*") if not path.is_relative_to(place)} == everything
    assert lines_of(hostile)[:2] == lines
