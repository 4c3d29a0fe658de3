"""Checkpoint saver for LangGraph, in a SQLite file or PostgreSQL (extra ``langgraph``)::

    from branchline.integrations.langgraph import BranchlineSaver
    saver = BranchlineSaver("agents.db")                       # or postgresql://…
    app = graph.compile(checkpointer=saver)
    app.invoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "t"}})
    saver.copy_thread("t", "experiment"); saver.prune(["t"])   # also with DeltaChannel

A checkpoint stores only changes. A list channel, such as ``messages``, is a path in a tree: a put writes the
new items, and a fork shares the items before it. Large values that do not change are stored once. Small
checkpoints are one row.
"""

from __future__ import annotations

import asyncio
import builtins
import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from branchline._version import install_extra

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
        writes_sort_key,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
except ImportError as problem:  # pragma: no cover  a test replaces the module
    raise ImportError(f"the saver for LangGraph needs it: {install_extra('langgraph')}") from problem

from branchline.errors import InvalidArgument
from branchline.integrations.checkpoint_rows import Run, markers, open_rows
from branchline.integrations.langgraph_mirror import ThreadMirror
from branchline.integrations.shared_lists import ListPath, Segment, joined, new_segment, split_items
from branchline.integrations.threads import Worker

__all__ = ["BranchlineSaver"]

_INLINE = 4 << 10
"""Maximum bytes of a checkpoint that is stored in one row."""
_LARGE = 1 << 10
"""Minimum bytes of a value that is stored separately, and only once."""
_SMALL_TYPES = (type(None), bool, int, float)
_CACHED_LISTS = 32
"""Number of lists cached in memory, so that the next put need not read them."""
_PUT = (
    "INSERT INTO {lg}checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (space, thread, ns, id) DO UPDATE SET parent = excluded.parent, run = excluded.run, "
    "kind = excluded.kind, head = excluded.head, refs = excluded.refs, metadata = excluded.metadata"
)
_dump_json = json.JSONEncoder(ensure_ascii=False).encode
_COLUMNS = "thread, ns, id, parent, kind, head, refs, metadata"


class _KnownList(NamedTuple):
    checkpoint: str
    path: ListPath
    items: list[bytes]


class _Parts(NamedTuple):
    """A checkpoint as stored: a head, and the separately stored parts."""

    kind: str
    head: bytes
    refs: dict[str, list[int] | str]
    segments: list[Segment]
    values: dict[str, tuple[str, bytes]]
    lists: dict[str, tuple[ListPath, list[bytes]]]


