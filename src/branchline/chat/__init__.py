"""A chat without its screen: what a person can say in it, what that does, and what is shown.

The screen is a :class:`~branchline.chat.frontend.Front`. What is kept elsewhere (other sessions, models by name,
exports) comes through a :class:`~branchline.chat.services.Services`.
"""

from branchline.chat.chat import Chat
from branchline.chat.commands import COMMANDS, Command
from branchline.chat.frontend import Frontend, Picker, PickerOption
from branchline.chat.services import Services

__all__ = ["COMMANDS", "Chat", "Command", "Frontend", "Picker", "PickerOption", "Services"]
