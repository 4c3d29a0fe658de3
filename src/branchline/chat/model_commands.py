"""The commands for models and the thinking level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchline.chat.frontend import Picker, PickerOption
from branchline.chat.pickers import model_picker, unpickable
from branchline.models import THINKING_LEVELS, model_name
from branchline.models.provider_lines import provider_lines
from branchline.settings import price_list
from branchline.views.spans import Span, make_line

if TYPE_CHECKING:
    from branchline.chat.chat import Chat

__all__ = ["model", "providers", "thinking"]


async def model(chat: Chat, words: str) -> None:
    """Switch models, named or picked."""
    current = chat.conductor.model
    wanted: str | None = words
    if not words:
        picker = model_picker(
            chat.services.models.statuses(),
            None if current is None else model_name(current),
            price_list(chat.services.settings),
        )
        wanted = await chat.front.pick(picker)
    named = next((one for one in chat.services.models.statuses() if one.name == wanted), None)
    if named is not None:
        chat.front.notice(f"{named.name}: {unpickable(named) or f'/model {named.name}:MODEL names a model'}")
    elif wanted is not None:
        chat.conductor.set_model(chat.services.models.find(wanted))
    current = chat.conductor.model
    chat.front.line("no model" if current is None else model_name(current))


async def providers(chat: Chat, words: str) -> None:
    """List the model providers and what each of them needs."""
    found = chat.services.models.statuses()
    if words:
        named = next((one for one in found if one.name == words), None)
        if named is None:
            raise LookupError(f"no provider named {words!r}; /providers lists them")
        for name in named.models:
            chat.front.line(Span(f"{words}:{name}", "model"))
        if named.needs is not None:
            chat.front.notice(f"{words} cannot be used yet: {named.needs}")
        return
    for line in provider_lines(found):
        chat.front.line(*line)


async def thinking(chat: Chat, words: str) -> None:
    """Set the thinking level."""
    level: str | None = words
    if not words:
        options = [PickerOption(key=level, line=make_line(level)) for level in THINKING_LEVELS]
        now = chat.conductor.thinking
        at = THINKING_LEVELS.index(now) if now in THINKING_LEVELS else 0
        level = await chat.front.pick(Picker(question="Thinking level?", options=options, selected=at))
    if level is not None:
        chat.conductor.set_thinking(level)
    chat.front.line(chat.conductor.thinking)
