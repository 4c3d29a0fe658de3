"""The command as a process among others: pipes that close, disks that fill, keys that interrupt."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from branchline import Session
from cli.conftest import entry_line
from support import CORPUS

EDGE = CORPUS / "pi" / "edge"
LIMIT = 4096


def limited() -> None:
    """No file may grow beyond a few kilobytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@pytest.fixture
def program(request) -> list[str]:
    installed = Path(sys.executable).parent / "branchline"
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "branchline"]


@pytest.fixture
def big(world) -> Path:
    """A session whose tree is larger than any pipe."""
    session = Session.create(world, directory=world, id="big", persist="at_once", durability="os")
    with session:
        for number in range(1_000):
            session.append_message(f"{number} " + "words " * 200)
    return Path(session.file)


def test_make_run_works_on_a_fresh_machine(process, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BRANCHLINE_INDEX", "off")  # the one thing that looking may write

    done = process()

    assert done.returncode == 0
    assert done.stdout.startswith(b"No sessions yet.")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_may_be_closed(closed, program, talk, tmp_path) -> None:
    for command in ("", "ls", f"show {talk}", "nonsense", "--version", "--help", f"append {talk} more"):
        done = subprocess.run(
            ["bash", "-c", f'"$@" {command} {closed}', "bash", *program],
            check=False,
            capture_output=True,
            timeout=60,
        )
        assert b"Traceback" not in done.stderr
        assert b"Exception ignored" not in done.stderr
        assert done.returncode == (2 if command == "nonsense" else 0), (command, done.stderr)


@pytest.mark.parametrize(
    "command", [["tree", "--json"], ["show"], ["export"], ["tree"], ["show", "--raw"]], ids=" ".join
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_ends_the_program_quietly(
    command, unbuffered, program, big, monkeypatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    name, *options = command
    with subprocess.Popen(
        [*program, name, str(big), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.read(10)
        child.stdout.close()
        errors = child.stderr.read()
        code = child.wait(60)

    assert code == 141
    assert errors == b""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_gets_every_byte(unbuffered, program, big, monkeypatch) -> None:
    """Also from a Python without buffers, interrupted by signals, through a slow reader."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with subprocess.Popen([*program, "export", str(big)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        received = b""
        while piece := os.read(child.stdout.fileno(), 5000):
            received += piece
            child.send_signal(signal.SIGCONT)

    assert received == big.read_bytes()


def test_help_into_a_closed_pipe_is_quiet_too(program) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [*program, "--help"], check=False, stdout=writing, stderr=subprocess.PIPE, timeout=60
    )

    os.close(writing)
    assert done.returncode in (1, 141)
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_told(process, big) -> None:
    with open("/dev/full", "wb") as full:
        done = process("show", big, stdout=full, stderr=subprocess.PIPE)

    assert done.returncode == 1
    assert b"no space left" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_remarks_that_nobody_hears_change_no_exit_code(process, talk) -> None:
    with open("/dev/full", "wb") as full:
        codes = [
            process(*command, stdout=subprocess.PIPE, stderr=full).returncode
            for command in (["ls"], ["nonsense"], ["show", "nope"])
        ]

    assert codes == [0, 2, 1]


def test_a_full_disk_loses_nothing_and_leaves_nothing(
    process, data, run, talk, world, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # Python would write half of a .pyc file and keep it
    path = Path(data("name", talk)["file"])
    (world / "words.txt").write_text("x" * 2 * LIMIT, encoding="utf-8")
    (world / "damaged.jsonl").write_bytes(
        (EDGE / "corrupt-middle.jsonl").read_bytes() + b"x" * 2 * LIMIT + b"\n"
    )
    run("append", talk, "-", stdin="x" * 2 * LIMIT)
    before = {item: item.read_bytes() for item in tmp_path.rglob("*") if item.is_file()}

    for command, words in {
        ("append", talk, "-"): b"nothing was saved, the file is unchanged",
        ("fork", talk): b"nothing was saved",
        ("export", talk, "-o", "out.jsonl"): b"nothing was written",
        ("import", str(path), "--new-id"): b"nothing was written",
        ("repair", "damaged.jsonl"): b"nothing was written",
    }.items():
        with open("words.txt", "rb") as stdin:
            done = process(*command, stdin=stdin, preexec_fn=limited)
        assert done.returncode == 1, command
        assert b"file larger than allowed (EFBIG)" in done.stderr, (command, done.stderr)
        assert words in done.stderr
        assert done.stdout == b""

    after = {item: item.read_bytes() for item in tmp_path.rglob("*") if item.is_file()}
    locks = {item: content for item, content in after.items() if item.suffix == ".lock"}
    assert {**before, **locks} == after
    run("append", talk, "and it goes on")


def test_a_truncated_module_is_no_interruption(tmp_path) -> None:
    """An older Python keeps half of a .pyc file that a full disk left, and ends with EOFError each time."""
    code = (
        "import sys\nfrom branchline.cli.commands import help\n"
        "def broken(**_): raise EOFError('marshal data too short')\n"
        "help.version_command.callback = broken\n"
        "sys.argv = ['branchline', 'version']\nfrom branchline.cli import main\nmain()"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "internal error" in done.stderr
    assert "marshal data too short" in done.stderr


def test_an_interruption_is_an_exit_code(program, talk, data) -> None:
    leaf = data("inspect", talk)["leaf"]
    with subprocess.Popen(
        [*program, "append", talk, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        child.stdin.write(b"x")
        child.stdin.flush()
        while fcntl.ioctl(child.stdin.fileno(), termios.FIONREAD, b"    ") != b"\0\0\0\0":
            time.sleep(0.01)  # until the command reads
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)

    assert child.returncode == 130
    assert b"Traceback" not in errors
    assert data("inspect", talk)["leaf"] == leaf


def test_a_terminal_that_knows_only_ascii_gets_drawings_of_ascii(process, talk, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("LC_ALL", "C")

    done = process("tree", talk)

    assert done.returncode == 0
    assert b"> |- * user: And the tests?" in done.stdout


def test_an_unexpected_failure_is_one_sentence_unless_asked_for_more(run, monkeypatch, talk) -> None:
    from click.testing import CliRunner

    from branchline.cli.app import cli

    def fail(*_arguments: object) -> None:
        raise RuntimeError("boom \x1b[31m")

    monkeypatch.setattr("branchline.cli.resolver.resolve_path", fail)

    result = CliRunner().invoke(cli, ["show", talk])

    assert result.exit_code == 1
    assert "internal error in branchline" in result.stderr
    assert "boom ␛[31m" in result.stderr
    monkeypatch.setenv("BRANCHLINE_DEBUG", "1")
    assert isinstance(CliRunner().invoke(cli, ["show", talk]).exception, RuntimeError)


def test_a_directory_that_is_gone_is_told(process, world) -> None:
    done = process("ls", preexec_fn=world.rmdir)

    assert done.returncode == 1
    assert done.stderr == b"branchline: the current directory no longer exists\n"


def test_two_programs_that_append_at_once_both_succeed(program, talk, data) -> None:
    children = [
        subprocess.Popen([*program, "append", talk, f"message {number}"], stdout=subprocess.DEVNULL)
        for number in range(4)
    ]

    assert [child.wait(60) for child in children] == [0, 0, 0, 0]
    texts = [row["text"] for row in data("tree", talk)["rows"]]
    assert {f"user: message {number}" for number in range(4)} <= set(texts)


WRITING = {
    "export": ["export", "big.jsonl", "--no-redact", "-o", "out/big.jsonl"],
    "export --force": ["export", "big.jsonl", "--no-redact", "-o", "out/old.jsonl", "--force"],
    "page": ["export", "big.jsonl", "--no-redact", "-o", "out/big.html"],
    "import": ["import", "big.jsonl", "--store", "out"],
    "database": ["import", "big.jsonl", "--store", "out/new.db"],
    "convert": ["convert", "big.jsonl", "--to", "zot", "-o", "out/zot.jsonl"],
    "sync": ["sync", "here", "out", "--yes"],
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_a_signal_leaves_no_temporary_file(words, number, program, world) -> None:
    head = '{"type":"session","version":3,"id":"big","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}\n'
    lines = (entry_line(f"e{n}", f"e{n - 1}" if n else None, "user", "word " * 200) for n in range(30_000))
    (world / "big.jsonl").write_text(head + "".join(line + "\n" for line in lines))
    for name in ("here", "out"):
        (world / name).mkdir()
    (world / "here" / "big.jsonl").hardlink_to(world / "big.jsonl")
    (world / "out" / "old.jsonl").write_bytes(b"old\n")

    child = subprocess.Popen([*program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while child.poll() is None and time.monotonic() < end:
        if any(name.startswith(".") and name != ".branchline" for name in os.listdir(world / "out")):
            child.send_signal(number)
            break
        time.sleep(0.001)
    _, said = child.communicate(timeout=60)

    assert child.returncode in (0, {signal.SIGINT: 130}.get(number, 128 + number))
    assert b"Traceback" not in said
    left = set(os.listdir(world / "out")) - {".branchline"}
    assert not [name for name in left if name.startswith(".")]
    if child.returncode:
        assert left <= {"old.jsonl", "new.db", "new.db-wal", "new.db-shm", "new.db-locks"}
        assert (world / "out" / "old.jsonl").read_bytes() == b"old\n"


def test_nohup_is_respected(program, world) -> None:
    """A signal that the parent ignores stays ignored."""
    words = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *program, "ls"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        time.sleep(0.05)
        child.send_signal(signal.SIGHUP)
        child.communicate(timeout=30)

    assert child.returncode == 0
