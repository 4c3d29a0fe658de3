"""State that an oh-my-pi session sets along a path: models per role, mode, rules, service tier."""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.entries import AssistantMessage, MessageEntry, json_codec
from branchline.formats.entry_log import EntryLog
from branchline.formats.oh_my_pi.context_rules import mode_and_rules
from branchline.formats.oh_my_pi.records import chosen_model

__all__ = ["PathState", "path_state"]

_TYPES = frozenset({"model_change", "thinking_level_change", "service_tier_change"})


class PathState(msgspec.Struct, frozen=True, kw_only=True):
    """The state in effect at an entry.

    ``models`` maps roles to ``provider/id``. ``configured_thinking_level`` is the user's choice, which may be
    ``auto``. ``mode`` is ``none`` outside any mode.
    """

    thinking_level: str = "off"
    configured_thinking_level: str | None = None
    models: dict[str, str] = {}
    mode: str = "none"
    mode_data: Any = None
    injected_rules: tuple[str, ...] = ()
    service_tier: Any = None


def path_state(transcript: EntryLog, leaf: int) -> PathState:
    """Return the state after all entries on the path to ``leaf``; -1 is before the first one."""
    tree = transcript.tree
    state: dict[str, Any] = {}
    models: dict[str, str] = {}
    last_answer = -1
    path = tree.path_positions(leaf)
    for position in path:
        kind = tree.types[position]
        if tree.roles[position] == "assistant":
            last_answer = position
        if kind not in _TYPES:
            continue
        fields = json_codec.loads(transcript.raw(position))
        match kind:
            case "model_change":
                if chosen := chosen_model(fields):
                    models[chosen[0]] = chosen[1]
            case "thinking_level_change":
                level, configured = fields.get("thinkingLevel"), fields.get("configured")
                state["thinking_level"] = "off" if level is None else str(level)
                wanted = level if configured is None else configured
                state["configured_thinking_level"] = None if wanted is None else str(wanted)
            case _:
                state["service_tier"] = fields.get("serviceTier")
    if "default" not in models and last_answer >= 0:
        entry = transcript.entry(last_answer)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            models["default"] = f"{entry.message.provider}/{entry.message.model}"
    rules = msgspec.structs.asdict(mode_and_rules(transcript, path))
    return PathState(**state, models=models, **rules)
