"""Navigation to another entry of the same session."""

from __future__ import annotations

import pytest

from branchline import Session
from branchline.compaction import BRANCH_PREAMBLE, NOTHING_TO_SUMMARIZE, Summary
from branchline.entries import BranchSummary, Image, Usage
from branchline.errors import EntryNotFound, NoSummarizer, NotSupported, ReadOnly, SessionMoved, SummaryFailed
from branchline.flows import (
    NO_SUMMARY,
    SUMMARY,
    SUMMARY_WITH_INSTRUCTIONS,
    AbortSignal,
    Cancel,
    Chosen,
    HookSummary,
    SessionBeforeTreeResult,
    navigate,
    run,
)
from flows.kit import PlainHooks, Recorder, Writer, branched, foreign, state
from session.kit import assistant, bytes_of, reopened, user, words

# -- where it goes ----------------------------------------------------------------------------------------


@pytest.mark.parity("OMP-03")
def test_picking_a_prompt_goes_to_its_parent_and_gives_the_text_back(place):
    session, names = branched(place)

    went = run(navigate(session, names["second"]))

    assert (went.status, went.text) == ("done", "question 2")
    assert session.leaf == went.new_leaf == names["answer"]
    assert reopened(session).leaf == names["answer"]


@pytest.mark.parity("OMP-03")
def test_picking_a_message_of_an_extension_gives_its_text_back_too(place):
    session, names = branched(place)
    said = session.append_custom_message("acme", "look here")
    session.append_message(assistant("I see"))

    went = run(navigate(session, said))

    assert (went.text, session.leaf) == ("look here", names["new"])


@pytest.mark.parity("OMP-03")
def test_any_other_entry_becomes_the_leaf(place):
    session, names = branched(place)

    went = run(navigate(session, names["old"]))

    assert (went.status, went.text, session.leaf) == ("done", None, names["old"])
    assert reopened(session).leaf == names["old"]


def test_picking_the_first_prompt_goes_before_everything(place):
    session, names = branched(place)

    went = run(navigate(session, names["first"]))

    assert (went.text, session.leaf) == ("question 1", None)
    assert reopened(session).leaf is None


def test_the_pictures_of_a_prompt_are_given_back_with_its_text(place):
    session, _names = branched(place)
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    prompt = session.append_message({"role": "user", "content": [{"type": "text", "text": "see"}, picture]})
    session.append_message(assistant("yes"))

    went = run(navigate(session, prompt))

    assert (went.text, went.images) == ("see", (Image(data="aGk=", mime_type="image/png"),))


@pytest.mark.parity("OMP-14", part="picking the leaf")
@pytest.mark.parametrize("role", ["assistant", "user"])
def test_picking_the_leaf_does_nothing_and_asks_nobody(place, role):
    session, _names = branched(place)
    if role == "user":
        session.append_message(user("more"))
    before, hooks = state(session), Recorder()

    went = run(navigate(session, session.leaf, summarize=True), hooks=hooks)

    assert went.status == "unchanged"
    assert went.new_leaf == went.old_leaf == session.leaf
    assert state(session) == before
    assert hooks.heard == []


def test_a_side_record_at_the_leaf_is_the_leaf(place):
    session, names = branched(place)
    mark = session.append_label(names["new"], "here")

    assert run(navigate(session, mark)).status == "unchanged"


def test_an_unknown_target_is_an_error_and_nothing_happens(place):
    session, _names = branched(place)
    before = state(session)

    with pytest.raises(EntryNotFound):
        run(navigate(session, "nowhere"))

    assert state(session) == before


def test_nothing_that_was_said_is_lost(place):
    session, names = branched(place)
    before = bytes_of(session)

    run(navigate(session, names["first"]))

    assert bytes_of(session).startswith(before)
    session.branch(names["new"])
    assert words(session) == ["question 1", "answer 1", "question 2", "the new way"]


# -- summaries --------------------------------------------------------------------------------------------


