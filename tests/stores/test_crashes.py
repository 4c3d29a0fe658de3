"""A power cut while a session is trashed, restored or renamed never loses it."""

from __future__ import annotations

import json

import pytest

from branchline.stores import FilesStore
from log.crash import Promise, Recorder, states

LINES = b'{"type":"session","version":3,"id":"one"}\n{"type":"message","id":"a","parentId":null}\n'
TRASH = ".branchline/trash/"


CREATED = Promise(paths=("one.jsonl",))


@pytest.fixture
def recorded(tmp_path):
    """A store whose calls are written down, with one session in it that is on the disk for good."""
    root = tmp_path / "sessions"
    root.mkdir()
    recorder = Recorder(root)
    store = FilesStore(root, system=recorder)
    store.create("one", LINES).close()
    recorder.promise(CREATED)
    return store, recorder


def disks(recorder):
    """Every disk that a power cut may leave once the session was created."""
    return [dict(tree) for tree, promise in states(recorder.events) if promise == CREATED]


def reachable(tree):
    """The contents under every name that a library finds: listed, or in the trash with a whole manifest."""
    found = []
    for path, content in tree.items():
        if content is None or not path.endswith(".jsonl"):
            continue
        if path.startswith(TRASH):
            manifest = tree.get(path.rsplit("/", 1)[0] + "/manifest.json")
            try:
                key = json.loads(manifest or b"")["key"]
            except ValueError:
                continue
            if not path.endswith(f"/{key}.jsonl"):
                continue
        found.append(content)
    return found


@pytest.mark.parametrize("verb", ["remove", "restore", "rename"])
def test_no_power_cut_makes_a_session_unreachable(recorded, verb):
    store, recorder = recorded
    if verb == "rename":
        store.rename("one", "two")
    else:
        removed = store.remove("one")
        if verb == "restore":
            store.restore(removed.token)

    found = disks(recorder)

    assert len(found) > 1
    assert [disk for disk in found if LINES not in reachable(disk)] == []


def test_a_file_that_is_only_in_the_trash_always_has_its_manifest(recorded):
    """The manifest comes first: a crash leaves a manifest without a file, never a file without one."""
    store, recorder = recorded
    store.restore(store.remove("one").token)
    store.remove("one")

    for disk in disks(recorder):
        for path in disk:
            if path.startswith(TRASH) and path.endswith(".jsonl") and "one.jsonl" not in disk:
                manifest = disk[path.rsplit("/", 1)[0] + "/manifest.json"]
                assert json.loads(manifest)["key"] == "one"
