"""Every refusal of the library is a BranchlineError, and the builtin exception that says the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from branchline import Session, SessionLibrary, from_anthropic, from_openai
from branchline.entries import AssistantMessage, Custom, ToolCall, Usage
from branchline.errors import BranchlineError, InvalidId
from branchline.library import AsyncSessionLibrary
from branchline.session.new_entry import NewEntry
from branchline.stores import key_for, open_store

Use = Callable[[Session], Any]
CALL = {"type": "toolCall", "id": "c", "name": "n", "arguments": {"x": math.inf}}


CYCLE: list[Any] = []
CYCLE.append({"again": [CYCLE, CYCLE]})
DEEP: list[Any] = []
for _ in range(3000):
    DEEP = [DEEP]
RESULT = {"role": "toolResult", "toolCallId": "c", "toolName": "n", "content": "r"}


def answer(**fields):
    return {"role": "assistant", "content": "x", **fields}


VALUES: dict[str, Use] = {
    "an unknown role": lambda s: s.append_message({"role": "foo"}),
    "no role": lambda s: s.append_message({}),
    "several messages as one": lambda s: s.append_message(["a", "b"]),
    "a number that is none": lambda s: s.append_message(
        {"role": "user", "content": "x", "timestamp": math.nan}
    ),
    "an infinite argument": lambda s: s.append_message({"role": "assistant", "content": [CALL]}),
    "a field under its Python name": lambda s: s.append_message(answer(stop_reason="stop")),
    "another one": lambda s: s.append_message(answer(response_id="r")),
    "usage that is no number": lambda s: s.append_message(answer(usage={"input": "many"})),
    "usage without a known field": lambda s: s.append_message(answer(usage={"inputs": 5})),
    "a time that is no number": lambda s: s.append_message(
        {"role": "user", "content": "x", "timestamp": "now"}
    ),
    "a model that is no text": lambda s: s.append_message(answer(model=5)),
    "a call id that is no text": lambda s: s.append_message({**RESULT, "toolCallId": 5}),
    "no call id": lambda s: s.append_message({**RESULT, "toolCallId": None}),
    "an error that is no truth value": lambda s: s.append_message({**RESULT, "isError": "yes"}),
    "a value in itself": lambda s: s.append_message({"role": "user", "content": "x", "extra": CYCLE}),
    "a call with a value in itself": lambda s: s.append_message(
        AssistantMessage(content=(ToolCall(id="c", name="n", arguments={"x": CYCLE}),))
    ),
    "custom data in itself": lambda s: s.append_custom("x", CYCLE),
    "custom data that is too deep": lambda s: s.append_custom("x", DEEP),
    "details that are too deep": lambda s: s.append_custom_message("x", "y", details=DEEP),
    "metadata that is too deep": lambda _: Session.create("/p", metadata={"a": DEEP}),
    "an integer that no reader takes": lambda s: s.append_custom("x", 10**5000),
    "a key of NaN": lambda s: s.append_custom("x", {math.nan: 1}),
    "NaN in an entry": lambda s: s.write(lambda _session: [NewEntry.custom("x", [math.nan])]),
    "an entry in itself": lambda s: s.write(
        lambda _session: [NewEntry(kind=Custom, fields={"custom_type": "x", "data": CYCLE})]
    ),
    "an answer of OpenAI in itself": lambda _: from_openai([{"type": "new", "x": CYCLE}]),
    "an answer of Anthropic in itself": lambda _: from_anthropic(
        {"role": "assistant", "content": [{"type": "new", "x": CYCLE}]}
    ),
    "a path that no file can have": lambda _: Session.open("a\0b"),
    "a directory that no file can have": lambda _: SessionLibrary("\ud800"),
    "a misspelt block": lambda s: s.append_message({"role": "user", "content": [{"type": "txt"}]}),
    "a block's field under its Python name": lambda s: s.append_message(
        {"role": "assistant", "content": [{"type": "text", "text": "x", "text_signature": "y"}]}
    ),
    "negative tokens": lambda s: s.append_compaction("s", s.leaf, -1),
    "infinite tokens": lambda s: s.append_compaction("s", s.leaf, math.inf),
    "unknown usage": lambda s: s.append_usage("k", {"inputs": 5}),
    "unknown cost": lambda s: s.append_usage("k", {"input": 5, "cost": {"all": 1}}),
    "usage of NaN": lambda s: s.append_usage("k", Usage(input=math.nan)),
    "no provider": lambda s: s.append_model_change("", "m"),
    "NaN in custom data": lambda s: s.append_custom("x", {"a": [math.nan]}),
    "another role of an extension": lambda s: s.append_custom_message("x", "y", role="system"),
    "a misspelt block of an extension": lambda s: s.append_custom_message("x", [{"type": "txt"}]),
    "a misspelt block of an edit": lambda s: s.append_context_edit(s.leaf, [{"type": "txt"}]),
    "a negative limit": lambda s: s.path(limit=-1),
    "a negative number of messages": lambda s: s.fork_first(-1),
    "another conflict rule": lambda s: setattr(s, "on_conflict", "nonsense"),
    "another fork position": lambda s: s.fork(position="middle"),
    "another fork scope": lambda s: s.fork(scope="forest"),
    "an unknown agent for a fork": lambda s: s.fork(to="nonsense"),
    "an unknown filter": lambda s: s.outline("nope"),
    "an unknown ending": lambda s: s.export("/nowhere/x.pdf"),
    "an unknown format": lambda s: s.export("/nowhere/x.md", format="pdf"),
    "an unknown agent": lambda s: s.convert("nonsense"),
    "another scope": lambda s: s.convert("pi", scope="all", output="/nowhere/x.jsonl"),
    "an empty summary": lambda s: s.squash(s.leaf, s.leaf, ""),
    "an empty branch name": lambda s: s.name_branch(""),
    "nothing to redo": lambda s: s.redo(),
    "an agent that does not exist": lambda _: Session.in_memory("/p", format="nonsense"),
    "an agent that is only read": lambda _: Session.in_memory("/p", format="codex"),
    "another persistence": lambda _: Session.create("/p", persist="whenever"),
    "another durability": lambda _: Session.create("/p", durability="maybe"),
    "another durability to open": lambda _: Session.open("/nowhere", durability="maybe"),
    "metadata of NaN": lambda _: Session.create("/p", metadata={"a": math.nan}),
    "an id with a slash": lambda _: Session.create("/p", id="a/b"),
    "no parts of a key": lambda _: key_for(),
    "no message of OpenAI": lambda _: from_openai({"role": "foo"}),
    "no message of Anthropic": lambda _: from_anthropic({"role": "foo"}),
    "an unknown agent in a list": lambda _: SessionLibrary.everywhere(agents=["nonsense"]),
}
TYPES: dict[str, Use] = {
    "a number as message": lambda s: s.append_message(5),
    "None as message": lambda s: s.append_message(None),
    "bytes as message": lambda s: s.append_message(b"x"),
    "a set in a message": lambda s: s.append_message({"role": "user", "content": "x", "extra": {1}}),
    "bytes in a message": lambda s: s.append_message({"role": "user", "content": "x", "extra": b"x"}),
    "an object in a message": lambda s: s.append_message({"role": "user", "content": "x", "extra": object()}),
    "a text as messages": lambda s: s.append_messages("hey"),
    "one message as messages": lambda s: s.append_messages({"role": "user", "content": "x"}),
    "None as messages": lambda s: s.append_messages(None),
    "a text as messages of a checkpoint": lambda s: s.append_compaction(messages="hey"),
    "words as tokens": lambda s: s.append_compaction("s", s.leaf, "many"),
    "a number as usage": lambda s: s.append_usage("k", 5),
    "a number as provider": lambda s: s.append_model_change(5, "m"),
    "a set as custom data": lambda s: s.append_custom("x", {1}),
    "a number as content": lambda s: s.append_custom_message("x", 5),
    "a key of None": lambda s: s.append_custom("x", {None: 1}),
    "a key of bytes": lambda s: s.append_custom("x", {b"a": 1}),
    "a key of a tuple": lambda s: s.append_message({"role": "user", "content": "x", "extra": {(1, 2): 3}}),
    "a set in an entry": lambda s: s.write(lambda _session: [NewEntry.custom("x", {1})]),
    "bytes in an entry": lambda s: s.write(
        lambda _session: [NewEntry(kind=Custom, fields={"custom_type": "x", "data": b"x"})]
    ),
    "a number as title of an entry": lambda s: s.write(lambda _session: [NewEntry.title(5)]),
    "a number as label of an entry": lambda s: s.write(lambda now: [NewEntry.label(now.leaf, 5)]),
    "a number as branch name": lambda s: s.name_branch(5),
    "a dict as entry": lambda s: s.entry({"id": 1}),
    "a list as place of a branch": lambda s: s.branch(["a"]),
    "a number as place of a fork": lambda s: s.fork(5),
    "a number as observer": lambda s: s.subscribe(5),
    "a number as agent": lambda _: Session.in_memory("/p", format=5),
    "a number as agent to convert to": lambda s: s.convert(5),
    "a number as id": lambda _: Session.create("/p", id=5),
    "a number as key": lambda _: Session.create("/p", key=5),
    "a number as directory of a project": lambda _: Session.create(5),
    "bytes as directory of a project": lambda _: Session.create(b"/p"),
    "a number as parent": lambda _: Session.create("/p", parent_session=5),
    "a number as file": lambda _: Session.open(5),
    "a text as data": lambda _: Session.in_memory("/p", data="x"),
    "data and a format": lambda _: Session.in_memory("/p", data=b"", format="pi"),
    "a number as label": lambda s: s.append_label(s.leaf, 5),
    "None as title": lambda s: s.set_title(None),
    "a number as replacement": lambda s: s.append_context_edit(s.leaf, 5),
    "a number as summary": lambda s: s.branch_with_summary(None, 5),
    "words as limit": lambda s: s.path(limit="x"),
    "None as function": lambda s: s.write(None),
    "a number as entries": lambda s: s.write(lambda _session: 5),
    "a text as entry": lambda s: s.write(lambda _session: ["a"]),
    "a number as message of an entry": lambda s: s.write(lambda _session: [NewEntry.message(5)]),
    "a number as title of a new session": lambda _: Session.create("/p", title=5),
    "a number as metadata": lambda _: Session.create("/p", metadata=5),
    "a number as library": lambda _: SessionLibrary(5),
    "an address as library of coroutines": lambda _: AsyncSessionLibrary("app.db"),
    "no place of a library": lambda _: SessionLibrary(),
    "a number as part of a key": lambda _: key_for(5),
}
MISSING: dict[str, Use] = {
    "label": lambda s: s.append_label("zz", "x"),
    "branch": lambda s: s.branch("zz"),
    "branch to None": lambda s: s.branch(None),
    "fork": lambda s: s.fork("zz"),
    "entry": lambda s: s.entry("zz"),
    "path": lambda s: s.path("zz"),
    "context": lambda s: s.context("zz"),
    "graft": lambda s: s.graft("zz"),
    "edit": lambda s: s.append_context_edit("zz", None),
    "compaction": lambda s: s.append_compaction("s", "zz"),
}


@pytest.fixture
def session() -> Session:
    made = Session.in_memory("/p")
    made.append_messages(["a", "b"])
    return made


def require_refusal(session: Session, use: Use, builtin: type[Exception]) -> None:
    before = session.transcript.bytes_between(0, None)
    with pytest.raises(BranchlineError) as refused:
        use(session)
    assert isinstance(refused.value, builtin)
    assert "\n" not in str(refused.value)
    assert session.transcript.bytes_between(0, None) == before, "nothing is written"


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_is_not_allowed_is_a_value_error_of_ours(session, name):
    require_refusal(session, VALUES[name], ValueError)


@pytest.mark.parametrize("name", TYPES)
def test_a_type_that_is_not_allowed_is_a_type_error_of_ours(session, name):
    require_refusal(session, TYPES[name], TypeError)


@pytest.mark.parametrize("name", MISSING)
def test_an_entry_that_is_not_there_is_a_lookup_error_of_ours(session, name):
    require_refusal(session, MISSING[name], LookupError)


LIBRARY: dict[str, tuple[Callable[[SessionLibrary], Any], type[Exception]]] = {
    "conflict rule to create": (lambda one: one.get_or_create("new", on_conflict="nonsense"), ValueError),
    "conflict rule to open": (lambda one: one.get("k", on_conflict="nonsense"), ValueError),
    "unknown agent": (lambda one: one.get_or_create("new", format="nonsense"), ValueError),
    "agent that is only read": (lambda one: one.get_or_create("new", format="codex"), ValueError),
    "no key": (lambda one: one.get_or_create(), ValueError),
    "find": (lambda one: one.find("zz"), LookupError),
    "find nothing behind redaction": (lambda one: one.find(" ", redact=str), ValueError),
    "find by a number": (lambda one: one.find(5), TypeError),
    "find by bytes as id": (lambda one: one.find_by_id(b"x"), TypeError),
    "find no title": (lambda one: one.find_by_title(None), TypeError),
    "search a number": (lambda one: one.search(5), TypeError),
    "search without an end": (lambda one: one.search("x", budget=None), TypeError),
    "sql of a number": (lambda one: one.sql(5), TypeError),
    "session of an address": (lambda _: Session.from_store("app.db", "k"), TypeError),
    "session of a number": (lambda one: Session.from_store(one.stores[0], 5), TypeError),
    "open by number": (lambda one: one.open(5), TypeError),
    "find nothing": (lambda one: one.find(" "), ValueError),
    "find by number": (lambda one: one.list(limit=-1), ValueError),
    "search limit": (lambda one: one.search("x", limit=-1), ValueError),
    "search": (lambda one: one.search("cost:many"), ValueError),
    "sql": (lambda one: one.sql("DROP TABLE x"), ValueError),
    "statistics": (lambda one: one.stats("nonsense"), ValueError),
    "title": (lambda one: one.set_title("zz", "t"), LookupError),
    "rename": (lambda one: one.rename("zz", "y"), ValueError),
    "rename to a path": (lambda one: one.rename("k", "a/b"), ValueError),
    "restore": (lambda one: one.restore("zz"), LookupError),
    "describe": (lambda one: one.describe("zz"), LookupError),
    "create again": (
        lambda one: Session.create("/p", store=one.stores[0], key="k", persist="always"),
        FileExistsError,
    ),
}


@pytest.mark.parametrize("where", ["files", "s.db"])
@pytest.mark.parametrize("name", LIBRARY)
def test_what_a_library_refuses_is_an_error_of_ours(tmp_path, name, where):
    use, builtin = LIBRARY[name]
    with SessionLibrary(tmp_path / where) as library:
        library.get_or_create("k").close()

        with pytest.raises(BranchlineError) as refused:
            use(library)

        assert isinstance(refused.value, builtin)
        assert [row.key for row in library.list().readable] == ["k"]


@pytest.mark.parametrize(
    "name", ["app.db?tenant=acme", "app?tenant=acme", "app.sqlite?mode=ro", "a?b/app.db"]
)
@pytest.mark.parametrize("use", [SessionLibrary, open_store])
def test_an_address_with_options_that_is_not_a_servers_is_refused(tmp_path, name, use):
    with pytest.raises(InvalidId, match="PostgreSQL"):
        use(tmp_path / name)
    with pytest.raises(InvalidId, match="PostgreSQL"):
        use(str(tmp_path / name))

    assert list(tmp_path.iterdir()) == []


def test_a_database_in_a_directory_whose_name_has_a_question_mark_can_be_created(tmp_path):
    (tmp_path / "why?").mkdir()

    with SessionLibrary(tmp_path / "why?" / "app.db") as library:
        library.get_or_create("k").close()
        assert len(library.list().readable) == 1


def test_a_directory_whose_name_has_a_question_mark_can_be_used(tmp_path):
    folder = tmp_path / "why?"
    folder.mkdir()

    with SessionLibrary(folder) as library:
        library.get_or_create("k").close()
        assert len(library.list().readable) == 1


@pytest.mark.parametrize("name", ["app.db?tenant=acme", "app?tenant=acme", "a?b/app", "?"])
def test_a_new_session_is_not_created_in_a_mistyped_address(tmp_path, name):
    for use in (Session.create, Session.continue_recent):
        with pytest.raises(InvalidId, match="PostgreSQL"):
            use("/p", directory=tmp_path / name)
    with pytest.raises(InvalidId, match="PostgreSQL"):
        Session.create("/p", directory=tmp_path / name, persist="always")

    assert list(tmp_path.iterdir()) == []


def test_one_message_for_many_is_answered_with_the_method_to_use(session):
    for one in ("hey", {"role": "user", "content": "x"}, session.entry(session.leaf).message):
        with pytest.raises(TypeError, match="append_message\\(\\)"):
            session.append_messages(one)

    assert len(session) == 2


def test_usage_may_be_a_dict_of_its_stored_fields(session):
    session.append_usage("k", {"input": 5, "output": 1, "totalTokens": 6, "cost": {"total": 0.5}})

    assert session.usage().own.total.total_tokens == 6
