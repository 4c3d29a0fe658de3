"""Compaction: what is written, what is kept, and what happens on failure."""

from __future__ import annotations

import pytest

from branchline.compaction import Summary, summary_budget
from branchline.entries import Compaction, Usage, message_text
from branchline.errors import (
    FlowError,
    NoSummarizer,
    NothingToCompact,
    NotSaved,
    SessionMoved,
    SummaryFailed,
)
from branchline.flows import (
    Aborted,
    AbortSignal,
    Cancel,
    SessionBeforeCompactResult,
    SessionCompactingResult,
    branch_to_new_session,
    compact,
    run,
)
from flows.kit import LONG, PlainHooks, Recorder, Writer, branched, foreign, state
from session.kit import assistant, new, reopened, said, user, words


def talk(place, turns=3):
    """Turns of two hundred tokens each."""
    session = new(place)
    for turn in range(1, turns + 1):
        session.append_message(user(f"question {turn} {LONG}"))
        session.append_message({**assistant(f"answer {turn} {LONG}"), "usage": None})
    return session


def test_a_compaction_stands_for_what_came_before_and_keeps_the_rest_word_for_word(place):
    session = talk(place)
    before = said(session)
    usage = Usage(input=10, output=5, total_tokens=15)

    done = run(
        compact(session, keep_recent_tokens=150), summarizer=Writer(Summary(text="so far", usage=usage))
    )

    entry = session.entry(done.entry)
    assert isinstance(entry, Compaction)
    assert done.status == "done"
    assert session.leaf == done.entry
    assert (entry.summary, entry.first_kept) == ("so far", done.first_kept)
    assert entry.usage.total_tokens == 15
    assert entry.from_hook is None
    assert entry.tokens_before == done.tokens_before > 600
    assert said(session)[1:] == before[-2:]
    assert said(reopened(session)) == said(session)


def test_a_split_turn_is_summed_up_on_its_own_and_the_cost_of_both_is_added_up(place):
    session = talk(place, turns=2)
    usage = Usage(input=10, output=5, total_tokens=15)
    writer = Writer(Summary(text="words", usage=usage))

    done = run(compact(session, keep_recent_tokens=50), summarizer=writer)

    assert [request.kind for request in writer.requests] == ["history", "prefix"]
    assert done.summary.count("words") == 2
    assert session.entry(done.entry).usage.total_tokens == 30


def test_the_next_compaction_is_an_update_of_the_last(place):
    session = talk(place)
    run(compact(session, keep_recent_tokens=150), summarizer=Writer("the first summary"))
    session.append_message(user(f"more {LONG}"))
    session.append_message(assistant("fine"))
    writer = Writer("the second summary")

    run(compact(session, keep_recent_tokens=50), summarizer=writer)

    assert "<previous-summary>\nthe first summary\n</previous-summary>" in writer.requests[0].prompt
    assert words(session)[0].startswith("the second summary")


def test_files_are_carried_from_one_compaction_to_the_next(place):
    session = talk(place, turns=1)
    call = {"type": "toolCall", "id": "c", "name": "edit", "arguments": {"path": "a.py"}}
    session.append_message({"role": "assistant", "content": [call]})
    for text in ("one", "two"):
        session.append_message(user(f"{text} {LONG}"))
        done = run(compact(session, keep_recent_tokens=50), summarizer=Writer())

    entry = session.entry(done.entry)
    assert entry.details == {"readFiles": [], "modifiedFiles": ["a.py"]}
    assert "<modified-files>\na.py\n</modified-files>" in entry.summary


def test_instructions_are_a_focus_for_the_summarizer(place):
    session, writer = talk(place), Writer()

    run(compact(session, keep_recent_tokens=150, custom_instructions="the API"), summarizer=writer)

    assert writer.requests[0].prompt.endswith("Pay special attention to: the API")


@pytest.mark.parametrize("kind", ["empty", "small", "just compacted"])
def test_where_there_is_nothing_to_sum_up_it_says_why(place, kind):
    session = new(place) if kind == "empty" else talk(place, turns=1)
    if kind == "just compacted":
        session.append_compaction("all of it")
    hooks = Recorder()

    with pytest.raises(NothingToCompact, match="nothing to compact in session"):
        run(compact(session), hooks=hooks, summarizer=Writer())

    assert hooks.heard == []