@pytest.mark.parity("OMP-04")
def test_the_summary_stands_at_the_new_place_and_names_the_branch_that_was_left(place):
    session, names = branched(place)
    writer = Writer(Summary(text="we tried the new way", usage=Usage(input=7, output=2, total_tokens=9)))

    went = run(navigate(session, names["second"], summarize=True), summarizer=writer)

    entry = session.entry(went.summary_entry)
    assert isinstance(entry, BranchSummary)
    assert session.leaf == went.summary_entry
    assert (entry.parent, entry.from_id) == (names["answer"], names["new"])
    assert entry.summary == f"{BRANCH_PREAMBLE}\n\nwe tried the new way"
    assert entry.details == {"readFiles": [], "modifiedFiles": []}
    assert entry.usage.total_tokens == 9
    assert entry.from_hook is None
    assert "the new way" in writer.requests[0].prompt
    assert "question 1" not in writer.requests[0].prompt
    assert words(session)[-1] == entry.summary


def test_the_files_that_the_branch_touched_are_kept_with_its_summary(place):
    session, names = branched(place)
    calls = [
        {"type": "toolCall", "id": "c", "name": "edit", "arguments": {"path": "a.py"}},
        {"type": "toolCall", "id": "d", "name": "read", "arguments": {"path": "b.py"}},
    ]
    session.append_message({"role": "assistant", "content": calls})

    went = run(navigate(session, names["second"], summarize=True), summarizer=Writer())

    entry = session.entry(went.summary_entry)
    assert entry.details == {"readFiles": ["b.py"], "modifiedFiles": ["a.py"]}
    assert "<modified-files>\na.py\n</modified-files>" in entry.summary


def test_a_summary_at_the_very_beginning_becomes_a_new_root(place):
    session, names = branched(place)

    went = run(navigate(session, names["first"], summarize=True), summarizer=Writer())

    assert session.entry(went.summary_entry).parent is None
    assert session.path() == [went.summary_entry]


def test_going_on_below_where_we_are_leaves_nothing_to_sum_up(place):
    session, names = branched(place)
    session.branch(names["second"])
    writer = Writer()

    went = run(navigate(session, names["old"], summarize=True), summarizer=writer)

    assert (went.summary_entry, session.leaf, writer.requests) == (None, names["old"], [])


def test_a_branch_without_words_is_summed_up_without_asking_anybody(place):
    session, names = branched(place)
    session.branch(names["second"])
    session.append_thinking_level_change("high")

    went = run(navigate(session, names["old"], summarize=True))

    assert session.entry(went.summary_entry).summary == NOTHING_TO_SUMMARIZE


def test_only_the_newest_part_of_a_long_branch_is_shown_to_a_small_model(place):
    session, names = branched(place)
    session.append_message(user("w" * 40000))
    session.append_message(assistant("the end"))
    writer = Writer()

    run(navigate(session, names["second"], summarize=True, window=16384 + 100), summarizer=writer)

    assert "the end" in writer.requests[0].prompt
    assert "wwww" not in writer.requests[0].prompt


def test_instructions_are_a_focus_or_replace_the_task(place):
    session, names = branched(place)
    writer = Writer()

    run(navigate(session, names["old"], summarize=True, custom_instructions="the tests"), summarizer=writer)
    run(
        navigate(
            session, names["new"], summarize=True, custom_instructions="In rhyme.", replace_instructions=True
        ),
        summarizer=writer,
    )

    focus, replaced = (request.prompt for request in writer.requests)
    assert focus.endswith("Pay special attention to: the tests")
    assert "## Goal" in focus
    assert replaced.endswith("In rhyme.")
    assert "## Goal" not in replaced


@pytest.mark.parity("OMP-14", part="a summary without a summarizer")
def test_a_summary_without_a_summarizer_fails_before_anything_moves(place):
    session, names = branched(place)
    before = state(session)

    with pytest.raises(NoSummarizer, match="nothing was changed"):
        run(navigate(session, names["second"], summarize=True))

    assert state(session) == before


@pytest.mark.parity("OMP-14", part="a summary that fails")
@pytest.mark.parametrize(
    "given",
    ["", "  \n", Summary(text="half of it", problem="the summary was cut off at the length limit")],
    ids=["empty", "blank", "cut off"],
)
def test_a_summary_that_cannot_be_used_is_an_error_and_nothing_moves(place, given):
    session, names = branched(place)
    before = state(session)

    with pytest.raises(SummaryFailed, match="nothing was written: the summar"):
        run(navigate(session, names["second"], summarize=True), summarizer=Writer(given))

    assert state(session) == before


