"""Helpers for the flow tests: plugins, a recording summarizer, sessions with a few turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from branchline import Session
from branchline.compaction import Summary, SummaryRequest
from branchline.flows import Implementation, PluginProblem, Step
from session.kit import assistant, bytes_of, facts, new, user
from support import CORPUS

LONG = "x" * 400  # a hundred tokens


class PlainHooks:
    """Hooks from plain functions ``(event, context)``, one plugin for each, without pluggy."""

    def __init__(self, **hooks: Callable[..., Any] | Sequence[Callable[..., Any]]) -> None:
        self.functions = {
            hook: list(given) if isinstance(given, list | tuple) else [given] for hook, given in hooks.items()
        }
        self.problems: list[PluginProblem] = []

    def implementations(self, hook: str, /) -> Sequence[Implementation]:
        functions = self.functions.get(hook, [])
        return [Implementation(f"plugin {number}", call) for number, call in enumerate(functions, 1)]

    def report(self, problem: PluginProblem, /) -> None:
        self.problems.append(problem)


class Recorder(PlainHooks):
    """Remembers what it was asked and told, and has no opinion."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, Any]] = []

    def implementations(self, hook: str, /) -> Sequence[Implementation]:
        return [Implementation("recorder", lambda event, context: self.heard.append((hook, event)))]

    @property
    def names(self) -> list[str]:
        return [hook for hook, _event in self.heard]

    def event(self, hook: str) -> Any:
        return next(event for name, event in self.heard if name == hook)


class Writer:
    """A summarizer: writes which kind it was asked for, and remembers the requests."""

    def __init__(self, text: str | Summary = "in short") -> None:
        self.text = text
        self.requests: list[SummaryRequest] = []

    def __call__(self, request: SummaryRequest) -> str | Summary:
        self.requests.append(request)
        return self.text


def branched(place: Path) -> tuple[Session, dict[str, str]]:
    """Two turns, and a third that is left: question 2 has two answers. Stands on the newer one."""
    session = new(place)
    names = {
        "first": session.append_message(user("question 1")),
        "answer": session.append_message(assistant("answer 1")),
        "second": session.append_message(user("question 2")),
        "old": session.append_message(assistant("the old way")),
    }
    session.branch(names["second"])
    names["new"] = session.append_message(assistant("the new way"))
    return session, names


def state(session: Session) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a session and all that it says; two equal states differ in nothing."""
    return bytes_of(session), facts(session)


def steps_of(flow: Any, answers: Callable[[Step], Any]) -> list[Step]:
    """The steps of a flow that is answered like this."""
    found = []
    try:
        step = next(flow)
        while True:
            found.append(step)
            step = flow.send(answers(step))
    except StopIteration:
        return found


def foreign(program: str, directory: Path) -> Session:
    """A copy of one of our own samples in the format of another program, to be appended to."""
    for path in sorted((CORPUS / program).rglob("*.*json*")):
        copy = directory / path.name
        copy.write_bytes(path.read_bytes())
        try:
            session = Session.open(copy)
        except Exception:
            continue
        if session.read_only is None and session.transcript.format.name == program and len(session):
            return session
    pytest.fail(f"there is no sample of {program} that can be appended to")
