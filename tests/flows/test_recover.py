"""Failed answers: what the model sees next, and what stays in the tree."""

from __future__ import annotations

import pytest

from branchline.errors import NothingToCompact, NotSupported, SummaryFailed
from branchline.flows import AbortSignal, AttemptResult, rewind_failed, run, turn
from branchline.plugins import Plugins, hookimpl
from flows.kit import LONG, Recorder, Writer, foreign
from session.kit import assistant, new, reopened, user, words


def failed_answer(text=""):
    return {**assistant(text), "stopReason": "error", "errorMessage": "overloaded"}


def talk(place):
    session = new(place)
    session.append_message(user("question 1"))
    session.append_message(assistant("answer 1"))
    session.append_message(user("question 2"))
    return session


@pytest.mark.parity("OPR-15")
def test_a_failed_attempt_leaves_the_context_and_its_record_stays_in_the_tree(place):
    session = talk(place)
    question = session.leaf
    failed = session.append_message(failed_answer("half an ans"))

    leaf = run(rewind_failed(session))
    retried = session.append_message(assistant("answer 2"))

    assert leaf == question
    assert words(session) == words(reopened(session)) == ["question 1", "answer 1", "question 2", "answer 2"]
    assert session.children(question) == [failed, retried]
    assert session.entry(failed).message.error_message == "overloaded"


def test_the_rounds_of_tools_before_a_failure_stay(place):
    session = talk(place)
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}}
    session.append_message({"role": "assistant", "content": [call]})
    result = session.append_message(
        {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "text", "isError": False}
    )
    session.append_message(failed_answer())

    assert run(rewind_failed(session)) == result


def test_an_answer_to_nothing_is_rewound_to_before_everything(place):
    session = new(place)
    session.append_message(failed_answer())

    assert run(rewind_failed(session)) is None
    assert words(session) == []


def test_only_an_answer_can_be_rewound(place):
    session = talk(place)

    with pytest.raises(ValueError, match="not an answer"):
        run(rewind_failed(session))
    with pytest.raises(ValueError, match="nothing to retry"):
        run(rewind_failed(new(place)))


@pytest.mark.parametrize(
    "sample",
    ["operator", "induscode", "piglet", "oh-my-pi"],
)
def test_a_failed_attempt_is_rewound_in_the_formats_of_others_too(sample, tmp_path):
    session = foreign(sample, tmp_path)
    session.append_message(user("question"))
    failed = session.append_message(failed_answer("half"))
    before = session.path()[-2]  # the question, or in a file of Operator the choice of the model behind it

    run(rewind_failed(session, failed))

    assert session.leaf == before
    assert words(session)[-1] == "question"
    assert "half" not in "".join(words(session))
    assert failed in session


def test_a_file_that_is_one_line_says_what_to_do_instead(tmp_path):
    session = foreign("zot", tmp_path)
    session.append_message(user("question"))
    session.append_message(failed_answer("half"))

    with pytest.raises(NotSupported, match="Fork it into a native session"):
        run(rewind_failed(session))


# -- overflow ---------------------------------------------------------------------------------------------


def long_talk(place):
    session = new(place)
    for number in range(3):
        session.append_message(user(f"question {number} {LONG}"))
        session.append_message({**assistant(f"answer {number} {LONG}"), "usage": None})
    session.append_message(user("and now?"))
    return session


class Model:
    """Overflows as often as told, and records its attempts as a program would."""

    def __init__(self, session, overflows, *, records=True):
        self.session, self.overflows, self.records = session, overflows, records
        self.seen = []

    def __call__(self, step):
        self.seen.append(words(self.session))
        if step.number <= self.overflows:
            failed = self.session.append_message(failed_answer()) if self.records else None
            return AttemptResult(overflow=True, failed=failed, message="context too long")
        self.session.append_message(assistant("at last"))
        return AttemptResult()


def test_a_turn_that_fits_is_one_attempt(place):
    session = long_talk(place)
    model = Model(session, 0)

    done = run(turn(session), attempt=model)

    assert (done.attempts, done.compacted, done.outcome.overflow) == (1, None, False)
    assert words(session)[-1] == "at last"


