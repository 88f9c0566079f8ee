"""The SQLite file of a store: opening it, refusing other files, and error messages."""

import contextlib
import errno
import sqlite3
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from directrank.errors import DataError

#: Seconds to wait for another process that has locked the file.
PATIENCE = 120.0
#: "DRst", and the version of the tables below.
APPLICATION, VERSION = 0x44527374, 3

#: The header of a file of SQLite: its first bytes, and, as far as here, the numbers of version and program.
MAGIC, HEADER = b"SQLite format 3\0", struct.Struct(">16s 44x i 4x i")

# No column has a constraint: SQLite refuses a whole file for one damaged value that breaks it.
# `beat` is the time of day and `tick` the monotonic clock when a lease was last renewed; `event` is the row
# of `log` that recorded a cell's state. Rows of `log` give the order: times of day may go backwards.
SCHEMA = (
    """CREATE TABLE cells (
        key PRIMARY KEY, label, state, owner, beat, tick, event, value, sha256
    ) WITHOUT ROWID""",
    "CREATE TABLE log (id INTEGER PRIMARY KEY, at, key, owner, event)",
    "CREATE INDEX log_key ON log (key)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def connect(path: str) -> sqlite3.Connection:
    """Return a connection that waits for locks and whose commits are on disk when they return."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    # Text that a damaged byte has made invalid must not raise; the checksums of records find it.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def make_folder(folder: Path) -> None:
    """Create a folder if it does not exist; the error about a file of that name has the remedy."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        problem = f"{error.strerror}, but no folder; choose another with --out"
        raise type(error)(error.errno, problem, str(folder)) from error


@contextlib.contextmanager
def translated_errors(path: Path | None) -> Iterator[None]:
    """Raise errors of SQLite as OSError or DataError, with the remedy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        damaged = name.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR"))
        if damaged or not isinstance(error, sqlite3.OperationalError):
            raise unusable(path, str(error)) from error
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


def unusable(path: Path | None, problem: str) -> DataError:
    """Return the error about a file that is not a store, with the remedy."""
    what = f"not a store of directrank, or damaged ({' '.join(problem.split())})"
    remedy = "move it away, or choose another folder with --out, and rerun the same command"
    return DataError(f"{path}: {what}; {remedy}")


def refuse_others(path: Path) -> None:
    """Refuse the file of another program or version, which SQLite would change when it opens it.

    The tables and the numbers of program and version are written in one transaction, so that every file of
    ours that is not empty has the numbers in its header.
    """
    if not path.exists():
        return
    if not path.is_file():
        raise OSError(errno.EACCES, "this is no file; move it away, or choose another with --out", str(path))
    with path.open("rb") as file:
        header = file.read(HEADER.size)
    if not header:
        return
    if len(header) < HEADER.size:
        raise unusable(path, "file is not a database")
    magic, version, application = HEADER.unpack(header)
    if magic != MAGIC:
        raise unusable(path, "file is not a database")
    _refuse_kind(path, application, version)


def check(connection: sqlite3.Connection, path: Path | None) -> None:
    """Create the tables of a new file; refuse the file of another program or version, or a damaged one."""
    if _kind(connection) == (0, 0, 0):
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have created the tables during the wait.
        for statement in SCHEMA if _kind(connection) == (0, 0, 0) else ():
            connection.execute(statement)
        connection.execute("COMMIT")
    application, version, _ = _kind(connection)
    _refuse_kind(path, application, version)
    _write_ahead(connection)
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise unusable(path, problem)


def _refuse_kind(path: Path | None, application: int, version: int) -> None:
    if application != APPLICATION:
        raise unusable(path, "a database of another program")
    if version != VERSION:
        raise unusable(path, f"version {version}, this release reads {VERSION}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    # This statement alone does not wait for locks when several processes open a new file at once.
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _kind(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the number of the program, the version of its tables, and the number of tables and indices."""
    facts = (
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    )
    return tuple(connection.execute(facts).fetchone())
