"""A pydantic-ai model behind the ``Model`` protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, cast, get_args

from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import KnownModelName, ModelRequestParameters, infer_model
from pydantic_ai.models import Model as TheirModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from branchline.models.protocol import Done, ModelEvent, ModelRequest
from branchline.models.providers import COMPATIBLE, SELF_HOSTED, SERVER_KEY, known_key_variable
from branchline.models.pydantic_ai.errors import construction_error, request_error
from branchline.models.pydantic_ai.messages import MessageEncoder, tool_definitions
from branchline.models.pydantic_ai.responses import answer, delta
from branchline.settings import ProviderSettings

__all__ = ["PydanticAIModel", "is_provider", "known_models", "named_model", "server_model"]

_NO_KEY = "none"
_CHECK_KEY = "check the API key"
_APIS = {  # pi's names, so that each program recognizes the other's signatures
    "AnthropicModel": "anthropic-messages",
    "OpenAIResponsesModel": "openai-responses",
    "GoogleModel": "google-generative-ai",
    "BedrockConverseModel": "bedrock-converse-stream",
    "MistralModel": "mistral-conversations",
}
_Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]


class PydanticAIModel:
    """A pydantic-ai model. Sessions record it as ``provider`` and ``id``.

    ``key_hint`` is the advice for a refused API key; ``headers`` are sent with every request.
    """

    def __init__(
        self,
        model: TheirModel[Any],
        *,
        provider: str,
        id: str,  # noqa: A002
        context_window: int | None = None,
        key_hint: str = _CHECK_KEY,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._model = model
        self._key_hint = key_hint
        self._headers = headers
        self.provider = provider
        self.id = id
        self.context_window = model.context_window if context_window is None else context_window
        self._open = False
        self.api = next(
            (_APIS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in _APIS),
            "openai-completions" if isinstance(model, OpenAIChatModel) else "pydantic-ai",
        )
        """The wire protocol, by the name that pi records in sessions."""
        _disable_client_retries(model)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer as it arrives."""
        name = f"{self.provider}:{self.id}"
        writer = MessageEncoder(
            provider=self.provider, model=self.id, api=self.api, system=self._model.system
        )
        try:
            if not self._open:
                await self._model.__aenter__()
                self._open = True
            async with model_request_stream(
                self._model,
                writer.messages(request.messages, request.system),
                model_settings=_settings(request, self._headers),
                model_request_parameters=ModelRequestParameters(
                    function_tools=tool_definitions(request.tools)
                ),
            ) as events:
                async for event in events:
                    if (shown := delta(event)) is not None:
                        yield shown
                response = events.get()
            message = answer(response, name=name, provider=self.provider, model=self.id, api=self.api)
        except Exception as problem:  # noqa: BLE001 - whatever a client library raises becomes a ModelError
            failure = request_error(name, problem, key_hint=self._key_hint)
            raise failure from (None if failure is problem else problem)
        yield Done(message=message)

    async def aclose(self) -> None:
        """Close connections; the next request opens new ones."""
        if self._open:
            self._open = False
            await self._model.__aexit__(None, None, None)


def named_model(
    name: str, *, api_key: str | None = None, context_window: int | None = None
) -> PydanticAIModel:
    """Return the pydantic-ai model named ``provider:model``."""
    provider, _, model = name.partition(":")
    try:
        made = (
            infer_model(name)
            if api_key is None
            else infer_model(name, lambda kind: cast("Any", infer_provider_class(kind))(api_key=api_key))
        )
    except Exception as problem:
        raise construction_error(name, problem) from problem
    hint = _CHECK_KEY if api_key is not None else f"check {known_key_variable(provider)}"
    return PydanticAIModel(made, provider=provider, id=model, context_window=context_window, key_hint=hint)


def server_model(
    provider: str,
    model: str,
    server: ProviderSettings,
    *,
    api_key: str | None = None,
    context_window: int | None = None,
) -> PydanticAIModel:
    """Return a model of a configured server, using the server's protocol.

    Without ``api_key`` no key is sent: ``OPENAI_API_KEY`` and similar variables belong to other servers.
    """
    try:
        made = _construct(model, server, api_key or _NO_KEY)
    except Exception as problem:
        raise construction_error(f"{provider}:{model}", problem) from problem
    if server.api_key_env is not None:
        hint = f"check {server.api_key_env}"
    else:
        hint = _CHECK_KEY if api_key is not None else f"it was sent no API key: {_key_advice(provider)}"
    return PydanticAIModel(
        made,
        provider=provider,
        id=model,
        context_window=context_window,
        key_hint=hint,
        headers=server.headers,
    )


def _key_advice(provider: str) -> str:
    if provider == COMPATIBLE or provider in SELF_HOSTED:
        return f"set {SERVER_KEY}, or name its variable with --api-key-env"
    return f"api_key_env under [providers.{provider}] names its variable"


def _construct(model: str, server: ProviderSettings, key: str) -> TheirModel[Any]:
    if server.api == "anthropic-messages":
        from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - optional
        from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

        return AnthropicModel(model, provider=AnthropicProvider(base_url=server.base_url, api_key=key))
    if server.api == "google-generative-ai":
        from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
        from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

        return GoogleModel(model, provider=GoogleProvider(base_url=server.base_url, api_key=key))
    kind = OpenAIChatModel if server.api == "openai-completions" else OpenAIResponsesModel
    return kind(model, provider=OpenAIProvider(base_url=server.base_url, api_key=key))


def known_models() -> dict[str, tuple[str, ...]]:
    """Return the models that pydantic-ai lists, by provider."""
    found: dict[str, tuple[str, ...]] = {}
    for name in get_args(getattr(KnownModelName, "__value__", KnownModelName)):
        provider, _, model = name.partition(":")
        found[provider] = (*found.get(provider, ()), model)
    return found


def is_provider(name: str) -> bool:
    """Return whether pydantic-ai has a provider of this name, installed or not."""
    try:
        infer_provider_class(name)
    except ImportError:
        return True
    except ValueError:
        return False
    return True


def _settings(request: ModelRequest, headers: dict[str, str] | None) -> ModelSettings:
    level = request.thinking_level
    settings = ModelSettings(
        thinking=False if level == "off" else cast("_Effort", level), cache=request.cacheable
    )
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    if headers:
        settings["extra_headers"] = headers
    return settings


def _disable_client_retries(model: TheirModel[Any]) -> None:
    """Turn off the retries of the client library: the conductor retries and records every attempt."""
    client: Any = getattr(model, "client", None)
    if isinstance(getattr(client, "max_retries", None), int):
        client.max_retries = 0