def test_a_summarizer_that_raises_is_the_cause_of_the_error(place):
    session, names = branched(place)

    def broken(request):
        raise ConnectionError("no network")

    with pytest.raises(SummaryFailed, match="no network") as caught:
        run(navigate(session, names["second"], summarize=True), summarizer=broken)

    assert isinstance(caught.value.__cause__, ConnectionError)


@pytest.mark.parity("OMP-14", part="an aborted summary")
def test_aborting_the_summary_leaves_the_leaf_where_it_was(place):
    session, names = branched(place)
    before, abort = state(session), AbortSignal()

    def interrupted(request):
        abort.set("Escape")
        return "too late"

    went = run(navigate(session, names["second"], summarize=True, abort=abort), summarizer=interrupted)

    assert (went.status, went.reason) == ("aborted", "Escape")
    assert state(session) == before


# -- the person's choice ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "requests"),
    [(NO_SUMMARY, None, 0), (SUMMARY, None, 1), (SUMMARY_WITH_INSTRUCTIONS, "the bugs", 1)],
)
def test_what_is_left_open_is_asked(place, key, text, requests):
    session, names = branched(place)
    writer, asked = Writer(), []

    def choose(step):
        asked.append([choice.key for choice in step.choices])
        return Chosen(key=key, text=text)

    run(navigate(session, names["second"], summarize=None), summarizer=writer, choose=choose)

    assert asked == [[NO_SUMMARY, SUMMARY, SUMMARY_WITH_INSTRUCTIONS]]
    assert len(writer.requests) == requests
    assert all(request.prompt.endswith("the bugs") == (text is not None) for request in writer.requests)


def test_who_chooses_nothing_stays(place):
    session, names = branched(place)
    before = state(session)

    went = run(navigate(session, names["second"], summarize=None), choose=lambda step: None)

    assert went.status == "cancelled"
    assert state(session) == before


def test_where_nobody_can_be_asked_there_is_no_summary(place):
    session, names = branched(place)

    assert run(navigate(session, names["second"], summarize=None)).summary_entry is None


def test_nobody_is_asked_when_nothing_is_left_behind(place):
    session, names = branched(place)
    session.branch(names["second"])

    run(navigate(session, names["old"], summarize=None), choose=lambda step: pytest.fail("asked"))


# -- labels -----------------------------------------------------------------------------------------------


def test_a_label_goes_on_the_summary(place):
    session, names = branched(place)

    went = run(navigate(session, names["second"], summarize=True, label="try 1"), summarizer=Writer())

    assert session.labels == {went.summary_entry: "try 1"}
    assert session.leaf == went.summary_entry == reopened(session).leaf


def test_without_a_summary_a_label_goes_on_the_target(place):
    session, names = branched(place)

    run(navigate(session, names["second"], label="again"))

    assert session.labels == {names["second"]: "again"}
    assert session.leaf == reopened(session).leaf == names["answer"]


# -- plugins ----------------------------------------------------------------------------------------------


@pytest.mark.parity("OMP-05", part="what it knows")
def test_the_hook_before_knows_everything(place):
    session, names = branched(place)
    later = session.append_message(user("question 3"))
    hooks, abort = Recorder(), AbortSignal()

    flow = navigate(
        session,
        names["old"],
        summarize=True,
        custom_instructions="focus",
        replace_instructions=True,
        label="L",
        abort=abort,
    )
    run(flow, hooks=hooks, summarizer=Writer())

    event = hooks.event("session_before_tree")
    assert event.target == names["old"]
    assert event.old_leaf == later
    assert event.common_ancestor == names["second"]
    assert event.entries_to_summarize == (names["new"], later)
    assert event.wants_summary
    assert (event.custom_instructions, event.replace_instructions, event.label) == ("focus", True, "L")
    assert event.abort is abort
    assert hooks.names == ["session_before_tree", "session_tree"]


