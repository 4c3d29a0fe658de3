"""branchline keeps agent conversations as branchable, append-only trees.

from branchline import Session

session = Session.create()
session.append_message("hello")

Importing the package loads nothing but itself. Names load on first access; sessions, records and errors need
msgspec.
"""

from typing import TYPE_CHECKING, Any

from branchline import _lazy
from branchline._version import __version__

if TYPE_CHECKING:
    from branchline import flows
    from branchline.conductor import Conductor, Policy
    from branchline.context import Context, ContextMessage, ModelRef, from_anthropic, from_openai
    from branchline.entries import (
        AssistantMessage,
        BashExecution,
        Block,
        BranchSummaryMessage,
        CompactionSummaryMessage,
        Content,
        Cost,
        CustomContent,
        Image,
        Message,
        SystemMessage,
        Text,
        Thinking,
        ToolCall,
        ToolResult,
        UnknownBlock,
        UnknownMessage,
        Usage,
        UserMessage,
    )
    from branchline.errors import (
        Ambiguous,
        AuthMissing,
        BranchlineError,
        CannotOpen,
        ContextOverflow,
        EntryNotFound,
        FileExists,
        FileMissing,
        FlowError,
        InvalidId,
        IsADirectory,
        LockTimeout,
        LogError,
        LogGone,
        LogReplaced,
        LogShrank,
        MalformedStream,
        ModelError,
        ModelRefused,
        NetworkFailure,
        NoSummarizer,
        NotASession,
        NothingToCompact,
        NotSaved,
        NotSupported,
        PermissionDenied,
        RateLimited,
        ReadOnly,
        SecretsLeft,
        SessionMoved,
        SessionNotFound,
        SummaryFailed,
        TooLarge,
        UnknownModel,
    )
    from branchline.library import SessionLibrary, SessionRow
    from branchline.plugins import Plugins, hookimpl
    from branchline.session import Node, Session

__all__ = [
    "Ambiguous",
    "AssistantMessage",
    "AuthMissing",
    "BashExecution",
    "Block",
    "BranchSummaryMessage",
    "BranchlineError",
    "CannotOpen",
    "CompactionSummaryMessage",
    "Conductor",
    "Content",
    "Context",
    "ContextMessage",
    "ContextOverflow",
    "Cost",
    "CustomContent",
    "EntryNotFound",
    "FileExists",
    "FileMissing",
    "FlowError",
    "Image",
    "InvalidId",
    "IsADirectory",
    "LockTimeout",
    "LogError",
    "LogGone",
    "LogReplaced",
    "LogShrank",
    "MalformedStream",
    "Message",
    "ModelError",
    "ModelRef",
    "ModelRefused",
    "NetworkFailure",
    "NoSummarizer",
    "Node",
    "NotASession",
    "NotSaved",
    "NotSupported",
    "NothingToCompact",
    "PermissionDenied",
    "Plugins",
    "Policy",
    "RateLimited",
    "ReadOnly",
    "SecretsLeft",
    "Session",
    "SessionLibrary",
    "SessionMoved",
    "SessionNotFound",
    "SessionRow",
    "SummaryFailed",
    "SystemMessage",
    "Text",
    "Thinking",
    "TooLarge",
    "ToolCall",
    "ToolResult",
    "UnknownBlock",
    "UnknownMessage",
    "UnknownModel",
    "Usage",
    "UserMessage",
    "__version__",
    "flows",
    "from_anthropic",
    "from_openai",
    "hookimpl",
]

_LATER = {
    "conductor": ("Conductor", "Policy"),
    "context": ("Context", "ContextMessage", "ModelRef", "from_anthropic", "from_openai"),
    "entries": (
        "AssistantMessage",
        "BashExecution",
        "Block",
        "BranchSummaryMessage",
        "CompactionSummaryMessage",
        "Content",
        "Cost",
        "CustomContent",
        "Image",
        "Message",
        "SystemMessage",
        "Text",
        "Thinking",
        "ToolCall",
        "ToolResult",
        "UnknownBlock",
        "UnknownMessage",
        "Usage",
        "UserMessage",
    ),
    "errors": (
        "Ambiguous",
        "AuthMissing",
        "BranchlineError",
        "CannotOpen",
        "ContextOverflow",
        "EntryNotFound",
        "FileExists",
        "FileMissing",
        "FlowError",
        "InvalidId",
        "IsADirectory",
        "LockTimeout",
        "LogError",
        "LogGone",
        "LogReplaced",
        "LogShrank",
        "MalformedStream",
        "ModelError",
        "ModelRefused",
        "NetworkFailure",
        "NoSummarizer",
        "NotASession",
        "NothingToCompact",
        "NotSaved",
        "NotSupported",
        "PermissionDenied",
        "RateLimited",
        "ReadOnly",
        "SecretsLeft",
        "SessionMoved",
        "SessionNotFound",
        "SummaryFailed",
        "TooLarge",
        "UnknownModel",
    ),
    "library": ("SessionLibrary", "SessionRow"),
    "plugins": ("Plugins", "hookimpl"),
    "session": ("Node", "Session"),
}


def __getattr__(name: str) -> Any:
    """Load a name on first access: the command line needs few of them, and each program others."""
    if name == "flows":
        import importlib  # noqa: PLC0415

        return importlib.import_module("branchline.flows")
    found = globals()[name] = _lazy.lazy_attribute(__name__, _LATER, name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
