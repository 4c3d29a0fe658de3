"""``models``: the available models, and what the others need."""

from __future__ import annotations

import click

from branchline.cli.options import command
from branchline.cli.output import Output, paint, remark

__all__ = ["models_command"]


@command(
    "models",
    paged=True,
    examples="""
    branchline models
    branchline models gateway
    branchline models --json
    branchline config set model anthropic:claude-sonnet-5
    """,
)
@click.argument("provider", required=False)
def models_command(out: Output, provider: str | None) -> None:
    """List the model providers that you can use, and what the others need.

    With PROVIDER, list all of its models. Your own providers are tables in the settings file:
    [providers.NAME] with base_url, api_key_env, models and headers. No request is sent and no key is shown.
    """
    import msgspec

    from branchline.models import ModelRegistry
    from branchline.models.provider_lines import provider_lines

    settings = out.settings
    found = ModelRegistry.from_settings(settings).statuses()
    if provider is not None:
        found = tuple(one for one in found if one.name == provider)
        if not found:
            raise click.UsageError(f"unknown provider {provider!r}; `branchline models` lists them")
    if out.json:
        out.result("models", {"model": settings.model, "providers": msgspec.to_builtins(found)})
        return
    if provider is not None:
        (one,) = found
        for model in one.models:
            out.line(paint("model", f"{one.name}:{model}"))
        if one.needs is not None:
            remark(f"{one.name} is not available: {one.needs}")
        return
    for line in provider_lines(found):
        out.row(*line)
    remark(
        f"the model of new chats: {settings.model}"
        if settings.model
        else "no model is set for new chats: `branchline config set model PROVIDER:MODEL` sets one"
    )
