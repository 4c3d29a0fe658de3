"""From a path to what a model sees: messages, model, thinking level, provider shapes, tokens, usage."""

from branchline.context.build import build_context
from branchline.context.records import Context, ContextMessage, ModelRef

__all__ = ["Context", "ContextMessage", "ModelRef", "build_context"]
