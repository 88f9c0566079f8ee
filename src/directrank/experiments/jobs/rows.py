"""Rows of the store: what is read of them, and the checksum by which a damaged one is found."""

import hashlib
import sqlite3
from typing import Any, NamedTuple

from directrank.storage.strict_json import StrictJSONError, parse

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
