"""Directories full of files that leave a mark when anything runs them."""

from __future__ import annotations

import shlex
from pathlib import Path

MODULES = (
    "branchline/__init__.py",
    "branchline/__main__.py",
    "click.py",
    "msgspec.py",
    "json.py",
    "asyncio.py",
    "platformdirs.py",
    "pluggy.py",
    "prompt_toolkit.py",
    "sitecustomize.py",
    "usercustomize.py",
)
"""Modules that ``python -m branchline`` imports, or that Python imports by itself."""
PROGRAMS = ("branchline", "claude", "codex", "ls", "node", "omp", "open", "pi", "sh", "xdg-open", "zot")


class Trap:
    """A directory to be lured into; ``sprung`` names the planted files that ran."""

    def __init__(self, directory: Path, marks: Path) -> None:
        self.directory = directory
        self._marks = marks
        directory.mkdir(parents=True, exist_ok=True)
        marks.mkdir(parents=True, exist_ok=True)

    @property
    def sprung(self) -> set[str]:
        return {mark.name for mark in self._marks.iterdir()}

    def mark(self, name: str) -> Path:
        """The file that a payload of this name writes."""
        return self._marks / name.replace("/", "+")

    def plant_module(self, name: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent != self.directory:
            (path.parent / "__init__.py").touch()
        path.write_text(f"open({str(self.mark(name))!r}, 'w').close()\n")

    def plant_program(self, name: str) -> None:
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n: > {shlex.quote(str(self.mark(name)))}\n")
        path.chmod(0o755)

    def plant_everything(self) -> None:
        for name in MODULES:
            self.plant_module(name)
        for name in PROGRAMS:
            if name != "branchline":  # a directory of this name is there already
                self.plant_program(name)
