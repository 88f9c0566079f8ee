"""Finished work on disk: one SQLite file that processes share and that survives their being killed."""

import contextlib
import errno
import hashlib
import math
import os
import platform
import re
import sqlite3
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from directrank.errors import DataError
from directrank.storage.strict_json import StrictJSONError, as_plain, dump, parse

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


#: Machine, process number, token.
OWNER = re.compile(r"[^:]*:([1-9][0-9]{0,8}):[^:]*")


def new_owner() -> str:
    """Return a name for this process: its machine, its process number, and a random token."""
    return f"{_scope()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def is_here(owner: str) -> bool:
    """Whether a process was started on this machine since the machine's last start."""
    return owner.split(":")[0] == _scope()


def is_dead(owner: str) -> bool:
    """Whether a process is known to have ended; never known of a process on another machine.

    What names no process is dead.
    """
    match = OWNER.fullmatch(owner)
    if match is None:
        return True
    number = match[1]
    # On other systems signal 0 ends the process instead of testing for it.
    if not is_here(owner) or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _is_zombie(number)


@cache
def _scope() -> str:
    """Return a name of the scope of process numbers: one start of a machine, or of a container on it."""
    facts = [platform.node()]
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    if boot.exists() and space.exists():
        facts += [boot.read_text(), os.readlink(space)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _is_zombie(number: str) -> bool:
    # A zombie was killed, but its parent has not read its exit code.
    try:
        state = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2]
    except OSError:
        return False
    return state.split()[:1] == ["Z"]


# The checksum is of bytes: a damaged text need not be text any more.
QUERY = (
    "SELECT state, owner, beat, tick, event, CAST(value AS BLOB), CAST(sha256 AS TEXT) "
    "FROM cells WHERE key = ?"
)


class Row(NamedTuple):
    """What the store holds of a key; `value` is None while the key is leased."""

    state: str
    owner: str
    beat: float
    tick: float
    event: int
    value: dict[str, Any] | None


def read_row(connection: sqlite3.Connection, key: str) -> Row | None:
    """Return the row of a key, or None if there is none, or it is damaged."""
    found = connection.execute(QUERY, (key,)).fetchone()
    if found is None:
        return None
    state, owner, beat, tick, event, text, digest = found
    timed = isinstance(beat, float) and isinstance(tick, float) and isinstance(owner, str)
    if not timed or digest != signature(key, state, event, text or b""):
        return None
    if state == "leased":
        return Row(state, owner, beat, tick, event, None)
    value = _value_of(text or b"")
    return None if value is None else Row(state, owner, beat, tick, event, value)


def signature(key: str, state: str, event: int | None, text: bytes) -> str:
    """Return the checksum of a row: of its key, its state, its row of the log and the text of its value."""
    return hashlib.sha256(f"{key}\0{state}\0{event}\0".encode("utf-8", "surrogatepass") + text).hexdigest()


def _value_of(text: bytes) -> dict[str, Any] | None:
    try:
        value = parse(text)
    except StrictJSONError:
        return None
    return value if isinstance(value, dict) else None


NAME = "store.sqlite"
HEARTBEAT = 10.0
#: A key is recorded as failed when its process has died this often in one run.
MOST_DEATHS = 2
KILLED = f"the process that worked on it died {MOST_DEATHS} times (killed, out of memory or crashed)"
#: States of a key: not leased; leased; leased by a process that is dead or silent; done or failed.
FREE, HELD, LOST, ENDED = "free", "held", "lost", "ended"

#: (key, label) and (key, label, state, value).
Wanted = tuple[str, str]
Finished = tuple[str, str, str, dict[str, Any]]


