"""A model of pydantic-ai behind our protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, cast

from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model as TheirModel
from pydantic_ai.models import ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from branchline.models.protocol import Done, ModelEvent, ModelRequest
from branchline.models.pydantic_ai.errors import COMPATIBLE, construction_error, request_error
from branchline.models.pydantic_ai.messages import MessageEncoder, tool_definitions
from branchline.models.pydantic_ai.responses import answer, delta

__all__ = ["PydanticAIModel", "named_model", "openai_compatible_model"]

_NO_KEY = "none"
_APIS = {  # by the names that pi gives them, so that either program knows who signed what
    "AnthropicModel": "anthropic-messages",
    "OpenAIResponsesModel": "openai-responses",
    "GoogleModel": "google-generative-ai",
    "BedrockConverseModel": "bedrock-converse-stream",
    "MistralModel": "mistral-conversations",
}
_Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]


class PydanticAIModel:
    """Wraps any model of pydantic-ai. ``provider`` and ``id`` are the names under which sessions store it."""

    def __init__(
        self,
        model: TheirModel[Any],
        *,
        provider: str,
        id: str,  # noqa: A002
        context_window: int | None = None,
    ) -> None:
        self._model = model
        self._provider = provider
        self._id = id
        self._context_window = context_window
        self._open = False
        self._api = next(
            (_APIS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in _APIS),
            "openai-completions" if isinstance(model, OpenAIChatModel) else "pydantic-ai",
        )
        _leave_retries_to_us(model)

    @property
    def provider(self) -> str:
        return self._provider

    @property
    def id(self) -> str:
        return self._id

    @property
    def api(self) -> str:
        """The protocol that is spoken, by the name that pi's sessions give it."""
        return self._api

    @property
    def context_window(self) -> int | None:
        return self._model.context_window if self._context_window is None else self._context_window

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer, piece by piece, as it comes over the line."""
        name = f"{self._provider}:{self._id}"
        writer = MessageEncoder(
            provider=self._provider, model=self._id, api=self._api, system=self._model.system
        )
        try:
            if not self._open:
                await self._model.__aenter__()
                self._open = True
            async with model_request_stream(
                self._model,
                writer.messages(request.messages, request.system),
                model_settings=_settings(request),
                model_request_parameters=ModelRequestParameters(
                    function_tools=tool_definitions(request.tools)
                ),
            ) as events:
                async for event in events:
                    if (shown := delta(event)) is not None:
                        yield shown
                response = events.get()
            message = answer(response, name=name, provider=self._provider, model=self._id, api=self._api)
        except Exception as problem:  # noqa: BLE001 - whatever a client library raises becomes one of ours
            failure = request_error(name, problem)
            raise failure from (None if failure is problem else problem)
        yield Done(message=message)

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._open:
            self._open = False
            await self._model.__aexit__(None, None, None)


def named_model(
    name: str, *, api_key: str | None = None, context_window: int | None = None
) -> PydanticAIModel:
    """The model that pydantic-ai has under this ``provider:model``."""
    provider, _, model = name.partition(":")
    try:
        made = infer_model(name) if api_key is None else infer_model(name, lambda kind: _keyed(kind, api_key))
    except Exception as problem:
        raise construction_error(name, problem) from problem
    return PydanticAIModel(made, provider=provider, id=model, context_window=context_window)


def openai_compatible_model(
    name: str, *, base_url: str, api_key: str | None = None, context_window: int | None = None
) -> PydanticAIModel:
    """A model behind an address that speaks OpenAI's chat completions.

    Without a key none is sent: the one in ``OPENAI_API_KEY`` is meant for somebody else.
    """
    provider, colon, model = name.partition(":")
    if not colon or not _is_provider(provider):
        provider, model = COMPATIBLE, name
    made = OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key=api_key or _NO_KEY))
    return PydanticAIModel(made, provider=provider, id=model, context_window=context_window)


def _keyed(provider: str, api_key: str) -> Any:
    return cast("Any", infer_provider_class(provider))(api_key=api_key)


def _is_provider(name: str) -> bool:
    try:
        infer_provider_class(name)
    except ImportError:
        return True
    except ValueError:
        return name == COMPATIBLE
    return True


def _settings(request: ModelRequest) -> ModelSettings:
    level = request.thinking_level
    settings = ModelSettings(
        thinking=False if level == "off" else cast("_Effort", level), cache=request.cacheable
    )
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    return settings


def _leave_retries_to_us(model: TheirModel[Any]) -> None:
    """Client libraries try again behind one's back; here every attempt is seen and recorded."""
    client: Any = getattr(model, "client", None)
    if isinstance(getattr(client, "max_retries", None), int):
        client.max_retries = 0