def test_every_entry_before_a_compaction_can_still_be_branched_to(place):
    session = talk(place)
    before = {key: said(session, key) for key in session.path()}

    run(compact(session, keep_recent_tokens=150), summarizer=Writer())

    assert {key: said(session, key) for key in before} == before


# -- failure ----------------------------------------------------------------------------------------------


def broken(request):
    raise TimeoutError("the model does not answer")


@pytest.mark.parametrize(
    ("summarizer", "error"),
    [
        (None, NoSummarizer),
        (Writer(""), SummaryFailed),
        (Writer(Summary(text="half", problem="the summary was cut off at the length limit")), SummaryFailed),
        (broken, SummaryFailed),
    ],
    ids=["none", "empty", "cut off", "broken"],
)
def test_a_summary_that_does_not_come_writes_nothing_and_the_plugins_are_told(place, summarizer, error):
    session = talk(place)
    before, hooks = state(session), Recorder()

    with pytest.raises(error):
        run(compact(session, keep_recent_tokens=150), hooks=hooks, summarizer=summarizer)

    assert state(session) == before
    assert hooks.names == ["session_before_compact", "session_compacting", "session_compact_failed"]
    failed = hooks.event("session_compact_failed")
    assert (failed.reason, failed.aborted, failed.from_hook) == ("manual", False, False)
    assert failed.message


def test_the_second_of_two_summaries_failing_writes_nothing_either(place):
    session = talk(place, turns=2)
    before = state(session)

    with pytest.raises(SummaryFailed, match="prefix summary"):
        run(
            compact(session, keep_recent_tokens=50),
            summarizer=lambda request: "fine" if request.kind == "history" else "",
        )

    assert state(session) == before


@pytest.mark.parametrize("way", ["set", "raised"])
def test_an_aborted_compaction_is_a_result_and_the_plugins_are_told(place, way):
    session = talk(place)
    before, hooks, abort = state(session), Recorder(), AbortSignal()

    def interrupted(request):
        if way == "raised":
            raise Aborted("Escape")
        abort.set("Escape")
        return "too late"

    done = run(compact(session, keep_recent_tokens=150, abort=abort), hooks=hooks, summarizer=interrupted)

    assert (done.status, done.entry, done.reason) == ("aborted", None, "Escape")
    assert state(session) == before
    assert hooks.event("session_compact_failed").aborted


def test_a_compaction_that_cannot_be_saved_is_told_as_failed(place, monkeypatch):
    session, hooks = talk(place), Recorder()
    before = state(session)

    def full(*given, **named):
        raise NotSaved("no space left")

    monkeypatch.setattr(session, "append_compaction", full)
    with pytest.raises(NotSaved):
        run(compact(session, keep_recent_tokens=150), hooks=hooks, summarizer=Writer())

    assert state(session) == before
    assert "no space left" in hooks.event("session_compact_failed").message


def test_words_that_came_while_the_summary_was_written_are_kept(place):
    session = talk(place)

    def slow(request):
        session.append_message(user("meanwhile"))
        return "so far"

    run(compact(session, keep_recent_tokens=150), summarizer=slow)

    assert words(session)[0] == "so far"
    assert words(session)[-1] == "meanwhile"


@pytest.mark.parametrize("what", ["branch", "compaction"])
def test_a_session_that_was_moved_or_compacted_meanwhile_is_left_alone(place, what):
    session = talk(place)

    def slow(request):
        if what == "branch":
            session.branch(session.path()[1])
        else:
            session.append_compaction("theirs", session.path()[-1])
        return "ours"

    with pytest.raises(SessionMoved):
        run(compact(session, keep_recent_tokens=150), summarizer=slow)

    assert "ours" not in words(session)


# -- plugins ----------------------------------------------------------------------------------------------


@pytest.mark.parity("OPR-14", "OMP-13", part="compaction")
def test_plugins_are_asked_before_a_compaction_and_told_after_it(place):
    session, hooks, abort = talk(place), Recorder(), AbortSignal()
    path = session.path()

    done = run(
        compact(
            session,
            keep_recent_tokens=150,
            custom_instructions="focus",
            reason="threshold",
            will_retry=True,
            abort=abort,
        ),
        hooks=hooks,
        summarizer=Writer(),
    )

    asked = hooks.event("session_before_compact")
    assert asked.preparation.first_kept == done.first_kept
    assert asked.entries == tuple(path)
    assert (asked.custom_instructions, asked.reason, asked.will_retry) == ("focus", "threshold", True)
    assert asked.abort is abort
    told = hooks.event("session_compact")
    assert (told.entry, told.from_hook, told.reason, told.will_retry) == (
        done.entry,
        False,
        "threshold",
        True,
    )