@pytest.mark.parity("OMP-05", part="cancel")
def test_the_hook_before_may_cancel(place):
    session, names = branched(place)
    before, hooks = state(session), PlainHooks(session_before_tree=lambda event, context: Cancel("not now"))

    went = run(navigate(session, names["second"], summarize=True), hooks=hooks, summarizer=Writer())

    assert (went.status, went.reason, went.new_leaf) == ("cancelled", "not now", session.leaf)
    assert state(session) == before


@pytest.mark.parity("OMP-05", part="its own summary")
def test_the_hook_before_may_bring_its_own_summary_and_no_summarizer_is_needed(place):
    session, names = branched(place)
    own = HookSummary(text="mine", details={"k": 1}, usage=Usage(total_tokens=3))
    told = []
    hooks = PlainHooks(
        session_before_tree=lambda event, context: SessionBeforeTreeResult(summary=own),
        session_tree=lambda event, context: told.append(event),
    )

    went = run(navigate(session, names["second"], summarize=True), hooks=hooks)

    entry = session.entry(went.summary_entry)
    assert (entry.summary, entry.details, entry.from_hook) == ("mine", {"k": 1}, True)
    assert told[0].from_hook
    assert went.from_hook


def test_a_summary_that_nobody_wanted_is_not_used(place):
    session, names = branched(place)
    own = HookSummary(text="mine")
    hooks = PlainHooks(session_before_tree=lambda event, context: SessionBeforeTreeResult(summary=own))

    went = run(navigate(session, names["second"]), hooks=hooks)

    assert (went.summary_entry, went.from_hook) == (None, False)


def test_the_hook_before_may_change_the_wishes_of_the_caller(place):
    session, names = branched(place)
    answer = SessionBeforeTreeResult(
        custom_instructions="only errors", replace_instructions=True, label="by plugin"
    )
    hooks, writer = PlainHooks(session_before_tree=lambda event, context: answer), Writer()

    went = run(navigate(session, names["second"], summarize=True, label="x"), hooks=hooks, summarizer=writer)

    assert writer.requests[0].prompt.endswith("only errors")
    assert session.labels == {went.summary_entry: "by plugin"}


@pytest.mark.parity("OMP-05", part="the abort signal")
def test_the_hook_before_can_see_that_the_person_wants_out(place):
    session, names = branched(place)
    before, abort = state(session), AbortSignal()

    def slow(event, context):
        abort.set()
        return SessionBeforeTreeResult() if not event.abort.aborted else Cancel("left")

    went = run(navigate(session, names["second"], abort=abort), hooks=PlainHooks(session_before_tree=slow))

    assert went.status == "aborted"
    assert state(session) == before


@pytest.mark.parity("OMP-05")
def test_a_hook_that_knows_everything_cancels_once_then_brings_its_own_summary_and_is_aborted_at_last(place):
    session, names = branched(place)
    before, seen, abort = state(session), [], AbortSignal()

    def hook(event, context):
        seen.append(event)
        if len(seen) == 1:
            return Cancel("first time")
        if len(seen) == 3:
            event.abort.set("third time")
        return SessionBeforeTreeResult(summary=HookSummary(text=f"left {len(event.entries_to_summarize)}"))

    hooks = PlainHooks(session_before_tree=hook)
    first = run(navigate(session, names["old"], summarize=True), hooks=hooks)
    assert (first.status, state(session)) == ("cancelled", before)
    second = run(navigate(session, names["old"], summarize=True), hooks=hooks)
    assert session.entry(second.summary_entry).summary == "left 1"
    third = run(navigate(session, names["new"], summarize=True, abort=abort), hooks=hooks)

    assert (third.status, third.reason, session.leaf) == ("aborted", "third time", second.summary_entry)
    assert [(event.target, event.old_leaf, event.common_ancestor, event.wants_summary) for event in seen] == [
        (names["old"], names["new"], names["second"], True),
        (names["old"], names["new"], names["second"], True),
        (names["new"], second.summary_entry, names["second"], True),
    ]


