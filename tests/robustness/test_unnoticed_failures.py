"""What goes wrong is noticed: prompts that cannot be saved, and files that are rewritten while they are open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from branchline import Session
from branchline.errors import LogReplaced
from support import CORPUS


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits on the size of files")
@pytest.mark.parametrize(("limit", "code"), [(1_500, 1), (1 << 20, 0)], ids=["full", "room"])
def test_a_chat_with_piped_prompts_that_cannot_be_saved_fails(limit, code, tmp_path):
    import resource

    environment = {
        **os.environ,
        "HOME": str(tmp_path / "person"),
        "BRANCHLINE_HOME": str(tmp_path / "home"),
        "BRANCHLINE_CONFIG": str(tmp_path / "home" / "config.toml"),
        "PYTHONDONTWRITEBYTECODE": "1",  # under the limit, Python writes half of a .pyc file and keeps it
    }
    prompts = "".join(f"question {number} {'long ' * 40}\n" for number in range(8)).encode()

    done = subprocess.run(
        [sys.executable, "-m", "branchline", "chat", "--model", "offline:echo"],
        input=prompts,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )

    assert done.returncode == code, done.stderr
    assert (b"nothing was saved" in done.stderr) is bool(code), done.stderr
    assert b"Traceback" not in done.stderr


def rewritten(file: Path, old: bytes, new: bytes) -> None:
    """Write over a part of a file, in place, without a change of its size."""
    data = file.read_bytes()
    assert len(old) == len(new)
    assert old in data
    with file.open("r+b") as handle:
        handle.seek(data.rindex(old))
        handle.write(new)


@pytest.mark.parametrize("own", [False, True], ids=["as read", "after an append of our own"])
def test_an_open_file_that_is_rewritten_in_place_is_not_appended_to(own, tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_bytes((CORPUS / "pi" / "golden" / "g001.jsonl").read_bytes())
    with Session.open(file) as session:
        if own:
            session.append_message("something else")
        last = session.index.keys[-1].encode()
        rewritten(file, last, b"x" * len(last))
        before = file.read_bytes()

        with pytest.raises(LogReplaced, match="rewritten while it was open"):
            session.append_message("more")
        with pytest.raises(LogReplaced):
            session.refresh()

    assert file.read_bytes() == before


def test_a_title_that_oh_my_pi_writes_into_its_slot_is_no_rewrite(tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_bytes((CORPUS / "oh-my-pi" / "every-entry-type.jsonl").read_bytes())
    with Session.open(file) as session:
        rewritten(
            file,
            b'"title":"Parser work","source":"user","updatedAt"',
            b'"title":"Lexer works","source":"user","updatedAt"',
        )

        session.append_message("more")
