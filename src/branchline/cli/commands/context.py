"""``context``: the messages that a model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from branchline.actions.names import resolve_entry
from branchline.cli.options import command, directory_option, session_argument
from branchline.cli.output import Output, paint, remark
from branchline.cli.resolver import resolve_session
from branchline.cli.write_access import position_fields
from branchline.views.figures import tokens
from branchline.views.humanize import count, decoded_size, format_size

if TYPE_CHECKING:
    from branchline.context import Context, ProviderRequest
    from branchline.entries import Message
    from branchline.session import Session

__all__ = ["context_command"]

_PROVIDERS = ["openai-chat", "openai-responses", "anthropic"]


@command(
    "context",
    paged=True,
    examples="""
    branchline context @last
    branchline context @last --at 3f2a --json
    branchline context @last --provider anthropic > request.json
    """,
)
@session_argument()
@click.option("--at", metavar="ENTRY", help="Build the context at ENTRY instead of the leaf.")
@click.option(
    "--provider",
    type=click.Choice(_PROVIDERS),
    help="Print a request body for this API: JSON, every tool call answered.",
)
@directory_option
def context_command(
    out: Output, session: str, at: str | None, provider: str | None, directory: str | None
) -> None:
    """Print the messages that the model sees, with compactions and edits applied."""
    from branchline.context import context_tokens

    with resolve_session(session, directory) as live:
        entry = live.leaf if at is None else resolve_entry(live, at)
        context = live.context(entry)
        if provider is not None:
            body = _request(provider, context).body()
            if out.json:
                out.result(
                    "context", {**_fields(live, entry, context), "provider": provider, "request": body}
                )
            else:
                out.plain_json(body)
            return
        if out.json:
            out.result("context", {**_fields(live, entry, context), "messages": _messages(context)})
            return
        _print(out, context)
        model = "no model" if context.model is None else context.model.name
        size = tokens(context_tokens(context).tokens)
        messages = count(len(context.messages), "message")
        remark(f"{messages}, about {size} tokens; {model}, thinking {context.thinking_level}")


def _request(provider: str, context: Context) -> ProviderRequest:
    from branchline.context import anthropic, openai_chat, openai_responses

    shapes = {"openai-chat": openai_chat, "openai-responses": openai_responses, "anthropic": anthropic}
    return shapes[provider](context)


def _fields(session: Session, entry: str | None, context: Context) -> dict[str, Any]:
    from branchline.context import context_tokens

    model = context.model
    return {
        **position_fields(session),
        "at": entry,
        "model": None if model is None else {"provider": model.provider, "id": model.id},
        "thinking_level": context.thinking_level,
        "tokens": context_tokens(context).tokens,
    }


def _messages(context: Context) -> list[dict[str, Any]]:
    from branchline.entries import message_fields

    return [
        {"entry": item.entry, "role": item.message.role, "message": message_fields(item.message)}
        for item in context.messages
    ]


def _print(out: Output, context: Context) -> None:
    from branchline.context import to_model

    for number, message in enumerate(to_model(context)):
        if number:
            out.line()
        out.line(paint("user" if message.role == "user" else "heading", message.role))
        for line in _lines(message, "calls" if out.plain else "→"):
            out.text(line, indent="  ")


def _lines(message: Message, calls: str) -> list[str]:
    """The lines of a message, block by block; images as a short description."""
    from branchline.context.providers.common import arguments_text
    from branchline.entries import Image, SystemMessage, Text, Thinking, ToolCall

    content = getattr(message, "content", "")
    if isinstance(content, str):
        content = (Text(text=content),) if content else ()
    lines = []
    for block in content:
        match block:
            case Text():
                lines.append(block.text)
            case Thinking():
                lines.append(f"(thinking) {block.thinking or '(redacted)'}")
            case ToolCall():
                lines.append(f"{calls} {block.name} {arguments_text(block.arguments)}")
            case Image():
                lines.append(f"[{block.mime_type or 'image'}, {format_size(decoded_size(block.data))}]")
            case _:
                lines.append(f"[{block.type}]")
    if isinstance(message, SystemMessage):
        lines += [f"{name}: {text or '(removed)'}" for name, text in (message.sections or {}).items()]
        if message.tools_added:
            lines.append("tools: " + ", ".join(str(tool.get("name", "?")) for tool in message.tools_added))
    return lines
