"""A session of another agent continues in its own format, or as a branchline session."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from branchline import Session
from branchline.entries import (
    SIDE_TYPES,
    BranchSummary,
    Compaction,
    CompactionSummaryMessage,
    MessageEntry,
    Unknown,
)
from branchline.errors import LockTimeout, NotSupported, ReadOnly
from branchline.plugins.formats import format_named
from branchline.stores import FilesStore, MemoryStore
from log.test_other_locks import held
from session.foreign_kit import READ_ONLY, WRITABLE, copied, named, opened, samples, told
from session.kit import CWD, assistant, clock, reopened, user, words
from support import CORPUS

LEFT_OUT = SIDE_TYPES | {"damaged"}
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
UUID7 = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
NAMES = {
    "oh-my-pi": r"2027-01-15T\d\d-\d\d-\d\d-\d\d\dZ_" + UUID7 + r"\.jsonl",
    "operator": r"2027-01-15T\d\d-\d\d-\d\d-\d{6}_" + UUID7 + r"\.jsonl",
    "induscode": r"s_[0-9a-z]{8}_[0-9a-z]{8}\.ndjson",
    "zot": r"20270115-\d{6}-[0-9a-f]{8}\.jsonl",
    "piglet": UUID4 + r"\.jsonl",
}


def is_ours(entry) -> bool:
    """Whether an entry is one of a conversation for us; what only the other program knows becomes data."""
    boundary = entry.type in ("reset_boundary", "context_cleared")
    return entry.type not in LEFT_OUT and (boundary or not isinstance(entry, Unknown))


@pytest.fixture(autouse=True)
def our_home(tmp_path, monkeypatch):
    monkeypatch.setenv("BRANCHLINE_HOME", str(tmp_path / "ours"))


def begun(program: str, place: Path, turns: int = 2, **options: object) -> Session:
    """A session of another program that we began, with some turns."""
    session = Session.create(CWD, format=program, directory=place, clock=clock(), **options)  # type: ignore[arg-type]
    for turn in range(1, turns + 1):
        session.append_messages([user(f"question {turn}"), assistant(f"answer {turn}")])
    return session


# -- a fork becomes one of ours --------------------------------------------------------------------------


@pytest.mark.parametrize("path", samples(*WRITABLE, *READ_ONLY), ids=named)
def test_a_fork_into_a_native_session_keeps_the_words_and_touches_nothing(path, tmp_path):
    session = opened(path, tmp_path)
    before = Path(session.file).read_bytes()

    fork = session.fork(cwd=tmp_path, to="branchline")

    assert fork.format == "pi"
    assert fork.is_draft or Session.open(fork.file).format == "pi"
    assert fork.path() == [entry.id for entry in session.entries(session.path()) if is_ours(entry)]
    assert fork.parent_session == session.file
    assert (fork.title or "").startswith(session.title or "") or not len(fork)
    assert told(fork) == told(session) or session.format in ("oh-my-pi", *READ_ONLY)
    assert Path(session.file).read_bytes() == before
    assert not Path(session.file).parent.joinpath(".branchline").exists()
    assert Path(fork.file).is_relative_to(tmp_path / "ours")


@pytest.mark.parametrize("path", samples(*READ_ONLY), ids=named)
def test_a_session_that_is_only_read_here_forks_into_one_of_ours(path, tmp_path):
    session = opened(path, tmp_path)

    fork, fresh = session.fork(), session.new_session()

    assert fork.format == fresh.format == "pi"
    assert Path(fork.file).is_relative_to(tmp_path / "ours")
    assert Path(fresh.file).is_relative_to(tmp_path / "ours")
    assert os.listdir(Path(session.file).parent) == [Path(session.file).name]


def test_the_title_of_an_operator_session_is_kept_though_it_hangs_below_the_leaf(tmp_path):
    session = begun("operator", tmp_path)
    session.set_title("Auth refactor")

    fork = session.fork(to="branchline")

    assert fork.title == "Auth refactor"
    assert [entry.type for entry in fork.entries()].count("session_info") == 1


def test_what_cut_the_context_of_oh_my_pi_cuts_it_in_the_fork(tmp_path):
    path = copied(
        next(path for path in samples("oh-my-pi") if b'"reset_boundary"' in path.read_bytes()), tmp_path
    )
    session = Session.open(path)
    boundary = next(entry.id for entry in session.entries() if entry.type == "reset_boundary")
    session.branch(boundary)
    after = session.append_message("after the cut")

    fork = session.fork(to="branchline")

    assert told(fork) == [("user", "after the cut")]
    assert fork.path() == session.path()
    assert isinstance(fork.entry(boundary), Compaction)
    assert fork.leaf == after


def test_a_summary_that_piglets_model_never_saw_stays_silent_in_the_fork(tmp_path):
    session = begun("piglet", tmp_path)
    session.branch_with_summary(session.path()[1], "we tried the second question")
    summary = session.leaf

    fork = session.fork(to="branchline")

    assert session.entry(summary).summary == "we tried the second question"
    assert words(session) == words(fork) == ["question 1", "answer 1"]
    entry = fork.entry(summary)
    assert isinstance(entry, BranchSummary)
    assert entry.details["summary"] == "we tried the second question"


# -- a fork stays one of its program ---------------------------------------------------------------------


@pytest.mark.parity("ZOT-01", "PIG-15", "OPR-09")
@pytest.mark.parametrize("scope", ["path", "tree"])
@pytest.mark.parametrize("path", samples(*WRITABLE), ids=named)
def test_a_fork_is_a_session_of_the_same_program_beside_its_parent(path, scope, tmp_path):
    session = opened(path, tmp_path)
    before = Path(session.file).read_bytes()
    if session.read_only is not None and not len(session):
        pytest.skip("there is nothing to fork in it")

    fork = session.fork(scope=scope)

    assert fork.format == session.format
    assert told(fork) == told(session)
    assert Path(session.file).read_bytes() == before
    if not fork.path():
        return
    assert Path(fork.file).parent == Path(session.file).parent
    assert re.fullmatch(NAMES[session.format], Path(fork.file).name)
    assert fork.labels.items() <= session.labels.items()
    if "assistant" in fork.index.roles:
        again = Session.open(fork.file)
        assert (again.format, again.leaf, again.path()) == (session.format, fork.leaf, fork.path())
        assert told(again) == told(session)


@pytest.mark.parametrize("program", WRITABLE)
def test_the_fork_names_its_parent_as_its_program_does(program, tmp_path):
    session = begun(program, tmp_path)

    path, tree = session.fork(), session.fork(scope="tree")

    expected = {
        "oh-my-pi": (session.file, session.id),
        "operator": (session.file, session.file),
        "induscode": (session.file, session.file),
        "zot": (session.id, session.id),
        "piglet": (session.id, session.id),
    }
    assert (path.parent_session, tree.parent_session) == expected[program]
    assert path.id != tree.id != session.id


@pytest.mark.parity("ZOT-01")
@pytest.mark.parametrize("program", WRITABLE)
def test_a_fork_can_stop_before_an_entry_have_an_id_and_belong_elsewhere(program, tmp_path, home):
    session = begun(program, tmp_path)
    second = session.path()[-2]

    fork = session.fork(second, position="before", cwd=tmp_path, id="a-name-of-its-own")

    assert words(fork) == ["question 1", "answer 1"]
    assert fork.id == "a-name-of-its-own"
    assert fork.cwd == str(tmp_path)
    directory = format_named(program).home.directory(str(tmp_path), {}, str(home))
    shared = program in ("operator", "piglet")  # all projects lie together there
    assert Path(fork.file).parent == (tmp_path if shared else Path(directory))
    assert Path(fork.file).exists()


@pytest.mark.parametrize("program", ["oh-my-pi", "operator", "piglet"])
def test_labels_go_along_where_the_format_has_them(program, tmp_path):
    session = begun(program, tmp_path)
    path = session.path()
    first, _, second, _ = [
        key for key in path if session.index.types[session.index.position(key)] == "message"
    ]
    session.append_label(first, "start")
    session.append_label(second, "redacted")

    fork = session.fork(second, position="before")

    assert fork.labels == {first: "start"}
    assert Session.open(fork.file).labels == {first: "start"}
    assert fork.leaf == path[path.index(second) - 1]


def test_a_whole_copy_stands_where_it_is_told_to(tmp_path):
    for program in ("oh-my-pi", "operator", "induscode", "piglet"):
        session = begun(program, tmp_path / program)
        first = session.path()[1]

        fork = session.fork(first, scope="tree")

        assert fork.leaf == Session.open(fork.file).leaf == first
        assert set(session.index.keys) <= set(fork.index.keys)


def test_what_the_format_cannot_hold_is_refused_with_the_way_out_and_leaves_nothing(tmp_path):
    session = begun("zot", tmp_path)
    before = os.listdir(tmp_path)

    with pytest.raises(NotSupported, match=r"linear.*Fork it into a native session"):
        session.fork(session.path()[1], scope="tree")

    assert os.listdir(tmp_path) == before


@pytest.mark.parametrize("to", WRITABLE)
@pytest.mark.parametrize("program", WRITABLE)
def test_a_fork_may_become_a_session_of_any_program_that_is_written(tmp_path, home, program, to):
    session = begun(program, tmp_path)

    fork = session.fork(to=to)

    assert fork.format == to
    assert words(fork) == words(session)
    assert Session.open(fork.file).path() == fork.path()


def test_a_fork_becomes_no_session_of_a_program_that_nobody_knows(tmp_path):
    with pytest.raises(ValueError, match="unknown format 'nobody'; known:"):
        begun("zot", tmp_path / "3").fork(to="nobody")


@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("claude-code", ".claude/projects/-home-u-proj/*.jsonl"),
        ("codex", ".codex/sessions/*/*/*/rollout-*.jsonl"),
    ],
)
def test_a_fork_for_a_program_whose_files_are_written_whole_lies_where_it_looks(
    program, place, tmp_path, home
):
    source = begun("zot", tmp_path)
    source.set_title("Auth refactor")

    with source.fork(to=program) as fork:
        assert [Path(fork.file)] == list(home.glob(place))
        assert not list(home.rglob(".branchline"))
        assert fork.title == "Auth refactor"
        assert fork.header.parent_session == source.file
        with pytest.raises(ReadOnly, match="read-only"):
            fork.append_message("more")


def test_a_fork_for_pi_lies_where_pi_looks_for_it(tmp_path, home):
    fork = begun("zot", tmp_path).fork(to="pi")

    assert fork.format == "pi"
    assert Path(fork.file).parent == home / ".pi/agent/sessions/--home-u-proj--"


@pytest.mark.parametrize("program", ["branchline", "zot"])
@pytest.mark.parametrize("scope", ["path", "tree"])
def test_answers_of_a_fork_for_pi_have_usage_on_which_pi_would_fail_otherwise(tmp_path, home, program, scope):
    source = begun(program, tmp_path)
    source.append_message({"role": "assistant", "content": [{"type": "text", "text": "bare"}]})

    with source.fork(to="pi", scope=scope) as fork:
        lines = [json.loads(line) for line in Path(fork.file).read_text().splitlines()]

    answers = [line["message"] for line in lines if line.get("message", {}).get("role") == "assistant"]
    assert len(answers) == 3
    assert all("usage" in answer for answer in answers)


def test_a_file_ends_as_its_program_wants_whatever_the_store_says(tmp_path):
    made = begun("induscode", tmp_path).fork(store=FilesStore(tmp_path))

    assert made.file.endswith(".ndjson")


def test_a_fork_of_a_session_in_memory_stays_there(tmp_path):
    session = Session.in_memory(CWD, format="zot", clock=clock())
    session.append_messages([user("hello"), assistant("hi")])

    fork = session.fork()

    assert isinstance(fork.store, MemoryStore)
    assert fork.format == "zot"
    assert words(fork) == ["hello", "hi"]


@pytest.mark.parametrize("program", WRITABLE)
def test_the_whole_of_a_file_is_copied_for_another_directory(program, tmp_path, home):
    session = begun(program, tmp_path / "from")

    copy = Session.fork_from(session.file, tmp_path)
    ours = Session.fork_from(session.file, tmp_path, to="branchline")

    assert (copy.format, ours.format) == (program, "pi")
    assert words(copy) == words(ours) == words(session)
    assert copy.cwd == ours.cwd == str(tmp_path)
    assert Path(copy.file).is_relative_to(home)


# -- new ones --------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-13", "OPR-13", "IND-12")
@pytest.mark.parametrize("program", [*WRITABLE, "pi"])
def test_a_new_session_of_another_program_lies_where_that_program_keeps_its_own(program, tmp_path, home):
    session = Session.create(tmp_path, format=program, clock=clock())
    session.append_messages([user("hello"), assistant("hi")])

    directory = format_named(program).home.directory(str(tmp_path), {}, str(home))
    assert Path(session.file).parent == Path(directory)
    assert re.fullmatch(NAMES.get(program, r"2027.*\.jsonl"), Path(session.file).name)
    again = Session.open(session.file)
    assert again.format == program
    assert again.id == session.id
    assert words(again) == ["hello", "hi"]


@pytest.mark.parametrize("program", WRITABLE)
def test_a_draft_of_another_program_is_not_listed_and_survives_its_process(program, tmp_path):
    session = Session.create(CWD, format=program, directory=tmp_path, clock=clock())
    session.append_message("hello")
    store = FilesStore(tmp_path, suffix=format_named(program).traits.suffix)

    assert store.scan().found == []
    (draft,) = store.drafts()
    again = Session.from_store(store, draft.key, clock=clock(seed=50))
    again.append_message(assistant("hi"))

    assert not again.is_draft
    assert [found.key for found in store.scan().found] == [session.key]
    assert words(Session.open(again.file)) == ["hello", "hi"]


@pytest.mark.parametrize("program", WRITABLE)
def test_a_session_can_be_made_at_once(program, tmp_path):
    session = Session.create(CWD, format=program, directory=tmp_path, persist="at_once", clock=clock())
    assert Session.open(session.file).format == program
    session.append_message("hello")

    assert words(Session.open(session.file)) == ["hello"]


@pytest.mark.parametrize("program", WRITABLE)
def test_a_fresh_session_beside_one_of_another_program_is_of_that_program(program, tmp_path):
    session = Session.open(begun(program, tmp_path).file, cwd=CWD, clock=clock(seed=90))

    fresh = session.new_session()
    fresh.append_messages([user("anew"), assistant("yes")])

    assert fresh.format == program
    assert fresh.cwd == CWD
    assert Path(fresh.file).parent == tmp_path
    assert Path(fresh.file).suffix == Path(session.file).suffix


@pytest.mark.parametrize("program", [*WRITABLE, "pi"])
def test_the_newest_session_of_a_program_and_a_directory_is_gone_on_with(program, tmp_path):
    older = Session.create(tmp_path, format=program, clock=clock())
    older.append_messages([user("older"), assistant("yes")])
    elsewhere = Session.create(tmp_path / "x", format=program, clock=clock(seed=20))
    elsewhere.append_messages([user("elsewhere"), assistant("yes")])
    os.utime(older.file, (1, 1))

    session = Session.continue_recent(tmp_path, format=program)
    other = Session.continue_recent(tmp_path / "y", format=program)

    assert (session.id, session.cwd) == (older.id, str(tmp_path))
    assert (other.format, len(other.path())) == (program, 0)
    assert other.cwd == str(tmp_path / "y")


def test_only_sessions_of_the_program_that_was_asked_for_are_gone_on_with(tmp_path):
    zot = begun("zot", tmp_path)
    piglet = begun("piglet", tmp_path)
    os.utime(zot.file, (1, 1))

    assert Session.continue_recent(CWD, directory=tmp_path, format="zot").id == zot.id
    assert Session.continue_recent(CWD, directory=tmp_path, format="piglet").id == piglet.id
    assert Session.continue_recent(CWD, directory=tmp_path).id == piglet.id


def test_a_program_that_is_only_read_here_gets_no_new_session(tmp_path):
    with pytest.raises(NotSupported, match="codex are written only as a whole"):
        Session.create(tmp_path, format="codex")


@pytest.mark.parity("IND-12")
def test_the_working_directory_of_an_induscode_session_is_known_where_its_folder_tells_it(
    tmp_path, home, monkeypatch
):
    project = tmp_path / "project"
    project.mkdir()
    session = Session.create(project, format="induscode", clock=clock())
    session.append_messages([user("hello"), assistant("hi")])

    assert session.cwd == str(project)
    assert Session.open(session.file).cwd == ""
    monkeypatch.chdir(project)
    assert Session.open(session.file).cwd == str(project)
    assert Session.open(session.file, cwd="/elsewhere").cwd == "/elsewhere"


# -- several messages at once, compactions ---------------------------------------------------------------


def called(*names: str) -> dict[str, object]:
    calls = [{"type": "toolCall", "id": name, "name": "read", "arguments": {"path": name}} for name in names]
    return {**assistant("I look"), "content": calls, "stopReason": "toolUse"}


def result(call: str) -> dict[str, object]:
    text = [{"type": "text", "text": f"content of {call}"}]
    return {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": text, "isError": False}


@pytest.mark.parity("ZOT-12")
@pytest.mark.parametrize("program", [*WRITABLE, "branchline"])
def test_several_messages_are_appended_in_one_write(program, tmp_path):
    session = Session.create(CWD, format=program, directory=tmp_path, clock=clock())
    session.append_message("look at both")

    (answer,) = session.append_messages([called("a", "b")])
    results = session.append_messages([result("a"), result("b")])

    assert session.append_messages([]) == []
    assert session.path()[-3:] == [answer, *results]
    assert session.leaf == results[-1]
    assert words(session)[-2:] == ["content of a", "content of b"]
    again = Session.open(session.file)
    assert [again.index.roles[again.index.position(key)] for key in again.path()[-3:]] == [
        "assistant",
        "toolResult",
        "toolResult",
    ]
    if program == "zot":
        rows = [json.loads(line) for line in Path(session.file).read_bytes().splitlines()]
        assert [len(row["message"]["content"]) for row in rows if row["type"] == "message"] == [1, 2, 2]


def test_a_result_that_comes_alone_is_refused_by_zot_and_says_how_to_do_it(tmp_path):
    session = begun("zot", tmp_path, 0)
    session.append_messages([user("look"), called("a", "b")])

    with pytest.raises(NotSupported, match="append them together"):
        session.append_message(result("a"))


def test_messages_are_appended_all_or_none(tmp_path):
    session = begun("zot", tmp_path)
    before = Path(session.file).read_bytes()

    with pytest.raises(NotSupported):
        session.append_messages([user("fine"), {"role": "custom", "customType": "x", "content": "not"}])

    assert Path(session.file).read_bytes() == before
    assert len(words(session)) == 4


@pytest.mark.parity("PIG-02")
@pytest.mark.parametrize("program", ["piglet", "induscode", "oh-my-pi", "operator"])
def test_a_compaction_keeps_messages_in_the_way_of_the_format(program, tmp_path):
    session = begun(program, tmp_path, 3)

    made = session.append_compaction("What happened.", session.path()[-2], 1234)

    assert words(session) == ["What happened.", "question 3", "answer 3"]
    assert made in session.index
    again = Session.open(session.file, clock=clock(seed=200))
    assert words(again) == words(session)
    assert again.leaf == session.leaf
    again.append_messages([user("question 4"), assistant("answer 4")])
    again.append_compaction("What happened since.", again.path()[-1], 99)
    assert words(again) == words(Session.open(again.file)) == ["What happened since.", "answer 4"]


def test_a_second_compaction_keeps_what_the_first_one_holds(tmp_path):
    session = begun("piglet", tmp_path, 3)
    first = session.append_compaction("Summary.", session.path()[-1], 10)
    session.append_message("question 4")

    session.append_compaction("Again.", first, 20)

    assert words(session) == words(Session.open(session.file)) == ["Again.", "answer 3", "question 4"]


def test_a_compaction_can_reach_back_behind_another_one(tmp_path):
    session = begun("piglet", tmp_path, 3)
    third = session.path()[-2]
    session.append_compaction("Summary.", None, 10)

    session.append_compaction("Again.", third, 20)

    assert words(session) == ["Again.", "question 3", "answer 3"]


@pytest.mark.parity("PIG-02")
def test_a_compaction_of_piglet_without_a_summary_says_only_what_it_holds():
    path = next(
        path for path in samples("piglet") if b'"compact"' in path.read_bytes() and "damaged" not in str(path)
    )
    session = Session.in_memory(data=path.read_bytes())
    entry = next(entry for entry in session.entries() if isinstance(entry, Compaction))

    context = session.context(entry.id)

    assert not entry.summary
    assert not any(isinstance(item.message, CompactionSummaryMessage) for item in context.messages)
    assert [item.message for item in context.messages] == list(entry.retained_tail)


def test_zot_is_compacted_by_a_fork_and_says_so(tmp_path):
    session = begun("zot", tmp_path, 3)
    before = Path(session.file).read_bytes()

    with pytest.raises(NotSupported, match="continues in a fork"):
        session.append_compaction("What happened.", session.path()[-2], 7)
    fork = session.fork_compacted("What happened.", session.path()[-2], 7)

    assert Path(session.file).read_bytes() == before
    assert fork.format == "zot"
    assert fork.parent_session == session.id
    assert words(fork)[1:] == ["question 3", "answer 3"]
    assert "What happened." in words(fork)[0]
    first = next(entry for entry in fork.entries() if isinstance(entry, MessageEntry))
    assert isinstance(first.message, CompactionSummaryMessage)
    assert words(Session.open(fork.file)) == words(fork)


@pytest.mark.parametrize("program", ["branchline", "piglet", "operator", "oh-my-pi", "induscode"])
def test_a_fork_can_be_compacted_from_the_start(program, tmp_path):
    session = begun(program, tmp_path, 3)

    fork = session.fork_compacted("What happened.", session.path()[-2], 7)

    assert words(fork) == words(Session.open(fork.file)) == ["What happened.", "question 3", "answer 3"]
    assert len(words(session)) == 6


# -- where a session stands ------------------------------------------------------------------------------


@pytest.mark.parity("PIG-12", "ZOT-10")
def test_the_model_of_a_piglet_session_is_the_one_that_was_set_last(tmp_path):
    session = begun("piglet", tmp_path)
    assert session.context().model is None  # answers name theirs, but no meta row names the session's

    session.append_model_change("openai", "gpt-5")

    assert session.context().model.id == Session.open(session.file).context().model.id == "gpt-5"
    session.append_message({**assistant("yes"), "provider": "openai", "model": "gpt-5"})
    assert session.context().model.provider == "openai"


@pytest.mark.parity("IND-11")
def test_going_to_where_we_stand_tells_induscode_so(tmp_path):
    """«A stale head line is detected and its newest descendant offered.»"""
    path = copied(next(path for path in samples("induscode") if _findings(path) == ["stale-head"]), tmp_path)
    session = Session.open(path, clock=clock())
    leaf = session.leaf
    assert session.newest_descendant() is None

    session.branch(leaf)

    last = json.loads(path.read_bytes().splitlines()[-1])
    assert (last["kind"], last["leaf"]) == ("head", leaf)
    again = Session.open(path)
    assert (again.leaf, [finding.kind for finding in again.findings]) == (leaf, [])


@pytest.mark.parity("IND-11")
def test_the_newest_entry_below_the_leaf_is_offered(tmp_path):
    path = copied(next(path for path in samples("induscode") if _findings(path) == ["below-head"]), tmp_path)
    session = Session.open(path, clock=clock())
    newest = session.newest_descendant()

    session.branch(newest)

    assert session.leaf in session.path(newest)
    assert Session.open(path).leaf == newest
    assert session.newest_descendant() is None


def test_nothing_below_the_leaf_is_offered_where_there_is_nothing(tmp_path):
    session = begun("branchline", tmp_path)
    first, _, _, last = session.path()

    assert session.newest_descendant() is None
    session.append_label(first, "start")
    session.reset()
    assert session.newest_descendant() == last


def _findings(path: Path) -> list[str]:
    return [finding.kind for finding in Session.in_memory(data=path.read_bytes()).findings]


# -- what belongs to a file ------------------------------------------------------------------------------


def with_folder(place: Path) -> Session:
    session = begun("oh-my-pi", place)
    folder = Path(session.file).with_suffix("")
    folder.joinpath("inner").mkdir(parents=True)
    folder.joinpath("0.bash.log").write_text("a long output")
    folder.joinpath("inner", "sub-agent.jsonl").write_text("{}\n")
    folder.joinpath("link").symlink_to("/etc/hostname")
    return session


def test_a_whole_copy_of_an_oh_my_pi_session_has_a_copy_of_its_folder(tmp_path):
    session = with_folder(tmp_path)

    path, tree = session.fork(), session.fork(scope="tree")

    folder = Path(tree.file).with_suffix("")
    assert folder.joinpath("0.bash.log").read_text() == "a long output"
    assert folder.joinpath("inner", "sub-agent.jsonl").exists()
    assert not os.path.lexists(folder / "link")
    assert [oct(os.stat(folder / name).st_mode & 0o777) for name in ("", "0.bash.log")] == ["0o700", "0o600"]
    assert not Path(path.file).with_suffix("").exists()


# -- reopening -------------------------------------------------------------------------------------------


@pytest.mark.parity("ZOT-02")
def test_what_a_fork_of_zot_inherits_is_told_apart_from_what_it_spent(tmp_path):
    session = begun("zot", tmp_path)

    fork = session.fork(session.path()[-2], position="before")
    fork.append_messages([user("own"), assistant("own", cost=0.5)])

    usage = Session.open(fork.file).usage()
    assert usage.inherited.total.cost == pytest.approx(0.01)
    assert usage.own.total.cost == pytest.approx(0.5)


def test_every_sample_is_gone_on_with_by_a_message_that_is_there_again(tmp_path):
    for path in samples(*WRITABLE):
        if CORPUS not in path.parents:
            continue
        try:
            session = Session.open(copied(path, tmp_path / path.stem), clock=clock())
        except Exception:
            continue
        if session.read_only is None:
            before = told(session)
            key = session.append_message("one more thing")
            assert session.leaf == key
            assert told(session) == [*before, ("user", "one more thing")], path
            assert told(Session.open(session.file)) == told(session), path


def test_a_session_of_a_format_is_the_same_when_it_is_read_from_memory(tmp_path):
    for program in WRITABLE:
        session = begun(program, tmp_path / program)

        assert words(reopened(session)) == words(session)


# -- locks -----------------------------------------------------------------------------------------------


@pytest.mark.parity("PIG-01")
def test_piglets_own_lock_is_held_while_we_append_and_waited_for(tmp_path):
    session = begun("piglet", tmp_path)
    lock = Path(session.file + ".lock")
    assert lock.read_bytes() == b""
    session.close()
    store = FilesStore(tmp_path, lock_timeout=0.2)
    ours = Session.from_store(store, session.key, clock=clock(seed=70))
    before = Path(session.file).read_bytes()

    with held(lock), pytest.raises(LockTimeout, match="the lock is held by"):
        ours.append_message("now?")

    assert Path(session.file).read_bytes() == before
    ours.append_message("now")
    assert words(ours)[-1] == "now"
    assert lock.exists()


def test_a_draft_of_piglet_needs_no_lock_and_its_session_does(tmp_path):
    session = Session.create(CWD, format="piglet", directory=tmp_path, clock=clock())
    session.append_message("hello")
    assert not list(tmp_path.rglob("*.jsonl.lock"))

    session.append_message(assistant("hi"))

    assert list(tmp_path.rglob("*.jsonl.lock")) == [Path(session.file + ".lock")]
