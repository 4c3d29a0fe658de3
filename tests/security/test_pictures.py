"""A picture of a session is opened as a picture, from a private file, and removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from branchline.tui.app import BranchlineApp
from branchline.tui.images import PictureFiles, open_picture
from branchline.views.image_types import image_type
from security.traps import Trap
from tui.kit import app_on, drive

PNG = b"\x89PNG\r\n\x1a\n"
PICTURES = {
    ".png": PNG,
    ".jpg": b"\xff\xd8\xff\xe0",
    ".gif": b"GIF89a",
    ".webp": b"RIFF\x0a\x00\x00\nWEBPVP8 ",
}
OTHERS = {
    "shell script": b"#!/bin/sh\ntouch marker\n",
    "elf": b"\x7fELF\x02\x01\x01",
    "desktop entry": b"[Desktop Entry]\nExec=sh -c 'touch marker'\n",
    "html": b"<html><script>1</script>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>',
    "pdf": b"%PDF-1.7",
    "zip": b"PK\x03\x04",
    "postscript": b"%!PS-Adobe-3.0",
    "mvg": b"push graphic-context\nfill 'url(https://example.com/x.jpg\"|touch \"marker)'\n",
    "late magic": b" " + PNG,
    "wave": b"RIFF\x00\x00\x00\x00WAVE",
    "empty": b"",
}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


@pytest.mark.parametrize(("extension", "data"), PICTURES.items(), ids=PICTURES)
@pytest.mark.parametrize("mask", [0, 0o077, 0o777])
def test_a_picture_is_private_whatever_the_umask(extension: str, data: bytes, mask: int) -> None:
    before = os.umask(mask)
    try:
        files = PictureFiles()
        path = files.save(data)
    finally:
        os.umask(before)

    assert path is not None
    assert os.path.isabs(path)
    assert path.endswith(extension)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700
    assert Path(path).read_bytes() == data
    files.close()
    assert not os.path.exists(os.path.dirname(path))


@pytest.mark.parametrize("data", OTHERS.values(), ids=OTHERS.keys())
def test_what_is_not_a_picture_is_not_written(data: bytes, temporary: Path) -> None:
    files = PictureFiles()

    saved = files.save(data)

    assert saved is None
    assert image_type(data) is None
    assert [path for path in temporary.rglob("*") if path.is_file()] == []
    files.close()


def test_several_pictures_have_names_of_their_own() -> None:
    files = PictureFiles()

    paths = {files.save(PNG) for _ in range(3)}

    assert len(paths) == 3
    files.close()


def test_pictures_are_removed_when_the_process_ends_without_closing_them(temporary: Path) -> None:
    script = (
        "from branchline.tui.images import PictureFiles\n"
        "files = PictureFiles()\n"
        f"print(files.save({PNG!r}))\n"
        "raise RuntimeError\n"
    )

    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=False)

    assert done.stdout.startswith(str(temporary))
    assert list(temporary.iterdir()) == []


def test_a_relative_temporary_directory_gives_an_absolute_path(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(temporary)
    monkeypatch.setattr(tempfile, "tempdir", ".")

    files = PictureFiles()

    assert os.path.isabs(files.save(PNG) or "")
    files.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_pictures_are_removed_when_a_signal_ends_the_browser(
    number: signal.Signals, tmp_path: Path, temporary: Path
) -> None:
    app = app_on(tmp_path)
    seen: list[bool] = []

    async def told(app: BranchlineApp, pilot: Pilot[int]) -> None:
        path = app.pictures.save(PNG)
        seen.append(path is not None and len(os.listdir(temporary)) == 1)
        os.kill(os.getpid(), number)
        await pilot.pause(0.2)

    drive(app, told)

    assert seen == [True]
    assert app.return_code == 128 + number
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("path", ["", ".", ":/usr/bin:/bin", ".:/usr/bin:/bin"])
def test_the_viewer_is_not_taken_from_the_present_directory(
    path: str, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("xdg-open", "open"):
        trap.plant_program(name)
    monkeypatch.chdir(trap.directory)
    monkeypatch.setenv("PATH", path.replace("/usr/bin:/bin", "/nonexistent"))
    files = PictureFiles()

    opened = open_picture(files.save(PNG) or "")

    assert opened is False
    assert trap.sprung == set()
    files.close()


def test_the_viewer_gets_the_absolute_path_and_no_relative_search_path(
    tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap.plant_everything()
    tools, seen = tmp_path / "tools", tmp_path / "seen"
    tools.mkdir()
    viewer = tools / "xdg-open"
    viewer.write_text(
        f'#!/bin/sh\nls > /dev/null\necho "$1" "$PATH" > {seen}.part && mv {seen}.part {seen}\n'
    )
    viewer.chmod(0o755)
    monkeypatch.setenv("PATH", f".:{tools}::/usr/bin:/bin")
    monkeypatch.chdir(trap.directory)
    files = PictureFiles()
    path = files.save(PNG)
    assert path is not None

    opened = open_picture(path)

    end = time.monotonic() + 30
    while not seen.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert opened is True
    assert seen.read_text().split() == [path, f"{tools}:/usr/bin:/bin"]
    assert trap.sprung == set()
    files.close()
