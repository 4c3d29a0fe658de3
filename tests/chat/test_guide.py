"""The guide has the commands of the table, each with its sentence, and the cheat sheet names them all."""

from __future__ import annotations

import re

from branchline.chat import COMMANDS
from support import ROOT


def test_the_guide_lists_every_command_as_it_is():
    page = (ROOT / "docs" / "guides" / "chat.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `/(.*?)` \| (.*) \|$", page, re.MULTILINE)

    assert rows == [(f"{one.name} {one.arguments}".strip().replace("|", "\\|"), one.help) for one in COMMANDS]


def test_the_cheat_sheet_names_every_command():
    page = (ROOT / "docs" / "cheat-sheet.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`/(\w+)", page.partition("## Chat")[2].partition("## ")[0]))

    assert named == {command.name for command in COMMANDS}
