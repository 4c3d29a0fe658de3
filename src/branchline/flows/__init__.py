"""What happens around the tree, step by step: navigate, fork, compact, resume. Nothing here does it itself.

    from branchline.flows import navigate, run

    run(navigate(session, entry, summarize=True), summarizer=my_summarizer)

A flow asks all its questions before it changes anything. Who cancels, aborts or fails at a question has
changed nothing.
"""

from branchline.flows.abort import Abort, Aborted
from branchline.flows.compact import Compacted, compact
from branchline.flows.driver import Attempter, Chooser, Summarizer, arun, run
from branchline.flows.fork import Forked, branch_to_new_session, fork
from branchline.flows.hook_context import HookContext
from branchline.flows.hook_events import (
    BranchMade,
    BranchRequest,
    Cancel,
    CompactionAnswer,
    CompactionFailed,
    CompactionMade,
    CompactionRequest,
    EntryAppended,
    ForkMade,
    ForkRequest,
    OwnSummary,
    SessionShutdown,
    SessionStart,
    SwitchMade,
    SwitchRequest,
    TreeAnswer,
    TreeMoved,
    TreePreparation,
)
from branchline.flows.hooks import HOOKS, NO_HOOKS, Hooks, HookSpecs, Implementation, PluginProblem
from branchline.flows.navigate import (
    NO_SUMMARY,
    SUMMARY,
    SUMMARY_WITH_INSTRUCTIONS,
    Navigation,
    navigate,
)
from branchline.flows.recover import Turn, rewind_failed, turn
from branchline.flows.session_protocol import LiveSession, ReadableSession
from branchline.flows.steps import (
    Act,
    AskHook,
    Attempt,
    Attempted,
    Choice,
    Choose,
    Chosen,
    Flow,
    Status,
    Step,
    Summarize,
    Tell,
)
from branchline.flows.switch import Switched, resume, shut_down, start, switch

__all__ = [
    "HOOKS",
    "NO_HOOKS",
    "NO_SUMMARY",
    "SUMMARY",
    "SUMMARY_WITH_INSTRUCTIONS",
    "Abort",
    "Aborted",
    "Act",
    "AskHook",
    "Attempt",
    "Attempted",
    "Attempter",
    "BranchMade",
    "BranchRequest",
    "Cancel",
    "Choice",
    "Choose",
    "Chooser",
    "Chosen",
    "Compacted",
    "CompactionAnswer",
    "CompactionFailed",
    "CompactionMade",
    "CompactionRequest",
    "EntryAppended",
    "Flow",
    "ForkMade",
    "ForkRequest",
    "Forked",
    "HookContext",
    "HookSpecs",
    "Hooks",
    "Implementation",
    "LiveSession",
    "Navigation",
    "OwnSummary",
    "PluginProblem",
    "ReadableSession",
    "SessionShutdown",
    "SessionStart",
    "Status",
    "Step",
    "Summarize",
    "Summarizer",
    "SwitchMade",
    "SwitchRequest",
    "Switched",
    "Tell",
    "TreeAnswer",
    "TreeMoved",
    "TreePreparation",
    "Turn",
    "arun",
    "branch_to_new_session",
    "compact",
    "fork",
    "navigate",
    "resume",
    "rewind_failed",
    "run",
    "shut_down",
    "start",
    "switch",
    "turn",
]