class BranchlineSaver(BaseCheckpointSaver[Any]):
    """A checkpointer with all methods of LangGraph's interface, blocking and async. Threads may share it.

    For PostgreSQL call :meth:`setup` once, as for LangGraph's own saver; a file is set up automatically. With
    ``mirror=True`` the messages of each thread are also stored as a session in the same database.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        serde: SerializerProtocol | None = None,
        mirror: bool = False,
    ) -> None:
        super().__init__(serde=serde)
        self._rows = open_rows(where)
        self._mirror = ThreadMirror(where) if mirror else None
        self._space = self._rows.space
        self._worker = Worker()
        self._known: OrderedDict[tuple[str, str, str], _KnownList] = OrderedDict()
        self._long: set[tuple[str, str]] = set()
        self._guard = threading.Lock()

    def setup(self) -> None:
        """Create the tables if they do not exist."""
        self._rows.setup()

    def close(self) -> None:
        self._rows.close()
        if self._mirror is not None:
            self._mirror.close()

    # -- writing ----------------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and return its config."""
        del new_versions  # changes are detected from the values
        thread, ns = _thread_and_namespace(config)
        stored = self._put(config, thread, ns, checkpoint, metadata)
        if self._mirror is not None and not ns:
            with self._guard:
                self._mirror.show(thread, checkpoint["channel_values"])
        return stored

    def _put(
        self,
        config: RunnableConfig,
        thread: str,
        ns: str,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
    ) -> RunnableConfig:
        parent = get_checkpoint_id(config)
        metadata_fields = get_checkpoint_metadata(config, metadata)
        encoded = _dump_json(metadata_fields).encode("utf-8", "ignore")
        place = (self._space, thread, ns, checkpoint["id"], parent, metadata_fields.get("run_id"))
        if (thread, ns) not in self._long:
            kind, head = self.serde.dumps_typed(checkpoint)
            if len(head) <= _INLINE:
                self._rows.write_one(_PUT, *place, kind, head, None, encoded)
                return _config(thread, ns, checkpoint["id"])
            self._long.add((thread, ns))
        parts = self._parts(thread, ns, parent, checkpoint)
        with self._rows.write(thread) as run:
            if parts.segments and not self._parents_exist(run, thread, parts.segments):
                self._forget(thread)  # the thread was pruned concurrently
                parts = self._parts(thread, ns, None, checkpoint)
            for segment in parts.segments:
                run("INSERT INTO {lg}segment VALUES (?, ?, ?, ?, ?, ?, ?)", self._space, thread, *segment)
            for hashed, value in parts.values.items():
                run(
                    "INSERT INTO {lg}value VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    self._space, thread, hashed, *value,
                )  # fmt: skip
            refs = json.dumps(parts.refs) if parts.refs else None
            run(_PUT, *place, parts.kind, parts.head, refs, encoded)
        self._remember(thread, ns, checkpoint["id"], parts)
        return _config(thread, ns, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task after a checkpoint.

        Errors, interrupts and resumes replace earlier ones.
        """
        thread, ns = _thread_and_namespace(config)
        conflict = "DO NOTHING"
        if all(channel in WRITES_IDX_MAP for channel, _value in writes):
            conflict = (
                "(space, thread, ns, checkpoint, task, idx) DO UPDATE SET path = excluded.path, "
                "channel = excluded.channel, kind = excluded.kind, data = excluded.data"
            )
        statement = f"INSERT INTO {{lg}}write VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT {conflict}"
        rows = [
            (self._space, thread, ns, get_checkpoint_id(config), task_id, WRITES_IDX_MAP.get(channel, number),
             task_path, channel, *self.serde.dumps_typed(value))
            for number, (channel, value) in enumerate(writes)
        ]  # fmt: skip
        with self._rows.write(thread) as run:
            for row in rows:
                run(statement, *row)

    # -- reading ----------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the latest one of its thread.

        None if there is none.
        """
        thread, ns = _thread_and_namespace(config)
        wanted, values = "space = ? AND thread = ? AND ns = ?", [self._space, thread, ns]
        if (named := get_checkpoint_id(config)) is not None:
            wanted, values = f"{wanted} AND id = ?", [*values, named]
        rows = self._rows.read(
            f"SELECT {_COLUMNS} FROM {{lg}}checkpoint WHERE {wanted} ORDER BY id DESC LIMIT 1", *values
        )
        return self._tuple(rows[0], {}) if rows else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, or of all threads, newest first."""
        wanted, values = ["space = ?"], [self._space]
        if config is not None:
            named = {"thread": str(config["configurable"]["thread_id"])}
            if (ns := config["configurable"].get("checkpoint_ns")) is not None:
                named["ns"] = ns
            if (checkpoint := get_checkpoint_id(config)) is not None:
                named["id"] = checkpoint
            wanted += [f"{column} = ?" for column in named]
            values += named.values()
        if before is not None and (end := get_checkpoint_id(before)) is not None:
            wanted.append("id < ?")
            values.append(end)
        segments: dict[tuple[str, int], Segment] = {}
        for row in self._matching(" AND ".join(wanted), values, filter, limit):
            found = self._tuple(row, segments)
            if found is not None:
                yield found

    def _matching(
        self, wanted: str, values: Sequence[Any], metadata_fields: dict[str, Any] | None, limit: int | None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that match a condition and metadata, read in pages."""
        left = limit
        last: tuple[str, ...] = ()
        while left is None or left > 0:
            size = 100 if left is None or metadata_fields else min(left, 100)
            after = "AND (id < ? OR (id = ? AND (thread > ? OR (thread = ? AND ns > ?))))" if last else ""
            page = self._rows.read(
                f"SELECT {_COLUMNS} FROM {{lg}}checkpoint WHERE {wanted} {after} "
                f"ORDER BY id DESC, thread, ns LIMIT {size}",
                *values,
                *last,
            )
            for row in page:
                if metadata_fields and not _matches(json.loads(row[7]), metadata_fields):
                    continue
                yield row
                if left is not None:
                    left -= 1
                    if not left:
                        return
            if len(page) < size:
                return
            thread, ns, end = page[-1][:3]
            last = (end, end, thread, thread, ns)

    # -- deleting and copying ---------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        thread = str(thread_id)
        with self._rows.write(thread) as run:
            for table in ("checkpoint", "write", "segment", "value"):
                run(f"DELETE FROM {{lg}}{table} WHERE space = ? AND thread = ?", self._space, thread)
        self._forget(thread)
        if self._mirror is not None:
            with self._guard:
                self._mirror.remove(thread)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs, and the data that only they used."""
        if not run_ids:
            return
        found = self._rows.read(
            f"SELECT thread, ns, id FROM {{lg}}checkpoint WHERE space = ? AND run IN ({markers(run_ids)})",
            self._space,
            *run_ids,
        )
        deleted: dict[str, builtins.list[tuple[str, str]]] = {}
        for thread, ns, checkpoint in found:
            deleted.setdefault(thread, []).append((ns, checkpoint))
        for thread, checkpoints in deleted.items():
            with self._rows.write(thread) as run:
                self._delete(run, thread, checkpoints)
            self._forget(thread)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; existing checkpoints of the target with the same ids are kept."""
        source, target = str(source_thread_id), str(target_thread_id)
        columns = {
            "segment": "id, parent, base, sizes, data",
            "value": "hash, kind, data",
            "checkpoint": "ns, id, parent, run, kind, head, refs, metadata",
            "write": "ns, checkpoint, task, idx, path, channel, kind, data",
        }
        with self._rows.write(target) as run:
            for table, names in columns.items():
                run(
                    f"INSERT INTO {{lg}}{table} (space, thread, {names}) "
                    f"SELECT space, CAST(? AS TEXT), {names} FROM {{lg}}{table} "
                    "WHERE space = ? AND thread = ? ON CONFLICT DO NOTHING",
                    target, self._space, source,
                )  # fmt: skip
        self._forget(target)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the latest checkpoint of each namespace, or with ``"delete"`` everything.

        With DeltaChannel, ancestors that are needed to rebuild the latest state are kept.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InvalidArgument(f"unknown strategy {strategy!r}: use 'keep_latest' or 'delete'")
        for thread in map(str, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread)
                continue
            with self._rows.write(thread) as run:
                rows = run(
                    f"SELECT {_COLUMNS} FROM {{lg}}checkpoint "
                    "WHERE space = ? AND thread = ? ORDER BY id DESC",
                    self._space, thread,
                )  # fmt: skip
                kept = self._needed(rows)
                self._delete(run, thread, [(row[1], row[2]) for row in rows if (row[1], row[2]) not in kept])
            self._forget(thread)

    def _needed(self, rows: Sequence[tuple[Any, ...]]) -> set[tuple[str, str]]:
        """Return the latest checkpoint of each namespace, and the ancestors of its delta channels."""
        by_id = {(row[1], row[2]): row for row in rows}
        kept: set[tuple[str, str]] = set()
        for row in {row[1]: row for row in reversed(rows)}.values():
            here: tuple[Any, ...] | None = row
            waiting = set(json.loads(row[7]).get("counters_since_delta_snapshot") or ())
            while here is not None:
                kept.add((here[1], here[2]))
                stored = set(self.serde.loads_typed((here[4], here[5]))["channel_values"])
                waiting -= stored | set(json.loads(here[6] or "{}"))
                here = by_id.get((here[1], here[3])) if waiting else None
        return kept

    def _delete(self, run: Run, thread: str, checkpoints: Iterable[tuple[str, str]]) -> None:
        """Delete checkpoints, their writes, and segments and values that are no longer used."""
        for ns, checkpoint in checkpoints:
            place = (self._space, thread, ns, checkpoint)
            run("DELETE FROM {lg}checkpoint WHERE space = ? AND thread = ? AND ns = ? AND id = ?", *place)
            run("DELETE FROM {lg}write WHERE space = ? AND thread = ? AND ns = ? AND checkpoint = ?", *place)
        used: set[int | str | None] = set()
        where = "WHERE space = ? AND thread = ?"
        for (refs,) in run(
            f"SELECT refs FROM {{lg}}checkpoint {where} AND refs IS NOT NULL", self._space, thread
        ):
            used.update(ref if isinstance(ref, str) else ref[0] for ref in json.loads(refs).values())
        parents: dict[Any, Any] = dict(
            run(f"SELECT id, parent FROM {{lg}}segment {where}", self._space, thread)
        )
        for segment in [one for one in used if one in parents]:
            above = parents[segment]
            while above is not None and above not in used:
                used.add(above)
                above = parents[above]
        hashes = [hashed for (hashed,) in run(f"SELECT hash FROM {{lg}}value {where}", self._space, thread)]
        for table, column, names in (("segment", "id", parents), ("value", "hash", hashes)):
            for name in [name for name in names if name not in used]:
                run(f"DELETE FROM {{lg}}{table} {where} AND {column} = ?", self._space, thread, name)

    # -- parts of a checkpoint --------------------------------------------------------------------------

    def _parts(self, thread: str, ns: str, parent: str | None, checkpoint: Checkpoint) -> _Parts:
        inline: dict[str, Any] = {}
        parts = _Parts("", b"", {}, [], {}, {})
        for channel, value in checkpoint["channel_values"].items():
            if type(value) is list and (items := self._items(value)) is not None:
                path = self._list_path((thread, ns, channel), parent, items, parts.segments)
                parts.refs[channel] = [*path]
                parts.lists[channel] = (path, items)
            elif isinstance(value, _SMALL_TYPES) or (isinstance(value, str) and len(value) < _LARGE // 4):
                inline[channel] = value
            else:
                typed = self.serde.dumps_typed(value)
                if len(typed[1]) < _LARGE:
                    inline[channel] = value
                else:
                    hashed = hashlib.blake2b(typed[0].encode() + typed[1], digest_size=16).hexdigest()
                    parts.refs[channel] = hashed
                    parts.values[hashed] = typed
        kind, head = self.serde.dumps_typed({**checkpoint, "channel_values": inline})
        return parts._replace(kind=kind, head=head)

    def _items(self, value: builtins.list[Any]) -> builtins.list[bytes] | None:
        """Serialize the items of a list one by one; None if the list should be stored as a whole."""
        if not isinstance(self.serde, JsonPlusSerializer):
            return None  # encryption gives different bytes for the same item
        items = []
        total = 0
        for item in value:
            kind, data = self.serde.dumps_typed(item)
            if kind != "msgpack":
                return None
            total += len(data)
            items.append(data)
        return items if total >= _LARGE else None

    def _list_path(
        self,
        place: tuple[str, str, str],
        parent: str | None,
        items: builtins.list[bytes],
        segments: builtins.list[Segment],
    ) -> ListPath:
        """Return the path of a list; new items are added to ``segments``."""
        known = self._known_list(place, parent)
        common = 0
        if known is not None:
            before = known.items
            if items[: len(before)] == before:
                common = len(before)
            else:
                pairs = enumerate(zip(items, before, strict=False))
                common = next((at for at, (one, two) in pairs if one != two), min(len(items), len(before)))
            if common == len(items):
                return ListPath(known.path.segment, common)
        segment = new_segment(items, None if known is None else known.path, common)
        segments.append(segment)
        return ListPath(segment.id, len(items))

    def _known_list(self, place: tuple[str, str, str], parent: str | None) -> _KnownList | None:
        """Return the list of a channel in the parent checkpoint."""
        if parent is None:
            return None
        with self._guard:
            known = self._known.get(place)
        if known is not None and known.checkpoint == parent:
            return known
        thread, ns, channel = place
        rows = self._rows.read(
            "SELECT refs FROM {lg}checkpoint WHERE space = ? AND thread = ? AND ns = ? AND id = ?",
            self._space, thread, ns, parent,
        )  # fmt: skip
        ref = json.loads(rows[0][0] or "{}").get(channel) if rows else None
        if not isinstance(ref, list):
            return None
        path = ListPath(*ref)
        segments: dict[tuple[str, int], Segment] = {}
        return _KnownList(parent, path, split_items(path, self._segments(thread, path, segments)))

    def _parents_exist(self, run: Run, thread: str, segments: Sequence[Segment]) -> bool:
        parents = {segment.parent for segment in segments if segment.parent is not None}
        if not parents:
            return True
        found = run(
            f"SELECT count(*) FROM {{lg}}segment WHERE space = ? AND thread = ? "
            f"AND id IN ({markers([*parents])})",
            self._space, thread, *parents,
        )  # fmt: skip
        return bool(found[0][0] == len(parents))

    def _remember(self, thread: str, ns: str, checkpoint: str, parts: _Parts) -> None:
        with self._guard:
            for channel, (path, items) in parts.lists.items():
                self._known[thread, ns, channel] = _KnownList(checkpoint, path, items)
                self._known.move_to_end((thread, ns, channel))
            while len(self._known) > _CACHED_LISTS:
                self._known.popitem(last=False)

    def _forget(self, thread: str) -> None:
        with self._guard:
            for place in [place for place in self._known if place[0] == thread]:
                del self._known[place]

    def _tuple(
        self, row: tuple[Any, ...], segments: dict[tuple[str, int], Segment]
    ) -> CheckpointTuple | None:
        """Build LangGraph's checkpoint from a row; ``segments`` is a cache."""
        thread, ns, checkpoint, parent, kind, head, refs, metadata = row
        found: Checkpoint = self.serde.loads_typed((kind, head))
        for channel, ref in json.loads(refs or "{}").items():
            if isinstance(ref, str):
                stored = self._rows.read(
                    "SELECT kind, data FROM {lg}value WHERE space = ? AND thread = ? AND hash = ?",
                    self._space, thread, ref,
                )  # fmt: skip
                if not stored:
                    return None  # deleted concurrently
                found["channel_values"][channel] = self.serde.loads_typed(stored[0])
            else:
                path = ListPath(*ref)
                try:
                    data = joined(path, self._segments(thread, path, segments))
                except KeyError:
                    return None  # deleted concurrently
                found["channel_values"][channel] = self.serde.loads_typed(("msgpack", data))
        writes = self._rows.read(
            "SELECT path, task, idx, channel, kind, data FROM {lg}write "
            "WHERE space = ? AND thread = ? AND ns = ? AND checkpoint = ?",
            self._space, thread, ns, checkpoint,
        )  # fmt: skip
        writes.sort(key=lambda write: writes_sort_key(*write[:3]))
        return CheckpointTuple(
            config=_config(thread, ns, checkpoint),
            checkpoint=found,
            metadata=json.loads(metadata),
            parent_config=None if parent is None else _config(thread, ns, parent),
            pending_writes=[
                (task, channel, self.serde.loads_typed((type_, data)))
                for _path, task, _index, channel, type_, data in writes
            ],
        )

    def _segments(
        self, thread: str, path: ListPath, known: dict[tuple[str, int], Segment]
    ) -> dict[int, Segment]:
        """Return the segments of a path; missing ones are read in one statement."""
        found: dict[int, Segment] = {}
        here: int | None = path.segment
        while here is not None:
            segment = known.get((thread, here))
            if segment is None:
                rows = self._rows.read(
                    "WITH RECURSIVE path (id, parent, base, sizes, data) AS ("
                    "SELECT id, parent, base, sizes, data FROM {lg}segment "
                    "WHERE space = ? AND thread = ? AND id = ? "
                    "UNION ALL SELECT s.id, s.parent, s.base, s.sizes, s.data FROM path "
                    "JOIN {lg}segment s ON s.space = ? AND s.thread = ? AND s.id = path.parent) "
                    "SELECT id, parent, base, sizes, data FROM path",
                    self._space, thread, here, self._space, thread,
                )  # fmt: skip
                known.update(((thread, row[0]), Segment(*row)) for row in rows)
                segment = known.get((thread, here))
                if segment is None:
                    break
            found[here] = segment
            here = segment.parent
        return found

    # -- async ------------------------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._worker.run(lambda: self.put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._worker.run(lambda: self.put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._worker.run(lambda: self.delete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._worker.run(lambda: self.delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._worker.run(lambda: self.copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self._worker.run(lambda: self.prune(thread_ids, strategy=strategy))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next version: an integer, or text if another saver wrote the current one as text."""
        if isinstance(current, str):
            return f"{int(current.partition('.')[0]) + 1:032}"
        return super().get_next_version(current, channel)


def _thread_and_namespace(config: RunnableConfig) -> tuple[str, str]:
    named = config["configurable"]
    return str(named["thread_id"]), str(named.get("checkpoint_ns", ""))


def _config(thread: str, ns: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint}}


def _matches(metadata: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())