class Store:
    """Records by key, in ``store.sqlite`` of a folder, or in memory.

    Every record has a checksum; a damaged record counts as absent, so that its work is done again. So does
    a record that `accepts` does not accept.

    Parameters
    ----------
    folder : path, optional
        Created, with the file, when the first record is saved. None keeps records in memory.

    Raises
    ------
    DataError
        On first use, if the file is damaged or not a store.
    OSError
        On any use, if the disk is full, or the file cannot be read or written.

    Attributes
    ----------
    accepts : callable
        From a key and its value to whether the value is what the key stands for; everything by default.
    """

    def __init__(self, folder: str | os.PathLike | None):
        self.path = None if folder is None else Path(folder) / NAME
        self.owner = new_owner()
        self.accepts: Callable[[str, dict[str, Any]], bool] = lambda key, value: True
        #: The last event of earlier runs.
        self.since = 0
        self._open: sqlite3.Connection | None = None

    def begin(self) -> None:
        """Begin a run: it retries earlier failures and does not count earlier deaths of processes."""
        self.since = 0
        if self._exists():
            with self._transaction("DEFERRED") as connection:
                self.since = connection.execute("SELECT coalesce(max(id), 0) FROM log").fetchone()[0]

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the value of a key that is done or failed, or None."""
        return self.outcomes([key]).get(key)

    def outcomes(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the values of the keys that are done or failed.

        Failures of earlier runs are excluded: they will be retried.
        """
        return dict(self._ended(keys))

    def ended(self, keys: Iterable[str]) -> set[str]:
        """Return the keys that `outcomes` would return, without their values."""
        return {key for key, _ in self._ended(keys)}

    def put(self, key: str, label: str, value: dict[str, Any]) -> None:
        """Save a value; it is on disk when this returns."""
        self.exchange([(key, label, "done", value)])

    def exchange(
        self,
        finished: Sequence[Finished],
        wanted: Iterable[Wanted] = (),
        budget: float = math.inf,
        costs: Mapping[str, float] | None = None,
    ) -> tuple[list[str], list[str]]:
        """Record how leased keys ended, and lease others, in one commit.

        A key that is already done is unchanged. Free keys are leased in the order of `wanted`, until their
        `costs` (1 by default) reach the budget. A key whose process died is leased alone, so that a second
        death is known to be due to it; then it is recorded as failed.

        Returns
        -------
        taken, ended : list of str
            The keys leased, and those of the keys before them that have ended.
        """
        taken: list[str] = []
        ended: list[str] = []
        with self._transaction() as connection:
            self._finish(connection, finished)
            for key, label in wanted:
                if budget <= 0:
                    break
                state = self._state(connection, key)
                if state == ENDED:
                    ended.append(key)
                elif state == LOST and self._deaths(connection, key) >= MOST_DEATHS:
                    error = {"type": "ProcessDied", "message": KILLED, "traceback": ""}
                    self._write(connection, key, label, "failed", {"error": error, "warnings": {}})
                    ended.append(key)
                elif state == FREE or (state == LOST and not taken):
                    self._write(connection, key, label, "leased", None)
                    taken.append(key)
                    budget -= math.inf if state == LOST else (costs or {}).get(key, 1.0)
        return taken, ended

    def release(self) -> None:
        """Return every lease of this process."""
        if not self._exists():
            return
        with self._transaction() as connection:
            held = "FROM cells WHERE owner = ? AND state = 'leased'"
            mine = [row["key"] for row in connection.execute(f"SELECT key {held}", (self.owner,))]
            connection.execute(f"DELETE {held}", (self.owner,))
            for key in mine:
                self._record(connection, key, "returned")

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Renew the leases of this process every `HEARTBEAT` seconds while the block runs."""
        if self.path is None:
            yield
            return
        stop = threading.Event()
        thread = threading.Thread(target=self._beat_until, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def log(self) -> list[dict[str, Any]]:
        """Return the execution log: when, key, owner; leased, returned, done or failed."""
        if not self._exists():
            return []
        with self._transaction("DEFERRED") as connection:
            return [dict(row) for row in connection.execute("SELECT * FROM log ORDER BY id")]

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._open is not None and self.path is not None:
            self._open.close()
            self._open = None

    def _exists(self) -> bool:
        return self._open is not None or (self.path is not None and self.path.exists())

    def _ended(self, keys: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        if not self._exists():
            return
        with self._transaction("DEFERRED") as connection:
            for key in keys:
                row = self._row(connection, key)
                if row is not None and row.value is not None and self._has_ended(row):
                    yield key, row.value

    def _has_ended(self, row: Row) -> bool:
        return row.state == "done" or (row.state == "failed" and row.event > self.since)

    def _state(self, connection: sqlite3.Connection, key: str) -> str:
        row = self._row(connection, key)
        if row is None:
            return FREE
        if row.state != "leased":
            return ENDED if self._has_ended(row) else FREE
        if row.owner == self.owner:
            return HELD
        return LOST if self._is_silent(row) or is_dead(row.owner) else HELD

    def _is_silent(self, row: Row) -> bool:
        if is_here(row.owner):
            return not 0 <= time.monotonic() - row.tick <= 2 * HEARTBEAT
        # The heartbeat is too old, or so far in the future that the other machine's clock is useless.
        return not abs(time.time() - row.beat) <= 2 * HEARTBEAT

    def _row(self, connection: sqlite3.Connection, key: str) -> Row | None:
        """Return the row of a key, or None if there is none that is undamaged and as expected."""
        row = read_row(connection, key)
        return row if row is None or row.value is None or self.accepts(key, row.value) else None

    def _deaths(self, connection: sqlite3.Connection, key: str) -> int:
        """Return how often a key was leased in this run without being returned."""
        count = (
            "SELECT coalesce(sum(CASE event WHEN 'leased' THEN 1 WHEN 'returned' THEN -1 ELSE 0 END), 0) "
            "FROM log WHERE key = ? AND id > ?"
        )
        return connection.execute(count, (key, self.since)).fetchone()[0]

    def _finish(self, connection: sqlite3.Connection, finished: Sequence[Finished]) -> None:
        for key, label, state, value in finished:
            row = self._row(connection, key)
            if row is None or row.state != "done":
                self._write(connection, key, label, state, value)

    def _write(self, connection: sqlite3.Connection, key: str, label: str, state: str, value) -> None:
        text = None if value is None else dump(value)
        event = self._record(connection, key, state)
        digest = signature(key, state, event, (text or "").encode())
        row = (key, label, state, self.owner, time.time(), time.monotonic(), event, text, digest)
        connection.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _record(self, connection: sqlite3.Connection, key: str, event: str) -> int | None:
        sql = "INSERT INTO log (at, key, owner, event) VALUES (?, ?, ?, ?)"
        return connection.execute(sql, (time.time(), key, self.owner, event)).lastrowid

    def _beat_until(self, stop: threading.Event) -> None:
        # A heartbeat that cannot be written is no failure; writing the work itself reports the problem.
        while not stop.wait(HEARTBEAT):
            with (
                contextlib.suppress(sqlite3.Error),
                contextlib.closing(connect(str(self.path))) as connection,
            ):
                sql = "UPDATE cells SET beat = ?, tick = ? WHERE owner = ? AND state = 'leased'"
                connection.execute(sql, (time.time(), time.monotonic(), self.owner))

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with translated_errors(self.path):
            if self._open is None:
                self._open = self._opened()
            self._open.execute(f"BEGIN {kind}")
            try:
                yield self._open
                self._open.execute("COMMIT")
            except BaseException:
                if self._open.in_transaction:
                    self._open.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        if self.path is not None:
            make_folder(self.path.parent)
            refuse_others(self.path)
        connection = connect(":memory:" if self.path is None else str(self.path))
        try:
            check(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection


def key_of(facts: Any) -> str:
    """Return the key of a record: the SHA-256, in hex, of the facts that the record depends on."""
    return hashlib.sha256(dump(as_plain(facts)).encode()).hexdigest()
