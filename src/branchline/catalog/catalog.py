"""The catalog: what session files said when they were last read, kept in one SQLite file.

It answers quickly and is never trusted: callers compare the stamp of each file with the file itself. Several
processes may use it at once; each change is one transaction. A method that fails raises CatalogUnavailable,
and the caller reads the files instead.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import msgspec

from branchline import places, settings
from branchline.catalog.database import (
    CatalogOff,
    CatalogUnavailable,
    connect,
    database_path,
    delete_database,
    in_memory,
    is_damage,
    release,
)
from branchline.catalog.record import (
    CatalogFile,
    FileRecord,
    FileUpdate,
    TextUpdate,
    decode_record,
    record_fields,
)
from branchline.context.timestamps import milliseconds
from branchline.stores import FileStamp, FileState, gone

if TYPE_CHECKING:
    import sqlite3

    from branchline.catalog.documents import Document, Spending

__all__ = ["Catalog", "CatalogStatus"]

_MANY = 400  # paths that are asked for one by one; of more, the whole table is read
_FILE = (
    "id, device, inode, size, modified_ns, changed_ns, checked_ns, consumed, tail, indexed, entries,"
    " shape, record, path"
)
_REBUILD_SHARE = 0.2
_PAGE_OF_ROWS = 200  # that are read from the database at once
_encode = msgspec.msgpack.Encoder().encode


class CatalogStatus(msgspec.Struct, frozen=True):
    """The contents of the catalog, in numbers."""

    path: str
    files: int
    indexed: int
    """Files whose text is in the index."""
    documents: int
    dead: int
    """Documents of the index that belong to no file any more."""
    bytes: int
    text_bytes: int
    """Bytes of session files whose text is in the index."""


class Catalog:
    """An open catalog, for a ``with`` block. Not to be shared by threads."""

    def __init__(
        self, connection: sqlite3.Connection, directory: str | None, excluded: Sequence[str] = ()
    ) -> None:
        """``directory`` is None for a catalog in memory, which has no full-text index."""
        self.connection = connection
        self.directory = directory
        self._excluded = tuple(excluded)
        self._is_damaged = False

    @classmethod
    def open(
        cls,
        *,
        environment: Mapping[str, str] | None = None,
        home: str | None = None,
        create: bool = True,
    ) -> Self:
        """Open the catalog of this user, or of another home directory. Raises CatalogUnavailable."""
        wanted = settings.load(environment).settings
        if not wanted.index:
            raise CatalogOff("it is turned off (setting `index`)")
        directory = places.cache_directory(environment, home)
        return cls(connect(directory, create=create), directory, wanted.index_exclude)

    @classmethod
    def in_memory(cls) -> Self:
        """Return a catalog without file and full-text index, for sums if there can be no other."""
        return cls(in_memory(), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the connection."""
        if self.directory is None or self._is_damaged:
            self.connection.close()
        else:
            release(self.directory, self.connection)

    def excludes(self, path: str) -> bool:
        """Return whether the settings exclude this file."""
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self._excluded) or not _is_text(path)

    # -- looking --------------------------------------------------------------------------------------

    def files(self, paths: Sequence[str] | None = None) -> dict[str, CatalogFile]:
        """Return the entries of these files, or of all."""
        paths = None if paths is None else [path for path in paths if _is_text(path)]
        if paths is not None and not paths:
            return {}
        with self.guarded():
            if paths is None or len(paths) > _MANY:
                rows = self.connection.execute(f"SELECT {_FILE} FROM file")
            else:
                marks = ",".join("?" * len(paths))
                query = f"SELECT {_FILE} FROM file WHERE path IN ({marks})"
                rows = self.connection.execute(query, paths)
            return {row[-1]: CatalogFile(*row[:-1]) for row in rows}

    def states(self, paths: Sequence[str] | None = None, *, with_text: bool = False) -> dict[str, FileState]:
        """Return the states in which these files, or all, were read, without those that may have changed.

        With ``with_text``, only files whose text is in the index.
        """
        query = "SELECT path, settled, id FROM file WHERE settled IS NOT NULL"
        if with_text:
            query += " AND indexed = consumed"
        values: Sequence[str] = ()
        if paths is not None and len(paths) <= _MANY:
            values = [path for path in paths if _is_text(path)]
            query += f" AND path IN ({','.join('?' * len(values))})"
        with self.guarded():
            return {row[0]: FileState(*row) for row in self.connection.execute(query, values)}

    def latest(self) -> Iterator[FileRecord]:
        """Yield the records of files, last used first; they may have changed since."""
        with self.guarded():
            rows = self.connection.execute(
                "SELECT record FROM file WHERE active_ms IS NOT NULL ORDER BY active_ms DESC"
            )
            while some := rows.fetchmany(_PAGE_OF_ROWS):
                yield from [decode_record(record) for (record,) in some]

    def records(self, numbers: Iterable[int]) -> dict[int, FileRecord]:
        """Return the records of the files with these numbers, by number."""
        query = f"SELECT id, record FROM file WHERE id IN ({','.join(map(str, numbers))})"
        with self.guarded():
            return {number: decode_record(record) for number, record in self.connection.execute(query)}

    def activity(self) -> dict[int, int]:
        """Return when the sessions in the files were last used, in Unix milliseconds, by number."""
        with self.guarded():
            rows = self.connection.execute("SELECT id, active_ms FROM file WHERE active_ms IS NOT NULL")
            return dict(rows.fetchall())

    def count(self) -> int:
        """Return the number of known files."""
        with self.guarded():
            (count,) = self.connection.execute("SELECT count(*) FROM file").fetchone()
            return int(count)

    def numbers(self) -> set[int]:
        """Return the numbers of all files."""
        with self.guarded():
            return {number for (number,) in self.connection.execute("SELECT id FROM file")}

    def reading_of(self, file: CatalogFile) -> bytes | None:
        """Return the saved index of a log, as far as its text is in the catalog; None without one."""
        with self.guarded():
            row = self.connection.execute(
                "SELECT data FROM reading WHERE file = ? AND consumed = ?", (file.id, file.indexed)
            ).fetchone()
            return None if row is None or not file.is_indexed else row[0]

    def git_branches(self) -> dict[int, str]:
        """Return the git branches of files that name one."""
        with self.guarded():
            rows = self.connection.execute("SELECT id, git_branch FROM file WHERE git_branch IS NOT NULL")
            return dict(rows.fetchall())

    def status(self) -> CatalogStatus:
        """Return the size of the catalog."""
        with self.guarded():
            one = self.connection.execute
            files, indexed, text = one(
                "SELECT count(*), total(indexed = consumed), total(max(indexed, 0)) FROM file"
            ).fetchone()
            documents = one("SELECT count(*) FROM doc").fetchone()[0]
            dead = self._meta("dead")
        path = "" if self.directory is None else database_path(self.directory)
        size = sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))
        return CatalogStatus(path, files, int(indexed), documents, dead, size, int(text))

    @property
    def wants_rebuild(self) -> bool:
        """Whether so much of the index is dead that it should be rebuilt."""
        with self.guarded():
            (documents,) = self.connection.execute("SELECT count(*) FROM doc").fetchone()
            return bool(self._meta("dead") > max(1000, _REBUILD_SHARE * documents))

    # -- changing -------------------------------------------------------------------------------------

    def put(self, updates: Iterable[FileUpdate]) -> None:
        """Store files that were read, all or none. Keeps what another process stored meanwhile."""
        ready = []
        for update in updates:
            if not self.excludes(update.path):
                fields = record_fields(update.record)
                try:
                    record = _encode(fields)
                except (UnicodeEncodeError, OverflowError):
                    # Half a surrogate pair, or a huge number: lists read such a file every time.
                    update = msgspec.structs.replace(update, checked_ns=0)  # noqa: PLW2901
                    record = _encode(_cleaned(fields))
                ready.append((update, record, _prepared(update.text)))
        if not ready:
            return
        with self.guarded(), self.transaction():
            for update, record, texts in ready:
                self._put(update, record, texts)

    def adopt(self, path: str, stamp: FileStamp) -> CatalogFile | None:
        """Return the entry of a file that was moved to this path; None for a new file."""
        with self.guarded():
            moved = self.connection.execute(
                "SELECT id, path FROM file WHERE inode = ? AND device = ?", (stamp.inode, stamp.device)
            ).fetchone()
            if moved is None or not gone([moved[1]]) or self.excludes(path):
                return None
            self.connection.execute("UPDATE OR IGNORE file SET path = ? WHERE id = ?", (path, moved[0]))
            known = self.files([path]).get(path)
        if known is None or known.modified_ns != stamp.modified_ns:
            return known
        return msgspec.structs.replace(known, changed_ns=stamp.changed_ns)  # moving a file sets this time

    def forget(self, paths: Iterable[str]) -> int:
        """Drop files and return how many were known."""
        with self.guarded(), self.transaction():
            found = 0
            for path in paths:
                row = self.connection.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
                if row is not None:
                    self._drop_text(row[0])
                    self.connection.execute("DELETE FROM file WHERE id = ?", row)
                    found += 1
            return found

    def forget_gone(self) -> int:
        """Drop deleted and excluded files and return how many."""
        with self.guarded():
            known = [path for (path,) in self.connection.execute("SELECT path FROM file")]
        missing = gone(known)
        return self.forget(path for path in known if path in missing or self.excludes(path))

    def settle(self) -> None:
        """Move the write-ahead log into the database, as when the last connection is closed."""
        with self.guarded():
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @staticmethod
    def delete(environment: Mapping[str, str] | None = None, home: str | None = None) -> None:
        """Delete the catalog from the disk."""
        delete_database(places.cache_directory(environment, home))

    # -- inside ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Convert SQLite errors to CatalogUnavailable; deletes a damaged file."""
        import sqlite3  # noqa: PLC0415  loaded by now

        try:
            yield
        except (sqlite3.Error, OverflowError) as problem:
            if is_damage(problem) and self.directory is not None:
                self._is_damaged = True
                self.connection.close()
                delete_database(self.directory)
                raise CatalogUnavailable(f"it was damaged ({problem}) and has been deleted") from problem
            raise CatalogUnavailable(str(problem)) from problem

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the changes of a ``with`` block together, or none of them."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _meta(self, key: str) -> int:
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return 0 if row is None else int(row[0])

    def _set_meta(self, key: str, value: int) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _put(self, update: FileUpdate, record: bytes, texts: list[tuple[str, str]]) -> None:
        row = self.connection.execute(
            "SELECT id, indexed, entries, consumed FROM file WHERE path = ?", (update.path,)
        ).fetchone()
        file, indexed, entries = (0, -1, 0) if row is None else row[:3]
        text = update.text
        if row is not None and update.base != file:
            if indexed >= 0:
                self._drop_text(file)
            indexed, entries = -1, 0
        if text is not None and text.start not in (0, entries):
            text = None  # another process was here: the rest is for the next time
        if row is not None and update.consumed < row[3] and update.base == file:
            return  # another process has read more of it
        fields = _fields(update, text) | {"record": record}
        if row is None:
            fields |= {"indexed": -1}
            names, marks = ", ".join(fields), ", ".join("?" * len(fields))
            made = self.connection.execute(
                f"INSERT INTO file ({names}) VALUES ({marks})",
                list(fields.values()),
            )
            file = int(made.lastrowid or 0)
        else:
            fields |= {"indexed": indexed}
            changes = ", ".join(f"{name} = ?" for name in fields)
            self.connection.execute(
                f"UPDATE file SET {changes} WHERE id = ?",
                [*fields.values(), file],
            )
        if text is not None:
            if not text.start and entries:
                self._drop_text(file)
            self._add_text(file, text, texts)
            if update.reading is not None:
                self.connection.execute(
                    "INSERT OR REPLACE INTO reading VALUES (?, ?, ?)", (file, update.consumed, update.reading)
                )

    def _add_text(self, file: int, text: TextUpdate, texts: list[tuple[str, str]]) -> None:
        run, many = self.connection.execute, self.connection.executemany
        first = self._meta("next_doc") or 1
        documents = text.documents
        counted = self._counted(file, documents)
        many(
            "INSERT INTO doc VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    number,
                    file,
                    _clean(one.entry),
                    one.position,
                    one.offset,
                    one.length,
                    one.type,
                    _clean(one.role),
                    _clean(one.tool_names),
                    _clean(one.model),
                    one.ms,
                    one.on_path,
                    one.mark,
                    count,
                    one.failed,
                    _has_text(one.said),
                    _has_text(one.tools),
                )
                for number, (one, count) in enumerate(zip(documents, counted, strict=True), first)
            ],
        )
        if self.directory is not None:
            many(
                "INSERT INTO text (rowid, said, tools) VALUES (?, ?, ?)",
                [(number, *pair) for number, pair in enumerate(texts, first) if pair != ("", "")],
            )
        self._add_usage(
            file,
            [
                (number, one.spending, count == 1)
                for number, (one, count) in enumerate(zip(documents, counted, strict=True), first)
                if one.spending is not None
            ],
        )
        many(
            "INSERT INTO touched VALUES (?, ?, ?)",
            [
                (file, number, _clean(path))
                for number, one in enumerate(documents, first)
                for path in one.files
            ],
        )
        self._set_meta("next_doc", first + len(documents))
        self._add_run(file, first, first + len(documents) - 1)
        self._pass_on(file, first)
        run("DELETE FROM label WHERE file = ?", (file,))
        many(
            "INSERT INTO label VALUES (?, ?, ?)",
            [(file, _clean(entry), _clean(words)) for entry, words in text.labels.items()],
        )
        if text.off_path is not None:
            self._set_paths(file, text.start, text.off_path)
        self._set_spending(file, text.spending)
        run(
            "UPDATE file SET indexed = ?, entries = ?, shape = ?, rolled = 0 WHERE id = ?",
            (text.consumed, text.entries, text.shape, file),
        )

    def _add_run(self, file: int, first: int, last: int) -> None:
        """Note that these documents are of one file: a search tells the file of a match by it."""
        if last < first:
            return
        run = self.connection.execute
        before = run("SELECT file, last FROM run ORDER BY first DESC LIMIT 1").fetchone()
        if before == (file, first - 1):
            run("UPDATE run SET last = ? WHERE first = (SELECT max(first) FROM run)", (last,))
        else:
            run("INSERT INTO run VALUES (?, ?, ?)", (first, last, file))

    def _counted(self, file: int, documents: list[Document]) -> list[int]:
        """Return for each document whether it counts (1), is a copy of one that does (0), or never counts.

        A copy counts in the file that precedes the others, whichever of them was read first.
        """
        marks = [one.mark for one in documents if not one.state]
        known: set[int] = set()
        later: list[tuple[int, int]] = []
        own = self._precedence(file)
        for start in range(0, len(marks), _MANY):
            some = marks[start : start + _MANY]
            found = self.connection.execute(
                "SELECT doc.mark, doc.id, doc.file, file.precedence FROM doc JOIN file ON file.id = doc.file"
                f" WHERE doc.mark IN ({','.join('?' * len(some))}) AND doc.counted = 1",
                some,
            )
            for mark, doc, other, precedence in found:
                if other != file and own < precedence:
                    later.append((doc, other))
                else:
                    known.add(mark)
        self._hand_over(later)
        counted = []
        for one in documents:
            counted.append(one.state or int(one.mark not in known))
            known.add(one.mark)
        return counted

    def _precedence(self, file: int) -> str:
        (found,) = self.connection.execute("SELECT precedence FROM file WHERE id = ?", (file,)).fetchone()
        return str(found)

    def _hand_over(self, copies: Sequence[tuple[int, int]]) -> None:
        """Let these documents of files not count any more: a file that precedes theirs has them too."""
        run, many = self.connection.execute, self.connection.executemany
        many("UPDATE doc SET counted = 0 WHERE id = ?", [(doc,) for doc, _file in copies])
        many("UPDATE file SET rolled = 0 WHERE id = ?", {(file,) for _doc, file in copies})
        for doc, _file in copies:
            spent = run("SELECT answer FROM usage WHERE doc = ? AND counted", (doc,)).fetchone()
            if spent is None:
                continue
            run("UPDATE usage SET counted = 0 WHERE doc = ?", (doc,))
            # Another record of the same answer may have been left out because of this one.
            best = run(
                "SELECT usage.doc, usage.file, max(usage.output) FROM usage JOIN doc ON doc.id = usage.doc"
                " WHERE usage.answer = ? AND doc.counted = 1",
                spent,
            ).fetchone()
            if best[0] is not None:
                run("UPDATE usage SET counted = 1 WHERE doc = ?", best[:1])
                run("UPDATE file SET rolled = 0 WHERE id = ?", best[1:2])

    def _pass_on(self, file: int, first: int) -> None:
        """Let copies of entries that count in another session, under other ids, not count either.

        A session that went from pi to Codex and back has the ids of Codex for entries that pi counts. Looks
        at the documents from ``first`` on, and at those of other files that they say this of.
        """
        copies = self.connection.execute(
            "SELECT doc.id FROM doc JOIN file ON file.id = doc.file"
            " WHERE (doc.id >= ?2 AND doc.file = ?1"
            " OR doc.mark IN (SELECT mark FROM doc WHERE id >= ?2 AND file = ?1 AND counted = -2))"
            " AND doc.counted IN (0, 1) AND file.parent IS NOT NULL AND doc.ms < file.created_ms"
            " AND EXISTS (SELECT 1 FROM doc AS other WHERE other.mark = doc.mark AND other.counted = -2)",
            (file, first),
        ).fetchall()
        many = self.connection.executemany
        many("UPDATE doc SET counted = -2 WHERE id = ?", copies)
        many("UPDATE usage SET counted = 0 WHERE doc = ?", copies)
        many("UPDATE file SET rolled = 0 WHERE id = (SELECT file FROM doc WHERE id = ?)", copies)

    def _set_paths(self, file: int, end: int, off_path: Sequence[int]) -> None:
        """Update which of the documents before ``end`` are on the active path."""
        wanted = set(off_path)
        known = {
            position
            for (position,) in self.connection.execute(
                "SELECT position FROM doc WHERE file = ? AND position < ? AND NOT on_path", (file, end)
            )
        }
        changed = [(position not in wanted, file, position) for position in known ^ wanted]
        self.connection.executemany("UPDATE doc SET on_path = ? WHERE file = ? AND position = ?", changed)

    def _add_usage(self, file: int, spent: list[tuple[int, Spending, bool]]) -> None:
        """Store the usage of documents. Of the records of one answer, the one with the most output counts."""
        run, many = self.connection.execute, self.connection.executemany
        answers = [one.answer for _doc, one, counts in spent if counts and one.answer is not None]
        best: dict[int, tuple[int, float]] = {}
        own = self._precedence(file) if answers else ""
        for start in range(0, len(answers), _MANY):
            some = answers[start : start + _MANY]
            found = run(
                "SELECT answer, doc, output, file.id = ? OR file.precedence <= ? FROM usage"
                " JOIN file ON file.id = usage.file"
                f" WHERE answer IN ({','.join('?' * len(some))}) AND counted",
                (file, own, *some),
            )
            # Of equal copies, that of the file that precedes the other one counts.
            best.update(
                (answer, (doc, output if before else output - 0.5)) for answer, doc, output, before in found
            )
        before = set(best.values())
        rows: dict[int, list[Any]] = {}
        for doc, one, counts in spent:
            row = rows[doc] = [doc, file, _clean(one.model), *one[1:], counts]
            if counts and one.answer is not None:
                other, output = best.get(one.answer, (0, -1.0))
                if output >= one.output:
                    row[-1] = False
                    continue
                if other in rows:
                    rows[other][-1] = False
                best[one.answer] = (doc, one.output)
        many("INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows.values())
        for doc, _output in before.difference(best.values()):
            run("UPDATE usage SET counted = 0 WHERE doc = ?", (doc,))
            run("UPDATE file SET rolled = 0 WHERE id = (SELECT file FROM usage WHERE doc = ?)", (doc,))

    def _set_spending(self, file: int, spending: Mapping[int, Spending | None]) -> None:
        """Replace the usage of these documents."""
        for position, spent in spending.items():
            row = self.connection.execute(
                "SELECT id, counted FROM doc WHERE file = ? AND position = ?", (file, position)
            ).fetchone()
            if row is not None:
                self.connection.execute("DELETE FROM usage WHERE doc = ?", row[:1])
                if spent is not None:
                    self._add_usage(file, [(row[0], spent, row[1] == 1)])

    def _drop_text(self, file: int) -> None:
        """Remove the documents of a file. Copies of those that counted count in their place."""
        run = self.connection.execute
        (dead,) = run("SELECT count(*) FROM doc WHERE file = ?", (file,)).fetchone()
        run(
            "UPDATE doc SET counted = 1 WHERE id IN (SELECT id FROM"
            " (SELECT other.id, min(file.precedence || printf('%020d', other.id))"
            " FROM doc AS mine JOIN doc AS other"
            " ON other.mark = mine.mark AND other.file <> mine.file AND other.counted = 0"
            " JOIN file ON file.id = other.file"
            " WHERE mine.file = ? AND mine.counted = 1 GROUP BY mine.mark))",
            (file,),
        )
        run(
            "UPDATE file SET rolled = 0 WHERE id IN (SELECT other.file FROM doc AS mine JOIN doc AS other"
            " ON other.mark = mine.mark WHERE mine.file = ? AND mine.counted = 1)",
            (file,),
        )
        run(
            "UPDATE usage SET counted = 1 WHERE doc IN (SELECT id FROM doc WHERE counted = 1)"
            " AND answer IS NULL AND NOT counted"
            " AND doc IN (SELECT other.id FROM doc AS mine JOIN doc AS other ON other.mark = mine.mark"
            " WHERE mine.file = ?)",
            (file,),
        )
        run(
            "UPDATE file SET rolled = 0 WHERE id IN (SELECT other.file FROM usage AS mine JOIN usage AS other"
            " ON other.answer = mine.answer WHERE mine.file = ? AND mine.counted)",
            (file,),
        )
        run(
            "UPDATE usage SET counted = 1 WHERE doc IN"
            " (SELECT other.doc FROM usage AS mine JOIN usage AS other"
            " ON other.answer = mine.answer AND other.file <> mine.file WHERE mine.file = ? AND mine.counted"
            " GROUP BY other.answer HAVING other.output = max(other.output))",
            (file,),
        )
        sums = ("usage", "rollup", "rollup_hour", "rollup_tool")
        for table in ("doc", "run", "touched", "label", "reading", *sums):
            run(f"DELETE FROM {table} WHERE file = ?", (file,))
        run("UPDATE file SET indexed = -1, entries = 0, rolled = 0 WHERE id = ?", (file,))
        self._set_meta("dead", self._meta("dead") + dead)


def _fields(update: FileUpdate, text: TextUpdate | None) -> dict[str, Any]:
    row = update.record.row
    fields: dict[str, Any] = {
        "path": update.path,
        "device": update.stamp.device,
        "inode": update.stamp.inode,
        "size": update.stamp.size,
        "modified_ns": update.stamp.modified_ns,
        "changed_ns": update.stamp.changed_ns,
        "checked_ns": update.checked_ns,
        "settled": update.settled,
        "consumed": update.consumed,
        "tail": update.tail,
        "leaf": _clean(update.leaf),
        "session": _clean(row.id),
        "agent": _clean(update.agent),
        "format": _clean(row.format),
        "parent": _clean(row.parent_session),
        "cwd": _clean(row.cwd),
        "title": _clean(update.title),
        "title_folded": None if update.title is None else _clean(update.title.lower()),
        "first_prompt": _clean(row.first_prompt),
        "model": _clean("/".join(filter(None, (row.provider, row.model))) or None),
        "created_ms": None if row.created is None else milliseconds(row.created),
        "active_ms": row.active_ms if update.record.deep else None,
        "messages": row.messages,
        "is_subagent": update.record.starter is not None,
    }
    if text is not None:
        fields |= {
            "git_branch": _clean(text.git_branch),
            "traits": " ".join(sorted(text.traits)),
            "precedence": _precedence(fields, text),
        }
    return fields


def _precedence(fields: Mapping[str, Any], text: TextUpdate) -> str:
    """Return the text by which files with the same entries are sorted: those of the first one count.

    An original is older than its forks. Claude Code gives a copy the times of the original.
    """
    created = fields["created_ms"]
    begun = _LARGEST if created is None else max(0, created)
    is_copy = text.is_copy or fields["parent"] is not None
    return f"{begun:019d}{int(is_copy)}{_clean(fields['path'])}"


def _has_text(text: str) -> bool:
    return text != "" and not text.isspace()


def _prepared(text: TextUpdate | None) -> list[tuple[str, str]]:
    if text is None:
        return []
    from branchline.catalog.words import prepared  # noqa: PLC0415  as above

    said = prepared([one.said for one in text.documents])
    return list(zip(said, prepared([one.tools for one in text.documents]), strict=True))


def _clean(text: Any) -> Any:
    """Return a text that SQLite can store; any other value unchanged."""
    if isinstance(text, str) and not text.isascii():
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


_LARGEST = (1 << 63) - 1


def _cleaned(value: Any) -> Any:
    """Return the same fields with texts and numbers that can be encoded."""
    if isinstance(value, dict):
        return {name: _cleaned(inner) for name, inner in value.items()}
    if isinstance(value, int) and abs(value) > _LARGEST:
        return _LARGEST if value > 0 else -_LARGEST
    return _clean(value)


def _is_text(path: str) -> bool:
    """Return whether a path can be written as UTF-8; the few others are not indexed."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
