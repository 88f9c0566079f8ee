"""How the queries of one set are divided into training, validation and test queries by a column."""

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.data.columns import guessed, plain_names
from directrank.errors import DataError, of_option
from directrank.files import TABLE_ENDINGS, read_columns, table_columns

#: Columns of a table that hold the text of a query, in lower case without punctuation.
TEXT_NAMES = ("query", "querytext", "searchterm", "searchterms", "searchquery", "keywords", "question")
#: The share of the queries before the test queries that validate, unless the first one is named.
VALIDATION = 0.2
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")


@dataclass(frozen=True)
class Splitting:
    """How queries are divided: at values of a column, or at random into pieces.

    Attributes
    ----------
    k, seed : int
        The number of pieces, None for a division at values, and the seed of the random order.
    split_by : str or array of shape (n_docs,), optional
        The column, or its values, of which later ones test.
    test_from, vali_from : object
        The first value that tests, and the first that validates.
    fold_by : str or array of shape (n_docs,), optional
        The column, or its values, of which equal ones are in one piece.
    """

    k: int | None = None
    seed: int = 0
    split_by: Any = None
    test_from: Any = None
    vali_from: Any = None
    fold_by: Any = None

    def __post_init__(self) -> None:
        for option, value in (("test_from", self.test_from), ("vali_from", self.vali_from)):
            if value is not None and self.split_by is None:
                with of_option(option):
                    raise ValueError("name the column of this value by --split-by (in Python, split_by=)")
        if self.split_by is None:
            return
        with of_option("split_by"):
            if self.test_from is None:
                raise ValueError("name the first value that tests by --test-from (in Python, test_from=)")
            if self.k is not None or self.fold_by is not None:
                raise ValueError(
                    "it makes one fold: omit --kfold and --fold-by (in Python, kfold=, fold_by=)"
                )

    @property
    def at_values(self) -> bool:
        """Whether queries are divided at values of a column."""
        return self.split_by is not None

    @property
    def divides(self) -> bool:
        """Whether queries are divided at all."""
        return self.at_values or self.k is not None

    @property
    def names(self) -> list[str]:
        """The names of the folds."""
        if self.at_values:
            return [f"from {self.test_from}"]
        return [f"Fold{turn + 1}" for turn in range(self.k or 0)]

    @property
    def columns(self) -> list[str]:
        """The columns of a table that divide its queries: none of them is a feature."""
        return [column for column in (self.split_by, self.fold_by) if isinstance(column, str)]

    @property
    def settings_text(self) -> str:
        """What the division depends on, beside the queries."""
        if self.split_by is None and self.fold_by is None:
            return f"{self.k} {self.seed}"
        facts = self.k, self.seed, self.split_by, self.test_from, self.vali_from, self.fold_by
        return " ".join(map(_text_or_digest, facts))

    def line(self) -> str:
        """Return the sentence about the division."""
        if self.at_values:
            column = self.split_by if isinstance(self.split_by, str) else "the given values"
            before = "of the queries before them the last fifth"
            vali = before if self.vali_from is None else f"those from {self.vali_from}"
            return f"divided by {column}: queries from {self.test_from} test, {vali} validate"
        if self.k is None:
            return ""
        by = "query" if self.fold_by is None else "the given values"
        by = self.fold_by if isinstance(self.fold_by, str) else by
        return f"{self.k} random folds, divided by {by} with seed {self.seed}"

    def parts(self, groups: QueryGroups, files: Sequence[Path]) -> list[list[np.ndarray]]:
        """Return the training, validation and test queries of each fold, as numbers of queries.

        Warns if a text is in training and in test queries.

        Raises
        ------
        DataError
            If the queries cannot be divided, or a column does not exist or cannot be read.
        """
        if self.columns and len(files) != 1:
            raise DataError(
                f"{self.columns[0]!r} must be a column of one table with all queries; name one file"
            )
        file = files[0] if len(files) == 1 else None
        folds = [self._at_values(groups, file)] if self.at_values else list(self._at_random(groups, file))
        if self.fold_by is None and file is not None:
            self._warn_of_texts(groups, file, folds[0])
        return folds

    def _at_values(self, groups: QueryGroups, file: Path | None) -> list[np.ndarray]:
        values, where = _values_of(self.split_by, groups, file)
        first = {
            option: value
            for option, value in (("test_from", self.test_from), ("vali_from", self.vali_from))
            if value is not None
        }
        numbers, first = _comparable(values, first, where)
        starts = groups.queries.indptr[:-1]
        earliest, latest = (limit.reduceat(numbers, starts) for limit in (np.minimum, np.maximum))
        if (divided := (earliest < first["test_from"]) & (latest >= first["test_from"])).any():
            raise DataError(
                f"{where}: query {groups.queries.qid[divided][0]} has rows before and from {self.test_from} "
                f"({divided.sum()} such queries); name a column that tells searches apart by --qid (in "
                "Python, qid=)"
            )
        tests = latest >= first["test_from"]
        before = np.sort(latest[~tests])
        if not len(before) or not tests.any():
            side = "before" if tests.any() else "from"
            raise DataError(f"{where}: no query is {side} {self.test_from}; {_range(values, numbers)}")
        limit = first.get("vali_from", before[int(len(before) * (1.0 - VALIDATION))])
        validates = ~tests & (latest >= limit)
        if not validates.any() or (validates | tests).all():
            raise DataError(
                f"{where}: there are no queries to train on, or none to validate, before {self.test_from}; "
                "name the first value that validates by --vali-from (in Python, vali_from=)"
            )
        return [np.flatnonzero(part) for part in (~tests & ~validates, validates, tests)]

    def _at_random(self, groups: QueryGroups, file: Path | None) -> Iterator[list[np.ndarray]]:
        assert self.k is not None
        rng, n_queries = np.random.default_rng(self.seed), groups.n_queries
        if self.fold_by is None:
            if n_queries < self.k:
                raise DataError(f"{n_queries} queries cannot be divided into {self.k} folds")
            pieces = np.array_split(rng.permutation(n_queries), self.k)
        else:
            pieces = self._pieces(groups, file, rng)
        for turn in range(self.k):
            test, vali, *train = [pieces[(turn + place) % self.k] for place in range(self.k)]
            yield [np.sort(piece) for piece in (np.concatenate(train), vali, test)]

    def _pieces(self, groups: QueryGroups, file: Path | None, rng: np.random.Generator) -> list[np.ndarray]:
        """Return pieces of about as many queries each, of which queries with equal values are in one."""
        assert self.k is not None
        values, where = _values_of(self.fold_by, groups, file)
        starts, sizes = groups.queries.indptr[:-1], groups.queries.sizes
        differs = values != np.repeat(values[starts], sizes)
        if differs.any():
            qid = np.repeat(groups.queries.qid, sizes)[differs][0]
            raise DataError(
                f"{where}: query {qid} has several values; expected one value per query, such as its text"
            )
        distinct, code, counts = np.unique(values[starts], return_inverse=True, return_counts=True)
        if len(distinct) < self.k:
            raise DataError(f"{where}: {len(distinct)} values cannot be divided into {self.k} folds")
        order = rng.permutation(len(distinct))
        order = order[np.argsort(-counts[order], kind="stable")]
        piece, filled = np.empty(len(distinct), np.int64), np.zeros(self.k, np.int64)
        for value in order:
            piece[value] = np.argmin(filled)
            filled[piece[value]] += counts[value]
        return [np.flatnonzero(piece[code] == number) for number in range(self.k)]

    def _warn_of_texts(self, groups: QueryGroups, file: Path, parts: list[np.ndarray]) -> None:
        """Warn if test queries have a text that training or validation queries have, too."""
        is_table = file.name.lower().endswith(tuple(TABLE_ENDINGS))
        column = guessed(TEXT_NAMES, plain_names(table_columns(file))) if is_table else None
        if column is None:
            return
        values = groups.to_inner(np.array(_cells(file, column), dtype=str))
        train, vali, test = (values[groups.queries.indptr[part]] for part in parts)
        n_shared = int(np.isin(test, np.concatenate((train, vali))).sum())
        if n_shared:
            remedy = f"; --fold-by {column} (in Python, fold_by=) keeps a text on one side"
            warnings.warn(
                f"{file}: {n_shared} of {len(test)} test queries have a text (column {column!r}) that "
                f"training or validation queries have, too{'' if self.at_values else remedy}",
                UserWarning,
                stacklevel=2,
            )


