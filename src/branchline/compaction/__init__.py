"""Making room: where a context is cut, what a summarizer is shown, what is stored of its answer."""

from branchline.compaction.branch import (
    BranchCollection,
    BranchPreparation,
    branch_budget,
    collect_branch,
    prepare_branch_summary,
)
from branchline.compaction.files import FileOperations, files_block
from branchline.compaction.prepare import (
    KEEP_RECENT_TOKENS,
    RESERVE_TOKENS,
    CompactionPreparation,
    prepare_compaction,
    should_compact,
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
from branchline.compaction.transcript import transcript_text

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
    "compaction_summary",
    "files_block",
    "history_request",
    "prefix_request",
    "prepare_branch_summary",
    "prepare_compaction",
    "should_compact",
    "summary_of",
    "summary_problem",
    "transcript_text",
    "usage_of",
]
