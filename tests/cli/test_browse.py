"""``browse`` and the way into the browser; what it does inside is tested with the screens."""

from __future__ import annotations

from typing import Any

import pytest

import branchline.cli.commands.browse as browsing
from branchline.views.browser.state import BrowserState
from cli.conftest import Run


def test_the_search_language_works_for_programs_too(data: Any, talk: str) -> None:
    found = data("browse", "--search", "start role:user")
    none = data("browse", "--search", "nowhere")
    wrong = data("browse", "--search", "after:soon")

    assert [row["id"] for row in found["sessions"]] == ["talk"]
    assert (found["seen"], found["hidden"], found["unreadable"]) == (1, 0, 0)
    assert none["sessions"] == []
    assert wrong["sessions"] == []
    assert "is not a valid time" in wrong["problem"]


def test_without_a_terminal_browse_says_what_to_use_instead(run: Run) -> None:
    assert "needs a terminal" in run("browse", code=2).stderr


def test_without_a_terminal_no_command_lists_the_sessions_as_before(run: Run, talk: str) -> None:
    assert "Auth refactor" in run().stdout


def test_where_textual_is_missing_the_extra_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "_on_a_terminal", lambda: True)
    monkeypatch.setattr(browsing, "_installed", lambda: False)

    assert "pip install '.[tui]'" in run("browse", code=1).stderr


def test_reading_needs_a_session(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "_on_a_terminal", lambda: True)

    assert "--read needs a SESSION" in run("browse", "--read", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), {"view": "sessions", "scope": "here", "row": None, "words": ""}),
        (("--all", "--search", "login"), {"view": "sessions", "scope": "all", "words": "login"}),
        (("talk",), {"view": "tree"}),
        (("talk", "--read"), {"view": "transcript"}),
        (("--forest",), {"view": "forest"}),
    ],
)
def test_the_arguments_choose_screen_scope_and_search(
    run: Run,
    talk: str,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    expected: dict[str, object],
) -> None:
    called: dict[str, object] = {}

    def opened(state: BrowserState, **options: object) -> int:
        called.update(options, scope=state.scope, words=state.words)
        return 0

    monkeypatch.setattr(browsing, "_on_a_terminal", lambda: True)
    monkeypatch.setattr("branchline.tui.run", opened)

    run("browse", *arguments)

    assert {name: called[name] for name in expected} == expected
    if arguments and arguments[0] == "talk":
        assert called["row"].path.endswith("talk.jsonl")  # type: ignore[attr-defined]


def test_with_no_session_on_this_machine_the_demo_library_opens_and_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    called: dict[str, object] = {}
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(
        "BRANCHLINE_CONFIG", f"{tmp_path}/config.toml"
    )  # the demo sets it, and this takes it back
    monkeypatch.setattr(browsing, "can_browse", lambda _out: True)
    monkeypatch.setattr("branchline.tui.run", lambda _state, **options: called.update(options) or 0)

    run()

    assert "demo library" in str(called["notice"])


@pytest.mark.parametrize("command", ["show", "tree", "resume"])
def test_without_a_session_and_without_a_terminal_to_pick_one_a_command_asks_for_it(
    run: Run, command: str
) -> None:
    assert "Missing argument 'SESSION'" in run(command, code=2).stderr


@pytest.mark.parametrize("command", ["show", "tree"])
def test_on_a_terminal_a_command_without_a_session_works_on_the_one_that_is_picked(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    run("new", "--id", "picked", "--title", "Picked")
    run("append", "picked", "Hello")
    asked: list[str] = []

    def pick(_out: object, verb: str, _directory: str | None = None) -> str:
        asked.append(verb)
        return "picked"

    monkeypatch.setattr(f"branchline.cli.commands.{command}.pick_session", pick)

    assert "Hello" in run(command).stdout
    assert asked == [command]
