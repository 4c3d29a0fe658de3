"""Sessions begin, grow, branch and fork from the command line; each verb says what it did."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from branchline import Session
from support import CORPUS


def path_of(data, session):
    return data("name", session)["file"]


def texts(path):
    with Session.open(path) as session:
        return [entry.message.content[0].text for entry in session.entries(session.path())]


def test_new_prints_the_id_and_says_beside_it_that_the_file_is_kept(run) -> None:
    result = run("new")

    session_id = result.stdout.strip()
    assert len(session_id) == 36
    assert result.stderr.endswith(f"{session_id}.jsonl: no messages yet\n")
    assert session_id in run("ls", "--json").stdout


def test_a_new_session_is_a_private_file_of_this_directory(data, world) -> None:
    made = data("new", "--title", "Auth refactor")

    path = Path(made["file"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert made["cwd"] == str(world)
    assert made["title"] == "Auth refactor"
    assert made["leaf"] is None


def test_new_takes_a_directory_to_belong_to_and_one_to_lie_in(data, tmp_path) -> None:
    (tmp_path / "shop").mkdir()

    made = data("new", "--cwd", tmp_path / "shop", "--dir", tmp_path / "kept", "--id", "mine")

    assert made["cwd"] == str(tmp_path / "shop")
    assert Path(made["file"]).parent == tmp_path / "kept"
    assert data("inspect", "mine", "--dir", tmp_path / "kept")["id"] == "mine"


def test_an_id_is_given_once(run) -> None:
    run("new", "--id", "mine")

    result = run("new", "--id", "mine", code=1)

    assert "session mine already exists" in result.stderr
    assert run("ls").stdout.count("mine") == 1


@pytest.mark.parametrize("name", ["../../x", "a/b", ".", "..", "-x", "x\n", "", "a b", "\x1b[31m"])
def test_an_id_that_could_be_a_path_is_a_wrong_call(name, run, tmp_path) -> None:
    result = run("new", f"--id={name}", code=2)

    assert "cannot be a session id" in result.stderr
    assert "\x1b" not in result.stderr
    assert not (tmp_path / "home").exists()


def test_append_says_what_it_did_and_where_the_leaf_is(run, data) -> None:
    run("new", "--id", "talk")

    result = run("append", "talk", "How do I start?")

    leaf = data("inspect", "talk")["leaf"]
    assert result.stdout == f"appended {leaf} (user: How do I start?), now the leaf of talk\n"
    assert result.stderr == ""


def test_append_reads_standard_input_without_its_last_newline(run, data) -> None:
    run("new", "--id", "talk")

    made = data("append", "talk", "-", stdin="two\nlines\n")

    assert texts(made["file"]) == ["two\nlines"]
    assert made["entry"] == made["leaf"]


def test_append_takes_every_field_of_a_message_object(run, data) -> None:
    run("new", "--id", "talk")
    message = {
        "role": "toolResult",
        "toolCallId": "c1",
        "toolName": "read",
        "content": [],
        "isError": False,
        "odd": [1],
    }

    inline = data("append", "talk", "--message-json", json.dumps(message))
    from_stdin = data("append", "talk", "--message-json", "-", stdin=json.dumps(message))

    stored = [json.loads(line)["message"] for line in Path(inline["file"]).read_bytes().splitlines()[1:]]
    assert [{**message, "timestamp": each["timestamp"]} for each in stored] == stored
    assert inline["entry"] != from_stdin["entry"]


def test_an_answer_goes_on_with_the_model_that_answered_before(run, data) -> None:
    run("new", "--id", "talk")
    run("append", "talk", "--role", "assistant", "one", "--model", "openai/gpt-5")

    run("append", "talk", "--role", "assistant", "two")

    assert data("context", "talk")["model"] == {"provider": "openai", "id": "gpt-5"}
    roles = [message["role"] for message in data("context", "talk")["messages"]]
    assert roles == ["assistant", "assistant"]


def test_a_system_prompt_can_be_said(run, data) -> None:
    run("new", "--id", "talk")

    run("append", "talk", "--role", "system", "Be brief.")

    assert data("context", "talk", "--provider", "anthropic")["request"]["system"] == "Be brief."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give either TEXT or --message-json"),
        (["text", "--message-json", "{}"], "give either TEXT or --message-json"),
        (["  "], "the text is empty"),
        (["--message-json", "{"], "is not JSON"),
        (["--message-json", "[]"], "is not a message"),
        (["--message-json", '{"role":7}'], "is not a message"),
        (["--message-json", '{"role":"user","content":NaN}'], "not a JSON number"),
        (["--message-json", "[" * 100_000], "is not JSON"),
        (["--message-json", '{"role":"foo"}'], "the role 'foo' is not known"),
        (["--message-json", '{"role":"user"}'], "needs the field 'content'"),
        (["--message-json", '{"role":"user","content":5}'], "not a text or a list of blocks"),
        (["--message-json", '{"role":"user","content":[{"type":"txt"}]}'], "no blocks of type 'txt'"),
        (["--message-json", '{"role":"user","content":"x","timestamp":1e999}'], "no number of JSON"),
        (["--message-json", '{"role":"tool","content":"x","tool_call_id":"c"}'], "from_openai"),
        (
            ["--message-json", '{"role":"assistant","content":"x","stop_reason":"stop"}'],
            "called 'stopReason'",
        ),
        (["--message-json", '[{"role":"user","content":"x"},{"role":"foo"}]'], "the role 'foo' is not known"),
        (["text", "--role", "robot"], "robot"),
        (["text", "--model", "a/b"], "--model requires"),
        (["text", "--role", "assistant", "--model", "gpt"], "PROVIDER/MODEL"),
        (["text", "--nonsense"], "--nonsense"),
    ],
)
def test_a_wrong_append_is_refused_in_one_sentence_and_writes_nothing(arguments, words, run, data) -> None:
    path = Path(data("new", "--id", "talk")["file"])
    before = path.read_bytes()

    result = run("append", "talk", *arguments, code=2)

    assert words in result.stderr
    assert "internal error" not in result.stderr
    assert sum(not line.startswith("Try ") for line in result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert path.read_bytes() == before


def test_standard_input_that_is_no_message_is_a_failure(run) -> None:
    run("new", "--id", "talk")

    assert "is not JSON" in run("append", "talk", "--message-json", "-", stdin="{", code=1).stderr
    assert "not UTF-8" in run("append", "talk", "-", stdin=b"\xff\xfe", code=1).stderr


def test_branch_moves_the_leaf_and_keeps_what_is_left(run, data, talk) -> None:
    before = data("inspect", talk)

    result = run("branch", talk, before["path"][0][:6])

    after = data("inspect", talk)
    assert f"moved from {before['leaf']} to {before['path'][0]} (user: How do I start?)" in result.stdout
    assert after["leaf"] == before["path"][0]
    assert set(before["entries"]) < set(after["entries"])


def test_moving_to_where_one_stands_writes_nothing(run, data, talk) -> None:
    entries = data("inspect", talk)["entries"]

    result = run("branch", talk, "@leaf")

    assert "is already there" in result.stdout
    assert data("inspect", talk)["entries"] == entries


@pytest.mark.parametrize(
    ("name", "place"), [("@leaf", -1), ("~0", -1), ("~", -2), ("~1", -2), ("@leaf~2", -3)]
)
def test_entries_are_named_from_the_leaf(name, place, run, data, talk) -> None:
    path = data("inspect", talk)["path"]

    assert data("branch", talk, name)["leaf"] == path[place]


def test_entries_are_named_from_a_label_and_from_the_end_of_a_named_branch(run, data, talk) -> None:
    path = data("inspect", talk)["path"]
    run("label", talk, "@leaf", "done~1")
    run("branch", talk, "@leaf", "--name", "csv")

    assert data("branch", talk, "csv~1")["leaf"] == path[-2]
    assert data("branch", talk, "done~1")["leaf"] == path[-1]  # the whole name of a label comes first
    assert data("branch", talk, "done~1~2")["leaf"] == path[-3]
    assert data("branch", talk, f"{path[-1][:8]}~")["leaf"] == path[-2]
    assert "no entry named 'nothing~1'" in run("branch", talk, "nothing~1", code=1).stderr


def test_an_entry_that_is_not_there_or_not_unique_is_told_so(run, data, write_session, line) -> None:
    path = write_session(line("aa01", None, "user", "x"), line("aa02", "aa01", "assistant", "y"))
    before = path.read_bytes()

    for name, words in [
        ("aa", "2 entries of made begin with 'aa': aa01, aa02"),
        ("zz", "no entry named 'zz'"),
        ("~9", "no entry ~9: the path of made has 2 entries"),
        ("~" + "9" * 5000, "the path of made has 2 entries"),
        ("", "no entry named ''"),
    ]:
        assert words in run("branch", path, name, code=1).stderr
    assert path.read_bytes() == before


def test_the_branch_root_stands_before_the_first_entry(run, data, talk) -> None:
    result = run("branch", talk, "root")

    assert "to the start" in result.stdout
    assert data("inspect", talk)["leaf"] is None
    assert "has no leaf" in run("branch", talk, "@leaf", code=1).stderr


def test_an_entry_that_is_called_root_is_meant_by_that_name(run, data, talk) -> None:
    label = data("label", talk, "~1", "root")

    assert data("branch", talk, "root")["leaf"] == label["entry"]


def test_a_label_names_an_entry_and_does_not_move_the_leaf(run, data, talk) -> None:
    leaf = data("inspect", talk)["leaf"]

    result = run("label", talk, "~1", "good place")

    assert f"the leaf is still {leaf}" in result.stdout
    assert data("label", talk, "~1")["label"] == "good place"
    assert run("label", talk, "~1").stdout == "good place\n"
    run("label", talk, "~1", "")
    assert data("label", talk, "~1")["label"] is None
    assert "has no label" in run("label", talk, "~1").stderr
    assert data("inspect", talk)["leaf"] == leaf


def test_a_title_is_set_read_and_taken_away(run, data, talk) -> None:
    assert run("name", talk).stdout == "Auth refactor\n"
    assert "is now called Login" in run("name", talk, "Login").stdout
    assert data("name", talk)["title"] == "Login"
    assert "has no title now" in run("name", talk, " ").stdout
    assert "has no title" in run("name", talk).stderr


def test_fork_copies_the_path_and_links_to_its_parent(run, data, talk) -> None:
    source = data("inspect", talk)

    made = data("fork", talk)

    copy = data("inspect", made["session"])
    assert copy["path"] == source["path"]
    assert copy["parent_session"] == made["parent_file"]
    assert made["parent"] == talk
    assert data("inspect", talk) == source
    assert f"forked {talk} into " in run("fork", talk).stdout


def test_fork_before_an_entry_leaves_it_out_and_a_tree_takes_everything(data, talk) -> None:
    source = data("inspect", talk)

    before = data("fork", talk, "@leaf", "--before")
    whole = data("fork", talk, "~2", "--tree")

    assert data("inspect", before["session"])["path"] == source["path"][:-1]
    everything = data("inspect", whole["session"])
    assert set(source["entries"]) <= set(everything["entries"])
    assert everything["leaf"] == source["path"][0]


def test_a_fork_without_a_reply_is_kept_and_listed_all_the_same(run, data, talk) -> None:
    only_a_prompt = data("fork", talk, "~2")
    nothing = data("fork", talk, "~2", "--before")

    listed = {row["id"]: row for row in data("ls")["sessions"]}
    assert {only_a_prompt["session"], nothing["session"]} < set(listed)
    assert nothing["leaf"] is None
    assert nothing["entries"] == 0
    assert listed[nothing["session"]]["parent_session"] == nothing["parent_file"]
    assert data("append", only_a_prompt["session"], "go on")["leaf"]


def test_a_fork_for_another_directory_is_listed_there(data, talk, tmp_path, monkeypatch) -> None:
    (tmp_path / "other").mkdir()

    made = data("fork", talk, "--cwd", tmp_path / "other")

    assert made["cwd"] == str(tmp_path / "other")
    monkeypatch.chdir(tmp_path / "other")
    assert [row["id"] for row in data("ls")["sessions"]] == [made["session"]]


def test_an_old_file_is_upgraded_by_the_first_append_and_kept(run, data, world) -> None:
    path = world / "old.jsonl"
    path.write_bytes((CORPUS / "pi" / "edge" / "v1.jsonl").read_bytes())

    result = run("append", path, "more")

    assert "was upgraded from version 1 to version 3" in result.stderr
    (kept,) = (world / ".branchline" / "backups").iterdir()
    assert kept.read_bytes() == (CORPUS / "pi" / "edge" / "v1.jsonl").read_bytes()
    assert data("inspect", path)["version"] == 3


def test_a_torn_last_line_is_closed_before_the_append_and_told(run, data, world) -> None:
    path = world / "torn.jsonl"
    torn = (CORPUS / "pi" / "edge" / "torn-tail.jsonl").read_bytes()
    path.write_bytes(torn)

    result = run("append", path, "more")

    assert "was unfinished (61 bytes): it is closed now, a copy is in " in result.stderr
    assert path.read_bytes().startswith(torn + b"\n")


def test_nothing_is_appended_to_a_damaged_path_without_force(run, data, world) -> None:
    path = world / "damaged.jsonl"
    path.write_bytes((CORPUS / "pi" / "edge" / "corrupt-middle.jsonl").read_bytes())
    before = path.read_bytes()

    result = run("append", path, "more", code=1)

    assert "nothing was appended" in result.stderr
    assert "line 3" in result.stderr
    assert path.read_bytes() == before
    run("append", path, "more", "--force")
    assert path.read_bytes().startswith(before)


@pytest.mark.parametrize("name", ["no-header", "version-99"])
def test_a_file_that_may_only_be_read_stays_as_it_is(name, run, world) -> None:
    path = world / f"{name}.jsonl"
    path.write_bytes((CORPUS / "pi" / "edge" / f"{name}.jsonl").read_bytes())
    before = path.read_bytes()

    for verb in (
        ["append", path, "x"],
        ["branch", path, "root"],
        ["label", path, "@leaf", "x"],
        ["name", path, "x"],
    ):
        assert "cannot append to" in run(*verb, code=1).stderr
    assert path.read_bytes() == before


def test_sessions_are_named_by_file_id_beginning_title_and_last(run, data, talk, world) -> None:
    path = path_of(data, talk)
    os.symlink(path, world / "link.jsonl")
    (world / "plain").write_bytes(Path(path).read_bytes())

    for name in (path, "talk", "tal", "Auth refactor", "@last", "link.jsonl", "./link.jsonl", "plain"):
        assert data("inspect", name)["id"] == "talk"


def test_a_session_of_another_directory_is_found_by_id_but_is_not_the_last_here(
    run, data, talk, tmp_path, monkeypatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")

    assert data("inspect", "talk")["id"] == "talk"
    assert "no session for" in run("inspect", "@last", code=1).stderr


def test_a_name_that_several_sessions_have_is_told_so(run, talk) -> None:
    run("new", "--id", "talking")
    run("new", "--id", "talked")

    assert run("inspect", "talki").stdout.startswith("session    talking")
    assert run("inspect", "talk").stdout.startswith("session    talk ")
    assert "matches 3 sessions: talk" in run("show", "ta", code=1).stderr


def test_a_name_that_no_session_has_is_told_so(run, talk, tmp_path) -> None:
    assert "no session named 'nope'" in run("show", "nope", code=1).stderr
    assert "which session?" in run("show", " ", code=1).stderr
    assert "no such file" in run("show", "nope.jsonl", code=1).stderr
    assert "no such directory" in run("show", "nope", "--dir", tmp_path / "none", code=1).stderr


def test_a_squash_without_a_summary_asks_the_model_and_is_refused_without_one(run, data, talk) -> None:
    run("append", talk, "offline: say Only questions.")

    missing = run("squash", talk, "@leaf..@leaf", code=2)
    both = run("squash", talk, "@leaf..@leaf", "--summary", "x", "--model", "offline:echo", code=2)
    done = data("squash", talk, "@leaf..@leaf", "--model", "offline:echo")

    assert "config set model" in missing.stderr
    assert "use one of them" in both.stderr
    shown = run("show", talk, "--at", done["leaf"]).stdout
    assert "Only questions." in shown
