"""The manual page says what ``--help`` says, in roff that ``man`` accepts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import click
import pytest

from branchline.cli.app import cli
from branchline.cli.man_page import man_page


def man_text() -> str:
    return man_page(cli)


def shown(page: str) -> str:
    """The page as words: escapes undone, requests dropped."""
    text = re.sub(r"\\f[BIR]|\\&", "", page)
    for escape, character in {r"\-": "-", r"\(aq": "'", r"\(ga": "`", r"\(ti": "~", r"\(dq": '"'}.items():
        text = text.replace(escape, character)
    return text


def test_the_page_has_every_command_and_every_option():
    text = shown(man_text())

    for name in cli.list_commands(None):
        command = cli.get_command(None, name)
        assert f'\n.SS "branchline {name}' in text
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[-1] in text, f"{name} {parameter.opts}"
    assert all(f"\n.SH {section}" in text for section in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT"))


def test_the_formatter_of_man_has_no_complaint(tmp_path):
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed here")

    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-Kutf8", "-ww"],
        input=man_text(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "branchline graft" in re.sub(r"\x1b\[[\d;]*m", "", done.stdout)


def test_an_installed_package_prints_the_page():
    command = [sys.executable, "-m", "branchline.cli.man_page"]

    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == man_text()
