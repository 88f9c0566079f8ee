"""The SQLite file of a store: opening it, refusing what is not one, and saying what went wrong."""

import contextlib
import errno
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from directrank.errors import DataError
from directrank.storage.strict_json import StrictJSONError

#: Seconds for which another process may hold the file before we give up.
PATIENCE = 120.0
#: "DRst", and the version of the tables below.
APPLICATION, VERSION = 0x44527374, 2

# `beat` is the time of day and `tick` the machine's own clock when a lease was last renewed; `event` is the
# row of `log` that a cell's state came with. Order is told by rows of `log`: times of day may go backwards.
SCHEMA = (
    """CREATE TABLE cells (
        key TEXT PRIMARY KEY, label TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('leased', 'done', 'failed')),
        owner TEXT NOT NULL, beat REAL NOT NULL, tick REAL NOT NULL, event INTEGER NOT NULL,
        value TEXT, sha256 TEXT
    ) WITHOUT ROWID""",
    """CREATE TABLE log (
        id INTEGER PRIMARY KEY, at REAL NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL, event TEXT NOT NULL
    )""",
    "CREATE INDEX log_key ON log (key)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def connected(path: str) -> sqlite3.Connection:
    """Return a connection whose commits are on disk when they return, and which waits its turn."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def made(folder: Path) -> None:
    """Make a folder if it is not there; a file in its place is said, with the way out."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        problem = f"{error.strerror}, but no folder; choose another with --out"
        raise type(error)(error.errno, problem, str(folder)) from error


@contextlib.contextmanager
def explained(path: Path | None) -> Iterator[None]:
    """Turn what SQLite says into an OSError or a DataError with the way out."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if isinstance(error, sqlite3.OperationalError) and not name.startswith(
            ("SQLITE_CORRUPT", "SQLITE_ERROR")
        ):
            code, advice = _operating(name)
            raise OSError(code, f"{error}; {advice}", str(path)) from error
        raise unusable(path, str(error)) from error
    except StrictJSONError as error:
        raise unusable(path, str(error)) from error


def _operating(name: str) -> tuple[int, str]:
    if name == "SQLITE_FULL":
        return errno.ENOSPC, "free some space and run the same command again: what is finished is kept"
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return errno.EACCES, "make the folder writable, or choose another with --out"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return errno.EBUSY, "another process holds the store; run the same command again"
    return errno.EIO, "is the disk full or failing? Then run the same command again: what is finished is kept"


def unusable(path: Path | None, problem: str) -> DataError:
    """Return the refusal of a file, with the way out."""
    return DataError(
        f"{path}: not a store of directrank, or damaged ({problem}); move it away, or choose another folder "
        "with --out, and run the same command again"
    )


def check(connection: sqlite3.Connection, path: Path | None) -> None:
    """Make the tables of a new file; refuse one that is not ours."""
    _write_ahead(connection)
    if _version(connection) != (APPLICATION, VERSION):
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have made the tables while we waited.
        if _version(connection) == (0, 0) and not _has_tables(connection):
            for statement in SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")
    application, version = _version(connection)
    if application != APPLICATION:
        raise unusable(path, "a database of another program")
    if version != VERSION:
        raise unusable(path, f"version {version}, this release reads {VERSION}")
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise unusable(path, problem)


def _write_ahead(connection: sqlite3.Connection) -> None:
    # Only this statement does not wait its turn when several processes open a new file at once.
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


def _version(connection: sqlite3.Connection) -> tuple[int, int]:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application, connection.execute("PRAGMA user_version").fetchone()[0]


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
