"""Compaction: cut points, the input of a summarizer, and the summaries that are stored."""

from branchline.compaction.branch_summary import (
    BranchCollection,
    BranchPreparation,
    branch_budget,
    collect_branch,
    prepare_branch_summary,
)
from branchline.compaction.chunks import split_by_tokens, summary_budget
from branchline.compaction.conversation_text import conversation_text
from branchline.compaction.file_operations import FileOperations, files_block
from branchline.compaction.preparation import (
    KEEP_RECENT_TOKENS,
    CompactionPreparation,
    prepare_compaction,
)
from branchline.compaction.prompts import SummaryRequest, branch_request, history_request, prefix_request
from branchline.compaction.summary import (
    BRANCH_PREAMBLE,
    NOTHING_TO_SUMMARIZE,
    Summary,
    branch_summary,
    compaction_summary,
    summary_of,
    summary_problem,
    usage_of,
)
from branchline.compaction.trigger import RESERVE_TOKENS, compaction_due, should_compact

__all__ = [
    "BRANCH_PREAMBLE",
    "KEEP_RECENT_TOKENS",
    "NOTHING_TO_SUMMARIZE",
    "RESERVE_TOKENS",
    "BranchCollection",
    "BranchPreparation",
    "CompactionPreparation",
    "FileOperations",
    "Summary",
    "SummaryRequest",
    "branch_budget",
    "branch_request",
    "branch_summary",
    "collect_branch",
    "compaction_due",
    "compaction_summary",
    "conversation_text",
    "files_block",
    "history_request",
    "prefix_request",
    "prepare_branch_summary",
    "prepare_compaction",
    "should_compact",
    "split_by_tokens",
    "summary_budget",
    "summary_of",
    "summary_problem",
    "usage_of",
]
