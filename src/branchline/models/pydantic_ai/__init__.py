"""Every pydantic-ai provider as a :class:`~branchline.models.Model`.

Importing this package loads pydantic-ai. Only requests go through it: the conductor owns the conversation,
the tool loop and the retries, so that every message is on disk when it is shown.
"""

from branchline.models.pydantic_ai.model import (
    PydanticAIModel,
    is_provider,
    known_models,
    named_model,
    server_model,
)
from branchline.models.pydantic_ai.toolsets import mcp_toolset, mcp_toolsets, toolset_tools

__all__ = [
    "PydanticAIModel",
    "is_provider",
    "known_models",
    "mcp_toolset",
    "mcp_toolsets",
    "named_model",
    "server_model",
    "toolset_tools",
]
