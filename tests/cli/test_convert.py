"""`branchline convert` and `fork --to`: a conversation as a file of another program."""

from __future__ import annotations

import os
import random
import stat
import string
from pathlib import Path

import pytest

from branchline.actions.convert import TARGETS
from branchline.errors import NotSupported
from branchline.formats import detect
from branchline.library import SessionLibrary
from branchline.session import Session
from support import CORPUS

ZOT = next(path for path in sorted((CORPUS / "zot").rglob("*.jsonl")) if "damaged" not in str(path))
CODEX = next(path for path in sorted((CORPUS / "codex").rglob("rollout*.jsonl")))


@pytest.fixture
def talk(world: Path) -> Path:
    """A session with two branches and a label."""
    path = world / "talk.jsonl"
    with Session.create(world, directory=world / "kept", persist="at_once") as session:
        first = session.append_message("start")
        session.append_label(first, "here")
        session.append_message("left")
        session.branch(first)
        session.append_message("right")
    os.link(session.file, path)
    return path


def made_by(result):
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("converted ")]
    return Path(line.split(" into ")[1].rsplit(" (", 1)[0])


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "opencode"])  # takes documents
def test_a_session_becomes_a_private_file_here_that_opens_as_what_it_is(run, world, talk, target):
    before = talk.read_bytes()

    path = made_by(run("convert", talk, "--to", target))

    assert path.parent == world
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = detect(path.read_bytes()[:65536], str(path))
    assert found.name == ("pi" if target == "branchline" else target)
    assert talk.read_bytes() == before


@pytest.fixture
def compacted(world: Path) -> Path:
    """A session whose older messages are behind a summary, which zot cannot store."""
    with Session.create(world, directory=world / "kept", persist="at_once") as session:
        session.append_message("an old prompt")
        session.append_message({"role": "system", "content": "no message of the conversation"})
        session.append_compaction("in short", session.append_message("a kept prompt"), 100)
        session.append_message("a new prompt")
    return Path(session.file)


def test_a_conversion_that_drops_a_message_of_the_path_writes_nothing(run, world, compacted):
    result = run("convert", compacted, "--to", "zot", "-o", "out.jsonl", code=1)

    assert "zot would lack 1 message of the path" in result.stderr
    assert "replaced by a summary" in result.stderr
    assert "--lossy" in result.stderr
    assert not (world / "out.jsonl").exists()
    assert run("convert", compacted, "--to", "claude-code", "-o", "claude.jsonl").exit_code == 0


def test_lossy_writes_the_rest_and_says_first_what_is_not_there(run, world, compacted):
    result = run("convert", compacted, "--to", "zot", "-o", "out.jsonl", "--lossy")

    assert result.stderr.startswith("not in the new file: 1 message of the path")
    assert "a new prompt" in (world / "out.jsonl").read_text()
    with Session.open(compacted) as session:
        with pytest.raises(NotSupported, match="lossy=True"):
            session.convert("zot", output=world / "other.jsonl")
        (file,) = session.convert("zot", output=world / "other.jsonl", lossy=True).files
        assert len(file.fidelity.dropped) == 1


def test_the_account_is_told_on_stderr(run, talk):
    result = run("convert", talk, "--to", "zot")

    assert "kept as they are: 2 of 5 entries" in result.stderr
    assert "not kept: 1 × user message: not on the active path" in result.stderr
    assert "`--branches` writes a file for each branch" in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_the_account_is_data_with_json(data, talk):
    value = data("convert", talk, "--to", "operator")

    assert set(value) == {"schema", "source", "source_file", "source_format", "target", "files"}
    (file,) = value["files"]
    assert set(file) == {"session", "path", "size", "resume", "fidelity"}
    counts = file["fidelity"]["counts"]
    assert sum(counts.values()) == file["fidelity"]["entries"]
    assert os.path.getsize(file["path"]) == file["size"]
    assert file["resume"] is None


def test_nothing_is_overwritten(run, world, talk):
    taken = world / "taken.jsonl"
    taken.write_bytes(b"mine")

    result = run("convert", talk, "--to", "zot", "-o", taken, code=1)

    assert "already exists and is left unchanged" in result.stderr
    assert taken.read_bytes() == b"mine"


def test_only_a_path_or_each_branch_in_a_file_of_its_own(data, world, talk):
    (world / "out").mkdir()

    one = data("convert", talk, "--to", "zot", "--branch", "@leaf~1", "-o", world / "one.jsonl")
    each = data("convert", talk, "--to", "piglet", "--branches", "-o", world / "out")

    assert one["files"][0]["fidelity"]["entries"] < 5
    assert len(each["files"]) == len(list((world / "out").iterdir())) == 2


