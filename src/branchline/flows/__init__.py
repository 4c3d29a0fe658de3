"""Operations that need decisions from outside, as generators: navigate, fork, compact, switch, retry.

    from branchline.flows import navigate, run

    run(navigate(session, entry, summarize=True), summarizer=my_summarizer)

A flow asks all its questions before it changes anything. If it is cancelled, aborted or fails at a question,
nothing has changed.
"""

from branchline.flows.abort import Aborted, AbortSignal
from branchline.flows.chat_commands import PluginCommand, chat_commands, run_chat_command
from branchline.flows.compact import compact
from branchline.flows.driver import Chooser, ModelCaller, Summarizer, arun, run
from branchline.flows.fork import ForkResult, branch_to_new_session, fork
from branchline.flows.hook_context import HookContext
from branchline.flows.hook_events import (
    Cancel,
    ChatCommand,
    ChatCommandsEvent,
    EntryAppendedEvent,
    HookSummary,
    SessionBeforeBranchEvent,
    SessionBeforeCompactEvent,
    SessionBeforeCompactResult,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent,
    SessionBeforeTreeResult,
    SessionBranchEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
    SessionCompactingResult,
    SessionForkEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
)
from branchline.flows.hooks import HOOKS, NO_HOOKS, Hooks, HookSpecs, Implementation, PluginProblem
from branchline.flows.navigate import (
    NO_SUMMARY,
    SUMMARY,
    SUMMARY_WITH_INSTRUCTIONS,
    NavigateResult,
    navigate,
)
from branchline.flows.recover import TurnResult, rewind_failed, turn
from branchline.flows.session_protocol import LiveSession, ReadableSession
from branchline.flows.steps import (
    Act,
    AskHook,
    Attempt,
    AttemptResult,
    CallPlugin,
    Choice,
    Choose,
    Chosen,
    CompactResult,
    Flow,
    Gather,
    Notify,
    Status,
    Step,
    Summarize,
)
from branchline.flows.switch import SwitchResult, resume, shut_down, start, switch

__all__ = [
    "HOOKS",
    "NO_HOOKS",
    "NO_SUMMARY",
    "SUMMARY",
    "SUMMARY_WITH_INSTRUCTIONS",
    "AbortSignal",
    "Aborted",
    "Act",
    "AskHook",
    "Attempt",
    "AttemptResult",
    "CallPlugin",
    "Cancel",
    "ChatCommand",
    "ChatCommandsEvent",
    "Choice",
    "Choose",
    "Chooser",
    "Chosen",
    "CompactResult",
    "EntryAppendedEvent",
    "Flow",
    "ForkResult",
    "Gather",
    "HookContext",
    "HookSpecs",
    "HookSummary",
    "Hooks",
    "Implementation",
    "LiveSession",
    "ModelCaller",
    "NavigateResult",
    "Notify",
    "PluginCommand",
    "PluginProblem",
    "ReadableSession",
    "SessionBeforeBranchEvent",
    "SessionBeforeCompactEvent",
    "SessionBeforeCompactResult",
    "SessionBeforeForkEvent",
    "SessionBeforeSwitchEvent",
    "SessionBeforeTreeEvent",
    "SessionBeforeTreeResult",
    "SessionBranchEvent",
    "SessionCompactEvent",
    "SessionCompactFailedEvent",
    "SessionCompactingEvent",
    "SessionCompactingResult",
    "SessionForkEvent",
    "SessionShutdownEvent",
    "SessionStartEvent",
    "SessionSwitchEvent",
    "SessionTreeEvent",
    "Status",
    "Step",
    "Summarize",
    "Summarizer",
    "SwitchResult",
    "TurnResult",
    "arun",
    "branch_to_new_session",
    "chat_commands",
    "compact",
    "fork",
    "navigate",
    "resume",
    "rewind_failed",
    "run",
    "run_chat_command",
    "shut_down",
    "start",
    "switch",
    "turn",
]
