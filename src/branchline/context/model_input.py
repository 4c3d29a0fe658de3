"""The messages sent to a model: only roles that models know. Other messages are sent as user messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from branchline.context.context import Context
from branchline.context.foreign_roles import foreign_message
from branchline.context.javascript import number_text
from branchline.entries import (
    AssistantMessage,
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomContent,
    Message,
    SystemMessage,
    Text,
    ToolResult,
    UnknownMessage,
    UserMessage,
    as_blocks,
)

__all__ = [
    "BRANCH_SUMMARY_PREFIX",
    "COMPACTION_SUMMARY_PREFIX",
    "labelled_summary",
    "model_messages",
    "to_model",
    "unlabelled_summary",
]

BRANCH_SUMMARY_PREFIX = (
    "The conversation took another branch for a while and then returned to this point. "
    "What happened on that branch:"
)
COMPACTION_SUMMARY_PREFIX = "Everything said before this point has been condensed into the following summary:"


def to_model(context: Context) -> list[Message]:
    """Convert the messages of a context to system, user, assistant and tool-result messages."""
    return model_messages(item.message for item in context.messages)


def model_messages(messages: Iterable[Message]) -> list[Message]:
    """Convert messages to roles that models know; excluded commands and unknown roles are dropped."""
    found: list[Message] = []
    for message in messages:
        match message:
            case UserMessage() | AssistantMessage() | ToolResult() | SystemMessage():
                found.append(message)
            case CustomContent():
                content = message.content
                blocks = as_blocks(content)
                found.append(UserMessage(content=blocks, timestamp=message.timestamp))
            case BashExecution():
                if not message.exclude_from_context:
                    found.append(_said(bash_text(message), message.timestamp))
            case BranchSummaryMessage():
                text = f"{BRANCH_SUMMARY_PREFIX}\n\n<summary>\n{message.summary}</summary>"
                found.append(_said(text, message.timestamp))
            case CompactionSummaryMessage():
                found.append(_said(labelled_summary(message.summary), message.timestamp))
            case UnknownMessage():
                if (said := foreign_message(message)) is not None:
                    found.append(said)
            case _:
                assert_never(message)
    return found


_SUMMARY_BEGINS = f"{COMPACTION_SUMMARY_PREFIX}\n\n<summary>\n"
_SUMMARY_ENDS = "\n</summary>"


def labelled_summary(summary: str) -> str:
    """Return the summary of a compaction as sent to a model."""
    return f"{_SUMMARY_BEGINS}{summary}{_SUMMARY_ENDS}"


def unlabelled_summary(text: str) -> str:
    """Return the summary in such a text; other texts are returned unchanged."""
    if text.startswith(_SUMMARY_BEGINS) and text.endswith(_SUMMARY_ENDS):
        return text[len(_SUMMARY_BEGINS) : len(text) - len(_SUMMARY_ENDS)]
    return text


def bash_text(run: BashExecution) -> str:
    """Return the text for a command that the user ran."""
    text = f"Ran `{run.command}`\n"
    text += f"```\n{run.output}\n```" if run.output else "(no output)"
    if run.cancelled is True:
        text += "\n\n(command cancelled)"
    elif run.exit_code:
        text += f"\n\nCommand exited with code {number_text(run.exit_code)}"
    if run.truncated is True and run.full_output_path:
        text += f"\n\n[Output truncated. Full output: {run.full_output_path}]"
    return text


def _said(text: str, timestamp: float | None) -> UserMessage:
    return UserMessage(content=(Text(text=text),), timestamp=timestamp)
