"""The incremental context equals the context built from scratch."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline import Session
from branchline.clock import FixedClock
from branchline.context import IncrementalContext, build_context
from branchline.entries import AssistantMessage, Text, ToolResult
from branchline.tree import ROOT

steps = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "user",
                "answer",
                "nameless",
                "result",
                "custom",
                "model",
                "level",
                "label",
                "title",
                "summary",
                "empty summary",
                "edit",
                "compaction",
                "branch",
                "reset",
                "look away",
            ]
        ),
        st.integers(0, 30),
    ),
    max_size=25,
)


def do(session: Session, kind: str, number: int) -> None:
    path = session.path()
    somewhere = path[number % len(path)] if path else None
    match kind:
        case "user":
            session.append_message(f"prompt {number}")
        case "answer":
            session.append_message(
                AssistantMessage(content=(Text(text="a"),), provider="p", model=f"m{number % 3}")
            )
        case "nameless":
            session.append_message(AssistantMessage(content=(Text(text="a"),)))
        case "result":
            session.append_message(ToolResult(tool_call_id=str(number), tool_name="read", content="x"))
        case "custom":
            session.append_custom_message("note", f"custom {number}")
        case "model":
            session.append_model_change("q", f"n{number % 3}")
        case "level":
            session.append_thinking_level_change(["low", "high"][number % 2])
        case "label" if somewhere:
            session.append_label(somewhere, "here")
        case "title":
            session.set_title(f"title {number}")
        case "summary" if somewhere:
            session.branch_with_summary(somewhere, f"left {number}")
        case "empty summary" if somewhere:
            session.branch_with_summary(somewhere, "")
        case "edit":
            users = [key for key in path if session.index.roles[session.index.position(key)] == "user"]
            if users:
                session.append_context_edit(users[number % len(users)], None if number % 2 else "edited")
        case "compaction" if somewhere:
            session.append_compaction(f"sum {number}", somewhere, 10)
        case "branch" if session.index.keys:
            session.branch(session.index.keys[number % len(session.index)])
        case "reset":
            session.reset()
        case _:
            pass


@given(steps)
@settings(max_examples=150, deadline=None)
def test_whatever_is_done_to_a_session_its_growing_context_is_its_context(steps):
    session = Session.in_memory("/project", clock=FixedClock())
    growing = IncrementalContext()

    for kind, number in steps:
        do(session, kind, number)
        if kind == "look away":
            continue
        leaf = ROOT if session.leaf is None else session.index.position(session.leaf)
        assert growing.at(session.transcript, leaf) == build_context(session.transcript, leaf)


def test_only_what_is_new_is_decoded():
    session = Session.in_memory("/project")
    for number in range(50):
        session.append_message(f"prompt {number}")
    growing = IncrementalContext()
    asked: list[int] = []

    class Source:
        tree = session.index
        context_rules, session_model = session.transcript.context_rules, None
        answer_model = staticmethod(session.transcript.answer_model)

        def entry(self, position):
            asked.append(position)
            return session.transcript.entry(position)

        def entries(self, positions):
            return list(self.iter_entries(positions))

        def iter_entries(self, positions):
            asked.extend(positions)
            return session.transcript.iter_entries(positions)

    first = growing.at(Source(), 49)
    asked.clear()
    session.append_message("one more")
    second = growing.at(Source(), 50)

    assert asked == [50]
    assert second.messages[:-1] == first.messages
    assert growing.at(Source(), 50) is second


def test_a_tree_whose_links_may_have_changed_is_built_again():
    session = Session.in_memory("/project")
    session.append_message("one")
    growing = IncrementalContext()
    first = growing.at(session.transcript, 0)
    stale = msgspec.structs.replace(first, thinking_level="high")
    growing._context = stale

    assert growing.at(session.transcript, 0) is stale
    assert growing.at(session.transcript, 0, settled=False) == first
