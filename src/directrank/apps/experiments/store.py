"""Finished work on disk: one table in one SQLite file, which survives that its process is killed."""

import contextlib
import errno
import hashlib
import os
import sqlite3
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from directrank.errors import DataError
from directrank.storage.strict_json import JSONObject, StrictJSONError, as_plain, dump, encode, parse

NAME = "store.sqlite"
#: Seconds to wait for another process that has locked the file.
PATIENCE = 120.0
#: "DRst", and the version of the table below.
APPLICATION, VERSION = 0x44527374, 4
#: The header of a file of SQLite: its first bytes, and, as far as here, the numbers of version and program.
MAGIC, HEADER = b"SQLite format 3\0", struct.Struct(">16s 44x i 4x i")
# No column has a constraint: SQLite refuses a whole file for one damaged value that breaks it.
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS records (key PRIMARY KEY, label, value, sha256) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
# The checksum is of bytes: a damaged text need not be text any more.
QUERY = "SELECT CAST(value AS BLOB), CAST(sha256 AS TEXT) FROM records WHERE key = ?"


class Store:
    """Records by key, in ``store.sqlite`` of a folder, which the first record creates, or in memory.

    Every record has a checksum; a damaged record counts as absent, so that its work is done again. So does
    one that `read` does not take: it makes a record of a key and plain values, or None.

    A file that is damaged or not a store is a `DataError` on first use; a full disk is an `OSError`.
    """

    def __init__(self, folder: str | os.PathLike | None):
        self.path = None if folder is None else Path(folder) / NAME
        self.parse: Callable[[str, JSONObject], Any] = lambda key, value: value
        self._open: sqlite3.Connection | None = None

    def get(self, key: str) -> Any:
        """Return the record of a key, or None."""
        return self.records([key]).get(key)

    def records(self, keys: Iterable[str]) -> JSONObject:
        """Return the records of the keys that have one."""
        return dict(self._pairs(keys))

    def known(self, keys: Iterable[str]) -> set[str]:
        """Return the keys that `records` would return, without their records."""
        return {key for key, _ in self._pairs(keys)}

    def save(self, rows: Iterable[tuple[str, str, Any]]) -> None:
        """Save records with their keys and labels, in one commit; they are on disk when this returns."""
        with self._transaction() as connection:
            for key, label, value in rows:
                text = dump(encode(value))
                row = (key, label, text, signature(key, text.encode()))
                connection.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._open is not None and self.path is not None:
            self._open.close()
            self._open = None

    def _pairs(self, keys: Iterable[str]) -> Iterator[tuple[str, Any]]:
        if self._open is None and (self.path is None or not self.path.exists()):
            return
        with self._transaction("DEFERRED") as connection:
            for key in keys:
                value = _record_of(connection, key)
                record = None if value is None else self.parse(key, value)
                if record is not None:
                    yield key, record

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with _translated_errors(self.path):
            if self._open is None:
                self._open = _opened(self.path)
            self._open.execute(f"BEGIN {kind}")
            try:
                yield self._open
                self._open.execute("COMMIT")
            except BaseException:
                if self._open.in_transaction:
                    self._open.execute("ROLLBACK")
                raise


def key_of(facts: object) -> str:
    """Return the key of a record: the SHA-256, in hex, of the facts that the record depends on."""
    return hashlib.sha256(dump(as_plain(facts)).encode()).hexdigest()


def signature(key: str, text: bytes) -> str:
    """Return the checksum of a row: of its key and the text of its value."""
    return hashlib.sha256(f"{key}\0".encode("utf-8", "surrogatepass") + text).hexdigest()


def _record_of(connection: sqlite3.Connection, key: str) -> JSONObject | None:
    """Return the record of a key, or None if there is none, or it is damaged."""
    row = connection.execute(QUERY, (key,)).fetchone()
    if row is None or row[1] != signature(key, row[0] or b""):
        return None
    try:
        value = parse(row[0] or b"")
    except StrictJSONError:
        return None
    return value if isinstance(value, dict) else None


def connect(path: str) -> sqlite3.Connection:
    """Return a connection that waits for locks and whose commits are on disk when they return."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    # Text that a damaged byte has made invalid must not raise; the checksums of records find it.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            problem = f"{error.strerror}, but no folder; choose another with --out"
            raise type(error)(error.errno, problem, str(path.parent)) from error
    is_new = path is None or _is_empty(path)
    connection = connect(":memory:" if path is None else str(path))
    try:
        _prepare(connection, path, is_new)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _translated_errors(path: Path | None) -> Iterator[None]:
    """Raise errors of SQLite as OSError or DataError, with the remedy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        damaged = name.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR"))
        if damaged or not isinstance(error, sqlite3.OperationalError):
            raise _unusable(path, str(error)) from error
        code, advice = _operating(name)
        raise OSError(code, f"{error}; {advice}", str(path)) from error


def _operating(name: str) -> tuple[int, str]:
    if name == "SQLITE_FULL":
        return errno.ENOSPC, "free some space and rerun the same command; finished work is reused"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return errno.EACCES, "make the folder writable, or choose another with --out"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return errno.EBUSY, "another process has locked the store; rerun the same command"
    return errno.EIO, "is the disk full or failing? Then rerun the same command; finished work is reused"


def _unusable(path: Path | None, problem: str) -> DataError:
    """Return the error about a file that is not a store, with the remedy."""
    what = f"not a store of directrank, or damaged ({' '.join(problem.split())})"
    remedy = "move it away, or choose another folder with --out, and rerun the same command"
    return DataError(f"{path}: {what}; {remedy}")


def _is_empty(path: Path) -> bool:
    """Whether a file is absent or empty; others than ours are refused, which SQLite would change on opening.

    The table and the numbers of program and version are written in one transaction, so that every file of
    ours that is not empty has the numbers in its header.
    """
    if not path.exists():
        return True
    if not path.is_file():
        raise OSError(errno.EACCES, "this is no file; move it away, or choose another with --out", str(path))
    with path.open("rb") as file:
        header = file.read(HEADER.size)
    if not header:
        return True
    if len(header) < HEADER.size or not header.startswith(MAGIC):
        raise _unusable(path, "file is not a database")
    _, version, application = HEADER.unpack(header)
    if application != APPLICATION:
        raise _unusable(path, "a database of another program")
    if version != VERSION:
        raise _unusable(path, f"version {version}, this release reads {VERSION}")
    return False


def _prepare(connection: sqlite3.Connection, path: Path | None, is_new: bool) -> None:
    """Create the table of a new file; refuse a damaged one."""
    if is_new:
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:  # another process may have done the same during the wait
            connection.execute(statement)
        connection.execute("COMMIT")
    # This statement alone does not wait for locks when several processes open a new file at once.
    deadline, waiting = time.monotonic() + PATIENCE, True
    while waiting:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            waiting = False
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise _unusable(path, problem)
