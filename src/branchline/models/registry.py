"""Models by name: ``provider:model``, with the offline model always there.

Everything else comes through pydantic-ai, which is loaded when the first such model is asked for.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from branchline.context import ModelRef
from branchline.errors import UnknownModel
from branchline.models.offline import OfflineModel
from branchline.models.protocol import Model

if TYPE_CHECKING:
    from branchline.models.pydantic_ai import PydanticAIModel

__all__ = ["DEFAULT_MODEL", "model_by_name", "model_by_reference", "model_by_setting"]

DEFAULT_MODEL = "offline:echo"


def model_by_name(
    name: str = DEFAULT_MODEL,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    context_window: int | None = None,
) -> Model:
    """The model with this name.

    ``provider:model`` names any model that pydantic-ai knows; the key comes from the environment variable of
    that provider. With ``base_url`` it is a model behind any address that speaks OpenAI's chat completions,
    for example a local Ollama or llama.cpp; then the provider may be left out, and a key is needed only if
    the server wants one.

    UnknownModel when there is none, AuthMissing when a key is missing.
    """
    provider, colon, model = name.partition(":")
    if provider == "offline" and base_url is None:
        return OfflineModel(
            model or "echo", **({} if context_window is None else {"context_window": context_window})
        )
    if base_url is None and (not colon or not provider or not model):
        raise UnknownModel(
            f"{name!r} is not a model name: write provider:model, for example "
            "anthropic:claude-sonnet-5, or offline:echo for the one that needs no network"
        )
    if importlib.util.find_spec("pydantic_ai") is None:
        raise UnknownModel(f"{name} needs more than the base package: pip install 'branchline[chat]'")
    from branchline.models.pydantic_ai import named_model, openai_compatible_model  # noqa: PLC0415 - half a second

    made: PydanticAIModel
    if base_url is None:
        made = named_model(name, api_key=api_key, context_window=context_window)
    else:
        made = openai_compatible_model(
            name, base_url=base_url, api_key=api_key, context_window=context_window
        )
    return made


def model_by_setting(name: str, *, base_url: str | None = None) -> Model:
    """The model that a person has set: ``provider/model``, as lists write it, or ``provider:model``.

    With ``base_url`` every model but the offline one is looked for at that address.
    """
    if base_url is not None and not name.startswith(("offline:", "offline/")):
        return model_by_name(name, base_url=base_url)
    return model_by_name(name if ":" in name else name.replace("/", ":", 1))


def model_by_reference(reference: ModelRef) -> Model:
    """The model that a path names, to go on with the one that was used last."""
    return model_by_name(f"{reference.provider}:{reference.id}")