@pytest.mark.parity("OMP-05", part="several plugins")
def test_one_no_decides_else_the_first_plugin_that_brings_something_is_heard(place):
    session, names = branched(place)
    first = SessionBeforeTreeResult(summary=HookSummary(text="first"))
    second = SessionBeforeTreeResult(summary=HookSummary(text="second"))

    heard = PlainHooks(session_before_tree=[lambda e, c: None, lambda e, c: first, lambda e, c: second])
    refused = PlainHooks(session_before_tree=[lambda e, c: first, lambda e, c: Cancel("no")])

    assert run(navigate(session, names["second"], summarize=True), hooks=refused).status == "cancelled"
    went = run(navigate(session, names["second"], summarize=True), hooks=heard)
    assert session.entry(went.summary_entry).summary == "first"


@pytest.mark.parity("OMP-06")
def test_the_hook_after_knows_both_leaves_and_the_summary(place):
    session, names = branched(place)
    hooks = Recorder()

    went = run(navigate(session, names["second"], summarize=True), hooks=hooks, summarizer=Writer())

    event = hooks.event("session_tree")
    assert (event.new_leaf, event.old_leaf) == (session.leaf, names["new"])
    assert event.summary_entry == went.summary_entry == session.leaf
    assert not event.from_hook


def test_the_hook_after_is_told_once_the_file_says_so(place):
    session, names = branched(place)
    seen = []
    hooks = PlainHooks(session_tree=lambda event, context: seen.append(reopened(session).leaf))

    run(navigate(session, names["old"]), hooks=hooks)

    assert seen == [names["old"]]


# -- while the questions are asked ------------------------------------------------------------------------


def test_a_session_that_went_on_meanwhile_is_left_alone(place):
    session, names = branched(place)

    def slow(request):
        session.append_message(user("meanwhile"))
        return "summary of what was there before"

    with pytest.raises(SessionMoved, match="try again"):
        run(navigate(session, names["second"], summarize=True), summarizer=slow)

    assert words(session)[-1] == "meanwhile"


def test_what_another_program_appends_to_another_branch_disturbs_nobody(place):
    session, names = branched(place)

    def slow(request):
        with Session.open(session.file) as other:
            other.append_message(user("from elsewhere"))
        return "summary"

    went = run(navigate(session, names["second"], summarize=True), summarizer=slow)

    assert went.status == "done"
    assert session.leaf == reopened(session).leaf == went.summary_entry


@pytest.mark.parity("OMP-14")
def test_every_edge_in_one_session(place):
    """Going where we are, failing, aborting and branching to nothing leave everything as it is."""
    session, names = branched(place)
    before, abort = state(session), AbortSignal()
    abort.set()

    run(navigate(session, names["new"], summarize=True))
    with pytest.raises(NoSummarizer):
        run(navigate(session, names["old"], summarize=True))
    run(navigate(session, names["old"], summarize=True, abort=abort), summarizer=Writer())
    with pytest.raises(EntryNotFound):
        session.branch(None)

    assert state(session) == before


@pytest.mark.parametrize(("program", "label"), [("zot", None), ("induscode", "L")])
def test_a_format_that_cannot_hold_it_says_so_before_anybody_is_asked(program, label, tmp_path):
    session, hooks = foreign(program, tmp_path), Recorder()

    with pytest.raises(NotSupported, match="Fork it into a native session"):
        run(navigate(session, session.path()[0], label=label), hooks=hooks)

    assert hooks.heard == []


def test_a_session_that_may_only_be_read_says_so_before_anybody_is_asked(tmp_path):
    file = tmp_path / "future.jsonl"
    lines = [
        '{"type":"session","version":9,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}',
        '{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"x"}}',
        '{"type":"message","id":"b","parentId":"a","timestamp":"","message":{"role":"assistant","content":"y"}}',
    ]
    file.write_text("\n".join(lines) + "\n")
    session, hooks = Session.open(file), Recorder()
    assert session.read_only is not None

    with pytest.raises(ReadOnly):
        run(navigate(session, "a"), hooks=hooks)

    assert hooks.heard == []


def test_a_label_of_a_plugin_that_the_format_cannot_hold_is_refused_before_anything_moves(tmp_path):
    session = foreign("induscode", tmp_path)
    before = state(session)
    hooks = PlainHooks(session_before_tree=lambda event, context: SessionBeforeTreeResult(label="L"))

    with pytest.raises(NotSupported, match="no labels"):
        run(navigate(session, session.path()[0], summarize=True), hooks=hooks, summarizer=Writer())

    assert state(session) == before
