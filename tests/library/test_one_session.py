"""A session is the same however it is opened: every way to it, over the whole corpus and every kind of place."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from branchline import BranchlineError, Session, SessionLibrary, SessionRow
from branchline.actions.archive import archive_sessions
from branchline.actions.check import FileReport, check_file, check_library
from branchline.actions.export import ExportRequest, export
from branchline.entries import Damaged
from branchline.formats.suffixes import has_suffix, suffix_of, without_suffix
from branchline.stores import FilesStore, MemoryStore, Store, open_store
from branchline.stores.sqlite import SqliteStore
from formats.database_kit import DATABASES
from support import CORPUS, SHARED

AGENTS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir())
SPLIT = "codex/synthetic/threads/sessions/2026/09/02"
LONG_ID = "rollout-2026-09-02T10-00-00-019f1000-0000-7000-8000-000000000010"
BESIDE = {"title", "cwd", "parent", "id"}
"""What some agents keep in other files or in names of folders, which no database and no page has."""
NOT_ALONE = {"blob.jsonl", "agent-ag00001.jsonl", "agent-ag00002.jsonl"}
"""Sessions of which other files hold a picture, or names tell that it is one of a sub-agent."""
Facts = dict[str, Any] | str
"""What a session says, or the error that says why it cannot be opened."""


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "BRANCHLINE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


def facts(session: Session) -> dict[str, Any]:
    context = session.context()
    return {
        "id": session.id,
        "format": session.format,
        "entries": session.entries(),
        "leaf": session.leaf,
        "title": session.title or None,
        "cwd": session.cwd or None,
        "parent": session.parent_session or None,
        "context": [(item.entry, item.message) for item in context.messages],
        "model": context.model,
    }


def said(opener: Callable[..., Session | None], *arguments: Any) -> Facts:
    try:
        session = opener(*arguments)
    except BranchlineError as problem:
        return type(problem).__name__
    assert session is not None
    with session:
        return facts(session)


def differing(one: Facts, other: Facts) -> list[str]:
    if isinstance(one, str) or isinstance(other, str):
        return [] if one == other else ["whether it opens"]
    return [name for name in one if one[name] != other[name]]


def row_differs(known: Facts, row: SessionRow) -> list[str]:
    if isinstance(known, str):
        return [] if row.problem else ["whether it opens"]
    if row.problem:
        return [f"row: {row.problem}"]
    told = {
        "id": row.id,
        "format": row.format,
        "title": row.title or None,
        "cwd": row.cwd or None,
        "parent": row.parent_session or None,
    }
    return [f"row: {name}" for name, value in told.items() if known[name] != value]


@lru_cache(8)
def _listed(directory: str, cwd: str | None, home: str) -> tuple[list[SessionRow], list[SessionRow]]:
    del home  # where agents keep titles
    library = SessionLibrary(directory, cwd=cwd)
    return list(library.list()), list(library.list(deep=True))


def listed_at(path: Path, cwd: str | None = None) -> list[list[SessionRow]]:
    """The rows of a file in the library of its folder, first with what a short look tells, then with all."""
    found = _listed(str(path.parent), cwd, os.environ["HOME"])
    return [[row for row in rows if row.path == str(path)] for rows in found]


def restricted_differ(known: Facts, path: Path) -> list[str]:
    """How the rows of a library for one working directory differ."""
    if isinstance(known, str) or known["cwd"] is None or not os.path.isabs(known["cwd"]):
        return []
    found = []
    for deep, rows in zip(("short", "deep"), listed_at(path, known["cwd"]), strict=True):
        found += [] if rows else [f"no {deep} row of its directory"]
        for row in rows:
            differ = [name for name in row_differs(known, row) if deep == "deep" or name != "row: title"]
            found += [f"{deep} row of its directory: {name}" for name in differ]
    return found


def report_differs(known: Facts, report: FileReport) -> list[str]:
    if isinstance(known, str):
        return [] if report.problem else ["check: whether it opens"]
    if report.problem:
        return [f"check: {report.problem}"]
    readable = report.entries == sum(not isinstance(entry, Damaged) for entry in known["entries"])
    return ["check: entries"] * (not readable) + ["check: format"] * (report.format != known["format"])


def session_files(root: Path) -> Iterator[Path]:
    """Every file below a folder that a session can be opened by."""
    for path in sorted(root.rglob("*")):
        document = path.suffix == ".json" and not {"sessions", "tasks", "chats"}.isdisjoint(path.parts)
        if path.is_file() and (
            has_suffix(path.name.removesuffix(".zst")) or document or path.name == "CURRENT"
        ):
            yield path


def in_a_folder(path: Path) -> list[str]:
    """How the ways to the session in one file differ."""
    known = said(Session.open, path)
    found = report_differs(known, check_file(path))
    if not has_suffix(path.name):
        return [f"{path}: {name}" for name in found]
    library, key = SessionLibrary(path.parent), without_suffix(path.name)
    ways = {
        "from_store": said(Session.from_store, FilesStore(path.parent), key),
        "library.open": said(library.open, key),
    }
    shallow, rows = listed_at(path)
    for row in shallow:
        ways["library.open(shallow row)"] = said(library.open, row)
    for row in rows:
        ways["library.open(row)"] = said(library.open, row)
        found += row_differs(known, row) + restricted_differ(known, path)
        if not row.problem:
            now = library.reload(row)
            assert now is not None
            found += [f"reload: {name}" for name in row_differs(known, now)]
    if not rows:
        assert "a later file continues" in dict(library.list().hidden)[path.name]
    found += [f"{way}: {name}" for way, other in ways.items() for name in differing(known, other)]
    return [f"{path}: {name}" for name in found]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_is_the_same_by_its_file_its_folder_its_row_and_its_check(agent):
    assert [line for path in session_files(CORPUS / agent) for line in in_a_folder(path)] == []


def test_samples_of_other_projects_are_the_same_by_every_way():
    if not SHARED.is_dir():
        pytest.skip(f"the samples are not on this machine ({SHARED})")
    files = [path for path in session_files(SHARED) if path.stat().st_size < 1 << 20]

    assert [line for path in files for line in in_a_folder(path)] == []


def line_files(root: Path) -> list[Path]:
    return [path for path in session_files(root) if has_suffix(path.name)]


def folders_of(agent: str) -> dict[Path, list[Path]]:
    """The folders of the corpus with line files, those of one Codex home together: they continue each other."""
    found: dict[Path, list[Path]] = {}
    for path in session_files(CORPUS / agent):
        if has_suffix(path.name):
            home = next((above for above in path.parents if above.name == "sessions"), path.parent)
            found.setdefault(home if agent == "codex" else path.parent, []).append(path)
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_every_file_is_a_session_for_all_ways_or_for_none(agent):
    """Also files that no list shows: other suffixes, descriptions, pictures, expectations."""
    different = []
    for path in sorted(one for one in (CORPUS / agent).rglob("*") if one.is_file()):
        found = report_differs(said(Session.open, path), check_file(path))
        different += [f"{path}: {name}" for name in found]

    assert different == []


@pytest.mark.parametrize("agent", AGENTS)
def test_a_draft_is_the_same_by_every_way(agent, tmp_path):
    different: list[str] = []
    for number, path in enumerate(line_files(CORPUS / agent)):
        store = FilesStore(tmp_path / str(number), suffix=suffix_of(path.name))
        key, data = without_suffix(path.name), path.read_bytes()
        store.create(key, data if data.endswith(b"\n") else data + b"\n", draft=True)
        library, future = SessionLibrary(store), os.path.join(store.directory, path.name)
        known = said(Session.from_store, store, key)
        ways = {
            "library.open": said(library.open, key),
            "future path": said(Session.open, future),
            "file": said(Session.open, store.draft_path(key)),
        }
        found = report_differs(known, check_file(future))
        found += report_differs(known, check_file(store.draft_path(key)))
        if not isinstance(known, str):
            with Session.from_store(store, key) as session:
                found += report_differs(known, session.check())
        (row,) = library.drafts() or [None]
        if row is not None:
            ways["library.open(row)"] = said(library.open, row)
            found += row_differs(known, row)
            now = None if row.problem else library.reload(row)
            found += [] if now is None else [f"reload: {name}" for name in row_differs(known, now)]
        found += ["no row"] * (row is None)
        found += [f"{way}: {name}" for way, other in ways.items() for name in differing(known, other)]
        different += [f"{path}: {name}" for name in found]

    assert different == []


@pytest.mark.parametrize("kind", ["SQLite", "memory"])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_in_a_database_is_the_same_by_every_way_and_says_what_its_file_says(agent, kind, tmp_path):
    different: list[str] = []
    for number, paths in enumerate(folders_of(agent).values()):
        where = tmp_path / f"{number}.db"
        with contextlib.closing(SqliteStore(where)) as database:
            store: Store = database if kind == "SQLite" else MemoryStore()
            for path in paths:
                data = path.read_bytes()
                store.create(without_suffix(path.name), data if data.endswith(b"\n") else data + b"\n")
            library = SessionLibrary(store)
            rows = {row.key: row for row in library.list(deep=True)}
            reports = {report.path.rpartition("#")[2]: report for report in check_library(library)}
            for path in paths:
                key, whole = without_suffix(path.name), path.read_bytes().endswith(b"\n")
                known = said(Session.from_store, store, key)
                found = [*differing(known, said(library.open, key))]
                if kind == "SQLite":
                    found += differing(known, said(Session.open, f"{where}#{key}"))
                if key in rows:
                    found += row_differs(known, rows[key]) + report_differs(known, reports[key])
                if whole and path.name not in NOT_ALONE:
                    beside = [
                        name for name in differing(said(Session.open, path), known) if name not in BESIDE
                    ]
                    found += [f"file: {name}" for name in beside]
                different += [f"{path}: {name}" for name in found]

    assert different == []


@pytest.mark.parametrize("name", DATABASES)
def test_a_session_in_the_database_of_another_agent_is_the_same_by_every_way(name, tmp_path):
    where = tmp_path / "of-an-agent.db"
    DATABASES[name](where)
    library = SessionLibrary(where)
    rows = library.list(deep=True).rows

    assert rows
    for row in rows:
        known = said(Session.open, f"{where}#{row.key}")
        found = differing(known, said(Session.from_store, open_store(where), row.key))
        found += differing(known, said(library.open, row.key))
        found += row_differs(known, row) + report_differs(known, check_file(f"{where}#{row.key}"))
        assert found == [], row.key


# -- the agents' own folders and the archive --------------------------------------------------------------

HOMES = {
    "claude-code": ("synthetic", ".claude/projects"),
    "codex": ("synthetic/threads", ".codex"),
    "copilot": ("session-state", ".copilot/session-state"),
    "gemini": ("tmp", ".gemini/tmp"),
    "kimi": ("sessions", ".kimi-code/sessions"),
    "qwen": ("projects", ".qwen/projects"),
    "oh-my-pi": ("", ".omp/agent/sessions/-acme"),
    "induscode": ("sessions", ".pindusagi/sessions"),
    "operator": ("profiles", ".operator/profiles"),
    "piglet": ("sessions", ".config/piglet/sessions"),
    "zot": ("sessions", ".local/state/zot/sessions"),
    "vibe": ("logs", ".vibe/logs"),
    "cline": ("data", ".cline/data"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with the corpus where each agent keeps its sessions."""
    path = tmp_path / "home"
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for agent, (part, folder) in HOMES.items():
        shutil.copytree(CORPUS / agent / part, path / folder, dirs_exist_ok=True)
    return path