@pytest.mark.parity("OMP-13")
def test_hooks_around_branch_and_compaction_refuse_bring_and_are_told(place):
    session, names = branched(place)
    own = SessionBeforeCompactResult(
        summary="mine", first_kept=names["second"], tokens_before=7, details={"k": 1}
    )
    told, branches = [], []
    hooks = PlainHooks(
        session_before_compact=lambda event, context: own,
        session_compact=lambda event, context: told.append(event),
        session_before_branch=lambda event, context: Cancel("no") if event.entry == names["first"] else None,
        session_branch=lambda event, context: branches.append(event),
    )

    done = run(compact(session, keep_recent_tokens=1), hooks=hooks)
    refused = run(branch_to_new_session(session, names["first"]), hooks=hooks)
    made = run(branch_to_new_session(session, names["second"]), hooks=hooks)

    entry = session.entry(done.entry)
    assert (entry.summary, entry.first_kept, entry.tokens_before) == ("mine", names["second"], 7)
    assert (entry.details, entry.from_hook) == ({"k": 1}, True)
    assert told[0].from_hook
    assert refused.status == "cancelled"
    assert [event.session for event in branches] == [made.session.id]


def test_what_a_plugin_leaves_out_is_taken_from_the_preparation(place):
    session = talk(place)
    hooks = PlainHooks(
        session_before_compact=lambda event, context: SessionBeforeCompactResult(summary="mine")
    )

    done = run(compact(session, keep_recent_tokens=150), hooks=hooks)

    assert done.first_kept == session.path()[4]
    assert done.tokens_before > 600


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (SessionBeforeCompactResult(summary=" "), "an empty summary"),
        (SessionBeforeCompactResult(summary="x", first_kept="nowhere"), "not on the path"),
        ("just a text", "answered with a str"),
    ],
)
def test_an_answer_that_cannot_be_used_is_a_problem_of_the_plugin(place, answer, problem):
    session, writer = talk(place), Writer()
    hooks = PlainHooks(session_before_compact=lambda event, context: answer)

    done = run(compact(session, keep_recent_tokens=150), hooks=hooks, summarizer=writer)

    assert (done.status, done.from_hook, len(writer.requests)) == ("done", False, 1)
    assert [found.plugin for found in hooks.problems] == ["plugin 1"]
    assert problem in hooks.problems[0].message


@pytest.mark.parity("OPR-14", part="compaction")
def test_a_plugin_may_refuse_a_compaction(place):
    session = talk(place)
    before = state(session)
    hooks = PlainHooks(session_before_compact=lambda event, context: Cancel("busy"))

    done = run(compact(session, keep_recent_tokens=150), hooks=hooks, summarizer=Writer())

    assert (done.status, done.reason) == ("cancelled", "busy")
    assert state(session) == before


@pytest.mark.parity("OPR-14")
def test_the_hooks_that_operator_has_are_all_called(place):
    from branchline.flows import fork, navigate

    session, names = branched(place)
    hooks = Recorder()

    run(compact(session, keep_recent_tokens=1), hooks=hooks, summarizer=Writer())
    run(fork(session), hooks=hooks)
    run(navigate(session, names["old"]), hooks=hooks)

    assert {"session_before_compact", "session_compact", "session_before_fork", "session_tree"} <= set(
        hooks.names
    )


def test_a_format_that_keeps_every_message_is_compacted_into_a_fork(tmp_path):
    """The plugins hear that the session is left, and that the fork was compacted."""
    session, hooks = foreign("zot", tmp_path), Recorder()
    before = state(session)

    done = run(compact(session, keep_recent_tokens=1), hooks=hooks, summarizer=lambda request: "in short")

    assert state(session) == before
    assert done.session is not None
    assert (done.session.id, done.entry) != (session.id, None)
    first = done.session.context().messages[0].message
    assert "in short" in message_text(first)
    assert hooks.names == [
        "session_before_compact",
        "session_compacting",
        "session_shutdown",
        "session_start",
        "session_compact",
    ]


