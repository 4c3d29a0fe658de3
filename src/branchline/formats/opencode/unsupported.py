"""What an opencode session cannot store, with the reasons."""

from __future__ import annotations

__all__ = ["CANNOT"]

CANNOT = {
    "branch": "an opencode session is linear; write one session for each branch",
    "label": "opencode has no labels",
    "model_change": "opencode names the model in every message",
    "thinking_level_change": "opencode does not record how hard a model thinks",
    "context_edit": "opencode keeps every message as it is",
    "custom": "opencode has no place for data of extensions",
    "custom_message": "opencode has only prompts and answers",
    "branch_summary": "an opencode session is linear, without branches",
    "usage": "opencode records tokens in answers only",
    "leaf": "an opencode session is linear",
    "message": "opencode has only prompts, answers and tool results",
    "result": "an opencode tool result is part of the answer with its call",
    "kept": "an opencode compaction keeps whole messages from one of them on",
    "summary": "an opencode compaction has a summary",
    "twice": "opencode would repeat the summary of an older compaction among the messages that are kept",
}
