"""Every command works on the files of every program, or says why it does not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.actions.repair.foreign import repair_foreign
from branchline.actions.repair.native import require_same
from branchline.errors import NotSaved
from branchline.formats import EntryLog
from branchline.plugins.formats import format_named
from cli.test_check_and_repair import DAMAGE, damaged
from session.foreign_kit import READ_ONLY, WRITABLE, copied, named, samples, told
from support import CORPUS

LONG = 200_000
ALL = ("pi", *WRITABLE, *READ_ONLY)
READING = [
    ["inspect"],
    ["show"],
    ["show", "--raw"],
    ["show", "--markdown"],
    ["tree"],
    ["tree", "--filter", "all"],
    ["tree", "--ids", "--all-times"],
    ["context"],
    ["context", "--provider", "anthropic"],
    ["label", "@leaf"],
    ["name"],
    ["export", "--no-redact"],
    ["export", "--format", "md"],
    ["export", "--branch"],
]


def _sound(program: str) -> Path:
    """The longest sample of a program, but no very long one, in which nothing is strange."""
    files = [path for path in samples(program) if CORPUS in path.parents and path.stat().st_size < LONG]
    for path in sorted(files, key=lambda path: -path.stat().st_size):
        session = Session.in_memory(data=path.read_bytes())
        if not session.findings and session.path() and "assistant" in session.index.roles:
            return path
    raise AssertionError(program)


SOUND = {program: _sound(program) for program in ALL}


@pytest.fixture(params=ALL)
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(program: str, world: Path) -> Path:
    return copied(SOUND[program], world)


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_session_of_any_program_is_read_and_left_as_it_is(command, file, run):
    before = file.read_bytes()

    result = run(command[0], file, *command[1:])

    assert result.stdout.strip() or command[0] in ("label", "name")
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == [file.name]


def test_no_row_of_a_tree_is_empty(file, data):
    for row in data("tree", file, "--filter", "all")["rows"]:
        assert row["text"].strip(), row


@pytest.mark.parametrize(
    "path", [path for path in samples(*WRITABLE, *READ_ONLY) if CORPUS in path.parents], ids=named
)
def test_no_row_of_any_sample_is_empty(path):
    from branchline.views.entry_rows import RowTexts

    try:
        session = Session.in_memory(data=path.read_bytes())
    except Exception:
        pytest.skip("not a session")
    texts = RowTexts(session.transcript)

    for position in range(len(session.index)):
        assert texts(position).strip(), (
            session.index.types[position],
            session.raw(session.index.keys[position]),
        )


def test_a_sound_file_is_fine_and_can_be_sealed(file, run, data):
    (report,) = data("check", file)["files"]
    assert report["status"] in ("clean", "notes")

    run("check", file, "--seal")

    (report,) = data("check", file)["files"]
    assert report["seal"]["state"] == "intact"
    assert data("check", file.parent)["files"][0]["path"] == str(file)


def test_there_is_nothing_to_mend_in_a_sound_file(program, file, run):
    if program in READ_ONLY:
        assert "read-only" in run("repair", file, code=1).stderr
    else:
        assert "is not damaged" in run("repair", file).stdout
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_session_is_removed_and_brought_back(file, run):
    before = file.read_bytes()
    folder = file.with_name(file.stem)
    folder.mkdir()
    (folder / "0.bash.log").write_text("output")

    removed = run("rm", file)
    assert not file.exists()
    assert not folder.exists()
    assert f"--dir {file.parent}" in removed.stdout

    assert file.stem in run("restore", "--list", "--dir", file.parent).stdout
    run("restore", "--dir", file.parent)
    assert file.read_bytes() == before
    assert (folder / "0.bash.log").read_text() == "output"


def test_a_message_is_appended_or_refused_with_the_reason(program, file, run):
    before = file.read_bytes()
    if program in READ_ONLY:
        assert "cannot append" in run("append", file, "hello", code=1).stderr
        assert file.read_bytes() == before
        return

    run("append", file, "hello", "--force")

    assert told(Session.open(file))[-1] == ("user", "hello")
    assert file.read_bytes().startswith(before)


def test_an_entry_is_gone_back_to_or_refused_with_the_reason(program, file, run):
    session = Session.open(file)
    first = next(key for key in session.path() if session.entry(key).type == "message")
    if program in (*READ_ONLY, "zot"):
        reason = "linear" if program == "zot" else "cannot append"
        assert reason in run("branch", file, first, code=1).stderr
        return

    run("branch", file, first)

    assert Session.open(file).leaf == first


def test_an_entry_gets_a_label_or_a_reason(program, file, run):
    if program in (*READ_ONLY, "zot", "induscode"):
        assert run("label", file, "@leaf", "here", code=1).stderr.startswith("branchline: ")
        return

    run("label", file, "@leaf", "here")

    session = Session.open(file)
    assert session.labels[session.leaf] == "here"


def test_a_session_gets_a_title_or_a_reason(program, file, run):
    if program in (*READ_ONLY, "induscode"):
        assert run("name", file, "A name", code=1).stderr.startswith("branchline: ")
        return

    run("name", file, "A name")

    assert Session.open(file).title == "A name"


def test_a_fork_is_one_of_its_program_or_of_ours(program, file, data, tmp_path):
    made = data("fork", file)
    ours = data("fork", file, "--to", "branchline")

    fork, native = Session.open(made["file"]), Session.open(ours["file"])
    assert fork.format == ("pi" if program in READ_ONLY else program)
    assert native.format == "pi"
    assert told(fork) == told(Session.open(file)) or program in READ_ONLY
    if program not in READ_ONLY:
        assert Path(made["file"]).parent == file.parent
    assert Path(ours["file"]).is_relative_to(tmp_path / "home")


def test_the_path_is_exported_as_a_session_of_its_own(program, file, run, world):
    session = Session.open(file)
    out = world / f"branch{file.suffix}"

    run("export", file, "--branch", "--no-redact", "-o", out)

    made = Session.open(out)
    assert made.format == ("pi" if program in READ_ONLY else program)
    assert made.id == session.id or program == "induscode"  # whose id is the name of the file
    assert made.parent_session is None
    assert told(made) == told(session) or program in READ_ONLY
    assert set(made.labels.items()) <= set(session.labels.items())
    assert made.title in (session.title, None)


@pytest.mark.parity("ZOT-17")
def test_a_session_is_imported_under_a_new_id(program, file, data, run, world):
    told_of = data("import", file, "--new-id", "--cwd", world, "--dir", world / "in")

    made = Session.open(told_of["path"])
    assert made.format == program
    assert made.id == told_of["session"] != Session.open(file).id
    assert made.cwd == (str(world) if program != "induscode" else "")
    assert told(made) == told(Session.open(file))


@pytest.mark.parity("ZOT-17")
def test_a_session_of_zot_leaves_without_its_directory_and_comes_back_under_a_new_id(
    data, run, world, tmp_path
):
    file = copied(SOUND["zot"], world)

    run("export", file, "--no-redact", "-o", world / "talk.zotsession")
    told_of = data("import", world / "talk.zotsession")

    first = json.loads((world / "talk.zotsession").read_bytes().split(b"\n")[0])
    assert first["meta"]["cwd"] == ""
    made = Session.open(told_of["path"])
    assert (made.format, made.cwd) == ("zot", str(world))
    assert made.id != Session.open(file).id
    assert Path(told_of["path"]).is_relative_to(tmp_path / "person")
    assert told(made) == told(Session.open(file))
    exported = run("export", file, "--format", "zotsession", "--no-redact").stdout
    assert exported.encode() == (world / "talk.zotsession").read_bytes()
    piglet = copied(SOUND["piglet"], world)
    assert "only zot sessions" in run("export", piglet, "--format", "zotsession", code=1).stderr


def test_a_portable_export_has_no_directory_or_says_why(program, file, run, world):
    out = world / f"portable{file.suffix}"
    if program in (*READ_ONLY, "piglet"):
        assert "export" in run("export", file, "--portable", "-o", out, code=1).stderr
        return

    run("export", file, "--portable", "--no-redact", "-o", out)

    made = Session.open(out)
    assert made.cwd == ""
    assert told(made) == told(Session.open(file))


@pytest.mark.parametrize("program", [*WRITABLE, "pi"])
def test_a_session_of_another_program_begins_where_that_program_looks(program, data, world, tmp_path):
    made = data("new", "--format", program)

    session = Session.create(world, format=program)
    assert Path(made["file"]).parent == Path(session.file).parent
    assert Path(made["file"]).is_relative_to(tmp_path / "person")


def test_what_is_no_program_is_a_wrong_call(run, world):
    file = copied(SOUND["zot"], world)

    assert "unknown format 'nobody'" in run("new", "--format", "nobody", code=2).stderr
    assert "unknown agent 'nobody'" in run("fork", file, "--to", "nobody", code=2).stderr
    assert "written only as a whole" in run("new", "--format", "codex", code=1).stderr


# -- mending ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [path for path in samples(*WRITABLE) if CORPUS in path.parents and "damaged" in str(path)],
    ids=named,
)
def test_a_damaged_file_of_any_program_is_mended_and_loses_no_readable_word(path, data, world):
    file = copied(path, world)
    try:
        session = Session.open(file)
    except Exception:
        pytest.skip("not a session")
    before = file.read_bytes()

    result = data("repair", file)

    assert file.read_bytes() == before
    if result["output"] is None:
        assert all(finding.kind not in ("unreadable", "glued") for finding in session.findings)
        return
    data_ = Path(result["output"]).read_bytes()
    mended = EntryLog(
        format_named(session.format), lambda offset, size: data_[offset : offset + size], str(file)
    )
    assert [
        finding.kind for finding in mended.findings if finding.kind in ("unreadable", "glued", "orphan")
    ] == []
    assert mended.leaf == session.leaf
    again = Session.in_memory(data=data_)
    assert again.format == session.format
    assert again.read_only is None
    assert told(again) == told(session)
    assert again.title == session.title
    readable = [
        key for key in session.index.keys if session.index.position(key) not in session.index.placeholders
    ]
    assert mended.tree.keys[: len(readable)] == readable
    kept = b"\n".join([data_, *(p.read_bytes() for p in file.parent.glob("*.unreadable.txt"))])
    unchanged = {change["line"] for change in result["changed"]}
    for number, line in enumerate(before.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip() and number not in unchanged and not result["header_made"]:
            assert line.strip() in kept or b'"}' in line, line
    assert data("repair", result["output"])["output"] is None or session.format == "piglet"


def test_the_mended_file_of_induscode_keeps_its_ending(run, world):
    file = world / "s_mwhiju6j_fy49o976.ndjson"
    file.write_bytes(SOUND["induscode"].read_bytes() + b'{"schema":"indus/transcript@1","ki\n')

    run("repair", file)

    assert sorted(os.listdir(world)) == [
        "s_mwhiju6j_fy49o976.ndjson",
        "s_mwhiju6j_fy49o976.repaired.ndjson",
        "s_mwhiju6j_fy49o976.unreadable.txt",
    ]


SHORT = sorted(
    (path for path in samples(*WRITABLE) if CORPUS in path.parents and path.stat().st_size < 30_000),
    key=lambda path: path.name,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(SHORT), damage=DAMAGE)
def test_whatever_was_done_to_a_file_of_another_program_its_mended_copy_reads_the_same(path, damage):
    data = damaged(path.read_bytes(), damage)
    format_ = format_named(next(part for part in path.parts if part in WRITABLE))
    old = EntryLog(format_, lambda offset, size: data[offset : offset + size], str(path))
    if old.reading.header is None and not len(old.tree):
        return

    mended = repair_foreign(old, key=path.stem, spare_id="spare", now="2027-01-01T00:00:00.000Z")

    new = EntryLog(format_, lambda offset, size: mended.data[offset : offset + size], str(path))
    try:
        require_same(old, new)
    except NotSaved:
        # Lines that stand twice may be more than a mended file can say; then it is not written.
        assert any(finding.kind == "duplicate-id" for finding in old.findings)
        return
    lost = {
        "unreadable",
        "glued",
        "orphan",
        "guessed-link",
        "self-parent",
        "cycle",
        "duplicate-id",
        "no-header",
    }
    assert not {finding.kind for finding in new.findings} & lost
    assert all(0 <= piece.offset < piece.offset + piece.size <= len(data) for piece in mended.asides)


def test_a_new_session_of_zot_waits_for_its_first_message_and_every_command_takes_its_path(
    run, data, world
) -> None:
    """zot deletes sessions without a message at its next start."""
    made = data("new", "--format", "zot", "--title", "A plan")
    path = Path(made["file"])
    assert not path.exists()

    assert data("inspect", str(path))["title"] == "A plan"
    for command in ("show", "tree", "check", "context"):
        run(command, str(path))
    run("name", str(path), "Another plan")
    assert not list(path.parent.glob("*.jsonl"))
    token = data("rm", str(path))["removed"][0]["token"]
    run("restore", token)
    assert data("append", made["session"], "hello")["file"] == str(path)

    assert path.exists()
    assert data("inspect", str(path))["title"] == "Another plan"
    assert not list((path.parent / ".branchline" / "drafts").glob("*.jsonl"))


def test_a_new_session_of_oh_my_pi_has_its_title_in_the_slot(data) -> None:
    path = Path(data("new", "--format", "oh-my-pi", "--title", "A plan")["file"])

    slot, header = map(json.loads, path.read_bytes().splitlines())

    assert (slot["title"], slot["source"]) == ("A plan", "user")
    assert header["title"] == "A plan"
    assert data("inspect", str(path))["title"] == "A plan"
