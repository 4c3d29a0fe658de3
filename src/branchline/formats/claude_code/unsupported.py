"""What a Claude Code transcript cannot store, with the reasons."""

from __future__ import annotations

__all__ = ["CANNOT"]

CANNOT = {
    "label": "Claude Code has no labels",
    "untitle": "Claude Code keeps the last title",
    "branch_summary": "Claude Code does not summarize branches",
    "thinking": "Claude Code sends thinking only to the model that signed it",
    "thinking_level_change": "Claude Code does not record how hard a model thinks",
    "model_change": "in Claude Code only answers name a model",
    "context_edit": "Claude Code has no context edits",
    "custom": "Claude Code cannot store it",
    "custom_message": "Claude Code supports only prompts, answers, results and hidden context",
    "message": "Claude Code supports only user, assistant and tool messages",
    "usage": "Claude Code records tokens with its own answers only",
    "block": "Claude Code supports only text, images, tool calls and tool results",
    "half character": "Anthropic's API rejects every request with a lone surrogate",
    "empty": "Claude Code drops messages without content",
    "result": "the call that it answers does not precede it, or has a result already",
    "kept messages": "Claude Code names the messages that a compaction keeps",
}
