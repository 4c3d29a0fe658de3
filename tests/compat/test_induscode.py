"""Every call and snippet of induscode's session documentation, with only the import changed."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from pathlib import Path

import pytest

from branchline import Session
from branchline import SessionLibrary as Core
from branchline.compat.induscode import (
    BranchNode,
    PriorTurn,
    SavedSession,
    SessionLibrary,
    TranscriptStore,
    session_scope_dir,
)
from branchline.context.providers.anthropic import anthropic
from branchline.session.new_entry import NewEntry
from parity.kit import aged, talk
from session.kit import assistant, user


@pytest.fixture
def scoped(tmp_path: Path) -> str:
    """A sessions directory of induscode with two sessions, alpha and beta."""
    directory = tmp_path / "sessions" / "--my-proj--"
    for name, days in (("alpha", 2), ("beta", 1)):
        session = talk(
            directory, f"first of {name}", "an answer", f"second of {name}", "done", format="induscode"
        )
        session.close()
        os.rename(session.file, directory / f"{name}.ndjson")
        aged(directory / f"{name}.ndjson", days)
    (directory / "notes.txt").write_text("x")
    return str(directory)


@pytest.mark.parity("IND-23")
def test_listing_shallow_and_deep(scoped):
    async def snippet():
        lib = SessionLibrary(sessions_dir=scoped)
        rows = await lib.list()
        newest = rows[0]
        deep = await lib.list(deep=True)
        return rows, newest, [(r.id, r.messageCount, r.preview) for r in deep], deep

    rows, newest, printed, deep = asyncio.run(snippet())

    assert [row.id for row in rows] == ["beta", "alpha"]
    assert newest.path == os.path.join(scoped, "beta.ndjson")
    assert newest.lastModified == os.stat(newest.path).st_mtime * 1000.0
    assert isinstance(newest.lastModified, float)
    assert newest.size == os.stat(newest.path).st_size
    assert (newest.name, newest.messageCount, newest.preview) == (None, None, None)
    assert printed == [("beta", 4, "first of beta"), ("alpha", 4, "first of alpha")]
    assert deep[0].name == "first of beta"


@pytest.mark.parity("IND-23")
def test_a_missing_directory_is_an_empty_list(tmp_path):
    lib = SessionLibrary(sessions_dir=str(tmp_path / "missing"))

    assert asyncio.run(lib.list()) == []
    assert lib.directory == str(tmp_path / "missing")
    with pytest.raises(TypeError):
        SessionLibrary(str(tmp_path))


@pytest.mark.parity("IND-23")
def test_opening_walking_and_forking(scoped):
    async def snippet():
        lib = SessionLibrary(sessions_dir=scoped)
        assert await lib.open("absent") is None
        store = await lib.open("alpha")
        nodes = lib.tree(store)
        turns = lib.prior_turns(store)
        await store.branch_at(turns[0].entryId)
        with pytest.raises(ValueError, match="nowhere"):
            await store.branch_at("nowhere")
        added = await store.append(assistant("another answer"))
        return store, nodes, turns, added

    store, nodes, turns, added = asyncio.run(snippet())

    assert isinstance(store, TranscriptStore)
    assert [node.label for node in nodes] == [
        "user: first of alpha",
        "  assistant",
        "    user: second of alpha",
        "      assistant",
    ]
    assert [(node.depth, node.isLeaf, node.isCurrent) for node in nodes] == [
        (0, False, False),
        (1, False, False),
        (2, False, False),
        (3, True, True),
    ]
    assert [node.parent for node in nodes] == [None, *(node.id for node in nodes[:-1])]
    assert [(turn.text, turn.preview) for turn in turns] == [
        ("first of alpha", "first of alpha"),
        ("second of alpha", "second of alpha"),
    ]
    assert [item.id for item in store.path_to()] == [turns[0].entryId, added]
    assert store.head.leaf == added
    assert {item.id for item in store.state().nodes} >= {node.id for node in nodes}
    assert store.state().nodes[1].parent == nodes[0].id
    assert Session.open(os.path.join(scoped, "alpha.ndjson")).leaf == added


@pytest.mark.parity("IND-23")
def test_reset_and_start_new_session_are_verbs_of_the_store(scoped):
    async def snippet():
        store = await SessionLibrary(sessions_dir=scoped).open("alpha")
        await store.reset()
        root = await store.append(user("anew"))
        fresh = await store.start_new_session()
        return store, root, fresh

    store, root, fresh = asyncio.run(snippet())

    assert [item.id for item in store.path_to()] == [root]
    assert fresh.session.id != store.session.id


@pytest.mark.parity("IND-23")
def test_rename_and_remove(scoped):
    async def snippet():
        lib = SessionLibrary(sessions_dir=scoped)
        with pytest.raises(ValueError, match="absent"):
            await lib.rename("absent", "x")
        with pytest.raises(ValueError, match="already"):
            await lib.rename("alpha", "beta")
        new_path = await lib.rename("alpha", "renamed")
        store = await lib.open("renamed")
        removed = await lib.remove("renamed")
        return lib, new_path, store, removed, await lib.remove("renamed"), await lib.list()

    lib, new_path, store, removed, again, rows = asyncio.run(snippet())

    assert new_path == os.path.join(scoped, "renamed.ndjson") == lib.path_of("renamed")
    assert len(store.path_to()) == 4
    assert (removed, again) == (True, False)
    assert [row.id for row in rows] == ["beta"]


@pytest.mark.parity("IND-23")
def test_an_id_is_a_stem_never_a_path(scoped):
    lib = SessionLibrary(sessions_dir=scoped)

    for call in (lib.open, lib.remove, lambda name: lib.rename(name, "x")):
        with pytest.raises(ValueError, match="x"):
            asyncio.run(call("../x"))


@pytest.mark.parity("IND-23")
def test_boot_wires_the_scoped_directory_and_the_flags(tmp_path):
    async def snippet(root, cwd):
        library = SessionLibrary(sessions_dir=session_scope_dir(root, cwd))
        rows = await library.list()
        return rows[0].id if rows else None

    root, cwd = tmp_path / "sessions", "/home/me/my proj"
    session = talk(Path(session_scope_dir(root, cwd)), format="induscode", cwd=cwd)
    session.close()

    assert os.path.basename(session_scope_dir(root, cwd)) == "--home-me-my-proj--"
    assert asyncio.run(snippet(root, cwd)) == Path(session.file).stem
    assert asyncio.run(snippet(root, "/elsewhere")) is None


@pytest.mark.parity("IND-23")
def test_the_records_are_frozen_and_slotted_in_camel_case():
    names = {
        SavedSession: ["id", "path", "name", "lastModified", "size", "messageCount", "preview"],
        BranchNode: ["id", "parent", "label", "depth", "isLeaf", "isCurrent"],
        PriorTurn: ["entryId", "text", "preview"],
    }

    for record, fields in names.items():
        assert [field.name for field in dataclasses.fields(record)] == fields
        assert not hasattr(record, "__dict__") or "__dict__" not in record.__slots__
    with pytest.raises(dataclasses.FrozenInstanceError):
        PriorTurn("a", "b", "c").text = "x"


@pytest.mark.parity("IND-23")
def test_the_event_loop_runs_while_a_directory_is_read(scoped, monkeypatch):
    from branchline import library

    ticks = []
    real = library.SessionLibrary.list

    def slow(self, deep=False, **more):
        import time

        time.sleep(0.2)
        return real(self, deep, **more)

    monkeypatch.setattr(library.SessionLibrary, "list", slow)

    async def act():
        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.01)

        task = asyncio.create_task(tick())
        await SessionLibrary(sessions_dir=scoped).list(deep=True)
        task.cancel()

    asyncio.run(act())

    assert len(ticks) > 3


def noted(path: Path, *entries: tuple[str, str, str, str]) -> Path:
    """A session of these nodes in a line: node role, message role, id and text."""
    previous = None
    lines = []
    for role, message_role, key, text in entries:
        message: dict[str, object] = {"role": message_role, "content": text, "timestamp": 1794700032000}
        if message_role == "assistant":
            message["content"] = [{"type": "text", "text": text}]
        fields: dict[str, object] = {
            "schema": "indus/transcript@1",
            "kind": "entry",
            "id": key,
            "prev": previous,
            "role": role,
            "message": message,
            "at": "2026-11-15T07:28:48.677Z",
        }
        if role == "note":
            fields["meta"] = {"command": text.partition("\n")[0].removeprefix("$ "), "exitCode": 0}
        lines.append(json.dumps(fields) + "\n")
        previous = key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A session that begins with a shell line, as `!ls` writes it."""
    return noted(
        tmp_path / "--my-proj--" / "s_mwhijuap_jh4ii3eg.ndjson",
        ("note", "user", "e1", "$ ls\na.txt"),
        ("user", "user", "e2", "real question"),
        ("assistant", "assistant", "e3", "an answer"),
    )


