"""Which column of a table, or key of an object, is what."""

import os
import re
from collections.abc import Iterable
from typing import Any

from directrank.errors import DataError
from directrank.text.collections.options import GUESSES, CollectionOptions

#: Roles without which a record is of no use.
NEEDED = ("docid", "qid", "body", "text")
SHOWN = 12


def called(source: Any) -> str:
    """Return what a path or a data frame is called in messages."""
    return str(source) if isinstance(source, str | os.PathLike) else "data frame"


def chosen(
    names: Iterable[str], roles: Iterable[str], how: CollectionOptions, where: str
) -> list[str | None]:
    """Return the column of each role: as given, or the one with a usual name; None for one that need not be.

    Raises
    ------
    DataError
        If a column does not exist, or none is called like a role that is needed.
    """
    names = list(names)
    plain = {re.sub(r"[\W_]", "", name).lower(): name for name in reversed(names)}
    return [_column(role, names, plain, how, where) for role in roles]


def _column(
    role: str, names: list[str], plain: dict[str, str], how: CollectionOptions, where: str
) -> str | None:
    given = how.columns.get(role)
    if given is not None and given not in names:
        raise DataError(f"{where}: no column {given!r}; the columns are {', '.join(names[:SHOWN])}")
    found = given or next((plain[guess] for guess in GUESSES[role] if guess in plain), None)
    if found is None and role in NEEDED:
        raise DataError(
            f"{where}: no column is called like a {role}; name it by --columns {role}=NAME; "
            f"the columns are {', '.join(names[:SHOWN])}"
        )
    return found


def text_of(value: Any) -> str:
    """Return a cell as text; nothing, and NaN, is empty."""
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else str(value)
