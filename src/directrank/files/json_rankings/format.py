"""What a format of JSON is: its name, how it is recognised, and its rows as columns of a table."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from directrank.storage.strict_json import Plain

#: Columns by name, all of one length.
Table = dict[str, list]
#: The columns of grades and of scores.
LABEL, SCORE = "label", "score"
SHOWN = 40


class OddRankingError(ValueError):
    """A part of the file is not as in the rest of the format."""


class JSONFormat(NamedTuple):
    """A format of judgments or runs.

    `value` is its column of numbers, LABEL or SCORE, or None for either. `fits` says whether the first value
    of a file is of this format; `read` adds the rows of a value to a table, with the expected column.
    """

    name: str
    value: str | None
    fits: Callable[[Plain], bool]
    read: Callable[[Plain, Table, str], None]


#: A query, a document, and its grade or score.
Row = tuple[Any, Any, Any]


def of_rows(rows: Callable[[Plain], Iterable[Row]]) -> Callable[[Plain, Table, str], None]:
    """Return what reads the rows of a value into a table of three columns.

    It refuses a query or a document without a name, a value that is no number, and a document that is twice
    in a query.
    """

    def read(record: Plain, table: Table, value: str) -> None:
        columns = [table.setdefault(name, []) for name in ("qid", "docid", value)]
        seen = {}
        for qid, docid, number in rows(record):
            for what, name in (("query", qid), ("document", docid)):
                if type(name) not in (str, int) or name == "":
                    raise OddRankingError(
                        f"a {what} is called {shown(name)}, expected a text or a whole number"
                    )
            if type(number) not in (int, float):
                raise OddRankingError(
                    f"document {docid!r} of query {qid!r} has {shown(number)}, expected a number"
                )
            documents = seen.setdefault(str(qid), set())
            if str(docid) in documents:
                raise OddRankingError(f"document {docid!r} of query {qid!r} is listed twice; keep one")
            documents.add(str(docid))
            for column, cell in zip(columns, (str(qid), str(docid), number), strict=True):
                column.append(cell)

    return read


def shown(value: Plain) -> str:
    """Return a value for a message."""
    text = ascii(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def has(value: Plain, *keys: str) -> bool:
    """Whether a value is an object with these keys."""
    return type(value) is dict and all(key in value for key in keys)
