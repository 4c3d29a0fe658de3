"""What the browser shows besides its list: actions of a session, files touched, statistics, edited lines."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from branchline import Session
from branchline.views.browser.line_edit import LineEdit
from branchline.views.browser.preview import preview_lines
from branchline.views.browser.session_menu import ActionFacts, best_action, missing_words, session_options
from branchline.views.browser.statistics import StatisticsData, statistics_lines
from branchline.views.call_lines import call_row, diff_lines, short_diff
from branchline.views.cards import Card, cards
from branchline.views.files_touched import FileList, files_touched
from branchline.views.spans import line_text, line_width
from branchline.views.stats import Group, StatsTotals


@pytest.mark.parametrize(
    ("facts", "best"),
    [
        (ActionFacts(agent="pi", program="pi", writable=True), "continue"),
        (ActionFacts(agent="pi", program=None, writable=True), "ask"),
        (ActionFacts(agent="claude-code", program=None, writable=False), "read"),
        (ActionFacts(agent="claude-code", program="claude", writable=False), "continue"),
        (ActionFacts(agent="pi", program="pi", writable=True, demo=True), "read"),
        (ActionFacts(agent="pi", program="pi", writable=True, has_hit=True), "hit"),
        (ActionFacts(agent="pi", program="pi", writable=True, unreadable=True), "nothing"),
    ],
)
def test_enter_does_the_most_useful_thing_and_the_menu_begins_with_it(facts, best):
    first = session_options(facts)[0].name

    assert best_action(facts) == best
    starts = {"continue": "go_on", "ask": "fork", "read": "transcript", "hit": "open", "nothing": "reasons"}
    assert first == starts[best]


def test_the_menu_offers_only_what_works_and_says_what_is_missing():
    read_only = ActionFacts(agent="claude-code", program=None, writable=False)
    names = {option.name for option in session_options(read_only)}

    assert not names & {"rename", "go_on", "compare", "hand_over"}
    assert {"fork", "export", "transcript", "tree"} <= names
    assert "branchline only reads its files" in missing_words(read_only)
    assert "compare" in {option.name for option in session_options(read_only._replace(marked=2))}


def test_a_field_edits_as_readline_does():
    edit = LineEdit("one two")

    pressed = [edit.press(key) for key in ("ctrl+w", "ctrl+a", "ctrl+d", "ctrl+e", "ctrl+y")]

    assert (edit.text, edit.caret, pressed[1]) == ("ne two", 6, "moved")
    assert edit.press("right") == edit.press("delete") == "refused"  # others may use them at the end
    assert edit.press("f5") == "refused"
    edit.insert("a\nb")
    assert "\n" not in edit.text


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session.create("/home/u/shop", directory=tmp_path)
    made.append_message({"role": "user", "content": [{"type": "text", "text": "Edit it"}]})
    for number, (name, arguments) in enumerate(
        (
            ("read", {"path": "/home/u/shop/a.py"}),
            ("edit", {"path": "/home/u/shop/a.py", "oldText": "x = 1\ny = 2", "newText": "x = 2\ny = 2"}),
            ("write", {"path": "b.py", "content": "one\ntwo\n"}),
            ("apply_patch", {"input": "*** Begin Patch\n*** Update File: c.py\n-old\n+new\n*** End Patch"}),
            ("bash", {"command": "cat d.py"}),
        )
    ):
        call = {"type": "toolCall", "id": f"c{number}", "name": name, "arguments": arguments}
        made.append_message({"role": "assistant", "content": [call], "provider": "p", "model": "m"})
        made.append_message(
            {
                "role": "toolResult",
                "toolCallId": f"c{number}",
                "toolName": name,
                "content": [{"type": "text", "text": "done\nwell"}],
                "details": {"durationMs": 1200},
                "isError": name == "bash",
            }
        )
    return made


def test_files_are_listed_with_what_was_done_to_them_and_the_calls_that_did_it(session):
    files = files_touched(session.transcript, range(len(session.index)))

    assert {file.path: (file.reads, file.changes, file.added, file.removed) for file in files} == {
        "c.py": (0, 1, 1, 1),
        "b.py": (0, 1, 2, 0),
        "/home/u/shop/a.py": (1, 1, 1, 1),
    }
    assert all(entry in session.index for file in files for entry in file.entries)
    shown = FileList(files, "a.py", cwd="/home/u/shop")
    assert line_text(shown.line(0, 80)).split() == ["a.py", "+1", "-1", "1", "change", "2", "calls"]


def test_a_call_is_one_line_with_outcome_and_duration_and_a_short_edit_shows_its_diff(session):
    deck = {card.call.name: card for card in cards(session.entries(session.path())) if card.call is not None}

    lines = {name: line_text(call_row(card, 60)) for name, card in deck.items()}

    assert lines["read"].split() == ["read", "/home/u/shop/a.py", "2", "lines", "1.2s"]
    assert lines["edit"].split()[-3:] == ["+1", "-1", "1.2s"]
    assert "failed" in lines["bash"]
    assert all(line_width(call_row(card, 60)) == 60 for card in deck.values())
    drawn = diff_lines(short_diff(deck["edit"]), 40)
    assert [(line_text(line).rstrip(), line[0].role) for line in drawn] == [
        ("-x = 1", "removed"),
        ("+x = 2", "added"),
        (" y = 2", "dim"),
    ]
    assert short_diff(deck["bash"]) == ""


def data() -> StatisticsData:
    def group(*keys: str, **figures: float) -> Group:
        return Group(name=" · ".join(keys), keys=keys, figures=StatsTotals(**figures))  # type: ignore[arg-type]

    return StatisticsData(
        total=StatsTotals(sessions=3, messages=9, prompts=4, cost=4, tokens=900, input=300, cache_read=700),
        days=(group("2026-03-01", cost=3, messages=6), group("2026-03-02", cost=1, messages=3)),
        model_days=(
            group("2026-03-01", "opus", cost=2),
            group("2026-03-01", "gpt", cost=1),
            group("2026-03-02", "gpt", cost=1),
        ),
        models=(
            group("opus", cost=2, sessions=2),
            group("gpt", cost=2, sessions=1),
            group("claude-opus-4-5-20251101", sessions=1),
        ),
        directories=(group("/home/u/shop", cost=4, sessions=3),),
        tools=(group("bash", tool_calls=7, sessions=2),),
        hours=(group("09", cost=4),),
    )


@pytest.mark.parametrize("columns", [60, 80, 120, 157, 158, 200])
def test_statistics_show_days_with_models_stacked_tables_hours_and_a_calendar_at_every_width(columns):
    lines = statistics_lines(data(), columns, today=date(2026, 3, 4), day=date(2026, 3, 1), home="/home/u")

    text = "\n".join(map(line_text, lines))
    assert "70% of the input from cache" in text
    assert "$3.00, 1 Mar 2026" in text
    assert all(words in text for words in ("~/shop", "busiest 09:00", "Mon ", "bash", "■ opus", "■ gpt"))
    assert all(line_width(line) <= columns for line in lines)
    assert "\n claude-opus-4-5-20251101 " in text  # whole in its table, however many stand side by side


def test_the_largest_model_of_a_day_stands_at_the_bottom_of_its_column_in_a_shade_of_its_own():
    lines = statistics_lines(data(), 120, today=date(2026, 3, 4), day=date(2026, 3, 4), home="/home/u")

    start = next(at for at, line in enumerate(lines) if "Cost per day" in line_text(line))
    first_of_march = [line[-4] for line in lines[start + 1 : start + 9]]
    drawn = [span.role for span in reversed(first_of_march) if span.text != " "]
    assert drawn == ["heat4"] * 3 + ["heat3"] * 2  # 3 of 5 dollars in eight rows, two thirds of them for opus


def test_the_total_of_the_statistics_is_marked_where_it_is_estimated_or_unknown():
    def first_line(**figures: float) -> str:
        total = StatsTotals(sessions=1, messages=2, tokens=9, **figures)
        return line_text(statistics_lines(StatisticsData(total=total), 120, today=date(2026, 3, 4))[0])

    assert first_line(cost=2, estimated=1, unpriced=3).startswith(" ≈$2.00+ ")
    assert first_line(unpriced=9).startswith(" unknown ")


def test_without_anything_said_the_statistics_say_so():
    assert "No messages yet" in line_text(
        statistics_lines(StatisticsData(total=StatsTotals()), 80, today=date(2026, 3, 4))[0]
    )


def test_a_preview_mentions_files_and_leaves_hidden_context_out_unless_a_hit_is_there():
    deck = [
        Card(kind="custom", id="a", title="context", body="environment", meta=("hidden",)),
        Card(kind="user", id="b", title="User", body='What is it?\n\n<file path="a.py">\nprint(1)\n</file>'),
    ]

    end = "\n".join(line_text(line) for line in preview_lines([], deck, 80, 20))
    hit = "\n".join(line_text(line) for line in preview_lines([], deck, 80, 20, words=["env"], from_top=True))

    assert "environment" not in end
    assert "print(1)" not in end
    assert "@a.py" in end
    assert "environment" in hit
    assert "print(1)" in hit