def _text_or_digest(value: Any) -> str:
    """Return a value as text, of an array the digest."""
    if value is None or np.ndim(value) == 0:
        return str(value)
    return hashlib.sha256("\0".join(map(str, np.asarray(value).tolist())).encode()).hexdigest()


def _cells(file: Path, column: str) -> list[str | None]:
    return [cell for batch in read_columns(file, {column: str}) for cell in batch.column(0).to_pylist()]


def _values_of(column: object, groups: QueryGroups, file: Path | None) -> tuple[np.ndarray, str]:
    """Return the values of a column as text, in the inner order, and its name in messages."""
    if not isinstance(column, str):
        values = np.asarray(column).astype(str)
        if values.shape != (groups.n_docs,):
            raise DataError(f"values to divide by have shape {values.shape}, expected ({groups.n_docs},)")
        return groups.to_inner(values), "the values to divide by"
    assert file is not None
    cells = _cells(file, column)
    where = f"{file}: column {column!r}"
    if None in cells or "" in cells:
        row = next(row for row, cell in enumerate(cells) if not cell)
        raise DataError(f"{where} is empty in row {row + 1}; every query needs a value to be divided by")
    return groups.to_inner(np.array(cells)), where


def _comparable(
    values: np.ndarray, first: Mapping[str, object], where: str
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return values and limits as numbers: as they are, or the places of dates among all dates.

    Raises DataError if a value is neither a number nor a date such as 2026-09-01, ValueError if a limit is.
    """
    distinct, code = np.unique(values, return_inverse=True)
    numbers = [_number(value) for value in distinct.tolist()]
    is_date = [DATE.fullmatch(value) is not None for value in distinct.tolist()]
    if None not in numbers:
        limits = {option: _number(str(value)) for option, value in first.items()}
        expected, keys = "a number, as in the column", np.array(numbers, dtype=float)
    elif all(is_date):
        limits = {
            option: _date(str(value)) if DATE.fullmatch(str(value)) else None
            for option, value in first.items()
        }
        expected, keys = "a date such as 2026-09-01, as in the column", np.array(list(map(_date, distinct)))
    else:
        odd = next(
            value
            for value, number, date in zip(distinct.tolist(), numbers, is_date, strict=True)
            if not date and (number is None or any(is_date))
        )
        raise DataError(f"{where} holds {odd!r}; expected numbers, or dates such as 2026-09-01")
    order, places = np.unique(keys), {}
    for option, limit in limits.items():
        if limit is None:
            with of_option(option):
                raise ValueError(f"expected {expected}")
        places[option] = np.searchsorted(order, limit)
    return np.searchsorted(order, keys)[code], places


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _date(text: str) -> str:
    """Return a date or time whose order is that of its text; a day is its first moment."""
    day, _, time = text.replace("T", " ").partition(" ")
    return f"{day} {time}" if time.strip("0:. Z") else day


def _range(values: np.ndarray, places: np.ndarray) -> str:
    return f"values are from {values[np.argmin(places)]} to {values[np.argmax(places)]}"


#: Queries stay as the data divide them.
UNDIVIDED = Splitting()
