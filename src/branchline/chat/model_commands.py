"""The commands for models, the thinking level and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchline.chat.costs import price_list
from branchline.chat.frontend import Picker, PickerOption, options_with
from branchline.chat.pickers import model_picker, unpickable
from branchline.models import THINKING_LEVELS, model_name
from branchline.models.provider_lines import provider_lines
from branchline.views.humanize import count
from branchline.views.spans import Span, make_line

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["export", "model", "providers", "thinking"]


async def model(chat: Chat, words: str) -> None:
    """Switch models, named or picked."""
    current = chat.conductor.model
    wanted: str | None = words
    if not words:
        picker = model_picker(
            chat.services.providers(),
            None if current is None else model_name(current),
            price_list(chat.services.settings),
        )
        wanted = await chat.front.pick(picker)
    named = next((one for one in chat.services.providers() if one.name == wanted), None)
    if named is not None:
        chat.front.notice(f"{named.name}: {unpickable(named) or f'/model {named.name}:MODEL names a model'}")
    elif wanted is not None:
        chat.conductor.set_model(chat.services.model(wanted))
    current = chat.conductor.model
    chat.front.line("no model" if current is None else model_name(current))


async def providers(chat: Chat, words: str) -> None:
    """List the model providers and what each of them needs."""
    found = chat.services.providers()
    if words:
        found = [one for one in found if one.name == words]
        if not found:
            raise LookupError(f"no provider named {words!r}; /providers lists them")
        for name in found[0].models:
            chat.front.line(Span(f"{found[0].name}:{name}", "model"))
        if found[0].needs is not None:
            chat.front.notice(f"{found[0].name} cannot be used yet: {found[0].needs}")
        return
    for line in provider_lines(found):
        chat.front.line(*line)


async def thinking(chat: Chat, words: str) -> None:
    """Set the thinking level."""
    level: str | None = words
    if not words:
        options = [PickerOption(key=level, line=make_line(level)) for level in THINKING_LEVELS]
        at = (
            THINKING_LEVELS.index(chat.conductor.thinking)
            if chat.conductor.thinking in THINKING_LEVELS
            else 0
        )
        level = await chat.front.pick(
            Picker(
                question="Thinking level?",
                options=options,
                find=lambda typed: options_with(options, typed),
                selected=at,
            )
        )
    if level is not None:
        chat.conductor.set_thinking(level)
    chat.front.line(chat.conductor.thinking)


async def export(chat: Chat, words: str) -> None:
    """Export the conversation as Markdown, or the session as .jsonl, with secrets redacted."""
    from branchline.actions.export import ExportRequest  # noqa: PLC0415
    from branchline.actions.export import export as export_session  # noqa: PLC0415

    request = ExportRequest(format=None if words else "md")
    done = export_session(chat.conductor.session, words or ".", request)
    replaced = f"; {count(done.secrets, 'secret')} redacted" if done.secrets else ""
    chat.front.notice(f"exported to {done.path}{replaced}")
