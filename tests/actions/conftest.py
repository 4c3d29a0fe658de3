"""A separate working directory and home for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline import AssistantMessage, Session, Text


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory; sessions are kept in a home beside it."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def session() -> Iterator[Session]:
    """A session with two branches; the path is question, answer, second question."""
    with Session.create() as made:
        made.append_message("How do I start?")
        answer = made.append_message(AssistantMessage(content=(Text(text="Read src/auth.py."),)))
        made.append_message("Then what?")
        made.branch(answer)
        made.append_message("And the tests?")
        yield made
