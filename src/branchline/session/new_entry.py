"""An entry to be written: its fields and, if the caller chooses, its id and parent."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from branchline._arguments import require_json, require_text
from branchline.entries import Custom, Entry, Label, Leaf, Message, MessageEntry, SessionInfo

__all__ = ["NewEntry"]

_Parent = str | msgspec.UnsetType | None


class NewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry for :meth:`Session.write <branchline.Session.write>`.

    ``kind`` is the record that it becomes and ``fields`` what that record holds besides ``id``, ``parent``
    and
    ``timestamp``. Without an ``id`` it gets a new one; without a ``parent`` it continues the conversation
    entry before it, the first one from the leaf. A parent of None makes a root.
    """

    kind: type[Entry]
    fields: dict[str, Any]
    id: str | None = None
    parent: _Parent = msgspec.UNSET
    timestamp: str | None = None

    @classmethod
    def message(
        cls,
        message: Message | dict[str, Any] | str,
        *,
        id: str | None = None,  # noqa: A002
        parent: _Parent = msgspec.UNSET,
    ) -> Self:
        """A message, in any form that :meth:`Session.append_message` takes."""
        return cls(kind=MessageEntry, fields={"message": message}, id=id, parent=parent)

    @classmethod
    def custom(cls, custom_type: str, data: Any = None, *, id: str | None = None) -> Self:  # noqa: A002
        """Extension data that the model does not see."""
        require_text("custom_type", custom_type, empty=True)
        require_json("data", data)
        return cls(kind=Custom, fields={"custom_type": custom_type, "data": data}, id=id)

    @classmethod
    def label(cls, target: str, text: str | None) -> Self:
        """The label of an entry, which may be part of the same write; None removes it."""
        require_text("target", target)
        if text is not None:
            require_text("label", text, empty=True)
        return cls(kind=Label, fields={"target": target, "label": text})

    @classmethod
    def title(cls, title: str) -> Self:
        """The title of the session."""
        require_text("title", title, empty=True)
        return cls(kind=SessionInfo, fields={"name": title})

    @classmethod
    def move(cls, target: str | None) -> Self:
        """A move of the leaf to an entry, or before the first one; later entries are appended there."""
        return cls(kind=Leaf, fields={"target": target}, parent=target)
