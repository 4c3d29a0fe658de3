"""Looking at sessions: lists, transcripts, trees, contexts; for people and for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from branchline import Session
from branchline.clock import local_time
from branchline.views.figures import money, tokens
from branchline.views.humanize import age, count, format_size
from support import CORPUS, load

GOLDEN = CORPUS / "pi" / "golden"


# -- ls and forest ----------------------------------------------------------------------------------------


def test_ls_shows_id_age_messages_and_title(run, talk) -> None:
    result = run("ls")

    assert result.stdout.split() == ["talk", "now", "3", "Auth", "refactor"]
    assert result.stderr == "1 session\n"


def test_ls_shows_the_first_prompt_where_there_is_no_title(run) -> None:
    run("new", "--id", "untitled")
    assert "(no messages)" in run("ls").stdout

    run("append", "untitled", "first\nwords")

    assert run("ls").stdout.endswith("1  first words\n")


def test_ls_has_only_the_sessions_of_this_directory_unless_asked(
    run, data, talk, tmp_path, monkeypatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    run("new", "--id", "elsewhere")

    assert [row["id"] for row in data("ls")["sessions"]] == ["elsewhere"]
    assert {row["id"] for row in data("ls", "--all")["sessions"]} == {"talk", "elsewhere"}
    assert "project  Auth refactor" in run("ls", "--all").stdout


def test_ls_reads_any_directory_of_session_files(data, run) -> None:
    listed = data("ls", "--dir", GOLDEN)

    expected = load(GOLDEN / "expected-pi-1.5.0" / "_list.json")
    assert {row["id"] for row in listed["sessions"]} == {row["id"] for row in expected}
    assert {row["id"]: row["total_messages"] for row in listed["sessions"]} == {
        row["id"]: row["messageCount"] for row in expected
    }
    assert listed["seen"] == 70
    assert len(run("ls", "--dir", GOLDEN, "--limit", "5").stdout.splitlines()) == 5
    assert run("ls", "--dir", GOLDEN, "-n", "0").stdout == ""


def test_ls_can_leave_the_files_alone(data, run, world) -> None:
    (world / "x.jsonl").write_bytes(b"garbage")

    (row,) = data("ls", "--dir", ".", "--shallow")["sessions"]

    assert row["key"] == "x"
    assert row["problem"] is None
    assert "7 bytes" in run("ls", "--dir", ".", "--shallow").stdout


def test_ls_shows_only_named_ones_when_asked(data, run, talk) -> None:
    run("new", "--id", "untitled")

    assert [row["id"] for row in data("ls", "--named")["sessions"]] == ["talk"]
    run("ls", "--named", "--shallow", code=2)


def test_nothing_is_left_out_in_silence(run, data, world) -> None:
    (world / "broken.jsonl").write_bytes(b"garbage\n")
    (world / "folder.jsonl").mkdir()

    result = run("ls", "--dir", ".")

    assert "unreadable: " in result.stdout
    assert result.stderr == "2 seen, 1 listed, 1 hidden, 1 unreadable; -v shows the reasons\n"
    verbose = run("ls", "--dir", ".", "-v").stderr
    assert "hidden: folder.jsonl: not a regular file" in verbose
    assert "unreadable: " in verbose
    assert data("ls", "--dir", ".")["unreadable"] == 1


def test_an_empty_list_explains_a_few_hidden_files(run, world) -> None:
    for number in range(7):
        (world / f"folder{number}.jsonl").mkdir()

    told = run("ls", "--dir", ".").stderr.splitlines()

    assert told[0] == "7 seen, 0 listed, 7 hidden"
    assert [line.startswith("hidden: folder") for line in told[1:]] == [True] * 5 + [False]
    assert told[-1] == "2 more hidden; -v shows all of them"
    assert run("ls", "--dir", ".", "-v").stderr.count("hidden: folder") == 7


def test_as_much_of_the_ids_is_shown_as_it_takes(run) -> None:
    run("new", "--id", "0123456789-a")
    run("new", "--id", "0123456789-b")

    shown = {line.split()[0] for line in run("ls").stdout.splitlines()}

    assert shown == {"0123456789-a", "0123456789-b"}
    for name in shown:
        run("inspect", name)


def test_an_empty_place_says_what_to_do(run) -> None:
    result = run("ls")

    assert result.stdout == ""
    assert "`branchline new` starts one" in result.stderr


def test_a_place_is_chosen_once(run) -> None:
    run("ls", "--all", "--dir", ".", code=2)
    run("forest", "--all", "--dir", ".", code=2)
    run("prune", "--all", "--dir", ".", code=2)


def test_the_forest_shows_forks_below_their_parents(run, data, talk) -> None:
    first = data("fork", talk)["session"]
    data("fork", first)
    data("fork", talk)

    lines = run("forest").stdout.splitlines()

    assert lines[0].startswith("talk")
    begin = lines[1].index(next(filter(set("├└").__contains__, lines[1])))
    branches = [line[begin:].partition("─")[0] for line in lines]
    assert sorted(branch for branch in branches if len(branch) == 1) == ["└", "├"]
    assert sum(branch in ("│  └", "   └") for branch in branches) == 1
    assert [row["depth"] for row in data("forest")["sessions"]].count(1) == 2
    assert data("forest", "--all")["sessions"] == data("forest")["sessions"]


# -- without a command ------------------------------------------------------------------------------------


def test_without_a_command_a_newcomer_is_welcomed(run) -> None:
    result = run()

    assert result.stdout.startswith("No sessions yet.")
    assert "branchline new" in result.stdout


def test_without_a_command_the_sessions_here_are_listed_or_else_all(run, talk, tmp_path, monkeypatch) -> None:
    assert run().stdout == run("ls").stdout
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")

    assert run().stdout == run("ls", "--all").stdout
    assert json.loads(run("--json").stdout)["schema"] == "branchline.ls/1"


# -- show -------------------------------------------------------------------------------------------------


@pytest.fixture
def worked(run) -> str:
    """A session in which a tool was used."""
    run("new", "--id", "worked")
    run("append", "worked", "Read the file")
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "src/a.py"}}
    thought = {"type": "thinking", "thinking": "let me\nsee"}
    answer = {"role": "assistant", "content": [thought, call], "stopReason": "toolUse"}
    result = {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "read",
        "content": [{"type": "text", "text": "one\ntwo"}],
    }
    for message in (answer, result):
        run("append", "worked", "--message-json", json.dumps(message))
    run("append", "worked", "--role", "assistant", "It has two lines.")
    return "worked"


def test_show_reads_as_a_conversation_with_results_folded(run, worked) -> None:
    lines = run("show", worked).stdout.splitlines()

    assert lines[0].startswith("You  2")
    assert lines[1] == "  Read the file"
    assert lines[3].startswith("Assistant  ")
    assert lines[4:6] == ["  ▸ thinking  2 lines", "  ▸ read: src/a.py  2 lines"]
    assert lines[-1] == "  It has two lines."


def test_show_unfolds_when_asked(run, worked) -> None:
    shown = run("show", worked, "--full").stdout

    assert "    one\n    two\n" in shown
    assert "▾ read: src/a.py" in shown
    assert "    let me\n    see\n" in shown


def test_show_takes_a_part_of_the_path_or_another_path(run, data, talk) -> None:
    path = data("inspect", talk)["path"]

    assert data("show", talk, "--last", "1")["entries"] == path[-1:]
    assert data("show", talk, "--from", "~1")["entries"] == path[1:]
    assert data("show", talk, "--at", "~1")["entries"] == path[:2]
    assert "is not on this path" in run("show", talk, "--at", "~1", "--from", "@leaf", code=1).stderr
    run("show", talk, "--last", "0", code=2)


def test_show_gives_the_lines_of_the_file_as_they_are(run, data, talk) -> None:
    seen = data("inspect", talk)
    file = Path(data("name", talk)["file"]).read_bytes().splitlines()

    raw = run("show", talk, "--raw").stdout_bytes.splitlines()

    assert raw == [line for line in file if json.loads(line)["id"] in seen["path"]]


def test_show_gives_markdown(run, talk) -> None:
    shown = run("show", talk, "--markdown").stdout

    assert shown.startswith("# Auth refactor\n\n- Session talk\n\n## User\n\nHow do I start?\n")


def test_show_speaks_one_language_at_a_time(run, talk) -> None:
    run("show", talk, "--raw", "--markdown", code=2)
    run("show", talk, "--json", "--markdown", code=2)


def test_show_of_nothing_says_so(run, data) -> None:
    run("new", "--id", "empty")

    result = run("show", "empty")

    assert result.stdout == ""
    assert "nothing to show" in result.stderr
    assert data("show", "empty")["cards"] == []


# -- tree -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["g006", "g012", "g044", "g061", "g118"])
@pytest.mark.parametrize("kind", ["default", "no-tools", "user-only", "labeled-only", "all"])
def test_the_tree_is_drawn_as_pi_draws_it(name, kind, run) -> None:
    expected = load(GOLDEN / "views-pi-1.5.0" / f"{name}.json")["tree"][kind]
    rows = [row[2:].rstrip() for row in expected[:-1] if "No entries" not in row]

    drawn = run("tree", GOLDEN / f"{name}.jsonl", "--filter", kind).stdout.splitlines()

    # a tool call that failed is marked here; pi has no mark for it
    assert [visible(row[2:]).removesuffix(" ✗") for row in drawn] == [visible(row) for row in rows]


def visible(row: str) -> str:
    """Rows without what is made visible here and is a raw character there."""
    return row.replace("‹U+2028›", "\u2028").replace("\u2028", " ").rstrip()


def test_the_leaf_is_marked_and_told(run, data, talk) -> None:
    result = run("tree", talk)

    (marked,) = [line for line in result.stdout.splitlines() if line.startswith("›")]
    assert "And the tests?" in marked
    assert data("inspect", talk)["leaf"] in result.stderr


def test_the_tree_shows_ids_and_times(run, data, talk) -> None:
    shown = run("tree", talk, "--ids", "--all-times").stdout.splitlines()

    rows = data("tree", talk)["rows"]
    assert [line.split()[0] for line in shown] == [row["id"] for row in rows]
    assert all(re.fullmatch(r"\d\d:\d\d", line.split()[1]) for line in shown)
    assert any(re.search(r"\[left\] \d\d:\d\d user", line) for line in shown)


def test_the_tree_is_searched(run, data, talk) -> None:
    found = data("tree", talk, "--search", "TESTS the")["rows"]

    assert [row["text"] for row in found] == ["user: And the tests?"]
    nothing = run("tree", talk, "--search", "zebra")
    assert nothing.stdout == ""
    assert "no matching entries" in nothing.stderr


def test_an_empty_tree_says_so(run, data) -> None:
    run("new", "--id", "empty")

    assert "it has no entries yet" in run("tree", "empty").stderr
    assert data("tree", "empty")["rows"] == []


# -- context ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["g001", "g020", "g061", "g101"])
def test_the_context_is_what_pi_would_send(name, data) -> None:
    expected = load(GOLDEN / "expected-pi-1.5.0" / f"{name}.json")["context"]

    seen = data("context", GOLDEN / f"{name}.jsonl")

    assert [item["message"] for item in seen["messages"]] == expected["messages"]
    assert seen["thinking_level"] == expected["thinkingLevel"]


def test_the_context_reads_as_messages(run, worked) -> None:
    result = run("context", worked)

    assert result.stdout.startswith(
        "user\n  Read the file\n\nassistant\n  (thinking) let me\n  see\n  → read "
    )
    assert "toolResult\n  one\n  two\n" in result.stdout
    assert result.stderr.startswith("4 messages, about ")


def test_the_context_is_seen_from_any_entry(data, talk) -> None:
    at = data("context", talk, "--at", "~2")

    assert [item["role"] for item in at["messages"]] == ["user"]
    assert at["at"] == at["messages"][0]["entry"]


@pytest.mark.parametrize(
    ("provider", "key"),
    [("anthropic", "messages"), ("openai-chat", "messages"), ("openai-responses", "input")],
)
def test_the_context_has_the_shape_of_a_request(provider, key, run, data, worked) -> None:
    body = json.loads(run("context", worked, "--provider", provider).stdout)

    assert body[key]
    assert data("context", worked, "--provider", provider)["request"] == body


def test_before_the_first_entry_a_model_sees_nothing(data, run, talk) -> None:
    run("branch", talk, "root")

    seen = data("context", talk)

    assert seen["messages"] == []
    assert seen["model"] is None
    assert seen["at"] is None


# -- words ------------------------------------------------------------------------------------------------


def test_ages_are_one_short_word() -> None:
    day = 86400
    ages = [0, 59, 60, 3599, 3600, day - 1, day, 7 * day, 29 * day, 30 * day, 364 * day, 365 * day, -5]
    words = ["now", "now", "1m", "59m", "1h", "23h", "1d", "1w", "4w", "1mo", "12mo", "1y", "now"]

    assert [age(1000 * (10_000_000_000 - seconds), 10_000_000_000) for seconds in ages] == words


def test_numbers_are_said_briefly() -> None:
    assert [format_size(1), format_size(1500), format_size(2_000_000)] == ["1 byte", "1.5 kB", "2.0 MB"]
    assert [tokens(840), tokens(12_345), tokens(1_200_000)] == ["840", "12.3k", "1.2M"]
    assert [money(0.0031), money(1234.5)] == ["$0.003", "$1,234"]
    assert [count(1, "entry", "entries"), count(2000, "file")] == ["1 entry", "2,000 files"]
    assert re.fullmatch(r"2026-01-0\d \d\d:\d\d", local_time("2026-01-05T09:00:00.000Z"))
    assert local_time("yesterday") == "yesterday"


def test_piped_lines_of_a_tree_are_bounded(run, world) -> None:
    """A row is one line to read, however long the entry is and however deep it stands."""
    with Session.create(world) as session:
        session.append_message({"role": "user", "content": "x" * 50_000})
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "y"}]})
        session.append_custom_message("note", "z" * 50_000, display=True)
        session.append_label(session.leaf, "l" * 5_000)
        for _ in range(300):
            parent = session.leaf
            session.append_message({"role": "user", "content": "left"})
            session.branch(parent)
            session.append_message({"role": "user", "content": "right"})
        path = session.file

    for options in ((), ("--plain",), ("--ids",)):
        lines = run("tree", path, *options).stdout.splitlines()

        assert max(map(len, lines)) < 700
        assert sum("right" in line for line in lines) == 300


def test_a_session_is_called_by_what_its_user_said_first(data, world) -> None:
    with Session.create(world) as session:
        session.append_message({"role": "user", "content": "<environment_context>x</environment_context>"})
        session.append_message(
            {"role": "user", "content": "<system-reminder>y</system-reminder>Fix the login"}
        )
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "yes"}]})

    (row,) = data("ls")["sessions"]

    assert row["first_prompt"] == "Fix the login"


@pytest.mark.parametrize("name", ["claude", "Claude-Code", "claude-code"])
def test_agents_can_be_called_by_their_other_names(name, run) -> None:
    assert run("ls", "--agent", name).exit_code == 0


def test_show_reads_a_branch_to_its_end_by_any_entry_label_or_name_of_it(run, data, talk):
    path = data("inspect", talk)["path"]
    run("branch", talk, path[-2])
    run("append", talk, "--role", "assistant", "another answer")
    run("label", talk, path[-1], "first way")
    run("branch", talk, "@leaf", "--name", "second way")

    assert data("show", talk, "--branch", "first way")["entries"] == path
    assert data("show", talk, "--branch", path[-1][:8], "--last", 1)["entries"] == path[-1:]
    assert data("show", talk, "--branch", path[0])["entries"] == data("show", talk)["entries"]
    assert "another answer" in run("show", talk, "--branch", "second way", "--last", 1).stdout
    assert "choose one of --at and --branch" in run("show", talk, "--at", "~", "--branch", "~", code=2).stderr


def test_the_footer_of_a_list_counts_once(run):
    for title in ("one", "two", "three"):
        run("new", "--title", title)

    assert run("ls").stderr == "3 sessions\n"
    assert run("ls", "--limit", "2").stderr == "3 seen, 2 listed\n"
