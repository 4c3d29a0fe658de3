"""The user's own text of a prompt, without the context that Cline adds."""

from __future__ import annotations

import re

__all__ = ["is_context", "is_tool_output", "typed_words"]

_WRAPPED = re.compile(
    r"\s*<(user_input|task|user_message|feedback|answer)(?:\s[^>]*)?>(.*?)</\1>\s*", re.DOTALL
)
_CONTEXT = ("<environment_details>", "<explicit_instructions", "[TASK RESUMPTION]", "# task_progress")
_OUTPUT = re.compile(r"\[\w+(?: for '.*?')?\] Result:", re.DOTALL)


def typed_words(text: str) -> str:
    """Return the text inside the tags that Cline puts around a prompt; text without tags unchanged."""
    found = _WRAPPED.fullmatch(text)
    return text if found is None else found[2].strip("\n")


def is_context(text: str) -> bool:
    """Return whether Cline added this text to a prompt."""
    return text.lstrip().startswith(_CONTEXT)


def is_tool_output(text: str) -> bool:
    """Return whether this is tool output, which older releases wrote as text."""
    return _OUTPUT.match(text) is not None