def known_by_path(rows: Iterable[SessionRow]) -> dict[str, Facts]:
    return {row.path: said(Session.open, row.path) for row in rows if row.path}


def listed_differ(library: SessionLibrary) -> list[str]:
    different = []
    for row in library.list(deep=True):
        assert row.path is not None
        known = said(Session.open, row.path)
        found = row_differs(known, row) + report_differs(known, check_file(row.path))
        found += differing(known, said(library.open, row))
        different += [f"{row.path}: {name}" for name in found]
    return different


def test_a_session_in_the_folders_of_its_agent_is_the_same_by_every_way(home):
    library = SessionLibrary.everywhere(subagents=True)
    rows = library.list(deep=True).rows

    assert {row.agent for row in rows} >= set(HOMES)
    assert listed_differ(library) == []
    assert listed_differ(library) == [], "from the index"


def test_a_session_without_a_recorded_directory_has_that_of_its_folder_by_every_way(home, monkeypatch):
    project = home / "work"
    project.mkdir()
    with Session.create(project, format="induscode") as made:
        made.append_message("hello")
        made.append_message({"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
        path = made.file
    (row,) = SessionLibrary.everywhere(project, agents=["induscode"]).list(deep=True).rows

    assert (row.path, row.cwd) == (path, str(project))
    opened = SessionLibrary.everywhere(project, agents=["induscode"]).open(row)
    assert opened is not None
    with opened:
        assert opened.cwd == str(project)
    monkeypatch.chdir(project)
    assert listed_differ(SessionLibrary.everywhere(agents=["induscode"])) == []
    assert in_a_folder(Path(row.path)) == []


def test_an_archived_session_is_the_same_as_its_original_was(home):
    library = SessionLibrary.everywhere()
    rows = [row for row in library.list(deep=True) if not row.problem]
    before = {(row.agent, os.path.basename(row.path or "")): said(library.open, row) for row in rows}
    copied = [done for done in archive_sessions(rows) if done.copy is not None]
    for folder in (".codex", ".claude", ".operator", ".config", ".local", ".omp", ".pindusagi"):
        shutil.rmtree(home / folder)

    archived = SessionLibrary.everywhere()
    listed = [row for row in archived.list(deep=True) if row.archived]

    assert len(copied) > 40
    assert len(listed) > 30
    assert listed_differ(archived) == []
    for row in listed:
        original = before[row.agent, os.path.basename(row.path or "")]
        now = said(archived.open, row)
        assert os.path.basename(row.path) in NOT_ALONE or set(differing(original, now)) <= BESIDE, row.path


def test_a_packed_rollout_is_the_same_as_it_was_unpacked(tmp_path):
    zstandard = pytest.importorskip("zstandard", reason="compressed rollouts need the package zstandard")
    plain, packed = tmp_path / "plain" / ".codex", tmp_path / "packed" / ".codex"
    for place in (plain, packed):
        shutil.copytree(CORPUS / "codex" / "synthetic" / "threads", place)
    for path in sorted(packed.rglob("rollout-*.jsonl")):
        path.with_name(f"{path.name}.zst").write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
        path.unlink()

    for path in sorted(plain.rglob("rollout-*.jsonl")):
        twin = packed / path.relative_to(plain).with_name(f"{path.name}.zst")
        assert differing(said(Session.open, path), said(Session.open, twin)) == []
        assert in_a_folder(twin) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_an_exported_page_is_the_same_as_its_session(agent, tmp_path):
    pytest.importorskip("markupsafe", reason="pages need the extra html")
    different = []
    beside = BESIDE if agent == "kimi" else BESIDE - {"id"}  # Kimi's folders are named by ids
    for path in session_files(CORPUS / agent):
        original = said(Session.open, path)
        if isinstance(original, str) or not original["entries"]:
            continue
        page = tmp_path / "page.html"
        with Session.open(path) as session:
            export(session, page, ExportRequest(format="html", redact=False))
        known = said(Session.open, page)
        found = report_differs(known, check_file(page))
        if path.name != "blob.jsonl":
            found += [name for name in differing(original, known) if name not in beside]
        different += [f"{path}: {name}" for name in found]
        page.unlink()

    assert different == []


# -- what a wrong way cost --------------------------------------------------------------------------------


def test_a_fork_of_a_split_session_opened_through_a_library_holds_everything(tmp_path):
    source = SessionLibrary(CORPUS / SPLIT).open(LONG_ID)
    assert source is not None

    with source, source.fork(store=FilesStore(tmp_path)) as fork:
        words = [item.message for item in source.context().messages]

        assert len(source) == 35
        assert [item.message.role for item in fork.context().messages] == [one.role for one in words]
        assert len(words) == 8


def test_opening_a_draft_through_a_library_and_closing_it_leaves_the_draft(tmp_path):
    with Session.create("/", directory=tmp_path, id="waiting") as made:
        made.append_message("hello")
    library = SessionLibrary(tmp_path)
    (draft,) = library.drafts()

    for opened in (library.open(draft), Session.from_store(FilesStore(tmp_path), draft.key)):
        assert opened is not None
        opened.close()

    assert [one.key for one in library.drafts()] == [draft.key]
