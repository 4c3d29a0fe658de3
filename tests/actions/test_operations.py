"""Tree operations: named branches, grafts, squashes, undo and redo."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.actions.graft import graft, squash
from branchline.actions.named_branches import name_branch, named_branches
from branchline.actions.operations import operations, redo, undo
from branchline.entries import MessageEntry, message_text
from branchline.errors import EntryNotFound


def answer(text: str, *calls: str) -> dict:
    blocks = [{"type": "toolCall", "id": call, "name": "bash", "arguments": {}} for call in calls]
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}, *blocks],
        "usage": {"input": 5, "output": 5},
    }


def result(call: str) -> dict:
    return {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": "bash",
        "content": [{"type": "text", "text": "done"}],
    }


@pytest.fixture
def session() -> Session:
    """Two branches behind the first answer; the session stands on the second."""
    made = Session.in_memory()
    made.append_message("begin")
    first = made.append_message(answer("begun"))
    made.append_message("left")
    made.append_message(answer("calling", "c1"))
    made.append_message(result("c1"))
    made.append_message(answer("left done"))
    made.branch(first)
    made.append_message("right")
    made.append_message(answer("right done"))
    return made


def words(session: Session) -> list[str]:
    return [message_text(item.message) for item in session.context().messages]


def key_of(session: Session, text: str) -> str:
    return next(
        entry.id
        for entry in session.entries()
        if isinstance(entry, MessageEntry) and message_text(entry.message) == text
    )


def state(session: Session) -> tuple:
    return (
        session.leaf,
        session.path(),
        session.labels,
        session.title,
        words(session),
        {(b.name, b.start) for b in named_branches(session)},
    )


def test_a_graft_carries_a_turn_with_its_tools_onto_the_leaf(session):
    before = session.path()

    done = graft(session, key_of(session, "left"))

    assert words(session) == ["begin", "begun", "right", "right done", "left", "calling", "done", "left done"]
    assert session.path() == [*before, *done.entries]
    assert done.leaf == session.leaf == done.entries[-1]
    copied = session.entries(done.entries)
    spent = [entry.message.usage for entry in copied if entry.message.role == "assistant"]
    assert all(usage.context_tokens == 0 and usage.cost.known is False for usage in spent)  # pi needs some


def test_a_graft_comes_from_another_session_and_lands_on_any_entry(session):
    other = Session.in_memory()
    other.append_message("elsewhere")
    other.append_message(answer("over there"))
    onto = key_of(session, "begun")

    graft(session, key_of(other, "elsewhere"), source=other, onto=onto)

    assert words(session) == ["begin", "begun", "elsewhere", "over there"]


def test_a_squash_puts_a_summary_in_the_place_of_a_range_on_a_new_branch(session):
    session.append_message("more")
    session.append_message(answer("more done"))
    before = session.path()

    done = squash(session, key_of(session, "right"), key_of(session, "right done"), "They agreed.")

    assert words(session)[:2] == ["begin", "begun"]
    assert "They agreed." in words(session)[2]
    assert words(session)[3:] == ["more", "more done"]
    assert session.path(before[-1]) == before
    assert len(done.entries) == 3


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda s: graft(s, key_of(s, "calling"), key_of(s, "calling")), "whose result is not in the range"),
        (lambda s: graft(s, key_of(s, "done"), key_of(s, "left done")), "begin with the answer"),
        (lambda s: graft(s, key_of(s, "left"), key_of(s, "right done")), "is not on the path"),
        (lambda s: graft(s, key_of(s, "right"), onto=key_of(s, "right done")), "which is a part of it"),
        (lambda s: graft(s, key_of(s, "right")), "which is a part of it"),  # the last turn onto its own end
        (lambda s: graft(s, "nothing"), "nothing"),
        (lambda s: graft(s, key_of(s, "right"), onto="nothing"), "nothing"),
        (lambda s: squash(s, key_of(s, "left"), key_of(s, "left done"), "x"), "not on the current path"),
        (lambda s: squash(s, key_of(s, "right done"), key_of(s, "right"), "x"), "comes before"),
        (lambda s: squash(s, key_of(s, "right"), key_of(s, "right done"), " "), "empty"),
        (lambda s: name_branch(s, " "), "1 to"),
        (lambda s: name_branch(s, "a\nb"), "1 to"),
        (lambda s: name_branch(s, "x", "nothing"), "nothing"),
        (redo, "nothing to redo"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(session, call, problem):
    before = len(session.entries())

    with pytest.raises((ValueError, EntryNotFound), match=problem):
        call(session)

    assert len(session.entries()) == before


def test_an_entry_outside_the_conversation_cannot_be_grafted(session):
    note = session.append_custom("note")

    with pytest.raises(ValueError, match=f"nothing to graft in {note}: it is not part of the conversation"):
        graft(session, note)


def test_nothing_to_undo_is_told():
    with pytest.raises(ValueError, match="nothing to undo"):
        undo(Session.in_memory())


def test_a_named_branch_grows_with_what_is_said_on_it_and_survives_reopening(tmp_path):
    with Session.create(tmp_path, directory=tmp_path) as session:
        session.append_message("begin")
        start = session.append_message(answer("begun"))
        session.append_message("elsewhere")
        session.append_message(answer("elsewhere done"))

        name_branch(session, "idea", start)
        session.append_message("an idea")
        tip = session.append_message(answer("tried"))
        file = session.file

    with Session.open(file) as again:
        (branch,) = named_branches(again)
        assert (branch.name, branch.start, branch.tip, branch.entries, branch.is_current) == (
            "idea",
            start,
            tip,
            2,
            True,
        )
        undo(again)
        assert named_branches(again) == []
        assert words(again)[-1] == "elsewhere done"
        redo(again)
        assert named_branches(again)[0].tip == again.leaf == tip


def test_the_log_tells_what_was_done_and_what_was_taken_back(session):
    leaf = session.leaf
    session.append_label(leaf, "good")
    session.set_title("Two ways")
    undo(session)

    verbs = [(each.verb, each.undone) for each in operations(session)]

    assert verbs == [("branch", False), ("label", False), ("title", True), ("undo", False)]
    assert session.title is None


def test_what_was_undone_stays_undone_after_the_next_operation(session):
    session.set_title("Two ways")
    undo(session)

    session.append_label(session.leaf, "good")

    assert [(each.verb, each.undone) for each in operations(session)][1:] == [
        ("title", True),
        ("undo", False),
        ("label", False),
    ]


def test_a_named_branch_leaves_out_what_was_undone_until_the_conversation_goes_on_there(session):
    name_branch(session, "idea", key_of(session, "begun"))
    grafted = graft(session, key_of(session, "left"))
    undo(session)
    tip = session.append_message("instead of the graft")

    (branch,) = named_branches(session)

    assert (branch.tip, branch.entries) == (tip, 1)
    name_branch(session, "other", key_of(session, "right done"))
    grafted = graft(session, key_of(session, "left"))
    undo(session)
    session.branch(grafted.leaf)
    tip = session.append_message("the graft after all")
    other = next(each for each in named_branches(session) if each.name == "other")
    assert (other.tip, other.entries) == (tip, 5)


VERBS = st.sampled_from(
    ["branch", "reset", "label", "unlabel", "title", "compact", "graft", "squash", "name", "summary"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(VERBS, st.integers(0, 30), st.booleans()), min_size=1, max_size=6))
def test_undoing_any_verb_restores_everything_and_redoing_does_it_again(plan):
    session = Session.in_memory()
    for number in range(4):
        session.append_message(f"question {number}")
        session.append_message(answer(f"answer {number}"))
    for verb, number, speaks in plan:
        before = state(session)
        if not do(session, verb, number):
            continue
        after = state(session)

        undone = undo(session)
        assert state(session) == before, verb
        again = redo(session)
        assert state(session) == after, verb
        assert undone.id == again.id
        if speaks:
            session.append_message(f"said after {verb}")
            session.append_message(answer("indeed"))


def do(session: Session, verb: str, number: int) -> bool:
    """Whether the verb could be done."""
    path = session.path()
    if not path:
        session.append_message("again")
        return False
    entry = path[number % len(path)]
    match verb:
        case "branch":
            if entry == session.leaf:
                return False
            session.branch(entry)
        case "reset":
            session.reset()
        case "label":
            session.append_label(entry, f"label {number}")
        case "unlabel":
            session.append_label(entry, None)
        case "title":
            session.set_title(f"title {number}")
        case "compact":
            session.append_compaction("so far", entry, 10)
        case "graft":
            prompt = next(
                (key for key in path if session.index.roles[session.index.position(key)] == "user"), None
            )
            if prompt is None:
                return False
            graft(session, prompt, prompt)
        case "squash":
            squash(session, entry, entry, "in short")
        case "name":
            name_branch(session, f"branch {number % 3}", entry)
        case _:
            session.branch_with_summary(entry, "what was left")
    return True


def test_a_session_of_another_format_is_grafted_squashed_and_undone(tmp_path):
    with Session.create(tmp_path, directory=tmp_path, format="pi") as session:
        session.append_message("begin")
        session.append_message(answer("begun"))
        session.append_message("again")
        before = state(session)

        session.graft(session.path()[0])
        session.squash(session.path()[0], session.path()[1], "In short.")
        session.undo()
        session.undo()

        assert state(session) == before
        assert not session.check().findings
