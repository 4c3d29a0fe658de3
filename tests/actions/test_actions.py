"""Each use case called from Python: returns records, raises branchline errors, prints nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from branchline import (
    AssistantMessage,
    BranchlineError,
    FileExists,
    NotASession,
    NotSaved,
    NotSupported,
    Session,
    SessionLibrary,
    SessionNotFound,
    Text,
)
from branchline.actions.check import check_file
from branchline.actions.convert import ConvertRequest, convert
from branchline.actions.export import ExportRequest, export, render
from branchline.actions.import_ import import_file
from branchline.actions.output_file import write_new
from branchline.actions.remove import prune, remove, restore, trash, undo
from branchline.actions.repair import repair
from branchline.actions.resume import agent_of, plan_session
from branchline.stores import FilesStore, MemoryStore
from support import CORPUS

EDGE = CORPUS / "pi" / "edge"
GOLDEN = CORPUS / "pi" / "golden"


def test_importing_the_package_loads_no_use_case() -> None:
    code = "import sys, branchline, branchline.library; print(*[m for m in sys.modules if '.actions' in m])"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == ""


# -- output files -----------------------------------------------------------------------------------------


def test_a_file_that_its_check_refuses_never_gets_its_name(world: Path) -> None:
    seen: list[bytes] = []

    def refuse(path: str) -> None:
        seen.append(Path(path).read_bytes())
        raise NotSaved("refused")

    with pytest.raises(NotSaved, match="refused"):
        write_new("out.md", b"all of it", check=refuse)

    assert seen == [b"all of it"]
    assert os.listdir(world) == []


def test_a_taken_path_is_an_error_of_both_families(world: Path) -> None:
    (world / "out.md").write_bytes(b"mine")

    with pytest.raises(FileExists) as caught:
        write_new("out.md", b"other")

    assert isinstance(caught.value, BranchlineError)
    assert isinstance(caught.value, FileExistsError)
    assert str(caught.value) == f"{world}/out.md already exists"
    assert (world / "out.md").read_bytes() == b"mine"


# -- export -----------------------------------------------------------------------------------------------


def test_an_export_prints_nothing_and_says_what_it_wrote(
    session: Session, world: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = session.export("talk.md")

    assert (result.path, result.format, result.branch) == (str(world / "talk.md"), "md", True)
    assert result.size == (world / "talk.md").stat().st_size
    assert (result.redacted, result.secrets) == ((), 0)
    assert capfd.readouterr() == ("", "")


def test_the_path_to_an_entry_is_exported_in_every_format(session: Session, world: Path) -> None:
    left = next(key for key in session.index.keys if "Then what" in str(session.entry(key)))

    document = session.export("left.md", entry=left)
    lines = session.export("left.jsonl", entry=left)

    text = Path(document.path).read_text(encoding="utf-8")
    assert "Then what?" in text
    assert "And the tests?" not in text
    assert f"Up to entry {left}" in text
    with Session.open(lines.path) as copy:
        assert copy.path() == session.path(left)


@pytest.mark.parametrize("name", ["talk.pdf", "talk.txt", "talk.docx", "talk.jsonl.gz"])
def test_an_ending_that_no_export_has_is_refused(name: str, session: Session, world: Path) -> None:
    with pytest.raises(NotSupported, match=f"cannot export to {name}: unknown export format"):
        session.export(name)

    assert os.listdir(world) == []


def test_a_path_that_ends_with_a_slash_is_a_directory_and_is_created(session: Session, world: Path) -> None:
    done = export(session, "new/deep/", ExportRequest(format="md"))

    assert Path(done.path) == world / "new" / "deep" / f"{session.key}.md"
    assert (world / "new").stat().st_mode & 0o777 == 0o700


def test_a_conversion_into_a_path_that_ends_with_a_slash_goes_into_a_new_directory(
    session: Session, world: Path
) -> None:
    (made,) = session.convert(to="pi", output="converted/").files

    assert Path(made.path).parent == world / "converted"


def test_only_zot_sessions_have_the_portable_form_of_zot(session: Session, world: Path) -> None:
    with pytest.raises(NotSupported, match="only zot sessions"):
        export(session, "talk.zotsession")
    with pytest.raises(NotSupported, match="holds a whole session"):
        render(session, ExportRequest(format="zotsession", branch=True))

    assert os.listdir(world) == []


# -- import -----------------------------------------------------------------------------------------------


def test_a_library_without_files_imports_too() -> None:
    library = SessionLibrary(MemoryStore())

    first = library.import_file(GOLDEN / "g001.jsonl")
    second = library.import_file(GOLDEN / "g001.jsonl")

    assert (first.session, first.entries, first.copied) == ("golden-0001", 22, True)
    assert second.path == f"{first.path}-1"
    with library.open(first.path) as copy:
        assert copy.transcript.bytes_between(0, None) == (GOLDEN / "g001.jsonl").read_bytes()


def test_a_library_imports_into_its_own_directory(world: Path) -> None:
    library = SessionLibrary(world / "shared")

    done = library.import_file(GOLDEN / "g001.jsonl", new_id=True)

    assert Path(done.path).parent == world / "shared"
    assert [row.id for row in library.list()] == [done.session]
    assert done.session != "golden-0001"


def test_a_library_takes_files_whatever_their_ending(world: Path) -> None:
    library = SessionLibrary(FilesStore(world / "shared", suffix=".ndjson"))

    done = library.import_file(GOLDEN / "g001.jsonl")

    assert [row.path for row in library.list()] == [done.path]
    assert done.path.endswith(".jsonl")


def test_a_file_in_its_place_is_not_copied(session: Session) -> None:
    done = import_file(str(session.file))

    assert (done.copied, done.path) == (False, session.file)


# -- convert ----------------------------------------------------------------------------------------------


def test_a_session_is_converted_by_one_call(session: Session, world: Path) -> None:
    done = session.convert(to="zot", output="talk.zot.jsonl")

    (file,) = done.files
    assert (done.source, done.source_format, done.target) == (session.id, "pi", "zot")
    assert file.path == str(world / "talk.zot.jsonl")
    with Session.open(file.path) as made:
        assert made.format == "zot"
        assert made.id == file.session


def test_several_files_are_written_all_or_none(session: Session, world: Path) -> None:
    """With the same id both branches want one path."""
    request = ConvertRequest(to="zot", scope="branches", same_id=True)

    with pytest.raises(NotSupported, match="several branches"):
        convert(session, request)

    assert os.listdir(world) == []


def test_each_branch_gets_a_file_in_a_directory_that_exists(session: Session, world: Path) -> None:
    (world / "out").mkdir()

    done = session.convert(to="zot", scope="branches", output="out")

    assert len(done.files) == len(os.listdir(world / "out")) == 2
    with pytest.raises(ValueError, match="2 files need a directory"):
        session.convert(to="zot", scope="branches", output="nowhere")


@pytest.mark.parametrize(
    ("target", "kind", "words"),
    [("gemini", NotSupported, "read-only"), ("nonsense", ValueError, "choose one of")],
)
def test_a_target_that_cannot_be_written_is_refused(
    target: str, kind: type[Exception], words: str, session: Session, world: Path
) -> None:
    with pytest.raises(kind, match=words):
        session.convert(to=target)

    assert os.listdir(world) == []


PROFILE = 'profile = "work"\nmodel_provider = "home"\n[profiles.work]\nmodel_provider = "office"\n'


@pytest.mark.parametrize(
    ("settings", "provider"),
    [
        ('model_provider = "local"\n[model_providers.local]\n', "local"),
        ('model = "gpt-5"\n', "openai"),
        (PROFILE, "office"),
        ("not TOML [", None),
        (None, "openai"),
    ],
)
def test_a_session_for_codex_names_the_provider_with_which_codex_continues_it(
    settings: str | None, provider: str | None, session: Session, tmp_path: Path
) -> None:
    """Codex lists and opens only threads of the provider in its settings, or of its default without settings."""
    home = tmp_path / "person" / ".codex"
    home.mkdir(parents=True)
    if settings is not None:
        (home / "config.toml").write_text(settings)

    (installed,) = session.convert(to="codex", install=True).files
    (exported,) = session.convert(to="codex", output="talk.jsonl").files
    with session.fork(to="codex") as fork:
        assert fork.header.metadata is not None
        named = [fork.header.metadata.get("model_provider")]

    for file in (installed, exported):
        with open(file.path, "rb") as lines:
            named.append(json.loads(lines.readline())["payload"].get("model_provider"))
    assert named == [provider, provider, None]
    with Session.open(installed.path) as made:
        assert {getattr(item.message, "provider", None) for item in made.context().messages} == {None}


# -- check, seal, repair ----------------------------------------------------------------------------------


def test_a_session_without_a_file_is_checked() -> None:
    with Session.in_memory() as session:
        session.append_message("Hello")

        found = session.check()

    assert (found.path, found.status, found.entries, found.seal) == (session.id, "clean", 1, None)


def test_a_session_is_checked_as_its_file_is_now(session: Session) -> None:
    assert session.check().is_sound
    with open(str(session.file), "ab") as file:
        file.write(b'{"type":"mess')

    found = session.check()

    assert not found.is_sound
    assert found.status == "damaged"
    assert {finding.line for finding in found.findings} == {
        len(Path(str(session.file)).read_bytes().split(b"\n"))
    }


@pytest.mark.parametrize("store", [MemoryStore, lambda: FilesStore("shared")], ids=["memory", "files"])
def test_a_library_checks_every_session(store) -> None:
    library = SessionLibrary(store())
    library.import_file(GOLDEN / "g001.jsonl")
    library.import_file(EDGE / "corrupt-middle.jsonl")

    found = library.check()

    assert sorted(report.is_sound for report in found) == [False, True]
    assert {report.id for report in found} == {row.id for row in library.list(deep=True)}


def test_a_file_that_is_missing_is_a_report_and_no_error(world: Path) -> None:
    found = check_file("missing.jsonl")

    assert (found.status, found.path) == ("damaged", str(world / "missing.jsonl"))
    assert "no such file" in str(found.problem)


def test_a_changed_file_no_longer_matches_its_seal(session: Session) -> None:
    path = Path(str(session.file))
    sealed = check_file(path, "seal")
    path.write_bytes(path.read_bytes().replace(b"Then what?", b"Then that?"))

    found = check_file(path)

    assert sealed.seal is not None
    assert sealed.seal.state == "sealed"
    assert found.seal is not None
    assert (found.status, found.seal.state) == ("damaged", "changed")


def test_a_repair_leaves_the_damaged_file_and_never_replaces_one(world: Path) -> None:
    damaged = world / "damaged.jsonl"
    damaged.write_bytes((EDGE / "corrupt-middle.jsonl").read_bytes())

    done = repair(damaged)

    assert damaged.read_bytes() == (EDGE / "corrupt-middle.jsonl").read_bytes()
    assert done.output == str(world / "damaged.repaired.jsonl")
    assert check_file(done.output).is_sound
    with pytest.raises(FileExists):
        repair(damaged)
    assert repair(done.output).output is None


def test_what_cannot_be_repaired_is_refused(world: Path) -> None:
    with pytest.raises(NotASession):
        repair(EDGE / "garbage.jsonl", output="out.jsonl")

    assert os.listdir(world) == []


# -- resume, remove, inspect ------------------------------------------------------------------------------


def test_our_own_session_continues_in_our_chat_and_forks_on_request(session: Session, world: Path) -> None:
    plan, fork = plan_session(session), plan_session(session, here=True)

    assert agent_of(session) == "branchline"
    assert plan.command == ("branchline", "chat", "--resume", session.file)
    assert fork.command == ("branchline", "chat", "--fork", session.file)
    assert (plan.cwd, plan.unusable) == (str(world), None)


def test_nothing_is_removed_if_one_path_is_wrong(session: Session) -> None:
    with pytest.raises(SessionNotFound, match="no such file"):
        remove([str(session.file), "missing.jsonl"])

    assert os.path.exists(str(session.file))
    assert trash() == ()


def test_a_removed_session_comes_back_by_its_record_or_by_name(session: Session) -> None:
    path = str(session.file)
    session.close()

    (removed,) = remove([path])

    assert not os.path.exists(path)
    assert [item.item.token for item in trash()] == [removed.token]
    undo(removed)
    assert os.path.exists(path)
    remove([path])
    assert restore(session.id).path == path


def test_pruning_finds_sessions_without_a_conversation_and_moves_them_on_request() -> None:
    with Session.create(persist="always") as empty:
        pass

    found = prune()

    assert [(each.row.id, each.removed) for each in found] == [(empty.id, False)]
    assert [each.removed for each in prune(dry_run=False)] == [True]
    assert prune() == ()


def test_an_answer_is_part_of_the_document(world: Path) -> None:
    with Session.in_memory() as session:
        session.append_message(AssistantMessage(content=(Text(text="It is the clock."),)))

        document = render(session, ExportRequest(format="md")).data

    assert b"It is the clock." in document
