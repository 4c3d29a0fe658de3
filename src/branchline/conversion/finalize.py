"""Session-wide facts: the header, and at the end the leaf and the title."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from branchline.conversion.fallbacks import replace_lone_surrogates
from branchline.conversion.new_file import NewFile
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


def finish(
    source: EntryLog, file: NewFile, header: Header, leaf: int, *, exact: bool = False, marks: bool = False
) -> None:
    """Write the title, labels and leaf of the source, unless the new file has them already.

    With ``exact``, every title and label has been written as an entry. With ``marks``, lines say that the
    conversion made them.
    """
    out, traits = file.out.transcript, file.target.traits
    leaf_key = file.key_of(leaf)
    title, labels = (None, {}) if exact else (source.title, source.reading.labels)
    is_prompt = traits.lists_last_prompt and "session_info" not in out.tree.types
    if title and (is_prompt or _words(out.reading.title) != _words(title)):
        _add(file, SessionInfo(**_common(file, header, "title", leaf_key), name=title), marks=marks)
    for number, (key, state) in enumerate(labels.items()):
        position = source.tree.positions.get(key, ROOT)
        if position not in file.written:
            continue
        named = out.tree.keys[file.written[position]]
        known = out.reading.labels.get(named)
        if known is None or known.text != state.text:
            common = _common(file, header, f"label {number}", leaf_key)
            common["timestamp"] = state.time or common["timestamp"]
            _add(file, Label(**common, target=named, label=state.text), marks=marks)
    if _leaf_differs(source, file, leaf) or (traits.ends_with_position and len(out.tree)):
        _add(file, Leaf(**_common(file, header, "leaf", leaf_key), target=leaf_key), marks=marks)


def _leaf_differs(source: EntryLog, file: NewFile, wanted: int) -> bool:
    """Return whether the new file would open with another leaf than the source."""
    out, tree = file.out.transcript, source.tree
    while wanted != ROOT and wanted not in file.written:
        wanted = tree.nearest_conversation_entry(tree.parents[wanted])
    here = ROOT if out.leaf is None else out.tree.position(out.leaf)
    if file.image_of(here) != wanted:
        return True
    # pi 1.5.0 and oh-my-pi do not know leaf entries and continue at the last line.
    last = file.image_of(len(out.tree) - 1)
    return file.target.traits.native_entries and last != wanted


def _add(file: NewFile, entry: Entry, *, marks: bool) -> None:
    """Write an additional entry, unless the format rejects it."""
    if marks:
        file.out.add(with_origin(encode_entry(entry), Origin(made=True)))
        return
    for form in (entry, replace_lone_surrogates(entry)):
        try:
            if form is not None:
                file.out.write([form])
        except REFUSALS:
            continue
        return


def _common(file: NewFile, header: Header, what: str, parent: str | None) -> dict[str, Any]:
    name = f"{header.id} {what}".encode("utf-8", "surrogatepass")
    found = hashlib.sha256(name)
    while found.hexdigest()[:16] in file.out.transcript.tree.positions:  # from an earlier conversion
        found.update(b"again")
    return {"id": found.hexdigest()[:16], "parent": parent, "timestamp": header.timestamp}


def _words(title: str | None) -> str:
    return " ".join((title or "").split())
