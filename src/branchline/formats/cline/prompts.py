"""What a person typed, without what the program puts around it."""

from __future__ import annotations

import re

__all__ = ["is_context", "is_tool_output", "typed_words"]

_WRAPPED = re.compile(
    r"\s*<(user_input|task|user_message|feedback|answer)(?:\s[^>]*)?>(.*?)</\1>\s*", re.DOTALL
)
_CONTEXT = ("<environment_details>", "<explicit_instructions", "[TASK RESUMPTION]", "# task_progress")
_OUTPUT = re.compile(r"\[\w+(?: for '.*?')?\] Result:", re.DOTALL)


def typed_words(text: str) -> str:
    """The words inside the tags that the program puts around a prompt; text without them as it is."""
    found = _WRAPPED.fullmatch(text)
    return text if found is None else found[2].strip("\n")


def is_context(text: str) -> bool:
    """Whether the program added this text to a prompt."""
    return text.lstrip().startswith(_CONTEXT)


def is_tool_output(text: str) -> bool:
    """Whether this is the output of a tool, from releases that wrote it as text."""
    return _OUTPUT.match(text) is not None
