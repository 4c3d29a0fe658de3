"""The stored text: the model's summaries combined with the files touched."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from branchline.compaction.branch_summary import BranchPreparation
from branchline.compaction.file_operations import files_block
from branchline.compaction.preparation import CompactionPreparation
from branchline.entries import AssistantMessage, Cost, Usage, blocks_text, tool_calls

__all__ = [
    "BRANCH_PREAMBLE",
    "NOTHING_TO_SUMMARIZE",
    "NO_PRIOR_HISTORY",
    "PREFIX_HEADING",
    "Summary",
    "branch_summary",
    "compaction_summary",
    "summary_of",
    "summary_problem",
    "usage_of",
]

NO_PRIOR_HISTORY = "Nothing was said before this turn."
PREFIX_HEADING = "The turn so far (its end follows word for word):"
BRANCH_PREAMBLE = "The person tried another branch of this conversation and came back. What happened there:"
NOTHING_TO_SUMMARIZE = "The branch that was left holds nothing to summarize."


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a summarizer. ``problem`` is why it is unusable: truncated, refused, aborted."""

    text: str
    usage: Usage | None = None
    problem: str | None = None

    def why_unusable(self) -> str | None:
        """Return why this must not be stored; None if it may be."""
        return self.problem or (None if self.text.strip() else "the summarizer wrote nothing")


def compaction_summary(
    preparation: CompactionPreparation, *, history: str | None = None, prefix: str | None = None
) -> str:
    """Combine the summaries of the history and of the split turn into that of a compaction."""
    text = history or preparation.previous_summary or NO_PRIOR_HISTORY
    if preparation.split_turn and prefix:
        text = f"{text}\n\n---\n\n**{PREFIX_HEADING}**\n\n{prefix}"
    return text + files_block(preparation.files)


def branch_summary(preparation: BranchPreparation, text: str | None = None) -> str:
    """Return the stored summary of an abandoned branch; ``text`` is the model's summary."""
    if text is None:
        return NOTHING_TO_SUMMARIZE
    return f"{BRANCH_PREAMBLE}\n\n{text}{files_block(preparation.files)}"


def summary_problem(answer: AssistantMessage) -> str | None:
    """Return why an answer of the summarizer is unusable; None if it is usable."""
    if answer.stop_reason in ("error", "aborted"):
        return answer.error_message or f"the summarizer's answer ended with {answer.stop_reason}"
    if answer.stop_reason == "length":
        return "the summary was cut off at the length limit"
    if answer.stop_reason == "toolUse" or tool_calls(answer.content):
        return "the summarizer called a tool instead of writing a summary"
    return None if blocks_text(answer.content).strip() else "the summarizer wrote nothing"


def summary_of(answer: AssistantMessage) -> Summary:
    """Turn a model's answer into a summary, with the reason if it is unusable."""
    return Summary(
        text=blocks_text(answer.content).strip(), usage=answer.usage, problem=summary_problem(answer)
    )


def usage_of(summaries: Iterable[Summary]) -> Usage | None:
    """Return the total usage of several summaries; None if none reports any."""
    spent = [summary.usage for summary in summaries if summary.usage is not None]
    if len(spent) <= 1:
        return spent[0] if spent else None
    costs = [usage.cost for usage in spent]
    tokens = {name: _sum(spent, name) for name in Usage.__struct_fields__ if name != "cost"}
    prices = {name: _sum(costs, name) for name in Cost.__struct_fields__ if name != "known"}
    return Usage(**tokens, cost=Cost(**prices))  # type: ignore[arg-type]


def _sum(parts: Iterable[Usage | Cost], name: str) -> int | float | msgspec.UnsetType:
    """Return the sum of one field; UNSET if no part has it."""
    known = [number for part in parts if (number := getattr(part, name)) is not msgspec.UNSET]
    return sum(known) if known else msgspec.UNSET
