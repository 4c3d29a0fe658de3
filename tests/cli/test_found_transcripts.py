"""Small copies of what real files of Claude Code and Codex showed, through the commands that people use."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from branchline import Session
from branchline.catalog.documents import documents_of
from formats.codex_kit import item, line, meta, turn
from support import CORPUS

CLAUDE = CORPUS / "claude-code" / "found"
CODEX = CORPUS / "codex" / "found"


@pytest.fixture
def alone(world):
    """A directory that holds a copy of one file."""

    def copy(path):
        folder = world / path.stem
        folder.mkdir()
        shutil.copy(path, folder)
        return folder / path.name

    return copy


SPENT = ("input", "output", "cache_read", "cache_write")


def spent(cost):
    parts = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost}
    return {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": parts}


# -- a cleared context ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [(), ("--markdown",)])
def test_a_conversation_is_shown_across_a_cleared_context_with_a_mark(run, arguments):
    text = run("show", CLAUDE / "clear.jsonl", *arguments).stdout

    places = [text.find(words) for words in ("Plan the change", "Context cleared", "Implement the following")]
    assert -1 not in places
    assert places == sorted(places)


def test_a_model_sees_only_what_follows_a_cleared_context(data):
    seen = data("inspect", CLAUDE / "clear.jsonl")

    assert seen["path"] == ["u1", "a1", "u2", "a2"]
    assert [message["entry"] for message in seen["context"]["messages"]] == ["u2", "a2"]


def test_a_line_that_is_several_entries_is_printed_once(run):
    lines = run("show", CLAUDE / "clear.jsonl", "--raw").stdout

    assert lines.encode() == (CLAUDE / "clear.jsonl").read_bytes()


@pytest.mark.parametrize("program", ["pi", "oh-my-pi", "operator", "piglet"])
def test_a_cleared_context_stays_cleared_in_another_program(run, data, world, program):
    run("convert", CLAUDE / "clear.jsonl", "--to", program, "-o", world / "made.jsonl")

    said = data("context", world / "made.jsonl")["messages"]

    assert "Plan the change" not in str(said)
    assert "Implement the following plan" in str(said)


# -- counts -----------------------------------------------------------------------------------------------


def test_an_answer_in_three_records_is_one_answer(data, alone):
    folder = alone(CLAUDE / "split.jsonl").parent

    total = data("stats", "--dir", folder)["total"]
    (row,) = data("ls", "--dir", folder)["sessions"]

    assert (total["prompts"], total["answers"], total["messages"]) == (1, 1, 3)
    assert (row["messages"], row["total_messages"]) == (3, 3)


def test_a_session_with_an_inline_sub_agent_has_one_total(run, data, alone, world):
    path = alone(CLAUDE / "side.jsonl")
    run("convert", path, "--to", "pi", "-o", world / "made.jsonl")

    inspected = data("inspect", path)["usage"]
    converted = data("inspect", world / "made.jsonl")["usage"]
    counted = data("stats", "--dir", path.parent)["total"]

    assert [inspected[name] for name in SPENT] == [converted[name] for name in SPENT]
    assert {name: counted[name] for name in ("input", "output")} == {"input": 260, "output": 26}
    assert (inspected["input"], inspected["output"]) == (260, 26)


@pytest.mark.parametrize(
    "path",
    [
        CLAUDE / "split.jsonl",
        CODEX / "rollout-2025-09-25T10-00-00-019f1000-0000-7000-8000-0000000000aa.jsonl",
    ],
)
def test_a_cost_that_the_agent_does_not_record_is_unknown(run, data, alone, path):
    folder = alone(path).parent

    overview, total = run("stats", "--dir", folder).stdout, data("stats", "--dir", folder)["total"]

    assert re.search(r"cost +(≈|<\$0\.001|unknown)", overview)
    assert total["cost"] == (total["estimated"] or None)  # never 0
    assert total["unpriced"] in (0, total["tokens"])
    seen = data("inspect", path)["usage"]
    assert seen["cost"] is None
    assert seen["estimated_cost"] == (total["estimated"] and pytest.approx(total["estimated"]))
    assert re.search(r"≈\$|<\$0\.001" if total["estimated"] else "cost unknown", run("inspect", path).stdout)
    assert "unknown" in run("diff", path, CLAUDE / "leaf.jsonl").stdout


def test_a_cost_that_is_known_in_part_is_at_least_that(run, talk, alone):
    path = alone(CLAUDE / "split.jsonl")
    answer = {"role": "assistant", "content": [{"type": "text", "text": "ok"}], "usage": spent(cost=0.25)}
    run("new", "--id", "paid", "--dir", path.parent)
    run("append", "paid", "--dir", path.parent, "--message-json", json.dumps(answer))

    overview = run("stats", "--dir", path.parent).stdout

    assert "cost    ≈$0.25" in overview


# -- forks ------------------------------------------------------------------------------------------------


def test_a_fork_without_a_pointer_hangs_from_its_parent_in_the_forest(data):
    rows = data("forest", "--dir", CLAUDE / "fork")["sessions"]

    assert [(row["row"]["id"][-4:], row["depth"]) for row in rows] == [("bb01", 0), ("bb02", 1)]


# -- copies of requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "-o", "made.jsonl"),
        ("export", "-o", "made.md"),
        ("convert", "--to", "pi", "-o", "made.jsonl"),
    ],
)
@pytest.mark.parametrize("redact", [(), ("--no-redact",)])
def test_copies_of_requests_leave_no_file(run, world, arguments, redact):
    command, *options = arguments
    redact = redact if command == "export" else ()
    assert b"Private instructions" in (CLAUDE / "requests.jsonl").read_bytes()

    run(command, CLAUDE / "requests.jsonl", *options, *redact)

    made = (world / options[-1]).read_bytes()
    assert b"Private instructions" not in made
    assert b"api-request" not in made
    assert b"The file has seven lines." in made


def test_an_export_without_requests_is_the_same_conversation(run, data, world):
    run("export", CLAUDE / "requests.jsonl", "-o", "made.jsonl")

    exported, original = data("inspect", world / "made.jsonl"), data("inspect", CLAUDE / "requests.jsonl")

    assert [exported[name] for name in ("path", "leaf", "context", "usage", "findings")] == [
        original[name] for name in ("path", "leaf", "context", "usage", "findings")
    ]
    assert len(original["entries"]) - len(exported["entries"]) == 3


def test_a_redacted_page_without_requests_has_the_same_ids_and_tree(run, world):
    """Ids of other records that are made of line numbers do not move, and a secret is no obstacle."""
    secret = "gh" + "p_" + "Zq7Rt2Lm9Xc4Vb8Nw3Kd6Hf1Js5Gy0PuTeAo"
    text = (CLAUDE / "requests.jsonl").read_text().replace("The file has", f"{secret} The file has")
    named = json.dumps({"type": "custom-title", "customTitle": "Lines", "sessionId": "s"})
    (world / "requests.jsonl").write_text(f"{text}{named}\n")

    run("export", world / "requests.jsonl", "-o", "made.html")

    with Session.open(world / "requests.jsonl") as one, Session.open(world / "made.html") as other:
        page, kept = other.transcript, one.transcript
        withheld = {kept.tree.keys[position] for position in kept.reading.withheld}
        assert len(withheld) == 3
        assert page.tree.keys == [key for key in kept.tree.keys if key not in withheld]
        assert [page.tree.parent(key) for key in page.tree.keys] == [
            kept.tree.parent(key) for key in page.tree.keys
        ]
        content = page.bytes_between(0, None)
    assert b"Private instructions" not in content
    assert secret.encode() not in content


def test_a_search_does_not_look_into_copies_of_requests():
    with Session.open(CLAUDE / "requests.jsonl") as session:
        entries = session.entries(list(session.index.keys))
        documents = list(documents_of(session.transcript))

    assert "private instructions" not in str(documents).lower()
    assert "private instructions" not in str(entries).lower()


# -- Codex: reverts, forks and compactions in several files ------------------------------------------------


REVERTED = CORPUS / "codex" / "synthetic" / "threads" / "sessions" / "2026" / "09" / "02"
THREAD = "019f1000-0000-7000-8000-000000000008"


@pytest.fixture
def thread(world, tmp_path, monkeypatch):
    """A home of Codex with the two files of a reverted thread, and a fork of it."""
    folder = tmp_path / "codex" / "sessions" / "2026" / "09" / "02"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    for path in [*REVERTED.glob(f"*{THREAD}*"), *REVERTED.glob("*000000000010.jsonl")]:
        shutil.copy(path, folder)
    return folder


def test_a_reverted_thread_is_one_session_with_an_abandoned_branch(data, thread):
    rows = data("ls", "--all", "--agent", "codex")["sessions"]
    (row,) = (row for row in rows if row["id"] == THREAD)

    seen = data("inspect", THREAD)

    assert (row["title"], row["parent_session"], row["messages"], row["findings"]) == ("one", None, 6, 0)
    tips = {node["id"] for node in seen["tree"]} - {node["parent"] for node in seen["tree"]}
    told = [node for node in seen["tree"] if node["role"] == "user"]
    assert [node["active"] for node in told].count(False) == 1
    assert len(told) == 4
    assert seen["leaf"] not in tips or seen["leaf"] in seen["path"]


def test_the_forest_shows_a_reverted_thread_once(data, thread):
    rows = data("forest", "--all", "--agent", "codex")["sessions"]

    assert [(row["row"]["id"][-2:], row["depth"]) for row in rows] == [("08", 0), ("10", 1)]


@pytest.mark.parametrize("scope", ["everywhere", "directory"])
def test_every_turn_of_a_reverted_thread_is_counted_once(data, thread, scope):
    arguments = ("--all", "--agent", "codex") if scope == "everywhere" else ("--dir", thread)

    total = data("stats", *arguments)["total"]

    assert (total["prompts"], total["answers"]) == (5, 5)
    assert (total["input"], total["output"]) == (500, 50)


def test_what_a_file_begins_with_beside_it_is_not_missing(run, data, thread):
    for path in sorted(thread.iterdir()):
        (checked,) = data("check", path)["files"]
        assert checked["findings"] == []
    assert "which is missing" not in run("check", *thread.iterdir()).stdout

    for path in thread.glob(f"*{THREAD}.jsonl"):
        path.unlink()

    assert "which is missing" in run("check", *thread.iterdir()).stdout


def test_totals_that_go_on_from_those_of_the_file_before_are_counted_once(data, thread):
    newer = next(thread.glob("*_*.jsonl"))
    prefix = next(thread.glob(f"*{THREAD}.jsonl")).read_bytes()
    spent = re.findall(rb'"total_token_usage":\{"input_tokens":(\d+)', prefix)
    assert spent[:2] == [b"100", b"200"]
    content = newer.read_bytes()
    for name, before, after in (("input", 100, 300), ("output", 10, 30), ("total", 110, 330)):
        content = content.replace(
            b'"%s_tokens":%d' % (name.encode(), before), b'"%s_tokens":%d' % (name.encode(), after)
        )
    newer.write_bytes(content)
    for path in thread.glob("*000000000010.jsonl"):
        path.unlink()

    inspected = data("inspect", newer)["usage"]
    counted = data("stats", "--dir", thread)["total"]

    assert (inspected["input"], inspected["output"]) == (300, 30)
    assert (counted["input"], counted["output"]) == (400, 40)


def compacted(replacement):
    summary = "Preface of the program\nThe user asked for a poem."
    items = [
        *replacement,
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": summary}]},
    ]
    return line("compacted", {"message": summary, "replacement_history": items}, 4)


DEVELOPER = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Obey."}]}


@pytest.fixture
def compacted_rollout(world):
    path = world / f"rollout-2026-09-02T01-00-00-{THREAD}.jsonl"
    data = meta() + turn("A poem", "Roses are red.") + item("assistant", "The user asked for a poem.", 3)
    path.write_bytes(data + compacted([DEVELOPER]) + turn("Another", "Violets are blue.", 5))
    return path


def test_the_summary_of_a_compaction_is_no_answer(data, compacted_rollout):
    cards = data("show", compacted_rollout)["cards"]

    told = [
        (card["kind"], card["body"]) for card in cards if card["kind"] in ("user", "assistant", "compaction")
    ]
    assert told == [
        ("user", "A poem"),
        ("assistant", "Roses are red."),
        ("compaction", "Preface of the program\nThe user asked for a poem."),
        ("user", "Another"),
        ("assistant", "Violets are blue."),
    ]


def test_a_model_sees_what_codex_left_after_a_compaction(data, compacted_rollout):
    said = data("context", compacted_rollout)["messages"]

    assert [message["role"] for message in said] == ["custom", "user", "user", "assistant"]
    assert "Preface of the program" in str(said[1])


def test_a_compacted_rollout_becomes_a_pi_session_with_its_summary_and_context(run, world, compacted_rollout):
    run("convert", compacted_rollout, "--to", "pi", "-o", world / "made.jsonl")

    entries = [json.loads(row) for row in (world / "made.jsonl").read_text().splitlines()]
    (compaction,) = (entry for entry in entries if entry["type"] == "compaction")
    assert "The user asked for a poem." in compaction["summary"]
    assert [entry["customType"] for entry in entries if entry["type"] == "custom_message"] == ["developer"]
    users = [
        entry["message"]["content"] for entry in entries if entry.get("message", {}).get("role") == "user"
    ]
    assert "Obey." not in str(users)
