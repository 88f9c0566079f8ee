"""Finished work on disk: one SQLite file that processes share and that survives their being killed.

A key is leased by the process that works on it, and then done or failed. A lease is valid while its owner
sends heartbeats; a lease whose owner is known to be dead, or silent for two intervals, can be leased again.
"""

import contextlib
import hashlib
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from directrank.experiments.jobs.database import (
    check,
    connect,
    make_folder,
    refuse_others,
    translated_errors,
)
from directrank.experiments.jobs.lease_owner import is_dead, is_here, new_owner
from directrank.experiments.jobs.rows import Row, read_row, signature
from directrank.storage.strict_json import as_plain, dump

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
