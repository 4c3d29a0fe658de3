"""Session-wide facts: the header, and at the end the leaf and the title."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from branchline.conversion.fallbacks import replace_lone_surrogates
from branchline.conversion.origin import Origin, with_origin
from branchline.conversion.output_buffer import REFUSALS
from branchline.entries import (
    AssistantMessage,
    Entry,
    Header,
    Label,
    Leaf,
    MessageEntry,
    ModelChange,
    SessionInfo,
    encode_entry,
)
from branchline.formats.entry_log import EntryLog
from branchline.tree import ROOT

if TYPE_CHECKING:
    from branchline.conversion.state import ConversionState

__all__ = ["finish", "header_with_model"]


def header_with_model(header: Header, source: EntryLog, order: Sequence[int]) -> Header:
    """Add facts that some formats store in the header: the model, and the copied part of the parent."""
    metadata = {**_first_model(source, order), **(header.metadata or {})}
    if source.title:
        metadata.setdefault("title", source.title)
    if header.parent_session is not None:
        tree = source.tree
        count = sum(
            tree.types[position] == "message" and tree.roles[position] != "system" for position in order
        )
        metadata.setdefault("fork_point", count)
    return msgspec.structs.replace(header, metadata=metadata or None)


def _first_model(source: EntryLog, order: Sequence[int]) -> dict[str, Any]:
    """Return the first model of the conversation."""
    tree = source.tree
    for position in order:
        if tree.types[position] == "model_change" or tree.roles[position] == "assistant":
            match source.entry(position):
                case ModelChange(provider=provider, model_id=model) if model:
                    return {"provider": provider, "model": model}
                case MessageEntry(message=AssistantMessage(provider=provider, model=str(model))) if model:
                    return {"provider": provider or "", "model": model}
                case _:
                    continue
    return {}


def finish(conversion: ConversionState) -> None:
    """Write the title, labels and leaf of the source, unless the new file has them already."""
    out, reading = conversion.out.transcript, conversion.source.reading
    leaf_key = conversion.key_of(conversion.plan.leaf)
    labels = reading.labels
    title = conversion.source.title
    if conversion.exact:  # every title and label has been written as an entry
        title, labels = None, {}
    is_prompt = conversion.target.traits.lists_last_prompt and "session_info" not in out.tree.types
    if title and (is_prompt or _words(out.reading.title) != _words(title)):
        _add(conversion, SessionInfo(**_common(conversion, "title", leaf_key), name=title))
    for number, (key, state) in enumerate(labels.items()):
        position = conversion.source.tree.positions.get(key, ROOT)
        if position not in conversion.written:
            continue
        named = out.tree.keys[conversion.written[position]]
        known = out.reading.labels.get(named)
        if known is None or known.text != state.text:
            common = _common(conversion, f"label {number}", leaf_key)
            common["timestamp"] = state.time or common["timestamp"]
            _add(conversion, Label(**common, target=named, label=state.text))
    if _leaf_differs(conversion) or (conversion.target.traits.ends_with_position and len(out.tree)):
        _add(conversion, Leaf(**_common(conversion, "leaf", leaf_key), target=leaf_key))


def _leaf_differs(conversion: ConversionState) -> bool:
    """Return whether the new file would open with another leaf than the source."""
    out, wanted, tree = conversion.out.transcript, conversion.plan.leaf, conversion.source.tree
    while wanted != ROOT and wanted not in conversion.written:
        wanted = tree.nearest_conversation_entry(tree.parents[wanted])
    here = ROOT if out.leaf is None else out.tree.position(out.leaf)
    if conversion.image_of(here) != wanted:
        return True
    # Some readers of pi's format do not support leaf entries and use the last line.
    last = conversion.image_of(len(out.tree) - 1)
    return conversion.target.traits.native_entries and last != wanted


def _add(conversion: ConversionState, entry: Entry) -> None:
    """Write an additional entry, unless the format rejects it."""
    if conversion.keeper is not None:
        conversion.out.add(with_origin(encode_entry(entry), Origin(made=True)))
        return
    for form in (entry, replace_lone_surrogates(entry)):
        try:
            if form is not None:
                conversion.out.write([form])
        except REFUSALS:
            continue
        return


def _common(conversion: ConversionState, what: str, parent: str | None) -> dict[str, Any]:
    name = f"{conversion.header.id} {what}".encode("utf-8", "surrogatepass")
    found = hashlib.sha256(name)
    while found.hexdigest()[:16] in conversion.out.transcript.tree.positions:  # from an earlier conversion
        found.update(b"again")
    return {
        "id": found.hexdigest()[:16],
        "parent": parent,
        "timestamp": conversion.header.timestamp,
    }


def _words(title: str | None) -> str:
    return " ".join((title or "").split())
