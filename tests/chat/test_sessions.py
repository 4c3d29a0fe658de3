"""Which session a chat is in: the newest, a picked one, a fresh one, a fork; and what is known about it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from branchline import Session
from branchline.chat import Picker
from branchline.chat.completion import suggestions
from branchline.chat.pickers import session_picker
from branchline.chat.services import Services
from branchline.chat.startup import StartOptions, split_entry_ref, start_session
from branchline.settings import ProviderSettings, Settings
from branchline.views.spans import line_text
from chat.kit import Script, Talk, drive
from support import CORPUS


def made(cwd: Path, *words: str, title: str = "") -> str:
    """A session with an answer to each of these words; its file."""
    with Session.create(cwd) as session:
        for each in words:
            session.append_message(each)
            session.append_message(
                {"role": "assistant", "content": [{"type": "text", "text": f"re: {each}"}]}
            )
        if title:
            session.set_title(title)
        assert session.file is not None
        return session.file


def begun(cwd: Path, beginning: StartOptions, *answers: str | None) -> tuple[Session, Script]:
    front = Script(*answers)
    session = drive(lambda: start_session(beginning, front, Services(str(cwd), Settings())))
    return session, front


@pytest.mark.parity("IND-13")
def test_continue_takes_the_newest_resume_lets_one_pick_and_picking_nothing_starts_afresh(project):
    old = made(project, "old words")
    new = made(project, "new words")
    os.utime(old, (1, 1))

    newest, _ = begun(project, StartOptions(newest=True))
    picked, asked = begun(project, StartOptions(resume=""), "old words")
    fresh, left = begun(project, StartOptions(resume=""), None)

    assert newest.file == new
    assert picked.file == old
    assert asked.asked == ["Continue which session? (this directory)"]
    assert fresh.file not in (old, new)
    assert len(fresh) == 0
    assert left.remarks == ["nothing selected; starting a new session"]


@pytest.mark.parity("IND-13", part="sessions of every directory in the picker")
def test_the_picker_at_the_start_switches_to_the_sessions_of_every_directory(project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here, there = made(project, "said here"), made(elsewhere, "said there")
    shown: list[list[str]] = []

    def look(picker: Picker) -> str:
        shown.append([option.key for option in picker.options])
        (scope,) = (action for action in picker.actions if action.key == "tab")
        with pytest.raises(StopIteration) as ended:
            scope.run(None).send(None)
        shown.append([option.key for option in ended.value.value.options])
        return there

    session, _ = begun(project, StartOptions(resume=""), look)

    assert shown[0] == [here]
    assert set(shown[1]) == {here, there}
    assert session.file == there


def test_continue_and_resume_without_any_session_start_afresh(project):
    newest, _ = begun(project, StartOptions(newest=True))
    picked, front = begun(project, StartOptions(resume=""))

    assert len(newest) == len(picked) == 0
    assert "no sessions" in front.remarks[0]


def test_a_session_is_resumed_by_id_title_and_file(project):
    file = made(project, "words", title="Sky")
    with Session.open(file) as session:
        names = [session.id, session.id[:30], "sky", file]

    assert [begun(project, StartOptions(resume=name))[0].file for name in names] == [file] * 4


def test_a_chat_that_was_killed_before_its_first_reply_is_offered_again(project):
    session = Session.create(project)
    session.append_message("precious")
    session.close()

    found, _front = begun(project, StartOptions(resume=""), "precious")

    assert found.id == session.id
    assert len(found) == 1


def test_a_fork_begins_with_the_path_to_an_entry(project):
    file = made(project, "one", "two", title="Sky")

    whole, _ = begun(project, StartOptions(fork="Sky"))
    part, _ = begun(project, StartOptions(fork=f"{file}@~2"))

    assert len(whole.context().messages) == 4
    assert len(part.context().messages) == 2
    assert whole.parent_session == part.parent_session == file


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("talk", ("talk", None)),
        ("talk@3f2a", ("talk", "3f2a")),
        ("@last", ("@last", None)),
        ("@last@~2", ("@last", "~2")),
        ("@last:pi@@leaf~2", ("@last:pi", "@leaf~2")),
    ],
)
def test_a_session_and_an_entry_are_told_apart(name, parts):
    assert split_entry_ref(name) == parts


def test_a_file_whose_name_has_an_at_sign_is_a_file(project):
    Path("a@b.jsonl").write_text("")

    assert split_entry_ref("a@b.jsonl") == ("a@b.jsonl", None)


def test_a_chat_that_is_not_kept_writes_no_file(project, tmp_path):
    file = made(project, "one")
    before = Path(file).read_bytes()
    session, _ = begun(project, StartOptions(resume=file, save=False))
    talk = Talk(project, session=session)

    async def work() -> None:
        async with talk.conductor:
            await talk.say("offline: say two")
            assert len(session.context().messages) == 4

    drive(work)

    assert Path(file).read_bytes() == before
    assert [path for path in tmp_path.rglob("*.jsonl") if path != Path(file)] == []


def test_what_can_only_be_read_goes_on_in_a_fork(project):
    source = next((CORPUS / "claude-code").rglob("*.jsonl"))
    file = project / source.name
    shutil.copy(source, file)
    before = file.read_bytes()

    session, front = begun(project, StartOptions(resume=str(file)))

    assert session.file != str(file)
    assert session.read_only is None
    assert len(session.context().messages) > 0
    assert "is read-only" in front.remarks[0]
    assert file.read_bytes() == before


@pytest.mark.parametrize(("answer", "how"), [("fork", "forked"), ("stay", "same"), (None, "fresh")])
def test_a_directory_that_is_gone_is_said_and_asked(project, tmp_path, answer, how):
    gone = tmp_path / "gone"
    gone.mkdir()
    file = made(gone, "words")
    gone.rmdir()

    session, front = begun(project, StartOptions(resume=file), answer)

    assert front.asked == [f"The directory of this session no longer exists: {gone}"]
    assert (session.parent_session == file) is (how == "forked")
    assert (session.file == file) is (how == "same")
    assert (len(session) == 0) is (how == "fresh")


def test_a_session_of_another_directory_is_told_so(project, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    file = made(other, "words")

    _session, front = begun(project, StartOptions(resume=file))

    assert front.remarks == [f"this session belongs to {other}; shell commands run there"]


def test_resume_in_a_chat_goes_to_a_picked_session_and_back_by_name(project):
    async def work() -> None:
        other = made(project, "elsewhere")
        talk = Talk(project, "elsewhere", None)
        async with talk.conductor:
            await talk.say("offline: say home")
            home = talk.session.file

            await talk.say("/resume")
            assert talk.session.file == other
            await talk.say(f"/resume {home}")
            assert talk.session.file == home
            front = await talk.say(f"/resume {home}")
            assert front.remarks[-1] == "you are already in this session"
            await talk.say("/resume")
            assert talk.session.file == home
            assert front.remarks[-1] == "nothing selected; you stay in this session"
            for nothing in ("no such thing", "@last:nonsense", "./nowhere.jsonl"):
                await talk.say(f"/resume {nothing}")
                assert talk.session.file == home
                assert front.remarks[-1] != "nothing selected; you stay in this session"

    drive(work)


@pytest.mark.parity("IND-10", part="a new session from a chat")
def test_new_starts_a_fresh_session_beside_this_one(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("offline: say one")
            old = talk.session.file

            await talk.say("/new", "offline: say two")

            assert talk.session.file != old
            assert talk.session.parent_session is None
            assert talk.words() == ["offline: say two", "two"]
            with Session.open(old) as read:
                assert len(read.context().messages) == 2

    drive(work)


def test_the_facts_of_a_session_are_shown(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            await talk.say("one", "/undo", "two")
            talk.front.lines.clear()

            front = await talk.say("/session")

            shown = "\n".join(front.lines)
            assert talk.session.id in shown
            assert talk.session.file in shown
            assert "2 branches" in shown
            assert "offline:echo" in shown
            assert "1 on this path" in shown

    drive(work)


@pytest.mark.parity("ZOT-18")
def test_sessions_are_picked_and_the_current_one_is_marked(project):
    other = made(project, "elsewhere", title="Other")
    seen: list[str] = []

    def look(picker: Picker) -> None:
        seen.extend(line_text(option.line) for option in picker.options)
        assert line_text(picker.options[picker.selected].line).endswith("Mine  [current]")

    async def work() -> None:
        talk = Talk(project, look, "Other")
        async with talk.conductor:
            front = await talk.say("offline: say here", "/name Mine", "/sessions")
            here = talk.session.file
            assert front.remarks[-1] == "nothing selected; you stay in this session"
            assert talk.session.file == here

            await talk.say("/sessions")

            assert talk.session.file == other

    drive(work)
    assert [line.endswith("[current]") for line in seen] == [True, False]


@pytest.mark.parity("OMP-23")
def test_ids_in_a_picker_tell_the_sessions_apart(project):
    """Ids of sessions that began in the same minute have a long beginning in common."""
    for number in range(5):
        made(project, f"session {number}")
    rows = Services(str(project), Settings()).sessions()

    picker = session_picker(rows, "?")

    ids = [line_text(option.line).split()[0] for option in picker.options]
    assert len(set(ids)) == 5
    for row, name in zip(rows, ids, strict=True):
        assert [other.id for other in rows if other.id.startswith(name)] == [row.id]


@pytest.mark.parity("ZOT-04", "ZOT-18")
def test_the_forest_is_a_picker_whose_choice_is_the_session_one_goes_on_in(project):
    """Forks below their parents; Enter switches, Escape stays."""
    seen: list[str] = []

    def look(picker: Picker) -> None:
        seen[:] = [line_text(option.line) for option in picker.options]

    async def work() -> None:
        talk = Talk(project, "one", look, None, "first")
        async with talk.conductor:
            await talk.say("offline: say one", "/name first", "offline: say two")
            parent = talk.session
            before = Path(parent.file).read_bytes()
            front = await talk.say("/session fork", "/name second", "offline: say three")
            child = talk.session.file
            assert child != parent.file
            assert talk.words() == ["offline: say one", "one", "offline: say three", "three"]
            assert Path(parent.file).read_bytes() == before

            await talk.say("/session tree")
            assert front.remarks[-1] == "nothing selected; you stay in this session"
            await talk.say("/session tree")
            assert talk.session.file == child

            await talk.say("/session tree")
            assert talk.session.file == parent.file
            assert talk.words()[-1] == "two"

    drive(work)
    above, below = seen
    assert above.endswith("first")
    assert above.split()[1:] == ["now", "4", "first"]
    assert below.endswith("└─ second  [current]")


@pytest.mark.parity("ZOT-17", "ZOT-18")
@pytest.mark.parametrize("format_", [None, "zot"])
def test_a_session_is_exported_portably_and_imported_under_a_fresh_id(project, format_):
    async def work() -> None:
        talk = Talk(project, session=Session.create(project, format=format_))
        async with talk.conductor:
            front = await talk.say("offline: say one", "/session export")
            exported = front.remarks[-1].removeprefix("exported to ")
            source = talk.session

            await talk.say(f"/session import {exported}")

            assert str(project) not in Path(exported).read_text()
            assert exported.endswith(".zotsession" if format_ == "zot" else ".jsonl")
            assert talk.session.id != source.id
            assert talk.session.cwd == str(project)
            assert talk.words() == ["offline: say one", "one"]
            await talk.say("offline: say two")
            assert talk.words()[-1] == "two"

            await talk.say("/session import nowhere.jsonl", "/session import")
            assert "nowhere.jsonl" in front.remarks[-2]
            assert front.remarks[-1] == "which file? Write /session import FILE"

    drive(work)


@pytest.mark.parity("ZOT-18")
@pytest.mark.parametrize("format_", [None, "zot"])
def test_fork_tree_export_and_import_work_as_zot_has_them_and_sessions_opens_the_picker(
    project, format_, monkeypatch, tmp_path
):
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))
    shown: list[list[str]] = []

    def escape(picker: Picker) -> None:
        shown.append([line_text(option.line) for option in picker.options])

    def parent(picker: Picker) -> str:
        """Enter on the first row, which is the session that the fork was made of."""
        escape(picker)
        return picker.options[0].key

    async def work() -> None:
        talk = Talk(
            project, "say one", escape, parent, escape, session=Session.create(project, format=format_)
        )
        async with talk.conductor:
            front = await talk.say("offline: say one", "offline: say two", "/name Parent")
            source = talk.session.file
            await talk.say("/session fork", "/name Child", "offline: say three", "/session tree")
            assert talk.words() == ["offline: say one", "one", "offline: say three", "three"]
            assert talk.session.file != source
            assert front.remarks[-1] == "nothing selected; you stay in this session"

            await talk.say("/session tree")
            assert talk.session.file == source

            await talk.say("/sessions", "/session export talk.jsonl", "/session import talk.jsonl")
            assert talk.session.file not in (source, None)
            assert talk.words() == ["offline: say one", "one", "offline: say two", "two"]

    drive(work)
    tree, again, flat = shown
    assert tree == again
    assert [row.endswith("[current]") for row in tree] == [False, True]
    assert "└─ " in tree[1]
    assert sorted(row.endswith("Parent  [current]") for row in flat) == [False, True]


def test_an_unknown_operation_of_session_lists_those_there_are(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("/session frok", "/session now then")

            assert front.remarks == [
                "unknown operation 'frok'; /session takes fork, tree, export, import",
                "unknown operation 'now'; /session takes fork, tree, export, import",
            ]
            assert [one.text for one in suggestions(talk.chat, "/session t")] == ["tree"]

    drive(work)


def test_a_title_is_given_and_shown(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            front = await talk.say("/name", "/name Sky", "/name")

            assert front.lines == ["(no title)", "Sky", "Sky"]
            assert talk.session.title == "Sky"

    drive(work)


def test_model_and_thinking_level_are_shown_changed_and_recorded(project):
    async def work() -> None:
        talk = Talk(project, None, "high", None)
        async with talk.conductor:
            front = await talk.say(
                "hello",
                "/model",
                "/model offline:other",
                "/model offline/third",
                "/thinking",
                "/thinking",
                "/thinking low",
            )

            assert front.lines == ["offline:echo", "offline:other", "offline:third", "high", "high", "low"]
            with Session.open(talk.session.file) as read:
                assert read.context().model.id == "third"
                assert read.context().thinking_level == "low"

            await talk.say("/thinking very", "/model nonsense")
            assert "is not a thinking level" in front.remarks[-2]
            assert "is not a model name" in front.remarks[-1]

    drive(work)


def test_a_model_is_picked_among_those_that_can_be_used_and_the_others_say_what_they_need(
    project, monkeypatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("GATEWAY_KEY", "k")
    gateway = ProviderSettings(
        base_url="http://localhost:1/v1", api_key_env="GATEWAY_KEY", models=("qwen3", "glm")
    )
    nameless = ProviderSettings(base_url="http://localhost:2/v1")

    async def work() -> None:
        talk = Talk(
            project,
            "glm",
            "anthropic",
            "nameless",
            settings=Settings(providers={"gateway": gateway, "nameless": nameless}),
        )
        async with talk.conductor:
            front = await talk.say("/model", "/model", "/model")

            assert front.asked[:2] == [
                "Which model shall answer? Now: offline:echo",
                "Which model shall answer? Now: gateway:glm",
            ]
            assert front.lines == ["gateway:glm"] * 3
            assert front.remarks == [
                "anthropic: set ANTHROPIC_API_KEY",
                "nameless: name a model of it: /model nameless:MODEL",
            ]
            assert [one.text for one in suggestions(talk.chat, "/model gate")] == [
                "gateway:qwen3",
                "gateway:glm",
            ]

    drive(work)


def test_an_export_is_a_new_private_file_without_secrets(project):
    async def work() -> None:
        talk = Talk(project)
        async with talk.conductor:
            secret = "ghp_" + "x7Kq2LmN9pRt4VwYzB3cD6fGh8JkS1uAeXoQ"
            front = await talk.say(
                f"my token is {secret}", "/export talk.md", "/export talk.md", "/export", "/export x.jsonl"
            )

            text = Path("talk.md").read_text()
            assert "my token is" in text
            assert secret not in text
            assert secret not in Path("x.jsonl").read_text()
            assert "redacted" in front.remarks[0]
            assert "already exists" in front.remarks[1]
            assert len(list(project.glob("*.md"))) == 2
            assert os.stat("talk.md").st_mode & 0o777 == 0o600

    drive(work)
