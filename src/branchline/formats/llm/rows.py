"""Typed JSON values that llm stores in columns, as far as they are interpreted."""

from __future__ import annotations

import msgspec

from branchline.formats.common.derived_format import RowDecoder

__all__ = ["PayloadRow", "TokenDetails", "decode_details", "decode_payload"]

_NOTHING = msgspec.Raw(b"null")
_Number = int | float


class _Reference(msgspec.Struct, frozen=True, gc=False):
    id: str = ""


class _TextPiece(msgspec.Struct, frozen=True, gc=False):
    literal: str | None = None
    fragment: int | None = None


class PayloadRow(msgspec.Struct, frozen=True, gc=False):
    """A part of a message, without the fields that have columns of their own."""

    name: str = ""
    arguments: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING
    tool_call_id: str | None = None
    exception: str | None = None
    redacted: bool = False
    text_ref: tuple[_TextPiece, ...] = ()
    """Text that refers to fragments."""
    attachment: _Reference | None = None
    attachments: tuple[_Reference, ...] = ()


class _Cached(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: _Number | None = 0


class _Reasoned(msgspec.Struct, frozen=True, gc=False):
    reasoning_tokens: _Number | None = 0


class TokenDetails(msgspec.Struct, frozen=True, gc=False):
    """Details of a model call, in the provider's own terms."""

    prompt_tokens_details: _Cached | None = None
    input_tokens_details: _Cached | None = None
    completion_tokens_details: _Reasoned | None = None
    output_tokens_details: _Reasoned | None = None
    cachedContentTokenCount: _Number | None = 0  # noqa: N815
    thoughtsTokenCount: _Number | None = 0  # noqa: N815
    cache_read_input_tokens: _Number | None = 0
    cache_creation_input_tokens: _Number | None = 0

    @property
    def cached(self) -> float:
        """Cached tokens that the provider also counts as input."""
        for details in (self.prompt_tokens_details, self.input_tokens_details):
            if details is not None and details.cached_tokens:
                return details.cached_tokens
        return self.cachedContentTokenCount or 0

    @property
    def reasoning(self) -> float:
        """Output tokens used for thinking."""
        for details in (self.completion_tokens_details, self.output_tokens_details):
            if details is not None and details.reasoning_tokens:
                return details.reasoning_tokens
        return self.thoughtsTokenCount or 0


decode_payload = RowDecoder(PayloadRow)
decode_details = RowDecoder(TokenDetails)
