"""Sharing from the viewer: what would be replaced, and the finished page after a person has decided."""

from __future__ import annotations

from typing import Any

import msgspec

from branchline.actions.export import ExportRequest, render
from branchline.actions.redactor import Choices
from branchline.actions.review import review
from branchline.web.viewed import ViewedSession

__all__ = ["PageRequest", "findings", "single_page"]


class PageRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes into the file. ``keep`` are values of findings, ``literals`` further texts to mask."""

    branch: bool = False
    portable: bool = False
    tools: bool = True
    thinking: bool = True
    images: bool = True
    keep: list[str] = []
    literals: list[str] = []


def findings(viewed: ViewedSession, asked: PageRequest) -> dict[str, Any]:
    """What would be replaced, for the page that asks about it."""
    return {"findings": [msgspec.to_builtins(one) for one in review(viewed.session, _request(asked))]}


def single_page(viewed: ViewedSession, asked: PageRequest) -> bytes:
    """The file, scanned once more. An error of ours if a secret is left in it."""
    return render(viewed.session, _request(asked)).data


def _request(asked: PageRequest) -> ExportRequest:
    return ExportRequest(
        format="html",
        branch=asked.branch,
        portable=asked.portable,
        tools=asked.tools,
        thinking=asked.thinking,
        images=asked.images,
        choices=Choices(keep=frozenset(asked.keep), literals=tuple(asked.literals)),
    )
