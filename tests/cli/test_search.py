"""``search`` and ``index``: entries as lines or data, and an index that a person can see, leave and lose."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from branchline import Session, SessionLibrary
from branchline.library import text_index
from branchline.views.hits import Hits
from cli.conftest import Run, entry_line

NO_TIME = {**(SessionLibrary.search.__kwdefaults__ or {}), "budget": 0.0}
"""The options of a search that has no time to read files."""

KEYS = {
    "session",
    "path",
    "entry",
    "role",
    "snippet",
    "matches",
    "on_path",
    "time_ms",
    "tool",
    "agent",
    "cwd",
    "title",
    "places",
}


def test_a_hit_is_a_line_with_session_entry_speaker_and_text(run: Run, talk: str) -> None:
    done = run("search", "start")

    session, entry, role, _age, *text = done.stdout.split()
    assert (session, role) == (talk, "user")
    assert " ".join(text) == "How do I start?"
    assert run("show", session, "--at", entry).stdout.count("How do I start?") == 1
    assert "1 of 1 hits" in done.stderr


def test_data_says_where_every_hit_lies(data, talk: str) -> None:
    (hit,) = data("search", "what")["hits"]

    assert set(hit) == KEYS
    assert hit["session"] == talk
    assert hit["role"] == "user"
    assert hit["snippet"] == "Then what?"
    assert hit["matches"] == [[5, 9]]
    assert hit["on_path"] is False
    assert Path(hit["path"]).is_file()
    assert [place["entry"] for place in hit["places"]] == [hit["entry"]]


def test_a_quote_that_is_not_closed_is_reported_with_its_place(data, run: Run, talk: str) -> None:
    note = "the quote at character 4 is not closed; its words are searched one by one"

    found = data("search", 'do "how')

    assert len(found["hits"]) == 1
    assert found["notes"] == [note]
    assert note in run("search", 'do "how').stderr


def test_nothing_found_is_an_empty_list_and_a_sentence(data, run: Run, talk: str) -> None:
    found = data("search", "nowhere")

    assert found["hits"] == []
    assert found["notes"] == ["no matches in 1 session"]
    assert (found["searched"], found["sessions"], found["parts_searched"]) == (1, 1, 1)
    assert found["complete"] is True
    assert run("search", "nowhere").stderr == "no matches in 1 session\n"


def test_a_search_for_parts_of_words_that_is_cut_short_does_not_hide_what_the_index_answered(
    data, run: Run, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionLibrary.search, "__kwdefaults__", NO_TIME)
    run("index")

    found = data("search", '"nowhere at all"')
    done = run("search", '"nowhere at all"')

    assert (found["searched"], found["parts_searched"], found["complete"]) == (1, 0, True)
    assert done.stderr == "no matches in 1 session\nparts of words were looked for in 0 of 1 session\n"
    with_hit = run("search", "start")
    assert "1 session searched" in with_hit.stderr
    assert "parts of words" not in with_hit.stderr


@pytest.mark.parametrize("query", ["nowhere", "re:now.ere"])
def test_a_search_that_was_cut_short_begins_with_what_it_read_and_has_an_exit_code(
    data, run: Run, talk: str, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    import branchline.cli.commands.search as command
    import branchline.library.search as searching

    monkeypatch.setattr(SessionLibrary.search, "__kwdefaults__", NO_TIME)
    monkeypatch.setattr(searching, "_AT_ONCE", 0)
    monkeypatch.setattr(command, "_index_behind", lambda: True)

    done = run("search", query, code=3)
    found = data("search", query, code=3)

    first, second, third = done.stderr.splitlines()
    assert first == "only 0 of 1 session searched, no matches in these"
    assert second == "the search ended after 0 s: 0 of 1 sessions that are not indexed were read"
    assert third.startswith("1 session not indexed yet; they are being indexed in the background")
    assert (found["complete"], found["searched"], found["sessions"]) == (False, 0, 1)
    assert found["notes"] == [first, second]


def test_a_search_that_was_cut_short_after_a_hit_is_a_success(
    run: Run, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import branchline.cli.commands.search as command

    hits = Hits([], sessions=9, searched=4, is_complete=False)
    assert hits.coverage == "only 4 of 9 sessions searched, no matches in these"
    monkeypatch.setattr(SessionLibrary.search, "__kwdefaults__", NO_TIME)
    assert command.INCOMPLETE == 3
    run("index")

    assert run("search", "start").exit_code == 0


def test_the_status_of_the_index_says_that_a_process_updates_it(data, run: Run, talk: str) -> None:
    import fcntl

    from branchline.places import cache_directory

    run("index")
    assert data("index", "--status")["running"] is False
    with open(os.path.join(cache_directory(), "index.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert data("index", "--status")["running"] is True
        run("new", "--title", "more")
        run("append", "@last", "a message that is not indexed")
        assert run("index", "--background").stdout == ""
        assert "being indexed in the background" in run("index", "--status").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("dir:shop", "unknown field dir:, did you mean cwd:; the fields are agent:"),
        (
            "project:shop",
            "the fields are agent: cwd: model: role: tool: after: before: label: tag: in: is: file:",
        ),
        ("date:today", "did you mean after:;"),
        ("re:(", "regular expression"),
        ("cost:1", "write cost:>1"),
        ("in:here", "there are in:said, in:tools"),
    ],
)
def test_a_query_that_cannot_be_understood_is_a_usage_error_that_says_why(
    run: Run, words: str, says: str
) -> None:
    assert says in run("search", words, code=2).stderr


def test_words_with_a_colon_are_still_words(data, run: Run) -> None:
    run("new", "--id", "one")
    run("append", "one", "use std::string and http://example.org/x")

    assert len(data("search", "std::string")["hits"]) == 1
    assert len(data("search", "http://example.org/x")["hits"]) == 1


def test_files_lists_each_session_once(run: Run, talk: str) -> None:
    done = run("search", "the", "--files")

    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.strip().endswith("_talk.jsonl")


def test_open_reads_the_path_to_the_best_hit_on_its_branch(run: Run, talk: str) -> None:
    done = run("search", "is:abandoned", "what", "--open")

    assert "Then what?" in done.stdout
    assert "And the tests?" not in done.stdout


def test_open_shows_the_hit_in_full_with_its_matches_marked(run: Run, tmp_path: Path) -> None:
    with Session.create(tmp_path, directory=tmp_path) as session:
        session.append_message("Build it")
        call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "make"}}
        session.append_message({"role": "assistant", "content": [call]})
        text = {"type": "text", "text": "first\nno rule for zinc"}
        session.append_message(
            {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [text]}
        )

    words = run("search", "zinc", "--dir", str(tmp_path), "--open", "--color", "always").stdout
    pattern = run("search", "re:z.nc", "--dir", str(tmp_path), "--open", "--color", "always").stdout

    assert "no rule for \x1b[7mzinc\x1b[0m" in words
    assert "no rule for \x1b[7mzinc\x1b[0m" in pattern
    assert "no rule for zinc" in run("search", "zinc", "--dir", str(tmp_path), "--open", "--plain").stdout


def test_a_field_after_a_pattern_is_reported_as_part_of_it(run: Run, talk: str) -> None:
    assert "role:user is part of the pattern" in run("search", "re:Then", "role:user").stderr


def test_here_leaves_out_the_sessions_of_other_directories(
    run: Run, data, talk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert len(data("search", "start")["hits"]) == 1
    assert data("search", "start", "--here")["hits"] == []


def test_a_phrase_that_the_shell_took_the_quotes_of_is_words(data, talk: str) -> None:
    assert len(data("search", "start how")["hits"]) == 1
    assert len(data("search", '"how do i"')["hits"]) == 1
    assert data("search", '"do how"')["hits"] == []


@pytest.mark.parametrize(
    "query", ["role:user start", "in:said start", "start role:user", "role:user in:said start"]
)
def test_a_whole_query_may_be_one_argument(data, talk: str, query: str) -> None:
    (hit,) = data("search", query)["hits"]

    assert hit["snippet"] == "How do I start?"


def test_hostile_text_reaches_no_terminal(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "bad"
    place.mkdir()
    header = '{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/x\\u001b[2J"}'
    line = entry_line("e1\\u001b[31m", None, "user", "needle \x1b]0;title\x07 \u202eback")
    (place / "x.jsonl").write_text(f"{header}\n{line}\n")

    done = run("search", "needle", "--dir", place)

    assert "needle" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_the_index_says_what_it_holds(run: Run, data, talk: str) -> None:
    assert data("index", "--status")["sessions"] == 0

    held = data("index")

    assert (held["sessions"], held["indexed"], held["waiting"]) == (1, 1, 0)
    assert held["documents"] == 4
    assert os.path.isfile(held["path"])
    assert "1 of 1 indexed" in run("index", "--status").stdout


def test_the_status_makes_no_index(run: Run, data, talk: str) -> None:
    shown = run("index", "--status").stdout

    assert shown == "no index: it has not been built yet\n"
    assert not list(Path(os.environ["BRANCHLINE_HOME"]).rglob("catalog-*"))


def test_an_index_that_is_off_or_cannot_be_written_is_not_updated(
    run: Run, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("index")
    monkeypatch.setattr(text_index, "delete_database", lambda _directory: None)
    kept = run("index", "--rebuild", code=1).stderr
    run("config", "set", "index", "false")

    off = run("index", code=1).stderr

    assert "cannot update the index: cannot delete" in kept
    assert "the index is off; `branchline config set index true` turns it on" in off


def test_the_index_can_be_turned_off_and_on(run: Run, data, talk: str) -> None:
    path = data("index")["path"]

    told = run("config", "set", "index", "false")

    assert "the index is deleted" in told.stderr
    assert not os.path.exists(path)
    assert not data("index", "--status")["enabled"]
    assert len(data("search", "start")["hits"]) == 1
    assert not os.path.exists(path)
    run("config", "unset", "index")
    assert data("index")["indexed"] == 1


def test_an_index_that_is_turned_off_in_an_editor_is_deleted(
    run: Run, data, talk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = data("index")["path"]
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "index = false" > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))

    run("config", "edit")

    assert not os.path.exists(path)


def test_excluded_files_leave_the_index_and_stay_findable(run: Run, data, talk: str) -> None:
    run("index")

    told = run("config", "set", "index_exclude", "*/my talk/*", "*talk.jsonl")

    assert "1 session dropped from the index" in told.stderr
    excluded = data("index", "--status")
    assert excluded["sessions"] == 0
    assert excluded["exclude"] == ["*/my talk/*", "*talk.jsonl"]
    assert len(data("search", "start")["hits"]) == 1
    assert data("index")["sessions"] == 0


def test_only_one_thing_is_done_to_the_index_at_a_time(run: Run) -> None:
    assert "choose one of" in run("index", "--status", "--rebuild", code=2).stderr


def test_a_large_library_is_indexed_behind_the_first_search(
    process, run: Run, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import branchline.actions.index as indexing
    import branchline.library.search as searching

    monkeypatch.setattr(searching, "_AT_ONCE", 0)
    started: list[bool] = []
    monkeypatch.setattr(indexing, "index_behind", lambda: started.append(True))

    done = run("search", "start")

    assert started == [True]
    assert "How do I start?" in done.stdout
    assert "1 session not indexed yet" in done.stderr
    assert process("index", "--background").returncode == 0
    monkeypatch.undo()


def test_the_answer_is_one_line_of_ascii(process, talk: str) -> None:
    done = process("search", "start", "--json")

    assert json.loads(done.stdout)["schema"] == "branchline.search/1"


def test_a_list_says_when_the_index_cannot_be_used(run: Run, talk: str, tmp_path: Path) -> None:
    (tmp_path / "home" / "cache").write_bytes(b"no directory")

    done = run("ls")

    assert talk in done.stdout
    assert "the index cannot be used, so every session was read" in done.stderr
    run("config", "set", "index", "false")
    assert "the index" not in run("ls").stderr


@pytest.mark.parametrize("words", [("search",), ("tag", "@last"), ("tag", "@last", "--note"), ("sql",)])
def test_an_argument_that_is_not_utf_8_gets_a_sentence(run: Run, words: tuple[str, ...]) -> None:
    told = run(*words, "half\udcff", code=2).stderr

    assert "'half\\udcff' is not valid UTF-8" in told
    assert "codec" not in told


def test_an_unreadable_file_does_not_end_the_indexing_and_is_reported(
    run: Run, data, write_session, line
) -> None:
    write_session("garbage", header=False, name="bad.jsonl")
    write_session(line("a", None, "user", "The lighthouse is dark"))

    done = run("index", "--dir", ".")

    assert "1 file could not be read" in done.stderr
    assert data("search", "lighthouse", "--dir", ".")["total"] == 1
