"""The chat without its terminal: commands, pickers and messages.

The terminal is a :class:`~branchline.chat.frontend.Frontend`. Other sessions, models by name and settings
come through :class:`~branchline.chat.services.Services`.
"""

from branchline.chat.chat import Chat
from branchline.chat.commands import COMMANDS, Command
from branchline.chat.frontend import Frontend, Picker, PickerOption
from branchline.chat.services import Services

__all__ = ["COMMANDS", "Chat", "Command", "Frontend", "Picker", "PickerOption", "Services"]