def test_install_puts_it_where_the_program_looks_and_tells_how_to_go_on(run, world, talk, monkeypatch):
    home = world / "home"
    monkeypatch.setenv("HOME", str(home))
    for name in ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "XDG_STATE_HOME", "ZOT_HOME"):
        monkeypatch.delenv(name, raising=False)

    pi = run("convert", talk, "--to", "pi", "--install")
    zot = run("convert", talk, "--to", "zot", "--install")
    piglet = run("convert", talk, "--to", "piglet", "--install")

    assert made_by(pi).is_relative_to(home / ".pi" / "agent" / "sessions")
    assert f"cd {world} && pi --session {made_by(pi)}" in pi.stdout
    assert made_by(zot).is_relative_to(home / ".local" / "state" / "zot" / "sessions")
    assert f"zot --session {made_by(zot)}" in zot.stdout
    assert f"cd {world} && piglet  # choose the session in piglet" in piglet.stdout


def test_without_install_the_folders_of_other_programs_stay_untouched(run, world, talk, monkeypatch):
    monkeypatch.setenv("HOME", str(world / "home"))

    for target in TARGETS:
        run("convert", talk, "--to", target)

    assert not (world / "home").exists()


def test_the_forest_shows_a_conversion_below_its_source(run, world, talk):
    kept = next((world / "kept").glob("*.jsonl"))

    run("convert", kept, "--to", "pi", "-o", world / "kept")

    forest = SessionLibrary(world / "kept").forest()
    assert [row.depth for row in forest] == [0, 1]


def test_a_session_comes_back_as_it_was(run, world):
    native = made_by(run("convert", ZOT, "--to", "branchline"))

    result = run("convert", native, "--to", "zot", "--same-id", "-o", world / "back.jsonl")

    assert (world / "back.jsonl").read_bytes() == ZOT.read_bytes()
    assert "byte for byte" in result.stderr


def test_a_program_that_is_only_read_goes_into_one_that_is_written(data):
    value = data("convert", CODEX, "--to", "oh-my-pi")

    with Session.open(value["files"][0]["path"]) as session:
        assert session.transcript.format.name == "oh-my-pi"
        assert session.header.parent_session == str(CODEX)


def test_fork_to_takes_the_path_to_an_entry(run, talk):
    path = made_by(run("fork", talk, "@leaf", "--before", "--to", "operator"))

    with Session.open(path) as session:
        assert [session.entry(key).message.content[0].text for key in session.path()] == ["start"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "emacs"), "unknown agent 'emacs'; choose one of branchline, pi"),
        (("--to", "zot", "--branch", "@leaf", "--tree"), "exclude each other"),
        (("--to", "zot", "--install", "-o", "x"), "omit -o"),
        (("--to", "zot", "--branches", "-o", "nowhere"), "2 files need a directory"),
    ],
)
def test_wrong_calls_say_what_is_wrong(run, talk, arguments, words):
    assert words in run("convert", talk, *arguments, code=2).stderr


def test_a_program_that_cannot_be_written_is_refused(run, talk):
    assert (
        "gemini are read-only; choose one of branchline, pi"
        in run("convert", talk, "--to", "gemini", code=1).stderr
    )


def test_a_fork_into_a_file_stays_with_its_program(run, world):
    path = made_by(run("fork", ZOT, "-o", "carried.jsonl"))

    assert path == world / "carried.jsonl"
    assert Session.open(path).format == "zot"


def test_secrets_in_lines_that_were_kept_do_not_leave_with_an_export(run, world):
    secret = (
        "sk-ant-api03-" + "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=93)) + "AA"
    )
    source = world / "s.jsonl"
    operator = next(
        path for path in sorted((CORPUS / "operator").rglob("*.jsonl")) if "damaged" not in str(path)
    )
    first, *rest = operator.read_bytes().split(b"\n")
    line = next(line for line in rest if b'"role":"user"' in line)
    words = line.split(b'"content":"')[1].split(b'"')[0]
    source.write_bytes(b"\n".join([first, *rest]).replace(words, b"my key is " + secret.encode()))
    native = made_by(run("convert", source, "--to", "branchline"))
    assert native.read_bytes().count(secret.encode()) > 1

    run("export", native, "-o", world / "out.jsonl")

    assert secret.encode() not in (world / "out.jsonl").read_bytes()
