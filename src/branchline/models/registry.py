"""Models by name: ``provider:model``. The offline model is always available.

A request goes only to the provider in the model's name. A base URL belongs to the provider that the settings
configure with it, or to ``openai-compatible``, the provider of models named without one. All other providers
come from pydantic-ai, which is loaded when the first such model is used.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from branchline._version import install_extra
from branchline.context import ModelRef
from branchline.errors import InvalidArgument, UnknownModel
from branchline.models.offline import OfflineModel
from branchline.models.protocol import Model
from branchline.models.providers import (
    COMPATIBLE,
    KNOWN_PROVIDERS,
    OFFLINE,
    SELF_HOSTED,
    SERVER_KEY,
    ProviderStatus,
    known_status,
    own_status,
    read_key,
)
from branchline.settings import ProviderSettings, Settings

__all__ = ["DEFAULT_MODEL", "ModelRegistry", "model_by_name", "model_by_reference"]

DEFAULT_MODEL = "offline:echo"
_INSTALL = install_extra("chat")
_EXAMPLES = "anthropic:claude-sonnet-5, or offline:echo for the one that needs no network"


class _Name(NamedTuple):
    provider: str
    model: str


class ModelRegistry:
    """Finds models by name, including the providers of the settings.

    ``base_url`` is a server with OpenAI's chat completions API. Its models are named without a provider, or
    with ``openai-compatible``; its key is in the variable ``api_key_env``, or else in ``BRANCHLINE_API_KEY``.
    """

    def __init__(
        self,
        *,
        providers: Mapping[str, ProviderSettings] = MappingProxyType({}),
        base_url: str | None = None,
        api_key_env: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._own = providers
        self._base_url = base_url
        self._environment = os.environ if environment is None else environment
        self._api_key_env = api_key_env or (SERVER_KEY if self._environment.get(SERVER_KEY) else None)

    @classmethod
    def from_settings(
        cls, settings: Settings, *, base_url: str | None = None, api_key_env: str | None = None
    ) -> ModelRegistry:
        """Make a registry from the settings; arguments override them."""
        return cls(
            providers=settings.providers,
            base_url=base_url or settings.base_url,
            # A key that was configured for one server is not sent to another.
            api_key_env=api_key_env
            or (settings.api_key_env if base_url in (None, settings.base_url) else None),
        )

    def find(self, name: str) -> Model:
        """Return the model named ``provider:model``, or ``provider/model`` as lists show it.

        Raises UnknownModel if there is none, AuthMissing if its key is missing.
        """
        provider, model = self._split(name)
        if self._uses_base_url(provider):
            if self._base_url is None:
                raise UnknownModel(
                    f"no server for {name}: give its address with --base-url or the setting base_url"
                )
            key = read_key(f"the server at {self._base_url}", self._api_key_env, self._environment)
            server = ProviderSettings(base_url=self._base_url, api_key_env=self._api_key_env)
            return _server_model(provider, model, server, key)
        if (own := self._own.get(provider)) is not None:
            key = read_key(f"{provider}:{model}", own.api_key_env, self._environment)
            return _server_model(provider, model, own, key)
        return model_by_name(f"{provider}:{model}")

    def find_reference(self, reference: ModelRef) -> Model:
        """Return the model that was recorded on a path."""
        return self.find(f"{reference.provider}:{reference.id}")

    def has_own_server(self, name: str) -> bool:
        """Return whether the provider in a name has its own address, independent of ``base_url``."""
        return not self._uses_base_url(self._split(name).provider)

    def statuses(self) -> tuple[ProviderStatus, ...]:
        """Return the status of all providers, those of the settings first."""
        environment = self._environment
        found = [ProviderStatus(name=OFFLINE, ready=True, models=("echo",))]
        found += [own_status(name, own, environment) for name, own in self._own.items()]
        if self._base_url is not None:
            server = ProviderSettings(base_url=self._base_url, api_key_env=self._api_key_env)
            found.append(own_status(COMPATIBLE, server, environment))
        models = _known_models()
        for known in KNOWN_PROVIDERS:
            if known.name not in self._own:
                found.append(known_status(known, environment, models.get(known.name, ())))
        return tuple(found) if _has_library() else tuple(map(_without_library, found))

    def _uses_base_url(self, provider: str) -> bool:
        """Return whether requests for a provider go to ``base_url``."""
        if provider in SELF_HOSTED and provider not in self._own and self._base_url is not None:
            return not self._environment.get(f"{provider.upper()}_BASE_URL")
        return provider == COMPATIBLE

    def _split(self, name: str) -> _Name:
        if any(character.isspace() for character in name):
            raise UnknownModel(f"{name!r} is not a model name: model names have no spaces")
        for mark in ":/":
            provider, found, model = name.partition(mark)
            if found and (provider in (OFFLINE, COMPATIBLE) or provider in self._own):
                return _Name(provider, model)
        provider, colon, model = name.partition(":")
        if colon and provider and model and (self._base_url is None or _is_known(provider)):
            return _Name(provider, model)
        if self._base_url is not None and name:
            return _Name(COMPATIBLE, name)
        provider, slash, model = name.partition("/")
        if slash and not colon and provider and model:
            return _Name(provider, model)
        raise UnknownModel(f"{name!r} is not a model name: write provider:model, for example {_EXAMPLES}")


def model_by_name(
    name: str = DEFAULT_MODEL,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    context_window: int | None = None,
) -> Model:
    """Return the model with this name.

    ``provider:model`` names any model that pydantic-ai supports; the key comes from the provider's
    environment variable. ``base_url`` is the address of any server with OpenAI's chat completions API, for
    example a local Ollama or llama.cpp; then the name is the model's own, optionally with
    ``openai-compatible:``, ``ollama:``, ``vllm:`` or ``litellm:`` before it, and a key is needed only if the
    server requires one.

    Raises UnknownModel if there is no such model, AuthMissing if a key is missing, and ValueError if
    ``base_url`` is given with a provider that has its own address.
    """
    provider, colon, model = name.partition(":")
    at_base_url = bool(colon) and (provider == COMPATIBLE or provider in SELF_HOSTED)
    if base_url is not None and not at_base_url and (provider == OFFLINE or _is_known(provider)):
        raise InvalidArgument(
            f"{name} is not served at {base_url}: its provider has its own address; "
            f"write {COMPATIBLE}:{name} for a model of that name at this address"
        )
    if provider == OFFLINE:
        return OfflineModel(
            model or "echo", **({} if context_window is None else {"context_window": context_window})
        )
    if base_url is None and (not colon or not provider or not model):
        raise UnknownModel(f"{name!r} is not a model name: write provider:model, for example {_EXAMPLES}")
    _require_library(name)
    if base_url is not None:
        served = _Name(provider, model) if at_base_url else _Name(COMPATIBLE, name)
        server = ProviderSettings(base_url=base_url)
        return _server_model(*served, server, api_key, context_window=context_window)
    from branchline.models.pydantic_ai.model import named_model  # noqa: PLC0415 - half a second

    return named_model(name, api_key=api_key, context_window=context_window)


def model_by_reference(reference: ModelRef) -> Model:
    """Return the model that was recorded on a path."""
    return model_by_name(f"{reference.provider}:{reference.id}")


def _server_model(
    provider: str,
    model: str,
    server: ProviderSettings,
    key: str | None,
    *,
    context_window: int | None = None,
) -> Model:
    _require_library(f"{provider}:{model}")
    from branchline.models.pydantic_ai.model import server_model  # noqa: PLC0415 - half a second

    return server_model(provider, model, server, api_key=key, context_window=context_window)


def _has_library() -> bool:
    return importlib.util.find_spec("pydantic_ai") is not None


def _require_library(name: str) -> None:
    if not _has_library():
        raise UnknownModel(f"{name} needs more than the base package: {_INSTALL}")


def _without_library(status: ProviderStatus) -> ProviderStatus:
    if status.name == OFFLINE:
        return status
    needs = _INSTALL if status.needs is None else f"{_INSTALL}, then {status.needs}"
    return msgspec.structs.replace(status, ready=False, needs=needs)


def _is_known(provider: str) -> bool:
    """Return whether pydantic-ai has a provider of this name."""
    if any(provider == known.name for known in KNOWN_PROVIDERS):
        return True
    if not _has_library():
        return False
    from branchline.models.pydantic_ai.model import is_provider  # noqa: PLC0415 - half a second

    return is_provider(provider)


def _known_models() -> dict[str, tuple[str, ...]]:
    if not _has_library():
        return {}
    from branchline.models.pydantic_ai.model import known_models  # noqa: PLC0415 - half a second

    return known_models()
