"""Sessions leave and come in as files: private, complete, never on top of another one."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from cli.conftest import entry_line
from support import CORPUS

EDGE = CORPUS / "pi" / "edge"
GOLDEN = CORPUS / "pi" / "golden"


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


# -- export -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["corrupt-middle", "torn-tail", "bom", "bad-utf8", "crlf"])
def test_a_whole_export_is_the_file_byte_for_byte(name, run, world) -> None:
    path = EDGE / f"{name}.jsonl"

    run("export", path, "-o", "out.jsonl")

    assert (world / "out.jsonl").read_bytes() == path.read_bytes()
    assert stat.S_IMODE((world / "out.jsonl").stat().st_mode) == 0o600
    assert run("export", path).stdout_bytes == path.read_bytes()
    assert run("export", path, "-o", "-").stdout_bytes == path.read_bytes()


def test_an_export_says_where_it_went(run, data, talk, world) -> None:
    result = run("export", talk, "-o", "out.jsonl")

    assert result.stdout.startswith(f"exported talk to {world}/out.jsonl (")
    told = data("export", talk, "-o", "other.jsonl")
    assert told["path"] == str(world / "other.jsonl")
    assert told["size"] == (world / "other.jsonl").stat().st_size


def test_an_export_covers_a_file_only_by_force(run, talk, world) -> None:
    (world / "out.jsonl").write_bytes(b"mine")

    result = run("export", talk, "-o", "out.jsonl", code=1)

    assert "already exists; --force replaces it" in result.stderr
    assert (world / "out.jsonl").read_bytes() == b"mine"
    run("export", talk, "-o", "out.jsonl", "--force")
    assert (world / "out.jsonl").read_bytes() != b"mine"
    assert [item.name for item in world.iterdir()] == ["out.jsonl"]


# -- force ------------------------------------------------------------------------------------------------


def made(path: Path, *extra: str) -> Path:
    lines = [
        '{"type":"session","version":3,"id":"made","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}',
        entry_line("e1", None, "user", "my token is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
        entry_line("b1", "e1", "assistant", "branch one"),
        entry_line("b2", "e1", "assistant", "branch two"),
        *extra,
    ]
    path.write_text("".join(line.rstrip("\n") + "\n" for line in lines))
    return path


@pytest.mark.parametrize("options", [[], ["--branch"], ["--format", "md"], ["--no-redact"]])
@pytest.mark.parametrize("name", ["made.jsonl", "linked.jsonl", "hard.jsonl", "folder/made.jsonl"])
def test_an_export_never_replaces_its_own_session_under_any_name(name, options, run, world) -> None:
    source = made(world / "made.jsonl")
    (world / "linked.jsonl").symlink_to("made.jsonl")
    os.link(source, world / "hard.jsonl")
    (world / "folder").symlink_to(world)
    before = source.read_bytes()

    result = run("export", source, *options, "-o", name, "--force", code=1)

    assert "it is the session that is read; nothing was written" in result.stderr
    assert source.read_bytes() == before
    assert (world / "linked.jsonl").is_symlink()


def test_a_database_is_never_replaced_by_an_export_nor_is_its_log(run, talk, world) -> None:
    source = made(world / "made.jsonl")
    run("new", "--store", "db.db", "--id", "one")
    run("append", "one", "hello", "--store", "db.db")
    (world / "old.db").write_bytes((world / "db.db").read_bytes())
    (world / "old.db-wal").write_bytes(b"acknowledged")
    before = {path.name: path.read_bytes() for path in world.glob("*.db*")}

    for name in before:
        said = run("export", source, "--format", "jsonl", "-o", name, "--force", code=1).stderr
        assert "database; nothing was written" in said
    run("export", "db.db#" + os.listdir(world)[0], "-o", "db.db", "--force", code=1)

    assert {path.name: path.read_bytes() for path in world.glob("*.db*")} == before


@pytest.mark.parametrize("kind", ["md", "jsonl", "html"])
def test_a_session_that_force_replaces_is_named_and_restored_from_the_trash(kind, run, data, world) -> None:
    source = made(world / "made.jsonl")
    other = made(world / "other.jsonl", entry_line("x9", "b2", "user", "only here"))
    (world / "other" / "subagents").mkdir(parents=True)
    (world / "other" / "subagents" / "agent.jsonl").write_bytes(b"{}\n")
    before = other.read_bytes()

    told = data("export", source, "--format", kind, "-o", other, "--force")

    assert Path(told["replaced"]).read_bytes() == before
    other.rename(world / "away.jsonl")
    run("restore", "other", "--store", world)
    assert other.read_bytes() == before
    assert (world / "other" / "subagents" / "agent.jsonl").exists()
    assert "is in the trash: " in run("export", source, "-o", other, "--force").stderr


def test_a_page_that_holds_a_session_goes_to_the_trash_and_comes_back_under_its_name(
    run, data, world
) -> None:
    source = made(world / "made.jsonl")
    run("export", source, "-o", "page.html")
    before = (world / "page.html").read_bytes()

    run("export", source, "--format", "md", "-o", "page.html", "--force")
    (world / "page.html").unlink()
    told = data("restore", "--store", world)

    assert (world / "page.html").read_bytes() == before
    assert told["path"] == str(world / "page.html")


def test_an_older_export_of_the_same_lines_is_replaced_without_a_trash(run, data, world) -> None:
    source = made(world / "made.jsonl")
    run("export", source, "-o", "out.jsonl")
    with source.open("a") as file:
        file.write(entry_line("b3", "b2", "user", "later") + "\n")

    told = data("export", source, "-o", "out.jsonl", "--force")

    assert "replaced" not in told
    assert not (world / ".branchline" / "trash").exists()
    assert len(lines_of(world / "out.jsonl")) == 5


def test_force_replaces_no_link_and_no_folder(run, world) -> None:
    source = made(world / "made.jsonl")
    (world / "notes.md").write_text("mine")
    (world / "link.md").symlink_to("notes.md")

    run("export", source, "-o", "link.md", "--force", code=1)

    assert (world / "notes.md").read_text() == "mine"
    assert (world / "link.md").is_symlink()


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_a_pipe_is_written_to_and_stays_a_pipe(options, run, world) -> None:
    source = made(world / "made.jsonl")
    os.mkfifo(world / "pipe")
    with subprocess.Popen(["cat", world / "pipe"], stdout=subprocess.PIPE) as reader:
        run("export", source, "--format", "md", "-o", "pipe", *options)
        read, _ = reader.communicate(timeout=20)

    assert b"branch two" in read
    assert stat.S_ISFIFO((world / "pipe").stat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
@pytest.mark.parametrize(("minor", "code"), [(3, 0), (7, 1)])
def test_a_device_is_written_to_and_stays_a_device(minor, code, run, world) -> None:
    source = made(world / "made.jsonl")
    try:
        os.mknod(world / "device", stat.S_IFCHR | 0o600, os.makedev(1, minor))
    except PermissionError:
        pytest.skip("this container may not make devices")

    run("export", source, "-o", "device", "--force", code=code)

    assert stat.S_ISCHR((world / "device").stat().st_mode)


def test_a_session_is_not_appended_to_itself_by_the_shell(process, world) -> None:
    source = made(world / "made.jsonl")
    before = source.read_bytes()

    with source.open("ab") as out:
        done = process("export", source, stdout=out, stderr=subprocess.PIPE)

    assert done.returncode == 1
    assert source.read_bytes() == before


def test_standard_output_under_its_path_is_standard_output(process, world) -> None:
    source = made(world / "made.jsonl")
    with (world / "out").open("wb") as out:
        assert process("export", source, "-o", "/dev/stdout", "--force", stdout=out).returncode == 0

    assert len(lines_of(world / "out")) == 4


def test_an_export_into_a_directory_takes_the_name_of_the_session(data, talk, tmp_path) -> None:
    (tmp_path / "out").mkdir()

    told = data("export", talk, "-o", tmp_path / "out")

    assert Path(told["path"]).parent == tmp_path / "out"
    assert told["path"].endswith("_talk.jsonl")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("g*.jsonl"))[::5], ids=lambda path: path.stem)
def test_a_branch_export_is_the_path_alone(path, data, world) -> None:
    source = data("inspect", path)

    told = data("export", path, "--branch", "-o", "branch.jsonl")

    header, *entries = lines_of(told["path"])
    assert {key: header[key] for key in ("type", "version", "id", "cwd")} == {
        "type": "session",
        "version": 3,
        "id": source["id"],
        "cwd": source["cwd"],
    }
    assert "parentSession" not in header
    copy = data("inspect", told["path"])
    readable = [entry for entry in source["path"] if entry in source["entries"]]
    assert copy["path"] == readable
    assert copy["context"] == source["context"]
    assert copy["title"] == source["title"]
    assert copy["labels"] == {key: label for key, label in source["labels"].items() if key in copy["entries"]}
    assert {finding["kind"] for finding in copy["findings"]} <= {"two-writers"}
    assert len(entries) == len(copy["entries"])


def test_a_branch_export_leaves_other_branches_out(data, talk, run, world) -> None:
    run("export", talk, "--branch", "-o", "branch.jsonl")

    content = (world / "branch.jsonl").read_text(encoding="utf-8")
    assert "And the tests?" in content
    assert "Then what?" not in content


def test_a_portable_page_tells_masked_names_from_redacted_secrets(run, talk) -> None:
    run("append", talk, "ask ada@example.org")

    told = run("export", talk, "--portable", "-o", "out.html").stderr

    assert "1 e-mail" in told
    assert "masked" in told
    assert "redacted" not in told


@pytest.mark.parity("ZOT-17")
def test_a_portable_export_does_not_tell_where_it_was_made(data, run, talk, world) -> None:
    forked = data("fork", talk)["session"]

    for options in (["--portable"], ["--portable", "--branch"]):
        run("export", forked, *options, "-o", "out.jsonl", "--force")
        text = (world / "out.jsonl").read_text(encoding="utf-8")
        assert str(world) not in text
        assert data("inspect", "out.jsonl")["path"] == data("inspect", forked)["path"]
    assert "has no header" in run("export", EDGE / "no-header.jsonl", "--portable", code=1).stderr


def test_markdown_is_chosen_by_name_or_by_word(run, talk, world) -> None:
    run("export", talk, "-o", "talk.md")

    text = (world / "talk.md").read_text(encoding="utf-8")
    assert text.startswith("# Auth refactor\n\n- Session talk\n")
    assert "## User\n\nHow do I start?" in text
    assert run("export", talk, "--format", "md").stdout == text


def test_a_format_is_not_taken_for_an_entry(run, talk) -> None:
    result = run("export", talk, "--to", "html", code=2)

    assert "--to names an entry; the format is --format html" in result.stderr


def test_json_about_an_export_needs_a_file(run, talk) -> None:
    run("export", talk, "--json", code=2)
    run("export", talk, "--format", "pdf", code=2)


# -- redaction --------------------------------------------------------------------------------------------

# Drawn by hand and put together here, so that no scanner takes them for real ones.
TOKEN = "gh" + "p_" + "Zq7Rt2Lm9Xc4Vb8Nw3Kd6Hf1Js5Gy0PuTeAo"
PASSWORD = "vK4w" + "!Tz9rQ2m"
SECRETS = f"Use {TOKEN}\nand DB_PASSWORD={PASSWORD}"
CLEAN = "Use [redacted:github-token]\nand DB_PASSWORD=[redacted:password]"
SAID = "redacted 2 secrets: 1 github-token, 1 password; --no-redact keeps them\n"


@pytest.fixture
def spiked(run, talk):
    """The talk, with two credentials in its last message."""
    run("append", talk, SECRETS)
    return talk


@pytest.mark.parametrize("options", [[], ["--branch"], ["--portable"]])
def test_secrets_do_not_leave(options, run, data, spiked, world) -> None:
    result = run("export", spiked, *options, "-o", "out.jsonl")

    content = (world / "out.jsonl").read_text(encoding="utf-8")
    assert TOKEN not in content
    assert PASSWORD not in content
    messages = [line["message"] for line in lines_of("out.jsonl") if line["type"] == "message"]
    assert messages[-1]["content"][0]["text"] == CLEAN
    assert result.stderr == SAID
    assert result.stdout.startswith("exported talk to ")


def test_a_redacted_export_is_the_same_tree(run, data, spiked) -> None:
    source = data("inspect", spiked)

    run("export", spiked, "-o", "out.jsonl")

    copy = data("inspect", "out.jsonl")
    own = {"context", "file", "size"}
    assert {key: copy[key] for key in copy if key not in own} == {
        key: source[key] for key in source if key not in own
    }
    run("append", "out.jsonl", "It goes on.")


def test_only_secrets_are_changed(run, data, spiked) -> None:
    raw = Path(data("name", spiked)["file"]).read_bytes()

    result = run("export", spiked)

    assert result.stdout_bytes == raw.replace(TOKEN.encode(), b"[redacted:github-token]").replace(
        PASSWORD.encode(), b"[redacted:password]"
    )
    assert result.stderr == SAID


def test_secrets_leave_when_they_are_asked_to(run, data, spiked, world) -> None:
    raw = Path(data("name", spiked)["file"]).read_bytes()

    result = run("export", spiked, "--no-redact", "-v")

    assert result.stdout_bytes == raw
    assert result.stderr == ""
    run("export", spiked, "--no-redact", "-o", "talk.md")
    assert SECRETS in (world / "talk.md").read_text(encoding="utf-8")


def test_json_tells_what_was_redacted(data, talk, spiked) -> None:
    found = [{"kind": "github-token", "count": 1}, {"kind": "password", "count": 1}]

    assert data("export", spiked, "-o", "a.jsonl")["redacted"] == found
    assert data("export", spiked, "-o", "a.md")["redacted"] == found
    assert data("export", spiked, "--no-redact", "-o", "b.jsonl")["redacted"] is None


def test_nothing_is_said_into_a_pipe_when_nothing_was_found(run, data, talk) -> None:
    assert run("export", talk).stderr == ""
    assert run("export", talk, "-v").stderr == "no secrets found\n"
    assert data("export", talk, "-o", "a.jsonl")["redacted"] == []


def test_a_person_is_told_that_nothing_was_found(data, talk, process) -> None:
    raw = Path(data("name", talk)["file"]).read_bytes()
    here, there = os.openpty()

    result = process("export", talk, stdout=subprocess.PIPE, stderr=there)

    os.close(there)
    said = os.read(here, 1000)
    os.close(here)
    assert said == b"no secrets found\r\n"
    assert result.stdout == raw


def test_a_document_has_no_secrets_anywhere(run, data, write_session, world) -> None:
    """Not in a heading that shows the beginning of a command, nor in a title, a label or an argument."""
    call = {
        "type": "toolCall",
        "id": "call_1",
        "name": "bash",
        "arguments": {"command": f"git clone --depth 1 https://me:{TOKEN}@host/x.git", "password": PASSWORD},
    }
    message = {"role": "assistant", "content": [call], "provider": "p", "model": "m", "stopReason": "toolUse"}
    lines = [
        {"type": "message", "id": "a", "parentId": None, "message": message},
        {"type": "label", "id": "b", "parentId": "a", "targetId": "a", "label": f"with {TOKEN}"},
        {"type": "session_info", "id": "c", "parentId": "b", "name": f"About {TOKEN}"},
    ]
    path = write_session(*map(json.dumps, lines))

    result = run("export", path, "--format", "md")

    assert "About \\[redacted:github-token\\]" in result.stdout
    assert "https://me:[redacted:" in result.stdout
    assert "password: [redacted:password]" in result.stdout
    for part in (TOKEN[4:], TOKEN[:12], TOKEN[:12].replace("_", "\\_"), PASSWORD):
        assert part not in result.stdout


@pytest.mark.parametrize("name", ["out.jsonl", "out.md", "out.html"])
def test_a_file_that_still_holds_secrets_is_refused(name, run, spiked, world, monkeypatch) -> None:
    from branchline import redaction

    monkeypatch.setattr(redaction, "redact", lambda text: redaction.Redacted(text, []))
    monkeypatch.setattr(redaction, "redact_bytes", lambda data: redaction.RedactedBytes(data, []))

    result = run("export", spiked, "-o", name, code=1)

    assert re.search(
        r"still secrets after redaction \(github-token in entry \w+, user, \d{4}-\d\d-\d\d ", result.stderr
    )
    assert "branchline share" in result.stderr
    assert "--no-redact" not in result.stderr
    assert TOKEN not in result.stderr
    assert PASSWORD not in result.stderr
    assert not (world / name).exists()
    assert not list(world.glob(f".{name}*"))
    assert run("export", spiked, "--format", name.split(".")[1], code=1).stdout_bytes == b""


def test_a_file_that_still_holds_secrets_replaces_no_other(run, spiked, world, monkeypatch) -> None:
    from branchline import redaction

    (world / "out.jsonl").write_bytes(b"before")
    monkeypatch.setattr(redaction, "redact_bytes", lambda data: redaction.RedactedBytes(data, []))

    run("export", spiked, "-o", "out.jsonl", "--force", code=1)

    assert (world / "out.jsonl").read_bytes() == b"before"


def test_what_would_be_another_tree_is_not_written(run, data, spiked, world, monkeypatch) -> None:
    from branchline import redaction

    leaf = data("inspect", spiked)["leaf"].encode()
    monkeypatch.setattr(
        redaction, "redact_bytes", lambda data: redaction.RedactedBytes(data.replace(leaf, b"gone"), [])
    )

    result = run("export", spiked, "-o", "out.jsonl", code=1)

    assert "redaction would change its tree" in result.stderr
    assert not (world / "out.jsonl").exists()


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(EDGE.glob("*.jsonl")) if path.stem not in ("empty", "garbage")],
    ids=lambda path: path.stem,
)
def test_damaged_sessions_are_redacted_and_stay_as_damaged_as_they_were(path, data, run, world) -> None:
    secrets = json.dumps(SECRETS)[1:-1].encode()
    content = path.read_bytes().replace(b'"content":"', b'"content":"' + secrets)
    (world / "in.jsonl").write_bytes(content.replace(b'"text":"', b'"text":"' + secrets))

    run("export", "in.jsonl", "-o", "out.jsonl")

    content = (world / "out.jsonl").read_bytes()
    assert TOKEN.encode() not in content
    assert PASSWORD.encode() not in content
    source, copy = data("inspect", "in.jsonl"), data("inspect", "out.jsonl")
    for same in ("entries", "path", "tree", "leaf", "roots"):
        assert copy[same] == source[same]


# -- import -----------------------------------------------------------------------------------------------


def test_an_import_copies_byte_for_byte_and_keeps_the_id(run, data, tmp_path) -> None:
    source = tmp_path / "somewhere.jsonl"
    source.write_bytes((GOLDEN / "g001.jsonl").read_bytes())

    told = data("import", source)

    assert told["session"] == "golden-0001"
    assert Path(told["path"]).name == "2026-01-02T00-00-00-000Z_golden-0001.jsonl"
    assert Path(told["path"]).read_bytes() == source.read_bytes()
    assert stat.S_IMODE(Path(told["path"]).stat().st_mode) == 0o600
    assert [row["id"] for row in data("ls")["sessions"]] == ["golden-0001"]
    assert "imported golden-0001 with 22 entries: " in run("import", source).stdout


def test_importing_again_takes_the_next_free_name(data) -> None:
    names = [Path(data("import", GOLDEN / "g001.jsonl")["path"]).stem for _ in range(3)]

    stem = "2026-01-02T00-00-00-000Z_golden-0001"
    assert names == [stem, f"{stem}-1", f"{stem}-2"]


@pytest.mark.parity("ZOT-17")
def test_an_import_can_have_an_id_and_a_directory_of_its_own(data, tmp_path, monkeypatch) -> None:
    (tmp_path / "shop").mkdir()

    told = data("import", GOLDEN / "g001.jsonl", "--new-id", "--cwd", tmp_path / "shop")

    copy = data("inspect", told["path"])
    assert told["session"] == copy["id"] != "golden-0001"
    assert copy["cwd"] == str(tmp_path / "shop")
    assert copy["entries"] == data("inspect", GOLDEN / "g001.jsonl")["entries"]
    monkeypatch.chdir(tmp_path / "shop")
    assert [row["id"] for row in data("ls")["sessions"]] == [told["session"]]


def test_a_portable_session_belongs_to_where_it_is_imported(run, data, talk, world) -> None:
    run("export", talk, "--portable", "-o", "out.jsonl")

    told = data("import", "out.jsonl", "--new-id")

    assert data("inspect", told["path"])["cwd"] == str(world)


def test_what_is_there_already_is_not_copied(run, data, talk) -> None:
    path = data("name", talk)["file"]

    result = run("import", path)

    assert "already exists; nothing was copied" in result.stderr
    assert len(data("ls")["sessions"]) == 1


def test_damage_comes_along_and_is_told(run, data, world) -> None:
    result = run("import", EDGE / "corrupt-middle.jsonl")

    assert "1 finding in it" in result.stderr


def test_an_id_that_cannot_be_a_file_name_does_not_become_one(data, run, world, tmp_path, line) -> None:
    header = {"type": "session", "version": 3, "id": "../../../evil", "timestamp": "../..", "cwd": str(world)}
    (world / "odd.jsonl").write_text(
        json.dumps(header) + "\n" + line("a", None, "user", "x") + "\n", encoding="utf-8"
    )

    told = data("import", "odd.jsonl")

    assert Path(told["path"]).name == "odd.jsonl"
    assert Path(told["path"]).parent.parent == tmp_path / "home" / "sessions"


@pytest.mark.parametrize("name", ["empty", "garbage", "no-header"])
def test_what_is_no_session_is_not_imported(name, run, tmp_path) -> None:
    result = run("import", EDGE / f"{name}.jsonl", code=1)

    assert result.stderr
    assert not (tmp_path / "home").exists()
    run("import", "nope.jsonl", code=1)


def test_each_branch_becomes_a_trajectory(run, data, talk, tmp_path):
    run("export", talk, "--format", "atif", "--each", "branch", "-o", f"{tmp_path}/out/")

    assert len(list((tmp_path / "out").iterdir())) == 2
    run("export", talk, "--each", "branch", code=2)
    listed = data("export", talk, "--format", "openai", "--each", "branch", "-o", f"{tmp_path}/more/")
    assert len(listed["files"]) == 2


@pytest.mark.parametrize("kind", ["atif", "openai"])
def test_a_trajectory_is_no_session_and_is_not_imported(kind, run, talk, tmp_path):
    run("export", talk, "--format", kind, "-o", tmp_path / "made")

    refused = run("import", tmp_path / "made", "--dir", tmp_path / "in", code=1).stderr

    assert "made" in refused
    assert not (tmp_path / "in").exists()


def test_an_export_counts_the_lines_that_it_leaves_out(run, data, world) -> None:
    source = CORPUS / "claude-code" / "found" / "requests.jsonl"
    run("import", source, "--store", "s.db")
    (row,) = data("ls", "--store", "s.db")["sessions"]

    said = run("export", row["path"], "--no-redact", "-o", "back.jsonl").stderr

    assert "left out 3 lines that its agent keeps to itself" in said
    assert "left out 3 lines" in run("export", source).stderr
    assert data("export", source, "-o", "page.html")["withheld"] == 3
    kept = set((world / "back.jsonl").read_bytes().splitlines())
    assert len(set(source.read_bytes().splitlines()) - kept) == 3


def test_an_import_of_a_continued_rollout_counts_what_it_adds(run, world) -> None:
    folder = CORPUS / "codex" / "synthetic" / "threads" / "sessions" / "2026" / "09" / "02"
    source = folder / "rollout-2026-09-02T10-00-00-019f1000-0000-7000-8000-000000000010.jsonl"

    result = run("import", source, "--store", "here")

    (copy,) = (world / "here").glob("*.jsonl")
    assert copy.stat().st_size > source.stat().st_size
    assert "from the files that it continues" in result.stderr


@pytest.mark.parametrize("command", ["show", "import", "check"])
def test_a_packed_file_that_cannot_be_read_is_told_by_its_fault(command, run, world) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(made(world / "made.jsonl").read_bytes())
    (world / "other.jsonl.zst").write_bytes(packed)
    (world / "cut.jsonl.zst").write_bytes(packed[:-20])
    (world / "nothing.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(b""))

    assert "it is compressed, but not a Codex rollout" in run(command, "other.jsonl.zst", code=1).output
    assert "is cut off" in run(command, "cut.jsonl.zst", code=1).output
    assert "empty" in run(command, "nothing.jsonl.zst", code=1).output
