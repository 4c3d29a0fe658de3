"""Known model providers, and what each of them still needs."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping

import msgspec

from branchline.errors import AuthMissing
from branchline.settings import ProviderSettings

__all__ = [
    "COMPATIBLE",
    "KNOWN_PROVIDERS",
    "OFFLINE",
    "SELF_HOSTED",
    "SERVER_KEY",
    "KnownProvider",
    "ProviderStatus",
    "known_key_variable",
    "known_status",
    "own_status",
    "read_key",
]

OFFLINE = "offline"
COMPATIBLE = "openai-compatible"
"""The provider of models that are configured only by the address of their server."""

SELF_HOSTED = frozenset({"ollama", "vllm", "litellm"})
"""Known providers whose server address the user must configure."""

SERVER_KEY = "BRANCHLINE_API_KEY"
"""The environment variable with the API key for a server that is configured only by its address."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class KnownProvider(msgspec.Struct, frozen=True):
    """A provider supported by pydantic-ai: the variables that can hold its key, and its client library."""

    name: str
    variables: tuple[str, ...]
    library: str
    extra: str


KNOWN_PROVIDERS = (
    KnownProvider("anthropic", ("ANTHROPIC_API_KEY",), "anthropic", "anthropic"),
    KnownProvider("openai", ("OPENAI_API_KEY",), "openai", "openai"),
    KnownProvider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "google.genai", "google"),
    KnownProvider("openrouter", ("OPENROUTER_API_KEY",), "openai", "openai"),
    KnownProvider("deepseek", ("DEEPSEEK_API_KEY",), "openai", "openai"),
    KnownProvider("mistral", ("MISTRAL_API_KEY",), "mistralai", "mistral"),
    KnownProvider("groq", ("GROQ_API_KEY",), "groq", "groq"),
    KnownProvider("xai", ("XAI_API_KEY",), "xai_sdk", "xai"),
    KnownProvider("cohere", ("CO_API_KEY",), "cohere", "cohere"),
    KnownProvider("moonshotai", ("MOONSHOTAI_API_KEY",), "openai", "openai"),
    KnownProvider("together", ("TOGETHER_API_KEY",), "openai", "openai"),
    KnownProvider("fireworks", ("FIREWORKS_API_KEY",), "openai", "openai"),
    KnownProvider("cerebras", ("CEREBRAS_API_KEY",), "openai", "openai"),
    KnownProvider("ollama", ("OLLAMA_BASE_URL",), "openai", "openai"),
)
"""The providers shown in lists. Other pydantic-ai providers work too."""


class ProviderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A provider in a list: whether its models can be used now, and if not, what it needs."""

    name: str
    ready: bool
    needs: str | None = None
    """What to do before it can be used; None if it is ready."""
    base_url: str | None = None
    api_key_env: str | None = None
    """The variable that holds its key."""
    models: tuple[str, ...] = ()
    """The models to offer, without the provider name."""


def known_key_variable(provider: str) -> str:
    """Return the environment variable with the key of a pydantic-ai provider."""
    known = next((one for one in KNOWN_PROVIDERS if one.name == provider), None)
    return known.variables[0] if known else f"{re.sub('[^A-Z0-9]', '_', provider.upper())}_API_KEY"


def read_key(name: str, variable: str | None, environment: Mapping[str, str]) -> str | None:
    """Return the key in the configured variable; None without one. Raises AuthMissing if it is not set."""
    if variable is None:
        return None
    if not _VARIABLE.fullmatch(variable):  # not shown in the message: it may be a key
        raise AuthMissing(
            f"cannot use {name}: api_key_env must be the name of an environment variable, not the key itself"
        )
    if key := environment.get(variable):
        return key
    raise AuthMissing(f"{name} needs an API key: set {variable}")


def known_status(
    provider: KnownProvider, environment: Mapping[str, str], models: tuple[str, ...] = ()
) -> ProviderStatus:
    """Return the status of a pydantic-ai provider in this environment."""
    needs = []
    if not _installed(provider.library):
        needs.append(f"pip install 'pydantic-ai-slim[{provider.extra}]'")
    if not any(environment.get(variable) for variable in provider.variables):
        needs.append(f"set {' or '.join(provider.variables)}")
    return ProviderStatus(
        name=provider.name,
        ready=not needs,
        needs=", then ".join(needs) or None,
        api_key_env=provider.variables[0] if provider.variables[0].endswith("KEY") else None,
        models=models,
    )


def own_status(name: str, provider: ProviderSettings, environment: Mapping[str, str]) -> ProviderStatus:
    variable, needs = provider.api_key_env, None
    try:
        read_key(name, variable, environment)
    except AuthMissing as problem:
        wrong = not _VARIABLE.fullmatch(variable or "")
        needs, variable = (str(problem), None) if wrong else (f"set {variable}", variable)
    return ProviderStatus(
        name=name,
        ready=needs is None,
        needs=needs,
        base_url=provider.base_url,
        api_key_env=variable,
        models=provider.models,
    )


def _installed(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
