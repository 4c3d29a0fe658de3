"""Lines for somebody who asks for the context next: messages whole, of everything else what links need.

The records of entries that are no messages, and what else an entry says about its message, are left to who
asks for them: each object that is made here is made tens of thousands of times.
"""

# Without `from __future__ import annotations`: msgspec would evaluate each of them from its text.

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Union

import msgspec

from branchline.entries import CONVERSATION_TYPES, SIDE_TYPES
from branchline.entries.messages import Message, StoredMessage

__all__ = ["decode_spoken"]


class _Line(msgspec.Struct, tag_field="type", kw_only=True, gc=False):
    id: str
    parentId: str | msgspec.UnsetType | None = msgspec.UNSET  # noqa: N815
    timestamp: str = ""  # to be sure that it is a text, which nobody wants to have yet


class _Spoken(_Line, tag="message", kw_only=True, gc=False):
    type: ClassVar[str] = "message"
    if TYPE_CHECKING:
        message: Message
    else:
        message: StoredMessage


def _silent(kind: str) -> Any:
    told = {"type": kind, "message": None}
    return msgspec.defstruct(f"_{kind}", (), bases=(_Line,), tag=kind, gc=False, namespace=told)


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    """Made when it is first needed: it looks at every record there is."""
    silent = map(_silent, sorted((SIDE_TYPES | CONVERSATION_TYPES) - {"message"}))
    return msgspec.json.Decoder(Union[(_Spoken, *silent)])


def decode_spoken(data: memoryview) -> Sequence[Any]:
    """Many entries of known types, all in good order; what msgspec raises goes through."""
    return _decoder().decode_lines(data)