# -- while it runs ----------------------------------------------------------------------------------------


@pytest.mark.parity("OMP-19")
def test_a_plugin_can_add_instructions_while_the_context_is_being_summed_up(place):
    session, writer = talk(place), Writer()
    hooks = PlainHooks(
        session_compacting=lambda event, context: SessionCompactingResult(
            instructions=f"Keep names ({event.reason})."
        )
    )

    run(
        compact(session, custom_instructions="Be brief.", keep_recent_tokens=150),
        hooks=hooks,
        summarizer=writer,
    )

    assert hooks.problems == []
    assert "Be brief.\n\nKeep names (manual)." in writer.requests[0].prompt


@pytest.mark.parity("OMP-19")
def test_a_plugin_can_stop_a_compaction_that_runs_and_cannot_write_meanwhile(place):
    session, writer = talk(place), Writer()
    before = state(session)
    refused = []

    def stop(event, context):
        try:
            context.append_message("x", "words")
        except FlowError as problem:
            refused.append(str(problem))
        return Cancel("not now")

    done = run(
        compact(session, keep_recent_tokens=150), hooks=PlainHooks(session_compacting=stop), summarizer=writer
    )

    assert (done.status, done.reason) == ("cancelled", "not now")
    assert state(session) == before
    assert writer.requests == []
    assert "cannot change the session" in refused[0]


def test_no_plugin_is_called_while_another_brings_its_own_compaction(place):
    heard = []
    hooks = PlainHooks(
        session_before_compact=lambda event, context: SessionBeforeCompactResult(summary="mine"),
        session_compacting=lambda event, context: heard.append(event),
    )

    done = run(compact(talk(place), keep_recent_tokens=150), hooks=hooks)

    assert (done.status, heard) == ("done", [])


# -- more than a summarizer can read ----------------------------------------------------------------------


def test_a_history_that_is_too_long_for_the_summarizer_is_summed_up_in_pieces(place):
    session = talk(place, turns=40)
    usage, requests = Usage(input=10, total_tokens=10), []

    def write(request):
        requests.append(request)
        return Summary(text=f"summary {len(requests)}", usage=usage)

    done = run(compact(session, keep_recent_tokens=150, window=8000), summarizer=write)

    limit = summary_budget(8000) * 4
    assert len(requests) > 3
    assert all(len(request.prompt) < limit + 3000 for request in requests)
    assert all(request.max_tokens <= 2000 for request in requests)
    assert "<previous-summary>" not in requests[0].prompt
    for number, request in enumerate(requests[1:], 1):
        assert f"<previous-summary>\nsummary {number}\n</previous-summary>" in request.prompt
    for turn in range(1, 40):
        assert sum(f"question {turn} x" in request.prompt for request in requests) == 1
    assert done.summary == f"summary {len(requests)}"
    assert done.usage.total_tokens == 10 * len(requests)


def test_a_split_turn_that_is_too_long_is_summed_up_in_pieces_that_follow_each_other(place):
    session = new(place)
    session.append_message(user("one long turn"))
    for number in range(40):
        session.append_message({**assistant(f"step {number} {LONG}"), "usage": None})
    requests = []

    def write(request):
        requests.append(request)
        return f"part {len(requests)}"

    done = run(compact(session, keep_recent_tokens=100, window=8000), summarizer=write)

    assert {request.kind for request in requests} == {"prefix"}
    assert done.summary.endswith("\n\n".join(f"part {number}" for number in range(1, len(requests) + 1)))


def test_a_single_message_that_is_too_long_is_shown_in_part(place):
    session, writer = new(place), Writer()
    session.append_message(user("w" * 100_000))
    session.append_message(assistant("hm"))
    session.append_message(user("and?"))

    run(compact(session, keep_recent_tokens=1, window=8000), summarizer=writer)

    assert all(len(request.prompt) < summary_budget(8000) * 4 + 3000 for request in writer.requests)
    assert "more characters]" in writer.requests[0].prompt


def test_one_failing_piece_writes_nothing(place):
    session, count = talk(place, turns=40), []
    before = state(session)

    def write(request):
        count.append(request)
        return "" if len(count) == 3 else "fine"

    with pytest.raises(SummaryFailed):
        run(compact(session, keep_recent_tokens=300, window=8000), summarizer=write)

    assert state(session) == before
