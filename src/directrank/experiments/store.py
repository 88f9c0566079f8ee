"""Finished work on disk: one SQLite file that processes share and that survives being killed.

A cell is leased by the process that works on it and then done or failed. A lease is alive while its owner
beats; that of a process known to be dead, or silent for two intervals, goes to the next who asks.
"""

import contextlib
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from directrank.errors import DataError
from directrank.experiments.database import check, connected, explained
from directrank.experiments.owners import is_dead, new_owner
from directrank.strict_json import dump, parse

NAME = "store.sqlite"
HEARTBEAT = 10.0
#: A cell whose process died so often in one run is what kills it.
MOST_DEATHS = 2

#: (key, label) and (key, label, state, value).
Wanted = tuple[str, str]
Finished = tuple[str, str, str, dict[str, Any]]


class Store:
    """Records by key, in ``store.sqlite`` of a folder, or in memory.

    Every record has its checksum; one that is damaged counts as absent, so that it is made again.

    Parameters
    ----------
    folder : path, optional
        Made, with the file, when something is first kept. None keeps records in memory.

    Raises
    ------
    DataError
        On first use, if the file is damaged or not a store.
    OSError
        On any use, if the disk is full, or the file cannot be read or written.
    """

    def __init__(self, folder: str | os.PathLike | None):
        self.path = None if folder is None else Path(folder) / NAME
        self.owner = new_owner()
        #: Failures recorded before this moment are tried again.
        self.since = time.time()
        self._open: sqlite3.Connection | None = None

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the value of a key that is done, or None."""
        return self.values([key]).get(key)

    def values(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the values of those keys that are done and undamaged."""
        return {key: value for key, (state, value) in self.outcomes(keys).items() if state == "done"}

    def outcomes(self, keys: Iterable[str]) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return state, ``done`` or ``failed``, and value of the keys that have ended.

        Failures of earlier runs are left out: they will be tried again.
        """
        if not self._exists():
            return {}
        with self._transaction("DEFERRED") as connection:
            rows = [_row(connection, key) for key in keys]
            return {
                row["key"]: (row["state"], parse(row["value"].encode()))
                for row in rows
                if row is not None and self._has_ended(row)
            }

    def ended(self, keys: Iterable[str]) -> set[str]:
        """Return those keys that `outcomes` would return, without their values."""
        if not self._exists():
            return set()
        with self._transaction("DEFERRED") as connection:
            rows = [_row(connection, key) for key in keys]
        return {row["key"] for row in rows if row is not None and self._has_ended(row)}

    def put(self, key: str, label: str, value: dict[str, Any]) -> None:
        """Keep a value; it is on disk when this returns."""
        self.settle([(key, label, "done", value)])

    def claim(self, wanted: Sequence[Wanted], most: int | None = None) -> list[str]:
        """Lease those keys that nobody has finished or works on, in the order given, at most so many.

        A key whose process died twice since this run began is recorded as failed instead.
        """
        taken: list[str] = []
        with self._transaction() as connection:
            for key, label in wanted:
                if most is not None and len(taken) >= most:
                    break
                row = _row(connection, key)
                if row is not None and (self._has_ended(row) or not self._is_free(row)):
                    continue
                if row is not None and self._deaths(connection, row) >= MOST_DEATHS:
                    self._write(connection, key, label, "failed", _killed())
                    continue
                self._write(connection, key, label, "leased", None)
                taken.append(key)
        return taken

    def settle(self, finished: Sequence[Finished]) -> None:
        """Record how leased keys ended, all in one commit; what another has finished meanwhile stays."""
        if not finished:
            return
        with self._transaction() as connection:
            for key, label, state, value in finished:
                row = _row(connection, key)
                if row is None or row["owner"] == self.owner or row["state"] != "done" or not _intact(row):
                    self._write(connection, key, label, state, value)

    def release(self) -> None:
        """Give back every lease of this process."""
        if not self._exists():
            return
        with self._transaction() as connection:
            connection.execute("DELETE FROM cells WHERE owner = ? AND state = 'leased'", (self.owner,))

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Renew the leases of this process every `HEARTBEAT` seconds, as long as the block lasts."""
        stop = threading.Event()
        thread = threading.Thread(target=self._beat_until, args=(stop,), daemon=True)
        if self.path is not None:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if thread.is_alive():
                thread.join()

    def log(self) -> list[dict[str, Any]]:
        """Return the execution log: when, key, owner and event (``leased``, ``done``, ``failed``)."""
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

    def _has_ended(self, row: sqlite3.Row) -> bool:
        if row["state"] == "leased" or not _intact(row):
            return False
        return row["state"] == "done" or row["beat"] >= self.since

    def _is_free(self, row: sqlite3.Row) -> bool:
        if row["state"] != "leased":
            return True
        if row["owner"] == self.owner:
            return False
        return is_dead(row["owner"]) or abs(time.time() - row["beat"]) > 2 * HEARTBEAT

    def _deaths(self, connection: sqlite3.Connection, row: sqlite3.Row) -> int:
        if row["state"] != "leased":
            return 0
        count = "SELECT count(*) FROM log WHERE key = ? AND event = 'leased' AND at >= ?"
        return connection.execute(count, (row["key"], self.since)).fetchone()[0]

    def _write(self, connection: sqlite3.Connection, key: str, label: str, state: str, value) -> None:
        text = None if value is None else dump(value)
        digest = None if text is None else _digest(text)
        now = time.time()
        connection.execute(
            "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, label, state, self.owner, now, text, digest),
        )
        connection.execute(
            "INSERT INTO log (at, key, owner, event) VALUES (?, ?, ?, ?)", (now, key, self.owner, state)
        )

    def _beat_until(self, stop: threading.Event) -> None:
        # A beat that cannot be written is no failure: the work is recorded, or not, by whoever does it.
        while not stop.wait(HEARTBEAT):
            with contextlib.suppress(OSError, DataError, sqlite3.Error), self._connection() as connection:
                sql = "UPDATE cells SET beat = ? WHERE owner = ? AND state = 'leased'"
                connection.execute(sql, (time.time(), self.owner))

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = connected(str(self.path))
        try:
            yield connection
        finally:
            connection.close()

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with explained(self.path):
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
            self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = connected(":memory:" if self.path is None else str(self.path))
        try:
            check(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection


def key_of(facts: Any) -> str:
    """Return the key of a record: the SHA-256, in hex, of everything that it depends on."""
    return _digest(dump(facts))


def _row(connection: sqlite3.Connection, key: str) -> sqlite3.Row | None:
    return connection.execute("SELECT * FROM cells WHERE key = ?", (key,)).fetchone()


def _intact(row: sqlite3.Row) -> bool:
    return row["value"] is not None and row["sha256"] == _digest(row["value"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _killed() -> dict[str, Any]:
    message = f"the process that worked on it died {MOST_DEATHS} times (killed, out of memory or crashed)"
    return {"error": {"type": "ProcessDied", "message": message, "traceback": ""}, "warnings": []}