@pytest.mark.parametrize("records", [True, False])
def test_an_overflow_is_compacted_once_and_retried_once(place, records):
    session, hooks = long_talk(place), Recorder()
    model = Model(session, 1, records=records)

    done = run(turn(session, keep_recent_tokens=50), attempt=model, hooks=hooks, summarizer=Writer("so far"))

    assert (done.attempts, done.outcome.overflow, done.compacted.status) == (2, False, "done")
    assert model.seen[1][0].startswith("so far")
    assert "and now?" in "".join(model.seen[1])
    assert words(session)[-1] == "at last"
    asked = hooks.event("session_before_compact")
    assert (asked.reason, asked.will_retry) == ("overflow", True)


def test_the_failed_attempt_is_not_sent_again_but_is_in_the_file(place):
    session = long_talk(place)
    model = Model(session, 1)

    run(turn(session, keep_recent_tokens=50), attempt=model, summarizer=Writer())

    failures = [entry for entry in session.entries() if "overloaded" in repr(entry)]
    assert len(failures) == 1
    assert "" not in model.seen[1]


def test_a_second_overflow_is_the_end(place):
    session = long_talk(place)
    model, writer = Model(session, 2), Writer()

    done = run(turn(session, keep_recent_tokens=50), attempt=model, summarizer=writer)

    assert (done.attempts, done.outcome.overflow, len(model.seen)) == (2, True, 2)


def test_a_prompt_that_is_too_long_itself_is_summed_up(place):
    """«An input whose answer failed can be summarised»: otherwise the retry would overflow as well."""
    session = new(place)
    session.append_message(user("hello"))
    session.append_message({**assistant("hi"), "usage": None})
    session.append_message(user("w" * 4000))
    model = Model(session, 1)

    run(turn(session, keep_recent_tokens=50), attempt=model, summarizer=Writer("in short"))

    assert "wwww" not in "".join(model.seen[1])


def test_in_a_format_without_edits_the_attempt_is_rewound_instead(tmp_path):
    session = foreign("oh-my-pi", tmp_path)
    for number in range(3):
        session.append_message(user(f"q{number} {LONG}"))
        session.append_message(assistant(f"a{number} {LONG}"))
    session.append_message(user("and now?"))
    model = Model(session, 1)

    done = run(turn(session, keep_recent_tokens=50), attempt=model, summarizer=Writer("so far"))

    assert (done.attempts, done.outcome.overflow) == (2, False)
    assert session.entry(done.compacted.entry).summary.startswith("so far")
    assert "overloaded" not in repr(session.context())


def test_errors_of_the_compaction_come_out_and_the_attempt_has_left_the_context(place):
    session = long_talk(place)
    before = words(session)

    with pytest.raises(SummaryFailed):
        run(turn(session, keep_recent_tokens=50), attempt=Model(session, 1), summarizer=Writer(""))

    assert words(session) == before


def test_an_overflow_with_nothing_to_sum_up_says_so(place):
    session = new(place)
    session.append_message(user("hello"))

    with pytest.raises(NothingToCompact):
        run(turn(session), attempt=Model(session, 1, records=False), summarizer=Writer())


def test_who_aborts_the_compaction_gets_no_second_attempt(place):
    session, abort = long_talk(place), AbortSignal()
    model = Model(session, 1)

    def interrupted(request):
        abort.set("Escape")
        return "late"

    done = run(turn(session, keep_recent_tokens=50, abort=abort), attempt=model, summarizer=interrupted)

    assert (done.attempts, done.compacted.status, len(model.seen)) == (1, "aborted", 1)


def test_an_abort_after_the_compaction_was_written_stops_the_second_attempt(place):
    session, abort = long_talk(place), AbortSignal()
    model = Model(session, 1)

    class Interrupts:
        @hookimpl
        def session_compact(self, event, context):
            abort.set("Escape")

    plugins = Plugins()
    plugins.register(Interrupts(), "interrupts")

    done = run(
        turn(session, keep_recent_tokens=50, abort=abort), attempt=model, summarizer=Writer(), hooks=plugins
    )

    assert (done.attempts, done.compacted.status, len(model.seen)) == (1, "done", 1)
    assert session.leaf == done.compacted.entry
