"""What a Codex rollout cannot store, with the reasons."""

from __future__ import annotations

__all__ = ["CANNOT"]

CANNOT = {
    "elsewhere": "a rollout goes back only to before a prompt, and not over a compaction",
    "reset": "a rollout goes back only to before a prompt",
    "label": "Codex has no labels",
    "untitle": "Codex keeps the last name",
    "branch_summary": "Codex does not summarize branches",
    "thinking": "Codex sends reasoning only to the model that encrypted it",
    "context_edit": "Codex has no context edits",
    "custom": "Codex cannot store it",
    "custom_message": "Codex supports only prompts, answers, results and developer messages",
    "message": "Codex supports only user, assistant and tool messages",
    "usage": "Codex counts only the tokens of its own answers",
    "block": "Codex supports only text, images, tool calls and tool results",
    "half character": "Codex skips a line with a lone surrogate",
    "empty": "it contains nothing that Codex would send",
    "result": "the call that it answers does not precede it, or has a result already",
    "kept messages": "a compaction in a rollout holds the messages that it keeps",
}