@pytest.mark.parity("IND-23")
def test_a_shell_line_is_a_note_and_no_prompt(shell):
    async def snippet():
        lib = SessionLibrary(sessions_dir=str(shell.parent))
        (row,) = await lib.list(deep=True)
        store = await lib.open(shell.stem)
        return row, lib.tree(store), lib.prior_turns(store), [node.id for node in store.path_to()]

    row, nodes, turns, path = asyncio.run(snippet())

    assert (row.name, row.preview, row.messageCount) == ("real question", "real question", 2)
    assert [node.label for node in nodes] == ["note", "  user: real question", "    assistant"]
    assert turns == [PriorTurn("e2", "real question", "real question")]
    assert path == ["e1", "e2", "e3"]


@pytest.mark.parity("IND-03", part="shell lines are no messages")
def test_shell_output_is_no_prompt_in_the_core_and_still_sent_to_the_model(shell):
    session = Session.open(shell)
    library = Core(shell.parent)
    (row,) = library.list(deep=True)

    assert (row.first_prompt, row.messages, row.prompts) == ("real question", 2, 1)
    assert [turn.id for turn in library.prior_turns(session)] == ["e2"]
    assert [node.label for node in library.tree(session)] == [
        "note",
        "user: real question",
        "assistant: an answer",
    ]
    assert [message["role"] for message in anthropic(session.context()).messages] == ["user", "assistant"]
    assert anthropic(session.context()).messages[0]["content"] == [
        {"type": "text", "text": "$ ls\na.txt"},
        {"type": "text", "text": "real question"},
    ]


def test_a_shell_line_is_written_as_induscode_writes_it(shell, tmp_path):
    session = Session.open(shell)
    note = session.entry("e1")
    copy = Session.create("/proj", directory=tmp_path / "copy", format="induscode", persist="always")

    copy.write(
        lambda _live: [
            NewEntry(
                kind=type(note),
                fields={
                    name: getattr(note, name)
                    for name in ("custom_type", "content", "role", "display", "details")
                },
            )
        ]
    )

    (line,) = Path(copy.file).read_bytes().splitlines()
    written, original = json.loads(line), json.loads(shell.read_bytes().splitlines()[0])
    assert (written["role"], written["meta"]) == (original["role"], original["meta"])
    assert (written["message"]["role"], written["message"]["content"]) == ("user", "$ ls\na.txt")
