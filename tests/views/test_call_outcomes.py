"""What a call came to, in the same few words on every screen and page."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from branchline.cli.app import cli
from branchline.session import Session
from branchline.views.call_lines import call_row
from branchline.views.call_outcomes import call_outcome, changed_lines
from branchline.views.cards import cards
from branchline.views.files_touched import files_touched
from branchline.views.html.pieces import PieceRenderer
from branchline.views.spans import line_text
from branchline.views.tool_calls import Call
from branchline.views.tool_views import call_sections

ESC = "\x1b"
RUNS = [
    (f"{ESC}[31m1 failed{ESC}[0m, 5 passed", True, "1 failed, 5 passed"),
    (
        f"== {ESC}[31m{ESC}[1m2 failed{ESC}[0m, {ESC}[32m40 passed{ESC}[0m in 3s ==",
        True,
        "2 failed, 40 passed",
    ),
    (f"tests: {ESC}[1m{ESC}[32m5 passed{ESC}[0m", False, "5 passed"),
    ("first: 5 passed\nsecond: 1 failed\nthird: 7 passed", True, "1 failed"),
    ("test result: ok. 3 passed; 0 failed; 0 ignored; 2 measured", False, "3 passed, 2 measured"),
    ("Tests:       1 failed, 5 passed, 6 total", False, "1 failed, 5 passed, 6 total"),
    ("5 passed\ndeploy: permission denied", True, "failed"),
    ("5 passed", True, "failed"),
    ("one\ntwo\n", False, "2 lines"),
    ("", False, ""),
]


@pytest.mark.parametrize(("output", "failed", "shown"), RUNS)
def test_a_failed_run_is_never_drawn_as_what_passed(tmp_path, output, failed, shown):
    with Session.create(tmp_path, directory=tmp_path) as session:
        call = {"type": "toolCall", "id": "c", "name": "Bash", "arguments": {"command": "make test"}}
        session.append_message("go")
        answer = session.append_message({"role": "assistant", "content": [call]})
        content = [{"type": "text", "text": output}]
        session.append_message(
            {
                "role": "toolResult",
                "toolCallId": "c",
                "toolName": "Bash",
                "content": content,
                "isError": failed,
            }
        )
        (card,) = (card for card in cards(session.entries(session.path())) if card.kind == "tool")
        piece = PieceRenderer(session.transcript).piece(session.index.position(answer))

    assert call_outcome("Bash", [], output, (), failed=failed).words == ((shown,) if shown else ())
    assert line_text(call_row(card, 80)).rstrip().endswith(shown or "make test")
    assert f'<span class="gist">{shown}</span>' in piece


def test_a_known_exit_code_and_a_duration_stay():
    outcome = call_outcome("bash", [], "1 failed", ("exit code 2", "1.5s"), failed=True)

    assert outcome == (("exit code 2", "1 failed"), "1.5s")
    assert call_outcome("bash", [], "x", ("without its call",), failed=True).words == (
        "without its call",
        "failed",
    )


WRITES = [
    ("write", {"path": "a.py", "content": "1\n2\n3\n4\n5\n6\n7\n"}, (7, 0)),
    ("Write", {"file_path": "a.py", "content": "1\n2\n3\n4\n5\n6\n7"}, (7, 0)),
    ("write_file", {"path": "a.py", "content": "1\n\n\n"}, (3, 0)),
    ("create_file", {"path": "a.py", "file_text": ""}, (0, 0)),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "1\n2\n"}, (2, 0)),
    ("edit", {"path": "a.py", "oldText": "", "newText": "1\n2\n"}, (2, 0)),
    ("Edit", {"file_path": "a.py", "old_string": "1\n2\n", "new_string": ""}, (0, 2)),
    ("edit", {"path": "a.py", "oldText": "a\nb\n", "newText": "a\nc\n"}, (1, 1)),
    (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n+more\n*** End Patch"},
        (2, 1),
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "lines"), WRITES)
def test_one_change_has_one_count_of_lines_everywhere(tmp_path, tool, arguments, lines):
    with Session.create(tmp_path, directory=tmp_path / "s") as session:
        call = {"type": "toolCall", "id": "c", "name": tool, "arguments": arguments}
        session.append_message("go")
        answer = session.append_message({"role": "assistant", "content": [call]})
        content = [{"type": "text", "text": "File written."}]
        session.append_message(
            {"role": "toolResult", "toolCallId": "c", "toolName": tool, "content": content}
        )
        (card,) = (card for card in cards(session.entries(session.path())) if card.kind == "tool")
        piece = PieceRenderer(session.transcript).piece(session.index.position(answer))
        touched = files_touched(session.transcript, range(len(session.index)))
        file = session.file

    added, removed = lines
    words = " ".join([f"+{added}"] * bool(added) + [f"-{removed}"] * bool(removed))
    assert changed_lines(tool, call_sections(Call("c", tool, arguments))) == lines
    assert line_text(call_row(card, 80)).rstrip().endswith(words or "a.py")
    assert f'<span class="gist">{words.replace("-", "−")}</span>' in piece
    assert {(one.added, one.removed) for one in touched} == {lines}
    shown = CliRunner().invoke(cli, ["show", str(file)]).stdout
    assert "1 line" not in shown
    assert not words or f"  {words}" in shown
